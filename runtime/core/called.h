/* What this rank has called on a team, so that ranks that wait for long can
 * compare it: the last calls in order, by their number, wherever their data go,
 * and the last ones with tags, by these. A rank that waits tells the others
 * what it waits in and what it has called before; whoever has begun something
 * else in one of these places fails the team. Whoever has not come that far is
 * late, and says nothing.
 *
 * The progressing thread, except where noted. */
#ifndef XYL_RUNTIME_CORE_CALLED_H
#define XYL_RUNTIME_CORE_CALLED_H

#include <stdatomic.h>

#include "progress/engine/queue.h"
#include "runtime/core/tags.h"

struct xylem_context;
struct xylem_team;
struct xyl_notice;
struct xyl_operation;

enum {
    XYL_CALLED_KEPT = 64, /* a power of two */
    XYL_CALLED_TAGGED = 16,
    XYL_CALLED_REFUSED_LOOKS = 4
};

/* A call with a tag. */
typedef struct xyl_called_tagged {
    uint32_t sequence; /* its first; 0: none */
    uint64_t call;
} xyl_called_tagged_t;

typedef struct xyl_called {
    uint64_t begun;                  /* calls in order */
    uint64_t past;                   /* stands for all of them in this order */
    uint64_t calls[XYL_CALLED_KEPT]; /* the last of them, by number */
    xyl_called_tagged_t tagged[XYL_CALLED_TAGGED];
    /* Calls that were refused, what the last is called, and 1 more than the
     * number of the call in whose place that was. */
    _Atomic uint32_t refusals;
    _Atomic uint64_t refused_call;
    uint64_t refused_at;
    xyl_task_t refusal_task;
    _Atomic int refusal_is_queued;
} xyl_called_t;

/* Of a team that is all zero. */
void xyl_called_init(xyl_called_t *called);

/* The next call in order begins. Returns what stands for all, with it. */
static inline uint64_t xyl_called_begin(xyl_called_t *called, uint64_t call)
{
    const uint64_t mix = UINT64_C(0x9e3779b97f4a7c15); /* 2^64 / 1.618 */

    called->calls[called->begun++ % XYL_CALLED_KEPT] = call;
    called->past = ((called->past ^ called->past >> 32) + call + 1) * mix;
    return called->past;
}
/* The one with a tag that has these numbers does. */
static inline void xyl_called_begin_tagged(xyl_called_t *called,
                                           uint32_t sequence, uint64_t call)
{
    called->tagged[sequence / XYL_TAG_SEQUENCES % XYL_CALLED_TAGGED] =
        (xyl_called_tagged_t){sequence, call};
}

/* In the place of the next call one was refused, which is called so. A rank
 * that waits in it for REFUSED_LOOKS seconds, and was not refused as often,
 * fails the team. Any thread. */
void xyl_team_refused(struct xylem_team *team, uint64_t call);
/* Any thread. */
uint32_t xyl_team_refusals(const struct xylem_team *team);

/* This rank waits in the operation. */
void xyl_called_tell(const struct xyl_operation *operation);
/* Another does, and has told. */
void xyl_called_hear(struct xylem_context *context,
                     const struct xyl_notice *notice);

#endif
