#include "runtime/core/operation.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/holder.h"
#include "runtime/base/parts.h"
#include "runtime/base/status.h"
#include "runtime/core/detach.h"
#include "runtime/core/team.h"

/* A segment that the user releases. */
typedef struct xyl_part {
    xyl_task_t task; /* first; a place in `released`, never run */
    _Atomic int is_released;
} part_t;

static const xyl_request_ops_t operation_ops;
static void operation_finish(xyl_event_t *event);
static void parts_run(xyl_task_t *task);

/* ---- creation ---- */

/* Creates the lists of segments that the user releases and is told of. 0: no
 * memory. */
static int create_lists(xyl_operation_t *operation)
{
    xyl_arena_t *arena = &operation->request.arena;
    size_t segments = (size_t)operation->segments;

    if (operation->parts.are_awaited)
        operation->parts.all =
            xyl_arena_array(arena, segments, sizeof *operation->parts.all);
    if (operation->told.on_segment != NULL)
        operation->told.segments =
            xyl_arena_array(arena, segments, sizeof *operation->told.segments);
    return (!operation->parts.are_awaited || operation->parts.all != NULL) &&
           (operation->told.on_segment == NULL ||
            operation->told.segments != NULL);
}

xylem_status_t xyl_operation_create(xylem_team_t *team,
                                    const xyl_operation_params_t *params,
                                    size_t struct_bytes,
                                    xyl_operation_t **operation_out)
{
    xyl_operation_t *operation = xyl_operation_of(
        xyl_request_create(team, &operation_ops, struct_bytes));

    if (operation == NULL)
        return XYLEM_ERR_NO_MEMORY;
    operation->request.flags = params->flags;
    operation->request.on_complete = params->on_complete;
    operation->request.arg = params->arg;
    operation->record.name = "internal"; /* collectives are named later */
    operation->bytes = params->bytes;
    operation->segment_bytes = params->segment_bytes;
    operation->segments = params->bytes / params->segment_bytes +
                          (params->bytes % params->segment_bytes != 0);
    operation->lanes = params->lanes;
    operation->lanes_are_parts = params->lanes_are_parts;
    operation->told.on_segment = params->on_segment;
    operation->has_input = params->has_input;
    operation->parts.are_awaited = params->waits_for_parts;
    operation->finish_event.handle = operation_finish;
    operation->parts.task.run = parts_run;
    if (operation->segments > XYL_SEGMENTS_MAX) {
        xyl_request_discard(&operation->request);
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "segments of %zu bytes are too small for a message of "
                        "%zu bytes",
                        operation->segment_bytes, operation->bytes);
    }
    operation->stage_segments = operation->segments;
    if (!create_lists(operation)) {
        xyl_request_discard(&operation->request);
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for an operation");
    }
    *operation_out = operation;
    return XYLEM_OK;
}

static void set_segments(const xyl_operation_t *operation, uint32_t lane,
                         xyl_stage_t *stage)
{
    uint64_t segments = operation->stage_segments;
    uint32_t lanes = operation->lanes;

    if (operation->lanes_are_parts) {
        stage->first = xyl_part_at(segments, lanes, lane);
        stage->stride = stage->grain;
        stage->end = xyl_part_at(segments, lanes, lane + 1);
        stage->count =
            (stage->end - stage->first + stage->grain - 1) / stage->grain;
        return;
    }
    assert(stage->grain == 1);
    stage->first = lane;
    stage->stride = lanes;
    stage->end = UINT64_MAX;
    stage->count = (segments + lanes - 1 - lane) / lanes;
}

/* For a stage whose segments are longer than the operation's. 0: no memory. */
static int add_missing(xyl_stage_t *stage)
{
    if (stage->grain == 1)
        return 1;
    stage->missing =
        xyl_arena_array(&stage->operation->request.arena, (size_t)stage->count,
                        sizeof *stage->missing);
    return stage->missing != NULL;
}

static void stages_connect(xyl_stage_t *from, xyl_stage_t *to)
{
    assert(from->next == NULL && to->inputs == 0);
    from->next = to;
    to->inputs = to->count;
}

