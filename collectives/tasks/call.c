/* Remote tasks: the tasks that this rank sends. */
#include <string.h>

#include "collectives/tasks/table.h"
#include "runtime/base/holder.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"

static xyl_task_call_t *call_of(xylem_request_t *request)
{
    return (xyl_task_call_t *)(void *)request;
}

/* ---- messages ---- */

static void call_event_back(xyl_task_call_t *call, const xyl_event_t *event)
{
    xylem_tasks_t *tasks = call->tasks;

    if (event->status != XYLEM_OK)
        xyl_tasks_net_failed(tasks, event->status);
    xyl_request_event_back(&call->request); /* then the call may be gone */
}

static void call_sent(xyl_event_t *event)
{
    call_event_back(XYL_HOLDER(xyl_task_call_t, sent, event), event);
}

static void call_payload_sent(xyl_event_t *event)
{
    call_event_back(XYL_HOLDER(xyl_task_call_t, payload_sent, event), event);
}

static void call_post(xyl_task_call_t *call, xyl_task_message_kind_t kind,
                      const void *buf, size_t bytes, xyl_event_t *event)
{
    const xylem_tasks_t *tasks = call->tasks;
    xylem_context_t *context = tasks->context;
    int is_payload = kind == XYL_TASK_PAYLOAD;
    uint64_t tag = xyl_task_tag(xyl_task_slot_of(tasks, call->rank),
                                is_payload ? tasks->team->rank : 0,
                                is_payload ? call->message.header.id : 0, kind);

    call->request.posted++;
    context->net->ops->send(context->net,
                            xyl_team_world_rank(tasks->team, call->rank), tag,
                            buf, bytes, event);
}

/* Sends a task, with a credit of the peer's. */
static void call_send(xyl_task_peer_t *peer, xyl_task_call_t *call)
{
    uint32_t id = (uint32_t)__builtin_ctzll(peer->free_ids);

    peer->free_ids &= peer->free_ids - 1;
    peer->calls[id] = call;
    call->tasks->outstanding++;
    call->message.header.id = id;
    call_post(call, XYL_TASK_MESSAGE, &call->message,
              xyl_task_message_bytes(&call->message.header), &call->sent);
}

/* ---- the way of a call ---- */

static void call_complete(xyl_task_call_t *call, xylem_status_t status)
{
    xylem_tasks_t *tasks = call->tasks;

    LIST_REMOVE(call, active);
    atomic_fetch_sub_explicit(&tasks->active, 1, memory_order_relaxed);
    xyl_request_complete(&call->request, status);
}

static void call_start(xylem_request_t *request)
{
    xyl_task_call_t *call = call_of(request);
    xylem_tasks_t *tasks = call->tasks;
    xyl_task_peer_t *peer;

    LIST_INSERT_HEAD(&tasks->calls, call, active);
    if (xyl_team_has_failed(tasks->team)) {
        call_complete(call, tasks->team->failure.status);
        return;
    }
    peer = xyl_task_peer(tasks, call->rank);
    if (peer == NULL)
        call_complete(call, XYLEM_ERR_NO_MEMORY);
    else if (peer->free_ids != 0 && TAILQ_EMPTY(&peer->waiting))
        call_send(peer, call);
    else if (call->may_wait)
        TAILQ_INSERT_TAIL(&peer->waiting, call, others);
    else
        call_complete(call, XYLEM_ERR_NO_RESOURCE);
}

static void credit_back(xyl_task_peer_t *peer, uint32_t id)
{
    xyl_task_call_t *next = TAILQ_FIRST(&peer->waiting);

    peer->calls[id] = NULL;
    peer->free_ids |= UINT64_C(1) << id;
    peer->tasks->outstanding--;
    if (next == NULL)
        return;
    TAILQ_REMOVE(&peer->waiting, next, others);
    call_send(peer, next);
}

/* 1: the answer is for a task that this rank has sent. `given`: the credits of
 * the answering rank. */
static int is_expected(const xyl_task_peer_t *peer, uint32_t given,
                       const xyl_task_answer_t *answer)
{
    return peer != NULL && answer->id < given &&
           (peer->free_ids >> answer->id & 1) == 0 &&
           (answer->kind == XYL_TASK_ENDED || peer->calls[answer->id] != NULL);
}

