/* Alltoall: a block that has to go `way` ranks on goes there digit by digit of
 * `way`, lowest first. In the round of distance d, a power of the radix, all
 * blocks whose way has digit j at d go j * d ranks on, in one message. Every
 * block is sent as often as its way has nonzero digits, but there are only
 * (radix - 1) * log_radix(ranks) messages. Any number of ranks; for short
 * blocks.
 *
 * Messages carry their blocks in the order of ways. A *run* is d successive
 * ways, from j * d on or a multiple of radix * d further. A block is copied
 * into an outgoing message straight from the incoming message of its next lower
 * digit, or from the user's buffer if it has no lower digit. In place, all
 * blocks to be sent are put aside first.
 *
 * Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient algorithms for all-to-all
 * communications in multiport message-passing systems, 1997. */
#include "collectives/schedules/algorithm.h"

#include <assert.h>

/* The message that comes over one distance. */
typedef struct incoming {
    uint64_t over; /* digit * unit */
    uint64_t unit; /* power of the radix */
    xyl_position_t at;
    xyl_action_t recv;
} incoming_t;

typedef struct bruck {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_position_t source; /* of the blocks to be sent, by rank */
    xyl_action_t saved;    /* after this they are in `source` */
    uint32_t count;        /* of `incoming`, lower digits first */
    incoming_t incoming[XYL_DISTANCES_MAX];
} bruck_t;

/* How many ways below `end` have the digit of `over` at `unit`. */
static uint64_t number_below(const bruck_t *bruck, uint64_t end, uint64_t over,
                             uint64_t unit)
{
    uint64_t period = unit * bruck->problem->radix;
    uint64_t number = end / period * unit, rest = end % period;

    if (rest <= over)
        return number;
    return number + (rest - over < unit ? rest - over : unit);
}

/* The block of the user that has to go `way` ranks on. */
static xyl_position_t block_for(const bruck_t *bruck, uint64_t way)
{
    const xyl_problem_t *problem = bruck->problem;

    return xyl_position_plus(
        bruck->source, (problem->rank + way) % problem->ranks * problem->count);
}

/* The place in RECV of a block that has come `way` ranks. */
static xyl_position_t place_of_arrived(const bruck_t *bruck, uint64_t way)
{
    const xyl_problem_t *problem = bruck->problem;

    return xyl_in_recv((problem->rank + problem->ranks - way) % problem->ranks *
                       problem->count);
}

static xyl_position_t block_of_incoming(const bruck_t *bruck,
                                        const incoming_t *incoming,
                                        uint64_t way)
{
    uint64_t number = number_below(bruck, way, incoming->over, incoming->unit);

    return xyl_position_plus(incoming->at, number * bruck->problem->count);
}

/* Puts a run, the ways from `way` on, into an outgoing message: its first
 * block comes from the user, the others came over lower digits. */
static void put_run(const bruck_t *bruck, uint64_t way, xyl_position_t to)
{
    uint64_t ranks = bruck->problem->ranks, count = bruck->problem->count;
    uint32_t i;

    xyl_schedule_copy(bruck->schedule, to, block_for(bruck, way), count,
                      bruck->saved);
    for (i = 0; i < bruck->count; i++) {
        const incoming_t *lower = &bruck->incoming[i];
        uint64_t first = way + lower->over, number = lower->unit;
        if (first >= ranks)
            break;
        if (number > ranks - first)
            number = ranks - first;
        xyl_schedule_copy(bruck->schedule,
                          xyl_position_plus(to, lower->over * count),
                          block_of_incoming(bruck, lower, first),
                          number * count, lower->recv);
    }
}

