/* Remote tasks: the tasks that this rank is sent. A task's message arrives in a
 * posted place. Its admission, placement and run follow in callbacks, which may
 * call the user's functions. */
#include <assert.h>
#include <string.h>

#include "collectives/tasks/table.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"

/* ---- answers ---- */

static void answers_sent(xyl_event_t *event);

static void answers_send(xyl_task_peer_t *peer)
{
    xylem_tasks_t *tasks = peer->tasks;
    xylem_context_t *context = tasks->context;
    xyl_task_reply_t *reply = &peer->reply;

    if (peer->is_replying || peer->due == 0 || tasks->has_failed)
        return;
    reply->source = tasks->team->rank;
    for (reply->count = 0; reply->count < XYL_TASK_ANSWERS && peer->due != 0;
         reply->count++, peer->due--) {
        reply->answers[reply->count] = peer->answers[peer->first_due];
        peer->first_due = (peer->first_due + 1) % XYL_TASK_ANSWERS_DUE;
    }
    peer->is_replying = 1;
    peer->replied.handle = answers_sent;
    tasks->owed++;
    context->net->ops->send(
        context->net, xyl_team_world_rank(tasks->team, peer->rank),
        xyl_task_tag(xyl_task_slot_of(tasks, peer->rank), 0, 0, XYL_TASK_REPLY),
        reply, xyl_task_reply_bytes(reply->count), &peer->replied);
}

/* The reply has gone. Answers that have become due meanwhile go in the next
 * reply, together. */
static void answers_sent(xyl_event_t *event)
{
    xyl_task_peer_t *peer = XYL_HOLDER(xyl_task_peer_t, replied, event);
    xylem_tasks_t *tasks = peer->tasks;

    peer->is_replying = 0;
    if (event->status != XYLEM_OK)
        xyl_tasks_net_failed(tasks, event->status);
    answers_send(peer);
    xyl_tasks_event_back(tasks);
}

static void answer(const xyl_served_t *served, xyl_task_answer_kind_t kind,
                   xylem_status_t status)
{
    xyl_task_peer_t *peer = served->tasks->peers[served->task.source];
    uint32_t at = (peer->first_due + peer->due++) % XYL_TASK_ANSWERS_DUE;

    assert(peer->due <= XYL_TASK_ANSWERS_DUE);
    peer->answers[at] = (xyl_task_answer_t){(uint16_t)served->message.header.id,
                                            (uint16_t)kind, (uint32_t)status};
    answers_send(peer);
}

/* ---- places ---- */

static void served_arrived(xyl_event_t *event);
static void served_due(xyl_event_t *event);
static void served_ended(xyl_task_t *task);

/* A place; NULL: no memory, or there are enough. */
static xyl_served_t *place_take(xylem_tasks_t *tasks)
{
    xyl_served_t *served = TAILQ_FIRST(&tasks->idle);

    if (served != NULL) {
        TAILQ_REMOVE(&tasks->idle, served, others);
        return served;
    }
    if (tasks->places < tasks->places_max)
        served = xyl_pool_acquire(&tasks->context->pool, sizeof *served);
    if (served == NULL)
        return NULL;
    tasks->places++;
    memset(served, 0, offsetof(xyl_served_t, message));
    served->tasks = tasks;
    served->due.handle = served_due;
    served->ended.run = served_ended;
    return served;
}

/* Posts as many places as there should be. 0: none is posted. */
static int places_post(xylem_tasks_t *tasks)
{
    xylem_context_t *context = tasks->context;
    xyl_served_t *served;

    while (tasks->posted_count < XYL_TASK_RECEIVES && !tasks->has_failed &&
           !tasks->is_shut && (served = place_take(tasks)) != NULL) {
        served->state = XYL_SERVED_POSTED;
        served->arrival =
            (xyl_event_t){.handle = served_arrived, .takes_shorter = 1};
        TAILQ_INSERT_TAIL(&tasks->posted, served, others);
        tasks->posted_count++;
        tasks->owed++;
        context->net->ops->recv(
            context->net, xyl_task_tag(tasks->slot, 0, 0, XYL_TASK_MESSAGE),
            &served->message, sizeof served->message, &served->arrival);
    }
    return tasks->posted_count != 0;
}

