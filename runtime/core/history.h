/* The calls that this rank has made on a team: the last calls in order, by
 * their number, and the last calls with tags, by their tag. Ranks that wait for
 * long compare them (runtime/faults/mismatch.h).
 *
 * The progressing thread, except where noted. */
#pragma once

#include <stdatomic.h>

#include "progress/engine/queue.h"
#include "runtime/core/tags.h"

struct xylem_team;

enum {
    XYL_HISTORY_KEPT = 64, /* a power of two */
    XYL_HISTORY_TAGGED = 16,
    XYL_HISTORY_REFUSED_LOOKS = 4
};

typedef struct xyl_history_tagged {
    uint32_t sequence; /* its first number; 0: no call */
    uint64_t call;
} xyl_history_tagged_t;

typedef struct xyl_history {
    uint64_t begun;                   /* calls in order */
    uint64_t past;                    /* hash of all of them, in this order */
    uint64_t calls[XYL_HISTORY_KEPT]; /* the last of them, by number */
    xyl_history_tagged_t tagged[XYL_HISTORY_TAGGED];
    _Atomic uint32_t refusals;     /* calls that were refused */
    _Atomic uint64_t refused_call; /* the last of them */
    uint64_t refused_at; /* 1 + the number that the call would have had;
                            0: none */
    xyl_task_t refusal_task;
    _Atomic int refusal_is_queued;
} xyl_history_t;

/* Records the next call in order. Returns the new `past`. */
static inline uint64_t xyl_history_begin(xyl_history_t *history, uint64_t call)
{
    const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / 1.618 */

    history->calls[history->begun++ % XYL_HISTORY_KEPT] = call;
    history->past = ((history->past ^ history->past >> 32) + call + 1) * mix;
    return history->past;
}
/* Records a call with a tag, whose numbers begin at `sequence`. */
static inline void xyl_history_begin_tagged(xyl_history_t *history,
                                            uint32_t sequence, uint64_t call)
{
    history->tagged[sequence / XYL_TAG_SEQUENCES % XYL_HISTORY_TAGGED] =
        (xyl_history_tagged_t){sequence, call};
}

/* Records that `call` was refused in the place of the next call. The team fails
 * if another rank has waited in that place for REFUSED_LOOKS seconds, and was
 * not refused as often. Any thread. */
void xyl_history_refuse(struct xylem_team *team, uint64_t call);
/* Any thread. */
uint32_t xyl_history_refusals(const struct xylem_team *team);
