/* The Static and the Dynamic algorithm of Faraji, "Improving Communication
 * Performance in GPU-Accelerated HPC Clusters", 2018, chapter 5. They are the
 * Gathered Shared Buffer of chapter 3 with two mechanisms that copy at once:
 * between memories of GPUs (IPC), and through pinned memory of the node
 * (host-staged). A directory (directory.h) says which rank copies how:
 *
 *   cuda_static:K   the K ranks behind the leader copy host-staged; without
 *                   K no rank does
 *   cuda_dynamic    the leader assigns mechanisms by how soon they end copies
 *
 * The leader is the root, or rank 0; it uses neither mechanism. Its kernel
 * combines contributions in the order of ranks, so the bits of the result do
 * not depend on the mechanisms.
 *
 *   names --> directory --> a gate in a node stage, until this rank is done
 */
#include <stdio.h>

#include "collectives/data/description.h"
#include "collectives/device/plan.h"
#include "collectives/device/staging.h"
#include "collectives/levels/parts.h"
#include "collectives/node/stage.h"
#include "collectives/stages/messages.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/faults/failure.h"

enum {
    WHOLE = XYL_COPY_FILL, /* kinds before it are one copy in a call */
    SLOTS = XYL_DIRECTORY_SLOTS,
    PLACES_ALIGN = 256,
    LEADER_LINES = 1, /* places before the ranks' places: the sum's */
    STAGED_MAX = XYL_DIRECTORY_RANKS_MAX - 1
};

typedef struct directory_stage {
    xyl_stage_t stage;
    xyl_device_plan_t *plan;
    xyl_device_staging_t *staging;
    char *room; /* the leader's own; NULL: another rank leads */
    xyl_device_turn_t turn;
    int has_begun;
    xyl_directory_run_t run;
    xyl_device_task_t task[WHOLE]; /* by kind */
    xyl_stage_work_t *works;
} directory_stage_t;

static directory_stage_t *self(xyl_stage_t *stage)
{
    return (directory_stage_t *)(void *)stage;
}

static xylem_team_t *team_of(const directory_stage_t *directory)
{
    return directory->stage.operation->request.team;
}

/* ---- the GPU shared buffer ---- */

static uint32_t leader_of(const xyl_problem_t *problem)
{
    return xyl_coll_traits(problem->coll)->has_root ? problem->root : 0;
}

static int leads(const xyl_device_plan_t *plan)
{
    return plan->problem.rank == leader_of(&plan->problem);
}

static uint64_t message_bytes(const xyl_device_plan_t *plan)
{
    return plan->count * plan->element_bytes;
}

static int reduces(const xyl_device_plan_t *plan)
{
    return xyl_coll_traits(plan->problem.coll)->reduces;
}

/* The place of a rank's contribution in the leader's room. The result is at 0;
 * that of an allgather consists of the contributions. */
static uint64_t place_at(const xyl_device_plan_t *plan, uint32_t rank)
{
    uint64_t bytes = message_bytes(plan);

    if (plan->problem.coll == XYLEM_COLL_ALLGATHER)
        return rank * bytes;
    return reduces(plan) ? (LEADER_LINES + rank) * ((bytes + PLACES_ALIGN - 1) /
                                                    PLACES_ALIGN * PLACES_ALIGN)
                         : 0;
}

static uint64_t gotten_bytes(const xyl_device_plan_t *plan)
{
    switch ((int)plan->problem.coll) {
    case XYLEM_COLL_REDUCE:
        return 0;
    case XYLEM_COLL_ALLGATHER:
        return plan->problem.ranks * message_bytes(plan);
    default:
        return message_bytes(plan);
    }
}

static uint64_t directory_room_bytes(const xyl_device_plan_t *plan)
{
    if (!leads(plan))
        return 1; /* no rank uses this room */
    return place_at(plan, plan->problem.ranks) + message_bytes(plan);
}

/* ---- copies ---- */

