/* The seats of a board, as one of them sees them, and how seats wait for each
 * other: a seat that waits marks itself, then looks once more; a seat that
 * changes a word looks for marks afterwards, and wakes the marked seats.
 *
 * The progressing thread calls these functions. */
#pragma once

#include "progress/shm/shm.h"

typedef struct xyl_seats {
    xyl_shm_t *shm;
    uint32_t count, own;
    uint32_t *ranks;   /* [count] of the job */
    uint32_t *readers; /* [count] scratch */
} xyl_seats_t;

/* Sets or clears this seat's bit in `marks`, which has a bit for each seat. */
void xyl_seats_mark(const xyl_seats_t *seats, _Atomic uint64_t *marks,
                    int is_marked);
void xyl_seats_wake_marked(const xyl_seats_t *seats,
                           const _Atomic uint64_t *marks,
                           _Atomic uint64_t *flag, uint64_t value);

static inline uint64_t xyl_seats_get(const xyl_seats_t *seats,
                                     const _Atomic uint64_t *word)
{
    return xyl_shm_get(seats->shm, word);
}

/* Stores `value` in the flag for other seats that are marked, if any are. */
static inline void xyl_seats_wake(const xyl_seats_t *seats,
                                  const _Atomic uint64_t *marks,
                                  _Atomic uint64_t *flag, uint64_t value)
{
    if (seats->count > 64 || xyl_seats_get(seats, marks) != 0)
        xyl_seats_wake_marked(seats, marks, flag, value);
}

/* Does as the swap of shm.h. */
static inline int xyl_seats_swap(const xyl_seats_t *seats,
                                 _Atomic uint64_t *word, uint64_t *seen,
                                 uint64_t value)
{
    return seats->shm->ops->swap(seats->shm, word, seen, value);
}

/* Adds this seat to a word that counts seats; returns the new count. */
static inline uint64_t xyl_seats_add(const xyl_seats_t *seats,
                                     _Atomic uint64_t *word)
{
    uint64_t seen;

    if (seats->shm->ops->add != NULL)
        return seats->shm->ops->add(seats->shm, word);
    seen = xyl_seats_get(seats, word);
    while (!xyl_seats_swap(seats, word, &seen, seen + 1))
        continue; /* another seat was faster; seats are few */
    return seen + 1;
}

/* ---- for sums: combine.h and pairs.h ----
 *
 * A function of these protocols that changes a shared word repeats its swap
 * until the swap succeeds, or until the word has nothing to take. So other
 * seats see a single access. A swap fails only if another seat's swap has
 * succeeded, and a piece has a bounded number of successful swaps. */

/* A flag per segment, which gets `value` when its sum is there. */
typedef struct xyl_sum_flags {
    _Atomic uint64_t *flags;
    uint64_t value;
    const uint32_t *readers; /* [count] ranks */
    uint32_t count;
} xyl_sum_flags_t;

static inline void xyl_sum_mark_full(const xyl_seats_t *seats,
                                     const xyl_sum_flags_t *full,
                                     uint32_t segment)
{
    seats->shm->ops->set(seats->shm, &full->flags[segment], full->value,
                         full->readers, full->count);
}

/* The first of `segments` (bits, not 0) from `from` on, around the end. */
static inline uint32_t xyl_sum_first_from(uint64_t segments, uint32_t from)
{
    uint64_t beyond = segments >> from << from;

    return (uint32_t)__builtin_ctzll(beyond != 0 ? beyond : segments);
}

/* The next thing to do for a seat that adds. */
typedef enum xyl_sum_next {
    XYL_SUM_STEP,
    XYL_SUM_WORK, /* the caller works on a segment, then calls ..._worked */
    XYL_SUM_WAIT, /* step again when something may have changed */
    XYL_SUM_NONE  /* this seat is not needed any more */
} xyl_sum_next_t;
