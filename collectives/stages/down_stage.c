/* Down a tree: every segment that is there goes to every child whose window
 * takes it, in whatever order segments come. */
#include "collectives/stages/tree_stage.h"

#include <string.h>

#include "runtime/base/bits.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

typedef struct down_stage {
    xyl_stage_t stage;
    xyl_tree_edges_t edges;
    char *buf;
    char *sent; /* the message for edges: `buf`, or the operation's own copy */
    uint64_t *ready;        /* indexes that are there */
    uint64_t arrived;       /* how many of them */
    uint32_t children_left; /* that lack segments */
} down_stage_t;

static down_stage_t *down_of(xyl_stage_t *stage)
{
    return (down_stage_t *)(void *)stage;
}

static inline void send_ready(down_stage_t *down, xyl_edge_t *child)
{
    uint64_t index;

    while ((index = xyl_edge_pick(child,
                                  xyl_bits_from(down->ready, child->base))) !=
           XYL_EDGE_NO_INDEX)
        xyl_stage_send(&down->stage, child, index,
                       xyl_stage_place(&down->stage, index, down->sent));
}

static void down_check(down_stage_t *down)
{
    if (down->arrived != down->stage.count)
        return;
    if (down->children_left == 0)
        xyl_stage_complete(&down->stage);
    else if (down->sent != down->buf && !down->stage.is_released)
        xyl_stage_release(&down->stage);
}

static void down_copy(const down_stage_t *down, char *to, const char *from,
                      uint64_t index)
{
    size_t at = xyl_stage_at(&down->stage, index);

    (void)xyl_exec_copy(xyl_collective_of(down->stage.operation)->exec, NULL,
                        to + at, from + at,
                        xyl_stage_length(&down->stage, index));
}

/* Index `index` has come: to `sent` if there is a parent, else to `buf`. */
static inline void down_take(down_stage_t *down, uint64_t index)
{
    int is_copied = down->sent != down->buf;
    uint32_t i;

    if (is_copied && !down->edges.has_parent)
        down_copy(down, down->sent, down->buf, index);
    xyl_bits_set(down->ready, index);
    down->arrived++;
    for (i = 0; i < down->edges.child_count; i++)
        send_ready(down, &down->edges.children[i]);
    if (is_copied && down->edges.has_parent)
        down_copy(down, down->buf, down->sent, index);
    xyl_stage_emit(&down->stage, index);
    down_check(down);
}

static void down_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *child = slot->edge;
    down_stage_t *down = down_of(child->stage);

    if (!xyl_stage_arrived(&down->stage, event))
        return;
    xyl_edge_finish(child, slot->index);
    if (child->base != down->stage.count) {
        send_ready(down, child);
        return;
    }
    down->children_left--;
    down_check(down);
}

static void down_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    down_stage_t *down = down_of(slot->edge->stage);
    uint64_t index = slot->index;

    if (!xyl_stage_arrived(&down->stage, event))
        return;
    xyl_edge_finish(&down->edges.parent, index);
    xyl_stage_recv_open(&down->stage, &down->edges.parent, down->sent);
    down_take(down, index);
}

static void down_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    down_take(down_of(stage), index);
}

/* 1: the stage sends to ranks for which this rank does not wait: this rank is
 * the root, or there is one lane. With several lanes, a child in one may be the
 * parent in another. */
static int may_detach(const down_stage_t *down)
{
    const xyl_operation_t *operation = down->stage.operation;

    return down->edges.child_count != 0 &&
           operation->request.context->config.detach_copies != 0 &&
           (!down->edges.has_parent || operation->lanes == 1);
}

static void down_start(xyl_stage_t *stage)
{
    down_stage_t *down = down_of(stage);

    down->sent = stage->operation->detach.is_holding && may_detach(down)
                     ? stage->operation->detach.copy
                     : down->buf;
    xyl_edges_reset(&down->edges);
    memset(down->ready, 0, xyl_bits_words(stage->count) * sizeof(uint64_t));
    down->arrived = 0;
    down->children_left = stage->count == 0 ? 0 : down->edges.child_count;
    if (stage->count == 0)
        xyl_stage_complete(stage);
    else if (down->edges.has_parent)
        xyl_stage_recv_open(stage, &down->edges.parent, down->sent);
}

static void down_cancel(xyl_stage_t *stage)
{
    xyl_edges_cancel(&down_of(stage)->edges, stage, 1, 0);
}

static void down_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    down_of(stage)->buf = writes;
}

static void down_hold(const xyl_stage_t *stage, xyl_hold_t *hold)
{
    if (!may_detach((const void *)stage))
        return;
    hold->detaches = hold->needs_message = 1;
    hold->bytes += stage->count * xyl_stage_segment_bytes(stage);
}

static const xyl_stage_ops_t down_ops = {
    .name = "down",
    .start = down_start,
    .segment_ready = down_segment_ready,
    .cancel = down_cancel,
    .bind = down_bind,
    .hold = down_hold,
};

xylem_status_t xyl_down_stage_add(xyl_operation_t *operation,
                                  const xyl_stage_spec_t *spec,
                                  const xyl_tree_spec_t *tree)
{
    const xyl_plan_t *plan = &xyl_collective_of(operation)->plan;
    xyl_tree_edges_params_t params = {
        .tree = *tree,
        .parent_limit = plan->recv_window,
        .child_limit = plan->send_window,
        .parent_handle = down_received,
        .child_handle = down_sent,
    };
    down_stage_t *down = (down_stage_t *)(void *)xyl_operation_add_stage(
        operation, spec, &down_ops, sizeof *down, 1);

    if (down == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    down->ready =
        xyl_arena_array(&operation->request.arena,
                        xyl_bits_words(down->stage.count), sizeof(uint64_t));
    if (down->ready == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    return xyl_edges_init(&down->edges, &down->stage, &params);
}
