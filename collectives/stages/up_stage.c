/* Up a tree: every segment is combined from this rank's own contribution and
 * its children's, then goes to the parent. See docs/inside/stages.md: "Stages
 * and lanes" for the order, "The window rule", and "Detaching" for keeping.
 *
 * Index i of a child lies in the child's temporary buffer i % window from the
 * posting of its receive until it is combined. */
#include "collectives/stages/tree_stage.h"

#include <assert.h>
#include <string.h>

#include "collectives/stages/work.h"
#include "runtime/base/bits.h"
#include "runtime/base/status.h"

/* Where a contribution or an accumulator lies; smaller numbers are children. */
#define HOLDER_NONE   UINT32_MAX
#define HOLDER_OWN    (UINT32_MAX - 1)
#define HOLDER_RESULT (UINT32_MAX - 2)

/* The sum of the contributions to a segment that have been combined. */
typedef struct partial {
    uint32_t holder; /* of the accumulator */
    uint32_t taken;  /* contributions in it */
} partial_t;

/* A combination that an executor has under way. */
typedef struct pending {
    int is_busy;
    uint32_t contribution, into;
} pending_t;

typedef struct up_stage {
    xyl_stage_t stage;
    xyl_tree_edges_t edges;
    const char *own;
    char *result; /* root only */
    char *temp;   /* [child][window] buffers */
    size_t temp_bytes;
    /* The first child's segments are received into the result itself, where
     * the first combination then takes place. */
    int first_child_is_direct;
    uint32_t own_position;   /* of `own` among the contributions */
    uint64_t *own_ready;     /* bits: the index of `own` is there */
    uint64_t *child_arrived; /* [child] bit i % window: received, not taken */
    partial_t *partials;     /* [count] */
    uint64_t *combined;      /* bits: the accumulator is complete */
    uint64_t finished;       /* indexes emitted (root) or sent */
    uint64_t kept;           /* lower indexes do not need `own` any more */
    xyl_stage_pause_t pause; /* between two segments that are kept */
    xyl_exec_t *exec;
    /* [count]; NULL: the executor works inside the call. */
    xyl_stage_work_t *works;
    pending_t *pendings;
} up_stage_t;

static up_stage_t *up_of(xyl_stage_t *stage)
{
    return (up_stage_t *)(void *)stage;
}

static size_t offset_of(const up_stage_t *up, uint64_t index)
{
    return xyl_stage_at(&up->stage, index);
}

static char *temp_of(const up_stage_t *up, uint32_t child, uint64_t index)
{
    uint32_t window = up->edges.children[child].window;

    if (child == 0 && up->first_child_is_direct)
        return up->result + offset_of(up, index);
    return up->temp +
           ((size_t)child * window + (size_t)(index % window)) * up->temp_bytes;
}

/* The memory is read-only if it is the user's own buffer; see up_combine. */
static const char *up_address(const up_stage_t *up, uint32_t holder,
                              uint64_t index)
{
    if (holder == HOLDER_OWN)
        return up->own + offset_of(up, index);
    if (holder == HOLDER_RESULT)
        return up->result + offset_of(up, index);
    return temp_of(up, holder, index);
}

/* ---- receiving from a child ---- */

static void up_receive(up_stage_t *up, xyl_edge_t *child)
{
    uint64_t index;

    /* XYL_EDGE_NO_INDEX is larger, too. */
    while ((index = xyl_edge_pick(child, UINT64_MAX)) < up->stage.count)
        xyl_stage_recv(&up->stage, child, index,
                       temp_of(up, child->number, index));
}

/* The buffer of (holder, index) is free: the child's window may move. */
static void up_release(up_stage_t *up, uint32_t holder, uint64_t index)
{
    xyl_edge_t *child;

    if (holder >= HOLDER_RESULT)
        return;
    child = &up->edges.children[holder];
    xyl_edge_finish(child, index);
    up_receive(up, child);
}

/* ---- combining ---- */

