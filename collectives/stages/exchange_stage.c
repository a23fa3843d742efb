/* Runs a schedule: an action starts when the last action that it waits for is
 * finished. Messages go first; reductions and copies are worked off in order,
 * some bytes at a time, so that the net has its turn in between. */
#include "collectives/stages/exchange_stage.h"

#include <assert.h>
#include <string.h>

#include "collectives/data/buffers.h"
#include "collectives/data/limits.h"
#include "collectives/stages/messages.h"
#include "collectives/stages/number_queue.h"
#include "collectives/stages/work.h"
#include "progress/net/net.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

typedef struct exchange_stage exchange_stage_t;

/* A message of the schedule, or a piece of one, while it is under way. */
typedef struct exchange_slot {
    xyl_event_t event;
    exchange_stage_t *exchange;
    xyl_action_t action;
    int is_posted;
    /* In the slot of the first piece: */
    uint32_t pieces, pieces_left;
    char *staging; /* packed, where the layout has gaps; NULL: none */
} exchange_slot_t;

struct exchange_stage {
    xyl_stage_t stage;
    /* The schedule. */
    uint32_t count, slot_count;
    xyl_action_entry_t *actions;
    xyl_order_t *orders;
    uint32_t *slot_of;   /* [count] of the first piece of a message */
    uint64_t piece;      /* bytes of a piece of a message of middle length */
    uint32_t pieces_max; /* of a message; 1: none is cut */
    xyl_exchange_trim_fn trim; /* NULL: counts are as written */
    const void *trim_arg;
    uint32_t flight_max;
    uint64_t turn; /* bytes that are worked on before the net has its turn */
    /* The run. */
    uint32_t *waits; /* [count] actions still to wait for */
    uint32_t left;   /* actions that are not finished */
    uint64_t input_left;
    xyl_number_queue_t ready, computing;
    xyl_number_queue_t held[2]; /* receives, sends beyond flight_max */
    uint32_t in_flight[2];
    uint64_t computed; /* elements, of the first in `computing` */
    xyl_stage_pause_t pause;
    exchange_slot_t *slots;  /* [slot_count] */
    xyl_stage_work_t *works; /* [count] by action; NULL: the processor works,
                                in the call */
    /* Buffers. */
    size_t element_bytes;
    xyl_buffers_t buffers;
};

static exchange_stage_t *exchange_of(xyl_stage_t *stage)
{
    return (exchange_stage_t *)(void *)stage;
}

/* ---- bytes ---- */

static char *exchange_address(const exchange_stage_t *exchange,
                              xyl_position_t piece)
{
    return xyl_buffers_address(&exchange->buffers, piece.buffer,
                               piece.at * exchange->element_bytes);
}

static int is_send(const xyl_action_entry_t *action)
{
    return action->kind == XYL_ACTION_SEND;
}

static size_t action_bytes(const exchange_stage_t *exchange,
                           const xyl_action_entry_t *action)
{
    return (size_t)action->count * exchange->element_bytes;
}

/* The end of a message on this rank. */
static xyl_position_t end_of(const xyl_action_entry_t *action)
{
    return is_send(action) ? action->left : action->to;
}

/* Packs a message that is sent into `packed`, or unpacks a received one from
 * there. 1: done; 0: under way. */
static int message_repack(exchange_stage_t *exchange, xyl_action_t number,
                          char *packed)
{
    const xyl_action_entry_t *action = &exchange->actions[number];
    xyl_work_t *work = xyl_stage_work(exchange->works, number);
    xyl_buffer_t buffer = end_of(action).buffer;
    uint64_t at = end_of(action).at * exchange->element_bytes;
    size_t bytes = action_bytes(exchange, action);

    return xyl_stage_worked(
        &exchange->stage, is_send(action)
                              ? xyl_buffers_pack(&exchange->buffers, work,
                                                 buffer, at, bytes, packed)
                              : xyl_buffers_unpack(&exchange->buffers, work,
                                                   buffer, at, bytes, packed));
}

