/* Ranks of one node whose buffers lie in memory of GPUs: each names its buffers
 * to the others, and then one rank for each GPU, its *worker*, has a kernel
 * read all inputs where they lie, combine them in the order of ranks, and write
 * all results where these belong; each worker a part of the message.
 *
 *   publish --> node allgather of names --> work --> node barrier --> finish
 *
 * After the Gathered Shared Buffer of hierarchical GPU collectives (Faraji,
 * Afsahi, "Design considerations for GPU-aware collective communications in
 * MPI", 2018), in which ranks copy their data into a buffer of a leader's GPU,
 * whose kernel combines them at once. Here the buffers themselves are shared,
 * so that nothing is copied, and processes that share a GPU do not take turns
 * on it: no process but the workers begins any work there. Nobody ever waits
 * inside a kernel. Only what cannot be exported (elements with gaps, memory of
 * pools, managed memory, the host's) is copied to a buffer that can, and back.
 *
 * All ranks have the same bits, those of the order of ranks. */
#include <string.h>

#include "collectives/data/buffers.h"
#include "collectives/data/description.h"
#include "collectives/device/device.h"
#include "collectives/levels/parts.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/work.h"
#include "runtime/base/log.h"
#include "runtime/base/parts.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum {
    NAMES,
    BARRIER,   /* numbers of stages */
    UNIT = 256 /* elements: parts of workers begin at multiples */
};

/* What a rank tells of its buffers. Travels between ranks. */
typedef struct offer {
    uint32_t owner; /* rank of the job */
    uint32_t is_bad;
    uint64_t gpu;                    /* the same for all that share it */
    xyl_device_name_t input, result; /* of what it has */
} offer_t;

/* One of a rank's two buffers. */
typedef struct side {
    uint64_t at, bytes; /* packed, of the user's buffer; bytes 0: it has none */
    const xyl_layout_t *layout;
    char *users; /* where that buffer begins */
    void *room;  /* what stands for it; NULL: itself does */
} side_t;

/* The same of all three stages of a rank. */
typedef struct plan {
    xyl_exec_t *exec;
    const xyl_cuda_library_t *library;
    xylem_context_t *context;
    xyl_problem_t problem; /* its arrays are of no meaning */
    uint32_t op, type;     /* of the kernel */
    uint64_t count;        /* elements of a message, or of a block */
    size_t element_bytes;
    side_t input, result;
    int device;
    offer_t *offers; /* [ranks] */
} plan_t;