static void become_end(xyl_operation_t *operation, uint32_t lane,
                       xyl_stage_t *stage)
{
    if (operation->end[lane] != NULL)
        operation->end[lane]->is_end = 0;
    operation->end[lane] = stage;
    stage->is_end = 1;
}

void xyl_operation_put_first(xyl_operation_t *operation, uint32_t lane,
                             xyl_stage_t *stage)
{
    xyl_stage_t *first = operation->entry[lane];

    first->inputs = 0;
    operation->entry[lane] = stage;
    stage->inputs = stage->count;
    stages_connect(stage, first);
}

static void set_numbers(xyl_operation_t *operation,
                        const xyl_stage_spec_t *spec, xyl_stage_t *stage,
                        uint32_t sequences)
{
    if (spec->is_numbered) {
        assert(sequences <= spec->sequences_max);
        stage->sequence_at = spec->sequence_at;
        return;
    }
    stage->sequence_at = operation->sequences;
    operation->sequences += sequences;
}

xyl_stage_t *xyl_operation_add_stage(xyl_operation_t *operation,
                                     const xyl_stage_spec_t *spec,
                                     const xyl_stage_ops_t *ops, size_t bytes,
                                     uint32_t sequences)
{
    const xylem_team_t *team = operation->request.team;
    xyl_stage_t *stage = xyl_arena_array(&operation->request.arena, 1, bytes);

    assert(spec->lane < operation->lanes && operation->stages < XYL_STAGES_MAX);
    if (stage == NULL)
        return NULL;
    stage->ops = ops;
    stage->operation = operation;
    stage->reads = spec->reads;
    stage->writes = spec->writes;
    stage->group = spec->group.size != 0 ? spec->group : xyl_team_all(team);
    stage->grain = spec->grain != 0 ? spec->grain : 1;
    set_segments(operation, spec->lane, stage);
    if (!add_missing(stage))
        return NULL;
    set_numbers(operation, spec, stage, sequences);
    if (spec->after != NULL)
        stages_connect(spec->after, stage);
    if (spec->takes_input && operation->has_input) {
        operation->entry[spec->lane] = stage;
        stage->inputs = stage->count;
    }
    if (!spec->is_aside)
        become_end(operation, spec->lane, stage);
    operation->stage[operation->stages++] = stage;
    return stage;
}

void xyl_operation_make_whole(xyl_operation_t *operation)
{
    assert(operation->segments <= 1 && operation->stages == 0);
    operation->stage_segments = 1;
    if (operation->segments == 0)
        operation->told.on_segment = NULL;
}

uint64_t xyl_operation_lane_bytes(const xyl_operation_t *operation,
                                  uint32_t lane)
{
    uint64_t first = xyl_part_at(operation->segments, operation->lanes, lane);
    uint64_t end = xyl_part_at(operation->segments, operation->lanes, lane + 1);
    uint64_t end_at = xyl_operation_offset(operation, end);

    assert(operation->lanes_are_parts);
    return (end_at < operation->bytes ? end_at : operation->bytes) -
           xyl_operation_offset(operation, first);
}

/* ---- buffers ---- */

void xyl_operation_bind(xyl_operation_t *operation, const void *input,
                        void *result)
{
    const union {
        const void *constant;
        void *plain;
    } users_input = {input};
    int is_mirrored = operation->buffers.is_mirrored;
    /* Stages only read INPUT, which may be constant memory of the user's. */
    void *const memory[] = {
        [XYL_ROLE_NOTHING] = NULL,
        [XYL_ROLE_INPUT] = is_mirrored ? operation->buffers.mirror_of_input
                                       : users_input.plain,
        [XYL_ROLE_RESULT] =
            is_mirrored ? operation->buffers.mirror_of_result : result,
        [XYL_ROLE_SCRATCH] = operation->buffers.scratch,
        [XYL_ROLE_SPARE] = operation->buffers.spare,
        [XYL_ROLE_PACKED] = operation->buffers.packed,
        [XYL_ROLE_USERS_INPUT] = users_input.plain,
        [XYL_ROLE_USERS_RESULT] = result,
    };
    uint32_t i;

    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        assert(stage->writes != XYL_ROLE_USERS_INPUT &&
               (is_mirrored || stage->writes != XYL_ROLE_INPUT));
        if (stage->ops->bind != NULL)
            stage->ops->bind(stage, memory[stage->reads],
                             memory[stage->writes]);
    }
}