/* The holder that accumulator op contribution goes to. At the root that is the
 * result, unless the root's own contribution lies there and is still to come;
 * else it is the child among the two operands' holders. */
static uint32_t destination(const up_stage_t *up, uint32_t holder,
                            uint32_t contribution)
{
    int own_is_to_come = holder < HOLDER_RESULT && contribution != HOLDER_OWN;

    if (!up->edges.has_parent && !(up->own == up->result && own_is_to_come))
        return HOLDER_RESULT;
    return holder < HOLDER_RESULT ? holder : contribution;
}

/* accumulator = accumulator op contribution, into `into`: 1 done, 0 under way.
 */
static int up_apply(up_stage_t *up, uint64_t index, uint32_t holder,
                    uint32_t contribution, uint32_t into)
{
    xyl_collective_t *collective = xyl_collective_of(up->stage.operation);
    size_t bytes = xyl_stage_length(&up->stage, index);

    return xyl_stage_worked(
        &up->stage,
        xyl_exec_reduce(
            up->exec, xyl_stage_work(up->works, index), &collective->combiner,
            into == HOLDER_RESULT ? up->result + offset_of(up, index)
                                  : temp_of(up, into, index),
            up_address(up, holder, index), up_address(up, contribution, index),
            bytes / collective->element_bytes));
}

/* The contribution is in the accumulator, which lies at `into` now. */
static void combined_into(up_stage_t *up, uint64_t index, uint32_t contribution,
                          uint32_t into)
{
    uint32_t holder = up->partials[index].holder;

    up->partials[index].holder = into;
    if (holder != into)
        up_release(up, holder, index);
    if (contribution != into)
        up_release(up, contribution, index);
}

static int up_combine(up_stage_t *up, uint64_t index, uint32_t contribution)
{
    uint32_t holder = up->partials[index].holder;
    uint32_t into = destination(up, holder, contribution);

    assert(into != HOLDER_OWN);
    if (!up_apply(up, index, holder, contribution, into)) {
        up->pendings[index] = (pending_t){1, contribution, into};
        return 0;
    }
    combined_into(up, index, contribution, into);
    return 1;
}

static void send_up(up_stage_t *up)
{
    xyl_edge_t *parent = &up->edges.parent;
    uint64_t index;

    while ((index = xyl_edge_pick(parent,
                                  xyl_bits_from(up->combined, parent->base))) !=
           XYL_EDGE_NO_INDEX)
        xyl_stage_send(&up->stage, parent, index,
                       up_address(up, up->partials[index].holder, index));
}

/* Completes the stage if all indexes are finished and no pause is on. The event
 * of a pause is still to come, so the stage completes after it. */
static void up_complete(up_stage_t *up)
{
    if (up->finished == up->stage.count && !up->pause.is_on)
        xyl_stage_complete(&up->stage);
}

static void up_check(up_stage_t *up)
{
    up->finished++;
    up_complete(up);
}

static void segment_final(up_stage_t *up, uint64_t index)
{
    xyl_stage_emit(&up->stage, index);
    up_check(up);
}

/* Copies this rank's contribution, with which nothing was combined, to the
 * result. */
static int copy_own(up_stage_t *up, uint64_t index)
{
    size_t offset = offset_of(up, index);
    size_t bytes = xyl_stage_length(&up->stage, index);

    return xyl_stage_worked(
        &up->stage,
        xyl_exec_copy(up->exec, xyl_stage_work(up->works, index),
                      up->result + offset, up->own + offset, bytes));
}

/* All contributions of `index` are in its accumulator. */
static void segment_combined(up_stage_t *up, uint64_t index)
{
    if (up->edges.has_parent) {
        xyl_bits_set(up->combined, index);
        send_up(up);
        return;
    }
    if (up->partials[index].holder == HOLDER_OWN && up->own != up->result &&
        !copy_own(up, index))
        return; /* up_worked goes on */
    segment_final(up, index);
}

static int is_last(up_stage_t *up, uint64_t index)
{
    return ++up->partials[index].taken == up->edges.child_count + 1;
}

