#include "runtime/assembly/context_create.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/assembly/context_join.h"
#include "runtime/assembly/context_leave.h"
#include "runtime/assembly/tracing.h"
#include "runtime/base/launched.h"
#include "runtime/base/log.h"
#include "runtime/base/members.h"
#include "runtime/base/standard.h"
#include "runtime/base/status.h"
#include "runtime/core/context_shm.h"
#include "runtime/core/context_switches.h"
#include "runtime/core/detach.h"
#include "runtime/core/request.h"
#include "runtime/core/team.h"
#include "runtime/faults/liveness.h"
#include "runtime/faults/node_watch.h"
#include "runtime/faults/notice.h"

/* ---- the end ---- */

enum { BURIED_MAX = 16 };

/* The contexts that were destroyed last, empty (docs/architecture.md). */
static xylem_context_t *buried[BURIED_MAX];
static unsigned burials;
static pthread_mutex_t buried_lock = PTHREAD_MUTEX_INITIALIZER;

static void context_bury(xylem_context_t *context)
{
    xylem_context_t **place, *oldest;

    pthread_mutex_lock(&buried_lock);
    place = &buried[burials++ % BURIED_MAX];
    oldest = *place;
    *place = context;
    pthread_mutex_unlock(&buried_lock);
    free(oldest);
}

/* Ends a context, as far as it has been created. */
static void dismantle(xylem_context_t *context)
{
    context->magic = 0;
    xyl_context_shm_unwatch(context);
    xyl_liveness_stop(context);
    xyl_node_watch_stop(context);
    if (context->driver.engine != NULL)
        xyl_driver_stop(&context->driver);
    if (context->net != NULL) {
        xyl_notices_stop(context);
        context->net->ops->destroy(context->net);
    }
    if (context->job.bootstrap != NULL)
        context->job.bootstrap->ops->destroy(context->job.bootstrap);
    xyl_detach_abandon(context);
    xyl_requests_abandon(context);
    while (!LIST_EMPTY(&context->teams))
        xyl_team_unreference(LIST_FIRST(&context->teams));
    xyl_modules_context_ends(context);
    xyl_execs_fini(&context->execs);
    xyl_heap_fini(&context->heap);
    xyl_context_shm_destroy(context);
    xyl_pool_fini(&context->pool);
    pthread_mutex_destroy(&context->lock);
    xyl_tracing_end(context);
    free(context->job.met.all);
    xyl_config_release(&context->config);
    xyl_blobs_fini(&context->job.met.hellos);
    xyl_blobs_fini(&context->job.reaches);
    context_bury(context);
}

/* ---- creation ---- */

/* Creates the frame: all that needs no other rank. Takes the settings over. */
static xylem_status_t frame_create(const xyl_context_parts_t *parts,
                                   const xyl_config_t *config,
                                   xylem_context_t **context_out)
{
    xylem_context_t *context;
    xylem_status_t status;
    size_t bytes;

    bytes =
        xyl_modules_bytes(parts->modules, XYL_OWNER_CONTEXT, sizeof *context);
    context =
        aligned_alloc(XYL_MEMORY_ALIGN, (bytes + XYL_MEMORY_ALIGN - 1) &
                                            ~(size_t)(XYL_MEMORY_ALIGN - 1));
    if (context == NULL) {
        xyl_config_release(config);
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a context");
    }
    memset(context, 0, bytes);
    xyl_modules_attach(parts->modules, XYL_OWNER_CONTEXT, context,
                       sizeof *context, context->attached);
    context->modules = parts->modules;
    context->config = *config;
    context->sizes.past_caches =
        config->past_caches == 0 ? UINT64_MAX : config->past_caches;
    xyl_log_level_set((xyl_log_level_t)config->log);
    xyl_pool_init(&context->pool, parts->allocator, config->pool_bytes);
    xyl_engine_init(&context->engine, parts->clock);
    pthread_mutex_init(&context->lock, NULL);
    xyl_heap_init(&context->heap);
    status = xyl_execs_init(&context->execs, &parts->exec, &context->config,
                            parts->observer, &context->engine.ready);
    if (status == XYLEM_OK)
        xyl_context_execs_look(context);
    if (status == XYLEM_OK)
        status = xyl_modules_context_begins(context);
    if (status != XYLEM_OK)
        dismantle(context);
    else
        *context_out = context;
    return status;
}

static xylem_status_t hand_over(xylem_context_t *context, xylem_status_t status,
                                xylem_context_t **context_out)
{
    if (status != XYLEM_OK) {
        dismantle(context);
        return status;
    }
    context->magic = XYL_CONTEXT_MAGIC;
    *context_out = context;
    return XYLEM_OK;
}