static size_t work_number(const xyl_copy_t *copy)
{
    size_t ring = WHOLE + copy->slot;

    switch ((int)copy->kind) {
    case XYL_COPY_FILL:
        return ring;
    case XYL_COPY_TAKE:
        return ring + SLOTS;
    case XYL_COPY_PUBLISH:
        return ring + (size_t)2 * SLOTS;
    case XYL_COPY_DRAIN:
        return ring + (3 + (size_t)copy->rank) * SLOTS;
    default:
        return copy->kind;
    }
}

static size_t works_of(uint32_t ranks)
{
    return WHOLE + (3 + (size_t)ranks) * SLOTS;
}

static void copied(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    directory_stage_t *directory = self(work->stage);
    size_t number = work->number, ring = (number - WHOLE) / SLOTS;
    uint32_t slot = (uint32_t)((number - WHOLE) % SLOTS);

    if (!xyl_stage_arrived(&directory->stage, event))
        return;
    if (number < WHOLE)
        xyl_directory_ended(&directory->run, (xyl_copy_kind_t)number, 0, 0);
    else if (ring >= 3)
        xyl_directory_ended(&directory->run, XYL_COPY_DRAIN,
                            (uint32_t)(ring - 3), slot);
    else
        xyl_directory_ended(&directory->run,
                            (xyl_copy_kind_t)(XYL_COPY_FILL + ring), 0, slot);
    /* Makes the engine poll the gate once more before it rests. */
    work->stage->operation->request.context->engine.polled++;
}

/* The address of byte `at` of the leader's room; NULL: it cannot be opened.
 * Each copy opens the room, as memory stays open only for works that have
 * begun, and a call may wait long for its turn. */
static char *room_now(directory_stage_t *directory, uint64_t at)
{
    xyl_device_plan_t *plan = directory->plan;
    uint32_t leader = leader_of(&plan->problem);
    char *room = directory->room;

    if (room == NULL)
        room = xyl_device_operand(plan, leader,
                                  &xyl_device_offer(plan, leader)->input);
    return room == NULL ? NULL : room + at;
}

static void begin_move(directory_stage_t *directory, const xyl_copy_t *copy,
                       char *to, const char *from)
{
    xyl_device_plan_t *plan = directory->plan;
    xyl_work_t *work = &directory->works[copy->kind].work;
    xyl_cuda_moves_t *moves = &directory->task[copy->kind].does.moves;

    if (to == NULL || from == NULL) {
        /* Ends a copy that cannot begin, by an event with an error. */
        work->event.status = xyl_device_unopened(plan);
        xyl_fifo_push(plan->exec->ready, &work->event);
        return;
    }
    moves->count = 1;
    moves->blocks = 0;
    moves->move[0] = (xyl_cuda_move_t){to, from, copy->bytes};
    xyl_cuda_move_begin(plan->exec, work, plan->device, moves);
}

static void begin_combine(directory_stage_t *directory)
{
    xyl_device_plan_t *plan = directory->plan;
    xyl_cuda_combine_t *combine =
        &directory->task[XYL_COPY_KERNEL].does.combine;
    uint32_t rank;

    xyl_device_combine_fill(plan, plan->count, combine);
    for (rank = 0; rank < plan->problem.ranks; rank++)
        combine->input[combine->inputs++] =
            rank == plan->problem.rank ? xyl_device_own(&plan->input)
                                       : directory->room + place_at(plan, rank);
    combine->result[combine->results++] = xyl_device_own(&plan->result);
    if (gotten_bytes(plan) != 0)
        combine->result[combine->results++] = directory->room;
    xyl_cuda_combine_begin(plan->exec, &directory->works[XYL_COPY_KERNEL].work,
                           plan->device, XYL_CUDA_WITHIN, combine);
}

static int begin_staged(directory_stage_t *directory, const xyl_copy_t *copy)
{
    const xyl_device_plan_t *plan = directory->plan;
    char *input = xyl_device_own(&plan->input) + copy->at;
    char *result = xyl_device_own(&plan->result) + copy->at;
    char *room = directory->room == NULL ? NULL : directory->room + copy->at;
    xyl_work_t *work = &directory->works[work_number(copy)].work;

    switch ((int)copy->kind) {
    case XYL_COPY_FILL:
        return xyl_exec_copy(plan->exec, work, copy->staged, input,
                             copy->bytes);
    case XYL_COPY_TAKE:
        return xyl_exec_copy(plan->exec, work, result, copy->staged,
                             copy->bytes);
    case XYL_COPY_PUBLISH:
        return xyl_exec_copy(plan->exec, work, copy->staged, room, copy->bytes);
    default:
        return xyl_exec_copy(plan->exec, work,
                             room + place_at(plan, copy->rank), copy->staged,
                             copy->bytes);
    }
}

