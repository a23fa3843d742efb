/* MPI-4's functions and MPI-4.1's, for MPIs that do not declare them: the
 * binding has them all the same. */
#pragma once

#include <mpi.h>

#if MPI_VERSION < 4
#define T MPI_Datatype
#define Q , MPI_Request *r
#define N , MPI_Info f, MPI_Request *r
/* Parameters of both: C counts, D displacements. */
#define FORMS(name, iname)                                                     \
    int MPI_##name##_init(name##_P(int, int) N);                               \
    int MPI_##name##_c(name##_P(MPI_Count, MPI_Aint));                         \
    int MPI_##iname##_c(name##_P(MPI_Count, MPI_Aint) Q);                      \
    int MPI_##name##_init_c(name##_P(MPI_Count, MPI_Aint) N);
#define Bcast_P(C, D) void *b, C n, T t, int o, MPI_Comm c
#define Reduce_P(C, D)                                                         \
    const void *s, void *b, C n, T t, MPI_Op p, int o, MPI_Comm c
#define Allreduce_P(C, D)      const void *s, void *b, C n, T t, MPI_Op p, MPI_Comm c
#define Scan_P                 Allreduce_P
#define Exscan_P               Allreduce_P
#define Reduce_scatter_block_P Allreduce_P
#define Reduce_scatter_P(C, D)                                                 \
    const void *s, void *b, const C n[], T t, MPI_Op p, MPI_Comm c
#define Gather_P(C, D)                                                         \
    const void *s, C n, T t, void *b, C m, T u, int o, MPI_Comm c
#define Scatter_P Gather_P
#define Gatherv_P(C, D)                                                        \
    const void *s, C n, T t, void *b, const C m[], const D d[], T u, int o,    \
        MPI_Comm c
#define Scatterv_P(C, D)                                                       \
    const void *s, const C n[], const D d[], T t, void *b, C m, T u, int o,    \
        MPI_Comm c
#define Allgather_P(C, D)    const void *s, C n, T t, void *b, C m, T u, MPI_Comm c
#define Alltoall_P           Allgather_P
#define Neighbor_allgather_P Allgather_P
#define Allgatherv_P(C, D)                                                     \
    const void *s, C n, T t, void *b, const C m[], const D d[], T u, MPI_Comm c
#define Alltoallv_P(C, D)                                                      \
    const void *s, const C n[], const D d[], T t, void *b, const C m[],        \
        const D e[], T u, MPI_Comm c
#define Alltoallw_P(C, D)                                                      \
    const void *s, const C n[], const D d[], const T t[], void *b,             \
        const C m[], const D e[], const T u[], MPI_Comm c
#define Neighbor_allgatherv_P      Allgatherv_P
#define Neighbor_alltoall_P        Allgather_P
#define Neighbor_alltoallv_P       Alltoallv_P
#define Neighbor_alltoallw_P(C, D) Alltoallw_P(C, MPI_Aint)
int MPI_Barrier_init(MPI_Comm c N);
int MPI_Comm_idup_with_info(MPI_Comm c, MPI_Info f, MPI_Comm *m,
                            MPI_Request *r);
FORMS(Bcast, Ibcast)
FORMS(Reduce, Ireduce)
FORMS(Allreduce, Iallreduce)
FORMS(Scan, Iscan)
FORMS(Exscan, Iexscan)
FORMS(Reduce_scatter_block, Ireduce_scatter_block)
FORMS(Reduce_scatter, Ireduce_scatter)
FORMS(Gather, Igather)
FORMS(Gatherv, Igatherv)
FORMS(Scatter, Iscatter)
FORMS(Scatterv, Iscatterv)
FORMS(Allgather, Iallgather)
FORMS(Allgatherv, Iallgatherv)
FORMS(Alltoall, Ialltoall)
FORMS(Neighbor_allgather, Ineighbor_allgather)
FORMS(Neighbor_allgatherv, Ineighbor_allgatherv)
FORMS(Neighbor_alltoall, Ineighbor_alltoall)
FORMS(Neighbor_alltoallv, Ineighbor_alltoallv)
FORMS(Neighbor_alltoallw, Ineighbor_alltoallw)
FORMS(Alltoallv, Ialltoallv)
FORMS(Alltoallw, Ialltoallw)
#undef T
#undef Q
#undef N
#undef FORMS
#endif

#if MPI_VERSION < 4 || (MPI_VERSION == 4 && MPI_SUBVERSION < 1)
int MPI_Request_get_status_all(int n, MPI_Request r[], int *f, MPI_Status s[]);
int MPI_Request_get_status_any(int n, MPI_Request r[], int *i, int *f,
                               MPI_Status *s);
int MPI_Request_get_status_some(int n, MPI_Request r[], int *m, int i[],
                                MPI_Status s[]);
#endif
