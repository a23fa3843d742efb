/* The connection of the ranks.
 *
 * MPI_Init sends no message, so that programs without collectives wait for
 * none. In the first call that all ranks of the job make together, on any
 * communicator, the ranks make a communicator of the binding, compare their
 * settings, and make the context over it. With MPI_THREAD_MULTIPLE several
 * threads may make such calls at once, on different communicators; so the
 * binding's communicator is made in MPI_Init_thread or, if there are only
 * sessions, from a session of the binding. With XYLEM_MPI_CONNECT=init all of
 * this happens in MPI_Init.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "bindings/mpi/call.h"

static int is_abandoned; /* a rank has failed: exchange no more */

/* Whether no rank has failed so far. All agreements have the same form, as a
 * rank that fails does not know how far the others are. The last agreement is
 * also about the hook. */
static int all_agree(int mine, int *is_hooked)
{
    int both[2] = {mine, *is_hooked}, all[2] = {0, 0};

    if (xmpi_reduce_all(both, all, 2, MPI_INT, MPI_MIN, xmpi_state.world) !=
        MPI_SUCCESS)
        return 0;
    *is_hooked = all[1];
    return all[0];
}

/* Each exchange begins with an agreement, by which the other ranks learn that a
 * rank has failed before it. */
static xylem_status_t bootstrap_allgather(void *arg, const void *mine,
                                          void *all, size_t bytes)
{
    int is_hooked = 0;

    (void)arg;
    if (is_abandoned || !all_agree(1, &is_hooked)) {
        is_abandoned = 1;
        return XYLEM_ERR_BOOTSTRAP;
    }
    if (xmpi_gather_all(mine, all, bytes, xmpi_state.world) != MPI_SUCCESS)
        return XYLEM_ERR_BOOTSTRAP;
    return XYLEM_OK;
}

static int hook_install(void)
{
    int is_hooked = xmpi_hook_install(xmpi_thread_level());

    if (xmpi_hook_is_polled())
        xmpi_waits_take(1);
    return is_hooked;
}

/* Exactly one thread of each rank calls this. */
static void context_create(void)
{
    xylem_bootstrap_t bootstrap = {sizeof bootstrap, (uint32_t)xmpi_state.rank,
                                   (uint32_t)xmpi_state.size,
                                   bootstrap_allgather, NULL};
    xylem_context_params_t params = {sizeof params, &bootstrap, NULL};
    xylem_context_t *context = NULL;
    xylem_status_t status;
    int is_hooked;

    is_abandoned = 0;
    status = xylem_context_create(&params, &context);
    is_hooked = status == XYLEM_OK && hook_install();

    /* The rank that has failed has logged why. */
    if (status != XYLEM_OK && xmpi_state.rank == 0)
        fputs("xylem-mpi: there is no context, MPI is used alone\n", stderr);
    if (status != XYLEM_OK && !is_abandoned) {
        all_agree(0, &is_hooked);
        is_abandoned = 1;
    } else if (status == XYLEM_OK && !all_agree(1, &is_hooked)) {
        is_abandoned = 1;
    }
    if (is_abandoned) {
        xmpi_state.has_failed = 1;
        if (status == XYLEM_OK)
            xmpi_hook_remove();
        xylem_context_destroy(context);
        return;
    }
    /* Partner: the acquires that load the context. */
    xmpi_state.is_hooked = is_hooked;
    atomic_store_explicit(&xmpi_state.context, context, memory_order_release);
}

/* Whether the settings are the same on all ranks; else MPI is used alone. All
 * ranks also get the job's number, and learn whether any rank's host writes to
 * requests or forbids calls from xylem's thread. */
static int settings_agree(void)
{
    /* MPICH compares integers alike, whether their type is signed or not. */
    int64_t mine[6], all[6];

    mine[0] = (int64_t)xmpi_state.selected;
    mine[1] = -mine[0];
    mine[2] = 0;
    mine[3] = xmpi_host_writes_to_requests();
    mine[4] = !xmpi_state.has_report;
    mine[5] =
        xmpi_state.has_thread && xmpi_thread_level() != MPI_THREAD_MULTIPLE;
    if (xmpi_state.rank == 0) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        mine[2] = (now.tv_sec << 30 ^ now.tv_nsec) + ((int64_t)getpid() << 32);
        mine[2] = (mine[2] & INT64_MAX) | 1;
    }
    if (xmpi_reduce_all(mine, all, 6, MPI_INT64_T, MPI_MAX, xmpi_state.world) !=
        MPI_SUCCESS)
        return 0;
    xmpi_state.job = (uint64_t)all[2];
    xmpi_state.is_written_to = all[3] != 0;
    xmpi_state.has_report = all[4] == 0;
    xmpi_state.must_not_call = all[5] != 0;
    if (all[0] == -all[1])
        return 1;
    if (xmpi_state.rank == 0)
        fputs("xylem-mpi: XYLEM_MPI_COLLECTIVES differs between ranks; MPI is "
              "used alone\n",
              stderr);
    return 0;
}

/* Makes the binding's communicator, with the ranks in the order of the job. It
 * comes from the binding's session if `over` is of a session of the program's,
 * which may end before the binding, or if the program has only sessions. */
static int world_make(MPI_Comm over)
{
    const xmpi_comm_t *comm = xmpi_comm_find(over);
    int relation = MPI_UNEQUAL;
    MPI_Request request;
    MPI_Group group;

    if (!xmpi_state.has_world || (comm != NULL && comm->is_of_session)) {
        xmpi_state.is_world_of_session = 1;
        xmpi_state.world = xmpi_comm_of_session("mpi://WORLD", "xylem.job");
        return xmpi_state.world == MPI_COMM_NULL ? MPI_ERR_OTHER : MPI_SUCCESS;
    }
    if (xmpi_host.Comm_group(over, &group) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    xmpi_host.Group_compare(group, xmpi_state.job_group, &relation);
    xmpi_host.Group_free(&group);
    if (relation == MPI_SIMILAR)
        return xmpi_host.Comm_split(over, 0, xmpi_state.rank,
                                    &xmpi_state.world);
    if (xmpi_host.Comm_idup(over, &xmpi_state.world, &request) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    return xmpi_exchange_finish(&request);
}

static void job_connect(MPI_Comm over)
{
    if (!xmpi_guard_passes()) {
        xmpi_state.has_failed = 1;
        return;
    }
    if (world_make(over) != MPI_SUCCESS)
        abort(); /* an error handler of the program has returned */
    xmpi_errors_return(xmpi_state.world);
    if (!settings_agree() || xmpi_state.selected == 0)
        xmpi_state.has_failed = 1;
}

static pthread_mutex_t connecting = PTHREAD_MUTEX_INITIALIZER;

xylem_context_t *xmpi_context_make(MPI_Comm over)
{
    xylem_context_t *context = xmpi_context();

    if (context != NULL)
        return context;
    pthread_mutex_lock(&connecting);
    context = xmpi_context();
    if (context == NULL && !xmpi_state.has_failed) {
        if (xmpi_state.world == MPI_COMM_NULL)
            job_connect(over);
        if (!xmpi_state.has_failed)
            context_create();
    }
    pthread_mutex_unlock(&connecting);
    return xmpi_context();
}

void xmpi_job_connect(void)
{
    pthread_mutex_lock(&connecting);
    if (xmpi_context() == NULL && !xmpi_state.has_failed)
        job_connect(MPI_COMM_WORLD);
    pthread_mutex_unlock(&connecting);
}
