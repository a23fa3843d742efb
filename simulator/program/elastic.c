/* The synthetic collective as a program of a simulated world, on a machine that
 * charges nothing: its dependencies are messages of zero bytes on the ranks'
 * nets.
 *
 * A simulated rank sees the end of its work as soon as the work begins. So a
 * leader knows from then on when its followers may begin, shortly before its
 * own end. At that time the leader is busy, so a further rank, without noise,
 * sends the message in its stead. One thread. */
#include "simulator/program/elastic.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/core/context.h"
#include "simulator/program/tally.h"

/* Tags of a team that does not exist. */
#define ELASTIC_TAG(source)                                                    \
    ((uint64_t)XYL_SLOT_NOTICES << 50 | (uint64_t)(source) << 30)

struct elastic;

/* The receives of a rank from a rank on the other side. */
struct ear {
    xyl_event_t event; /* first: of the receive that is posted */
    struct member *owner;
    uint32_t source;
    unsigned heard; /* messages: calls the source has got ready or ended */
};

struct member {
    struct elastic *elastic;
    uint32_t rank;
    unsigned calls;   /* made */
    struct ear *ears; /* [sides' other ranks] */
};

struct elastic {
    struct sim_tally tally;
    sim_time_t work;
    unsigned depth;
    uint32_t messenger; /* the further rank */
    struct member *members;
    struct ear *ears;
};

/* Rank 0 leads in a broadcast, and follows in a reduction. */
static int is_leader(const struct member *member)
{
    int is_bcast =
        member->elastic->tally.c->simulation->coll == XYLEM_COLL_BCAST;

    return (member->rank == 0) == is_bcast;
}

/* The other side: ranks first ... first + count - 1. */
static uint32_t others_first(const struct member *member)
{
    return member->rank == 0;
}

static uint32_t others_count(const struct member *member)
{
    return member->rank == 0 ? member->elastic->tally.ranks - 1 : 1;
}

static sim_time_t head_start(sim_time_t work)
{
    return work - work / 10;
}

/* ---- messages ---- */

static void own_engine(xylem_context_t *context)
{
    while (!xyl_engine_try_own(&context->engine))
        continue; /* one thread: taken at once */
}

static xylem_context_t *context_of(const struct elastic *elastic, uint32_t rank)
{
    return sim_world_context(elastic->tally.world, rank);
}

static void sent(xyl_event_t *event)
{
    free(event);
}

/* Tells the other side of `member` about one of its calls. Rank `by` sends,
 * while it owns its engine. */
static void tell(struct member *member, uint32_t by)
{
    struct elastic *elastic = member->elastic;
    xyl_net_t *net = context_of(elastic, by)->net;
    uint32_t i;

    for (i = 0; i < others_count(member); i++) {
        xyl_event_t *event = calloc(1, sizeof *event);

        if (event == NULL) {
            sim_tally_complain(&elastic->tally, member->rank, "out of memory");
            return;
        }
        event->handle = sent;
        net->ops->send(net, others_first(member) + i, ELASTIC_TAG(member->rank),
                       NULL, 0, event);
    }
}

/* The messenger's core. */
static void tell_in_stead(void *arg, uint32_t messenger)
{
    struct member *member = arg;
    xylem_context_t *context = context_of(member->elastic, messenger);

    own_engine(context);
    tell(member, messenger);
    xyl_engine_disown(&context->engine);
}

static void listen(struct ear *ear)
{
    xyl_net_t *net = context_of(ear->owner->elastic, ear->owner->rank)->net;

    net->ops->recv(net, ELASTIC_TAG(ear->source), NULL, 0, &ear->event);
}

/* ---- calls ---- */

static unsigned heard_of_all(const struct member *member)
{
    unsigned least = member->ears[0].heard;
    uint32_t i;

    for (i = 1; i < others_count(member); i++) {
        if (member->ears[i].heard < least)
            least = member->ears[i].heard;
    }
    return least;
}

static void call_make(struct member *member)
{
    struct elastic *elastic = member->elastic;
    sim_world_t *world = elastic->tally.world;

    member->calls++;
    sim_world_compute(world, member->rank, elastic->work);
    if (is_leader(member))
        sim_world_at(world, elastic->messenger,
                     sim_world_now(world, member->rank) -
                         head_start(elastic->work),
                     tell_in_stead, member);
    else
        tell(member, member->rank);
    (void)sim_tally_end(&elastic->tally, member->rank);
}

/* Makes all calls for which the time has come. The rank owns its engine. */
static void go_on(struct member *member)
{
    const struct sim_case *c = member->elastic->tally.c;
    uint64_t limit = heard_of_all(member);

    if (is_leader(member))
        limit += member->elastic->depth;
    if (limit > (uint64_t)c->warmup + c->iterations)
        limit = (uint64_t)c->warmup + c->iterations;
    while (member->calls < limit)
        call_make(member);
}

static void told(xyl_event_t *event)
{
    struct ear *ear = (struct ear *)(void *)event;

    ear->heard++;
    listen(ear);
    go_on(ear->owner);
}

static void begin(void *arg, uint32_t rank)
{
    struct member *member = arg;
    xylem_context_t *context = context_of(member->elastic, rank);
    uint32_t i;

    sim_tally_begin(&member->elastic->tally, rank);
    own_engine(context);
    for (i = 0; i < others_count(member); i++)
        listen(&member->ears[i]);
    go_on(member);
    xyl_engine_disown(&context->engine);
}

