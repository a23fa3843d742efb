/* The run itself; schedule_check.c checks schedules without running them. */
#include "tests/support/schedule_run.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/schedule_inside.h"

enum { GUARD_BYTES = 64, GUARD_FILL = 0x5c };
#define GUARDS_BYTES (2 * (size_t)GUARD_BYTES)

void *schedule_run_array(uint64_t count, size_t bytes)
{
    void *array = calloc((size_t)count + 1, bytes);

    if (array == NULL) {
        fputs("no memory\n", stderr);
        abort();
    }
    return array;
}

int schedule_run_mistake(schedule_run_t *run, const char *format, ...)
{
    va_list args;

    if (run->mistake[0] != '\0')
        return 0;
    va_start(args, format);
    vsnprintf(run->mistake, sizeof run->mistake, format, args);
    va_end(args);
    return 0;
}

void schedule_run_init(schedule_run_t *run, uint32_t ranks,
                       size_t element_bytes)
{
    uint32_t i;

    *run = (schedule_run_t){.ranks = ranks, .element_bytes = element_bytes};
    run->all = schedule_run_array(ranks, sizeof *run->all);
    for (i = 0; i < ranks; i++)
        xyl_schedule_init(&run->all[i].schedule, element_bytes);
}

void schedule_run_fini(schedule_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        schedule_run_rank_t *rank = &run->all[i];
        xyl_schedule_fini(&rank->schedule);
        free(rank->memory);
        free(rank->temp);
        free(rank->message_of);
        free(rank->waits);
        free(rank->held[0]);
        free(rank->held[1]);
    }
    free(run->all);
    free(run->messages);
    free(run->steps);
    free(run->ready);
    free(run->payload);
}

void schedule_run_place(schedule_run_t *run, uint32_t rank,
                        uint64_t memory_count)
{
    run->all[rank].memory =
        schedule_run_array(memory_count, run->element_bytes);
    run->all[rank].memory_count = memory_count;
}

void schedule_run_buffer(schedule_run_t *run, uint32_t rank,
                         xyl_buffer_t buffer, uint64_t at, uint64_t count)
{
    assert(at + count <= run->all[rank].memory_count);
    run->all[rank].at[buffer] = at;
    run->all[rank].count[buffer] = count;
}

/* ---- what may happen ---- */

static unsigned char *address_of(const schedule_run_t *run, uint32_t rank,
                                 xyl_position_t piece)
{
    return run->all[rank].base[piece.buffer] +
           (size_t)piece.at * run->element_bytes;
}

static void allow(schedule_run_t *run, step_kind_t kind, uint32_t rank,
                  xyl_action_t action)
{
    run->steps[run->step_count++] = (schedule_run_step_t){kind, rank, action};
}

static void spoil(const schedule_run_t *run, uint32_t rank,
                  xyl_position_t piece, uint64_t count)
{
    if (count != 0)
        memset(address_of(run, rank, piece), 0xdb,
               (size_t)count * run->element_bytes);
}

static void post(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    schedule_run_rank_t *own = &run->all[rank];
    const xyl_action_entry_t *action = &own->schedule.actions[number];
    schedule_run_message_t *message = &run->messages[own->message_of[number]];
    int is_send = action->kind == XYL_ACTION_SEND;

    own->in_flight[is_send]++;
    if (is_send) {
        message->is_sent = 1;
        if (message->is_eager || message->is_awaited)
            allow(run, STEP_CAPTURE, rank, number);
        return;
    }
    spoil(run, rank, action->to, action->count);
    message->is_awaited = 1;
    if (message->is_captured)
        allow(run, STEP_DELIVER, rank, number);
    else if (message->is_sent && !message->is_eager)
        allow(run, STEP_CAPTURE, message->source, message->send);
}

static void post_or_hold(schedule_run_t *run, uint32_t rank,
                         xyl_action_t number)
{
    schedule_run_rank_t *own = &run->all[rank];
    int side = own->schedule.actions[number].kind == XYL_ACTION_SEND;
    uint32_t max = own->schedule.flight_max;

    if (max != 0 && own->in_flight[side] == max)
        own->held[side][own->held_end[side]++] = number;
    else
        post(run, rank, number);
}

/* Marks an action as finished; actions that waited only for it are ready. */
static void finish(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    schedule_run_rank_t *own = &run->all[rank];
    const xyl_schedule_t *schedule = &own->schedule;
    uint32_t order = schedule->actions[number].before;

    own->left--;
    for (; order != XYL_ACTION_NONE; order = schedule->orders[order].next) {
        xyl_action_t next = schedule->orders[order].action;
        if (--own->waits[next] == 0)
            run->ready[run->ready_end++] = (schedule_run_ready_t){rank, next};
    }
}