static int action_compute(exchange_stage_t *exchange, xyl_action_t number,
                          uint64_t first, uint64_t count)
{
    const xyl_action_entry_t *action = &exchange->actions[number];
    xyl_position_t to = xyl_position_plus(action->to, first);
    xyl_position_t left = xyl_position_plus(action->left, first);
    xyl_position_t right = xyl_position_plus(action->right, first);
    xyl_work_t *work = xyl_stage_work(exchange->works, number);
    size_t element_bytes = exchange->element_bytes;
    int is_done;

    if (action->kind == XYL_ACTION_REDUCE)
        is_done = xyl_exec_reduce(
            exchange->buffers.exec, work,
            &xyl_collective_of(exchange->stage.operation)->combiner,
            exchange_address(exchange, to), exchange_address(exchange, left),
            exchange_address(exchange, right), (size_t)count);
    else
        is_done = xyl_buffers_copy(&exchange->buffers, work, to.buffer,
                                   to.at * element_bytes, left.buffer,
                                   left.at * element_bytes,
                                   (size_t)count * element_bytes);
    return xyl_stage_worked(&exchange->stage, is_done);
}

/* ---- messages ---- */

/* UCX copies a message of up to `piece` bytes through shared memory at once. A
 * longer one waits for a handshake, which pays from `pieces_max` times that
 * length on (choose/table.json). So on one node messages of lengths between go
 * in pieces. Both sides of a message know its length. */
static uint32_t pieces_of(const exchange_stage_t *exchange, uint64_t count)
{
    uint64_t bytes = count * exchange->element_bytes, piece = exchange->piece;

    if (bytes <= piece || bytes > piece * exchange->pieces_max)
        return 1;
    return (uint32_t)((bytes + piece - 1) / piece);
}

static void post_piece(exchange_stage_t *exchange, exchange_slot_t *first,
                       uint32_t piece, char *buf, size_t bytes)
{
    const xyl_action_entry_t *action = &exchange->actions[first->action];
    exchange_slot_t *slot = first + piece;
    size_t offset = (size_t)(piece * exchange->piece), left = bytes - offset;
    xyl_stage_message_t message = {
        xyl_group_rank(&exchange->stage.group, action->peer),
        exchange->stage.operation->request.team->rank,
        action->label * exchange->pieces_max + piece,
        buf + offset,
        left,
        &slot->event};

    if (first->pieces > 1 && left > exchange->piece)
        message.bytes = (size_t)exchange->piece;
    slot->is_posted = 1;
    if (is_send(action))
        xyl_stage_post_send(&exchange->stage, &message);
    else
        xyl_stage_post_recv(&exchange->stage, &message);
}

static void post_pieces(exchange_stage_t *exchange, xyl_action_t number)
{
    const xyl_action_entry_t *action = &exchange->actions[number];
    exchange_slot_t *slot = &exchange->slots[exchange->slot_of[number]];
    size_t bytes = action_bytes(exchange, action);
    char *buf = slot->staging;
    uint32_t piece;

    if (buf == NULL)
        buf = exchange_address(exchange, end_of(action));
    for (piece = 0; piece < slot->pieces; piece++)
        post_piece(exchange, slot, piece, buf, bytes);
}

static void message_post(exchange_stage_t *exchange, xyl_action_t number)
{
    const xyl_action_entry_t *action = &exchange->actions[number];
    exchange_slot_t *slot = &exchange->slots[exchange->slot_of[number]];

    slot->pieces_left = slot->pieces;
    exchange->in_flight[is_send(action)]++;
    if (slot->staging == NULL || !is_send(action) ||
        message_repack(exchange, number, slot->staging))
        post_pieces(exchange, number);
}

static void post_or_hold(exchange_stage_t *exchange, xyl_action_t number)
{
    int side = is_send(&exchange->actions[number]);

    if (exchange->flight_max != 0 &&
        exchange->in_flight[side] == exchange->flight_max)
        xyl_number_queue_push(&exchange->held[side], number);
    else
        message_post(exchange, number);
}

/* ---- actions ---- */

static void action_finish(exchange_stage_t *exchange, xyl_action_t number)
{
    uint32_t order = exchange->actions[number].before;

    exchange->left--;
    for (; order != XYL_ACTION_NONE; order = exchange->orders[order].next) {
        xyl_action_t next = exchange->orders[order].action;
        if (--exchange->waits[next] == 0)
            xyl_number_queue_push(&exchange->ready, next);
    }
}

/* The processor does one action after the other; an executor that works beside
 * it gets all at once. */