typedef struct device_stage {
    xyl_stage_t stage;
    plan_t *plan;
    uint32_t under_way; /* works */
    xyl_cuda_combine_t *combines;
    xyl_stage_work_t *works;
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

static void device_cancel(xyl_stage_t *stage)
{
    (void)stage;
}

/* ---- publish ---- */

/* `place` is the buffer's; what another process could not open, or would find
 * other bytes in, is copied. */
static int is_shared(const plan_t *plan, const side_t *side,
                     const xyl_cuda_place_t *place)
{
    return side->layout == NULL && place->kind == XYL_CUDA_KIND_DEVICE &&
           place->is_exportable && place->device == plan->device;
}

/* What others are to find, or NULL. */
static void *side_shared(plan_t *plan, side_t *side, xyl_device_name_t *name)
{
    char *address = side->users + side->at;
    xyl_cuda_place_t place;
    int error;

    plan->library->find(address, &place);
    side->room = NULL;
    if (!is_shared(plan, side, &place)) {
        address = side->room = xyl_device_room_take(
            plan->context, plan->library, plan->device, side->bytes);
        if (address == NULL)
            return NULL;
        plan->library->find(address, &place);
    }
    error =
        xyl_device_name(plan->context, plan->library, address, &place, name);
    if (error != 0)
        xyl_log(XYL_LOG_ERROR, "memory of a GPU cannot be exported: %s",
                plan->library->error_text(error));
    return error == 0 ? address : NULL;
}

/* From or to the room that stands for a buffer. 1: done, or nothing to do. */
static int side_copy(const plan_t *plan, const side_t *side, int into_room,
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

static void find_device(plan_t *plan)
{
    xyl_cuda_place_t place;
    const side_t *side = plan->input.bytes != 0 ? &plan->input : &plan->result;

    plan->library->find(side->users + side->at, &place);
    if (place.kind == XYL_CUDA_KIND_HOST && plan->result.bytes != 0)
        plan->library->find(plan->result.users + plan->result.at, &place);
    plan->device = place.device;
}

static void publish(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    plan_t *plan = device->plan;
    offer_t *offer = &plan->offers[plan->problem.rank];

    (void)index;
    find_device(plan);
    *offer = (offer_t){
        .owner = plan->context->rank,
        .gpu = xyl_device_gpu(plan->context, plan->library, plan->device)};
    if (plan->input.bytes != 0 &&
        side_shared(plan, &plan->input, &offer->input) == NULL)
        offer->is_bad = 1;
    if (plan->result.bytes != 0 &&
        side_shared(plan, &plan->result, &offer->result) == NULL)
        offer->is_bad = 1;
    device->under_way = 1;
    if (offer->is_bad || plan->input.bytes == 0 ||
        xyl_stage_worked(
            stage, side_copy(plan, &plan->input, 1, &device->works[0].work)))
        stage_over(stage);
}

static void publish_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    plan_t *plan = self(stage)->plan;
    const union {
        const void *constant;
        char *plain;
    } input = {reads};
    int is_in_place = plan->problem.is_in_place;

    plan->result.users = writes;
    plan->input.users = input.plain;
    if (is_in_place || plan->problem.coll == XYLEM_COLL_BCAST)
        plan->input.users = writes;
}

static const xyl_stage_ops_t publish_ops = {
    .name = "publish",
    .start = device_start,
    .segment_ready = publish,
    .cancel = device_cancel,
    .bind = publish_bind,
};

/* ---- work ---- */

/* The GPUs of a job in the order of their first ranks, which work for them:
 * which part is this rank's; parts: none. */
static uint32_t find_part(const plan_t *plan, uint32_t *parts_out)
{
    uint32_t rank, before, mine = UINT32_MAX, parts = 0;

    for (rank = 0; rank < plan->problem.ranks; rank++) {
        for (before = 0; before < rank; before++)
            if (plan->offers[before].gpu == plan->offers[rank].gpu)
                break;
        if (before != rank)
            continue;
        if (rank == plan->problem.rank)
            mine = parts;
        parts++;
    }
    *parts_out = parts;
    return mine == UINT32_MAX ? parts : mine;
}

/* Elements before a part of the message. */
static uint64_t part_begin(const plan_t *plan, uint32_t parts, uint32_t part)
{
    uint64_t units = (plan->count + UNIT - 1) / UNIT;
    uint64_t at = xyl_part_at(units, parts, part) * UNIT;

    return at < plan->count ? at : plan->count;
}

static char *opened(const plan_t *plan, uint32_t rank, int is_input)
{
    const offer_t *offer = &plan->offers[rank];

    return xyl_device_open(plan->context, plan->library, offer->owner,
                           plan->device,
                           is_input ? &offer->input : &offer->result,
                           xyl_cuda_is_idle(plan->exec));
}

static int is_given_by(const xyl_problem_t *problem, uint32_t rank)
{
    return problem->coll != XYLEM_COLL_BCAST || rank == problem->root;
}

static int is_for(const xyl_problem_t *problem, uint32_t rank)
{
    if (problem->coll == XYLEM_COLL_BCAST)
        return rank != problem->root;
    return problem->coll != XYLEM_COLL_REDUCE || rank == problem->root;
}

/* Results: `at` bytes into those of all that get any. 0: one cannot be opened.
 */
static int set_results(const plan_t *plan, uint64_t at,
                       xyl_cuda_combine_t *combine)
{
    uint32_t rank;
    char *result;

    combine->results = 0;
    for (rank = 0; rank < plan->problem.ranks; rank++) {
        if (!is_for(&plan->problem, rank))
            continue;
        result = opened(plan, rank, 0);
        if (result == NULL)
            return 0;
        combine->result[combine->results++] = result + at;
    }
    return 1;
}

/* Elements [begin, end) of the message, or of the block of rank `block`. */
static int set_combine(const plan_t *plan, uint64_t begin, uint64_t end,
                       uint32_t block, xyl_cuda_combine_t *combine)
{
    int has_blocks = plan->problem.coll == XYLEM_COLL_ALLGATHER;
    uint64_t at = begin * plan->element_bytes;
    uint32_t rank;
    char *input;

    combine->op = plan->op;
    combine->type = plan->type;
    combine->count = end - begin;
    combine->inputs = 0;
    for (rank = 0; rank < plan->problem.ranks; rank++) {
        if (!is_given_by(&plan->problem, rank) || (has_blocks && rank != block))
            continue;
        input = opened(plan, rank, 1);
        if (input == NULL)
            return 0;
        combine->input[combine->inputs++] = input + at;
    }
    if (has_blocks)
        at += block * plan->count * plan->element_bytes;
    return set_results(plan, at, combine);
}

/* Begins the kernels of this rank's part; how many. */
static xylem_status_t work_begin(device_stage_t *device, uint32_t *begun_out)
{
    const plan_t *plan = device->plan;
    uint32_t parts, part = find_part(plan, &parts), i, kernels = 1;
    uint64_t begin, end;

    *begun_out = 0;
    if (part == parts)
        return XYLEM_OK;
    begin = part_begin(plan, parts, part);
    end = part_begin(plan, parts, part + 1);
    if (plan->problem.coll == XYLEM_COLL_ALLGATHER)
        kernels = plan->problem.ranks;
    if (begin == end ||
        (plan->problem.coll == XYLEM_COLL_BCAST && plan->problem.ranks == 1))
        return XYLEM_OK;
    for (i = 0; i < kernels; i++)
        if (!set_combine(plan, begin, end, i, &device->combines[i]))
            return XYLEM_ERR_NO_RESOURCE;
    device->under_way = kernels;
    for (i = 0; i < kernels; i++) {
        xyl_cuda_combine_begin(plan->exec, &device->works[i].work, plan->device,
                               &device->combines[i]);
        (void)xyl_stage_worked(&device->stage, 0);
    }
    *begun_out = kernels;
    return XYLEM_OK;
}

static void work(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    const plan_t *plan = device->plan;
    xylem_status_t status = XYLEM_OK;
    uint32_t rank, begun = 0;

    (void)index;
    for (rank = 0; rank < plan->problem.ranks; rank++)
        if (plan->offers[rank].is_bad)
            status = XYLEM_ERR_NO_RESOURCE;
    if (status == XYLEM_OK)
        status = work_begin(device, &begun);
    if (status != XYLEM_OK)
        xyl_operation_fail(stage->operation, status);
    else if (begun == 0)
        stage_over(stage);
}

static void no_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    (void)stage;
    (void)reads;
    (void)writes;
}

