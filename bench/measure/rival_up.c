/* Up a tree as the rivals do it: segment after segment; the contributions of
 * all children are received, then combined with this rank's own, and the sum
 * is sent to the parent.
 *
 * Segment s uses one buffer per child, those of s % (ahead + 1). The first
 * child's buffer holds the sum until it is sent (at the root the result does).
 * So receives for later segments wait until the last sum is gone; then all
 * buffers except those of the present segment are free. */
#include "bench/measure/rival_stages.h"

#include <string.h>

#include "collectives/stages/tree_stage.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"

typedef struct rival_up {
    xyl_stage_t stage;
    xyl_tree_edges_t edges;
    rival_pace_t pace;
    const char *own;
    char *result; /* root only */
    char *temp;   /* [ahead + 1][child] buffers */
    size_t temp_bytes;
    uint64_t segment; /* in turn: lower ones are combined */
    /* Receives are numbered by segment, then by child. */
    uint64_t receives;      /* posted so far */
    uint64_t receives_over; /* how many of these are no longer under way */
    uint32_t arrived[2];    /* contributions of the children to segment % 2 */
} rival_up_t;

static rival_up_t *self(xyl_stage_t *stage)
{
    return (rival_up_t *)(void *)stage;
}

static char *temp_of(const rival_up_t *up, uint64_t segment, uint32_t child)
{
    uint64_t row = segment % (up->pace.ahead + 1);

    return up->temp +
           ((size_t)row * up->edges.child_count + child) * up->temp_bytes;
}

/* Posts the receives that are due; returns 1 when all contributions of the
 * segment are there. */
static int is_received(rival_up_t *up)
{
    uint32_t children = up->edges.child_count;
    uint64_t end = up->segment + up->pace.ahead + 1;

    if (end > up->stage.count)
        end = up->stage.count;
    while (up->receives < end * children &&
           up->receives - up->receives_over < up->pace.at_once) {
        uint64_t segment = up->receives / children;
        uint32_t child = (uint32_t)(up->receives % children);
        xyl_stage_recv(&up->stage, &up->edges.children[child], segment,
                       temp_of(up, segment, child));
        up->receives++;
    }
    return up->arrived[up->segment % 2] == children;
}

/* Returns the sum: in the result at the root, elsewhere in the first child's
 * buffer; without children it is this rank's own contribution. */
static const char *combine(rival_up_t *up)
{
    const xyl_operation_t *operation = up->stage.operation;
    size_t offset = xyl_operation_offset(operation, up->segment);
    size_t length = xyl_operation_length(operation, up->segment);
    const char *left = up->own + offset;
    char *into = up->edges.has_parent ? temp_of(up, up->segment, 0)
                                      : up->result + offset;
    uint32_t i;

    for (i = 0; i < up->edges.child_count; i++) {
        xyl_exec_combine(&xyl_collective_of(operation)->combiner, into, left,
                         temp_of(up, up->segment, i),
                         length / xyl_collective_of(operation)->element_bytes);
        left = into;
    }
    /* A team of one rank: nothing was combined. */
    if (!up->edges.has_parent && left != into)
        memcpy(into, left, length);
    return left;
}

static void pass_on(rival_up_t *up)
{
    const char *sum = combine(up);

    if (up->edges.has_parent)
        xyl_stage_send(&up->stage, &up->edges.parent, up->segment, sum);
    else
        xyl_stage_emit(&up->stage, up->segment);
}

/* 1 when no sum is on its way to the parent. */
static int is_sent(const rival_up_t *up)
{
    return !up->edges.has_parent || up->edges.parent.base == up->segment;
}

/* Goes on to the next wait, or to the end. */
static void proceed(rival_up_t *up)
{
    while (is_sent(up)) {
        if (up->segment == up->stage.count) {
            xyl_stage_complete(&up->stage);
            return;
        }
        if (!is_received(up))
            return;
        up->arrived[up->segment % 2] = 0;
        pass_on(up);
        up->segment++;
    }
}

static void up_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    rival_up_t *up = self(slot->edge->stage);

    if (!xyl_stage_arrived(&up->stage, event))
        return;
    xyl_edge_finish(slot->edge, slot->index);
    up->receives_over++;
    up->arrived[slot->index % 2]++;
    proceed(up);
}

static void up_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    rival_up_t *up = self(slot->edge->stage);

    if (!xyl_stage_arrived(&up->stage, event))
        return;
    xyl_edge_finish(slot->edge, slot->index);
    proceed(up);
}

static void up_start(xyl_stage_t *stage)
{
    rival_up_t *up = self(stage);

    xyl_edges_reset(&up->edges);
    up->segment = 0;
    up->receives = 0;
    up->receives_over = 0;
    up->arrived[0] = 0;
    up->arrived[1] = 0;
    proceed(up);
}

static void up_cancel(xyl_stage_t *stage)
{
    xyl_edges_cancel(&self(stage)->edges, stage, 0, 1);
}

static void up_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    self(stage)->own = reads;
    self(stage)->result = writes;
}

static const xyl_stage_ops_t up_ops = {
    .name = "rival up",
    .start = up_start,
    .cancel = up_cancel,
    .bind = up_bind,
};

static xylem_status_t allocate(rival_up_t *up)
{
    const xyl_operation_t *operation = up->stage.operation;
    size_t bytes = operation->segment_bytes < operation->bytes
                       ? operation->segment_bytes
                       : operation->bytes;
    size_t buffers = (size_t)up->edges.child_count * (up->pace.ahead + 1);

    up->temp_bytes =
        (bytes + XYL_MEMORY_ALIGN - 1) & ~(size_t)(XYL_MEMORY_ALIGN - 1);
    if (up->temp_bytes != 0 && buffers > SIZE_MAX / 2 / up->temp_bytes)
        return XYLEM_ERR_NO_MEMORY;
    up->temp = xyl_arena_alloc(&up->stage.operation->request.arena,
                               buffers * up->temp_bytes);
    return up->temp == NULL ? XYLEM_ERR_NO_MEMORY : XYLEM_OK;
}

xylem_status_t rival_up_add(xyl_operation_t *operation,
                            const rival_pace_t *pace, uint32_t root)
{
    xyl_tree_edges_params_t params = {
        .tree = xyl_edges_tree_of(operation, root, 0),
        .parent_limit = xyl_collective_of(operation)->plan.recv_window,
        .child_limit = xyl_collective_of(operation)->plan.recv_window,
        .parent_handle = up_sent,
        .child_handle = up_received,
    };
    const xyl_stage_spec_t spec = xyl_stage_behind(
        operation, 0, XYL_ROLE_INPUT,
        operation->request.team->rank == root ? XYL_ROLE_RESULT
                                              : XYL_ROLE_NOTHING);
    rival_up_t *up = (rival_up_t *)(void *)xyl_operation_add_stage(
        operation, &spec, &up_ops, sizeof *up, 1);
    xylem_status_t status;

    if (up == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    up->pace = *pace;
    status = xyl_edges_init(&up->edges, &up->stage, &params);
    if (status != XYLEM_OK)
        return status;
    status = allocate(up);
    if (status != XYLEM_OK)
        return xyl_fail(status, "no memory for the segments of %u children",
                        up->edges.child_count);
    return XYLEM_OK;
}
