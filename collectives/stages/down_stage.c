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
    char *sent;             /* what goes over edges lies there: `buf`, or the
                               operation's own copy */
    xyl_down_store_t store; /* where segments lie instead; place NULL: none */
    uint64_t open;          /* there is a place for indexes below */
    uint64_t *ready;        /* indexes that are there */
    uint64_t emitted;       /* how many the user has */
    uint32_t children_left; /* that do not have everything yet */
} down_stage_t;

static down_stage_t *down_of(xyl_stage_t *stage)
{
    return (down_stage_t *)(void *)stage;
}

/* ---- on their way ---- */

static char *place_of(const down_stage_t *down, uint64_t index)
{
    char *place = down->store.place(down->store.arg, index);

    return place != NULL ? place
                         : xyl_stage_place(&down->stage, index, down->buf);
}

static void send_stored(down_stage_t *down, xyl_edge_t *child)
{
    for (;;) {
        uint64_t index =
            xyl_edge_pick(child, xyl_bits_from(down->ready, child->base));
        if (index == XYL_EDGE_NO_INDEX)
            return;
        xyl_stage_send(&down->stage, child, index, place_of(down, index));
    }
}

static void receive_stored(down_stage_t *down)
{
    for (;;) {
        uint64_t index = xyl_edge_pick(&down->edges.parent, UINT64_MAX);
        if (index >= down->stage.count || index >= down->open)
            return; /* XYL_EDGE_NO_INDEX, too */
        xyl_stage_recv(&down->stage, &down->edges.parent, index,
                       place_of(down, index));
    }
}

static inline void send_ready(down_stage_t *down, xyl_edge_t *child)
{
    if (down->store.place != NULL)
        send_stored(down, child);
    else
        xyl_stage_send_open(&down->stage, child, down->ready, down->sent);
}

static void down_receive(down_stage_t *down)
{
    if (down->store.place != NULL)
        receive_stored(down);
    else
        xyl_stage_recv_open(&down->stage, &down->edges.parent, down->sent);
}

/* What children still need is not the user's. A store has all of a message or
 * nothing, and the last index as long as it has to be sent. */
static int is_kept(const down_stage_t *down)
{
    if (down->store.place != NULL)
        return down->store.place(down->store.arg, down->stage.count - 1) !=
               NULL;
    return down->sent != down->buf;
}

static void down_check(down_stage_t *down)
{
    if (down->emitted != down->stage.count)
        return;
    if (down->children_left == 0)
        xyl_stage_complete(&down->stage);
    else if (!down->stage.is_released && is_kept(down))
        xyl_stage_release(&down->stage);
}

/* Between the user's buffer and what is sent. */
static void down_copy(const down_stage_t *down, char *to, const char *from,
                      uint64_t index)
{
    const xyl_operation_t *operation = down->stage.operation;
    uint64_t segment = xyl_stage_segment(&down->stage, index);
    size_t offset = xyl_operation_offset(operation, segment);

    (void)xyl_exec_copy(xyl_collective_of(operation)->exec, NULL, to + offset,
                        from + offset,
                        xyl_operation_length(operation, segment));
}

/* The user has index `index`. */
static void down_emit(down_stage_t *down, uint64_t index)
{
    down->emitted++;
    xyl_stage_emit(&down->stage, index);
    down_check(down);
}

/* Index `index` has come: with a parent to where it is sent on from, else into
 * the buffer. */
static inline void down_take(down_stage_t *down, uint64_t index)
{
    int is_copied = down->sent != down->buf;
    uint32_t i;

    if (is_copied && !down->edges.has_parent)
        down_copy(down, down->sent, down->buf, index);
    xyl_bits_set(down->ready, index);
    for (i = 0; i < down->edges.child_count; i++)
        send_ready(down, &down->edges.children[i]);
    if (is_copied && down->edges.has_parent)
        down_copy(down, down->buf, down->sent, index);
    if (down->stage.supplies != NULL)
        xyl_stage_supply(&down->stage, index); /* and it comes from there */
    else
        down_emit(down, index);
}