/* Takes a contribution. 0: its combination is under way. */
static int up_take(up_stage_t *up, uint64_t index, uint32_t contribution)
{
    if (contribution != HOLDER_OWN) {
        xyl_edge_t *child = &up->edges.children[contribution];
        up->child_arrived[contribution] &=
            ~(UINT64_C(1) << (index % child->window));
    }
    if (up->partials[index].holder != HOLDER_NONE)
        return up_combine(up, index, contribution);
    up->partials[index].holder = contribution;
    return 1;
}

/* The contribution at a position of the fixed order. */
static uint32_t contribution_at(const up_stage_t *up, uint32_t position)
{
    if (position == up->own_position)
        return HOLDER_OWN;
    return position < up->own_position ? position : position - 1;
}

static int is_available(const up_stage_t *up, uint64_t index,
                        uint32_t contribution)
{
    const xyl_edge_t *child;

    if (contribution == HOLDER_OWN)
        return xyl_bits_test(up->own_ready, index);
    child = &up->edges.children[contribution];
    /* The bit is that of the index whose receive the slot has now. */
    return index >= child->base && index - child->base < child->window &&
           (up->child_arrived[contribution] >> (index % child->window) & 1) !=
               0;
}

static int takes_as_it_comes(const up_stage_t *up)
{
    return xyl_collective_of(up->stage.operation)->plan.arrival_order;
}

/* Takes a contribution. 0: take no other: this was the last, or its combination
 * is under way. */
static int take_one(up_stage_t *up, uint64_t index, uint32_t contribution)
{
    if (!up_take(up, index, contribution))
        return 0;
    if (!is_last(up, index))
        return 1;
    segment_combined(up, index);
    return 0;
}

/* Takes contributions in their order, as far as they are there. */
static void take_in_order(up_stage_t *up, uint64_t index)
{
    uint32_t next;

    do {
        next = contribution_at(up, up->partials[index].taken);
        if (!is_available(up, index, next))
            return;
    } while (take_one(up, index, next));
}

/* Takes the contributions that came while another was being combined. */
static void take_what_came(up_stage_t *up, uint64_t index)
{
    uint32_t position, next;

    for (position = 0; position <= up->edges.child_count; position++) {
        next = contribution_at(up, position);
        if (!is_available(up, index, next))
            continue;
        if (next == HOLDER_OWN)
            xyl_bits_clear(up->own_ready, index);
        if (!take_one(up, index, next))
            return;
    }
}

/* A contribution of `index` has come. */
static void up_advance(up_stage_t *up, uint64_t index, uint32_t contribution)
{
    if (up->pendings != NULL && up->pendings[index].is_busy)
        return;
    if (!takes_as_it_comes(up))
        take_in_order(up, index);
    else if (up->pendings != NULL)
        take_what_came(up, index);
    else
        (void)take_one(up, index, contribution);
}

/* ---- events ---- */

static void up_received(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    xyl_edge_t *child = slot->edge;
    up_stage_t *up = up_of(child->stage);
    uint64_t index = slot->index;

    if (!xyl_stage_arrived(&up->stage, event))
        return;
    up->child_arrived[child->number] |= UINT64_C(1) << (index % child->window);
    up_advance(up, index, child->number);
}

static void up_sent(xyl_event_t *event)
{
    xyl_slot_t *slot = xyl_slot_of(event);
    up_stage_t *up = up_of(slot->edge->stage);
    uint64_t index = slot->index;

    if (!xyl_stage_arrived(&up->stage, event))
        return;
    xyl_edge_finish(&up->edges.parent, index);
    up_release(up, up->partials[index].holder, index);
    send_up(up);
    up_check(up);
}

static void up_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    up_stage_t *up = up_of(work->stage);
    uint64_t index = work->number;
    pending_t *pending = &up->pendings[index];

    if (!xyl_stage_arrived(&up->stage, event))
        return;
    if (!pending->is_busy) { /* the work was copy_own */
        segment_final(up, index);
        return;
    }
    pending->is_busy = 0;
    combined_into(up, index, pending->contribution, pending->into);
    if (is_last(up, index))
        segment_combined(up, index);
    else if (takes_as_it_comes(up))
        take_what_came(up, index);
    else
        take_in_order(up, index);
}