static void place_free(xyl_served_t *served)
{
    xylem_tasks_t *tasks = served->tasks;

    if (served->owned != NULL)
        xyl_pool_release(&tasks->context->pool, served->owned,
                         served->task.payload_bytes);
    served->owned = NULL;
    served->state = XYL_SERVED_IDLE;
    TAILQ_REMOVE(&tasks->served, served, others);
    TAILQ_INSERT_HEAD(&tasks->idle, served, others);
    (void)places_post(tasks);
}

/* ---- entries ---- */

/* XYLEM_OK: the task counts as a user of the entry until entry_leave. */
static xylem_status_t entry_enter(xyl_entry_t *entry)
{
    /* Partner: the fetch_or in entry_revoke. One of the two sees the other. */
    if ((atomic_fetch_add(&entry->users, 1) & XYL_ENTRY_REVOKED) == 0)
        return XYLEM_OK;
    atomic_fetch_sub(&entry->users, 1);
    return XYLEM_ERR_REVOKED;
}

xylem_status_t xyl_task_is_wanted(const xylem_task_t *task)
{
    const xyl_served_t *served = (const xyl_served_t *)(const void *)task;

    if (xyl_team_has_failed(served->tasks->team))
        return XYLEM_ERR_CANCELED;
    return (atomic_load(&served->entry->users) & XYL_ENTRY_REVOKED) == 0
               ? XYLEM_OK
               : XYLEM_ERR_REVOKED;
}

static xylem_status_t entry_revoke(xyl_entry_t *entry)
{
    return (atomic_fetch_or(&entry->users, XYL_ENTRY_REVOKED) &
            ~XYL_ENTRY_REVOKED) == 0
               ? XYLEM_OK
               : XYLEM_IN_PROGRESS;
}

xylem_status_t xylem_tasks_revoke(xylem_tasks_t *tasks, uint32_t index)
{
    xylem_status_t status = xyl_tasks_check(tasks, "xylem_tasks_revoke");
    uint32_t i;

    if (status != XYLEM_OK)
        return status;
    if (index < tasks->entry_count)
        return entry_revoke(&tasks->entries[index]);
    if (index != XYLEM_TASK_ALL)
        return xyl_refuse("xylem_tasks_revoke", "there is no entry %u of %u",
                          index, tasks->entry_count);
    for (i = 0; i < tasks->entry_count; i++)
        if (entry_revoke(&tasks->entries[i]) != XYLEM_OK)
            status = XYLEM_IN_PROGRESS;
    return status;
}

/* ---- the end of a task ---- */

/* Ends a task, and gives its credit back to its sender. */
static void served_finish(xyl_served_t *served, xylem_status_t status)
{
    xylem_tasks_t *tasks = served->tasks;
    xyl_entry_t *entry = served->entry;
    xyl_task_peer_t *peer = tasks->peers[served->task.source];

    if (entry != NULL)
        atomic_fetch_sub(&entry->users, 1);
    served->entry = NULL;
    peer->serving &= ~(UINT64_C(1) << served->message.header.id);
    answer(served, XYL_TASK_ENDED, status);
    place_free(served);
}

/* Gives back the user's memory for the payload, if any. */
static void served_drop(const xyl_served_t *served)
{
    const xylem_task_entry_t *given;

    if (!served->is_placed)
        return;
    given = &served->entry->given;
    if (given->drop != NULL)
        given->drop(given->arg, served->task.payload,
                    served->task.payload_bytes);
}

static void served_refuse(xyl_served_t *served, xylem_status_t status)
{
    served_drop(served);
    served_finish(served, status);
}

/* The status of an end: a request does not end with XYLEM_IN_PROGRESS. */
static xylem_status_t final(xylem_status_t status)
{
    return status == XYLEM_IN_PROGRESS ? XYLEM_ERR_INTERNAL : status;
}

static void served_ended(xyl_task_t *task)
{
    xyl_served_t *served = XYL_HOLDER(xyl_served_t, ended, task);
    xylem_tasks_t *tasks = served->tasks;

    served_finish(served, served->status);
    atomic_fetch_sub_explicit(&xyl_tasks_of_context(tasks->context)->held, 1,
                              memory_order_release);
    xyl_tasks_unreference(tasks);
}

