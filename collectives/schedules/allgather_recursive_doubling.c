/* Allgather(v): in round i ranks that differ in bit i exchange all the blocks
 * they have. Each rank that stands back (fold.h) first gives its block to its
 * even neighbour, which hands on each block as soon as the block arrives. For
 * short and middle blocks.
 *
 * Thakur, Rabenseifner, Gropp, Optimization of collective communication
 * operations in MPICH, 2005, section 4.1. */

#include "collectives/schedules/blocks.h"
#include "collectives/schedules/fold.h"

enum { LABEL_FOLD, LABEL_ROUND };

/* Finds ranks [first, end), whose blocks a place has before the round of `bit`.
 */
static void group(const xyl_fold_t *fold, uint32_t place, uint32_t bit,
                  uint32_t *first, uint32_t *end)
{
    place &= ~(bit - 1);
    *first = xyl_fold_rank(fold, place);
    *end = xyl_fold_rank(fold, place + bit);
}

/* A rank that stands back receives all blocks that its partner receives. */
static void stand_back(const xyl_store_t *store, const xyl_fold_t *fold)
{
    uint32_t rank = store->blocks->problem->rank, label = LABEL_ROUND, bit;
    uint32_t first, end;

    xyl_store_send(store, fold->partner, LABEL_FOLD, rank, rank + 1,
                   XYL_ACTION_NONE);
    xyl_store_recv(store, fold->partner, LABEL_FOLD, fold->partner,
                   fold->partner + 1);
    for (bit = 1; bit < fold->ranks; bit *= 2, label++) {
        group(fold, fold->place ^ bit, bit, &first, &end);
        xyl_store_recv(store, fold->partner, label, first, end);
    }
}

static void take_part(const xyl_store_t *store, const xyl_fold_t *fold)
{
    const xyl_problem_t *problem = store->blocks->problem;
    xyl_schedule_t *schedule = store->blocks->schedule;
    uint32_t rank = problem->rank, label = LABEL_ROUND, bit, peer, first, end;
    xyl_action_t ready = xyl_store_own(store), recv;

    if (fold->partner != rank) {
        xyl_store_send(store, fold->partner, LABEL_FOLD, rank, rank + 1,
                       XYL_ACTION_NONE);
        recv = xyl_store_recv(store, fold->partner, LABEL_FOLD, fold->partner,
                              fold->partner + 1);
        ready = xyl_schedule_join(schedule, ready, recv);
    }
    for (bit = 1; bit < fold->ranks; bit *= 2, label++) {
        peer = xyl_fold_rank(fold, fold->place ^ bit);
        group(fold, fold->place, bit, &first, &end);
        xyl_store_send(store, peer, label, first, end, ready);
        group(fold, fold->place ^ bit, bit, &first, &end);
        recv = xyl_store_recv(store, peer, label, first, end);
        if (fold->partner != rank)
            xyl_store_send(store, fold->partner, label, first, end, recv);
        ready = xyl_schedule_join(schedule, ready, recv);
    }
}

static void allgather_recursive_doubling(const xyl_problem_t *problem,
                                         xyl_schedule_t *schedule)
{
    xyl_fold_t fold = xyl_fold(problem->rank, problem->ranks);
    xyl_blocks_t blocks;
    xyl_store_t store;

    xyl_blocks_init(&blocks, problem, schedule);
    store = xyl_store_make(&blocks);
    if (fold.takes_part)
        take_part(&store, &fold);
    else
        stand_back(&store, &fold);
    xyl_blocks_fini(&blocks);
}

const xyl_algorithm_t xyl_algorithm_allgather_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "all exchange all, log2 rounds (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(allgather_recursive_doubling),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
