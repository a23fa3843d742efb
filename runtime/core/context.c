#include "runtime/core/context.h"

#include <assert.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "progress/net/nets.h"
#include "runtime/base/descriptors.h"
#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/members.h"
#include "runtime/base/status.h"
#include "runtime/core/context_shm.h"
#include "runtime/core/context_switches.h"
#include "runtime/core/detach.h"
#include "runtime/core/failure.h"
#include "runtime/core/liveness.h"
#include "runtime/core/notice.h"
#include "runtime/core/proxy.h"
#include "runtime/core/recorder.h"
#include "runtime/core/request.h"
#include "runtime/core/team.h"
#include "runtime/core/watch.h"
#include "runtime/job/peers.h"
#include "runtime/job/topology.h"

/* ---- handles ---- */

enum { BURIED_MAX = 16 };

/* Contexts that were destroyed last: kept, empty, so that a handle used after
 * its destruction is recognised. Part of the process's state; see
 * docs/architecture.md. */
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

xylem_status_t xyl_context_check(const xylem_context_t *context,
                                 const char *call)
{
    if (context == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: the context is NULL",
                        call);
    if (context->magic != XYL_CONTEXT_MAGIC)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: this is no context, or it was destroyed", call);
    return XYLEM_OK;
}

/* ---- slots ---- */

uint32_t xyl_context_slot_acquire(xylem_context_t *context)
{
    uint64_t slot;

    pthread_mutex_lock(&context->lock);
    slot = xyl_bits_take_from(context->team_slots, context->slot_next,
                              XYL_TEAM_SLOTS);
    context->slot_next = slot + 1;
    pthread_mutex_unlock(&context->lock);
    return (uint32_t)slot;
}

void xyl_context_slot_release(xylem_context_t *context, uint32_t slot)
{
    pthread_mutex_lock(&context->lock);
    xyl_bits_clear(context->team_slots, slot);
    pthread_mutex_unlock(&context->lock);
}

/* ---- calls ---- */

void xyl_context_call_in_words(const xylem_context_t *context, uint64_t call,
                               char *text, size_t bytes)
{
    if (context->modules->call_in_words != NULL)
        context->modules->call_in_words(call, text, bytes);
    else
        snprintf(text, bytes, "something");
}

/* ---- the progressing thread ---- */

typedef struct errand {
    xyl_task_t task;
    xyl_driver_t *driver;
    void (*run)(void *arg);
    void *arg;
    _Atomic int is_done;
} errand_t;

static void errand_run(xyl_task_t *task)
{
    errand_t *errand = XYL_HOLDER(errand_t, task, task);
    xyl_driver_t *driver = errand->driver;

    errand->run(errand->arg);
    /* Partner: the load in errand_is_done. Then it is gone. */
    atomic_store_explicit(&errand->is_done, 1, memory_order_release);
    xyl_driver_notify(driver);
}

static int errand_is_done(void *arg)
{
    errand_t *errand = arg;

    return atomic_load_explicit(&errand->is_done, memory_order_acquire);
}

void xyl_context_do(xylem_context_t *context, void (*run)(void *arg), void *arg)
{
    errand_t errand = {{.run = errand_run}, &context->driver, run, arg, 0};

    if (xyl_engine_in_callback(&context->engine)) {
        run(arg);
        return;
    }
    xyl_engine_submit(&context->engine, &errand.task);
    (void)xyl_driver_wait(&context->driver, errand_is_done, &errand,
                          UINT64_MAX);
}

/* ---- nodes ---- */

uint32_t xyl_context_nodes(const xylem_context_t *context)
{
    uint32_t rank, nodes = 0;

    for (rank = 0; rank < context->ranks; rank++)
        if (context->peers[rank].place.node >= nodes)
            nodes = context->peers[rank].place.node + 1;
    return nodes;
}

/* ---- executors ---- */