static void start_computing(exchange_stage_t *exchange, xyl_action_t number)
{
    uint64_t count = exchange->actions[number].count;

    if (exchange->works == NULL)
        xyl_number_queue_push(&exchange->computing, number);
    else if (count == 0 || action_compute(exchange, number, 0, count))
        action_finish(exchange, number);
}

/* Starts all actions that are ready, or become ready by that. */
static void start_ready(exchange_stage_t *exchange)
{
    while (!xyl_number_queue_is_empty(&exchange->ready)) {
        xyl_action_t number = xyl_number_queue_pop(&exchange->ready);
        switch (exchange->actions[number].kind) {
        case XYL_ACTION_SEND:
        case XYL_ACTION_RECV:
            post_or_hold(exchange, number);
            break;
        case XYL_ACTION_REDUCE:
        case XYL_ACTION_COPY:
            start_computing(exchange, number);
            break;
        case XYL_ACTION_NOTHING:
            action_finish(exchange, number);
            break;
        }
    }
}

/* Works on the first action in line, on at most `budget` elements; returns how
 * many. */
static uint64_t compute_first(exchange_stage_t *exchange, uint64_t budget)
{
    xyl_number_queue_t *queue = &exchange->computing;
    xyl_action_t number = queue->numbers[queue->first];
    const xyl_action_entry_t *action = &exchange->actions[number];
    uint64_t count = action->count - exchange->computed;

    if (count > budget)
        count = budget;
    if (count != 0)
        (void)action_compute(exchange, number, exchange->computed, count);
    exchange->computed += count;
    if (exchange->computed == action->count) {
        exchange->computed = 0;
        (void)xyl_number_queue_pop(queue);
        action_finish(exchange, number);
    }
    return count;
}

static void exchange_advance(exchange_stage_t *exchange)
{
    uint64_t budget = exchange->turn / exchange->element_bytes + 1, index;

    start_ready(exchange);
    while (!xyl_number_queue_is_empty(&exchange->computing)) {
        if (budget == 0) {
            xyl_stage_pause(&exchange->pause); /* the rest comes later */
            return;
        }
        budget -= compute_first(exchange, budget);
        start_ready(exchange);
    }
    /* A pause must be over: the next start may begin one, too. */
    if (exchange->left != 0 || exchange->pause.is_on)
        return;
    for (index = 0; index < exchange->stage.count; index++)
        xyl_stage_emit(&exchange->stage, index);
    xyl_stage_complete(&exchange->stage);
}

/* ---- events ---- */

static void message_done(xyl_event_t *event)
{
    exchange_slot_t *slot = (exchange_slot_t *)(void *)event;
    exchange_stage_t *exchange = slot->exchange;
    xyl_action_t number = slot->action;
    const xyl_action_entry_t *action = &exchange->actions[number];
    xyl_number_queue_t *held = &exchange->held[is_send(action)];
    exchange_slot_t *first = &exchange->slots[exchange->slot_of[number]];
    int is_there;

    if (!xyl_stage_arrived(&exchange->stage, event))
        return;
    slot->is_posted = 0;
    if (--first->pieces_left != 0)
        return;
    exchange->in_flight[is_send(action)]--;
    is_there = first->staging == NULL || is_send(action) ||
               message_repack(exchange, number, first->staging);
    if (!xyl_number_queue_is_empty(held))
        message_post(exchange, xyl_number_queue_pop(held));
    if (!is_there)
        return; /* action_worked goes on */
    action_finish(exchange, number);
    exchange_advance(exchange);
}

static void action_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    exchange_stage_t *exchange = exchange_of(work->stage);
    xyl_action_t number = (xyl_action_t)work->number;

    if (!xyl_stage_arrived(&exchange->stage, event))
        return;
    if (is_send(&exchange->actions[number])) {
        post_pieces(exchange, number); /* packed */
        return;
    }
    action_finish(exchange, number);
    exchange_advance(exchange);
}

static void exchange_go_on(xyl_stage_t *stage)
{
    exchange_advance(exchange_of(stage));
}

static void find_first(exchange_stage_t *exchange)
{
    xyl_action_t number;

    if (exchange->trim != NULL)
        exchange->trim(exchange->trim_arg, exchange->actions);
    for (number = 0; number < exchange->count; number++)
        if (exchange->actions[number].waits == 0)
            xyl_number_queue_push(&exchange->ready, number);
}

