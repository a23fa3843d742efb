/* The binding's own communicator of this rank alone, and the group of the job.
 * They come from a session of the binding once the program has a session, else
 * from MPI_Init. The binding's session ends after the program's. */
#include <string.h>

#include "bindings/mpi/call.h"

static struct {
    int has_own;
    xmpi_session_t own;
    MPI_Comm self_of_world; /* from MPI_Init, in use or not; or null */
} basis = {.self_of_world = MPI_COMM_NULL};

static void basis_set(MPI_Comm self, MPI_Group job)
{
    xmpi_errors_return(self);
    if (xmpi_state.job_group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&xmpi_state.job_group);
    xmpi_state.job_group = job;
    xmpi_host.Group_rank(job, &xmpi_state.rank);
    xmpi_host.Group_size(job, &xmpi_state.size);
    atomic_store_explicit(&xmpi_state.self, self, memory_order_release);
}

int xmpi_basis_of_world(void)
{
    MPI_Group job;

    if (xmpi_host.Comm_dup(MPI_COMM_SELF, &basis.self_of_world) !=
            MPI_SUCCESS ||
        xmpi_host.Comm_group(MPI_COMM_WORLD, &job) != MPI_SUCCESS)
        return 1;
    basis_set(basis.self_of_world, job);
    return 0;
}

MPI_Comm xmpi_comm_of_session(const char *pset, const char *name)
{
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Errhandler handler;
    MPI_Group group;

    if (!basis.has_own || xmpi_host.Group_from_session_pset(
                              basis.own, pset, &group) != MPI_SUCCESS)
        return MPI_COMM_NULL;
    if (xmpi_errhandler_make(&handler) == MPI_SUCCESS) {
        if (xmpi_host.Comm_create_from_group(group, name, MPI_INFO_NULL,
                                             handler, &comm) != MPI_SUCCESS)
            comm = MPI_COMM_NULL;
        xmpi_host.Errhandler_free(&handler);
    }
    xmpi_host.Group_free(&group);
    return comm;
}

int xmpi_basis_of_session(MPI_Info info, MPI_Errhandler handler)
{
    MPI_Comm self;
    MPI_Group job;

    if (basis.has_own)
        return 0;
    if (xmpi_host.Group_from_session_pset == NULL ||
        xmpi_host.Comm_create_from_group == NULL ||
        xmpi_host.Session_init(info, handler, &basis.own) != MPI_SUCCESS)
        return 1;
    basis.has_own = 1;
    self = xmpi_comm_of_session("mpi://SELF", "xylem.self");
    if (self == MPI_COMM_NULL ||
        xmpi_host.Group_from_session_pset(basis.own, "mpi://WORLD", &job) !=
            MPI_SUCCESS)
        return 1;
    basis_set(self, job);
    return 0;
}

void xmpi_basis_drop(void)
{
    MPI_Comm self = xmpi_state.self;

    if (xmpi_state.job_group != MPI_GROUP_NULL)
        xmpi_host.Group_free(&xmpi_state.job_group);
    if (self != MPI_COMM_NULL && self != basis.self_of_world)
        xmpi_host.Comm_free(&self);
    if (basis.self_of_world != MPI_COMM_NULL)
        xmpi_host.Comm_free(&basis.self_of_world);
    xmpi_state.self = MPI_COMM_NULL;
    if (basis.has_own)
        xmpi_host.Session_finalize(&basis.own);
    basis.has_own = 0;
}

int xmpi_thread_level(void)
{
    int level = MPI_THREAD_SINGLE, found = 0;
    char text[64] = "";
    MPI_Info info;

    if (xmpi_state.has_world)
        return xmpi_host.Query_thread(&level) == MPI_SUCCESS
                   ? level
                   : MPI_THREAD_SINGLE;
    if (!basis.has_own || xmpi_host.Session_get_info == NULL ||
        xmpi_host.Session_get_info(basis.own, &info) != MPI_SUCCESS)
        return MPI_THREAD_MULTIPLE;
    xmpi_host.Info_get(info, "thread_level", sizeof text - 1, text, &found);
    xmpi_host.Info_free(&info);
    return found && strcmp(text, "MPI_THREAD_MULTIPLE") != 0
               ? MPI_THREAD_SINGLE
               : MPI_THREAD_MULTIPLE;
}

int xmpi_basis_has_session(void)
{
    return basis.has_own;
}

void xmpi_basis_without_world(void)
{
    if (basis.self_of_world == MPI_COMM_NULL)
        return;
    xmpi_hook_leave(basis.self_of_world);
    xmpi_host.Comm_free(&basis.self_of_world);
}
