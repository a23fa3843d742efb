#include "runtime/assembly/context_join.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "progress/net/nets.h"
#include "runtime/assembly/tracing.h"
#include "runtime/base/descriptors.h"
#include "runtime/base/launched.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/core/context_shm.h"
#include "runtime/core/context_switches.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/hangs.h"
#include "runtime/faults/liveness.h"
#include "runtime/faults/node_watch.h"
#include "runtime/faults/notice.h"
#include "runtime/job/peers.h"
#include "runtime/job/reach.h"
#include "runtime/job/topology.h"

/* ---- the parts ---- */

/* A launcher that does not offer PMIx makes each process a job of its own,
 * where the user meant one job. */
static void warn_of_launcher(void)
{
    static const char *const sizes[] = {"PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes && xyl_launched_rank() <= 0;
         i++) {
        const char *size = getenv(sizes[i]);
        if (size == NULL || strtoul(size, NULL, 10) <= 1)
            continue;
        xyl_log(XYL_LOG_WARN,
                "a launcher has started %s processes (%s), and does not offer "
                "PMIx: each is a job of its own; xylem-run, Open MPI's mpirun "
                "and srun --mpi=pmix do (XYLEM_BOOTSTRAP=single: so be it)",
                size, sizes[i]);
        return;
    }
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
    if (user == NULL && config->bootstrap == XYL_BOOTSTRAP_AUTO &&
        !xyl_bootstrap_pmix_is_offered())
        warn_of_launcher();
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

/* How many cores this machine's ranks may run on, all together. */
static uint32_t local_cores(const xylem_context_t *context)
{
    xyl_cpus_t all = {{0}};
    uint32_t rank, i;

    for (rank = 0; rank < context->ranks; rank++) {
        const xyl_cpus_t *cpus = xyl_peers_cpus(&context->job.met.hellos, rank);
        for (i = 0; i < XYL_CPUS_MAX / 64; i++)
            if (context->peers[rank].is_local)
                all.bits[i] |= cpus->bits[i];
    }
    return xyl_cores_of(&all);
}

static xylem_status_t driver_choose_and_start(xylem_context_t *context,
                                              xyl_driver_mode_t mode,
                                              uint32_t cores)
{
    const xyl_config_t *config = &context->config;
    uint32_t local = local_ranks(context);
    uint32_t threads = mode == XYL_DRIVER_THREAD ? 2 * local : local;
    xyl_driver_params_t params = {.mode = mode,
                                  .watches = 1,
                                  .spin_ns = config->spin_us * 1000,
                                  .watch_ns = config->liveness_ms * 1000000,
                                  .core = config->progress_core ==
                                                  XYL_CONFIG_NO_CORE
                                              ? -1
                                              : (int)config->progress_core,
                                  .shares_cores = threads > cores};

    return xyl_driver_start(&context->driver, &context->engine, &params);
}

/* A net that can wake a sleeper costs UCX a little with every message, so only
 * ranks that may sleep ask for it. */
static xylem_status_t net_create(xylem_context_t *context, int can_sleep)
{
    const xyl_net_params_t params = {.rank = context->rank,
                                     .ranks = context->ranks,
                                     .are_together =
                                         context->job.met.are_together,
                                     .can_sleep = can_sleep,
                                     .ready = &context->engine.ready};
    xyl_net_t *net;
    xylem_status_t status = xyl_nets_create(
        (const char *)(uintptr_t)context->config.net, &params, &net);

    if (status == XYLEM_OK)
        xyl_context_net_attach(context, net);
    return status;
}

/* Returns the rank to which this rank connects at once: the next rank on this
 * machine, if the node's ranks share no memory; else the number of ranks, which
 * means none. If the net cannot connect the two ranks, the context's creation
 * fails now. Without this check the first collective would wait for ever. */
static uint32_t first_to_connect(const xylem_context_t *context)
{
    uint32_t i, rank;

    for (i = 1; i < context->ranks && !xyl_context_shm_is_open(context); i++) {
        rank = (context->rank + i) % context->ranks;
        if (context->peers[rank].is_local)
            return rank;
    }
    return context->ranks;
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
    status = ops->connect(context->net, context->ranks, addresses, is_local,
                          first_to_connect(context));
    free(is_local);
    return status;
}

/* ---- the first exchange: who the ranks are ---- */

/* Exchanges descriptions with the other ranks, also if this one gives up with
 * `status`. */
static xylem_status_t meet_peers(xylem_context_t *context,
                                 xylem_status_t status)
{
    xyl_shm_member_t offer;
    const xyl_peers_mine_t mine = {.status = status,
                                   .config = &context->config,
                                   .offer = &offer,
                                   .offer_bytes = sizeof offer};

    if (status == XYLEM_OK)
        xyl_context_shm_prepare(context, &offer);
    status =
        xyl_peers_exchange(context->job.bootstrap, &mine, &context->job.met);
    context->peers = context->job.met.all;
    xyl_context_budget_set(context, context->job.met.node_ranks_max);
    return status;
}

/* ---- the second: how to reach them ---- */

/* The lowest rank of a node reads the machine for all of the node's ranks.
 * *count_out: how many these are; unchanged on ranks that do not read. */
static xylem_status_t machine_read(const xylem_context_t *context,
                                   xyl_machine_t *machine_out,
                                   xylem_place_t **places_out,
                                   uint32_t *count_out)
{
    xyl_cpus_t *cpus;
    uint32_t node = context->peers[context->rank].place.node, rank, count = 0;

    *machine_out = (xyl_machine_t){.cores = 0};
    for (rank = 0; rank < context->rank; rank++)
        if (context->peers[rank].place.node == node)
            return XYLEM_OK;
    cpus = calloc(context->ranks, sizeof *cpus);
    *places_out = calloc(context->ranks, sizeof **places_out);
    if (cpus == NULL || *places_out == NULL) {
        free(cpus);
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to read the machine");
    }
    for (; rank < context->ranks; rank++)
        if (context->peers[rank].place.node == node)
            cpus[count++] = *xyl_peers_cpus(&context->job.met.hellos, rank);
    xyl_machine_read(cpus, count, machine_out, *places_out);
    *count_out = count;
    free(cpus);
    return XYLEM_OK;
}

/* The same as meet_peers for the second exchange. *addresses_out has the
 * addresses of the ranks' nets, from malloc, also after a failure. */
static xylem_status_t reach_peers(xylem_context_t *context,
                                  xylem_status_t status,
                                  xyl_machine_t *machine_out,
                                  const void ***addresses_out)
{
    xyl_net_t *net = context->net;
    xyl_machine_t machine;
    xylem_place_t *places = NULL;
    xyl_reach_mine_t mine = {.machine = &machine};
    xyl_reach_t reach;

    if (status == XYLEM_OK)
        status = machine_read(context, &machine, &places, &mine.place_count);
    mine.status = status;
    mine.places = places;
    if (status == XYLEM_OK) {
        xyl_node_watch_open(context, &mine.lookout);
        mine.net = net->ops->name;
        if (net->ops->address != NULL)
            mine.address = net->ops->address(net, &mine.address_bytes);
    }
    status = xyl_reach_exchange(context->job.bootstrap, &mine, context->peers,
                                &reach);
    /* From here on errors are printed at once. After the last exchange the
     * launcher may end this rank because another rank has failed, and lines
     * that were still held would be lost. */
    xyl_log_let_go();
    free(places);
    context->job.reaches = reach.blobs;
    *machine_out = reach.machine;
    *addresses_out = reach.addresses;
    return status;
}

/* ---- parts that may fail on one rank ---- */

/* Checks that descriptors are left for messages. Each connection to another
 * machine needs two, and a rank in trees has a few connections. UCX needs some
 * more for a moment, when it maps memory of this machine. A rank that lacked
 * descriptors later could not answer, and the others would wait, so the rank
 * fails now. */
static xylem_status_t spare_descriptors(xylem_context_t *context, int may_sleep)
{
    enum { FOR_A_MOMENT = 12, OF_PEER = 2, OTHERS_MAX = 16 };
    unsigned local = local_ranks(context), others = context->ranks - local;
    unsigned needed =
        FOR_A_MOMENT + OF_PEER * (others < OTHERS_MAX ? others : OTHERS_MAX);

    if (xyl_node_watch_is_open(context)) /* the listener, and both directions */
        needed += 1 + 2 * XYL_LOOKOUT_AHEAD;
    /* To wake the other local ranks, and to read the memory they share. */
    if (xyl_descriptors_are_left(needed + (may_sleep ? OF_PEER : 1) * local))
        return XYLEM_OK;
    xyl_liveness_spare_descriptors(context);
    if (xyl_descriptors_are_left(needed))
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                    "too few descriptors: %u more are needed (ulimit -n)",
                    needed);
}