void xyl_context_execs_look_again(xylem_context_t *context)
{
    xyl_execs_t *execs = &context->execs;
    uint32_t count;

    pthread_mutex_lock(&context->lock);
    count = execs->count;
    xyl_execs_look(execs);
    if (count == 1 && execs->count != 1)
        (void)xyl_engine_source_add(&context->engine,
                                    (xyl_source_t){xyl_execs_poll, execs});
    pthread_mutex_unlock(&context->lock);
}

/* ---- creation ---- */

/* As far as it has been created. */
static void dismantle(xylem_context_t *context)
{
    context->magic = 0;
    xyl_context_shm_unwatch(context);
    xyl_liveness_stop(context);
    if (context->driver.engine != NULL)
        xyl_driver_stop(&context->driver);
    if (context->net != NULL) {
        xyl_notices_stop(context);
        context->net->ops->destroy(context->net);
    }
    if (context->bootstrap != NULL)
        context->bootstrap->ops->destroy(context->bootstrap);
    xyl_notices_fini(context);
    xyl_detached_abandon(context);
    while (!LIST_EMPTY(&context->zombies)) { /* the net can no longer write */
        xylem_request_t *zombie = LIST_FIRST(&context->zombies);
        LIST_REMOVE(zombie, zombies);
        xyl_request_discard(zombie);
    }
    while (!LIST_EMPTY(&context->teams))
        xyl_team_unreference(LIST_FIRST(&context->teams));
    xyl_proxies_fini(context);
    xyl_triggers_fini(context);
    xyl_lines_fini(context);
    xyl_execs_fini(&context->execs);
    xyl_heap_fini(&context->heap);
    xyl_modules_context_ends(context);
    xyl_context_shm_destroy(context);
    xyl_pool_fini(&context->pool);
    pthread_mutex_destroy(&context->lock);
    xyl_recorder_end(context);
    if (context->owns_peers)
        free(context->peers);
    xyl_config_release(&context->config);
    xyl_context_switches_free(context);
    xyl_blobs_fini(&context->hellos);
    context_bury(context);
}

/* The frame: everything that needs no other rank. Takes the settings over. */
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
    LIST_INIT(&context->zombies);
    LIST_INIT(&context->teams);
    LIST_INIT(&context->operations);
    xyl_modules_attach(parts->modules, XYL_OWNER_CONTEXT, context,
                       sizeof *context, context->attached);
    context->modules = parts->modules;
    context->config = *config;
    context->past_caches =
        config->past_caches == 0 ? UINT64_MAX : config->past_caches;
    xyl_log_level_set((xyl_log_level_t)config->log);
    xyl_pool_init(&context->pool, parts->allocator, config->pool_bytes);
    xyl_engine_init(&context->engine, parts->clock);
    pthread_mutex_init(&context->lock, NULL);
    xyl_heap_init(&context->heap);
    xyl_failures_init(context);
    xyl_triggers_init(context);
    xyl_lines_init(context);
    xyl_watch_init(context);
    status = xyl_execs_init(&context->execs, &parts->exec, &context->config,
                            parts->observer, &context->engine.ready);
    if (status == XYLEM_OK)
        xyl_context_execs_look(context);
    if (status == XYLEM_OK)
        status = xyl_modules_context_begins(context);
    if (status == XYLEM_OK)
        status = xyl_context_switches_read(context);
    if (status != XYLEM_OK)
        dismantle(context);
    else
        *context_out = context;
    return status;
}

static void net_attach(xylem_context_t *context, xyl_net_t *net)
{
    context->net = net;
    context->engine.net = net;
    net->peer_failed = xyl_context_peer_failed;
    net->peer_failed_arg = context;
}