/* Any thread. */
void xylem_task_end(xylem_task_t *task, xylem_status_t status)
{
    xyl_served_t *served = (xyl_served_t *)(void *)task;

    if (atomic_exchange_explicit(&served->is_ended, 1, memory_order_relaxed))
        return; /* another thread has been faster */
    served->status = final(status);
    xyl_engine_submit(&served->tasks->context->engine, &served->ended);
}

void xylem_task_run(xylem_task_t *task)
{
    xyl_served_t *served = (xyl_served_t *)(void *)task;
    const xylem_task_entry_t *given = &served->entry->given;
    xylem_status_t status = xyl_task_is_wanted(&served->task);

    if (status == XYLEM_OK && given->run == NULL)
        status = XYLEM_ERR_INVALID_ARG;
    if (status == XYLEM_OK)
        status = given->run(given->arg, task);
    else
        served_drop(served);
    xylem_task_end(task, status);
}

/* ---- from its message to its function ---- */

/* Runs a complete task, or hands it over. */
static void served_go(xyl_served_t *served)
{
    const xylem_task_entry_t *given = &served->entry->given;
    xylem_tasks_t *tasks = served->tasks;
    xylem_status_t status = xyl_task_is_wanted(&served->task);

    if (status != XYLEM_OK) {
        served_refuse(served, status);
        return;
    }
    served->state = XYL_SERVED_HANDED;
    if (given->hand_over == NULL) {
        served_finish(served, final(given->run(given->arg, &served->task)));
        return;
    }
    atomic_store_explicit(&served->is_ended, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&xyl_tasks_of_context(tasks->context)->held, 1,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&tasks->references, 1, memory_order_relaxed);
    if (!served->message.header.wants_end)
        answer(served, XYL_TASK_TAKEN, XYLEM_OK);
    given->hand_over(given->arg, &served->task);
}

/* Receives the payload, and has the sender send it. */
static void served_land(xyl_served_t *served)
{
    xylem_tasks_t *tasks = served->tasks;
    xylem_context_t *context = tasks->context;
    const xyl_task_header_t *header = &served->message.header;

    served->state = XYL_SERVED_LANDING;
    served->arrival = (xyl_event_t){.handle = served_arrived};
    tasks->owed++;
    context->net->ops->recv(
        context->net,
        xyl_task_tag(tasks->slot, header->source, header->id, XYL_TASK_PAYLOAD),
        served->task.payload, served->task.payload_bytes, &served->arrival);
    answer(served, XYL_TASK_GO, XYLEM_OK);
}

/* Finds memory for the payload. */
static xylem_status_t served_place(xyl_served_t *served)
{
    const xylem_task_entry_t *given = &served->entry->given;
    xylem_task_t *task = &served->task;

    if (given->place != NULL) {
        task->payload = given->place(given->arg, task);
        served->is_placed = task->payload != NULL;
        return served->is_placed ? XYLEM_OK : XYLEM_ERR_NO_RESOURCE;
    }
    if (task->payload_bytes <= XYLEM_TASK_SHORT_MAX) {
        task->payload =
            served->message.bytes + xyl_task_payload_at(task->args_bytes);
        return XYLEM_OK;
    }
    served->owned =
        xyl_pool_acquire(&served->tasks->context->pool, task->payload_bytes);
    task->payload = served->owned;
    return served->owned != NULL ? XYLEM_OK : XYLEM_ERR_NO_MEMORY;
}

/* XYLEM_OK: the table has the task's entry, which takes these lengths. */
static xylem_status_t served_admit(xyl_served_t *served)
{
    const xylem_tasks_t *tasks = served->tasks;
    const xylem_task_t *task = &served->task;
    const xylem_task_entry_t *given;
    xylem_status_t status;

    if (tasks->has_failed)
        return XYLEM_ERR_CANCELED;
    if (task->index >= tasks->entry_count)
        return XYLEM_ERR_INVALID_ARG;
    given = &tasks->entries[task->index].given;
    if (given->run == NULL && given->hand_over == NULL)
        return XYLEM_ERR_INVALID_ARG;
    if (task->args_bytes > given->args_max ||
        task->payload_bytes > given->payload_max)
        return XYLEM_ERR_TRUNCATED;
    if (task->args_bytes < given->args_min ||
        task->payload_bytes < given->payload_min)
        return XYLEM_ERR_INVALID_ARG;
    status = entry_enter(&tasks->entries[task->index]);
    if (status == XYLEM_OK)
        served->entry = &tasks->entries[task->index];
    return status;
}

