#include "tests/unit/simulator/seeds_play.h"

#include <stdlib.h>

#include "collectives/board/board.h"
#include "collectives/data/description.h"
#include "collectives/node/state.h"
#include "runtime/faults/hangs.h"
#include "simulator/random.h"
#include "tests/support/call_algorithm.h"
#include "tests/support/call_run.h"
#include "tests/support/check.h"
#include "tests/support/coll_run.h"

enum {
    RANKS_MAX_LOG = 6, /* 64 ranks */
    RANKS_MAX = 1 << RANKS_MAX_LOG,
    RUNS_MAX = 6,
    BLOCKS_MAX = 60000, /* elements of an operation's blocks together */
    STARTS_MAX = 5,
    PATIENCE_US = 60000000, /* after that all must be told */
    LATE_LOG = 24,          /* a rank may be 2^24 us late */
    FAULTY_ONE_IN = 7 /* preset, of those with several ranks: a tenth of all */
};

typedef enum fault {
    FAULT_NONE,
    FAULT_DEATH,
    FAULT_SEND,
    FAULT_RECV,
    FAULT_MEMORY,
    FAULT_DELAY, /* of one message: no reason to fail */
    FAULT_CALL,  /* one rank's, of another collective, root or length */
    FAULT_COUNT
} fault_t;

typedef struct play {
    const seeds_how_t *how;
    seeds_tally_t *tally;
    uint64_t seed, random;
    uint32_t ranks, count; /* of runs */
    fabric_options_t options;
    xylem_place_t places[RANKS_MAX];
    sim_noise_t noise;
    fabric_t *fabric;
    /* Each operation is one of two kinds: a broadcast or reduction by trees
     * with all their arguments, or any collective. */
    int is_any[RUNS_MAX];
    call_run_t anys[RUNS_MAX];
    coll_run_t runs[RUNS_MAX];
    uint32_t starts[RUNS_MAX]; /* of each rank */
    fault_t fault;
    uint32_t victim; /* UINT32_MAX: nobody has suffered yet */
    struct {
        uint32_t run, rank;
        call_case_t c;    /* what that rank calls there, and */
        int has_settings; /* these alone are others */
    } odd;
    int has_quit[RANKS_MAX]; /* its calls are refused */
    int has_late;            /* ranks, by seconds */
    const char *settings[6];
} play_t;

static int one_in(play_t *play, uint32_t times)
{
    return random_below(&play->random, times) == 0;
}

/* Up to 2^`bits` - 1, each length in bits as often as any other. */
static uint32_t draw_log(play_t *play, uint32_t bits)
{
    uint32_t length = random_below(&play->random, bits + 1);

    return random_below(&play->random, UINT32_C(1) << length);
}

/* ---- the world ---- */

static void draw_places(play_t *play)
{
    uint32_t per_node = 1 + draw_log(play, 4), i, at;
    uint32_t nodes = (play->ranks + per_node - 1) / per_node;
    uint32_t per_socket = random_between(&play->random, 1, 8);
    int is_cyclic = one_in(play, 4);

    for (i = 0; i < play->ranks; i++) {
        at = is_cyclic ? i / nodes : i % per_node;
        play->places[i] =
            (xylem_place_t){.node = is_cyclic ? i % nodes : i / per_node,
                            .socket = at / per_socket,
                            .numa = at / per_socket,
                            .l3 = at / 2,
                            .core = at};
    }
    play->options.places = play->places;
}

static void draw_noise(play_t *play)
{
    static const sim_noise_kind_t kinds[] = {
        SIM_NOISE_UNIFORM, SIM_NOISE_PERIODIC, SIM_NOISE_SYNCHRONOUS,
        SIM_NOISE_POISSON, SIM_NOISE_ONCE};
    uint32_t period_us = random_between(&play->random, 20, 1000);
    uint32_t first = random_below(&play->random, play->ranks);

    play->noise = (sim_noise_t){
        .kind = kinds[random_below(&play->random, 5)],
        .mhz = UINT64_C(1000000000) / period_us,
        .max = random_between(&play->random, 1, period_us / 2) * SIM_US,
        .at = random_below(&play->random, 100) * SIM_US,
        .first = one_in(play, 2) ? first : 0,
        .last = one_in(play, 2) ? first : play->ranks - 1,
        .seed = play->seed};
    play->options.noise = &play->noise;
}

