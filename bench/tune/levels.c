/* The choice of the algorithm within nodes. The model adds up the levels of a
 * plan, each of which is timed by itself, for each leader (model.h). A task of
 * one node is the same for every algorithm between nodes, in every plan and
 * collective, and is timed once. So plans that differ in the algorithm within
 * nodes alone need no calls of their own before they promise to be the fastest.
 */
#include <math.h>
#include <string.h>

#include "bench/tune/campaign.h"

enum {
    /* For each size the search varies so many plans: the fastest known ones
     * with the table's choice within nodes. */
    LOOKS = 4,
    UNIT = sizeof(float)
};

/* How a message goes through the levels of a plan. */
struct way {
    size_t message;
    size_t leaders;  /* of a node */
    size_t segments; /* of each lane; 1: the message goes as a whole */
    size_t piece;    /* bytes */
    size_t pieces;   /* of a segment of all lanes, through a node */
    size_t each;     /* of these, of one leader */
};

static size_t in_units(size_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

/* The last level between nodes. */
static enum tune_level between_of(const struct campaign *c)
{
    return xyl_registry_between(c->coll) == XYLEM_COLL_REDUCE ? TUNE_IR
                                                              : TUNE_IB;
}

static struct way way_of(const struct campaign *c, const struct tune_plan *plan,
                         size_t s)
{
    size_t message = c->coll == XYLEM_COLL_BARRIER ? UNIT : c->bytes[s];
    size_t lane = (message + plan->lanes - 1) / plan->lanes;
    struct way way = {
        .message = message,
        .leaders = tune_plan_leaders(c->coll, plan),
        .piece =
            in_units(lane < plan->segment_bytes ? lane : plan->segment_bytes),
        .pieces = plan->lanes};
    struct tune_alone between;

    way.segments = (lane + way.piece - 1) / way.piece;
    if (tune_plan_alone(c->coll, plan, &c->search->place->shape, between_of(c),
                        &between) &&
        between.plan.segment_bytes == 0) {
        way.pieces *= way.segments;
        way.segments = 1;
    }
    way.each = way.pieces / way.leaders;
    return way;
}

/* ---- tasks ---- */

/* Finds the time of a call of `bytes` by itself, for each leader if leaders
 * differ. *time_out NULL: no time is left. */
static int task_time(struct campaign *c, const struct tune_alone *alone,
                     size_t bytes, const struct tune_time **time_out)
{
    const struct tune_place *place = c->search->place;
    struct tune_time time = campaign_time(c, &alone->plan, bytes, 0);

    time.coll = alone->coll;
    time.shape = alone->shape;
    if (time.shape.nodes > 1 || !place->nodes_alike)
        time.leaders = place->shape.nodes;
    *time_out = tune_journal_find(&c->tasks, &time);
    if (*time_out != NULL || c->is_over)
        return 1;
    if (!campaign_time_find(c, &time))
        return 0;
    if (time.us <= 0)
        return 1;
    if (!tune_journal_add(&c->tasks, &time))
        return 0;
    *time_out = tune_journal_find(&c->tasks, &time);
    return 1;
}

/* Times calls of some numbers of pieces, of `bytes` each, up to `needed`
 * pieces, and writes a point for each into c->timed. No time is left: it writes
 * none. */
static int pieces_time(struct campaign *c, const struct tune_alone *alone,
                       size_t bytes, size_t needed)
{
    const uint32_t nodes = c->search->place->shape.nodes;
    const struct tune_time *time;
    size_t i, pieces, last = 0;
    uint32_t n;

    memset(c->timed, 0, nodes * sizeof *c->timed);
    for (i = 0; last < needed; i++, last = pieces) {
        pieces = campaign_nth_steps(c, bytes, i);
        if (pieces <= last)
            break;
        if (!task_time(c, alone, pieces * bytes, &time))
            return 0;
        if (time == NULL) {
            memset(c->timed, 0, nodes * sizeof *c->timed);
            break;
        }
        for (n = 0; n < nodes; n++)
            c->timed[n].at[c->timed[n].count++] = (struct tune_point){
                (double)pieces,
                time->leaders != 0 ? time->leader_us[n] : time->us};
    }
    return 1;
}

/* Within nodes all ranks take part in all broadcasts, and each leader has its
 * own reductions, and most of the work with them; the table chooses in place of
 * an algorithm that does not fit. Between them each leader has a part of a
 * schedule's message, which goes as a whole. */
static int level_time(struct campaign *c, struct tune_alone *alone,
                      enum tune_level level, const struct way *way)
{
    const uint32_t nodes = c->search->place->shape.nodes;
    size_t bytes = way->piece, pieces = 1;
    uint32_t n;

    if (level == TUNE_SR || level == TUNE_SB) {
        pieces = level == TUNE_SR ? way->each : way->pieces;
        alone->plan.segment_bytes = way->piece;
        if (!tune_plan_fits(alone->coll, &alone->plan, &alone->shape,
                            way->segments * way->pieces * way->piece))
            tune_plan_by_table(&alone->plan);
    } else if (alone->plan.segment_bytes == 0) {
        bytes = in_units((way->message + way->leaders - 1) / way->leaders);
    } else {
        alone->plan.segment_bytes = way->piece;
        bytes *= way->each;
    }
    if (!pieces_time(c, alone, bytes, way->segments * pieces))
        return 0;
    for (n = 0; n < nodes; n++) {
        c->timed[n].pieces = (double)pieces;
        c->leaders[n].level[level] = c->timed[n];
    }
    return 1;
}

/* The time of an allreduce among the leaders begins with their reduction. */
static void behind_reductions(struct tune_leader *leader)
{
    const struct tune_task *ir = &leader->level[TUNE_IR];
    struct tune_task *ib = &leader->level[TUNE_IB];
    size_t i;

    for (i = 0; i < ir->count && i < ib->count; i++)
        ib->at[i].us = fmax(0, ib->at[i].us - ir->at[i].us);
}

/* Finds the times of the plan's levels on each leader. c->is_over 1: not all of
 * them, no time is left. */
static int tasks_find(struct campaign *c, const struct tune_plan *plan,
                      const struct way *way)
{
    const struct tune_shape *shape = &c->search->place->shape;
    struct tune_alone alone;
    unsigned level;
    uint32_t n;

    for (level = 0; level < TUNE_LEVELS; level++) {
        for (n = 0; n < shape->nodes; n++)
            c->leaders[n].level[level].count = 0;
        if (!tune_plan_alone(c->coll, plan, shape, (enum tune_level)level,
                             &alone))
            continue;
        if (!level_time(c, &alone, (enum tune_level)level, way))
            return 0;
        if (c->is_over)
            return 1;
    }
    for (n = 0; n < shape->nodes; n++)
        behind_reductions(&c->leaders[n]);
    return 1;
}

/* How far levels go on at the same time, by calls of a few steps of the plan
 * itself. */
static int overlap_find(struct campaign *c, const struct tune_plan *plan,
                        const struct way *way)
{
    const struct tune_shape *shape = &c->search->place->shape;
    const struct tune_alone itself = {
        .coll = c->coll, .shape = *shape, .plan = *plan};
    uint32_t n;

    for (n = 0; n < shape->nodes; n++)
        c->leaders[n].overlap = 1;
    if (way->segments == 1)
        return 1;
    if (!pieces_time(c, &itself, way->pieces * way->piece, way->segments))
        return 0;
    for (n = 0; n < shape->nodes && c->timed[n].count > 1; n++) {
        c->timed[n].pieces = 1;
        c->leaders[n].overlap =
            tune_model_overlap(&c->leaders[n], tune_model_stable(&c->timed[n]));
    }
    return 1;
}

/* ---- what is expected ---- */

/* The time by the leaders' tasks: of a broadcast or a reduction of few segments
 * by the times of each task. */
static double by_leaders(const struct campaign *c, const struct way *way)
{
    const struct tune_leader *leaders = c->leaders;
    const size_t nodes = c->search->place->shape.nodes;
    enum tune_level from = between_of(c) == TUNE_IR ? TUNE_SR : TUNE_IB;

    if (xyl_registry_between(c->coll) == XYLEM_COLL_ALLREDUCE)
        return tune_model_allreduce(leaders, nodes, way->segments);
    return way->segments <= CAMPAIGN_STEPS_MOST
               ? tune_model_each(leaders, nodes, from, way->segments)
               : tune_model_full(leaders, nodes, from, way->segments);
}

/* The measured time of the plan, or else the expected one. */
static double known_us(const struct campaign *c, size_t p, size_t s)
{
    double us = *campaign_at(c, c->measured, p, s);

    return us > 0
               ? us
               : campaign_corrected(c, s, *campaign_at(c, c->predicted, p, s));
}

/* The variant takes as much more or less than the plan as by their tasks. */
static int expect_variant(struct campaign *c, size_t p, size_t s,
                          const struct tune_plan *variant, double plan_us)
{
    const struct way way = way_of(c, variant, s);
    size_t q = campaign_add(c, variant);
    double us;

    if (q == c->plans || !campaign_has(c, q, s) ||
        *campaign_at(c, c->predicted, q, s) > 0)
        return 1;
    if (!tasks_find(c, variant, &way))
        return 0;
    if (c->is_over)
        return 1;
    us = known_us(c, p, s) * by_leaders(c, &way) / plan_us;
    *campaign_at(c, c->by_tasks, q, s) = us;
    *campaign_at(c, c->predicted, q, s) = us / campaign_corrected(c, s, 1);
    return 1;
}

static int expect_variants(struct campaign *c, size_t p, size_t s)
{
    struct tune_plan variants[TUNE_WITHIN_MAX];
    const struct way way = way_of(c, &c->plan[p], s);
    size_t i, count = tune_plan_within(c->coll, &c->plan[p],
                                       &c->search->place->shape, variants);
    double us;

    if (!tasks_find(c, &c->plan[p], &way) ||
        !overlap_find(c, &c->plan[p], &way))
        return 0;
    if (c->is_over)
        return 1;
    us = by_leaders(c, &way);
    *campaign_at(c, c->by_tasks, p, s) = us;
    for (i = 0; i < count && !c->is_over; i++)
        if (!expect_variant(c, p, s, &variants[i], us))
            return 0;
    return 1;
}

/* The fastest plan in levels that has not been asked yet; c->plans: there is
 * none. */
static size_t next_plan(const struct campaign *c, size_t s)
{
    size_t best = c->plans, p;

    for (p = 0; p < c->listed; p++)
        if (*campaign_at(c, c->predicted, p, s) > 0 &&
            *campaign_at(c, c->by_tasks, p, s) == 0 &&
            tune_plan_leaders(c->coll, &c->plan[p]) != 0 &&
            (best == c->plans || known_us(c, p, s) < known_us(c, best, s)))
            best = p;
    return best;
}

int campaign_vary_within(struct campaign *c)
{
    size_t s, p;
    unsigned i;

    if (!c->search->place->shares_memory)
        return 1;
    for (s = 0; s < c->sizes; s++)
        for (i = 0; i < LOOKS && !c->is_over; i++) {
            p = next_plan(c, s);
            if (p == c->plans)
                break;
            if (!expect_variants(c, p, s))
                return 0;
        }
    return 1;
}