static void exchange_start(xyl_stage_t *stage)
{
    exchange_stage_t *exchange = exchange_of(stage);
    uint32_t i;

    for (i = 0; i < exchange->count; i++)
        exchange->waits[i] = exchange->actions[i].waits;
    for (i = 0; i < exchange->slot_count; i++)
        exchange->slots[i].is_posted = 0;
    xyl_number_queue_reset(&exchange->ready);
    xyl_number_queue_reset(&exchange->computing);
    for (i = 0; i < 2; i++) {
        xyl_number_queue_reset(&exchange->held[i]);
        exchange->in_flight[i] = 0;
    }
    exchange->left = exchange->count;
    exchange->computed = 0;
    exchange->input_left = stage->count;
    if (stage->inputs != 0)
        return;
    find_first(exchange);
    if (stage->next == NULL)
        exchange_advance(exchange);
    else
        xyl_stage_pause(&exchange->pause);
}

static void exchange_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    exchange_stage_t *exchange = exchange_of(stage);

    (void)index;
    if (--exchange->input_left != 0)
        return;
    find_first(exchange);
    exchange_advance(exchange);
}

static void exchange_cancel(xyl_stage_t *stage)
{
    exchange_stage_t *exchange = exchange_of(stage);
    xyl_net_t *net = stage->operation->request.context->net;
    uint32_t i;

    for (i = 0; i < exchange->slot_count; i++) {
        exchange_slot_t *slot = &exchange->slots[i];
        if (slot->is_posted && !is_send(&exchange->actions[slot->action]))
            net->ops->cancel(net, &slot->event);
    }
}

static void exchange_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_buffers_bind(&exchange_of(stage)->buffers, xyl_stage_offset(stage),
                     reads, writes);
}

static const xyl_stage_ops_t exchange_ops = {
    .name = "exchange",
    .start = exchange_start,
    .segment_ready = exchange_segment_ready,
    .cancel = exchange_cancel,
    .bind = exchange_bind,
};

/* ---- planning ---- */

static int is_message(const xyl_action_entry_t *action)
{
    return action->kind == XYL_ACTION_SEND || action->kind == XYL_ACTION_RECV;
}

static int exchange_allocate(exchange_stage_t *exchange,
                             const xyl_schedule_t *schedule)
{
    xyl_number_queue_t *const queues[] = {
        &exchange->ready, &exchange->computing, &exchange->held[0],
        &exchange->held[1]};
    enum { QUEUES = sizeof queues / sizeof queues[0] };
    xyl_arena_t *arena = &exchange->stage.operation->request.arena;
    size_t count = schedule->count, i;
    uint32_t *numbers =
        xyl_arena_array(arena, (2 + QUEUES) * count, sizeof *numbers);

    if (numbers == NULL ||
        schedule->temp_count > SIZE_MAX / 2 / schedule->element_bytes)
        return 0;
    exchange->slot_of = numbers;
    exchange->waits = numbers + count;
    for (i = 0; i < QUEUES; i++)
        queues[i]->numbers = numbers + (2 + i) * count;
    exchange->actions =
        xyl_arena_array(arena, count, sizeof *exchange->actions);
    exchange->orders =
        xyl_arena_array(arena, schedule->order_count, sizeof *exchange->orders);
    exchange->slots =
        xyl_arena_array(arena, exchange->slot_count, sizeof *exchange->slots);
    exchange->buffers.base[XYL_BUFFER_TEMP] = xyl_arena_alloc(
        arena, (size_t)schedule->temp_count * schedule->element_bytes);
    return exchange->actions != NULL && exchange->orders != NULL &&
           exchange->slots != NULL &&
           exchange->buffers.base[XYL_BUFFER_TEMP] != NULL;
}

static void take_over(exchange_stage_t *exchange,
                      const xyl_schedule_t *schedule)
{
    uint32_t i, piece, slot = 0;

    if (schedule->count != 0)
        memcpy(exchange->actions, schedule->actions,
               schedule->count * sizeof *exchange->actions);
    if (schedule->order_count != 0)
        memcpy(exchange->orders, schedule->orders,
               schedule->order_count * sizeof *exchange->orders);
    for (i = 0; i < schedule->count; i++) {
        if (!is_message(&schedule->actions[i]))
            continue;
        exchange->slot_of[i] = slot;
        exchange->slots[slot].pieces =
            pieces_of(exchange, schedule->actions[i].count);
        for (piece = exchange->slots[slot].pieces; piece > 0; piece--, slot++) {
            exchange->slots[slot].event.handle = message_done;
            exchange->slots[slot].exchange = exchange;
            exchange->slots[slot].action = i;
        }
    }
}

