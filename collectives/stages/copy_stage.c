/* Copies segments as they come. The thread that drives the net copies in
 * portions (limit `turn`) between turns of the net, so the first segments
 * travel while later ones are copied. */
#include "collectives/stages/copy_stage.h"

#include "collectives/data/binned.h"
#include "collectives/data/buffers.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/number_queue.h"
#include "collectives/stages/work.h"
#include "runtime/base/status.h"

typedef struct copy_stage {
    xyl_stage_t stage;
    /* As planned. */
    xyl_buffers_t buffers; /* from SEND to RECV */
    int is_whole;          /* the message is not cut: it goes by runs */
    uint32_t run_count;
    const xyl_run_t *runs; /* [run_count] */
    uint64_t turn; /* bytes after which no other segment begins in a turn */
    xyl_stage_work_t *works; /* NULL: all is done in the call */
    /* The run. */
    int is_skipped;             /* nothing is copied */
    xyl_number_queue_t arrived; /* segments */
    uint64_t under_way;         /* runs */
    uint64_t finished;          /* segments */
    size_t copied;              /* bytes in this turn */
    xyl_stage_pause_t pause;
} copy_stage_t;

static copy_stage_t *copy_of(xyl_stage_t *stage)
{
    return (copy_stage_t *)(void *)stage;
}

static void segment_copied(copy_stage_t *copy, uint64_t index)
{
    copy->finished++;
    xyl_stage_emit(&copy->stage, index);
    if (copy->finished == copy->stage.count &&
        copy->stage.operation->failure == XYLEM_OK)
        xyl_stage_complete(&copy->stage);
}

/* A segment is copied, or a run. */
static void part_copied(copy_stage_t *copy, uint64_t number)
{
    if (!copy->is_whole)
        segment_copied(copy, number);
    else if (--copy->under_way == 0)
        segment_copied(copy, 0);
}

static void part_copy(copy_stage_t *copy, uint64_t number, uint64_t at,
                      size_t bytes)
{
    xyl_work_t *work = xyl_stage_work(copy->works, number);

    if (work == NULL) /* by the thread that drives the net */
        copy->copied += bytes;
    if (xyl_stage_worked(&copy->stage,
                         xyl_buffers_copy(&copy->buffers, work, XYL_BUFFER_RECV,
                                          at, XYL_BUFFER_SEND, at, bytes)))
        part_copied(copy, number);
}

static void runs_copy(copy_stage_t *copy)
{
    uint32_t i;

    copy->under_way = copy->run_count;
    if (copy->run_count == 0)
        segment_copied(copy, 0);
    for (i = 0; i < copy->run_count; i++)
        part_copy(copy, i, copy->runs[i].at, copy->runs[i].bytes);
}

/* Converts a length of the stages between to the units of `buffers`. */
static size_t length_of(const copy_stage_t *copy, size_t bytes)
{
    int makes_sums = copy->buffers.binned[XYL_BUFFER_SEND] != NULL ||
                     copy->buffers.binned[XYL_BUFFER_RECV] != NULL;

    return makes_sums ? bytes
                      : xyl_operation_users(copy->stage.operation, bytes);
}

static void segment_copy(copy_stage_t *copy, uint64_t index)
{
    if (copy->is_skipped)
        segment_copied(copy, index);
    else if (copy->is_whole)
        runs_copy(copy);
    else
        part_copy(copy, index,
                  length_of(copy, xyl_stage_at(&copy->stage, index)),
                  length_of(copy, xyl_stage_length(&copy->stage, index)));
}

static void copy_advance(copy_stage_t *copy)
{
    while (!xyl_number_queue_is_empty(&copy->arrived)) {
        if (copy->copied >= copy->turn) {
            xyl_stage_pause(&copy->pause);
            return;
        }
        segment_copy(copy, xyl_number_queue_pop(&copy->arrived));
        if (copy->stage.operation->failure != XYLEM_OK)
            return;
    }
}

static void copy_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    copy_stage_t *copy = copy_of(work->stage);
    uint64_t number = work->number;

    if (xyl_stage_arrived(&copy->stage, event))
        part_copied(copy, number);
}

