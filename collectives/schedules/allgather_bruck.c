/* Allgather(v): in the round of distance d, a power of the radix, every rank
 * has the blocks of itself and the d - 1 ranks after it. It sends these blocks
 * to the radix - 1 ranks that are 1, 2, ... times d before it, without the
 * blocks that the receiver has already. Any number of ranks; for short blocks.
 *
 * The temporary buffer keeps the blocks, from the rank's own block on. They are
 * sent from there, and copied to their places as they arrive. Blocks of the
 * last round are not sent on: they are received in their places if these lie
 * together.
 *
 * Bruck, Ho, Kipnis, Upfal, Weathersby, Efficient algorithms for all-to-all
 * communications in multiport message-passing systems, 1997. */
#include "collectives/schedules/algorithm.h"

#include <assert.h>

#include "collectives/schedules/blocks.h"

typedef struct bruck {
    xyl_blocks_t blocks;
    uint64_t last; /* distance of the last round; so many blocks are kept */
    xyl_position_t kept; /* the own block and those after it */
    /* The first reached[i] kept elements are there when ready[i] is finished.
     * Each arrival adds an entry; `steps` counts them. */
    uint32_t steps;
    uint64_t reached[XYL_DISTANCES_MAX + 1];
    xyl_action_t ready[XYL_DISTANCES_MAX + 1];
} bruck_t;

/* Notes that the first `number` blocks are there, the last after `action`. */
static void reach(bruck_t *bruck, uint64_t number, xyl_action_t action)
{
    uint32_t step = bruck->steps++;

    bruck->reached[step] =
        xyl_blocks_count(&bruck->blocks, bruck->blocks.problem->rank, number);
    bruck->ready[step] =
        step == 0 ? action
                  : xyl_schedule_join(bruck->blocks.schedule,
                                      bruck->ready[step - 1], action);
}

static void keep_own(bruck_t *bruck)
{
    const xyl_blocks_t *blocks = &bruck->blocks;
    uint32_t rank = blocks->problem->rank;

    bruck->kept = xyl_schedule_temp(
        blocks->schedule, xyl_blocks_count(blocks, rank, bruck->last));
    reach(bruck, 1,
          xyl_schedule_copy(blocks->schedule, bruck->kept, blocks->own,
                            xyl_blocks_count(blocks, rank, 1),
                            XYL_ACTION_NONE));
}

static void send(const bruck_t *bruck, uint64_t distance, uint32_t label,
                 uint64_t number)
{
    const xyl_blocks_t *blocks = &bruck->blocks;
    uint32_t ranks = blocks->problem->ranks, rank = blocks->problem->rank;
    uint32_t to = (uint32_t)((rank + ranks - distance) % ranks), step = 0;
    uint64_t count = xyl_blocks_count(blocks, rank, number);

    if (number == 1) {
        xyl_schedule_send(blocks->schedule, to, label, blocks->own, count,
                          XYL_ACTION_NONE);
        return;
    }
    while (bruck->reached[step] < count)
        step++;
    xyl_schedule_send(blocks->schedule, to, label, bruck->kept, count,
                      bruck->ready[step]);
}

/* Receives blocks of the last round, which are not sent on. */
static void receive_last(const bruck_t *bruck, uint32_t from, uint32_t label,
                         uint64_t number)
{
    const xyl_blocks_t *blocks = &bruck->blocks;
    uint64_t count = xyl_blocks_count(blocks, from, number);
    xyl_position_t to;
    xyl_action_t recv;

    if (xyl_blocks_lie_together(blocks, from, number, &to)) {
        xyl_schedule_recv(blocks->schedule, from, label, to, count,
                          XYL_ACTION_NONE);
        return;
    }
    to = xyl_schedule_temp(blocks->schedule, count);
    recv = xyl_schedule_recv(blocks->schedule, from, label, to, count,
                             XYL_ACTION_NONE);
    xyl_blocks_copy_out(blocks, from, number, to, recv);
}

static void receive(bruck_t *bruck, uint64_t distance, uint32_t label,
                    uint64_t number)
{
    const xyl_blocks_t *blocks = &bruck->blocks;
    uint32_t rank = blocks->problem->rank;
    uint32_t from = (uint32_t)((rank + distance) % blocks->problem->ranks);
    uint64_t count = xyl_blocks_count(blocks, from, number);
    xyl_position_t to = xyl_position_plus(
        bruck->kept, xyl_blocks_count(blocks, rank, distance));
    xyl_action_t recv = xyl_schedule_recv(blocks->schedule, from, label, to,
                                          count, XYL_ACTION_NONE);

    xyl_blocks_copy_out(blocks, from, number, to, recv);
    reach(bruck, distance + number, recv);
}

/* How many blocks a message carries that goes `over` ranks in the round of
 * `distance`. */
static uint64_t number_over(const bruck_t *bruck, uint64_t over,
                            uint64_t distance)
{
    uint64_t missing = bruck->blocks.problem->ranks - over;

    return missing < distance ? missing : distance;
}

static void allgather_bruck(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    uint64_t ranks = problem->ranks, distance, over, number;
    uint32_t radix = problem->radix, label = 0;
    bruck_t bruck = {.last = 1};

    assert(radix >= 2 && radix <= XYL_TREE_RADIX_MAX);
    xyl_blocks_init(&bruck.blocks, problem, schedule);
    while (bruck.last * radix < ranks)
        bruck.last *= radix;
    if (bruck.last > 1)
        keep_own(&bruck);
    for (distance = 1; distance < ranks; distance *= radix, label++) {
        for (over = distance; over < ranks && over < distance * radix;
             over += distance)
            send(&bruck, over, label, number_over(&bruck, over, distance));
        for (over = distance; over < ranks && over < distance * radix;
             over += distance) {
            number = number_over(&bruck, over, distance);
            if (distance < bruck.last)
                receive(&bruck, over, label, number);
            else
                receive_last(&bruck, (uint32_t)((problem->rank + over) % ranks),
                             label, number);
        }
    }
    xyl_blocks_fini(&bruck.blocks);
}

const xyl_algorithm_t xyl_algorithm_allgather_bruck = {
    .name = "bruck",
    .help = "log rounds over growing distances (Bruck et al. 1997)",
    XYL_BY_SCHEDULE(allgather_bruck),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
    .radix = {2, 2, 64},
};
