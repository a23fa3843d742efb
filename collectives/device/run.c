/* The stages that every design of collectives on memory of GPUs (plan.h) has.
 * Each rank names its buffers to the others; then the design's phases of work
 * follow, each with a node barrier behind it.
 *
 *   publish --> node allgather of names --> work, node barrier --> ... --+
 *                                            |                           |
 *                           fetch --> the node's program --> bring       |
 *                                                              |         |
 *                                                              +-> finish <-+
 *
 * The names of all ranks decide whether the call goes directly, on the upper
 * path, or on the lower one, through the memory of the node, where ranks with
 * GPUs use mirrors. All ranks take the lower path if one rank has only memory
 * of the host, or memory that cannot be shared, or if GPUs are not known to
 * reach one another (reach.h); they skip the stages of the other path. No rank
 * ever waits inside a kernel. */
#include <inttypes.h>
#include <string.h>

#include "collectives/data/buffers.h"
#include "collectives/data/description.h"
#include "collectives/device/plan.h"
#include "collectives/device/reach.h"
#include "collectives/levels/parts.h"
#include "collectives/node/stage.h"
#include "collectives/stages/copy_stage.h"
#include "collectives/stages/messages.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/liveness.h"

typedef struct device_stage {
    xyl_stage_t stage;
    xyl_device_plan_t *plan;
    uint32_t phase;          /* its number, of a work stage */
    uint32_t under_way;      /* works that have not ended */
    xyl_stage_work_t *works; /* NULL: this rank's buffers are the host's */
} device_stage_t;

static device_stage_t *self(xyl_stage_t *stage)
{
    return (device_stage_t *)(void *)stage;
}

static void stage_over(xyl_stage_t *stage)
{
    xyl_stage_emit(stage, 0);
    if (stage->operation->failure == XYLEM_OK)
        xyl_stage_complete(stage);
}

static void work_over(xyl_event_t *event)
{
    device_stage_t *device = self(xyl_stage_work_of(event)->stage);

    if (xyl_stage_arrived(&device->stage, event) && --device->under_way == 0)
        stage_over(&device->stage);
}

static void device_start(xyl_stage_t *stage)
{
    (void)stage;
}

/* ---- publish ---- */

/* The address of the side's first byte: elements may begin with a gap. */
static char *side_address(const xyl_device_side_t *side)
{
    if (side->layout == NULL)
        return xyl_device_own(side);
    return side->users + side->layout->low +
           (int64_t)(side->at / side->layout->bytes) * side->layout->extent;
}

/* 1: another process can open the side's buffer, and finds its bytes there;
 * else the buffer is copied. */
static int is_shared(const xyl_device_plan_t *plan,
                     const xyl_device_side_t *side)
{
    return !side->is_copied && side->layout == NULL &&
           side->place.kind == XYL_CUDA_KIND_DEVICE &&
           side->place.is_exportable && side->place.device == plan->device;
}

/* Names the buffer, or a room that stands for it, to other ranks. 0: failed. */
static int side_share(const xyl_device_plan_t *plan, xyl_device_side_t *side,
                      xyl_device_name_t *name)
{
    char *address = side_address(side);
    xyl_cuda_place_t place = side->place;
    int error;

    if (!is_shared(plan, side)) {
        /* Kernels copy elements with gaps, but not from all host memory. */
        if (plan->design->has_no_rooms || side->has_gaps ||
            (side->layout != NULL && place.kind == XYL_CUDA_KIND_HOST))
            return 0;
        address = side->room = xyl_device_room_take(
            plan->context, plan->library, plan->device, side->bytes);
        if (address == NULL)
            return 0;
        plan->library->find(address, &place);
    }
    error =
        xyl_device_name(plan->context, plan->library, address, &place, name);
    if (error != 0)
        xyl_log(XYL_LOG_WARN, "memory of a GPU cannot be exported: %s",
                plan->library->error_text(error));
    return error == 0;
}

/* Names a room, for a design that shares no buffers. 0: it cannot be used. */
static int room_share(xyl_device_plan_t *plan, xyl_device_offer_t *offer)
{
    xyl_cuda_place_t room;

    if ((plan->input.bytes != 0 && !is_shared(plan, &plan->input)) ||
        (plan->result.bytes != 0 && !is_shared(plan, &plan->result)))
        return 0;
    plan->room =
        xyl_device_room_take(plan->context, plan->library, plan->device,
                             plan->design->room_bytes(plan));
    if (plan->room == NULL)
        return 0;
    plan->library->find(plan->room, &room);
    return xyl_device_name(plan->context, plan->library, plan->room, &room,
                           &offer->input) == 0;
}