static void copy_go_on(xyl_stage_t *stage)
{
    copy_of(stage)->copied = 0;
    copy_advance(copy_of(stage));
}

static void copy_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    copy_stage_t *copy = copy_of(stage);

    xyl_number_queue_push(&copy->arrived, (uint32_t)index);
    if (!copy->pause.is_on)
        copy_advance(copy);
}

static void copy_start(xyl_stage_t *stage)
{
    copy_stage_t *copy = copy_of(stage);

    xyl_number_queue_reset(&copy->arrived);
    copy->finished = 0;
    copy->copied = 0;
    if (stage->count == 0)
        xyl_stage_complete(stage);
}

static void copy_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_buffers_bind(&copy_of(stage)->buffers, 0, reads, writes);
}

static void mirror_settle(xyl_stage_t *stage, int is_left_out)
{
    if (is_left_out && !stage->is_complete)
        xyl_stage_complete(stage);
}

static const xyl_stage_ops_t pack_ops = {
    .name = "pack",
    .start = copy_start,
    .segment_ready = copy_segment_ready,
    .bind = copy_bind,
};

static const xyl_stage_ops_t mirror_ops = {
    .name = "mirror",
    .start = copy_start,
    .settle = mirror_settle,
    .segment_ready = copy_segment_ready,
    .bind = copy_bind,
};

/* ---- planning ---- */

/* The spec of a stage at an end of the lane. The first stage copies from the
 * user's buffer `user` to `own`, which the stages between use; the last stage
 * copies back. */
static xyl_stage_spec_t end_spec(const xyl_operation_t *operation,
                                 uint32_t lane, int is_first, xyl_role_t user,
                                 xyl_role_t own)
{
    return (xyl_stage_spec_t){.lane = lane,
                              .after = is_first ? NULL : operation->end[lane],
                              .is_aside = is_first,
                              .reads = is_first ? user : own,
                              .writes = is_first ? own : user};
}

/* Adds a stage with the buffers and the runs of `planned`. */
static xylem_status_t copy_add(xyl_operation_t *operation,
                               const xyl_stage_spec_t *spec,
                               const xyl_stage_ops_t *ops,
                               const copy_stage_t *planned,
                               xyl_stage_t **stage_out)
{
    copy_stage_t *copy = (copy_stage_t *)(void *)xyl_operation_add_stage(
        operation, spec, ops, sizeof *copy, 0);

    if (copy == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    *stage_out = &copy->stage;
    if (spec->is_aside)
        xyl_operation_put_first(operation, spec->lane, &copy->stage);
    copy->buffers = planned->buffers;
    copy->is_whole = planned->is_whole;
    copy->run_count = planned->run_count;
    copy->runs = planned->runs;
    copy->turn = xyl_limits_of(operation->request.context)->turn;
    xyl_stage_pause_init(&copy->pause, &copy->stage, copy_go_on);
    copy->arrived.numbers = xyl_arena_array(
        &operation->request.arena, copy->stage.count, sizeof(uint32_t));
    if (copy->arrived.numbers == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    return xyl_stage_works_of(&copy->stage, copy->buffers.exec,
                              copy->is_whole ? copy->run_count
                                             : copy->stage.count,
                              copy_worked, &copy->works);
}

/* ---- elements with gaps ---- */

static xyl_role_t packed(xyl_role_t role)
{
    return role == XYL_ROLE_INPUT || role == XYL_ROLE_RESULT ? XYL_ROLE_PACKED
                                                             : role;
}

/* Points all stages added so far at `bytes` bytes of the operation's memory,
 * except those that take the user's buffers. */
static xylem_status_t memory_add(xyl_operation_t *operation, size_t bytes)
{
    uint32_t i;

    operation->buffers.packed =
        xyl_arena_alloc(&operation->request.arena, bytes + 1);
    if (operation->buffers.packed == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to pack %zu bytes",
                        bytes);
    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        if (!stage->reads_user)
            stage->reads = packed(stage->reads);
        if (!stage->writes_user)
            stage->writes = packed(stage->writes);
    }
    return XYLEM_OK;
}

/* A broadcast has one buffer, the result. */
xylem_status_t xyl_pack_stages_add(xyl_operation_t *operation,
                                   const xyl_layout_t *layout)
{
    int packs = operation->has_input;
    copy_stage_t planned = {
        .buffers.exec = xyl_collective_of(operation)->exec,
        .buffers.layout = {[XYL_BUFFER_SEND] = packs ? layout : NULL,
                           [XYL_BUFFER_RECV] = packs ? NULL : layout}};
    xylem_status_t status;
    xyl_stage_spec_t spec;
    xyl_stage_t *stage;
    uint32_t lane;

    if (layout == NULL)
        return XYLEM_OK;
    status = memory_add(operation, operation->bytes);
    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        spec =
            end_spec(operation, lane, packs, XYL_ROLE_RESULT, XYL_ROLE_PACKED);
        status = copy_add(operation, &spec, &pack_ops, &planned, &stage);
    }
    return status;
}

