/* Windows of one-sided communication are the host's. An MPI library progresses
 * accesses in all of its calls, hence in collectives, too. So a blocking call
 * of the binding gives the host a turn at its end while the program has a
 * window. A rank then sees behind a barrier an access that was completed before
 * it.
 */
#include <limits.h>

#include "bindings/mpi/call.h"

static _Atomic int windows;

static int counted(int code)
{
    if (code == MPI_SUCCESS)
        atomic_fetch_add_explicit(&windows, 1, memory_order_relaxed);
    return code;
}

void xmpi_windows_progress(void)
{
    if (atomic_load_explicit(&windows, memory_order_relaxed) > 0)
        xmpi_progress();
}

int xmpi_Win_create(void *base, MPI_Aint bytes, int unit, MPI_Info info,
                    MPI_Comm comm, MPI_Win *window)
{
    return counted(xmpi_host.Win_create(base, bytes, unit, info, comm, window));
}

int xmpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *window)
{
    return counted(xmpi_host.Win_create_dynamic(info, comm, window));
}

int xmpi_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm,
                      void *base, MPI_Win *window)
{
    return counted(
        xmpi_host.Win_allocate(bytes, unit, info, comm, base, window));
}

int xmpi_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info,
                             MPI_Comm comm, void *base, MPI_Win *window)
{
    return counted(
        xmpi_host.Win_allocate_shared(bytes, unit, info, comm, base, window));
}

int xmpi_Win_free(MPI_Win *window)
{
    int code = xmpi_host.Win_free(window);

    if (code == MPI_SUCCESS)
        atomic_fetch_sub_explicit(&windows, 1, memory_order_relaxed);
    return code;
}

/* ---- large counts; a host without them gets int ---- */

int xmpi_Win_create_c(void *base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info,
                      MPI_Comm comm, MPI_Win *window)
{
    if (xmpi_host.Win_create_c != NULL)
        return counted(
            xmpi_host.Win_create_c(base, bytes, unit, info, comm, window));
    return unit > INT_MAX
               ? xmpi_host_lacks(comm)
               : xmpi_Win_create(base, bytes, (int)unit, info, comm, window);
}

int xmpi_Win_allocate_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info,
                        MPI_Comm comm, void *base, MPI_Win *window)
{
    if (xmpi_host.Win_allocate_c != NULL)
        return counted(
            xmpi_host.Win_allocate_c(bytes, unit, info, comm, base, window));
    return unit > INT_MAX
               ? xmpi_host_lacks(comm)
               : xmpi_Win_allocate(bytes, (int)unit, info, comm, base, window);
}

int xmpi_Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info,
                               MPI_Comm comm, void *base, MPI_Win *window)
{
    if (xmpi_host.Win_allocate_shared_c != NULL)
        return counted(xmpi_host.Win_allocate_shared_c(bytes, unit, info, comm,
                                                       base, window));
    return unit > INT_MAX ? xmpi_host_lacks(comm)
                          : xmpi_Win_allocate_shared(bytes, (int)unit, info,
                                                     comm, base, window);
}