static xylem_status_t parts_start(xylem_context_t *context,
                                  xyl_driver_mode_t mode, uint32_t cores,
                                  const void *const *addresses,
                                  xyl_shm_trouble_t *trouble_out)
{
    int may_sleep = mode != XYL_DRIVER_CALLER;
    xylem_status_t status = xyl_context_switches_place(context);

    *trouble_out = xyl_context_shm_join(context, may_sleep);
    if (status == XYLEM_OK)
        status = net_connect(context, addresses);
    if (status == XYLEM_OK)
        status = driver_choose_and_start(context, mode, cores);
    if (status == XYLEM_OK)
        status = xyl_notices_start(context);
    if (status == XYLEM_OK)
        status = xyl_context_world_create(context);
    if (status == XYLEM_OK)
        status = xyl_liveness_start(context);
    if (status == XYLEM_OK)
        status = xyl_node_watch_start(context);
    if (status == XYLEM_OK)
        xyl_hangs_start(context);
    if (status == XYLEM_OK)
        status = xyl_context_shm_watch(context);
    if (status == XYLEM_OK)
        status = xyl_driver_thread_start(&context->driver);
    if (status == XYLEM_OK)
        status = spare_descriptors(context, may_sleep);
    return status;
}

/* ---- the last exchange ---- */