xylem_status_t xyl_context_create_of_parts(const xyl_context_parts_t *parts,
                                           xylem_context_t **context_out)
{
    xylem_context_t *context;
    /* Without descriptors: there may be thousands of such contexts. */
    const xyl_driver_params_t params = {.mode = XYL_DRIVER_CALLER, .core = -1};
    xyl_config_t config;
    xyl_net_t *net;
    xylem_status_t status =
        xyl_config_load(parts->files, parts->settings, &config, NULL);

    if (status == XYLEM_OK)
        status = frame_create(parts, &config, &context);
    if (status != XYLEM_OK)
        return status;
    context->rank = parts->rank;
    context->ranks = parts->ranks;
    context->peers = parts->peers;
    xyl_context_budget_set(context, parts->node_ranks_max);
    context->shm = context->heap.shm = parts->shm;
    context->all_nodes_share = parts->shm != NULL;
    context->observer = parts->observer;
    status =
        parts->net->create(&(xyl_net_params_t){.rank = parts->rank,
                                               .ranks = parts->ranks,
                                               .ready = &context->engine.ready,
                                               .arg = parts->net_arg},
                           &net);
    if (status == XYLEM_OK) {
        xyl_context_net_attach(context, net);
        status = xyl_context_switches_place(context);
    }
    if (status == XYLEM_OK)
        status = xyl_driver_start(&context->driver, &context->engine, &params);
    if (status == XYLEM_OK && parts->tells)
        status = xyl_notices_start(context);
    if (status == XYLEM_OK)
        status = xyl_context_world_create(context);
    return hand_over(context, status, context_out);
}

static xylem_status_t params_read(const xylem_context_params_t *given,
                                  xylem_context_params_t *params)
{
    *params = (xylem_context_params_t){.struct_bytes = sizeof *params};
    return given == NULL
               ? XYLEM_OK
               : xyl_members_read(
                     "xylem_context_create", "params", given,
                     XYL_BYTES_UP_TO(xylem_context_params_t, settings), params,
                     sizeof *params);
}

/* 1: this is rank 0, as far as that is known before the ranks meet. */
static int is_first_rank(const xylem_bootstrap_t *bootstrap)
{
    return bootstrap != NULL && bootstrap->struct_bytes >=
                                    XYL_BYTES_UP_TO(xylem_bootstrap_t, rank)
               ? bootstrap->rank == 0
               : xyl_launched_rank() <= 0;
}

xylem_status_t xyl_context_create(const xylem_context_params_t *given,
                                  const xyl_modules_t *modules,
                                  xylem_context_t **context_out)
{
    xyl_context_parts_t parts = {.modules = modules,
                                 .allocator = xyl_allocator_system(),
                                 .clock = xyl_clock_system()};
    xylem_context_params_t params;
    xyl_config_files_t files;
    xylem_context_t *context;
    xyl_config_t config;
    xylem_status_t status;

    xyl_config_apply_log(NULL, NULL);
    if (context_out == NULL)
        return xyl_refuse("xylem_context_create", "context_out is NULL");
    status = params_read(given, &params);
    if (status != XYLEM_OK)
        return status;
    xyl_standard_open();
    xyl_log_hold(is_first_rank(params.bootstrap));
    xyl_config_files_find(&files);
    xyl_config_apply_log(&files, params.settings);
    parts.files = &files;
    parts.settings = params.settings;
    status = xyl_config_load(&files, params.settings, &config, NULL);
    if (status == XYLEM_OK)
        status = frame_create(&parts, &config, &context);
    if (status != XYLEM_OK) {
        xyl_context_give_up(params.bootstrap, &config, status);
    } else {
        status = xyl_context_join(context, params.bootstrap);
        status = hand_over(context, status, context_out);
    }
    xyl_log_let_go();
    return status;
}

/* ---- destruction ---- */

typedef struct drain {
    xylem_context_t *context;
    uint32_t held; /* active requests that the user has to wait for */
} drain_t;

/* 1: no request is under way, or the user has to wait for one. */
static int requests_are_over(void *arg)
{
    drain_t *drain = arg;
    int are_under_way;

    drain->held = xyl_requests_look(drain->context, &are_under_way);
    return drain->held != 0 || !are_under_way;
}

/* Waits for requests that free themselves and for callbacks to return. */
static xylem_status_t drain(xylem_context_t *context)
{
    uint64_t limit_s = context->config.timeout_s;
    drain_t drain = {context, 0};
    xylem_status_t status =
        xyl_driver_wait(&context->driver, requests_are_over, &drain,
                        limit_s * UINT64_C(1000000000));
    uint32_t tasks;

    if (drain.held != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_context_destroy: active requests: %u; wait for "
                        "them first",
                        drain.held);
    if (status != XYLEM_OK)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_context_destroy: requests with "
                        "XYLEM_FLAG_AUTOFREE are active still after %llu s "
                        "(XYLEM_TIMEOUT_S)",
                        (unsigned long long)limit_s);
    tasks = xyl_modules_held(context);
    if (tasks != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_context_destroy: remote tasks that have not "
                        "ended, and resident kernels: %u",
                        tasks);
    return XYLEM_OK;
}

/* Waits for a thread that may still be in its turn, though its callback has
 * told this thread that all is over. */
static void last_turn(xylem_context_t *context)
{
    while (!xyl_engine_try_own(&context->engine))
        sched_yield();
    xyl_engine_turn(&context->engine); /* discards requests freed just now */
    xyl_engine_disown(&context->engine);
}

xylem_status_t xylem_context_destroy(xylem_context_t *context)
{
    xylem_status_t status;

    if (context == NULL)
        return XYLEM_OK;
    status = xyl_context_check(context, "xylem_context_destroy");
    if (status != XYLEM_OK)
        return status;
    if (xyl_engine_in_callback(&context->engine))
        return xyl_fail(XYLEM_ERR_IN_CALLBACK,
                        "xylem_context_destroy: a callback must not block");
    status = drain(context);
    if (status != XYLEM_OK)
        return status;
    xyl_driver_leave_to_caller(&context->driver);
    last_turn(context);
    if (context->job.bootstrap != NULL)
        xyl_context_leave(context);
    dismantle(context);
    return XYLEM_OK;
}