static const xyl_stage_ops_t work_ops = {
    .name = "work",
    .start = device_start,
    .segment_ready = work,
    .cancel = device_cancel,
    .bind = no_bind,
};

/* ---- finish ---- */

static void rooms_give(plan_t *plan)
{
    if (plan->input.room != NULL)
        xyl_device_room_give(plan->context, plan->input.room);
    if (plan->result.room != NULL)
        xyl_device_room_give(plan->context, plan->result.room);
    plan->input.room = plan->result.room = NULL;
}

static void finished(xyl_event_t *event)
{
    device_stage_t *device = self(xyl_stage_work_of(event)->stage);

    rooms_give(device->plan);
    if (xyl_stage_arrived(&device->stage, event))
        stage_over(&device->stage);
}

static void finish(xyl_stage_t *stage, uint64_t index)
{
    device_stage_t *device = self(stage);
    plan_t *plan = device->plan;

    (void)index;
    if (plan->result.bytes == 0 ||
        xyl_stage_worked(
            stage, side_copy(plan, &plan->result, 0, &device->works[0].work))) {
        rooms_give(plan);
        stage_over(stage);
    }
}

static const xyl_stage_ops_t finish_ops = {
    .name = "finish",
    .start = device_start,
    .segment_ready = finish,
    .cancel = device_cancel,
    .bind = no_bind,
};

/* ---- planning ---- */

