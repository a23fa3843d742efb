/* Allreduce and reduce_scatter(_block) on a circulant graph: each rank numbers
 * the parts from its own part on; the part of rank 0 follows that of the last
 * rank. A rank that holds `held` parts sends the upper half to the rank for
 * which these are the first parts, and combines the parts that it gets with the
 * first parts of its own. It goes on with the lower half until only its own
 * part is left. For an allreduce the results go the same ways back. Any number
 * of ranks. There are ceil(log2 ranks) rounds each way, and each rank sends its
 * vector once each way, less one part.
 *
 * Traff, Optimal, non-pipelined reduce-scatter and allreduce algorithms, 2024.
 */
#include <assert.h>

#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/parts.h"

enum {
    ROUNDS_MAX = 32,
    TOUCHES_MAX = 3 * ROUNDS_MAX /* two per round, a few more in the first */
};

/* The actions that have read or written elements [first, end), counted from the
 * beginning of the own part on, round past the end of the vector. */
typedef struct touches {
    uint32_t count;
    struct {
        uint64_t first, end;
        xyl_action_t action;
    } all[TOUCHES_MAX];
} touches_t;

typedef struct circulant {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    uint64_t own_at;       /* elements of the vector before the own part, */
    uint64_t wrap;         /* and from there to its end */
    xyl_position_t sums;   /* from the own part on */
    xyl_position_t result; /* of the own part */
    touches_t writes;      /* to the sums; on the way back, to RECV */
    touches_t reads;       /* of SEND */
} circulant_t;

/* Elements as they lie in the vector: cut at its end, so on all ranks alike. */
typedef struct stretches {
    uint64_t at[2], count[2];
} stretches_t;

/* ---- where parts and elements are ---- */

/* Elements from the own part to the one that is `index` places further. */
static uint64_t elements_before(const circulant_t *circulant, uint32_t index)
{
    const xyl_problem_t *problem = circulant->problem;
    uint32_t left = problem->ranks - problem->rank;

    return index <= left
               ? xyl_parts_at(problem, problem->rank + index) -
                     circulant->own_at
               : circulant->wrap + xyl_parts_at(problem, index - left);
}

static stretches_t stretches_of(const circulant_t *circulant, uint64_t first,
                                uint64_t end)
{
    uint64_t wrap = circulant->wrap;

    if (first >= wrap)
        return (stretches_t){{first - wrap, 0}, {end - first, 0}};
    if (end <= wrap)
        return (stretches_t){{circulant->own_at + first, 0}, {end - first, 0}};
    return (stretches_t){{circulant->own_at + first, 0},
                         {wrap - first, end - wrap}};
}

static uint32_t rank_further(const circulant_t *circulant, uint64_t distance)
{
    return (uint32_t)((circulant->problem->rank + distance) %
                      circulant->problem->ranks);
}

/* ---- what has been touched ---- */

static void touch_note(touches_t *touches, uint64_t first, uint64_t count,
                       xyl_action_t action)
{
    assert(touches->count < TOUCHES_MAX);
    touches->all[touches->count].first = first;
    touches->all[touches->count].end = first + count;
    touches->all[touches->count++].action = action;
}

static void touch_order(const circulant_t *circulant, const touches_t *touches,
                        xyl_action_t action, uint64_t first, uint64_t count)
{
    uint32_t i;

    for (i = 0; i < touches->count; i++)
        if (touches->all[i].first < first + count &&
            first < touches->all[i].end)
            xyl_schedule_order(circulant->schedule, action,
                               touches->all[i].action);
}

/* ---- messages ---- */

/* A message of elements [first, end), or two if they are two stretches. They
 * lie where the sums do, or in the vector in `buffer`. */
typedef struct passing {
    int is_send, are_sums;
    uint32_t peer, label;
    xyl_buffer_t buffer;
    uint64_t first, end;
    const touches_t *after; /* actions that touched them; NULL: none has */
    touches_t *notes;       /* NULL: nothing waits for these messages */
} passing_t;

static void pass_elements(const circulant_t *circulant,
                          const passing_t *passing)
{
    stretches_t stretches =
        stretches_of(circulant, passing->first, passing->end);
    uint64_t first = passing->first;
    xyl_schedule_t *schedule = circulant->schedule;
    xyl_position_t at;
    xyl_action_t action;
    uint32_t i;

    for (i = 0; i < 2; first += stretches.count[i++]) {
        uint64_t count = stretches.count[i];
        if (count == 0)
            continue;
        at = passing->are_sums ? xyl_position_plus(circulant->sums, first)
                               : xyl_position(passing->buffer, stretches.at[i]);
        action =
            xyl_schedule_pass(schedule, passing->is_send, passing->peer,
                              passing->label + i, at, count, XYL_ACTION_NONE);
        if (passing->after != NULL)
            touch_order(circulant, passing->after, action, first, count);
        if (passing->notes != NULL)
            touch_note(passing->notes, first, count, action);
    }
}