/* ---- start ---- */

xylem_status_t xyl_operation_take_number(xyl_operation_t *operation)
{
    xylem_team_t *team = operation->request.team;
    uint32_t i, sequence = 0;
    xylem_status_t status;

    if (operation->tag != 0) {
        status = xyl_tag_begin(team, operation->tag, &sequence);
        if (status != XYLEM_OK)
            return status;
    } else if (operation->sequences != 0) {
        uint64_t begun = xyl_team_begin(team, operation->sequences);
        sequence = xyl_team_sequence(begun);
    }
    operation->number = sequence;
    if (operation->sequences == 0)
        return XYLEM_OK;
    for (i = 0; i < operation->stages; i++)
        operation->stage[i]->sequence =
            sequence + operation->stage[i]->sequence_at;
    return XYLEM_OK;
}

static xylem_status_t operation_prepare(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    xylem_status_t status = xyl_operation_take_number(operation);
    uint64_t i;

    if (status != XYLEM_OK)
        return status;
    for (i = 0; operation->parts.are_awaited && i < operation->segments; i++)
        atomic_store_explicit(&operation->parts.all[i].is_released, 0,
                              memory_order_relaxed);
    atomic_store_explicit(&operation->parts.released.newest, NULL,
                          memory_order_relaxed);
    atomic_store_explicit(&operation->parts.is_queued, 0, memory_order_relaxed);
    return XYLEM_OK;
}

/* The input of the lane's n-th segment of the operation is there. */
static void take_part(xyl_stage_t *stage, uint64_t n)
{
    uint64_t index = n / stage->grain;

    assert(!stage->is_complete);
    if (stage->missing == NULL || --stage->missing[index] == 0)
        stage->ops->segment_ready(stage, index);
}

static void missing_reset(xyl_stage_t *stage)
{
    uint64_t index, left = stage->end - stage->first;

    for (index = 0; stage->missing != NULL && index < stage->count; index++) {
        stage->missing[index] =
            left < stage->grain ? (uint32_t)left : stage->grain;
        left -= stage->missing[index];
    }
}

/* A segment of the operation's input is there. */
static void segment_in(xyl_operation_t *operation, uint64_t segment)
{
    uint32_t lanes = operation->lanes;
    uint32_t lane = operation->lanes_are_parts
                        ? xyl_part_of(operation->stage_segments, lanes, segment)
                        : (uint32_t)(segment % lanes);
    xyl_stage_t *stage = operation->entry[lane];

    if (stage->missing != NULL)
        take_part(stage, segment - stage->first);
    else
        stage->ops->segment_ready(stage,
                                  (segment - stage->first) / stage->stride);
}

void xyl_operation_note_began(xyl_operation_t *operation)
{
    const xyl_observer_t *observer = operation->request.context->observer;

    operation->record.began = observer->time(observer->arg);
}

void xyl_operation_note_ended(const xyl_operation_t *operation)
{
    const xyl_observer_t *observer = operation->request.context->observer;

    if (observer->lasted != NULL)
        observer->lasted(observer->arg, XYL_LASTED_OPERATION,
                         operation->record.name, operation->record.began,
                         operation->bytes);
    if (operation->record.subject != NULL && observer->ran != NULL)
        observer->ran(observer->arg, operation->record.subject,
                      operation->record.began);
}

static void operation_enlist(xyl_operation_t *operation)
{
    if (xyl_observer_measures(operation->request.context->observer))
        xyl_operation_note_began(operation);
    operation->failure = XYLEM_OK;
    operation->is_finishing = 0;
    operation->looks_without_event = 0;
    operation->parts.task_completes = 0;
    operation->stages_left = operation->releases_left = operation->stages;
    LIST_INSERT_HEAD(&operation->request.context->operations, operation,
                     others);
}

void xyl_operation_began(xyl_operation_t *operation)
{
    assert(operation->stages == 1 && operation->sequences == 0);
    xyl_request_began(&operation->request);
    operation_enlist(operation);
    operation->stage[0]->is_complete = operation->stage[0]->is_released = 0;
}