static void stage_add(xyl_han_t *han, const xyl_stage_ops_t *ops, plan_t *plan,
                      uint32_t works, xyl_event_fn handle,
                      device_stage_t **device_out)
{
    const xyl_stage_spec_t spec =
        xyl_stage_behind(han->operation, 0, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    device_stage_t *device;

    if (han->status != XYLEM_OK)
        return;
    device = (device_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, ops, sizeof *device, 0);
    if (device == NULL) {
        han->status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
        return;
    }
    device->plan = plan;
    han->status = xyl_stage_works_of(&device->stage, plan->exec, works, handle,
                                     &device->works);
    *device_out = device;
}

/* This rank's, by the collective. */
static void set_sides(const xyl_han_t *han, plan_t *plan)
{
    const xyl_problem_t *problem = &han->problem;
    uint64_t bytes = plan->count * plan->element_bytes;
    int is_allgather = problem->coll == XYLEM_COLL_ALLGATHER;
    int is_in_place = problem->is_in_place || problem->coll == XYLEM_COLL_BCAST;

    if (is_given_by(problem, problem->rank))
        plan->input = (side_t){
            .at = is_allgather && is_in_place ? problem->rank * bytes : 0,
            .bytes = bytes,
            .layout = is_in_place ? han->sides->recv : han->sides->send};
    if (is_for(problem, problem->rank))
        plan->result =
            (side_t){.bytes = is_allgather ? problem->ranks * bytes : bytes,
                     .layout = han->sides->recv};
}

static plan_t *plan_make(xyl_han_t *han)
{
    const xyl_problem_t *problem = &han->problem;
    xylem_context_t *context = han->operation->request.context;
    int reduces = xyl_coll_traits(problem->coll)->reduces;
    plan_t *plan =
        xyl_arena_array(&han->operation->request.arena, 1, sizeof *plan);

    xyl_han_make_scratch(han, problem->ranks * sizeof(offer_t));
    if (plan == NULL)
        han->status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a plan");
    if (han->status != XYLEM_OK)
        return NULL;
    plan->exec = xyl_collective_of(han->operation)->users_exec;
    plan->library = xyl_cuda_library_of(plan->exec);
    plan->context = context;
    plan->problem = *problem;
    plan->op = reduces ? han->args->op : XYLEM_BOR;
    plan->type = reduces ? han->args->type : XYLEM_BYTE;
    plan->count = problem->count;
    plan->element_bytes = problem->element_bytes;
    plan->offers = han->operation->scratch;
    set_sides(han, plan);
    return plan;
}

static void cuda_ipc_add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t names = {
        .number = NAMES, .reads = XYL_ROLE_SCRATCH, .writes = XYL_ROLE_SCRATCH};
    const xyl_han_stage_t barrier = {.number = BARRIER};
    const xyl_problem_t all_names = {.coll = XYLEM_COLL_ALLGATHER,
                                     .count = sizeof(offer_t),
                                     .element_bytes = 1,
                                     .is_in_place = 1};
    const xyl_problem_t all_over = {.coll = XYLEM_COLL_BARRIER,
                                    .element_bytes = 1};
    uint32_t kernels =
        han->problem.coll == XYLEM_COLL_ALLGATHER ? han->problem.ranks : 1;
    plan_t *plan = plan_make(han);
    device_stage_t *device = NULL;

    if (plan == NULL)
        return;
    xyl_collective_of(han->operation)->takes_device = 1;
    stage_add(han, &publish_ops, plan, 1, work_over, &device);
    xyl_han_add_node(han, &all_names, &names);
    stage_add(han, &work_ops, plan, kernels, work_over, &device);
    if (han->status == XYLEM_OK) {
        device->combines = xyl_arena_array(&han->operation->request.arena,
                                           kernels, sizeof *device->combines);
        if (device->combines == NULL)
            han->status =
                xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for kernels");
    }
    xyl_han_add_node(han, &all_over, &barrier);
    stage_add(han, &finish_ops, plan, 1, finished, &device);
}

const xyl_algorithm_t xyl_algorithm_cuda_ipc = {
    .name = "cuda_ipc",
    .help = "kernels on all ranks' buffers (Faraji, Afsahi 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) |
             XYL_COLL_BIT(ALLREDUCE) | XYL_COLL_BIT(ALLGATHER),
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_ipc_add_stages,
};