/* ---- sums of numbers ---- */

/* 1: every stage takes the user's buffers itself. */
static int needs_no_sums(const xyl_operation_t *operation)
{
    uint32_t i;

    for (i = 0; i < operation->stages; i++)
        if (!operation->stage[i]->reads_user ||
            !operation->stage[i]->writes_user)
            return 0;
    return 1;
}

static xylem_status_t sums_add(xyl_operation_t *operation, uint32_t lane,
                               int packs, size_t count)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);
    const xyl_binned_t *binned = collective->combiner.binned;
    const xyl_stage_spec_t spec =
        end_spec(operation, lane, packs,
                 packs ? XYL_ROLE_INPUT : XYL_ROLE_RESULT, XYL_ROLE_PACKED);
    xyl_run_t *run = xyl_arena_array(&operation->request.arena, 1, sizeof *run);
    copy_stage_t planned = {
        .buffers.exec = collective->exec,
        .buffers.binned = {[XYL_BUFFER_SEND] = packs ? binned : NULL,
                           [XYL_BUFFER_RECV] = packs ? NULL : binned},
        .is_whole = operation->segments <= 1,
        .run_count = 1,
        .runs = run};
    xyl_stage_t *stage;

    if (run == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    *run = (xyl_run_t){0, count * binned->bytes};
    return copy_add(operation, &spec, &pack_ops, &planned, &stage);
}

xylem_status_t xyl_pack_sums_add(xyl_operation_t *operation, size_t input_count,
                                 size_t result_count)
{
    const xyl_binned_t *binned = xyl_collective_of(operation)->combiner.binned;
    size_t most = input_count > result_count ? input_count : result_count;
    xylem_status_t status;
    uint32_t lane;

    operation->buffers.widening = binned->bytes / binned->element_bytes;
    if (needs_no_sums(operation))
        return XYLEM_OK;
    status = memory_add(operation, most * binned->bytes);
    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        if (!operation->entry[lane]->reads_user)
            status = sums_add(operation, lane, 1, input_count);
        if (status == XYLEM_OK && result_count != 0 &&
            !operation->end[lane]->writes_user)
            status = sums_add(operation, lane, 0, result_count);
    }
    return status;
}

/* ---- mirrors ---- */

xylem_status_t xyl_mirror_stage_add(xyl_operation_t *operation,
                                    const xyl_stage_spec_t *spec,
                                    const xyl_extents_t *extents,
                                    xyl_stage_t **stage_out)
{
    const copy_stage_t planned = {
        .buffers.exec = xyl_collective_of(operation)->users_exec,
        .buffers.layout = {[XYL_BUFFER_SEND] = extents->layout,
                           [XYL_BUFFER_RECV] = extents->layout},
        .is_whole = operation->segments <= 1,
        .run_count = extents->count,
        .runs = extents->runs};

    return copy_add(operation, spec, &mirror_ops, &planned, stage_out);
}

void xyl_mirror_stage_skip(xyl_stage_t *stage, int is_skipped)
{
    copy_of(stage)->is_skipped = is_skipped;
}

static xylem_status_t mirror_add(xyl_operation_t *operation, uint32_t lane,
                                 int fetches, xyl_role_t user,
                                 xyl_role_t mirror,
                                 const xyl_extents_t *extents)
{
    const xyl_stage_spec_t spec =
        end_spec(operation, lane, fetches, user, mirror);
    xyl_stage_t *stage;

    return xyl_mirror_stage_add(operation, &spec, extents, &stage);
}