/* ---- towards the own part ---- */

/* Combines the sums [first, end), which have contributions of other ranks only,
 * with the own elements. `to`: where the first sum goes. */
static void reduce_first(circulant_t *circulant, xyl_position_t to,
                         uint64_t first, uint64_t end)
{
    stretches_t stretches = stretches_of(circulant, first, end);
    xyl_action_t reduce;
    uint64_t count;
    uint32_t i;

    for (i = 0; i < 2; i++) {
        count = stretches.count[i];
        if (count == 0)
            continue;
        reduce = xyl_schedule_reduce(
            circulant->schedule, to, xyl_in_send(stretches.at[i]),
            xyl_position_plus(circulant->sums, first), count, XYL_ACTION_NONE);
        touch_order(circulant, &circulant->writes, reduce, first, count);
        touch_note(&circulant->writes, first, count, reduce);
        touch_note(&circulant->reads, first, count, reduce);
        first += count;
        to = xyl_position_plus(to, count);
    }
}

/* The first round, from SEND to the sums. The round after it keeps `next` of
 * `half` parts. */
static void halve_input(circulant_t *circulant, uint32_t half, uint32_t next)
{
    uint32_t held = circulant->problem->ranks, got = held - half;
    uint64_t low = elements_before(circulant, next < got ? next : got);
    uint64_t high = elements_before(circulant, got),
             end = elements_before(circulant, half);
    xyl_action_t copy;

    pass_elements(circulant,
                  &(passing_t){.is_send = 1,
                               .peer = rank_further(circulant, half),
                               .buffer = XYL_BUFFER_SEND,
                               .first = end,
                               .end = elements_before(circulant, held),
                               .notes = &circulant->reads});
    pass_elements(circulant, &(passing_t){.are_sums = 1,
                                          .peer = rank_further(circulant, got),
                                          .end = high,
                                          .notes = &circulant->writes});
    /* First the sums that the next round sends. */
    reduce_first(circulant, xyl_position_plus(circulant->sums, low), low, high);
    reduce_first(circulant, half == 1 ? circulant->result : circulant->sums, 0,
                 low);
    if (high == end)
        return;
    /* If there is an odd number of parts, the middle one meets no other yet. */
    copy = xyl_schedule_copy(
        circulant->schedule, xyl_position_plus(circulant->sums, high),
        xyl_in_send(stretches_of(circulant, high, end).at[0]), end - high,
        XYL_ACTION_NONE);
    touch_note(&circulant->writes, high, end - high, copy);
    touch_note(&circulant->reads, high, end - high, copy);
}

/* Combines elements [first, end) of the sums with those of `theirs`. */
static void sums_reduce(circulant_t *circulant, xyl_position_t to,
                        xyl_position_t theirs, uint64_t first, uint64_t end,
                        xyl_action_t recv)
{
    xyl_action_t reduce;

    if (first == end)
        return;
    reduce = xyl_schedule_reduce(
        circulant->schedule, to, xyl_position_plus(circulant->sums, first),
        xyl_position_plus(theirs, first), end - first, recv);
    touch_order(circulant, &circulant->writes, reduce, first, end - first);
    touch_note(&circulant->writes, first, end - first, reduce);
}

static void halve_sums(circulant_t *circulant, uint32_t held, uint32_t half,
                       uint32_t next, uint32_t label)
{
    xyl_schedule_t *schedule = circulant->schedule;
    uint32_t got = held - half, ranks = circulant->problem->ranks;
    uint64_t low = elements_before(circulant, next < got ? next : got);
    uint64_t high = elements_before(circulant, got),
             end = elements_before(circulant, half);
    uint64_t sent = elements_before(circulant, held) - end;
    xyl_position_t theirs = xyl_schedule_temp(schedule, high);
    xyl_action_t send, recv;

    send = xyl_schedule_send(schedule, rank_further(circulant, half), label,
                             xyl_position_plus(circulant->sums, end), sent,
                             XYL_ACTION_NONE);
    touch_order(circulant, &circulant->writes, send, end, sent);
    if (high == 0)
        return;
    recv = xyl_schedule_recv(schedule, rank_further(circulant, ranks - half),
                             label, theirs, high, XYL_ACTION_NONE);
    sums_reduce(circulant, xyl_position_plus(circulant->sums, low), theirs, low,
                high, recv);
    sums_reduce(circulant, half == 1 ? circulant->result : circulant->sums,
                theirs, 0, low, recv);
}