static xylem_status_t driver_start(xylem_context_t *context,
                                   xyl_driver_mode_t mode, int shares_cores)
{
    const xyl_config_t *config = &context->config;
    xyl_driver_params_t params = {.mode = mode,
                                  .watches = 1,
                                  .spin_ns = config->spin_us * 1000,
                                  .watch_ns = config->liveness_ms * 1000000,
                                  .core = config->progress_core ==
                                                  XYL_CONFIG_NO_CORE
                                              ? -1
                                              : (int)config->progress_core,
                                  .shares_cores = shares_cores};

    return xyl_driver_start(&context->driver, &context->engine, &params);
}

static xylem_status_t world_create(xylem_context_t *context)
{
    xylem_status_t status = xyl_modules_context_joins(context);
    uint32_t slot;

    if (status != XYLEM_OK)
        return status;
    context->world = xyl_team_reserve(context, 0);
    if (context->world == NULL)
        return XYLEM_ERR_NO_MEMORY;
    slot = xyl_context_slot_acquire(context);
    assert(slot == 0);
    xyl_team_create(context, context->world, context->rank, context->ranks,
                    slot, XYL_TEAM_KEY_WORLD);
    return XYLEM_OK;
}

/* Without descriptors: there may be thousands of such contexts. */
static xylem_status_t parts_driver_start(xylem_context_t *context)
{
    xyl_driver_params_t params = {.mode = XYL_DRIVER_CALLER, .core = -1};

    return xyl_driver_start(&context->driver, &context->engine, &params);
}

/* A context whose creation has come to its end. */
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
        net_attach(context, net);
        status = xyl_context_switches_place(context);
    }
    if (status == XYLEM_OK)
        status = parts_driver_start(context);
    if (status == XYLEM_OK && parts->tells)
        status = xyl_notices_start(context);
    if (status == XYLEM_OK)
        status = world_create(context);
    return hand_over(context, status, context_out);
}

static xylem_status_t bootstrap_create(const xylem_bootstrap_t *user,
                                       const xyl_config_t *config,
                                       xyl_bootstrap_t **bootstrap_out)
{
    xylem_status_t status;

    if (user != NULL)
        status = xyl_bootstrap_user_create(user, bootstrap_out);
    else if (config->bootstrap == XYL_BOOTSTRAP_PMIX ||
             (config->bootstrap == XYL_BOOTSTRAP_AUTO &&
              xyl_bootstrap_pmix_is_offered()))
        status = xyl_bootstrap_pmix_create(bootstrap_out);
    else
        status = xyl_bootstrap_single_create(bootstrap_out);
    if (status == XYLEM_OK)
        (*bootstrap_out)->timeout_s = config->timeout_s;
    return status;
}

/* Spinning ranks that share a core would take turns of a time slice each. */
static xyl_driver_mode_t choose_mode(const xylem_context_t *context,
                                     int shares_cores)
{
    static const xyl_driver_mode_t modes[] = {
        [XYL_PROGRESS_CALLER] = XYL_DRIVER_CALLER,
        [XYL_PROGRESS_BLOCKING] = XYL_DRIVER_BLOCKING,
        [XYL_PROGRESS_THREAD] = XYL_DRIVER_THREAD};

    if (context->config.progress == XYL_PROGRESS_AUTO)
        return shares_cores ? XYL_DRIVER_BLOCKING : XYL_DRIVER_CALLER;
    return modes[context->config.progress];
}

static uint32_t local_ranks(const xylem_context_t *context)
{
    uint32_t rank, count = 0;

    for (rank = 0; rank < context->ranks; rank++)
        count += context->peers[rank].is_local;
    return count;
}

static xylem_status_t driver_choose_and_start(xylem_context_t *context,
                                              const xyl_machine_t *machine)
{
    uint32_t local = local_ranks(context);
    xyl_driver_mode_t mode = choose_mode(context, local > machine->cores);
    uint32_t threads = mode == XYL_DRIVER_THREAD ? 2 * local : local;

    return driver_start(context, mode, threads > machine->cores);
}

/* Being able to be woken costs UCX a little with every message, so it is asked
 * for only where it may be needed; how many ranks share this machine is not
 * known yet. */