static xylem_status_t mirror_memory_take(const xyl_operation_t *operation,
                                         uint64_t bytes,
                                         xyl_mirror_t *memory_out)
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
    xylem_status_t status = mirror_memory_take(operation, bytes, memory);

    if (status == XYLEM_OK)
        operation->buffers.scratch = memory->memory;
    return status;
}

/* *mirror_out takes the place of the buffer's address; the caller gives
 * *memory_out back. */
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
    status = mirror_memory_take(operation, bytes, memory_out);
    if (status == XYLEM_OK)
        *mirror_out =
            (void *)((uintptr_t)memory_out->memory - (uintptr_t)extents->low);
    return status;
}

xylem_status_t xyl_mirrors_find(xyl_operation_t *operation,
                                const xyl_call_t *call,
                                xyl_mirrors_t *mirrors_out)
{
    uint32_t most = xyl_extents_most(call);
    xyl_run_t *runs = xyl_arena_array(&operation->request.arena,
                                      2 * (size_t)most, sizeof *runs);

    if (runs == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a mirror");
    xyl_extents_of_input(call, runs, &mirrors_out->input);
    xyl_extents_of_result(call, runs + most, &mirrors_out->result);
    mirrors_out->are_one =
        call->args.coll == XYLEM_COLL_BCAST || call->send == XYLEM_IN_PLACE;
    return XYLEM_OK;
}

void xyl_mirrors_postpone(xyl_operation_t *operation)
{
    operation->buffers.is_mirrored = 1;
    operation->buffers.mirror_of_input = operation->buffers.mirror_of_result =
        operation;
}

xylem_status_t xyl_mirrors_take(xyl_operation_t *operation,
                                const xyl_mirrors_t *mirrors)
{
    xyl_mirror_t *memory = xyl_collective_of(operation)->mirrors;
    const xyl_extents_t *input = &mirrors->input;
    xyl_extents_t both = mirrors->result;
    xylem_status_t status;

    if (mirrors->are_one && input->count != 0) {
        both.count++;
        both.low = input->low < both.low ? input->low : both.low;
        both.high = input->high > both.high ? input->high : both.high;
    }
    status = mirror_make(operation, &both, &memory[0],
                         &operation->buffers.mirror_of_result);
    operation->buffers.mirror_of_input = operation->buffers.mirror_of_result;
    if (status == XYLEM_OK && !mirrors->are_one)
        status = mirror_make(operation, input, &memory[1],
                             &operation->buffers.mirror_of_input);
    operation->buffers.is_mirrored = 1;
    return status;
}

xylem_status_t xyl_mirror_stages_add(xyl_operation_t *operation,
                                     const xyl_call_t *call,
                                     xyl_mirrors_t *later_out)
{
    int is_bcast = call->args.coll == XYLEM_COLL_BCAST;
    xyl_mirrors_t mirrors;
    xylem_status_t status;
    uint32_t lane;

    if (!xyl_collective_is_mirrored(operation) ||
        operation->buffers.is_mirrored ||
        xyl_collective_of(operation)->takes_device)
        return XYLEM_OK;
    status = xyl_mirrors_find(operation, call, &mirrors);
    if (status == XYLEM_OK && later_out == NULL) {
        status = xyl_mirrors_take(operation, &mirrors);
    } else if (status == XYLEM_OK) {
        *later_out = mirrors;
        xyl_mirrors_postpone(operation);
    }
    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        if (operation->has_input && operation->entry[lane] != NULL)
            status = mirror_add(
                operation, lane, 1,
                is_bcast ? XYL_ROLE_USERS_RESULT : XYL_ROLE_USERS_INPUT,
                is_bcast ? XYL_ROLE_RESULT : XYL_ROLE_INPUT, &mirrors.input);
        if (status == XYLEM_OK && mirrors.result.count != 0)
            status = mirror_add(operation, lane, 0, XYL_ROLE_USERS_RESULT,
                                XYL_ROLE_RESULT, &mirrors.result);
    }
    return status;
}