/* Copies the result of a reduce_scatter in place to the vector's beginning. */
static void write_late_result(circulant_t *circulant)
{
    xyl_schedule_t *schedule = circulant->schedule;
    uint64_t count = elements_before(circulant, 1), wrap = circulant->wrap;
    xyl_action_t copy;

    if (!xyl_parts_result_is_late(circulant->problem) || count == 0)
        return;
    copy = xyl_schedule_copy(schedule, xyl_in_recv(0), circulant->result, count,
                             XYL_ACTION_NONE);
    touch_order(circulant, &circulant->writes, copy, 0, count);
    touch_order(circulant, &circulant->reads, copy, wrap, count);
    if (count > circulant->own_at)
        touch_order(circulant, &circulant->reads, copy, 0,
                    count - circulant->own_at);
}

/* ---- back ---- */

/* Sends the results back. `held[i]`: parts that a rank held before round i on
 * the way there. */
static void return_results(circulant_t *circulant, const uint32_t *held,
                           uint32_t rounds)
{
    touches_t *writes = &circulant->writes;
    uint32_t ranks = circulant->problem->ranks, i;
    uint64_t own = elements_before(circulant, 1);
    xyl_action_t last = XYL_ACTION_NONE;

    /* Only the own part is a result so far, and it was written last. */
    if (writes->count != 0)
        last = writes->all[writes->count - 1].action;
    writes->count = 0;
    if (own != 0)
        touch_note(writes, 0, own, last);
    for (i = rounds; i-- != 0;) {
        uint32_t half = held[i + 1], label = 2 * (rounds + i);
        pass_elements(
            circulant,
            &(passing_t){.is_send = 1,
                         .peer = rank_further(circulant, ranks - half),
                         .label = label,
                         .buffer = XYL_BUFFER_RECV,
                         .end = elements_before(circulant, held[i] - half),
                         .after = writes});
        pass_elements(circulant,
                      &(passing_t){.peer = rank_further(circulant, half),
                                   .label = label,
                                   .buffer = XYL_BUFFER_RECV,
                                   .first = elements_before(circulant, half),
                                   .end = elements_before(circulant, held[i]),
                                   .after = circulant->problem->is_in_place
                                                ? &circulant->reads
                                                : NULL,
                                   .notes = writes});
    }
}

static void reduce_parts_circulant(const xyl_problem_t *problem,
                                   xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, held[ROUNDS_MAX + 2], rounds = 0, i;
    uint64_t all = xyl_parts_at(problem, ranks);
    circulant_t circulant = {.problem = problem,
                             .schedule = schedule,
                             .own_at = xyl_parts_at(problem, problem->rank)};

    circulant.wrap = all - circulant.own_at;
    if (ranks == 1)
        xyl_reduce_alone(problem, schedule, all);
    if (ranks == 1 || all == 0)
        return;
    for (held[0] = ranks; held[rounds] != 1; rounds++)
        held[rounds + 1] = (held[rounds] + 1) / 2;
    held[rounds + 1] = 1;
    circulant.sums =
        xyl_schedule_temp(schedule, elements_before(&circulant, held[1]));
    circulant.result = xyl_in_recv(0);
    if (problem->coll == XYLEM_COLL_ALLREDUCE)
        circulant.result.at = circulant.own_at;
    else if (problem->is_in_place)
        circulant.result = circulant.sums;
    halve_input(&circulant, held[1], held[2]);
    for (i = 1; i < rounds; i++)
        halve_sums(&circulant, held[i], held[i + 1], held[i + 2], 2 * i);
    write_late_result(&circulant);
    if (problem->coll == XYLEM_COLL_ALLREDUCE)
        return_results(&circulant, held, rounds);
}

const xyl_algorithm_t xyl_algorithm_parts_circulant = {
    .name = "circulant",
    .help = "halving, and doubling, for any number of ranks (Traff 2024)",
    XYL_BY_SCHEDULE(reduce_parts_circulant),
    .colls = XYL_COLL_BIT(ALLREDUCE) | XYL_COLL_BIT(REDUCE_SCATTER) |
             XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
    .needs = XYL_NEEDS_COMMUTATIVE,
};