static void served_look(xyl_served_t *served)
{
    size_t bytes = served->task.payload_bytes;
    xylem_status_t status = served_admit(served);

    if (status == XYLEM_OK && bytes != 0)
        status = served_place(served);
    if (status != XYLEM_OK) {
        served_refuse(served, status);
    } else if (bytes > XYLEM_TASK_SHORT_MAX) {
        served_land(served);
    } else {
        if (served->is_placed)
            memcpy(served->task.payload,
                   served->message.bytes +
                       xyl_task_payload_at(served->task.args_bytes),
                   bytes);
        served_go(served);
    }
}

static void served_due(xyl_event_t *event)
{
    xyl_served_t *served = XYL_HOLDER(xyl_served_t, due, event);
    xylem_tasks_t *tasks = served->tasks;

    if (served->state == XYL_SERVED_COME)
        served_look(served);
    else if (served->arrival.status == XYLEM_OK)
        served_go(served);
    else
        served_refuse(served, XYLEM_ERR_CANCELED);
    xyl_tasks_event_back(tasks);
}

/* ---- arrivals ---- */

/* 1: the header is one that this library makes. Its rank, its credit and its
 * lengths may be used without further checks. */
static int is_sound(const xyl_served_t *served)
{
    const xyl_task_header_t *header = &served->message.header;
    size_t bytes = served->arrival.net_bytes;

    return bytes >= offsetof(xyl_task_message_t, bytes) &&
           header->source < served->tasks->team->size &&
           header->id < served->tasks->credits &&
           header->args_bytes <= XYLEM_TASK_ARGS_MAX &&
           bytes == xyl_task_message_bytes(header);
}

/* Reads a message that has come. */
static xylem_status_t served_come(xyl_served_t *served)
{
    const xyl_task_header_t *header = &served->message.header;
    xylem_tasks_t *tasks = served->tasks;
    xyl_task_peer_t *peer;
    uint64_t bit;

    if (!is_sound(served))
        return XYLEM_ERR_INTERNAL;
    peer = xyl_task_peer(tasks, header->source);
    if (peer == NULL)
        return XYLEM_ERR_NO_MEMORY;
    bit = UINT64_C(1) << header->id;
    if ((peer->serving & bit) != 0)
        return XYLEM_ERR_INTERNAL; /* that credit is in use */
    peer->serving |= bit;
    served->task =
        (xylem_task_t){.source = header->source,
                       .index = header->index,
                       .args_bytes = (size_t)header->args_bytes,
                       .args = served->message.bytes,
                       .payload_bytes = (size_t)header->payload_bytes};
    served->is_placed = 0;
    served->state = XYL_SERVED_COME;
    return XYLEM_OK;
}

/* Handles an arrival in its turn: all earlier places have theirs. */
static void served_in_turn(xyl_served_t *served)
{
    xylem_tasks_t *tasks = served->tasks;
    xylem_status_t status = served->arrival.status;

    TAILQ_REMOVE(&tasks->posted, served, others);
    tasks->posted_count--;
    TAILQ_INSERT_HEAD(&tasks->served, served, others);
    if (status == XYLEM_OK)
        status = served_come(served);
    if (status == XYLEM_OK) {
        xyl_fifo_push(&tasks->context->engine.callbacks, &served->due);
        return; /* owed until served_due */
    }
    xyl_tasks_net_failed(tasks, status);
    place_free(served);
    xyl_tasks_event_back(tasks);
}