static int buffers_share(xyl_device_plan_t *plan, xyl_device_offer_t *offer)
{
    if (plan->design->prepare != NULL && !plan->design->prepare(plan))
        return 0;
    if (!plan->design->shares_buffers)
        return room_share(plan, offer);
    return (plan->input.bytes == 0 ||
            side_share(plan, &plan->input, &offer->input)) &&
           (plan->result.bytes == 0 ||
            side_share(plan, &plan->result, &offer->result));
}

/* Copies the side into its room, or out of it. 1: no copy is under way. */
static int side_copy(const xyl_device_plan_t *plan,
                     const xyl_device_side_t *side, int into_room,
                     xyl_work_t *work)
{
    xyl_buffers_t buffers = {.exec = plan->exec};
    int of_users = into_room ? XYL_BUFFER_SEND : XYL_BUFFER_RECV;

    if (side->room == NULL)
        return 1;
    buffers.layout[of_users] = side->layout;
    buffers.base[of_users] = side->users;
    buffers.base[into_room ? XYL_BUFFER_RECV : XYL_BUFFER_SEND] = side->room;
    return xyl_buffers_copy(&buffers, work, XYL_BUFFER_RECV,
                            into_room ? 0 : side->at, XYL_BUFFER_SEND,
                            into_room ? side->at : 0, side->bytes);
}

/* Finds the side's place. 1: the side lies in memory of a GPU, whose device
 * becomes the plan's. */
static int find_device(xyl_device_plan_t *plan, xyl_device_side_t *side)
{
    if (side->bytes == 0)
        return 0;
    plan->library->find(side_address(side), &side->place);
    if (side->place.kind != XYL_CUDA_KIND_DEVICE &&
        side->place.kind != XYL_CUDA_KIND_MANAGED)
        return 0;
    plan->device = side->place.device;
    return 1;
}

static xyl_device_kind_t kind_of(xyl_device_plan_t *plan)
{
    int has_gpu = 0;

    if (plan->input.bytes == 0 && plan->result.bytes == 0)
        return XYL_DEVICE_NOTHING;
    if (plan->library != NULL) {
        has_gpu = find_device(plan, &plan->result);
        has_gpu |=
            find_device(plan, &plan->input); /* last: sets plan->device */
    }
    return has_gpu ? XYL_DEVICE_GPU : XYL_DEVICE_HOST;
}

void xyl_device_offer_fill(xyl_device_plan_t *plan, xyl_device_offer_t *offer)
{
    xyl_device_side_t *input = &plan->input, *result = &plan->result;

    *offer = (xyl_device_offer_t){.owner = plan->context->rank,
                                  .kind = (uint16_t)kind_of(plan),
                                  .input_bytes = input->bytes,
                                  .result_bytes = result->bytes};
    if (plan->cell != NULL)
        memcpy(offer->cell, plan->cell,
               plan->problem.ranks * sizeof *plan->cell);
    if (offer->kind != XYL_DEVICE_GPU)
        return;
    xyl_device_find_freed(plan->context, plan->library, offer->freed);
    offer->gpu = xyl_device_gpu(plan->context, plan->library, plan->device);
    xyl_device_reach_tell(xyl_device_reach_of(plan->context), offer);
    offer->is_bad = offer->gpu == XYL_DEVICE_GPU_UNKNOWN ||
                    (xyl_coll_traits(plan->problem.coll)->reduces &&
                     !plan->library->combines(plan->op, plan->type)) ||
                    !buffers_share(plan, offer);
}

static void publish(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    xyl_device_plan_t *plan = device->plan;
    xyl_device_offer_t *offer = xyl_device_offer(plan, plan->problem.rank);

    (void)index;
    xyl_device_offer_fill(plan, offer);
    device->under_way = 1;
    if (offer->kind != XYL_DEVICE_GPU || offer->is_bad ||
        plan->input.bytes == 0 ||
        xyl_stage_worked(
            stage, side_copy(plan, &plan->input, 1, &device->works[0].work)))
        stage_over(stage);
}

void xyl_device_plan_bind(xyl_device_plan_t *plan, const void *reads,
                          void *writes)
{
    const union {
        const void *constant;
        char *plain;
    } input = {reads};

    plan->result.users = writes;
    plan->input.users =
        plan->problem.coll == XYLEM_COLL_BCAST ? writes : input.plain;
}

