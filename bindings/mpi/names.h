/* Tables of the functions that the binding takes over, with the types of their
 * parameters. The front exports MPI_NAME and PMPI_NAME for each. A module has a
 * function xmpi_NAME, or gives the front one later (xmpi_front_t). The
 * collectives are XYL_COLL_MPI_MAP; those with data also have forms for large
 * counts. */
#pragma once

#include "collectives/data/description.h"

/* Neighbourhood collectives that the binding leaves to the library. The binding
 * adds forms of MPI-4 that it can make of the library's: a program that finds
 * one form expects all. Columns: as the first six of XYL_COLL_MPI_MAP. */
#define XMPI_NEIGHBORS(X)                                                      \
    X(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, Neighbor_allgatherv,           \
      Ineighbor_allgatherv, ALLGATHERV, ALL)                                   \
    X(NEIGHBOR_ALLTOALL, neighbor_alltoall, Neighbor_alltoall,                 \
      Ineighbor_alltoall, ALLGATHER, ALL)                                      \
    X(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, Neighbor_alltoallv,              \
      Ineighbor_alltoallv, ALLTOALLV, ALL)                                     \
    X(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, Neighbor_alltoallw,              \
      Ineighbor_alltoallw, NEIGHBOR_ALLTOALLW, ALL)

/* Functions, other than collectives, that touch objects the binding keeps. */
#define XMPI_OTHERS(X)                                                         \
    X(Init, int *, char ***)                                                   \
    X(Init_thread, int *, char ***, int, int *)                                \
    X(Finalize, void)                                                          \
    X(Start, MPI_Request *)                                                    \
    X(Startall, int, MPI_Request[])                                            \
    X(Request_free, MPI_Request *)                                             \
    X(Alloc_mem, MPI_Aint, MPI_Info, void *)                                   \
    X(Free_mem, void *)                                                        \
    X(Type_free, MPI_Datatype *)                                               \
    X(Op_free, MPI_Op *)                                                       \
    X(Comm_dup, MPI_Comm, MPI_Comm *)                                          \
    X(Comm_idup, MPI_Comm, MPI_Comm *, MPI_Request *)                          \
    X(Comm_create_group, MPI_Comm, MPI_Group, int, MPI_Comm *)                 \
    X(Comm_split, MPI_Comm, int, int, MPI_Comm *)                              \
    X(Comm_create, MPI_Comm, MPI_Group, MPI_Comm *)                            \
    X(Comm_split_type, MPI_Comm, int, int, MPI_Info, MPI_Comm *)               \
    X(Comm_dup_with_info, MPI_Comm, MPI_Info, MPI_Comm *)                      \
    X(Comm_set_info, MPI_Comm, MPI_Info)                                       \
    X(Comm_get_info, MPI_Comm, MPI_Info *)                                     \
    X(Cart_create, MPI_Comm, int, const int[], const int[], int, MPI_Comm *)   \
    X(Cart_sub, MPI_Comm, const int[], MPI_Comm *)                             \
    X(Graph_create, MPI_Comm, int, const int[], const int[], int, MPI_Comm *)  \
    X(Dist_graph_create, MPI_Comm, int, const int[], const int[], const int[], \
      const int[], MPI_Info, int, MPI_Comm *)                                  \
    X(Dist_graph_create_adjacent, MPI_Comm, int, const int[], const int[],     \
      int, const int[], const int[], MPI_Info, int, MPI_Comm *)                \
    X(Win_create, void *, MPI_Aint, int, MPI_Info, MPI_Comm, MPI_Win *)        \
    X(Win_create_dynamic, MPI_Info, MPI_Comm, MPI_Win *)                       \
    X(Win_allocate, MPI_Aint, int, MPI_Info, MPI_Comm, void *, MPI_Win *)      \
    X(Win_allocate_shared, MPI_Aint, int, MPI_Info, MPI_Comm, void *,          \
      MPI_Win *)                                                               \
    X(Win_free, MPI_Win *)

/* The same of MPI-4; the binding adds these functions to older libraries. */
#define XMPI_ADDED_OF_4(X)                                                     \
    X(Comm_idup_with_info, MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *)      \
    X(Win_create_c, void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, MPI_Win *) \
    X(Win_allocate_c, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *,          \
      MPI_Win *)                                                               \
    X(Win_allocate_shared_c, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *,   \
      MPI_Win *)

/* The same of MPI-4; older libraries do without these functions. */
#define XMPI_OTHERS_OF_4(X)                                                    \
    X(Comm_create_from_group, MPI_Group, const char *, MPI_Info,               \
      MPI_Errhandler, MPI_Comm *)                                              \
    X(Session_init, MPI_Info, MPI_Errhandler, xmpi_session_t *)                \
    X(Session_finalize, xmpi_session_t *)

/* Functions MPIX_NAME of libraries that survive deaths of ranks. */
#define XMPI_EXTENSIONS(X) X(Comm_revoke, MPI_Comm)

/* Functions that wait for requests or test them (wait.c). Every library has
 * those of MPI-3. */
#define XMPI_WAITS_OF_3(X)                                                     \
    X(Wait, MPI_Request *, MPI_Status *)                                       \
    X(Waitall, int, MPI_Request[], MPI_Status *)                               \
    X(Waitany, int, MPI_Request[], int *, MPI_Status *)                        \
    X(Waitsome, int, MPI_Request[], int *, int[], MPI_Status *)                \
    X(Test, MPI_Request *, int *, MPI_Status *)                                \
    X(Testall, int, MPI_Request[], int *, MPI_Status *)                        \
    X(Testany, int, MPI_Request[], int *, int *, MPI_Status *)                 \
    X(Testsome, int, MPI_Request[], int *, int[], MPI_Status *)                \
    X(Request_get_status, MPI_Request, int *, MPI_Status *)
#define XMPI_WAITS_OF_41(X)                                                    \
    X(Request_get_status_all, int, MPI_Request[], int *, MPI_Status *)         \
    X(Request_get_status_any, int, MPI_Request[], int *, int *, MPI_Status *)  \
    X(Request_get_status_some, int, MPI_Request[], int *, int[], MPI_Status *)
#define XMPI_WAITS(X) XMPI_WAITS_OF_3(X) XMPI_WAITS_OF_41(X)

#define XMPI_FORMS_(ID, coll, name, iname, ...)                                \
    X_(name, ) X_(iname, ) X_(name##_init, )
#define XMPI_LARGE_FORMS_(ID, coll, name, iname, ...)                          \
    X_(name##_c, ) X_(iname##_c, ) X_(name##_init_c, )
#define XMPI_ADDED_FORMS_(ID, coll, name, ...)                                 \
    X_(name##_init, ) XMPI_LARGE_FORMS_(ID, coll, name, __VA_ARGS__)
/* Every name that the front exports, but for XMPI_OTHERS_OF_4 and
 * XMPI_EXTENSIONS. */
#define XMPI_NAMES_                                                            \
    XYL_COLL_MPI_MAP(XMPI_FORMS_)                                              \
    XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)                                   \
    XMPI_NEIGHBORS(XMPI_ADDED_FORMS_)                                          \
    XMPI_OTHERS(X_) XMPI_ADDED_OF_4(X_) XMPI_WAITS(X_)