/* Messages under a limit are posted in the order in which they get ready, as
 * in the exchange stage; everything else at any time. */
static void take_ready(schedule_run_t *run)
{
    while (run->ready_first != run->ready_end) {
        schedule_run_ready_t next = run->ready[run->ready_first++];
        const xyl_schedule_t *schedule = &run->all[next.rank].schedule;
        const xyl_action_entry_t *action = &schedule->actions[next.action];
        if (action->kind == XYL_ACTION_NOTHING)
            finish(run, next.rank, next.action);
        else if (schedule->flight_max != 0 && schedule_run_is_message(action))
            post_or_hold(run, next.rank, next.action);
        else
            allow(run, STEP_START, next.rank, next.action);
    }
}

static void message_finish(schedule_run_t *run, uint32_t rank,
                           xyl_action_t number)
{
    schedule_run_rank_t *own = &run->all[rank];
    int side = own->schedule.actions[number].kind == XYL_ACTION_SEND;

    own->in_flight[side]--;
    if (own->held_first[side] != own->held_end[side])
        post(run, rank, own->held[side][own->held_first[side]++]);
    finish(run, rank, number);
}

static void start(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    const xyl_action_entry_t *action = &run->all[rank].schedule.actions[number];
    const unsigned char *to;

    if (schedule_run_is_message(action)) {
        post(run, rank, number);
        return;
    }
    to = address_of(run, rank, action->to);
    if (to != address_of(run, rank, action->left) &&
        (action->kind != XYL_ACTION_REDUCE ||
         to != address_of(run, rank, action->right)))
        spoil(run, rank, action->to, action->count);
    allow(run, STEP_FINISH, rank, number);
}

static void compute(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    const xyl_action_entry_t *action = &run->all[rank].schedule.actions[number];
    unsigned char *to = address_of(run, rank, action->to);
    const unsigned char *left = address_of(run, rank, action->left);

    if (action->count == 0)
        return;
    if (action->kind == XYL_ACTION_REDUCE)
        run->options->combine(to, left, address_of(run, rank, action->right),
                              action->count);
    else
        memmove(to, left, (size_t)action->count * run->element_bytes);
}

static void capture(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    const schedule_run_rank_t *own = &run->all[rank];
    const xyl_action_entry_t *action = &own->schedule.actions[number];
    schedule_run_message_t *message = &run->messages[own->message_of[number]];

    if (action->count != 0)
        memcpy(run->payload + message->payload_at,
               address_of(run, rank, action->left),
               (size_t)action->count * run->element_bytes);
    run->messages_done++;
    run->elements_done += action->count;
    message->is_captured = 1;
    allow(run, STEP_FINISH, rank, number);
    if (message->is_awaited)
        allow(run, STEP_DELIVER, message->target, message->recv);
}

static void deliver(schedule_run_t *run, uint32_t rank, xyl_action_t number)
{
    const schedule_run_rank_t *own = &run->all[rank];
    const xyl_action_entry_t *action = &own->schedule.actions[number];
    const schedule_run_message_t *message =
        &run->messages[own->message_of[number]];

    if (action->count != 0)
        memcpy(address_of(run, rank, action->to),
               run->payload + message->payload_at,
               (size_t)action->count * run->element_bytes);
    message_finish(run, rank, number);
}

static void happen(schedule_run_t *run, schedule_run_step_t step)
{
    const xyl_action_entry_t *action =
        &run->all[step.rank].schedule.actions[step.action];

    switch (step.kind) {
    case STEP_START:
        start(run, step.rank, step.action);
        break;
    case STEP_CAPTURE:
        capture(run, step.rank, step.action);
        break;
    case STEP_DELIVER:
        deliver(run, step.rank, step.action);
        break;
    case STEP_FINISH:
        if (action->kind == XYL_ACTION_SEND) {
            message_finish(run, step.rank, step.action);
        } else {
            compute(run, step.rank, step.action);
            finish(run, step.rank, step.action);
        }
        break;
    }
    take_ready(run);
}

/* ---- the run ---- */

