/* Windows of one-sided communication are the host's. An MPI library progresses
 * accesses in all of its calls, hence in collectives, too. So a blocking call
 * of the binding gives the host a turn at its end while the program has a
 * window. After a barrier a rank then sees each access that another rank has
 * completed before the barrier.
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

int xmpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *window)
{
    return counted(xmpi_host.Win_create_dynamic(info, comm, window));
}

int xmpi_Win_free(MPI_Win *window)
{
    int code = xmpi_host.Win_free(window);

    if (code == MPI_SUCCESS)
        atomic_fetch_sub_explicit(&windows, 1, memory_order_relaxed);
    return code;
}

/* Defines a function that makes a window, and its form for large counts. A host
 * that lacks the latter gets `unit` as int. FIRST and REST are the parameters
 * before and behind `unit`; `first` and `rest` are their names. */
#define MAKER(name, FIRST, REST, first, rest)                                  \
    int xmpi_##name(UNPACKED FIRST, int unit, UNPACKED REST)                   \
    {                                                                          \
        return counted(xmpi_host.name(UNPACKED first, unit, UNPACKED rest));   \
    }                                                                          \
    int xmpi_##name##_c(UNPACKED FIRST, MPI_Aint unit, UNPACKED REST)          \
    {                                                                          \
        if (xmpi_host.name##_c != NULL)                                        \
            return counted(                                                    \
                xmpi_host.name##_c(UNPACKED first, unit, UNPACKED rest));      \
        return unit > INT_MAX                                                  \
                   ? xmpi_host_lacks(comm)                                     \
                   : xmpi_##name(UNPACKED first, (int)unit, UNPACKED rest);    \
    }
#define UNPACKED(...) __VA_ARGS__

MAKER(Win_create, (void *base, MPI_Aint bytes),
      (MPI_Info info, MPI_Comm comm, MPI_Win *window), (base, bytes),
      (info, comm, window))
MAKER(Win_allocate, (MPI_Aint bytes),
      (MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window), (bytes),
      (info, comm, base, window))
MAKER(Win_allocate_shared, (MPI_Aint bytes),
      (MPI_Info info, MPI_Comm comm, void *base, MPI_Win *window), (bytes),
      (info, comm, base, window))
