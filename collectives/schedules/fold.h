/* Any number of ranks to fewer, mostly a power of two: of the first
 * 2 * (ranks - places) ranks each odd one stands back behind the even one
 * before it; so the rest stay ranges of ranks in order. */
#ifndef XYL_COLLECTIVES_SCHEDULES_FOLD_H
#define XYL_COLLECTIVES_SCHEDULES_FOLD_H

#include <stdint.h>

typedef struct xyl_fold {
    uint32_t ranks; /* that take part */
    uint32_t extra; /* that stand back */
    int takes_part;
    uint32_t place;   /* among those that take part */
    uint32_t partner; /* the other of the pair; the rank itself: none */
} xyl_fold_t;

/* `places` is more than half of the ranks, or half. */
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

/* To the largest power of two. */
static inline xyl_fold_t xyl_fold(uint32_t rank, uint32_t ranks)
{
    uint32_t places = 1;

    while (places <= ranks / 2)
        places *= 2;
    return xyl_fold_to(rank, ranks, places);
}

/* The rank at a place. */
static inline uint32_t xyl_fold_rank(const xyl_fold_t *fold, uint32_t place)
{
    return place < fold->extra ? 2 * place : place + fold->extra;
}

#endif