typedef struct outcome {
    uint32_t status;
    uint32_t trouble; /* xyl_shm_trouble_t */
    uint32_t culprit;
    uint32_t unused;
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
            return xyl_peer_is_incomplete(rank);
        if (outcome->status != XYLEM_OK)
            return xyl_peer_gives_up(context->job.bootstrap, rank,
                                     outcome->status, outcome->culprit);
        troubles[rank] = outcome->trouble < XYL_SHM_TROUBLES
                             ? (xyl_shm_trouble_t)outcome->trouble
                             : XYL_SHM_LAYOUT;
    }
    return XYLEM_OK;
}

static xylem_status_t agree_on_start(xylem_context_t *context,
                                     xylem_status_t status,
                                     xyl_shm_trouble_t trouble)
{
    xyl_shm_trouble_t *troubles = calloc(context->ranks, sizeof *troubles);
    outcome_t mine = {.status = (uint32_t)status,
                      .trouble = (uint32_t)trouble,
                      .culprit = context->job.bootstrap->culprit};
    xyl_blobs_t all = {NULL, NULL};
    xylem_status_t told;

    if (status == XYLEM_OK && troubles == NULL) {
        status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for the others");
        mine.status = (uint32_t)status;
    }
    told = context->job.bootstrap->ops->exchange(context->job.bootstrap, &mine,
                                                 sizeof mine, &all);
    /* The net could not connect because a rank has died. */
    if (status == XYLEM_OK ||
        (status == XYLEM_ERR_NET && told == XYLEM_ERR_PROC_FAILED))
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

/* ---- the whole ---- */

/* Operations that write at least an eighth of a core's cache copy past the
 * caches, since send and receive buffers, the windows between them and the
 * program's own data need room there, too. */
static void set_past_caches(xylem_context_t *context,
                            const xyl_machine_t *machine)
{
    if (context->config.past_caches == 0 && machine->cache_bytes >= 8)
        context->sizes.past_caches = machine->cache_bytes / 8;
}

/* Meets the other ranks, creates the net, and connects. A rank that fails, or
 * has failed before this call (`status`), still takes part in all exchanges,
 * since the others wait for it. It stops after the first exchange if a rank is
 * of another version, whose later exchanges are unknown. */
static xylem_status_t net_join(xylem_context_t *context, xylem_status_t status,
                               xyl_machine_t *machine_out)
{
    xyl_shm_trouble_t trouble = XYL_SHM_FINE;
    xyl_driver_mode_t mode = XYL_DRIVER_CALLER;
    const void **addresses = NULL;
    uint32_t cores = 0;

    status = meet_peers(context, status);
    if (context->job.met.speak_otherwise || context->job.bootstrap->is_broken)
        return status;
    if (status == XYLEM_OK) {
        cores = local_cores(context);
        mode = choose_mode(context, local_ranks(context) > cores);
        status = net_create(context, mode != XYL_DRIVER_CALLER);
    }
    status = reach_peers(context, status, machine_out, &addresses);
    if (status == XYLEM_OK) {
        set_past_caches(context, machine_out);
        status = parts_start(context, mode, cores, addresses, &trouble);
    }
    free(addresses);
    if (context->job.bootstrap->is_broken)
        return status;
    return agree_on_start(context, status, trouble);
}

/* Sets how many bytes the node's ranks write before they use a window again. A
 * write to a cache line that another core has just read takes several times as
 * long as a write to a line that was read some time ago. But windows larger
 * than all cores' own caches together are read from the cache behind these. A
 * quarter of the cores' own caches was best, or nearly so, with 2 and with 16
 * ranks. */
static void set_reuse_bytes(xylem_context_t *context,
                            const xyl_machine_t *machine)
{
    context->sizes.reuse = machine->own_cache_bytes * local_ranks(context) / 4;
}

/* Called before the ranks meet: there they compare their lines of the log, and
 * one rank prints equal lines for all. */
static xylem_status_t check_core(const xyl_config_t *config)
{
    long cores = sysconf(_SC_NPROCESSORS_CONF);

    if (config->progress != XYL_PROGRESS_THREAD ||
        config->progress_core == XYL_CONFIG_NO_CORE ||
        config->progress_core < (uint64_t)cores)
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_CONFIG,
                    "XYLEM_PROGRESS_CORE=%" PRIu64
                    ": this machine has %ld cores, from 0 on",
                    config->progress_core, cores);
}

