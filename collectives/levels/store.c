#include "collectives/levels/store.h"

#include "collectives/node/programs/parts.h"
#include "collectives/node/stage.h"
#include "runtime/base/status.h"

/* ---- the programs ---- */

/* Of the broadcast's programs those that go through the window, segment by
 * segment; others are too short. */
static int is_in_segments(const xyl_node_program_t *program)
{
    const xyl_step_t *step = program->count == 0 ? NULL : program->steps;

    return step != NULL && (step->kind == XYL_STEP_PUBLISH ||
                            (step->kind == XYL_STEP_COPY &&
                             step->from.buffer == XYL_BUFFER_INPUT &&
                             step->wait == XYL_WAIT_WORD));
}

static void write_gate(xyl_node_program_t *program)
{
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};

    xyl_node_strand(program);
    (void)xyl_node_step(program, XYL_STEP_GATE, nowhere, nowhere, 0);
}

static void write_until_sent(const xyl_problem_t *problem,
                             xyl_node_program_t *program)
{
    xyl_algorithm_node_bcast.program(problem, program);
    if (xyl_node_program_status(program) == XYLEM_OK && is_in_segments(program))
        write_gate(program);
}

/* What is in the window already is only told of; and copied, as the others do.
 */
static void write_from_net(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    uint32_t segment;
    xyl_step_t *step;

    xyl_algorithm_node_bcast.program(problem, program);
    if (xyl_node_program_status(program) != XYLEM_OK ||
        !is_in_segments(program))
        return;
    for (segment = 0; segment < program->segments; segment++) {
        program->steps[segment].kind = XYL_STEP_NOTHING;
        program->steps[segment].emits = XYL_NO_SEGMENT;
    }
    xyl_node_strand(program);
    for (segment = 0; segment < program->segments; segment++) {
        step = xyl_node_bcast_segment(problem, program, segment, 0);
        if (step == NULL)
            return;
        step->wait = XYL_WAIT_SEGMENT;
        step->post = XYL_POST_NOTHING;
    }
    write_gate(program);
}

const xyl_algorithm_t xyl_store_bcast = {
    .name = "store",
    .help = "through the shared memory of a node, which keeps it for others",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BCAST),
    .program = write_until_sent,
};

const xyl_algorithm_t xyl_store_bcast_from_net = {
    .name = "store",
    .help = "the same, of what comes from the net",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BCAST),
    .program = write_from_net,
};

/* ---- between the two stages ---- */

typedef struct store {
    xyl_stage_t *node, *down;
    uint64_t segments; /* of a piece */
} store_t;

static char *store_place(void *arg, uint64_t index)
{
    const store_t *store = arg;

    return xyl_node_stage_place(store->node, index);
}

/* The piece has its window; and may leave it. */
static int store_may_go(void *arg, uint64_t piece, unsigned *did)
{
    const store_t *store = arg;
    uint64_t end = (piece + 1) * store->segments;

    if (end > store->down->count)
        end = store->down->count;
    *did += (unsigned)xyl_down_stage_open(store->down, end);
    return xyl_down_stage_sent(store->down) >= end;
}

xylem_status_t xyl_store_add(xyl_stage_t *node, xyl_stage_t *down)
{
    xyl_down_store_t store_of_down = {.place = store_place};
    xyl_node_gate_t gate = {.may_go = store_may_go};
    store_t *store;

    if (!xyl_node_stage_has_gate(node))
        return XYLEM_OK;
    store = xyl_arena_array(&node->operation->request.arena, 1, sizeof *store);
    if (store == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    *store = (store_t){node, down, xyl_node_stage_segments(node)};
    store_of_down.arg = gate.arg = store;
    xyl_down_stage_set_store(down, &store_of_down);
    xyl_node_stage_set_gate(node, &gate);
    return XYLEM_OK;
}
