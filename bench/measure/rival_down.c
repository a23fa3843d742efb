/* Down a tree as the rivals do it: segment after segment; each is received,
 * then sent to the children, and the next has its turn when all of these sends
 * are over. */
#include "bench/measure/rival_stages.h"

#include "collectives/stages/tree_stage.h"
#include "runtime/base/status.h"

typedef struct rival_down {
    xyl_stage_t stage;
    xyl_tree_edges_t edges;
    rival_pace_t pace;
    char *buf;
    uint64_t segment;   /* in turn */
    uint64_t receives;  /* posted so far, in order */
    uint32_t sends;     /* of `segment`, posted so far */
    uint32_t sends_out; /* of these, still under way */
} rival_down_t;

static rival_down_t *self(xyl_stage_t *stage)
{
    return (rival_down_t *)(void *)stage;
}

static char *place_of(const rival_down_t *down, uint64_t segment)
{
    return down->buf + xyl_operation_offset(down->stage.operation, segment);
}

/* Posts the receives that are due; returns 1 when the segment is there. */
static int is_received(rival_down_t *down)
{
    xyl_edge_t *parent = &down->edges.parent;

    if (!down->edges.has_parent)
        return 1;
    while (down->receives <= down->segment + down->pace.ahead &&
           down->receives < down->stage.count) {
        xyl_stage_recv(&down->stage, parent, down->receives,
                       place_of(down, down->receives));
        down->receives++;
    }
    return parent->base > down->segment;
}

/* Posts the sends that are due; returns 1 when all children have the segment.
 */
static int is_sent(rival_down_t *down)
{
    while (down->sends < down->edges.child_count &&
           down->sends_out < down->pace.at_once) {
        xyl_stage_send(&down->stage, &down->edges.children[down->sends],
                       down->segment, place_of(down, down->segment));
        down->sends++;
        down->sends_out++;
    }
    return down->sends_out == 0;
}

/* Goes on to the next wait, or to the end. */
static void proceed(rival_down_t *down)
{
    while (down->segment < down->stage.count) {
        if (!is_received(down) || !is_sent(down))
            return;
        xyl_stage_emit(&down->stage, down->segment);
        down->segment++;
        down->sends = 0;
    }
    xyl_stage_complete(&down->stage);
}

static void down_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    rival_down_t *down = self(slot->edge->stage);

    if (!xyl_stage_arrived(&down->stage, event))
        return;
    xyl_edge_finish(slot->edge, slot->index);
    proceed(down);
}

static void down_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    rival_down_t *down = self(slot->edge->stage);

    if (!xyl_stage_arrived(&down->stage, event))
        return;
    xyl_edge_finish(slot->edge, slot->index);
    down->sends_out--;
    proceed(down);
}

static void down_start(xyl_stage_t *stage)
{
    rival_down_t *down = self(stage);

    xyl_edges_reset(&down->edges);
    down->segment = 0;
    down->receives = 0;
    down->sends = 0;
    down->sends_out = 0;
    proceed(down);
}

static void down_cancel(xyl_stage_t *stage)
{
    xyl_edges_cancel(&self(stage)->edges, stage, 1, 0);
}

static void down_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)reads;
    self(stage)->buf = writes;
}

static const xyl_stage_ops_t down_ops = {
    .name = "rival down",
    .start = down_start,
    .cancel = down_cancel,
    .bind = down_bind,
};

xylem_status_t rival_down_add(xyl_operation_t *operation,
                              const rival_pace_t *pace, uint32_t root)
{
    xyl_tree_edges_params_t params = {
        .tree = xyl_edges_tree_of(operation, root, 0),
        .parent_limit = xyl_collective_of(operation)->plan.recv_window,
        .child_limit = xyl_collective_of(operation)->plan.recv_window,
        .parent_handle = down_received,
        .child_handle = down_sent,
    };
    const xyl_stage_spec_t spec =
        xyl_stage_behind(operation, 0, XYL_ROLE_NOTHING, XYL_ROLE_RESULT);
    rival_down_t *down = (rival_down_t *)(void *)xyl_operation_add_stage(
        operation, &spec, &down_ops, sizeof *down, 1);

    if (down == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    down->pace = *pace;
    return xyl_edges_init(&down->edges, &down->stage, &params);
}
