/* The messages of a stage: over an edge, or singly. */
#pragma once

#include "collectives/stages/edge.h"
#include "runtime/core/operation.h"

/* Messages of one index over an edge. A handler gives its event to
 * xyl_stage_arrived first, and does nothing more if that returns 0: the
 * operation has failed. */
void xyl_stage_send(xyl_stage_t *stage, xyl_edge_t *edge, uint64_t index,
                    const void *buf);
void xyl_stage_recv(xyl_stage_t *stage, xyl_edge_t *edge, uint64_t index,
                    void *buf);
static inline int xyl_stage_arrived(xyl_stage_t *stage,
                                    const xyl_event_t *event);

/* The address of an index in a message at `buf`. */
static inline char *xyl_stage_place(const xyl_stage_t *stage, uint64_t index,
                                    char *buf)
{
    return buf + xyl_stage_at(stage, index);
}

/* Posts all receives that the window takes now, in order, of a message at
 * `buf`.
 */
static inline void xyl_stage_recv_open(xyl_stage_t *stage, xyl_edge_t *edge,
                                       char *buf)
{
    uint64_t index;

    /* XYL_EDGE_NO_INDEX is larger, too. */
    while ((index = xyl_edge_pick(edge, UINT64_MAX)) < stage->count)
        xyl_stage_recv(stage, edge, index, xyl_stage_place(stage, index, buf));
}

/* Messages without an edge. Messages from one rank to another differ in their
 * `label`, which is below sequences * XYL_TEAM_SEGMENT_TAGS. Handlers begin as
 * above. */
typedef struct xyl_stage_message {
    uint32_t peer; /* rank in the team */
    uint32_t self; /* the source that a send names; a receive has none */
    uint32_t label;
    void *buf; /* a send only reads it */
    size_t bytes;
    xyl_event_t *event;
} xyl_stage_message_t;

void xyl_stage_post_send(xyl_stage_t *stage,
                         const xyl_stage_message_t *message);
void xyl_stage_post_recv(xyl_stage_t *stage,
                         const xyl_stage_message_t *message);

/* Makes the operation fail with the status of a message of the stage. */
void xyl_stage_fail(xyl_stage_t *stage, xylem_status_t status)
    __attribute__((cold));

static inline int xyl_stage_arrived(xyl_stage_t *stage,
                                    const xyl_event_t *event)
{
    xyl_operation_t *operation = stage->operation;
    xylem_status_t status = event->status;
    int is_live = operation->failure == XYLEM_OK;

    operation->looks_without_event = 0;
    xyl_request_event_back(&operation->request); /* may free a zombie */
    if (is_live && status != XYLEM_OK) {
        xyl_stage_fail(stage, status);
        return 0;
    }
    return is_live;
}

/* Cancels the receives that are posted on `edge`. */
void xyl_stage_cancel_edge(xyl_stage_t *stage, xyl_edge_t *edge);