void xyl_task_answered(xylem_tasks_t *tasks, uint32_t rank,
                       const xyl_task_answer_t *answer)
{
    xyl_task_peer_t *peer = tasks->peers[rank];
    xyl_task_call_t *call;

    if (!is_expected(peer, xyl_task_credits_of(tasks, rank), answer)) {
        xyl_tasks_net_failed(tasks, XYLEM_ERR_INTERNAL);
        return;
    }
    call = peer->calls[answer->id];
    if (answer->kind == XYL_TASK_GO) {
        call_post(call, XYL_TASK_PAYLOAD, call->payload,
                  (size_t)call->message.header.payload_bytes,
                  &call->payload_sent);
        return;
    }
    if (call != NULL &&
        (answer->kind == XYL_TASK_ENDED || !call->message.header.wants_end)) {
        peer->calls[answer->id] = NULL;
        call_complete(call, (xylem_status_t)answer->status); /* the user's */
    }
    if (answer->kind == XYL_TASK_ENDED)
        credit_back(peer, answer->id);
}

void xyl_task_calls_fail(xylem_tasks_t *tasks)
{
    xyl_task_call_t *call;
    uint32_t rank;

    tasks->outstanding = 0;
    for (rank = 0; rank < tasks->team->size; rank++)
        if (tasks->peers[rank] != NULL) {
            TAILQ_INIT(&tasks->peers[rank]->waiting);
            memset(tasks->peers[rank]->calls, 0,
                   sizeof tasks->peers[rank]->calls);
        }
    while ((call = LIST_FIRST(&tasks->calls)) != NULL)
        call_complete(call, tasks->team->failure.status);
}

/* ---- requests ---- */

/* Keeps the memory of a call that is over for the next call; any thread. */
static int call_keep(xylem_request_t *request)
{
    xyl_task_call_t *call = call_of(request);
    xylem_tasks_t *tasks = call->tasks;

    pthread_mutex_lock(&tasks->lock);
    TAILQ_INSERT_HEAD(&tasks->kept, call, others);
    pthread_mutex_unlock(&tasks->lock);
    xyl_tasks_unreference(tasks);
    return 1;
}

static const xyl_request_ops_t call_ops = {.start = call_start,
                                           .keep = call_keep};

void xyl_task_calls_release(xylem_tasks_t *tasks)
{
    xyl_task_call_t *call;

    while ((call = TAILQ_FIRST(&tasks->kept)) != NULL) {
        TAILQ_REMOVE(&tasks->kept, call, others);
        xyl_request_release(&call->request);
    }
}

/* NULL: no memory. */
static xyl_task_call_t *call_take(xylem_tasks_t *tasks)
{
    xyl_task_call_t *call;

    pthread_mutex_lock(&tasks->lock);
    call = TAILQ_FIRST(&tasks->kept);
    if (call != NULL)
        TAILQ_REMOVE(&tasks->kept, call, others);
    pthread_mutex_unlock(&tasks->lock);
    if (call != NULL) {
        xyl_request_revive(&call->request);
    } else {
        call =
            call_of(xyl_request_create(tasks->team, &call_ops, sizeof *call));
        if (call == NULL)
            return NULL;
        call->tasks = tasks;
        call->sent.handle = call_sent;
        call->payload_sent.handle = call_payload_sent;
    }
    atomic_fetch_add_explicit(&tasks->references, 1, memory_order_relaxed);
    return call;
}

/* The on_complete of a request that frees itself, if the user has none. */
static void ignore_end(void *arg, xylem_status_t status)
{
    (void)arg;
    (void)status;
}