/* Starts the stages of an active operation. */
static void operation_go(xyl_operation_t *operation)
{
    uint64_t segment, segments = operation->stage_segments;
    uint32_t i;

    for (i = 0; i < operation->stages; i++) {
        operation->stage[i]->is_complete = 1; /* not started */
        operation->stage[i]->is_released = 0;
        operation->stage[i]->shall_keep = 0;
    }
    for (i = 0; i < operation->stages; i++) {
        operation->stage[i]->is_complete = 0;
        missing_reset(operation->stage[i]);
        operation->stage[i]->ops->start(operation->stage[i]);
    }
    if (!operation->has_input)
        return;
    if (operation->parts.are_awaited && segments != 0) {
        if (operation->request.actor != NULL)
            operation->request.actor->takes_segments(operation->request.actor);
        return;
    }
    for (segment = 0; segment < segments; segment++)
        segment_in(operation, segment);
}

void xyl_operation_note_called(xyl_operation_t *operation)
{
    xyl_history_t *history = &operation->request.team->history;

    if (operation->tag != 0) {
        xyl_history_begin_tagged(history, (uint32_t)operation->number,
                                 operation->call);
        operation->past = operation->call; /* calls with tags have no order */
        return;
    }
    operation->number = history->begun;
    operation->past = xyl_history_begin(history, operation->call);
}

/* ---- failing with the team ---- */

/* Completion goes through the ready fifo, so that a stage's caller still finds
 * the operation when the stage returns. */
static void finish_soon(xyl_operation_t *operation)
{
    if (operation->is_finishing)
        return;
    operation->is_finishing = 1;
    xyl_fifo_push(&operation->request.context->engine.ready,
                  &operation->finish_event);
}

int xyl_operation_is_settled(const xyl_operation_t *operation)
{
    return operation->failure != XYLEM_OK ||
           (operation->is_finishing && operation->stages_left == 0);
}

static void operation_give_up(xyl_operation_t *operation, xylem_status_t status)
{
    uint32_t i;

    assert(status != XYLEM_OK);
    if (xyl_operation_is_settled(operation))
        return;
    operation->failure = status;
    for (i = 0; i < operation->stages; i++)
        if (operation->stage[i]->ops->cancel != NULL)
            operation->stage[i]->ops->cancel(operation->stage[i]);
    xyl_execs_cancel(&operation->request.context->execs, operation);
    finish_soon(operation);
}

static void operations_give_up(xylem_context_t *context)
{
    xyl_operation_t *operation = LIST_FIRST(&context->operations), *older;

    while (operation != NULL) {
        older = LIST_NEXT(operation, others);
        if (xyl_team_has_failed(operation->request.team))
            operation_give_up(operation,
                              operation->request.team->failure.status);
        operation = older;
    }
}

const xyl_module_t xyl_operations_module = {
    .teams_failed = operations_give_up,
};

/* ---- the run begins ---- */

/* A deferred operation starts before the next one, even without room, as all
 * ranks begin a team's operations in the order of its calls. */
static void run_begin(xyl_operation_t *operation)
{
    xyl_operation_t *deferred =
        xyl_detach_take_deferred(operation->request.context);

    if (deferred != NULL)
        operation_go(deferred);
    if (xyl_detach_reserve(operation))
        operation_go(operation);
}

static void operation_start(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    xylem_team_t *team = request->team;

    xyl_operation_note_called(operation);
    operation->mark = xyl_team_mark(team, operation->past);
    operation_enlist(operation);
    if (xyl_team_has_failed(team))
        operation_give_up(operation, team->failure.status);
    else
        run_begin(operation);
}

/* ---- the end ---- */

static void operation_complete(xyl_operation_t *operation)
{
    xylem_context_t *context = operation->request.context;
    xyl_operation_t *deferred;

    if (xyl_observer_measures(context->observer))
        xyl_operation_note_ended(operation);
    LIST_REMOVE(operation, others);
    xyl_detach_give_back(operation);
    if (operation->tag != 0)
        xyl_tag_end(operation->request.team, operation->tag);
    if (!operation->detach.is_detached) {
        xyl_request_complete(&operation->request, operation->failure);
        return;
    }
    xyl_detach_settle(operation);
    deferred = xyl_detach_take_deferred(context);
    if (deferred != NULL && xyl_detach_reserve(deferred))
        operation_go(deferred);
}