static void publish_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_device_plan_bind(self(stage)->plan, reads, writes);
}

static const xyl_stage_ops_t publish_ops = {
    .name = "publish",
    .start = device_start,
    .segment_ready = publish,
    .bind = publish_bind,
};

/* ---- which way ---- */

/* Why the call cannot go directly, in words about rank *rank_out; NULL: the
 * ranks' buffers allow it. */
static const char *what_keeps_mirrors(const xyl_device_plan_t *plan,
                                      uint32_t *rank_out)
{
    uint32_t rank, with_gpus = 0;

    for (rank = 0; rank < plan->problem.ranks; rank++) {
        const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
        *rank_out = rank;
        if (offer->kind == XYL_DEVICE_HOST)
            return "has buffers in memory of the host alone";
        if (offer->is_bad)
            return "has memory that other processes cannot open, or no kernel "
                   "for it";
        with_gpus += offer->kind == XYL_DEVICE_GPU;
    }
    return with_gpus != 0 ? NULL : "has no buffers, as all others";
}

static uint32_t rank_in_team(const xyl_device_plan_t *plan, uint32_t rank)
{
    return plan->ranks == NULL ? rank : plan->ranks[rank];
}

/* Logs a new reason for mirrors, if the user asks what is chosen. */
static void mirrors_explain(xyl_device_plan_t *plan, uint32_t rank,
                            const char *why)
{
    if (why != NULL && why != plan->mirrored_for &&
        plan->context->config.verbose != 0)
        xyl_log(XYL_LOG_NONE,
                "select: %s goes on mirrors, in place of %s: rank %u %s",
                xyl_coll_traits(plan->problem.coll)->name, plan->name,
                rank_in_team(plan, rank), why);
    plan->mirrored_for = why;
}

xylem_status_t xyl_device_mirrors_take(const xyl_device_plan_t *plan)
{
    xylem_status_t status = xyl_mirrors_take(plan->operation, &plan->mirrors);

    if (status == XYLEM_OK)
        xyl_operation_bind(plan->operation, plan->input.users,
                           plan->result.users);
    return status;
}

/* Skips the stages of the other path. Ranks that learn (reach.h) open memory of
 * other ranks. Then the first barrier stays, and keeps the owners of that
 * memory in the call until all ranks have opened it. */
static void way_set(const xyl_device_plan_t *plan)
{
    int has_barrier = plan->is_learning && plan->design->add_phase == NULL;
    uint32_t i, phases = has_barrier ? 1 : plan->phases;

    xyl_node_stage_skip(plan->node, plan->is_direct);
    for (i = 0; i < plan->phases_max; i++)
        xyl_node_stage_skip(plan->barriers[i], i >= phases);
    if (plan->fetch != NULL)
        xyl_mirror_stage_skip(plan->fetch, plan->is_direct);
    if (plan->bring != NULL)
        xyl_mirror_stage_skip(plan->bring, plan->is_direct);
}

/* Compares a length that a rank has told with the one that this rank knows. */
static xylem_status_t length_compare(uint32_t rank, const char *does,
                                     uint64_t said, uint64_t known)
{
    if (said == known)
        return XYLEM_OK;
    return xyl_fail(said > known ? XYLEM_ERR_TRUNCATED : XYLEM_ERR_MISMATCH,
                    "rank %u %s a block of %" PRIu64 " bytes, not %" PRIu64,
                    rank, does, said, known);
}

/* Fails the call as a message of a wrong length would, before a kernel reads or
 * writes past a buffer. If blocks differ, the rank has told how long its block
 * for this rank is. Else all inputs are equally long, and all ranks know how
 * long each result of a reduce_scatter is. */
static xylem_status_t lengths_check_of(const xyl_device_plan_t *plan,
                                       uint32_t rank)
{
    const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
    xylem_status_t status = XYLEM_OK;

    if (plan->cell != NULL)
        return length_compare(rank_in_team(plan, rank), "has sent",
                              offer->cell[plan->problem.rank].send_bytes,
                              plan->cell[rank].recv_bytes);
    if (offer->input_bytes != 0 && plan->input.bytes != 0)
        status = length_compare(rank_in_team(plan, rank), "gives",
                                offer->input_bytes, plan->input.bytes);
    if (status == XYLEM_OK && plan->counts != NULL)
        status = length_compare(rank_in_team(plan, rank), "has room for",
                                offer->result_bytes,
                                plan->counts[rank] * plan->element_bytes);
    return status;
}