static void down_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *child = slot->edge;
    down_stage_t *down = down_of(child->stage);

    if (!xyl_stage_arrived(&down->stage, event))
        return;
    xyl_edge_finish(child, slot->index);
    if (down->store.place != NULL) /* whose stage may go on */
        down->stage.operation->request.context->engine.polled++;
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
    down_receive(down);
    down_take(down, index);
}

static void down_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    if (stage->supplies != NULL)
        down_emit(down_of(stage), index);
    else
        down_take(down_of(stage), index);
}

/* Where others wait for what this stage sends, and this rank waits for nobody
 * who could wait for it: who is between in one of several lanes waits for the
 * others, too. */
static int may_copy(const down_stage_t *down)
{
    const xyl_operation_t *operation = down->stage.operation;

    return down->edges.child_count != 0 && down->store.place == NULL &&
           (!down->edges.has_parent || operation->lanes == 1) &&
           operation->request.context->config.detach_copies != 0;
}

static void down_start(xyl_stage_t *stage)
{
    down_stage_t *down = down_of(stage);

    down->sent = stage->operation->is_holding && may_copy(down)
                     ? stage->operation->held
                     : down->buf;
    xyl_tree_edges_reset(&down->edges);
    memset(down->ready, 0, xyl_bits_words(stage->count) * sizeof(uint64_t));
    down->open = down->store.place != NULL ? 0 : stage->count;
    down->emitted = 0;
    down->children_left = stage->count == 0 ? 0 : down->edges.child_count;
    if (stage->count == 0)
        xyl_stage_complete(stage);
    else if (down->edges.has_parent)
        down_receive(down);
}

static void down_cancel(xyl_stage_t *stage)
{
    xyl_tree_edges_cancel(&down_of(stage)->edges, stage, 1, 0);
}

static void down_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    down_of(stage)->buf = writes;
}

/* What lies in a store is the store's. */
static void down_hold(const xyl_stage_t *stage, xyl_hold_t *hold)
{
    const down_stage_t *down = (const void *)stage;

    if (down->store.place != NULL)
        hold->detaches |= down->edges.child_count != 0;
    if (!may_copy(down))
        return;
    hold->detaches = hold->needs_message = 1;
    hold->bytes += stage->count * stage->operation->segment_bytes;
}

static const xyl_stage_ops_t down_ops = {
    .name = "down",
    .start = down_start,
    .segment_ready = down_segment_ready,
    .cancel = down_cancel,
    .bind = down_bind,
    .hold = down_hold,
};

void xyl_down_stage_set_store(xyl_stage_t *stage, const xyl_down_store_t *store)
{
    down_of(stage)->store = *store;
}

int xyl_down_stage_open(xyl_stage_t *stage, uint64_t end)
{
    down_stage_t *down = down_of(stage);

    if (end <= down->open)
        return 0;
    down->open = end;
    if (down->edges.has_parent)
        receive_stored(down);
    return 1;
}

uint64_t xyl_down_stage_sent(const xyl_stage_t *stage)
{
    const down_stage_t *down = (const void *)stage;
    uint64_t sent = stage->count;
    uint32_t i;

    for (i = 0; i < down->edges.child_count; i++)
        if (down->edges.children[i].base < sent)
            sent = down->edges.children[i].base;
    return sent;
}

xylem_status_t xyl_down_stage_add(xyl_operation_t *operation,
                                  const xyl_stage_spec_t *spec,
                                  const xyl_tree_spec_t *tree,
                                  xyl_stage_t **stage_out)
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
    if (stage_out != NULL)
        *stage_out = &down->stage;
    down->ready =
        xyl_arena_array(&operation->request.arena,
                        xyl_bits_words(down->stage.count), sizeof(uint64_t));
    if (down->ready == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    return xyl_tree_edges_init(&down->edges, &down->stage, &params);
}