static void operation_finish(xyl_event_t *event)
{
    xyl_operation_t *operation =
        XYL_HOLDER(xyl_operation_t, finish_event, event);

    /* From here on xylem_segment_ready submits no task. If a task is under way,
     * parts_run completes the operation instead. Partner: the exchanges in
     * parts_run and xylem_segment_ready. */
    if (operation->parts.are_awaited &&
        atomic_exchange_explicit(&operation->parts.is_queued, 1,
                                 memory_order_acq_rel) != 0)
        operation->parts.task_completes = 1;
    else if (operation->stages_left != 0 && operation->failure == XYLEM_OK)
        xyl_detach_begin(operation);
    else
        operation_complete(operation);
}

void xyl_stage_complete(xyl_stage_t *stage)
{
    assert(!stage->is_complete);
    stage->is_complete = 1;
    if (--stage->operation->stages_left == 0)
        finish_soon(stage->operation);
    else if (!stage->is_released)
        xyl_stage_release(stage);
}

/* If each unreleased stage can keep what it needs of the user's buffers, asks
 * all of these stages to copy it. */
static void ask_to_keep(xyl_operation_t *operation)
{
    uint32_t i;

    for (i = 0; i < operation->stages; i++)
        if (!operation->stage[i]->is_released && !operation->stage[i]->may_keep)
            return;
    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        if (stage->is_released || stage->shall_keep)
            continue;
        stage->shall_keep = 1;
        stage->ops->keep(stage);
    }
}

void xyl_stage_release(xyl_stage_t *stage)
{
    xyl_operation_t *operation = stage->operation;

    assert(!stage->is_released);
    stage->is_released = 1;
    operation->releases_left--;
    if (!operation->detach.is_holding)
        return;
    if (operation->releases_left == 0)
        finish_soon(operation);
    else if (operation->releases_left <= operation->detach.hold.keepers)
        ask_to_keep(operation);
}

/* ---- segments on their way ---- */

size_t xyl_stage_offset(const xyl_stage_t *stage)
{
    return xyl_operation_offset(stage->operation, stage->first);
}

/* Emits to a stage whose segments are shorter or longer. */
static void emit_parts(const xyl_stage_t *stage, uint64_t index)
{
    uint64_t n = index * stage->grain, end = n + stage->grain;

    if (end > stage->end - stage->first)
        end = stage->end - stage->first;
    for (; n < end; n++)
        take_part(stage->next, n);
}

void xyl_stage_emit(xyl_stage_t *stage, uint64_t index)
{
    xyl_operation_t *operation = stage->operation;
    const xyl_observer_t *observer = operation->request.context->observer;
    uint64_t segment, end;

    if (xyl_observer_records(observer))
        observer->emitted(observer->arg, stage->ops->name, stage->sequence,
                          xyl_stage_segment(stage, index));
    if (stage->next != NULL && stage->next->grain == stage->grain) {
        assert(!stage->next->is_complete);
        stage->next->ops->segment_ready(stage->next, index);
    } else if (stage->next != NULL) {
        emit_parts(stage, index);
    }
    if (!stage->is_end || operation->told.on_segment == NULL)
        return;
    segment = xyl_stage_segment(stage, index);
    end = segment + stage->grain;
    for (; segment < end && segment < stage->end; segment++)
        operation->told.segments[operation->told.count++] = (uint32_t)segment;
    xyl_request_queue_callbacks(&operation->request);
}

static void operation_deliver(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    uint32_t i;

    for (i = 0; i < operation->told.count; i++)
        operation->told.on_segment(
            request->arg, operation->told.segments[i],
            xyl_operation_users(
                operation,
                xyl_operation_offset(operation, operation->told.segments[i])),
            xyl_operation_users(
                operation,
                xyl_operation_length(operation, operation->told.segments[i])));
    operation->told.count = 0;
}

static void operation_release(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);

    xyl_detach_free_stand_ins(operation);
    xyl_detach_free_copy(operation);
    free(operation->buffers.owned);
    if (operation->maker.release != NULL)
        operation->maker.release(operation);
}

