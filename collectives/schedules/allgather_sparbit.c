/* Allgather(v): every block goes down a binomial tree of its own, over the
 * longest distance first. There are log2 rounds. Each message has one block,
 * and is received in the block's place. Ranks that are far apart exchange few
 * blocks, near ranks many. A block goes on as soon as it is there.
 *
 * The place of a rank in the tree of a block is its distance from the block's
 * rank: the block comes over the distance of the place's lowest bit, and goes
 * on over each shorter one.
 *
 * Loch, Koslovski, Sparbit: a new logarithmic-cost and data locality-aware MPI
 * Allgather algorithm, 2021. */
#include "collectives/schedules/algorithm.h"

#include <stdlib.h>

#include "runtime/base/status.h"

typedef struct sparbit {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_position_t own;
    xyl_action_t *ready; /* [ranks] d: of the block of the rank d before */
} sparbit_t;

static uint32_t rank_at_distance(const sparbit_t *sparbit, uint32_t distance)
{
    return (sparbit->problem->rank + sparbit->problem->ranks - distance) %
           sparbit->problem->ranks;
}

/* The label of a message. All messages from one rank to another go over one
 * distance; their blocks have every other multiple of the distance as their
 * places. */
static uint32_t label_over(uint64_t place, uint64_t distance)
{
    return (uint32_t)(place / distance / 2);
}

static void receive_all(sparbit_t *sparbit)
{
    const xyl_problem_t *problem = sparbit->problem;
    uint32_t place, which, distance;
    uint64_t count;

    sparbit->ready[0] = XYL_ACTION_NONE;
    for (place = 1; place < problem->ranks; place++) {
        which = rank_at_distance(sparbit, place);
        distance = place & (~place + 1);
        count = xyl_recv_count(problem, which);
        sparbit->ready[place] = xyl_schedule_recv(
            sparbit->schedule, rank_at_distance(sparbit, distance),
            label_over(place, distance), xyl_recv_block(problem, which), count,
            XYL_ACTION_NONE);
    }
}

static void send_all(const sparbit_t *sparbit)
{
    const xyl_problem_t *problem = sparbit->problem;
    uint64_t ranks = problem->ranks, distance = 1, place, count;
    uint32_t peer, which;

    while (distance < ranks)
        distance *= 2;
    for (distance /= 2; distance != 0; distance /= 2) {
        peer = (uint32_t)((problem->rank + distance) % ranks);
        for (place = 0; place + distance < ranks; place += 2 * distance) {
            which = rank_at_distance(sparbit, (uint32_t)place);
            count = xyl_recv_count(problem, which);
            xyl_schedule_send(
                sparbit->schedule, peer, label_over(place, distance),
                place == 0 ? sparbit->own : xyl_recv_block(problem, which),
                count, sparbit->ready[place]);
        }
    }
}

static void allgather_sparbit(const xyl_problem_t *problem,
                              xyl_schedule_t *schedule)
{
    sparbit_t sparbit = {.problem = problem,
                         .schedule = schedule,
                         .ready =
                             malloc(problem->ranks * sizeof(xyl_action_t))};

    if (sparbit.ready == NULL) {
        schedule->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a schedule");
        return;
    }
    schedule->labels = problem->ranks; /* also for empty blocks */
    (void)xyl_own_block(problem, schedule, &sparbit.own);
    receive_all(&sparbit);
    send_all(&sparbit);
    free(sparbit.ready);
}

const xyl_algorithm_t xyl_algorithm_allgather_sparbit = {
    .name = "sparbit",
    .help = "a binomial tree per block (Loch, Koslovski 2021)",
    XYL_BY_SCHEDULE(allgather_sparbit),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
