/* Translates every segment that is there: packs or unpacks elements with gaps,
 * or makes sums of numbers or numbers of sums. The limits say how many bytes it
 * translates before the net has its turn: so the first segments travel while
 * later ones are packed. */
#include "collectives/stages/pack_stage.h"

#include <assert.h>

#include "collectives/data/binned.h"
#include "collectives/data/buffers.h"
#include "collectives/data/limits.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/number_queue.h"
#include "collectives/stages/work.h"
#include "runtime/base/status.h"

typedef struct pack_stage {
    xyl_stage_t stage;
    xyl_buffers_t buffers; /* from SEND to RECV; one has gaps, or numbers */
    int is_whole;          /* the message is not cut */
    size_t whole;          /* then its bytes on this rank */
    xyl_number_queue_t arrived; /* indexes */
    uint64_t finished;
    size_t copied; /* bytes in this turn */
    uint64_t turn; /* bytes after which no other segment begins in a turn */
    xyl_stage_pause_t pause;
    xyl_stage_work_t *works; /* [stage.count]; NULL: all is done in the call */
} pack_stage_t;

static pack_stage_t *pack_of(xyl_stage_t *stage)
{
    return (pack_stage_t *)(void *)stage;
}

static void segment_copied(pack_stage_t *pack, uint64_t index)
{
    pack->finished++;
    xyl_stage_emit(&pack->stage, index);
    if (pack->finished == pack->stage.count &&
        pack->stage.operation->failure == XYLEM_OK)
        xyl_stage_complete(&pack->stage);
}

static void segment_translate(pack_stage_t *pack, uint64_t index)
{
    size_t at = xyl_stage_at(&pack->stage, index);
    size_t bytes = xyl_stage_length(&pack->stage, index);
    xyl_work_t *work = xyl_stage_work(pack->works, index);

    if (pack->is_whole)
        bytes = pack->whole;
    if (work == NULL) /* by the thread that drives the net */
        pack->copied += bytes;
    if (xyl_stage_worked(&pack->stage,
                         xyl_buffers_copy(&pack->buffers, work, XYL_BUFFER_RECV,
                                          at, XYL_BUFFER_SEND, at, bytes)))
        segment_copied(pack, index);
}

static void pack_advance(pack_stage_t *pack)
{
    while (!xyl_number_queue_is_empty(&pack->arrived)) {
        if (pack->copied >= pack->turn) {
            xyl_stage_pause(&pack->pause);
            return;
        }
        segment_translate(pack, xyl_number_queue_pop(&pack->arrived));
        if (pack->stage.operation->failure != XYLEM_OK)
            return;
    }
}

static void pack_copied(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    pack_stage_t *pack = pack_of(work->stage);
    uint64_t index = work->number;

    if (xyl_stage_arrived(&pack->stage, event))
        segment_copied(pack, index);
}

static void pack_go_on(xyl_stage_t *stage)
{
    pack_of(stage)->copied = 0;
    pack_advance(pack_of(stage));
}

static void pack_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    pack_stage_t *pack = pack_of(stage);

    xyl_number_queue_push(&pack->arrived, (uint32_t)index);
    if (!pack->pause.is_on)
        pack_advance(pack);
}

static void pack_start(xyl_stage_t *stage)
{
    pack_stage_t *pack = pack_of(stage);

    xyl_number_queue_reset(&pack->arrived);
    pack->finished = 0;
    pack->copied = 0;
    if (stage->count == 0)
        xyl_stage_complete(stage);
}

static void pack_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_buffers_bind(&pack_of(stage)->buffers, 0, reads, writes);
}

static const xyl_stage_ops_t pack_ops = {
    .name = "pack",
    .start = pack_start,
    .segment_ready = pack_segment_ready,
    .bind = pack_bind,
};

/* ---- planning ---- */

/* Adds a stage before all others of the lane, from the user's buffer `user`; or
 * behind them, to it. */
static xylem_status_t pack_add(xyl_operation_t *operation, uint32_t lane,
                               int packs, xyl_role_t user,
                               pack_stage_t **pack_out)
{
    const xyl_stage_spec_t spec = {.lane = lane,
                                   .after = packs ? NULL : operation->end[lane],
                                   .is_aside = packs,
                                   .reads = packs ? user : XYL_ROLE_PACKED,
                                   .writes = packs ? XYL_ROLE_PACKED : user};
    pack_stage_t *pack = (pack_stage_t *)(void *)xyl_operation_add_stage(
        operation, &spec, &pack_ops, sizeof *pack, 0);

    if (pack == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    if (packs)
        xyl_operation_put_first(operation, lane, &pack->stage);
    pack->turn = xyl_limits_of(operation->request.context)->turn;
    xyl_stage_pause_init(&pack->pause, &pack->stage, pack_go_on);
    pack->buffers.exec = xyl_collective_of(operation)->exec;
    *pack_out = pack;
    pack->arrived.numbers = xyl_arena_array(
        &operation->request.arena, pack->stage.count, sizeof(uint32_t));
    if (pack->arrived.numbers == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    return xyl_stage_works_add(&pack->stage, pack->stage.count, pack_copied,
                               &pack->works);
}

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

/* A rank with input packs it, others unpack. A broadcast has one buffer. */
xylem_status_t xyl_pack_stages_add(xyl_operation_t *operation,
                                   const xyl_layout_t *layout)
{
    int packs = operation->has_input;
    xylem_status_t status;
    pack_stage_t *pack;
    uint32_t lane;

    if (layout == NULL)
        return XYLEM_OK;
    status = memory_add(operation, operation->bytes);
    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        status = pack_add(operation, lane, packs, XYL_ROLE_RESULT, &pack);
        if (status == XYLEM_OK)
            pack->buffers.layout[packs ? XYL_BUFFER_SEND : XYL_BUFFER_RECV] =
                layout;
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
                               int packs, const xyl_binned_t *binned,
                               size_t count)
{
    pack_stage_t *pack;
    xylem_status_t status =
        pack_add(operation, lane, packs,
                 packs ? XYL_ROLE_INPUT : XYL_ROLE_RESULT, &pack);

    if (status != XYLEM_OK)
        return status;
    pack->buffers.binned[packs ? XYL_BUFFER_SEND : XYL_BUFFER_RECV] = binned;
    pack->is_whole = operation->segments <= 1;
    pack->whole = count * binned->bytes;
    return XYLEM_OK;
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
            status = sums_add(operation, lane, 1, binned, input_count);
        if (status == XYLEM_OK && result_count != 0 &&
            !operation->end[lane]->writes_user)
            status = sums_add(operation, lane, 0, binned, result_count);
    }
    return status;
}