static void call_fill(xyl_task_call_t *call, const xylem_task_args_t *args)
{
    xyl_task_header_t *header = &call->message.header;
    int is_short = args->payload_bytes <= XYLEM_TASK_SHORT_MAX;

    call->rank = args->rank;
    call->may_wait = (args->flags & XYLEM_FLAG_NO_WAIT) == 0;
    call->payload = args->payload;
    call->request.flags = args->flags & XYLEM_FLAG_AUTOFREE;
    call->request.on_complete = args->on_complete;
    if (call->request.flags != 0 && args->on_complete == NULL)
        call->request.on_complete = ignore_end;
    call->request.arg = args->arg;
    *header = (xyl_task_header_t){
        .source = call->tasks->team->rank,
        .index = args->index,
        .wants_end = (args->flags & XYLEM_FLAG_RAN) != 0,
        .args_bytes = args->args_bytes,
        .payload_bytes = args->payload_bytes,
    };
    if (args->args_bytes != 0)
        memcpy(call->message.bytes, args->args, args->args_bytes);
    if (is_short && args->payload_bytes != 0)
        memcpy(call->message.bytes + xyl_task_payload_at(args->args_bytes),
               args->payload, args->payload_bytes);
}

/* ---- public ---- */

static xylem_status_t task_args_check(const xylem_tasks_t *tasks,
                                      const xylem_task_args_t *args,
                                      const char *call)
{
    const uint32_t flags =
        XYLEM_FLAG_RAN | XYLEM_FLAG_NO_WAIT | XYLEM_FLAG_AUTOFREE;

    if (args->rank >= tasks->team->size)
        return xyl_refuse(call, "rank %u is outside the team's %u ranks",
                          args->rank, tasks->team->size);
    if (args->args_bytes > XYLEM_TASK_ARGS_MAX)
        return xyl_refuse(
            call, "%zu bytes of arguments; %d at most, more is a payload",
            args->args_bytes, XYLEM_TASK_ARGS_MAX);
    if ((args->args == NULL && args->args_bytes != 0) ||
        (args->payload == NULL && args->payload_bytes != 0))
        return xyl_refuse(call, "args or payload is NULL, but not its bytes");
    if ((args->flags & ~flags) != 0)
        return xyl_refuse(call, "there is no flag %#x for tasks",
                          args->flags & ~flags);
    return XYLEM_OK;
}

static xylem_status_t start(xylem_tasks_t *tasks, const xylem_task_args_t *args,
                            const char *name, xylem_request_t **request_out)
{
    xylem_status_t status = task_args_check(tasks, args, name);
    xyl_task_call_t *call;

    if (status != XYLEM_OK)
        return status;
    call = call_take(tasks);
    if (call == NULL)
        return XYLEM_ERR_NO_MEMORY;
    call_fill(call, args);
    atomic_fetch_add_explicit(&tasks->active, 1, memory_order_relaxed);
    /* Before the start: a callback may free the request at once. */
    if (request_out != NULL)
        *request_out = &call->request;
    return xyl_request_start(&call->request);
}

xylem_status_t xylem_task_start(xylem_tasks_t *tasks,
                                const xylem_task_args_t *given,
                                xylem_request_t **request_out)
{
    static const char name[] = "xylem_task_start";
    xylem_task_args_t args;
    xylem_status_t status = xyl_tasks_check(tasks, name);

    if (status == XYLEM_OK)
        status = xyl_members_read(name, "args", given,
                                  XYL_BYTES_UP_TO(xylem_task_args_t, arg),
                                  &args, sizeof args);
    if (status != XYLEM_OK)
        return status;
    if (request_out == NULL && (args.flags & XYLEM_FLAG_AUTOFREE) == 0)
        return xyl_refuse(name, "request_out is NULL");
    return start(tasks, &args, name, request_out);
}

xylem_status_t xylem_task_call(xylem_tasks_t *tasks, uint32_t rank,
                               uint32_t index, const void *args,
                               size_t args_bytes, const void *payload,
                               size_t payload_bytes)
{
    static const char name[] = "xylem_task_call";
    const xylem_task_args_t all = {.struct_bytes = sizeof all,
                                   .rank = rank,
                                   .index = index,
                                   .args = args,
                                   .args_bytes = args_bytes,
                                   .payload = payload,
                                   .payload_bytes = payload_bytes,
                                   .flags = XYLEM_FLAG_RAN};
    xylem_request_t *request;
    xylem_status_t status = xyl_tasks_check(tasks, name);

    if (status == XYLEM_OK)
        status = xyl_context_may_block(tasks->context, name);
    if (status == XYLEM_OK)
        status = start(tasks, &all, name, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}