static void served_arrived(xyl_event_t *event)
{
    xyl_served_t *served = XYL_HOLDER(xyl_served_t, arrival, event);
    xylem_tasks_t *tasks = served->tasks;

    if (event->status != XYLEM_OK)
        xyl_tasks_net_failed(tasks, event->status);
    if (served->state == XYL_SERVED_LANDING) {
        served->state = XYL_SERVED_LANDED;
        xyl_fifo_push(&tasks->context->engine.callbacks, &served->due);
        return;
    }
    served->state = XYL_SERVED_ARRIVED;
    while ((served = TAILQ_FIRST(&tasks->posted)) != NULL &&
           served->state == XYL_SERVED_ARRIVED)
        served_in_turn(served);
    (void)places_post(tasks);
}

static void reply_post(xyl_reply_receive_t *receive)
{
    xylem_tasks_t *tasks = receive->tasks;
    xylem_context_t *context = tasks->context;

    tasks->owed++;
    context->net->ops->recv(
        context->net, xyl_task_tag(tasks->slot, 0, 0, XYL_TASK_REPLY),
        &receive->reply, sizeof receive->reply, &receive->event);
}

static xylem_status_t reply_read(xyl_reply_receive_t *receive)
{
    const xyl_task_reply_t *reply = &receive->reply;
    xylem_tasks_t *tasks = receive->tasks;
    size_t bytes = receive->event.net_bytes;
    uint32_t i;

    if (bytes < xyl_task_reply_bytes(0) || reply->count > XYL_TASK_ANSWERS ||
        bytes != xyl_task_reply_bytes(reply->count) ||
        reply->source >= tasks->team->size)
        return XYLEM_ERR_INTERNAL;
    for (i = 0; i < reply->count && !tasks->has_failed; i++)
        xyl_task_answered(tasks, reply->source, &reply->answers[i]);
    return XYLEM_OK;
}

static void reply_in_turn(xyl_reply_receive_t *receive)
{
    xylem_tasks_t *tasks = receive->tasks;
    xylem_status_t status = receive->event.status;

    if (status == XYLEM_OK && !tasks->has_failed)
        status = reply_read(receive);
    if (status != XYLEM_OK)
        xyl_tasks_net_failed(tasks, status);
    tasks->next_reply = (tasks->next_reply + 1) % XYL_TASK_REPLY_RECEIVES;
    receive->has_arrived = 0;
    if (!tasks->has_failed && !tasks->is_shut)
        reply_post(receive);
    xyl_tasks_look_at_end(tasks);
    xyl_tasks_event_back(tasks);
}

static void reply_arrived(xyl_event_t *event)
{
    xyl_reply_receive_t *receive =
        XYL_HOLDER(xyl_reply_receive_t, event, event);
    xylem_tasks_t *tasks = receive->tasks;

    if (event->status != XYLEM_OK)
        xyl_tasks_net_failed(tasks, event->status);
    receive->has_arrived = 1;
    while (tasks->replies[tasks->next_reply].has_arrived)
        reply_in_turn(&tasks->replies[tasks->next_reply]);
}

/* ---- begin and end ---- */

xylem_status_t xyl_serve_begin(xylem_tasks_t *tasks)
{
    uint32_t i;

    if (!places_post(tasks))
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < XYL_TASK_REPLY_RECEIVES; i++) {
        tasks->replies[i].tasks = tasks;
        tasks->replies[i].event =
            (xyl_event_t){.handle = reply_arrived, .takes_shorter = 1};
        reply_post(&tasks->replies[i]);
    }
    return XYLEM_OK;
}

static void places_release(xylem_tasks_t *tasks, struct xyl_served_list *list)
{
    xyl_pool_t *pool = &tasks->context->pool;
    xyl_served_t *served;

    while ((served = TAILQ_FIRST(list)) != NULL) {
        TAILQ_REMOVE(list, served, others);
        if (served->state == XYL_SERVED_LANDING)
            served_drop(served);
        if (served->owned != NULL)
            xyl_pool_release(pool, served->owned, served->task.payload_bytes);
        xyl_pool_release(pool, served, sizeof *served);
    }
}

void xyl_serve_release(xylem_tasks_t *tasks)
{
    places_release(tasks, &tasks->posted);
    places_release(tasks, &tasks->served);
    places_release(tasks, &tasks->idle);
}