void xyl_context_net_attach(xylem_context_t *context, xyl_net_t *net)
{
    context->net = net;
    context->engine.net = net;
    net->peer_failed = xyl_failure_of_peer;
    net->peer_lives = xyl_liveness_peer_lives;
    net->peer_arg = context;
}

xylem_status_t xyl_context_world_create(xylem_context_t *context)
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

xylem_status_t xyl_context_join(xylem_context_t *context,
                                const xylem_bootstrap_t *user)
{
    xyl_machine_t machine = {.cores = 0};
    xylem_status_t status =
        bootstrap_create(user, &context->config, &context->job.bootstrap);

    if (status != XYLEM_OK)
        return status;
    context->rank = context->job.bootstrap->rank;
    context->ranks = context->job.bootstrap->ranks;
    if (context->ranks > XYL_TEAM_SIZE_MAX)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "a job of %u ranks: there may be %d", context->ranks,
                        XYL_TEAM_SIZE_MAX);
    xyl_log_rank_set(context->rank);
    status = xyl_tracing_begin(context);
    if (status == XYLEM_OK)
        status = check_core(&context->config);
    status = net_join(context, status, &machine);
    if (status != XYLEM_OK)
        return status;
    set_reuse_bytes(context, &machine);
    return XYLEM_OK;
}

void xyl_context_give_up(const xylem_bootstrap_t *user,
                         const xyl_config_t *config, xylem_status_t why)
{
    const xyl_peers_mine_t mine = {.status = why};
    const xyl_reach_mine_t mine_reach = {.status = why};
    const outcome_t outcome = {.status = (uint32_t)why,
                               .trouble = XYL_SHM_FINE,
                               .culprit = XYL_NO_CULPRIT};
    xyl_blobs_t all = {NULL, NULL};
    xyl_bootstrap_t *bootstrap;
    xyl_reach_t reach = {.addresses = NULL};
    xyl_peers_t peers;
    char text[700];

    snprintf(text, sizeof text, "%s", xylem_last_error());
    if (bootstrap_create(user, config, &bootstrap) == XYLEM_OK) {
        xyl_log_rank_set(bootstrap->rank);
        (void)xyl_peers_exchange(bootstrap, &mine, &peers);
        if (!peers.speak_otherwise && !bootstrap->is_broken)
            (void)xyl_reach_exchange(bootstrap, &mine_reach, peers.all, &reach);
        if (!peers.speak_otherwise && !bootstrap->is_broken)
            (void)bootstrap->ops->exchange(bootstrap, &outcome, sizeof outcome,
                                           &all);
        xyl_blobs_fini(&all);
        xyl_blobs_fini(&reach.blobs);
        xyl_blobs_fini(&peers.hellos);
        free(reach.addresses);
        free(peers.all);
        bootstrap->ops->destroy(bootstrap);
    }
    (void)xyl_explain(why, "%s", text);
}