static xylem_status_t lengths_check(const xyl_device_plan_t *plan)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t rank;

    for (rank = 0; status == XYLEM_OK && rank < plan->problem.ranks; rank++)
        if (rank != plan->problem.rank)
            status = lengths_check_of(plan, rank);
    return status;
}

void xyl_device_forget_freed(const xyl_device_plan_t *plan, uint32_t rank)
{
    const xyl_device_offer_t *offer = xyl_device_offer(plan, rank);
    uint32_t i;

    for (i = 0; i < XYL_DEVICE_FREED_MAX; i++)
        if (offer->freed[i].buffer != 0)
            xyl_device_forget(plan->context, offer->owner, &offer->freed[i]);
}

xylem_status_t xyl_device_way_find(xyl_device_plan_t *plan)
{
    uint32_t rank = 0, other;
    const char *why = what_keeps_mirrors(plan, &rank);

    for (other = 0; other < plan->problem.ranks; other++)
        xyl_device_forget_freed(plan, other);
    plan->is_direct = why == NULL;
    plan->is_learning = plan->is_direct && !xyl_device_reach_is_known(plan);
    if (plan->is_learning)
        why = "and others have GPUs that are not known to reach one another";
    mirrors_explain(plan, rank, why);
    if (plan->is_learning) {
        xyl_device_reach_learn(plan, xyl_device_reach_of(plan->context));
        plan->is_direct = 0;
    }
    return plan->is_direct ? lengths_check(plan) : XYLEM_OK;
}

xylem_status_t xyl_device_way_settle(xyl_device_plan_t *plan)
{
    xylem_status_t status = xyl_device_way_find(plan);

    plan->phases = (uint32_t)plan->is_direct;
    if (plan->is_direct && plan->design->phases != NULL)
        plan->phases = plan->design->phases(plan);
    way_set(plan);
    if (status == XYLEM_OK && !plan->is_direct && plan->has_mirrors)
        status = xyl_device_mirrors_take(plan);
    return status;
}

/* ---- work ---- */

char *xyl_device_operand(const xyl_device_plan_t *plan, uint32_t rank,
                         const xyl_device_name_t *name)
{
    const xyl_device_remote_t remote = {xyl_device_offer(plan, rank)->owner,
                                        name, plan->device, plan->exec,
                                        plan->library};

    return xyl_device_open(plan->context, &remote);
}

xylem_status_t xyl_device_unopened(const xyl_device_plan_t *plan)
{
    return xyl_liveness_explain(plan->context, plan->operation->request.team,
                                XYLEM_ERR_NO_RESOURCE);
}

static void begin_task(device_stage_t *device, uint32_t number)
{
    xyl_device_plan_t *plan = device->plan;
    const xyl_device_task_t *task = &plan->tasks[number];
    xyl_work_t *work = &device->works[number].work;

    if (task->is_moves)
        xyl_cuda_move_begin(plan->exec, work, plan->device, &task->does.moves);
    else
        xyl_cuda_combine_begin(plan->exec, work, plan->device, XYL_CUDA_WITHIN,
                               &task->does.combine);
    (void)xyl_stage_worked(&device->stage, 0);
}

static void work(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    xyl_device_plan_t *plan = device->plan;
    xylem_status_t status = XYLEM_OK;
    int tasks = 0, i;

    (void)index;
    if (device->phase == 0)
        status = xyl_device_way_settle(plan);
    if (status == XYLEM_OK && device->phase < plan->phases &&
        plan->library != NULL)
        tasks = plan->design->write(plan, device->phase);
    if (tasks < 0)
        status = xyl_device_unopened(plan);
    if (status != XYLEM_OK) {
        xyl_failure_raise_for(stage->operation, status);
        return;
    }
    device->under_way = (uint32_t)tasks;
    for (i = 0; i < tasks; i++)
        begin_task(device, (uint32_t)i);
    if (tasks == 0)
        stage_over(stage);
}

static const xyl_stage_ops_t work_ops = {
    .name = "work",
    .start = device_start,
    .segment_ready = work,
};

/* ---- finish ---- */