static int may_sleep(const xylem_context_t *context,
                     const xyl_machine_t *machine)
{
    if (context->config.progress == XYL_PROGRESS_AUTO)
        return context->ranks > machine->cores;
    return context->config.progress != XYL_PROGRESS_CALLER;
}

static xylem_status_t net_create(xylem_context_t *context, int can_sleep)
{
    const xyl_net_params_t params = {.rank = context->rank,
                                     .ranks = context->ranks,
                                     .can_sleep = can_sleep,
                                     .ready = &context->engine.ready};
    xyl_net_t *net;
    xylem_status_t status = xyl_net_create(
        (const char *)(uintptr_t)context->config.net, &params, &net);

    if (status == XYLEM_OK)
        net_attach(context, net);
    return status;
}

static xylem_status_t net_connect(xylem_context_t *context,
                                  const void *const *addresses)
{
    const xyl_net_ops_t *ops = context->net->ops;
    xylem_status_t status;
    uint8_t *is_local;
    uint32_t rank;

    if (ops->connect == NULL)
        return XYLEM_OK;
    is_local = calloc(context->ranks, 1);
    if (is_local == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for peers");
    for (rank = 0; rank < context->ranks; rank++)
        is_local[rank] = context->peers[rank].is_local;
    status = ops->connect(context->net, context->ranks, addresses, is_local);
    free(is_local);
    return status;
}

/* Tells the other ranks and asks them, also when this one gives up with
 * `status`; *addresses_out: of their nets, from malloc, also after a failure.
 */
static xylem_status_t meet_peers(xylem_context_t *context,
                                 const xyl_machine_t *machine,
                                 xylem_status_t status,
                                 const void ***addresses_out)
{
    xyl_net_t *net = context->net;
    xyl_shm_member_t offer;
    xyl_peers_mine_t mine = {.status = status,
                             .config = &context->config,
                             .place = &machine->place,
                             .offer = &offer,
                             .offer_bytes = sizeof offer};
    xyl_peers_t peers;

    if (status == XYLEM_OK) {
        mine.net = net->ops->name;
        if (net->ops->address != NULL)
            mine.address = net->ops->address(net, &mine.address_bytes);
        xyl_context_shm_prepare(context, &offer);
    }
    status = xyl_peers_exchange(context->bootstrap, &mine, &peers);
    context->peers = peers.all;
    context->owns_peers = 1;
    context->hellos = peers.hellos;
    context->tables_differ = peers.tables_differ;
    xyl_context_budget_set(context, peers.node_ranks_max);
    *addresses_out = peers.addresses;
    return status;
}

/* What messages will need, and is not open yet: connections to other machines
 * take up to two each, and a few ranks are enough for whoever is in trees; on
 * this machine UCX opens what it maps for a moment. A rank that cannot answer
 * when it is asked would leave the others waiting, so it says so now. */
static xylem_status_t spare_descriptors(xylem_context_t *context, int may_sleep)
{
    enum { FOR_A_MOMENT = 12, OF_PEER = 2, OTHERS_MAX = 16 };
    unsigned local = local_ranks(context), others = context->ranks - local;
    unsigned needed =
        FOR_A_MOMENT + OF_PEER * (others < OTHERS_MAX ? others : OTHERS_MAX);

    /* To wake the others, and to read what they share. */
    if (xyl_descriptors_are_left(needed + (may_sleep ? OF_PEER : 1) * local))
        return XYLEM_OK;
    xyl_liveness_spare_descriptors(context);
    if (xyl_descriptors_are_left(needed))
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                    "too few descriptors: %u more are needed (ulimit -n)",
                    needed);
}

