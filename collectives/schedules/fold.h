/* Folds any number of ranks to fewer, mostly to a power of two: each odd rank
 * below 2 * (ranks - places) stands back behind the even rank before it. So
 * each place has a range of ranks, and places are in the order of ranks. */
#pragma once

#include "collectives/schedules/algorithm.h"

/* Labels of messages before all rounds and behind all rounds, and of the first
 * round. */
enum { XYL_FOLD_LABEL, XYL_UNFOLD_LABEL, XYL_ROUND_LABEL };

typedef struct xyl_fold {
    uint32_t ranks; /* number of ranks that take part */
    uint32_t extra; /* number of ranks that stand back */
    int takes_part;
    uint32_t place;   /* among those that take part */
    uint32_t partner; /* the other of the pair; the rank itself: none */
} xyl_fold_t;

/* Folds to `places` places: half of the ranks, or more. */
static inline xyl_fold_t xyl_fold_to(uint32_t rank, uint32_t ranks,
                                     uint32_t places)
{
    xyl_fold_t fold = {places, ranks - places, 1, 0, rank};

    if (rank >= 2 * fold.extra) {
        fold.place = rank - fold.extra;
        return fold;
    }
    fold.takes_part = rank % 2 == 0;
    fold.place = rank / 2;
    fold.partner = rank ^ 1;
    return fold;
}

/* Folds to the largest power of two. */
static inline xyl_fold_t xyl_fold(uint32_t rank, uint32_t ranks)
{
    uint32_t places = 1;

    while (places <= ranks / 2)
        places *= 2;
    return xyl_fold_to(rank, ranks, places);
}

static inline uint32_t xyl_fold_rank(const xyl_fold_t *fold, uint32_t place)
{
    return place < fold->extra ? 2 * place : place + fold->extra;
}

/* The actions of a rank that stands back: it gives its partner `count`
 * elements, and gets `result` elements. */
static inline void xyl_fold_stand_back(const xyl_fold_t *fold,
                                       const xyl_problem_t *problem,
                                       xyl_schedule_t *schedule, uint64_t count,
                                       uint64_t result)
{
    xyl_action_t send =
        xyl_schedule_send(schedule, fold->partner, XYL_FOLD_LABEL,
                          xyl_in_send(0), count, XYL_ACTION_NONE);

    /* In place, the result is received where the sent elements lie. */
    xyl_schedule_recv(schedule, fold->partner, XYL_UNFOLD_LABEL, xyl_in_recv(0),
                      result, problem->is_in_place ? send : XYL_ACTION_NONE);
}

/* The first actions of the partner of such a rank: it combines the elements
 * that it gets with its own in SEND. Returns where the sum is, after
 * *ready_out. */
static inline xyl_position_t xyl_fold_combine(const xyl_fold_t *fold,
                                              const xyl_problem_t *problem,
                                              xyl_schedule_t *schedule,
                                              uint64_t count,
                                              xyl_action_t *ready_out)
{
    const xyl_position_t mine = {XYL_BUFFER_SEND, 0, 0};
    xyl_position_t theirs;

    *ready_out = XYL_ACTION_NONE;
    if (fold->partner == problem->rank || count == 0)
        return mine;
    theirs = xyl_schedule_temp(schedule, count);
    *ready_out = xyl_schedule_recv(schedule, fold->partner, XYL_FOLD_LABEL,
                                   theirs, count, XYL_ACTION_NONE);
    *ready_out = xyl_reduce_in_order(schedule, fold->partner < problem->rank,
                                     theirs, theirs, mine, count, *ready_out);
    return theirs;
}