/* Gives back rooms and mirrors, also of an operation that has failed. */
static void plan_rests(void *arg)
{
    xyl_device_plan_t *plan = arg;
    void **const rooms[] = {&plan->input.room, &plan->result.room, &plan->room};
    int has_failed = plan->operation->failure != XYLEM_OK;
    size_t i;

    for (i = 0; i < sizeof rooms / sizeof *rooms; i++) {
        if (*rooms[i] != NULL)
            xyl_device_room_give(plan->context, *rooms[i], has_failed);
        *rooms[i] = NULL;
    }
    if (!plan->has_mirrors)
        return;
    xyl_collective_give_mirrors(plan->operation);
    xyl_mirrors_postpone(plan->operation);
}

static void finished(xyl_event_t *event)
{
    device_stage_t *device = self(xyl_stage_work_of(event)->stage);

    if (!xyl_stage_arrived(&device->stage, event))
        return;
    plan_rests(device->plan);
    stage_over(&device->stage);
}

static void finish(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    xyl_device_plan_t *plan = device->plan;

    (void)index;
    if (plan->result.room == NULL || !plan->is_direct ||
        xyl_stage_worked(
            stage, side_copy(plan, &plan->result, 0, &device->works[0].work))) {
        plan_rests(plan);
        stage_over(stage);
    }
}

static const xyl_stage_ops_t finish_ops = {
    .name = "finish",
    .start = device_start,
    .segment_ready = finish,
};

/* ---- planning ---- */

static void no_memory(xyl_han_t *han)
{
    if (han->status == XYLEM_OK)
        han->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a collective on GPUs");
}

static void stage_add(xyl_han_t *han, const xyl_stage_ops_t *ops,
                      xyl_device_plan_t *plan, uint32_t phase, uint32_t works,
                      xyl_event_fn handle)
{
    const xyl_stage_spec_t spec = xyl_stage_behind(
        han->operation, 0, XYL_ROLE_USERS_INPUT, XYL_ROLE_USERS_RESULT);
    device_stage_t *device;

    if (han->status != XYLEM_OK)
        return;
    device = (device_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, ops, sizeof *device, 0);
    if (device == NULL) {
        no_memory(han);
        return;
    }
    device->plan = plan;
    device->phase = phase;
    han->status = xyl_stage_works_of(&device->stage, plan->exec, works, handle,
                                     &device->works);
}

static xyl_stage_t *mirror_add(xyl_han_t *han, xyl_role_t reads,
                               xyl_role_t writes, const xyl_extents_t *extents)
{
    const xyl_stage_spec_t spec =
        xyl_stage_behind(han->operation, 0, reads, writes);
    xyl_stage_t *stage = NULL;

    if (han->status == XYLEM_OK && extents->count != 0)
        han->status =
            xyl_mirror_stage_add(han->operation, &spec, extents, &stage);
    return stage;
}

static xyl_stage_t *node_add(xyl_han_t *han, const xyl_problem_t *problem,
                             const xyl_han_stage_t *how)
{
    xyl_han_add_node(han, problem, how);
    return han->status == XYLEM_OK
               ? han->operation->stage[han->operation->stages - 1]
               : NULL;
}

static void find_mirrors(xyl_han_t *han, xyl_device_plan_t *plan)
{
    plan->has_mirrors = 1;
    han->status = xyl_mirrors_find(han->operation, han->call, &plan->mirrors);
    if (plan->input.bytes == 0)
        plan->mirrors.input.count = 0;
    xyl_mirrors_postpone(han->operation);
}

void xyl_device_plan_fill(xyl_han_t *han, xyl_device_plan_t *plan,
                          const xyl_problem_t *problem)
{
    int reduces = xyl_coll_traits(problem->coll)->reduces;

    plan->operation = han->operation;
    plan->exec = xyl_collective_of(han->operation)->users_exec;
    plan->library = xyl_cuda_library_of(plan->exec);
    plan->context = han->operation->request.context;
    plan->problem = *problem;
    plan->op = reduces ? han->args->op : XYLEM_BOR;
    plan->type = reduces ? han->args->type : XYLEM_BYTE;
    plan->count = problem->count;
    plan->element_bytes = problem->element_bytes;
}

