#include "collectives/stages/messages.h"

#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/liveness.h"

/* ---- singly ---- */

static uint64_t tag_of(const xyl_stage_t *stage, uint32_t from, uint32_t to,
                       uint32_t label)
{
    const xyl_operation_t *operation = stage->operation;

    return operation->mark |
           xyl_team_tag(operation->request.team, from, to,
                        stage->sequence + label / XYL_TEAM_SEGMENT_TAGS, label);
}

void xyl_stage_post_send(xyl_stage_t *stage, const xyl_stage_message_t *message)
{
    xylem_request_t *request = &stage->operation->request;
    xyl_net_t *net = request->context->net;

    request->posted++;
    net->ops->send(net, xyl_team_world_rank(request->team, message->peer),
                   tag_of(stage, message->self, message->peer, message->label),
                   message->buf, message->bytes, message->event);
}

void xyl_stage_post_recv(xyl_stage_t *stage, const xyl_stage_message_t *message)
{
    xylem_request_t *request = &stage->operation->request;
    xyl_net_t *net = request->context->net;

    request->posted++;
    net->ops->recv(
        net, tag_of(stage, message->peer, request->team->rank, message->label),
        message->buf, message->bytes, message->event);
}

/* ---- over an edge ---- */

/* If a stage's segments are longer than those of the operation, their labels
 * follow from their indexes, so that successive segments differ until all
 * labels are used. */
static uint32_t label_of(const xyl_stage_t *stage, uint64_t index)
{
    uint64_t number = stage->grain == 1 ? xyl_stage_segment(stage, index)
                                        : stage->first + index;

    return (uint32_t)(number % XYL_TEAM_SEGMENT_TAGS);
}

static xyl_stage_message_t message_of(const xyl_stage_t *stage,
                                      xyl_edge_t *edge, uint64_t index,
                                      void *buf)
{
    return (xyl_stage_message_t){.peer = edge->peer,
                                 .self = edge->self,
                                 .label = label_of(stage, index),
                                 .buf = buf,
                                 .bytes = xyl_stage_length(stage, index),
                                 .event = &xyl_edge_post(edge, index)->event};
}

void xyl_stage_send(xyl_stage_t *stage, xyl_edge_t *edge, uint64_t index,
                    const void *buf)
{
    union {
        const void *constant;
        void *plain;
    } address = {buf}; /* a send only reads it */
    xyl_stage_message_t message = message_of(stage, edge, index, address.plain);

    xyl_stage_post_send(stage, &message);
}

void xyl_stage_recv(xyl_stage_t *stage, xyl_edge_t *edge, uint64_t index,
                    void *buf)
{
    xyl_stage_message_t message = message_of(stage, edge, index, buf);

    xyl_stage_post_recv(stage, &message);
}

/* ---- ends ---- */

void xyl_stage_fail(xyl_stage_t *stage, xylem_status_t status)
{
    xyl_operation_t *operation = stage->operation;

    if (status == XYLEM_ERR_NET)
        status = xyl_liveness_explain(operation->request.context,
                                      operation->request.team, status);
    if (status == XYLEM_ERR_PROC_FAILED) /* to find out which rank died */
        xyl_failure_look(operation->request.context);
    xyl_failure_raise_for(operation, status);
}

void xyl_stage_cancel_edge(xyl_stage_t *stage, xyl_edge_t *edge)
{
    xyl_net_t *net = stage->operation->request.context->net;
    uint64_t open = edge->posted & ~edge->finished;

    while (open != 0) {
        uint64_t index = edge->base + (unsigned)__builtin_ctzll(open);
        open &= open - 1;
        net->ops->cancel(net, &xyl_edge_slot(edge, index)->event);
    }
}