/* All that may still fail on this rank. */
static xylem_status_t parts_start(xylem_context_t *context,
                                  const xyl_machine_t *machine,
                                  const void *const *addresses,
                                  xyl_shm_trouble_t *trouble_out)
{
    int may_sleep =
        choose_mode(context, local_ranks(context) > machine->cores) !=
        XYL_DRIVER_CALLER;
    xylem_status_t status = xyl_context_switches_place(context);

    *trouble_out = xyl_context_shm_join(context, may_sleep);
    if (status == XYLEM_OK)
        status = net_connect(context, addresses);
    if (status == XYLEM_OK)
        status = driver_choose_and_start(context, machine);
    if (status == XYLEM_OK)
        status = xyl_notices_start(context);
    if (status == XYLEM_OK)
        status = world_create(context);
    if (status == XYLEM_OK)
        status = xyl_liveness_start(context);
    if (status == XYLEM_OK)
        xyl_watch_start(context);
    if (status == XYLEM_OK)
        status = xyl_context_shm_watch(context);
    if (status == XYLEM_OK)
        status = xyl_driver_thread_start(&context->driver);
    if (status == XYLEM_OK)
        status = spare_descriptors(context, may_sleep);
    return status;
}

/* What a rank says last of its start. */
typedef struct outcome {
    uint32_t status;
    uint32_t trouble; /* xyl_shm_trouble_t */
} outcome_t;

static xylem_status_t outcomes_read(const xylem_context_t *context,
                                    const xyl_blobs_t *all,
                                    xyl_shm_trouble_t *troubles)
{
    uint32_t rank;

    for (rank = 0; rank < context->ranks; rank++) {
        const outcome_t *outcome =
            (const void *)(all->memory + all->offsets[rank]);
        if (all->offsets[rank + 1] - all->offsets[rank] != sizeof *outcome)
            return xyl_peer_gives_up(rank, XYLEM_ERR_BOOTSTRAP);
        if (outcome->status != XYLEM_OK)
            return xyl_peer_gives_up(rank, outcome->status);
        troubles[rank] = outcome->trouble < XYL_SHM_TROUBLES
                             ? (xyl_shm_trouble_t)outcome->trouble
                             : XYL_SHM_LAYOUT;
    }
    return XYLEM_OK;
}

/* The context is created on all ranks, or on none. */
static xylem_status_t agree_on_start(xylem_context_t *context,
                                     xylem_status_t status,
                                     xyl_shm_trouble_t trouble)
{
    xyl_shm_trouble_t *troubles = calloc(context->ranks, sizeof *troubles);
    outcome_t mine = {(uint32_t)status, (uint32_t)trouble};
    xyl_blobs_t all = {NULL, NULL};
    xylem_status_t told;

    if (status == XYLEM_OK && troubles == NULL) {
        status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for the others");
        mine.status = (uint32_t)status;
    }
    told = context->bootstrap->ops->exchange(context->bootstrap, &mine,
                                             sizeof mine, &all);
    if (status == XYLEM_OK)
        status = told;
    if (status == XYLEM_OK)
        status = outcomes_read(context, &all, troubles);
    if (status == XYLEM_OK) {
        xyl_context_shm_settle(context, troubles);
        xyl_driver_thread_let_go(&context->driver);
    }
    xyl_blobs_fini(&all);
    free(troubles);
    return status;
}

/* Creates the net, meets the other ranks, and connects. A rank where something
 * fails, also before (`status`), takes part in both exchanges all the same: the
 * others wait for it. Of another version nobody knows what it exchanges next.
 */
static xylem_status_t net_join(xylem_context_t *context,
                               const xyl_machine_t *machine,
                               xylem_status_t status)
{
    xyl_shm_trouble_t trouble = XYL_SHM_FINE;
    const void **addresses = NULL;

    if (status == XYLEM_OK)
        status = net_create(context, may_sleep(context, machine));
    status = meet_peers(context, machine, status, &addresses);
    if (status == XYLEM_OK)
        status = parts_start(context, machine, addresses, &trouble);
    free(addresses);
    if (status == XYLEM_ERR_VERSION || context->bootstrap->is_broken)
        return status;
    return agree_on_start(context, status, trouble);
}