static void plan_allocate(xyl_han_t *han, xyl_device_plan_t *plan)
{
    const xyl_problem_t *problem = &han->problem;
    int reduces = xyl_coll_traits(problem->coll)->reduces;
    xyl_arena_t *arena = &han->operation->request.arena;

    plan->name = han->choice->algorithm->name;
    plan->offer_bytes = sizeof(xyl_device_offer_t);
    if (xyl_coll_varies(problem->coll) && !reduces) {
        plan->offer_bytes += problem->ranks * sizeof *plan->cell;
        plan->cell = xyl_arena_array(arena, problem->ranks, sizeof *plan->cell);
        if (plan->cell == NULL)
            no_memory(han);
    }
    plan->tasks_max = 1;
    if (plan->library != NULL && plan->design->tasks_max != NULL)
        plan->tasks_max = plan->design->tasks_max(problem);
    plan->tasks = xyl_arena_array(arena, plan->tasks_max, sizeof *plan->tasks);
    plan->phases_max = plan->design->phases_max == NULL
                           ? 1
                           : plan->design->phases_max(problem);
    plan->barriers =
        xyl_arena_array(arena, plan->phases_max, sizeof(xyl_stage_t *));
    if (plan->tasks == NULL || plan->barriers == NULL)
        no_memory(han);
}

static xyl_device_plan_t *plan_make(xyl_han_t *han,
                                    const xyl_device_design_t *design)
{
    xyl_device_plan_t *plan =
        xyl_arena_array(&han->operation->request.arena, 1, sizeof *plan);

    if (plan == NULL) {
        no_memory(han);
        return NULL;
    }
    plan->design = design;
    xyl_device_plan_fill(han, plan, &han->problem);
    plan_allocate(han, plan);
    xyl_han_make_scratch(han, han->problem.ranks * plan->offer_bytes);
    if (han->status == XYLEM_OK &&
        !xyl_device_sides_find(plan, &han->problem, han->sides->send,
                               han->sides->recv))
        no_memory(han);
    plan->offers = han->operation->buffers.scratch;
    if (han->status == XYLEM_OK && xyl_collective_is_mirrored(han->operation))
        find_mirrors(han, plan);
    if (han->status != XYLEM_OK)
        return NULL;
    xyl_collective_of(han->operation)->takes_device = 1;
    xyl_collective_of(han->operation)->rests = plan_rests;
    xyl_collective_of(han->operation)->rests_arg = plan;
    return plan;
}

static void phase_add(xyl_han_t *han, xyl_device_plan_t *plan, uint32_t phase)
{
    const xyl_han_stage_t how = {.number = XYL_DEVICE_BARRIER};
    const xyl_problem_t all_over = {.coll = XYLEM_COLL_BARRIER,
                                    .element_bytes = 1};

    if (plan->design->add_phase != NULL) {
        plan->barriers[phase] = plan->design->add_phase(han, plan);
        return;
    }
    stage_add(han, &work_ops, plan, phase, plan->tasks_max, work_over);
    plan->barriers[phase] = node_add(han, &all_over, &how);
}

static void mirrored_add(xyl_han_t *han, xyl_device_plan_t *plan)
{
    const xyl_han_stage_t how =
        xyl_han_stage(XYL_DEVICE_MIRRORED, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    int is_bcast = han->problem.coll == XYLEM_COLL_BCAST;

    plan->fetch = mirror_add(
        han, is_bcast ? XYL_ROLE_USERS_RESULT : XYL_ROLE_USERS_INPUT,
        is_bcast ? XYL_ROLE_RESULT : XYL_ROLE_INPUT, &plan->mirrors.input);
    plan->node = node_add(han, &han->problem, &how);
    plan->bring = mirror_add(han, XYL_ROLE_RESULT, XYL_ROLE_USERS_RESULT,
                             &plan->mirrors.result);
}

void xyl_device_stages_add(xyl_han_t *han, const xyl_device_design_t *design)
{
    const xyl_han_stage_t names =
        xyl_han_stage(XYL_DEVICE_NAMES, XYL_ROLE_SCRATCH, XYL_ROLE_SCRATCH);
    xyl_problem_t all_names = {
        .coll = XYLEM_COLL_ALLGATHER, .element_bytes = 1, .is_in_place = 1};
    xyl_device_plan_t *plan = plan_make(han, design);
    uint32_t phase;

    if (plan == NULL)
        return;
    all_names.count = plan->offer_bytes;
    stage_add(han, &publish_ops, plan, 0, 1, work_over);
    xyl_han_add_node(han, &all_names, &names);
    for (phase = 0; phase < plan->phases_max; phase++)
        phase_add(han, plan, phase);
    mirrored_add(han, plan);
    stage_add(han, &finish_ops, plan, 0, 1, finished);
}