/* ---- keeping ---- */

/* 1: the result is for another rank of this node, the stage combines it in
 * memory of the operation, and this rank's contribution is the first. */
static int up_may_keep(const xyl_stage_t *stage)
{
    const up_stage_t *up = (const void *)stage;

    return !up->edges.has_parent && up->own_position == 0 &&
           up->edges.child_count != 0 && stage->next != NULL &&
           stage->inputs != 0 && stage->reads != XYL_ROLE_SCRATCH &&
           stage->writes == XYL_ROLE_SCRATCH;
}

/* Copies the next segment of `own` with which nothing was combined. A pause
 * follows, so that the net has its turn between two copies. */
static void up_keep_one(xyl_stage_t *stage)
{
    up_stage_t *up = up_of(stage);

    while (up->kept < stage->count &&
           up->partials[up->kept].holder != HOLDER_OWN &&
           xyl_bits_test(up->own_ready, up->kept))
        up->kept++;
    if (up->kept < stage->count && xyl_bits_test(up->own_ready, up->kept)) {
        (void)copy_own(up, up->kept);
        up->partials[up->kept++].holder = HOLDER_RESULT;
        xyl_stage_pause(&up->pause);
    } else if (up->kept == stage->count && !stage->is_released) {
        xyl_stage_release(stage);
    }
    up_complete(up);
}

static void up_keep(xyl_stage_t *stage)
{
    xyl_stage_pause(&up_of(stage)->pause);
}

static void up_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    up_stage_t *up = up_of(stage);

    xyl_bits_set(up->own_ready, index);
    up_advance(up, index, HOLDER_OWN);
}

/* 1: only other ranks wait for this stage, and its input lies in memory of the
 * operation. It does not copy input that lies in the user's buffer: every rank
 * would need room for all of its input, which costs more than it gains. */
static int may_detach(const up_stage_t *up)
{
    return up->edges.has_parent && up->stage.next == NULL &&
           up->stage.reads == XYL_ROLE_SCRATCH;
}

static void up_hold(const xyl_stage_t *stage, xyl_hold_t *hold)
{
    const up_stage_t *up = (const void *)stage;

    if (!may_detach(up) && !up_may_keep(stage))
        return;
    hold->detaches = 1;
    hold->bytes += stage->count * xyl_stage_segment_bytes(stage);
    if (up->edges.child_count != 0)
        hold->bytes += (uint64_t)up->edges.child_count *
                       up->edges.children[0].window * up->temp_bytes;
}

static void up_start(xyl_stage_t *stage)
{
    up_stage_t *up = up_of(stage);
    size_t words = xyl_bits_words(stage->count) * sizeof(uint64_t);
    uint64_t index;
    uint32_t i;

    xyl_edges_reset(&up->edges);
    memset(up->own_ready, 0, words);
    memset(up->combined, 0, words);
    for (index = 0; index < stage->count; index++)
        up->partials[index] = (partial_t){HOLDER_NONE, 0};
    if (up->pendings != NULL)
        memset(up->pendings, 0, stage->count * sizeof *up->pendings);
    up->finished = up->kept = 0;
    if (stage->count == 0) {
        xyl_stage_complete(stage);
        return;
    }
    for (i = 0; i < up->edges.child_count; i++) {
        up->child_arrived[i] = 0;
        up_receive(up, &up->edges.children[i]);
    }
    if (stage->operation->detach.is_holding && may_detach(up))
        xyl_stage_release(stage);
}

static void up_cancel(xyl_stage_t *stage)
{
    xyl_edges_cancel(&up_of(stage)->edges, stage, 0, 1);
}