/* NULL: all is as the library chooses. */
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

/* An eighth: send and receive buffers, what is shared between, and what the
 * program does with them want the caches, too. */
static void set_past_caches(xylem_context_t *context,
                            const xyl_machine_t *machine)
{
    if (context->config.past_caches == 0 && machine->cache_bytes >= 8)
        context->past_caches = machine->cache_bytes / 8;
}

/* Writing to lines that another core has read takes several times as long until
 * they have left that core's own cache: so as much as twice all of these, but
 * no more than a quarter of what keeps the memory itself out of it. */
static void set_reuse_bytes(xylem_context_t *context,
                            const xyl_machine_t *machine)
{
    uint64_t local = local_ranks(context);
    uint64_t own = 2 * machine->own_cache_bytes * local;
    uint64_t all = machine->cache_bytes * local / 4;

    context->reuse_bytes = own < all ? own : all;
}

static xylem_status_t job_join(xylem_context_t *context,
                               const xylem_bootstrap_t *user)
{
    xyl_machine_t machine;
    xylem_status_t status =
        bootstrap_create(user, &context->config, &context->bootstrap);

    if (status != XYLEM_OK)
        return status;
    context->rank = context->bootstrap->rank;
    context->ranks = context->bootstrap->ranks;
    if (context->ranks > XYL_TEAM_SIZE_MAX)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "a job of %u ranks: there may be %d", context->ranks,
                        XYL_TEAM_SIZE_MAX);
    xyl_log_rank_set(context->rank);
    status = xyl_recorder_begin(context);
    xyl_machine_read(&machine);
    set_past_caches(context, &machine);
    status = net_join(context, &machine, status);
    if (status == XYLEM_OK)
        set_reuse_bytes(context, &machine);
    return status;
}

/* Without a frame there is no context, but the other ranks wait for this one in
 * both exchanges. What it fails with stays the text of the last error. */
static void give_up_aloud(const xylem_bootstrap_t *user,
                          const xyl_config_t *config, xylem_status_t why)
{
    const xyl_peers_mine_t mine = {.status = why};
    const outcome_t outcome = {(uint32_t)why, XYL_SHM_FINE};
    xyl_blobs_t all = {NULL, NULL};
    xyl_bootstrap_t *bootstrap;
    xyl_peers_t peers;
    char text[256];

    snprintf(text, sizeof text, "%s", xylem_last_error());
    if (bootstrap_create(user, config, &bootstrap) == XYLEM_OK) {
        (void)xyl_peers_exchange(bootstrap, &mine, &peers);
        if (!bootstrap->is_broken)
            (void)bootstrap->ops->exchange(bootstrap, &outcome, sizeof outcome,
                                           &all);
        xyl_blobs_fini(&all);
        xyl_blobs_fini(&peers.hellos);
        free(peers.addresses);
        free(peers.all);
        bootstrap->ops->destroy(bootstrap);
    }
    (void)xyl_explain(why, "%s", text);
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
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_context_create: context_out is NULL");
    status = params_read(given, &params);
    if (status != XYLEM_OK)
        return status;
    xyl_config_files_find(&files);
    xyl_config_apply_log(&files, params.settings);
    parts.files = &files;
    parts.settings = params.settings;
    status = xyl_config_load(&files, params.settings, &config, NULL);
    if (status == XYLEM_OK)
        status = frame_create(&parts, &config, &context);
    if (status != XYLEM_OK) {
        give_up_aloud(params.bootstrap, &config, status);
        return status;
    }
    status = job_join(context, params.bootstrap);
    return hand_over(context, status, context_out);
}

/* ---- destruction ---- */

/* A launcher that does not take note of the dead must not hold the others. */
#define FENCE_AFTER_FAILURE_NS_MAX (UINT64_C(5) * 1000000000)

static int context_has_failures(const xylem_context_t *context)
{
    return atomic_load_explicit(&context->failures, memory_order_acquire) != 0;
}

