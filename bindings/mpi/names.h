/* Tables of the functions that the binding takes over. The front exports
 * MPI_NAME and PMPI_NAME for each. A module has xmpi_NAME, or takes the name
 * later (xmpi_front_t). The collectives are XYL_COLL_MPI_MAP; those with data
 * also have forms for large counts. */
#ifndef XMPI_NAMES_H
#define XMPI_NAMES_H

#include "collectives/data/description.h"

/* Neighbourhood collectives that the binding leaves to the library. As for the
 * others, it adds forms of MPI-4 that the library lacks: a program that finds
 * one form expects all. Arguments: the name, the name of the nonblocking form,
 * the list of parameters. */
#define XMPI_NEIGHBORS(X)                                                      \
    X(Neighbor_allgatherv, Ineighbor_allgatherv, ALLGATHERV)                   \
    X(Neighbor_alltoall, Ineighbor_alltoall, ALLGATHER)                        \
    X(Neighbor_alltoallv, Ineighbor_alltoallv, ALLTOALLV)                      \
    X(Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOR_ALLTOALLW)

/* Functions, other than collectives, that touch objects the binding keeps. */
#define XMPI_OTHERS(X)                                                         \
    X(Init)                                                                    \
    X(Init_thread)                                                             \
    X(Finalize)                                                                \
    X(Start)                                                                   \
    X(Startall)                                                                \
    X(Request_free)                                                            \
    X(Type_free)                                                               \
    X(Op_free)                                                                 \
    X(Comm_dup)                                                                \
    X(Comm_idup)                                                               \
    X(Comm_create_group)                                                       \
    X(Comm_split)                                                              \
    X(Comm_create)                                                             \
    X(Comm_split_type)                                                         \
    X(Comm_dup_with_info)                                                      \
    X(Comm_set_info)                                                           \
    X(Comm_get_info)                                                           \
    X(Cart_create)                                                             \
    X(Cart_sub)                                                                \
    X(Graph_create)                                                            \
    X(Dist_graph_create)                                                       \
    X(Dist_graph_create_adjacent)                                              \
    X(Win_create)                                                              \
    X(Win_create_dynamic)                                                      \
    X(Win_allocate)                                                            \
    X(Win_allocate_shared)                                                     \
    X(Win_free)

/* The same of MPI-4; the binding adds them to older libraries. */
#define XMPI_ADDED_OF_4(X)                                                     \
    X(Comm_idup_with_info)                                                     \
    X(Win_create_c)                                                            \
    X(Win_allocate_c)                                                          \
    X(Win_allocate_shared_c)

/* The same of MPI-4; older libraries do without them. */
#define XMPI_OTHERS_OF_4(X)                                                    \
    X(Comm_create_from_group)                                                  \
    X(Session_init)                                                            \
    X(Session_finalize)

/* Functions MPIX_NAME of libraries that survive deaths of ranks. */
#define XMPI_EXTENSIONS(X) X(Comm_revoke)

/* Functions that wait for requests or test them (wait.c). Every library has
 * those of MPI-3. */
#define XMPI_WAITS_OF_3(X)                                                     \
    X(Wait)                                                                    \
    X(Waitall)                                                                 \
    X(Waitany)                                                                 \
    X(Waitsome)                                                                \
    X(Test)                                                                    \
    X(Testall)                                                                 \
    X(Testany)                                                                 \
    X(Testsome)                                                                \
    X(Request_get_status)
#define XMPI_WAITS_OF_41(X)                                                    \
    X(Request_get_status_all)                                                  \
    X(Request_get_status_any)                                                  \
    X(Request_get_status_some)
#define XMPI_WAITS(X) XMPI_WAITS_OF_3(X) XMPI_WAITS_OF_41(X)

#define XMPI_FORMS_(ID, coll, name, iname, ...)                                \
    X_(name) X_(iname) X_(name##_init)
#define XMPI_LARGE_FORMS_(ID, coll, name, iname, ...)                          \
    X_(name##_c) X_(iname##_c) X_(name##_init_c)

#define XMPI_NEIGHBOR_FORMS_(name, iname, ...)                                 \
    X_(name##_init) X_(name##_c) X_(iname##_c) X_(name##_init_c)
/* Every name that the front exports, but for XMPI_OTHERS_OF_4 and
 * XMPI_EXTENSIONS. */
#define XMPI_NAMES_                                                            \
    XYL_COLL_MPI_MAP(XMPI_FORMS_)                                              \
    XYL_COLL_MPI_DATA_MAP(XMPI_LARGE_FORMS_)                                   \
    XMPI_NEIGHBORS(XMPI_NEIGHBOR_FORMS_)                                       \
    XMPI_OTHERS(X_) XMPI_ADDED_OF_4(X_) XMPI_WAITS(X_)

#endif
