/* Remote tasks: opening and closing. An allreduce opens a table: it gathers
 * each rank's slot for messages and its credits. An allreduce of nothing closes
 * a table: each rank enters it in the order of its calls, and releases its part
 * when all its tasks have run. */
#include "collectives/tasks/tasks.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/choose/compose.h"
#include "collectives/tasks/table.h"
#include "runtime/base/holder.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/faults/failure.h"

enum {
    CREDITS = 16, /* if the user names none */
    ENTRIES_MAX = 1 << 16
};

/* ---- life ---- */

static void tasks_release(xylem_tasks_t *tasks)
{
    xyl_pool_t *pool = &tasks->context->pool;
    uint32_t rank;

    xyl_task_calls_release(tasks);
    xyl_serve_release(tasks);
    for (rank = 0; tasks->peers != NULL && rank < tasks->size; rank++)
        if (tasks->peers[rank] != NULL)
            xyl_pool_release(pool, tasks->peers[rank], sizeof(xyl_task_peer_t));
    pthread_mutex_destroy(&tasks->lock);
    free(tasks->peers);
    free(tasks->offers);
    free(tasks->entries);
    free(tasks->replies);
    free(tasks);
}

/* Frees a table without references; the progressing thread. */
static void tasks_free_run(xyl_task_t *task)
{
    xylem_tasks_t *tasks = XYL_HOLDER(xylem_tasks_t, free_task, task);
    xylem_team_t *team = tasks->team;

    LIST_REMOVE(tasks, others);
    /* Else other ranks may still send to the slot. */
    if (tasks->outcome == XYLEM_OK)
        xyl_context_slot_release(tasks->context, tasks->slot);
    tasks_release(tasks);
    xyl_team_unreference(team);
}

/* ---- failures ---- */

static void context_teams_failed(xylem_context_t *context)
{
    xylem_tasks_t *tasks;

    LIST_FOREACH(tasks, &xyl_tasks_of_context(context)->tables, others)
    if (xyl_team_has_failed(tasks->team) && !tasks->has_failed) {
        tasks->has_failed = 1;
        xyl_task_calls_fail(tasks);
        xyl_tasks_cancel_receives(tasks);
    }
}

/* The net is gone, and so are teams and requests. */
static void context_ends(xylem_context_t *context)
{
    xyl_tasks_context_t *state = xyl_tasks_of_context(context);
    xylem_tasks_t *tasks;

    while ((tasks = LIST_FIRST(&state->tables)) != NULL) {
        LIST_REMOVE(tasks, others);
        tasks_release(tasks);
    }
}

static unsigned tasks_held(const xylem_context_t *context)
{
    /* Partner: the release as a task ends. */
    return atomic_load_explicit(&xyl_tasks_of_context(context)->held,
                                memory_order_acquire);
}

const xyl_module_t xyl_tasks_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_tasks_context_t)},
    .context_ends = context_ends,
    .teams_failed = context_teams_failed,
    .describe = xyl_describe_tasks,
    .held = tasks_held,
};

/* ---- closing ---- */

static void farewell_done(void *arg, xylem_status_t status)
{
    xylem_tasks_t *tasks = arg;

    tasks->outcome = status;
    tasks->is_over = 1;
    xyl_tasks_look_at_end(tasks);
}

typedef struct tasks_request {
    xylem_request_t request; /* first */
    xylem_tasks_t *tasks;
    xylem_tasks_t **tasks_out; /* of an opening */
    uint32_t *offers;          /* of an opening: [size], the allreduce's */
} tasks_request_t;

static void close_start(xylem_request_t *request)
{
    xylem_tasks_t *tasks = ((tasks_request_t *)(void *)request)->tasks;

    tasks->closing = request;
    xyl_tasks_look_at_end(tasks);
}

static const xyl_request_ops_t close_ops = {.start = close_start};

static tasks_request_t *tasks_request_create(xylem_tasks_t *tasks,
                                             xylem_team_t *team,
                                             const xyl_request_ops_t *ops)
{
    tasks_request_t *request = (tasks_request_t *)(void *)xyl_request_create(
        team, ops, sizeof *request);

    if (request != NULL)
        request->tasks = tasks;
    return request;
}

static xylem_status_t close_begin(xylem_tasks_t *tasks, const char *call,
                                  xylem_request_t **request_out)
{
    xylem_status_t status = xyl_tasks_check(tasks, call);
    tasks_request_t *request;
    xyl_operation_t *farewell;
    void *nothing;

    if (status != XYLEM_OK)
        return status;
    if (atomic_load_explicit(&tasks->active, memory_order_relaxed) != 0)
        return xyl_fail(XYLEM_ERR_BUSY, "%s: tasks of this rank are active",
                        call);
    request = tasks_request_create(tasks, tasks->team, &close_ops);
    status = request == NULL
                 ? XYLEM_ERR_NO_MEMORY
                 : xyl_compose_table(tasks->team, 1, XYLEM_FLAG_PARTS,
                                     farewell_done, tasks, &nothing, &farewell);
    if (status != XYLEM_OK) {
        if (request != NULL)
            xyl_request_discard(&request->request);
        xyl_compose_refuse(tasks->team, status);
        return status;
    }
    tasks->magic = 0;
    tasks->farewell = &farewell->request;
    *request_out = &request->request;
    (void)xyl_request_start(tasks->farewell);
    return xyl_request_start(&request->request);
}