static int begin_copy(void *arg, const xyl_copy_t *copy)
{
    directory_stage_t *directory = arg;
    const xyl_device_plan_t *plan = directory->plan;
    int is_done = 0;

    switch ((int)copy->kind) {
    case XYL_COPY_OWN_IN:
    case XYL_COPY_IPC_IN:
        begin_move(directory, copy,
                   room_now(directory, place_at(plan, plan->problem.rank)),
                   xyl_device_own(&plan->input));
        break;
    case XYL_COPY_KERNEL:
        begin_combine(directory);
        break;
    case XYL_COPY_OWN_OUT:
    case XYL_COPY_IPC_OUT:
        begin_move(directory, copy, xyl_device_own(&plan->result),
                   room_now(directory, 0));
        break;
    default:
        is_done = begin_staged(directory, copy);
    }
    return xyl_stage_worked(&directory->stage, is_done);
}

/* ---- the stage, and its gate ---- */

static int directory_begin(directory_stage_t *directory)
{
    const xyl_device_plan_t *plan = directory->plan;
    const xyl_problem_t *problem = &plan->problem;
    int is_bcast = problem->coll == XYLEM_COLL_BCAST;
    int is_allgather = problem->coll == XYLEM_COLL_ALLGATHER;
    xyl_directory_call_t call = {.rank = problem->rank,
                                 .leader = leader_of(problem),
                                 .given = is_bcast ? 0 : message_bytes(plan),
                                 .gotten = gotten_bytes(plan),
                                 .keeps_own = is_bcast || is_allgather,
                                 .combines = reduces(plan),
                                 .takes_own = is_allgather,
                                 .is_dynamic = plan->design->is_dynamic,
                                 .staged = plan->number,
                                 .begin = begin_copy,
                                 .arg = directory};

    directory->has_begun =
        xyl_device_staging_use(directory->staging, &call, &directory->run);
    return directory->has_begun;
}

/* The gate of the node stage, which calls this function whenever the stage is
 * polled. */
static int may_go(void *arg, uint64_t piece, unsigned *did)
{
    directory_stage_t *directory = arg;

    (void)piece;
    if (!xyl_device_turn_is(team_of(directory), &directory->turn) ||
        (!directory->has_begun && !directory_begin(directory)))
        return 0;
    *did += xyl_directory_go(&directory->run);
    if (!directory->run.is_over)
        return 0;
    ++*did;
    xyl_device_turn_leave(team_of(directory), &directory->turn);
    xyl_stage_complete(&directory->stage);
    return 1;
}

static void directory_start(xyl_stage_t *stage)
{
    directory_stage_t *directory = self(stage);

    directory->has_begun = 0;
    xyl_device_turn_wait(team_of(directory), &directory->turn);
}

static void directory_cancel(xyl_stage_t *stage)
{
    directory_stage_t *directory = self(stage);

    xyl_device_turn_leave(team_of(directory), &directory->turn);
}

static xylem_status_t directory_open(directory_stage_t *directory)
{
    xyl_device_plan_t *plan = directory->plan;
    xylem_status_t status = xyl_device_way_settle(plan);

    if (status != XYLEM_OK || !plan->is_direct) {
        xyl_device_turn_leave(team_of(directory), &directory->turn);
        return status;
    }
    directory->staging = xyl_device_staging_of(plan->operation->request.team,
                                               plan->library, plan->device);
    directory->room = leads(plan) ? plan->room : NULL;
    return XYLEM_OK;
}