static size_t draw_eager(play_t *play)
{
    switch (random_below(&play->random, 4)) {
    case 0:
        return 0;
    case 1:
        return SIZE_MAX;
    default:
        return draw_log(play, 14);
    }
}

static void draw_late_work(play_t *play)
{
    play->options.work_late_max =
        1 + random_below(&play->random, (uint32_t)play->how->work_late_us);
    play->options.has_mirrors = play->how->are_mirrored;
    play->options.shares_memory = one_in(play, 2);
    play->options.sees_memory = one_in(play, 2);
    if (one_in(play, 2))
        play->settings[3] = "REDUCE_ORDER=arrival";
}

static void draw_world(play_t *play)
{
    static const char *const bypasses[] = {"BYPASS_US=1", "BYPASS_US=20",
                                           "BYPASS_US=200", "BYPASS_US=0"};

    play->ranks = 1 + draw_log(play, RANKS_MAX_LOG);
    play->options = (fabric_options_t){.seed = play->seed, .reorder = 1};
    if (!one_in(play, 3))
        play->options.delay_max = random_between(&play->random, 1, 60);
    play->options.eager_bytes_max = draw_eager(play);
    draw_places(play);
    if (one_in(play, 4))
        draw_noise(play);
    play->settings[0] =
        play->seed % 4 == 0 ? "DETACH_BYTES=0" : "DETACH_BYTES=1";
    play->settings[1] = "DETACH_COPIES=on";
    play->settings[2] = bypasses[play->seed / 4 % 4];
    play->options.settings = play->settings;
    if (play->how->work_late_us != 0)
        draw_late_work(play);
}

/* ---- the operations ---- */

static coll_case_t draw_case(play_t *play)
{
    coll_case_t c = coll_case_random(&play->random, play->ranks);

    if (one_in(play, 3))
        coll_case_enlarge(&c, 1 + draw_log(play, 4));
    else if (one_in(play, 8))
        coll_case_enlarge(&c, random_between(&play->random, 10, 60));
    if ((c.flags & XYLEM_FLAG_AUTOFREE) == 0) {
        c.persistent = one_in(play, 2);
        c.no_callbacks = one_in(play, 8);
    }
    return c;
}

/* A rank whose call is refused makes no more calls: the others would match its
 * next call with this one. */
static void give_up(play_t *play, uint32_t rank, xylem_status_t status)
{
    if (play->fault == FAULT_CALL) {
        CHECK_EQ(status,
                 xylem_team_error(fabric_world(play->fabric, rank), NULL));
        play->has_quit[rank] = 1;
        return;
    }
    CHECK_EQ(play->fault, FAULT_MEMORY);
    CHECK_EQ(status, XYLEM_ERR_NO_MEMORY);
    CHECK(play->victim == UINT32_MAX);
    play->victim = rank;
}

static void restart(coll_rank_t *rank, void *arg)
{
    play_t *play = arg;
    uint32_t wanted = play->starts[rank->run - play->runs];
    xylem_status_t status;

    if (rank->status != XYLEM_OK || rank->starts >= wanted ||
        play->victim == rank->rank)
        return;
    coll_run_refill_rank(rank->run, rank->rank);
    status = coll_run_start(rank->run, rank->rank);
    if (status == XYLEM_ERR_NO_MEMORY)
        give_up(play, rank->rank, status);
    else if (status != XYLEM_OK)
        CHECK(play->fault != FAULT_NONE && play->fault != FAULT_DELAY);
}

/* At most one operation is started again, in its callbacks: operations on one
 * team begin in the same order everywhere. */
static void draw_coll(play_t *play, uint32_t i, uint32_t *restarts)
{
    coll_case_t c = draw_case(play);

    coll_run_init(&play->runs[i], play->fabric, NULL, play->ranks, &c,
                  play->seed + i);
    if (c.persistent && !c.no_callbacks && (*restarts)++ == 0) {
        play->starts[i] = random_between(&play->random, 1, STARTS_MAX);
        play->runs[i].hook = restart;
        play->runs[i].hook_arg = play;
    }
    play->runs[i].expects_failure = play->fault != FAULT_NONE;
}