xylem_status_t xylem_tasks_iclose(xylem_tasks_t *tasks,
                                  xylem_request_t **request_out)
{
    if (request_out == NULL)
        return xyl_refuse("xylem_tasks_iclose", "request_out is NULL");
    return close_begin(tasks, "xylem_tasks_iclose", request_out);
}

xylem_status_t xylem_tasks_close(xylem_tasks_t *tasks)
{
    static const char name[] = "xylem_tasks_close";
    xylem_request_t *request;
    xylem_status_t status;

    if (tasks == NULL)
        return XYLEM_OK;
    status = xyl_tasks_check(tasks, name);
    if (status == XYLEM_OK)
        status = xyl_context_may_block(tasks->context, name);
    if (status == XYLEM_OK)
        status = close_begin(tasks, name, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}

/* ---- opening ---- */

/* All offers have come, or cannot come. Adds the table to the context's list,
 * whose tables are told of failures. An earlier failure of the team is not told
 * again, so this function looks for it. */
static void offers_came(void *arg, xylem_status_t status)
{
    tasks_request_t *request = arg;
    xylem_tasks_t *tasks = request->tasks;

    LIST_INSERT_HEAD(&xyl_tasks_of_context(tasks->context)->tables, tasks,
                     others);
    if (status == XYLEM_OK && xyl_team_has_failed(tasks->team))
        status = tasks->team->failure.status;
    if (status == XYLEM_OK) {
        memcpy(tasks->offers, request->offers,
               tasks->size * sizeof *tasks->offers);
        status = xyl_serve_begin(tasks);
    }
    if (status == XYLEM_OK) {
        *request->tasks_out = tasks;
    } else {
        /* Other ranks may have the offers, and send here: the slot is lost. */
        if (!xyl_team_has_failed(tasks->team))
            xyl_failure_raise(tasks->team, status, tasks->context->rank,
                              xylem_status_text(status));
        tasks->outcome = status;
        tasks->has_failed = 1;
        tasks->is_over = 1;
        xyl_tasks_shut(tasks);
    }
    xyl_request_complete(&request->request, status);
}

static xylem_status_t check_entry(const xylem_task_entry_t *entry, uint32_t i)
{
    if (entry->args_min > entry->args_max ||
        entry->args_max > XYLEM_TASK_ARGS_MAX ||
        entry->payload_min > entry->payload_max)
        return xyl_refuse(
            "xylem_tasks_open",
            "entry %u takes %zu to %zu bytes of arguments, of which there are "
            "%d at most, and %zu to %zu of payload",
            i, entry->args_min, entry->args_max, XYLEM_TASK_ARGS_MAX,
            entry->payload_min, entry->payload_max);
    return XYLEM_OK;
}

/* Reads entries, each as large as the caller's header has it. */
static xylem_status_t entries_read(xylem_tasks_t *tasks,
                                   const xylem_tasks_params_t *params)
{
    const char *given = (const char *)params->entries;
    size_t bytes = params->entry_count == 0 ? 0 : params->entries->struct_bytes;
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    tasks->entries = calloc(params->entry_count + 1, sizeof *tasks->entries);
    if (tasks->entries == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a table of tasks");
    tasks->entry_count = params->entry_count;
    for (i = 0; i < params->entry_count && status == XYLEM_OK; i++) {
        xylem_task_entry_t *own = &tasks->entries[i].given;
        status = xyl_members_read(
            "xylem_tasks_open", "an entry", given + i * bytes,
            XYL_BYTES_UP_TO(xylem_task_entry_t, payload_max), own, sizeof *own);
        if (status == XYLEM_OK)
            status = check_entry(own, i);
    }
    return status;
}

static xylem_status_t params_read(const xylem_tasks_params_t *given,
                                  xylem_tasks_params_t *params)
{
    xylem_status_t status = XYLEM_OK;

    *params = (xylem_tasks_params_t)XYLEM_TASKS_PARAMS_INIT;
    if (given != NULL)
        status =
            xyl_members_read("xylem_tasks_open", "params", given,
                             XYL_BYTES_UP_TO(xylem_tasks_params_t, credits),
                             params, sizeof *params);
    if (status != XYLEM_OK)
        return status;
    if (params->credits == 0)
        params->credits = CREDITS;
    if (params->credits > XYLEM_TASK_CREDITS_MAX ||
        params->entry_count > ENTRIES_MAX ||
        (params->entries == NULL && params->entry_count != 0))
        return xyl_refuse("xylem_tasks_open",
                          "%u credits (at most %d), %u entries (at most %d), "
                          "or entries is NULL",
                          params->credits, XYLEM_TASK_CREDITS_MAX,
                          params->entry_count, ENTRIES_MAX);
    return XYLEM_OK;
}

static xylem_status_t tasks_fill(xylem_tasks_t *tasks,
                                 const xylem_tasks_params_t *params)
{
    uint64_t places_max =
        (uint64_t)params->credits * tasks->size + XYL_TASK_RECEIVES;
    xylem_status_t status = entries_read(tasks, params);

    if (status != XYLEM_OK)
        return status;
    tasks->credits = params->credits;
    tasks->places_max =
        places_max < UINT32_MAX ? (uint32_t)places_max : UINT32_MAX;
    tasks->offers = calloc(tasks->size, sizeof *tasks->offers);
    tasks->peers = calloc(tasks->size, sizeof(xyl_task_peer_t *));
    tasks->replies = calloc(XYL_TASK_REPLY_RECEIVES, sizeof *tasks->replies);
    if (tasks->offers == NULL || tasks->peers == NULL || tasks->replies == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a table of tasks");
    tasks->slot = xyl_context_slot_acquire(tasks->context);
    if (tasks->slot == XYL_TEAM_SLOTS)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "this rank is in %d teams already; destroy some",
                        XYL_TEAM_SLOTS);
    return XYLEM_OK;
}

static xylem_status_t tasks_create(xylem_team_t *team,
                                   const xylem_tasks_params_t *params,
                                   xylem_tasks_t **tasks_out)
{
    xylem_tasks_t *tasks = calloc(1, sizeof *tasks);
    xylem_status_t status;

    if (tasks == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a table of tasks");
    tasks->magic = XYL_TASKS_MAGIC;
    tasks->context = team->context;
    tasks->team = team;
    tasks->size = team->size;
    tasks->free_task.run = tasks_free_run;
    atomic_init(&tasks->references, 1);
    pthread_mutex_init(&tasks->lock, NULL);
    TAILQ_INIT(&tasks->kept);
    TAILQ_INIT(&tasks->posted);
    TAILQ_INIT(&tasks->served);
    TAILQ_INIT(&tasks->idle);
    status = tasks_fill(tasks, params);
    if (status != XYLEM_OK)
        tasks_release(tasks);
    else
        *tasks_out = tasks;
    return status;
}

static xylem_status_t open_create(xylem_team_t *team,
                                  const xylem_tasks_params_t *given,
                                  xylem_tasks_t **tasks_out,
                                  xylem_request_t **request_out)
{
    xylem_tasks_params_t params;
    tasks_request_t *request;
    xylem_tasks_t *tasks;
    xyl_operation_t *allreduce;
    xylem_status_t status = params_read(given, &params);
    void *offers;

    if (status == XYLEM_OK)
        status = tasks_create(team, &params, &tasks);
    if (status != XYLEM_OK)
        return status;
    request = tasks_request_create(tasks, team, &xyl_request_beside);
    status =
        request == NULL
            ? XYLEM_ERR_NO_MEMORY
            : xyl_compose_table(team, team->size * sizeof *tasks->offers, 0,
                                offers_came, request, &offers, &allreduce);
    if (status != XYLEM_OK) {
        if (request != NULL)
            xyl_request_discard(&request->request);
        xyl_context_slot_release(team->context, tasks->slot);
        tasks_release(tasks);
        return status;
    }
    request->tasks_out = tasks_out;
    request->offers = offers;
    request->offers[team->rank] = tasks->credits << 16 | tasks->slot;
    xyl_team_reference(team);
    *request_out = &request->request;
    (void)xyl_request_start(&request->request);
    return xyl_request_start(&allreduce->request);
}

/* Begins an opening; if that fails, this rank has refused the call. */
static xylem_status_t open_begin(xylem_team_t *team,
                                 const xylem_tasks_params_t *given,
                                 const char *call, xylem_tasks_t **tasks_out,
                                 xylem_request_t **request_out)
{
    xylem_status_t status;

    if (tasks_out == NULL || request_out == NULL)
        return xyl_refuse(call, "an output is NULL");
    status = open_create(team, given, tasks_out, request_out);
    if (status != XYLEM_OK)
        xyl_compose_refuse(team, status);
    return status;
}

xylem_status_t xylem_tasks_iopen(xylem_team_t *team,
                                 const xylem_tasks_params_t *params,
                                 xylem_tasks_t **tasks_out,
                                 xylem_request_t **request_out)
{
    static const char name[] = "xylem_tasks_iopen";
    xylem_status_t status = xyl_team_check(team, name);

    return status == XYLEM_OK
               ? open_begin(team, params, name, tasks_out, request_out)
               : status;
}

xylem_status_t xylem_tasks_open(xylem_team_t *team,
                                const xylem_tasks_params_t *params,
                                xylem_tasks_t **tasks_out)
{
    static const char name[] = "xylem_tasks_open";
    xylem_request_t *request = NULL;
    xylem_status_t status = xyl_team_check_may_block(team, name);

    if (status == XYLEM_OK)
        status = open_begin(team, params, name, tasks_out, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}