static void directory_ready(xyl_stage_t *stage, uint64_t index)
{
    directory_stage_t *directory = self(stage);
    xylem_status_t status = directory_open(directory);

    (void)index;
    if (status != XYLEM_OK) {
        xyl_failure_raise_for(stage->operation, status);
        return;
    }
    xyl_stage_emit(stage, 0);
    if (!directory->plan->is_direct && stage->operation->failure == XYLEM_OK)
        xyl_stage_complete(stage);
}

static void directory_describe(const xyl_stage_t *stage, char *text,
                               size_t bytes)
{
    const directory_stage_t *directory = (const void *)stage;

    if (directory->has_begun)
        xyl_directory_describe(&directory->run, text, bytes);
    else if (directory->turn.is_waiting)
        snprintf(text, bytes, "not its turn yet");
}

static const xyl_stage_ops_t directory_ops = {
    .name = "directory",
    .start = directory_start,
    .segment_ready = directory_ready,
    .cancel = directory_cancel,
    .describe = directory_describe,
};

/* ---- planning ---- */

static xyl_stage_t *gate_add(xyl_han_t *han, directory_stage_t *directory)
{
    const xyl_han_stage_t how = {.number = XYL_DEVICE_BARRIER};
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};
    const xyl_node_gate_t gate = {.may_go = may_go, .arg = directory};
    xyl_node_program_t program;
    xyl_stage_t *stage = NULL;

    xyl_node_program_init(&program);
    program.element_bytes = 1;
    xyl_node_strand(&program);
    (void)xyl_node_step(&program, XYL_STEP_GATE, nowhere, nowhere, 0);
    xyl_han_add_program(han, &program, &how);
    xyl_node_program_fini(&program);
    if (han->status == XYLEM_OK) {
        stage = han->operation->stage[han->operation->stages - 1];
        xyl_node_stage_set_gate(stage, &gate);
    }
    return stage;
}

static xyl_stage_t *directory_add(xyl_han_t *han, xyl_device_plan_t *plan)
{
    const xyl_stage_spec_t spec = xyl_stage_behind(
        han->operation, 0, XYL_ROLE_USERS_INPUT, XYL_ROLE_USERS_RESULT);
    directory_stage_t *directory;

    if (han->status != XYLEM_OK)
        return NULL;
    directory = (directory_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, &directory_ops, sizeof *directory, 0);
    if (directory == NULL) {
        han->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a collective on GPUs");
        return NULL;
    }
    directory->plan = plan;
    plan->number = han->choice->radix;
    han->status = xyl_stage_works_of(&directory->stage, plan->exec,
                                     works_of(plan->problem.ranks), copied,
                                     &directory->works);
    return gate_add(han, directory);
}

/* Makes the staging, without which this rank's offer is bad. */
static int directory_prepare(xyl_device_plan_t *plan)
{
    return xyl_device_staging_of(plan->operation->request.team, plan->library,
                                 plan->device) != NULL;
}

#define DIRECTORY_DESIGN(assigns)                                              \
    {                                                                          \
        .room_bytes = directory_room_bytes, .prepare = directory_prepare,      \
        .add_phase = directory_add, .is_dynamic = (assigns),                   \
    }

static void cuda_static_add_stages(xyl_han_t *han)
{
    static const xyl_device_design_t design = DIRECTORY_DESIGN(0);

    xyl_device_stages_add(han, &design);
}

static void cuda_dynamic_add_stages(xyl_han_t *han)
{
    static const xyl_device_design_t design = DIRECTORY_DESIGN(1);

    xyl_device_stages_add(han, &design);
}

#define COLLS                                                                  \
    (XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE) |    \
     XYL_COLL_BIT(ALLGATHER))

const xyl_algorithm_t xyl_algorithm_cuda_static = {
    .name = "cuda_static",
    .help = "cuda_gsb, K ranks through the host (Faraji 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .radix = {.least = 1, .preset = 0, .most = STAGED_MAX},
    .add_stages = cuda_static_add_stages,
};

const xyl_algorithm_t xyl_algorithm_cuda_dynamic = {
    .name = "cuda_dynamic",
    .help = "cuda_gsb, some ranks through the host, as it goes (Faraji 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_dynamic_add_stages,
};
