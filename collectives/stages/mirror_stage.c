#include "collectives/stages/mirror_stage.h"

#include "collectives/data/buffers.h"
#include "collectives/data/description.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/work.h"
#include "runtime/base/status.h"

typedef struct mirror_stage {
    xyl_stage_t stage;
    xyl_buffers_t buffers; /* from SEND to RECV */
    int is_skipped;        /* in this run */
    int is_whole;          /* the message is not cut: it goes by runs */
    uint32_t run_count;
    const xyl_run_t *runs; /* [run_count] */
    uint64_t under_way;    /* runs */
    uint64_t finished;     /* segments */
    xyl_stage_work_t *works;
} mirror_stage_t;

static mirror_stage_t *mirror_of(xyl_stage_t *stage)
{
    return (mirror_stage_t *)(void *)stage;
}

static void segment_mirrored(mirror_stage_t *mirror, uint64_t index)
{
    mirror->finished++;
    xyl_stage_emit(&mirror->stage, index);
    if (mirror->finished == mirror->stage.count &&
        mirror->stage.operation->failure == XYLEM_OK)
        xyl_stage_complete(&mirror->stage);
}

static void run_mirror(mirror_stage_t *mirror, uint64_t work, uint64_t at,
                       size_t bytes)
{
    (void)xyl_stage_worked(
        &mirror->stage,
        xyl_buffers_copy(&mirror->buffers, xyl_stage_work(mirror->works, work),
                         XYL_BUFFER_RECV, at, XYL_BUFFER_SEND, at, bytes));
}

static void whole_mirror(mirror_stage_t *mirror)
{
    uint32_t i;

    mirror->under_way = mirror->run_count;
    if (mirror->run_count == 0)
        segment_mirrored(mirror, 0);
    for (i = 0; i < mirror->run_count; i++)
        run_mirror(mirror, i, mirror->runs[i].at, mirror->runs[i].bytes);
}

static void mirror_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    mirror_stage_t *mirror = mirror_of(stage);
    const xyl_operation_t *operation = stage->operation;

    if (mirror->is_skipped)
        segment_mirrored(mirror, index);
    else if (mirror->is_whole)
        whole_mirror(mirror);
    else
        run_mirror(
            mirror, index,
            xyl_operation_users(operation, xyl_stage_at(stage, index)),
            xyl_operation_users(operation, xyl_stage_length(stage, index)));
}

static void mirror_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    mirror_stage_t *mirror = mirror_of(work->stage);
    uint64_t index = work->number;

    if (!xyl_stage_arrived(&mirror->stage, event))
        return;
    if (!mirror->is_whole)
        segment_mirrored(mirror, index);
    else if (--mirror->under_way == 0)
        segment_mirrored(mirror, 0);
}

static void mirror_start(xyl_stage_t *stage)
{
    mirror_of(stage)->finished = 0;
    if (stage->count == 0)
        xyl_stage_complete(stage);
}

static void mirror_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_buffers_bind(&mirror_of(stage)->buffers, 0, reads, writes);
}

static void mirror_settle(xyl_stage_t *stage, int is_left_out)
{
    if (is_left_out && !stage->is_complete)
        xyl_stage_complete(stage);
}

static const xyl_stage_ops_t mirror_ops = {
    .name = "mirror",
    .start = mirror_start,
    .settle = mirror_settle,
    .segment_ready = mirror_segment_ready,
    .bind = mirror_bind,
};

/* ---- planning ---- */

static xylem_status_t no_memory(void)
{
    return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a mirror");
}

xylem_status_t xyl_mirror_stage_add(xyl_operation_t *operation,
                                    const xyl_stage_spec_t *spec,
                                    const xyl_extents_t *extents,
                                    xyl_stage_t **stage_out)
{
    mirror_stage_t *mirror = (mirror_stage_t *)(void *)xyl_operation_add_stage(
        operation, spec, &mirror_ops, sizeof *mirror, 0);
    uint64_t works;

    if (mirror == NULL)
        return no_memory();
    *stage_out = &mirror->stage;
    if (spec->is_aside)
        xyl_operation_put_first(operation, spec->lane, &mirror->stage);
    mirror->buffers.exec = xyl_collective_of(operation)->users_exec;
    mirror->buffers.layout[XYL_BUFFER_SEND] = extents->layout;
    mirror->buffers.layout[XYL_BUFFER_RECV] = extents->layout;
    mirror->is_whole = operation->segments <= 1;
    mirror->run_count = extents->count;
    mirror->runs = extents->runs;
    works = mirror->is_whole ? extents->count : mirror->stage.count;
    return xyl_stage_works_of(&mirror->stage, mirror->buffers.exec, works,
                              mirror_worked, &mirror->works);
}

void xyl_mirror_stage_skip(xyl_stage_t *stage, int is_skipped)
{
    mirror_of(stage)->is_skipped = is_skipped;
}