static void up_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    up_stage_t *up = up_of(stage);

    up->own = reads;
    up->result = writes;
    /* Set only if nothing else lies in the result, and nothing is combined
     * there before the first child's segment. */
    up->first_child_is_direct =
        writes != NULL && reads != writes && up->own_position == 0 &&
        !stage->may_keep &&
        !xyl_collective_of(stage->operation)->plan.arrival_order;
}

static const xyl_stage_ops_t up_ops = {
    .name = "up",
    .start = up_start,
    .segment_ready = up_segment_ready,
    .cancel = up_cancel,
    .bind = up_bind,
    .hold = up_hold,
    .may_keep = up_may_keep,
    .keep = up_keep,
};

/* ---- planning ---- */

static xylem_status_t up_allocate(up_stage_t *up)
{
    xyl_operation_t *operation = up->stage.operation;
    xyl_arena_t *arena = &operation->request.arena;
    uint64_t count = up->stage.count;
    uint32_t children = up->edges.child_count;
    size_t words = xyl_bits_words(count), buffers = 0;

    up->temp_bytes = xyl_stage_segment_bytes(&up->stage);
    if (up->temp_bytes > operation->bytes)
        up->temp_bytes = operation->bytes;
    up->temp_bytes = (up->temp_bytes + XYL_MEMORY_ALIGN - 1) &
                     ~(size_t)(XYL_MEMORY_ALIGN - 1);
    if (children != 0)
        buffers = (size_t)children * up->edges.children[0].window;
    up->own_ready = xyl_arena_array(arena, words, sizeof(uint64_t));
    up->combined = xyl_arena_array(arena, words, sizeof(uint64_t));
    up->child_arrived = xyl_arena_array(arena, children, sizeof(uint64_t));
    up->partials = xyl_arena_array(arena, count, sizeof *up->partials);
    if (up->temp_bytes != 0 && buffers > SIZE_MAX / 2 / up->temp_bytes)
        return XYLEM_ERR_NO_MEMORY;
    up->temp = xyl_arena_alloc(arena, buffers * up->temp_bytes);
    if (up->own_ready == NULL || up->combined == NULL ||
        up->child_arrived == NULL || up->partials == NULL || up->temp == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (up->exec->is_immediate)
        return XYLEM_OK;
    up->pendings = xyl_arena_array(arena, count, sizeof *up->pendings);
    if (up->pendings == NULL)
        return XYLEM_ERR_NO_MEMORY;
    return xyl_stage_works_add(&up->stage, count, up_worked, &up->works);
}

xylem_status_t xyl_up_stage_add(xyl_operation_t *operation,
                                const xyl_stage_spec_t *spec,
                                const xyl_tree_spec_t *tree)
{
    xyl_tree_edges_params_t params = {
        .tree = *tree,
        .parent_limit = xyl_collective_of(operation)->plan.send_window,
        .child_limit = xyl_collective_of(operation)->plan.recv_window,
        .parent_handle = up_sent,
        .child_handle = up_received,
        .child_order = xyl_collective_of(operation)->combiner.is_commutative
                           ? XYL_CHILDREN_REVERSED
                           : XYL_CHILDREN_BY_RANK,
    };
    up_stage_t *up = (up_stage_t *)(void *)xyl_operation_add_stage(
        operation, spec, &up_ops, sizeof *up, 1);
    xylem_status_t status;

    if (up == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    up->exec = xyl_collective_of(operation)->exec;
    xyl_stage_pause_init(&up->pause, &up->stage, up_keep_one);
    status = xyl_edges_init(&up->edges, &up->stage, &params);
    if (status != XYLEM_OK)
        return status;
    if (params.child_order == XYL_CHILDREN_BY_RANK)
        up->own_position = up->edges.children_below;
    status = up_allocate(up);
    if (status != XYLEM_OK)
        return xyl_fail(status,
                        "no memory for %u children with %u segments "
                        "of %zu bytes each",
                        up->edges.child_count,
                        xyl_collective_of(operation)->plan.recv_window,
                        xyl_stage_segment_bytes(&up->stage));
    return XYLEM_OK;
}