static void send_over(const bruck_t *bruck, uint64_t over, uint64_t unit,
                      uint32_t label)
{
    xyl_schedule_t *schedule = bruck->schedule;
    uint64_t ranks = bruck->problem->ranks, count = bruck->problem->count, way;
    uint64_t number = number_below(bruck, ranks, over, unit);
    uint32_t to = (uint32_t)((bruck->problem->rank + over) % ranks);
    uint32_t first, end;
    xyl_position_t all, at;
    xyl_action_t send;

    if (number == 1) {
        xyl_schedule_send(schedule, to, label, block_for(bruck, over), count,
                          bruck->saved);
        return;
    }
    at = all = xyl_schedule_temp(schedule, number * count);
    first = schedule->count;
    for (way = over; way < ranks; way += unit * bruck->problem->radix) {
        put_run(bruck, way, at);
        at = xyl_position_plus(at, unit * count);
    }
    end = schedule->count;
    send = xyl_schedule_send(schedule, to, label, all, number * count,
                             XYL_ACTION_NONE);
    for (; first < end; first++)
        xyl_schedule_order(schedule, send, first);
}

/* Receives a message. Its blocks that have no higher digit have arrived. */
static void receive_over(bruck_t *bruck, uint64_t over, uint64_t unit,
                         uint32_t label)
{
    xyl_schedule_t *schedule = bruck->schedule;
    uint64_t ranks = bruck->problem->ranks, count = bruck->problem->count, way;
    uint64_t number = number_below(bruck, ranks, over, unit);
    uint32_t from = (uint32_t)((bruck->problem->rank + ranks - over) % ranks);
    incoming_t *incoming = &bruck->incoming[bruck->count++];
    xyl_action_t copy;

    assert(bruck->count <= XYL_DISTANCES_MAX);
    *incoming = (incoming_t){.over = over, .unit = unit};
    if (number == 1) {
        xyl_schedule_recv(schedule, from, label, place_of_arrived(bruck, over),
                          count, bruck->saved);
        return;
    }
    incoming->at = xyl_schedule_temp(schedule, number * count);
    incoming->recv = xyl_schedule_recv(schedule, from, label, incoming->at,
                                       number * count, XYL_ACTION_NONE);
    for (way = over; way < over + unit && way < ranks; way++) {
        copy = xyl_schedule_copy(schedule, place_of_arrived(bruck, way),
                                 block_of_incoming(bruck, incoming, way), count,
                                 incoming->recv);
        xyl_schedule_order(schedule, copy, bruck->saved);
    }
}

/* Finds where the blocks to be sent stay while others arrive. */
static void find_source(bruck_t *bruck)
{
    uint64_t count = bruck->problem->count * bruck->problem->ranks;

    bruck->source = xyl_in_send(0);
    bruck->saved = XYL_ACTION_NONE;
    if (!bruck->problem->is_in_place) {
        xyl_schedule_copy(bruck->schedule, place_of_arrived(bruck, 0),
                          block_for(bruck, 0), bruck->problem->count,
                          XYL_ACTION_NONE);
        return;
    }
    bruck->source = xyl_schedule_temp(bruck->schedule, count);
    bruck->saved = xyl_schedule_copy(bruck->schedule, bruck->source,
                                     xyl_in_recv(0), count, XYL_ACTION_NONE);
}

static void alltoall_bruck(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    bruck_t bruck = {.problem = problem, .schedule = schedule};
    uint64_t ranks = problem->ranks, unit, over;
    uint32_t label = 0;

    assert(problem->radix >= 2 && problem->radix <= XYL_TREE_RADIX_MAX);
    if (problem->count == 0)
        return;
    find_source(&bruck);
    for (unit = 1; unit < ranks; unit *= problem->radix, label++) {
        for (over = unit; over < ranks && over < unit * problem->radix;
             over += unit)
            send_over(&bruck, over, unit, label);
        for (over = unit; over < ranks && over < unit * problem->radix;
             over += unit)
            receive_over(&bruck, over, unit, label);
    }
}

const xyl_algorithm_t xyl_algorithm_alltoall_bruck = {
    .name = "bruck",
    .help =
        "log rounds, blocks go by the digits of their way (Bruck et al. 1997)",
    XYL_BY_SCHEDULE(alltoall_bruck),
    .colls = XYL_COLL_BIT(ALLTOALL),
    .radix = {2, 2, 64},
};