/* A single rank waits for no other. */
static void begin_alone(void *arg, uint32_t rank)
{
    struct member *member = arg;

    sim_tally_begin(&member->elastic->tally, rank);
    do
        sim_world_compute(member->elastic->tally.world, rank,
                          member->elastic->work);
    while (sim_tally_end(&member->elastic->tally, rank));
}

/* ---- the world ---- */

static void members_begin(struct elastic *elastic)
{
    uint32_t ranks = elastic->tally.ranks;
    struct ear *ears = elastic->ears;
    uint32_t i, k;

    for (i = 0; i < ranks; i++) {
        struct member *member = &elastic->members[i];

        *member = (struct member){.elastic = elastic, .rank = i, .ears = ears};
        for (k = 0; k < others_count(member) && ranks > 1; k++)
            *ears++ = (struct ear){.event.handle = told,
                                   .owner = member,
                                   .source = others_first(member) + k};
        sim_world_at(elastic->tally.world, i,
                     sim_case_arrival(elastic->tally.c, i),
                     ranks > 1 ? begin : begin_alone, member);
    }
}

/* Creates the world, with the messenger, which noise does not hit. */
static xylem_status_t world_create(struct elastic *elastic, sim_noise_t *noise)
{
    const struct sim_case *c = elastic->tally.c;
    sim_machine_t machine;
    sim_options_t options = {.machine = &machine,
                             .nodes = 1,
                             .ranks_per_node = elastic->tally.ranks + 1,
                             .seed = c->seed,
                             .trace = c->trace};

    if (c->noise != NULL) {
        *noise = *c->noise;
        if (noise->last >= elastic->messenger)
            noise->last = elastic->messenger - 1;
        options.noise = noise;
    }
    sim_machine_ideal(options.ranks_per_node, &machine);
    return sim_world_create(&options, &elastic->tally.world);
}

int sim_elastic_run(const struct sim_case *c, struct sim_outcome *outcome)
{
    struct elastic elastic = {.work = c->contender->work,
                              .depth = c->contender->depth,
                              .messenger = c->simulation->ranks};
    sim_noise_t noise;
    int ok = 0;

    if (!sim_tally_create(&elastic.tally, c))
        return 0;
    elastic.members = calloc(elastic.tally.ranks, sizeof *elastic.members);
    elastic.ears =
        calloc(2 * (size_t)elastic.tally.ranks, sizeof *elastic.ears);
    if (elastic.members == NULL || elastic.ears == NULL) {
        sim_tally_complain(&elastic.tally, 0, "out of memory");
        goto free_members;
    }
    if (world_create(&elastic, &noise) != XYLEM_OK) {
        sim_tally_complain(&elastic.tally, 0, xylem_last_error());
        goto free_members;
    }
    members_begin(&elastic);
    ok = sim_tally_drive(&elastic.tally, outcome);
    /* The messages of posted receives never come, and no rank waits for them.
     */
    if (sim_world_destroy(elastic.tally.world) != XYLEM_OK) {
        sim_tally_complain(&elastic.tally, 0, xylem_last_error());
        ok = 0;
    }
free_members:
    free(elastic.members);
    free(elastic.ears);
    sim_tally_destroy(&elastic.tally);
    return ok;
}

/* ---- the formula ---- */

struct formula {
    const struct sim_case *c;
    uint32_t ranks;
    unsigned depth;
    sim_time_t work;
    sim_noise_cursor_t *noises; /* [ranks] */
    sim_time_t *ends;           /* [ranks] of the last call */
    sim_time_t *ages;           /* [depth] slowest follower, by call % depth */
};

static void formula_call(struct formula *f, unsigned call)
{
    int is_bcast = f->c->simulation->coll == XYLEM_COLL_BCAST;
    uint32_t leader = is_bcast ? 0 : 1, leaders = is_bcast ? 1 : f->ranks - 1;
    uint32_t follower = is_bcast ? 1 : 0, followers = f->ranks - leaders;
    sim_time_t last = 0, slowest = 0;
    uint32_t i;

    for (i = leader; i < leader + leaders; i++) {
        if (call >= f->depth && f->ends[i] < f->ages[call % f->depth])
            f->ends[i] = f->ages[call % f->depth];
        f->ends[i] = sim_noise_advance(&f->noises[i], f->ends[i], f->work);
        if (f->ends[i] > last)
            last = f->ends[i];
    }
    last -= head_start(f->work);
    for (i = follower; i < follower + followers; i++) {
        if (f->ends[i] < last)
            f->ends[i] = last;
        f->ends[i] = sim_noise_advance(&f->noises[i], f->ends[i], f->work);
        if (f->ends[i] > slowest)
            slowest = f->ends[i];
    }
    f->ages[call % f->depth] = slowest;
}

int sim_elastic_formula(const struct sim_case *c)
{
    struct formula f = {.c = c,
                        .ranks = c->simulation->ranks,
                        .depth = c->contender->depth,
                        .work = c->contender->work};
    unsigned call;
    uint32_t i;
    int ok = 0;

    f.noises = calloc(f.ranks, sizeof *f.noises);
    f.ends = calloc(f.ranks, sizeof *f.ends);
    f.ages = calloc(f.depth, sizeof *f.ages);
    if (f.noises == NULL || f.ends == NULL || f.ages == NULL)
        goto free_arrays;
    for (i = 0; i < f.ranks; i++)
        sim_noise_cursor_init(&f.noises[i], c->noise, i);
    for (call = 0; call < c->iterations; call++)
        formula_call(&f, call);
    for (i = 0; i < f.ranks; i++)
        c->rank_us[i] = (double)f.ends[i] / (double)SIM_US / c->iterations;
    ok = 1;
free_arrays:
    free(f.noises);
    free(f.ends);
    free(f.ages);
    return ok;
}