/* Draws another call than `c` for one rank, different in a value that is equal
 * on all ranks. */
static call_case_t draw_other_case(play_t *play, const call_case_t *c)
{
    call_case_t other = *c;
    uint32_t step = random_between(&play->random, 1, XYLEM_COLL_COUNT - 1);

    play->odd.has_settings = one_in(play, 4);
    if (play->odd.has_settings) {
        other.segment_bytes = 2 * c->segment_bytes + 8;
        return other;
    }
    if (xyl_coll_traits(c->coll)->has_root && one_in(play, 3))
        other.root = (c->root + 1) % c->ranks;
    else if (!xyl_coll_varies(c->coll) && c->coll != XYLEM_COLL_BARRIER &&
             one_in(play, 2))
        other.count += random_between(&play->random, 1, 100);
    else
        other = call_case_random(
            &play->random, (xylem_coll_t)((c->coll + step) % XYLEM_COLL_COUNT),
            c->ranks);
    other.count %= BLOCKS_MAX / c->ranks / c->ranks + 1;
    if (other.coll == c->coll && other.root == c->root &&
        other.count == c->count)
        other.count++;
    return other;
}

/* Persistent requests are not compared. */
static void draw_odd_call(play_t *play, uint32_t i)
{
    play->odd.rank = random_below(&play->random, play->ranks);
    play->odd.c = draw_other_case(play, &play->anys[i].c);
    call_run_differs(&play->anys[i], play->odd.rank, &play->odd.c);
}

static void draw_any(play_t *play, uint32_t i)
{
    call_case_t c = call_case_random(
        &play->random,
        (xylem_coll_t)random_below(&play->random, XYLEM_COLL_COUNT),
        play->ranks);
    uint64_t most = BLOCKS_MAX / play->ranks / play->ranks + 1;

    if (c.count > most)
        c.count %= most;
    call_algorithm_draw(&play->random, &c);
    call_run_init(&play->anys[i], play->fabric, NULL, &c);
    if (play->fault == FAULT_CALL && play->odd.run == i)
        draw_odd_call(play, i);
    else
        play->anys[i].is_persistent = one_in(play, 2);
    play->anys[i].drops_types = one_in(play, 2);
    play->anys[i].expects_failure = play->fault != FAULT_NONE;
}

static void draw_runs(play_t *play)
{
    uint32_t i, restarts = 0;

    play->count =
        one_in(play, 3) ? random_between(&play->random, 2, RUNS_MAX) : 1;
    if (play->fault == FAULT_CALL)
        play->odd.run = random_below(&play->random, play->count);
    for (i = 0; i < play->count; i++) {
        play->starts[i] = 1;
        play->is_any[i] = one_in(play, 2) ||
                          (play->fault == FAULT_CALL && play->odd.run == i);
        if (play->is_any[i])
            draw_any(play, i);
        else
            draw_coll(play, i, &restarts);
    }
}

/* ---- what goes wrong ---- */

static void draw_fault(play_t *play)
{
    play->victim = UINT32_MAX;
    if (play->ranks > 1 &&
        one_in(play, (uint32_t)play->how->faulty_one_in)) /* with survivors */
        play->fault =
            (fault_t)random_between(&play->random, 1, FAULT_COUNT - 1);
    play->has_late = play->seed % 4 == 0 &&
                     (play->fault == FAULT_NONE || play->fault == FAULT_DELAY);
    play->options.tells_failures = play->has_late || play->fault == FAULT_CALL;
    if (play->options.tells_failures && play->seed % 8 < 4)
        play->options.shares_memory = 1;
}

static uint32_t draw_notice_us(play_t *play)
{
    return draw_log(play, 9);
}

static int is_over(void *arg);

/* From now on no rank is to wait any more. */
static void lose_patience(void *arg, uint32_t rank)
{
    play_t *play = arg;

    if (!is_over(play))
        CHECK_EQ(xylem_team_abort(fabric_world(play->fabric, rank), "too late"),
                 XYLEM_OK);
}