static int operation_keep(xylem_request_t *request)
{
    xyl_operation_t *operation = xyl_operation_of(request);

    xyl_detach_free_stand_ins(operation);
    if (operation->maker.given_up != NULL)
        operation->maker.given_up(operation);
    operation->maker.given_up = NULL;
    return operation->maker.keep != NULL && operation->maker.keep(operation);
}

static const xyl_request_ops_t operation_ops = {
    .keep = operation_keep,
    .release = operation_release,
    .prepare = operation_prepare,
    .start = operation_start,
    .stand_in = xyl_detach_stand_in,
    .deliver = operation_deliver,
};

/* ---- parts: segments that the user releases ---- */

static void parts_run(xyl_task_t *task)
{
    xyl_operation_t *operation = XYL_HOLDER(xyl_operation_t, parts.task, task);
    const xyl_task_t *part;

    if (operation->parts.task_completes) {
        operation_complete(operation);
        return;
    }
    /* Partner: the exchange in xylem_segment_ready. A segment that is released
     * from here on submits a task of its own. */
    atomic_exchange_explicit(&operation->parts.is_queued, 0,
                             memory_order_acq_rel);
    for (part = xyl_queue_take(&operation->parts.released);
         part != NULL && operation->failure == XYLEM_OK; part = part->next)
        segment_in(operation,
                   (uint64_t)((const part_t *)part - operation->parts.all));
}

int xyl_operation_take(xyl_operation_t *operation, uint64_t segment)
{
    if (operation->failure != XYLEM_OK ||
        atomic_exchange_explicit(&operation->parts.all[segment].is_released, 1,
                                 memory_order_relaxed) != 0)
        return 0;
    segment_in(operation, segment);
    return 1;
}

static xylem_status_t part_check(const xyl_operation_t *operation,
                                 uint64_t segment)
{
    if (operation->request.ops != &operation_ops ||
        !operation->parts.are_awaited)
        return xyl_refuse("xylem_segment_ready",
                          "the request was made without XYLEM_FLAG_PARTS, or "
                          "this rank has no input");
    if (segment >= operation->segments)
        return xyl_refuse("xylem_segment_ready",
                          "there is no segment %llu of %llu",
                          (unsigned long long)segment,
                          (unsigned long long)operation->segments);
    if (atomic_load_explicit(&operation->request.state, memory_order_acquire) !=
        XYL_REQUEST_ACTIVE)
        return xyl_refuse("xylem_segment_ready", "the request is not active");
    return XYLEM_OK;
}

xylem_status_t xylem_segment_ready(xylem_request_t *request, uint64_t segment)
{
    xyl_operation_t *operation = xyl_operation_of(request);
    part_t *part;
    xylem_status_t status = xyl_request_check(request, "xylem_segment_ready");

    if (status == XYLEM_OK)
        status = part_check(operation, segment);
    if (status != XYLEM_OK)
        return status;
    part = &operation->parts.all[segment];
    if (atomic_exchange_explicit(&part->is_released, 1, memory_order_relaxed))
        return xyl_refuse("xylem_segment_ready",
                          "segment %llu was released before",
                          (unsigned long long)segment);
    xyl_queue_push(&operation->parts.released, &part->task);
    if (atomic_exchange_explicit(&operation->parts.is_queued, 1,
                                 memory_order_acq_rel) == 0)
        xyl_engine_submit(&request->context->engine, &operation->parts.task);
    return XYLEM_OK;
}

xylem_status_t xylem_request_segments(const xylem_request_t *request,
                                      uint64_t *segments_out,
                                      size_t *segment_bytes_out)
{
    const xyl_operation_t *operation = (const void *)request;
    xylem_status_t status =
        xyl_request_check(request, "xylem_request_segments");

    if (status != XYLEM_OK)
        return status;
    if (request->ops != &operation_ops || segments_out == NULL ||
        segment_bytes_out == NULL)
        return xyl_refuse(
            "xylem_request_segments",
            "the request moves no segments, or an output is NULL");
    *segments_out = operation->segments;
    *segment_bytes_out =
        xyl_operation_users(operation, operation->segment_bytes);
    return XYLEM_OK;
}