static void reset(schedule_run_t *run)
{
    uint32_t i, action;

    for (i = 0; i < run->message_count; i++) {
        schedule_run_message_t *message = &run->messages[i];
        message->is_sent = message->is_awaited = message->is_captured = 0;
        message->is_eager =
            random_below(&run->random, 100) >= run->options->rendezvous_percent;
    }
    for (i = 0; i < run->ranks; i++) {
        schedule_run_rank_t *rank = &run->all[i];
        const xyl_schedule_t *schedule = &rank->schedule;
        size_t bytes = (size_t)schedule->temp_count * run->element_bytes;
        for (action = 0; action < schedule->count; action++)
            rank->waits[action] = schedule->actions[action].waits;
        rank->left = schedule->count;
        memset(rank->in_flight, 0, sizeof rank->in_flight);
        memset(rank->held_first, 0, sizeof rank->held_first);
        memset(rank->held_end, 0, sizeof rank->held_end);
        memset(rank->temp, GUARD_FILL, bytes + GUARDS_BYTES);
        memset(rank->temp + GUARD_BYTES,
               (int)(random_below(&run->random, 254) + 1), bytes);
    }
    run->messages_done = run->elements_done = 0;
    run->step_count = run->ready_first = run->ready_end = 0;
    run->early_ranks = 0;
}

static void rank_begin(schedule_run_t *run, uint32_t rank)
{
    const xyl_schedule_t *schedule = &run->all[rank].schedule;
    xyl_action_t action;

    for (action = 0; action < schedule->count; action++)
        if (schedule->actions[action].waits == 0)
            run->ready[run->ready_end++] = (schedule_run_ready_t){rank, action};
}

static void late_begin(schedule_run_t *run)
{
    uint32_t rank;

    for (rank = 0; rank < run->ranks; rank++)
        run->early_ranks +=
            rank != run->options->late_rank && run->all[rank].left == 0;
    rank_begin(run, run->options->late_rank);
    take_ready(run);
}

static int guards_check(schedule_run_t *run, uint32_t rank)
{
    const schedule_run_rank_t *own = &run->all[rank];
    const unsigned char *end =
        own->temp + GUARD_BYTES +
        (size_t)own->schedule.temp_count * run->element_bytes;
    size_t i;

    for (i = 0; i < GUARD_BYTES; i++)
        if (own->temp[i] != GUARD_FILL || end[i] != GUARD_FILL)
            return schedule_run_mistake(
                run, "rank %u: bytes beside the temporary buffer changed",
                rank);
    return 1;
}

static void steps_run(schedule_run_t *run)
{
    while (run->step_count != 0) {
        uint32_t which = random_below(&run->random, run->step_count);
        schedule_run_step_t step = run->steps[which];
        run->steps[which] = run->steps[--run->step_count];
        happen(run, step);
    }
}

int schedule_run_go(schedule_run_t *run, const schedule_run_options_t *options)
{
    uint32_t i, action;

    assert(run->steps != NULL); /* schedule_run_check has been called */
    run->options = options;
    run->random = options->seed;
    reset(run);
    for (i = 0; i < run->ranks; i++)
        if (i != options->late_rank)
            rank_begin(run, i);
    take_ready(run);
    steps_run(run);
    if (options->late_rank < run->ranks) {
        late_begin(run);
        steps_run(run);
    }
    for (i = 0; i < run->ranks; i++) {
        if (run->all[i].left == 0)
            continue;
        for (action = 0; run->all[i].waits[action] != 0 &&
                         action + 1 < run->all[i].schedule.count;)
            action++;
        return schedule_run_mistake(
            run, "rank %u: %u actions never finish, action %u is ready", i,
            run->all[i].left, action);
    }
    for (i = 0; i < run->ranks; i++)
        if (!guards_check(run, i))
            return 0;
    return 1;
}

/* ---- for schedule_check.c ---- */

void schedule_run_prepare(schedule_run_t *run, uint64_t payload_elements)
{
    uint64_t total = 0;
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        schedule_run_rank_t *rank = &run->all[i];
        uint32_t count = rank->schedule.count;
        total += count;
        rank->waits = schedule_run_array(count, sizeof *rank->waits);
        rank->held[0] = schedule_run_array(count, sizeof **rank->held);
        rank->held[1] = schedule_run_array(count, sizeof **rank->held);
        rank->temp = schedule_run_array(
            rank->schedule.temp_count * run->element_bytes + GUARDS_BYTES, 1);
        rank->base[XYL_BUFFER_TEMP] = rank->temp + GUARD_BYTES;
        rank->base[XYL_BUFFER_SEND] =
            rank->memory + rank->at[XYL_BUFFER_SEND] * run->element_bytes;
        rank->base[XYL_BUFFER_RECV] =
            rank->memory + rank->at[XYL_BUFFER_RECV] * run->element_bytes;
    }
    /* An action is allowed to start, finish and, as a message, to go over. */
    run->steps = schedule_run_array(3 * total, sizeof *run->steps);
    run->ready = schedule_run_array(total, sizeof *run->ready);
    run->payload = schedule_run_array(payload_elements, run->element_bytes);
}