/* When the world is there and nothing has happened yet. */
static void plan_fault(play_t *play)
{
    sim_world_t *sim = fabric_sim(play->fabric);
    uint64_t nth = 1 + draw_log(play, 8);

    switch (play->fault) {
    case FAULT_DEATH:
        sim_world_kill_at_step(sim, random_below(&play->random, play->ranks),
                               nth, draw_notice_us(play) * SIM_US);
        return;
    case FAULT_SEND:
        sim_world_fail_send(sim, nth, XYLEM_ERR_NET);
        return;
    case FAULT_RECV:
        sim_world_fail_recv(sim, nth, XYLEM_ERR_NET);
        return;
    case FAULT_MEMORY:
        fabric_fail_allocation(play->fabric, nth);
        return;
    case FAULT_DELAY:
        sim_world_delay_message(sim, nth, (1 + draw_log(play, 16)) * SIM_US);
        return;
    case FAULT_CALL:
        sim_world_at(sim, (play->odd.rank + 1) % play->ranks,
                     PATIENCE_US * SIM_US, lose_patience, play);
        return;
    case FAULT_NONE:
    case FAULT_COUNT:
        return;
    }
}

/* A rank whose call has failed gives up; ranks that were not told know by its
 * death. */
static unsigned follow_fault(play_t *play)
{
    uint32_t failed = sim_world_failed_rank(fabric_sim(play->fabric));

    if (play->victim == UINT32_MAX)
        play->victim = failed;
    if (play->victim == UINT32_MAX ||
        fabric_is_dead(play->fabric, play->victim))
        return 0;
    fabric_kill(play->fabric, play->victim, draw_notice_us(play));
    return 1;
}

/* ---- playing ---- */

/* The rank's program: all operations, in the same order on all ranks. */
static void start_all(void *arg, uint32_t rank)
{
    play_t *play = arg;
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    for (i = 0; i < play->count && status == XYLEM_OK; i++)
        status = play->is_any[i] ? call_run_start(&play->anys[i], rank)
                                 : coll_run_start(&play->runs[i], rank);
    if (status != XYLEM_OK)
        give_up(play, rank, status);
}

/* Ranks come to their calls at times of their own. */
static void plan_starts(play_t *play)
{
    uint32_t late_us = draw_log(play, 8), i;
    uint64_t random = random_mix(play->seed ^ LATE_LOG);

    for (i = 0; i < play->ranks; i++) {
        uint64_t at_us = random_below(&play->random, late_us + 1);
        if (play->has_late && random_below(&random, 4) == 0)
            at_us += random_below(&random, UINT32_C(1) << LATE_LOG);
        sim_world_at(fabric_sim(play->fabric), i, at_us * SIM_US, start_all,
                     play);
    }
}

static uint32_t starts_of(const play_t *play, uint32_t i, uint32_t rank)
{
    return play->is_any[i] ? play->anys[i].all[rank].starts
                           : play->runs[i].all[rank].starts;
}

static int is_over(void *arg)
{
    play_t *play = arg;
    uint32_t i, rank;

    for (i = 0; i < play->count; i++) {
        for (rank = 0; rank < play->ranks; rank++)
            if (starts_of(play, i, rank) == 0 && !play->has_quit[rank] &&
                !fabric_is_dead(play->fabric, rank))
                return 0;
        if (!(play->is_any[i] ? call_run_is_done(&play->anys[i])
                              : coll_run_is_done(&play->runs[i])))
            return 0;
    }
    return 1;
}

static unsigned act(void *arg)
{
    play_t *play = arg;
    unsigned done = follow_fault(play);
    uint32_t i;

    for (i = 0; i < play->count; i++)
        if (!play->is_any[i])
            done += coll_run_act(&play->runs[i]);
    return done;
}

/* ---- checking ---- */

/* Checks how one rank's operation has ended. Other ranks may have been told
 * whose call has failed before that rank gave up. */