/* Room for messages whose elements have gaps. */
static xylem_status_t add_staging(exchange_stage_t *exchange)
{
    xyl_arena_t *arena = &exchange->stage.operation->request.arena;
    uint32_t i;

    for (i = 0; i < exchange->slot_count; i++) {
        exchange_slot_t *slot = &exchange->slots[i];
        const xyl_action_entry_t *action = &exchange->actions[slot->action];
        size_t bytes = action_bytes(exchange, action);
        if (slot->pieces == 0 ||
            exchange->buffers.layout[end_of(action).buffer] == NULL)
            continue; /* not a first piece, or plain */
        slot->staging = xyl_arena_alloc(arena, bytes + 1);
        if (slot->staging == NULL)
            return xyl_fail(XYLEM_ERR_NO_MEMORY,
                            "no memory to pack a message of %zu bytes", bytes);
    }
    return XYLEM_OK;
}

/* Sequence numbers for the messages of a schedule, each cut into `pieces`. */
static uint32_t sequences_of(const xyl_schedule_t *schedule, uint32_t pieces)
{
    return (uint32_t)((uint64_t)schedule->labels * pieces /
                      XYL_TEAM_SEGMENT_TAGS) +
           1;
}

/* The most pieces of a message for which there are sequence numbers. */
static uint32_t pieces_for(const xylem_team_t *team,
                           const xyl_stage_spec_t *spec,
                           const xyl_schedule_t *schedule)
{
    uint32_t pieces = xyl_exchange_pieces(team);

    while (pieces > 1 && spec->sequences_max != 0 &&
           sequences_of(schedule, pieces) > spec->sequences_max)
        pieces /= 2;
    return pieces;
}

xylem_status_t xyl_exchange_stage_add(xyl_operation_t *operation,
                                      const xyl_stage_spec_t *spec,
                                      const xyl_schedule_t *schedule,
                                      const xyl_layouts_t *layouts,
                                      xyl_stage_t **stage_out)
{
    const xylem_team_t *team = operation->request.team;
    const xyl_limits_t *limits = xyl_limits_of(team->context);
    uint32_t pieces = pieces_for(team, spec, schedule);
    exchange_stage_t *exchange =
        (exchange_stage_t *)(void *)xyl_operation_add_stage(
            operation, spec, &exchange_ops, sizeof *exchange,
            sequences_of(schedule, pieces));
    xylem_status_t status;
    uint32_t i;

    assert(schedule->status == XYLEM_OK);
    if (exchange == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a stage");
    *stage_out = &exchange->stage;
    exchange->count = schedule->count;
    exchange->element_bytes = schedule->element_bytes;
    exchange->buffers.exec = xyl_collective_of(operation)->exec;
    exchange->buffers.layout[XYL_BUFFER_SEND] = layouts->send;
    exchange->buffers.layout[XYL_BUFFER_RECV] = layouts->recv;
    exchange->turn = limits->turn;
    exchange->piece = limits->exchange_piece;
    exchange->pieces_max = pieces;
    for (i = 0; i < schedule->count; i++)
        if (is_message(&schedule->actions[i]))
            exchange->slot_count +=
                pieces_of(exchange, schedule->actions[i].count);
    exchange->flight_max = schedule->flight_max;
    xyl_stage_pause_init(&exchange->pause, &exchange->stage, exchange_go_on);
    if (!exchange_allocate(exchange, schedule))
        return xyl_fail(XYLEM_ERR_NO_MEMORY,
                        "no memory for a schedule of %u actions",
                        schedule->count);
    take_over(exchange, schedule);
    status = add_staging(exchange);
    return status == XYLEM_OK
               ? xyl_stage_works_add(&exchange->stage, schedule->count,
                                     action_worked, &exchange->works)
               : status;
}

void xyl_exchange_stage_trim(xyl_stage_t *stage, xyl_exchange_trim_fn trim,
                             const void *arg)
{
    assert(exchange_of(stage)->pieces_max == 1); /* pieces are planned */
    exchange_of(stage)->trim = trim;
    exchange_of(stage)->trim_arg = arg;
}