/* Adds a stage before all others of the lane, from the user's buffer to the
 * mirror that stages read; or behind them, from the mirror that they write. */
static xylem_status_t mirror_add(xyl_operation_t *operation, uint32_t lane,
                                 int fetches, xyl_role_t user,
                                 xyl_role_t mirror,
                                 const xyl_extents_t *extents)
{
    const xyl_stage_spec_t spec = {.lane = lane,
                                   .after =
                                       fetches ? NULL : operation->end[lane],
                                   .is_aside = fetches,
                                   .reads = fetches ? user : mirror,
                                   .writes = fetches ? mirror : user};
    xyl_stage_t *stage;

    return xyl_mirror_stage_add(operation, &spec, extents, &stage);
}

static xylem_status_t memory_take(const xyl_operation_t *operation,
                                  uint64_t bytes, xyl_mirror_t *memory_out)
{
    xyl_exec_t *exec = xyl_collective_of(operation)->users_exec;
    void *memory = bytes > SIZE_MAX / 2
                       ? NULL
                       : exec->ops->mirror_take(exec, (size_t)bytes);

    if (memory == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no memory of the processor's for %llu bytes that lie "
                        "in memory of another kind",
                        (unsigned long long)bytes);
    *memory_out = (xyl_mirror_t){memory, (size_t)bytes};
    return XYLEM_OK;
}

xylem_status_t xyl_mirror_scratch_take(xyl_operation_t *operation,
                                       uint64_t bytes)
{
    xyl_mirror_t *memory =
        &xyl_collective_of(operation)->mirrors[XYL_MIRRORS - 1];
    xylem_status_t status = memory_take(operation, bytes, memory);

    if (status == XYLEM_OK)
        operation->buffers.scratch = memory->memory;
    return status;
}

/* *mirror_out stands for the buffer's address; *memory_out is to be given
 * back. */
static xylem_status_t mirror_make(xyl_operation_t *operation,
                                  const xyl_extents_t *extents,
                                  xyl_mirror_t *memory_out, void **mirror_out)
{
    size_t bytes =
        extents->count == 0 ? 0 : (size_t)(extents->high - extents->low);
    xylem_status_t status;

    *mirror_out = NULL;
    if (bytes == 0)
        return XYLEM_OK;
    status = memory_take(operation, bytes, memory_out);
    if (status == XYLEM_OK)
        *mirror_out =
            (void *)((uintptr_t)memory_out->memory - (uintptr_t)extents->low);
    return status;
}

xylem_status_t xyl_mirrors_take(xyl_operation_t *operation,
                                const xyl_extents_t *input,
                                const xyl_extents_t *result, int are_one_buffer)
{
    xyl_mirror_t *mirrors = xyl_collective_of(operation)->mirrors;
    xyl_extents_t both = *result;
    xylem_status_t status;

    if (are_one_buffer && input->count != 0) {
        both.count++;
        both.low = input->low < both.low ? input->low : both.low;
        both.high = input->high > both.high ? input->high : both.high;
    }
    status = mirror_make(operation, &both, &mirrors[0],
                         &operation->buffers.mirror_of_result);
    operation->buffers.mirror_of_input = operation->buffers.mirror_of_result;
    if (status == XYLEM_OK && !are_one_buffer)
        status = mirror_make(operation, input, &mirrors[1],
                             &operation->buffers.mirror_of_input);
    operation->buffers.is_mirrored = status == XYLEM_OK;
    return status;
}

xylem_status_t xyl_mirror_stages_add(xyl_operation_t *operation,
                                     const xyl_call_t *call)
{
    int is_bcast = call->args.coll == XYLEM_COLL_BCAST;
    uint32_t lane, most = xyl_extents_most(call);
    xyl_extents_t input, result;
    xylem_status_t status;
    xyl_run_t *runs;

    if (!xyl_collective_is_mirrored(operation) ||
        operation->buffers.is_mirrored ||
        xyl_collective_of(operation)->takes_device)
        return XYLEM_OK;
    runs = xyl_arena_array(&operation->request.arena, 2 * (size_t)most,
                           sizeof *runs);
    if (runs == NULL)
        return no_memory();
    xyl_extents_of_input(call, runs, &input);
    xyl_extents_of_result(call, runs + most, &result);
    status = xyl_mirrors_take(operation, &input, &result,
                              is_bcast || call->send == XYLEM_IN_PLACE);
    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        if (operation->has_input && operation->entry[lane] != NULL)
            status = mirror_add(
                operation, lane, 1,
                is_bcast ? XYL_ROLE_USERS_RESULT : XYL_ROLE_USERS_INPUT,
                is_bcast ? XYL_ROLE_RESULT : XYL_ROLE_INPUT, &input);
        if (status == XYLEM_OK && result.count != 0)
            status = mirror_add(operation, lane, 0, XYL_ROLE_USERS_RESULT,
                                XYL_ROLE_RESULT, &result);
    }
    return status;
}