static void check_status(const play_t *play, uint32_t rank,
                         xylem_status_t status)
{
    uint32_t cause = UINT32_MAX;

    if (play->fault == FAULT_NONE || play->fault == FAULT_DELAY)
        CHECK_EQ(status, XYLEM_OK);
    if (status == XYLEM_OK || status == XYLEM_ERR_PROC_FAILED)
        return;
    if (play->fault == FAULT_CALL) {
        CHECK_EQ(xylem_team_error(fabric_world(play->fabric, rank), &cause),
                 status);
        return;
    }
    if (play->fault == FAULT_MEMORY) { /* it could not be started again */
        CHECK_EQ(status, XYLEM_ERR_NO_MEMORY);
        CHECK_EQ(rank, play->victim);
        return;
    }
    CHECK_EQ(status, XYLEM_ERR_NET);
    CHECK(play->fault == FAULT_SEND || play->fault == FAULT_RECV);
    CHECK_EQ(xylem_team_error(fabric_world(play->fabric, rank), &cause),
             status);
    CHECK_EQ(cause, play->victim);
}

static void check_coll(const play_t *play, uint32_t i, uint32_t number)
{
    const coll_run_t *run = &play->runs[i];
    const coll_rank_t *rank = &run->all[number];

    if (!run->c.no_callbacks)
        CHECK_EQ(rank->completions, rank->starts);
    if (run->c.no_callbacks || rank->starts == 0)
        return;
    if (play->fault == FAULT_NONE || play->fault == FAULT_DELAY)
        CHECK_EQ(rank->starts, play->starts[i]);
    check_status(play, number, rank->status);
    coll_run_check_data(run, number);
}

static void check_any(const play_t *play, uint32_t i, uint32_t number)
{
    const call_member_t *member = &play->anys[i].all[number];

    CHECK_EQ(member->completions, member->starts);
    if (member->starts == 0)
        return;
    check_status(play, number, member->status);
    if (play->fault == FAULT_CALL && play->odd.run == i)
        return; /* the data are anybody's guess */
    call_run_check_data(&play->anys[i], number);
}

static void finish_one(play_t *play, uint32_t i)
{
    uint32_t rank;

    if (play->fault == FAULT_NONE && play->is_any[i])
        call_run_check(&play->anys[i]);
    else if (play->fault == FAULT_NONE)
        coll_run_check(&play->runs[i]);
    for (rank = 0; rank < play->ranks; rank++)
        if (play->is_any[i])
            check_any(play, i, rank);
        else
            check_coll(play, i, rank);
    if (play->is_any[i])
        call_run_fini(&play->anys[i]);
    else
        coll_run_fini(&play->runs[i]);
}

/* All ranks have been told, or none has. Two ranks may notice different calls
 * at once. */
static void check_calls(const play_t *play)
{
    xylem_status_t status;
    uint32_t rank, told = 0;

    for (rank = 0; rank < play->ranks; rank++) {
        status = xylem_team_error(fabric_world(play->fabric, rank), NULL);
        told += status != XYLEM_OK;
        CHECK(status == XYLEM_OK || status == XYLEM_ERR_MISMATCH ||
              status == XYLEM_ERR_TRUNCATED);
    }
    CHECK(told == play->ranks || told == 0);
}

/* The dead are brought back, so that their requests end, too. */
static void finish(play_t *play)
{
    uint32_t i, rank;

    for (rank = 0; rank < play->ranks; rank++)
        if (fabric_is_dead(play->fabric, rank))
            fabric_isolate(play->fabric, rank);
    fabric_run_dry(play->fabric);
    if (play->fault == FAULT_CALL)
        check_calls(play);
    for (i = 0; i < play->count; i++)
        finish_one(play, i);
}

static int has_struck(const play_t *play)
{
    uint32_t i;

    for (i = 0; i < play->ranks; i++)
        if (fabric_is_dead(play->fabric, i))
            return 1;
    return fabric_allocation_failed(play->fabric);
}

