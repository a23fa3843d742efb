/* What forms of a collective an MPI library has, by its header. */
#ifndef XMPI_FORMS_H
#define XMPI_FORMS_H

#include <mpi.h>

/* Persistent collectives are MPI-4's. Open MPI 5 has them although it is of
 * MPI-3; before, it had them by names of its own. PREFIX is MPI or PMPI. */
#if defined OPEN_MPI && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define XMPI_PERSISTENT_IS_MPIX       1
#define XMPI_PERSISTENT(prefix, name) prefix##X_##name##_init
#else
#define XMPI_PERSISTENT_IS_MPIX       0
#define XMPI_PERSISTENT(prefix, name) prefix##_##name##_init
#endif

/* Counts of MPI_Count: the functions whose names end in _c. */
#if MPI_VERSION >= 4
#define XMPI_HAS_LARGE_COUNTS 1
#else
#define XMPI_HAS_LARGE_COUNTS 0
#endif

#endif