/* The net is empty here, or a peer is gone and it never will be. */
static int is_flushed(void *arg)
{
    xylem_context_t *context = arg;
    int flushed = 0;

    if (context_has_failures(context))
        return 1;
    if (xyl_engine_try_own(&context->engine)) {
        flushed = context->net->ops->is_flushed(context->net);
        xyl_engine_disown(&context->engine);
    }
    return flushed;
}

static int is_fenced(void *arg)
{
    xylem_context_t *context = arg;
    const xyl_bootstrap_ops_t *ops = context->bootstrap->ops;

    return (context_has_failures(context) && !ops->fence_outlives_ranks) ||
           ops->fence_test(context->bootstrap) != XYLEM_IN_PROGRESS;
}

/* Nobody takes its net down while another still needs it. Survivors of a
 * failure wait for each other, too: who is gone early is taken for dead. */
static void meet_the_others(xylem_context_t *context)
{
    uint64_t limit_ns = context->config.timeout_s * UINT64_C(1000000000);
    xyl_bootstrap_t *bootstrap = context->bootstrap;

    if (!xyl_context_drain(context, limit_ns) ||
        xyl_driver_wait(&context->driver, is_flushed, context, limit_ns) !=
            XYLEM_OK)
        xyl_log(XYL_LOG_WARN, "messages are left undelivered after %llu s",
                (unsigned long long)context->config.timeout_s);
    context->is_leaving = 1;
    if ((context_has_failures(context) &&
         !bootstrap->ops->fence_outlives_ranks) ||
        bootstrap->ops->fence_start(bootstrap) != XYLEM_OK)
        return;
    if (context_has_failures(context) && limit_ns > FENCE_AFTER_FAILURE_NS_MAX)
        limit_ns = FENCE_AFTER_FAILURE_NS_MAX;
    if (xyl_driver_wait(&context->driver, is_fenced, context, limit_ns) !=
        XYLEM_OK)
        xyl_log(XYL_LOG_WARN,
                "not all ranks destroyed their context within %llu s",
                (unsigned long long)context->config.timeout_s);
}

static int has_no_own_requests(void *arg)
{
    xylem_context_t *context = arg;

    return atomic_load_explicit(&context->requests_own, memory_order_acquire) ==
           0;
}

xylem_status_t xylem_context_destroy(xylem_context_t *context)
{
    xylem_status_t status;
    uint32_t live;

    if (context == NULL)
        return XYLEM_OK;
    status = xyl_context_check(context, "xylem_context_destroy");
    if (status != XYLEM_OK)
        return status;
    if (xyl_engine_in_callback(&context->engine))
        return xyl_fail(XYLEM_ERR_IN_CALLBACK,
                        "xylem_context_destroy: a callback must not block");
    if (xyl_driver_wait(&context->driver, has_no_own_requests, context,
                        context->config.timeout_s * UINT64_C(1000000000)) !=
        XYLEM_OK)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_context_destroy: calls are still being compared "
                        "(XYLEM_CHECK)");
    live = atomic_load_explicit(&context->requests_live, memory_order_acquire);
    if (live != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_context_destroy: %u requests that are not "
                        "freed, or remote tasks that have not ended",
                        live);
    xyl_driver_leave_to_caller(&context->driver);
    xyl_driver_turn(&context->driver); /* a request that was freed just now */
    if (context->bootstrap != NULL)
        meet_the_others(context);
    dismantle(context);
    return XYLEM_OK;
}

/* ---- the rest of the public functions ---- */

unsigned xylem_progress(xylem_context_t *context)
{
    if (xyl_context_check(context, "xylem_progress") != XYLEM_OK)
        return 0;
    return xyl_driver_turn(&context->driver);
}

xylem_team_t *xylem_context_world(xylem_context_t *context)
{
    if (xyl_context_check(context, "xylem_context_world") != XYLEM_OK)
        return NULL;
    return context->world;
}