static void count(const play_t *play)
{
    const sim_machine_t *machine = fabric_machine(play->fabric);
    const sim_link_t *link = &machine->links[SIM_LEVEL_SYSTEM];
    uint32_t i, most = 0, flags = 0, types = 0, any = 0;
    size_t bytes = 0;
    sim_counts_t counts;

    for (i = 0; i < play->count; i++) {
        flags |= play->runs[i].c.flags;
        bytes = play->runs[i].bytes > bytes ? play->runs[i].bytes : bytes;
        most = play->starts[i] > most ? play->starts[i] : most;
        any += play->is_any[i] != 0;
        types += play->is_any[i] && play->anys[i].c.types != CALL_TYPES_PLAIN;
    }
    play->tally->faultless += play->fault == FAULT_NONE;
    play->tally->death += play->fault == FAULT_DEATH;
    play->tally->failing_send += play->fault == FAULT_SEND;
    play->tally->failing_recv += play->fault == FAULT_RECV;
    play->tally->no_memory += play->fault == FAULT_MEMORY;
    play->tally->call += play->fault == FAULT_CALL;
    play->tally->settings += play->odd.has_settings != 0;
    play->tally->delay += play->fault == FAULT_DELAY;
    play->tally->struck += has_struck(play) != 0;
    play->tally->nic += link->transport == SIM_TRANSPORT_NIC;
    play->tally->pipeline += link->rendezvous == SIM_RENDEZVOUS_PIPELINE;
    play->tally->queue += machine->node.queue_slots != 0;
    play->tally->shared += sim_machine_cores(machine) < 3;
    play->tally->jitter += play->options.delay_max != 0;
    play->tally->noise += play->options.noise != NULL;
    play->tally->several += play->count > 1;
    play->tally->restarts += most > 1;
    play->tally->any += any != 0;
    play->tally->types += types != 0;
    play->tally->parts += (flags & XYLEM_FLAG_PARTS) != 0;
    play->tally->large += bytes > 16384;
    sim_world_counts(fabric_sim(play->fabric), &counts);
    play->tally->copies += counts.works[XYL_WORK_COPY] != 0;
    play->tally->sums += counts.works[XYL_WORK_REDUCE] != 0;
    play->tally->packs += counts.works[XYL_WORK_PACK] != 0 ||
                          counts.works[XYL_WORK_UNPACK] != 0 ||
                          counts.works[XYL_WORK_REPACK] != 0;
    play->tally->memory += play->options.shares_memory != 0;
}

/* Watches operations as in a job. */
static void watch(const play_t *play)
{
    uint32_t rank;

    for (rank = 0; rank < play->ranks; rank++)
        xyl_hangs_start(fabric_context(play->fabric, rank));
}

/* Other teams have all of the pools of windows, or all but a few grains. */
static void crowd_pools(play_t *play)
{
    xylem_context_t *context;
    xyl_shm_pool_t pool;
    uint32_t rank, bank;

    for (rank = 0; rank < play->ranks; rank++) {
        context = fabric_context(play->fabric, rank);
        if (context->shm == NULL ||
            !xyl_shm_pool_attach(&pool, context->shm, XYL_NODE_POOL_KEY,
                                 context->sizes.budget, 0))
            continue; /* stays attached until the world ends */
        for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++)
            *(uint64_t *)(void *)(pool.memory +
                                  (size_t)bank * XYL_BOARD_LINE_BYTES) =
                UINT64_MAX << random_below(&play->random, 20);
    }
}

uint64_t seeds_play(const seeds_how_t *how, uint64_t seed, seeds_tally_t *tally)
{
    play_t play = {
        .how = how, .tally = tally, .seed = seed, .random = random_mix(seed)};
    fabric_script_t script = {is_over, act, &play};
    unsigned failures = check_failures();
    uint64_t trace;

    draw_world(&play);
    draw_fault(&play);
    play.fabric = fabric_create(play.ranks, &play.options);
    if (play.options.shares_memory && one_in(&play, 2))
        crowd_pools(&play);
    if (play.options.tells_failures)
        watch(&play);
    draw_runs(&play);
    plan_fault(&play);
    plan_starts(&play);
    (void)fabric_run_until(play.fabric, &script);
    (void)follow_fault(&play);   /* the last to end may be the one that fails */
    fabric_run_dry(play.fabric); /* all have been told */
    finish(&play);
    trace = fabric_trace(play.fabric);
    if (check_failures() == failures)
        count(&play);
    fabric_destroy(play.fabric);
    return trace;
}
