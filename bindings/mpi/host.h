/* The MPI library of the program, by the addresses of its functions: neither
 * the binding nor a profiling tool takes over what the binding calls. */
#pragma once

#include <mpi.h>

#include "bindings/mpi/front/front.h"
#include "bindings/mpi/names.h"
#include "bindings/mpi/parameters.h"

/* A session's handle; the header may be older than sessions. */
#if MPI_VERSION >= 4
typedef MPI_Session xmpi_session_t;
#else
typedef void *xmpi_session_t;
#endif

/* Functions, other than collectives, that the binding takes over or calls, with
 * the types of their parameters. */
#define XMPI_HOST_FUNCTIONS(X)                                                 \
    XMPI_OTHERS(X)                                                             \
    XMPI_WAITS_OF_3(X)                                                         \
    X(Abort, MPI_Comm, int)                                                    \
    X(Topo_test, MPI_Comm, int *)                                              \
    X(Cartdim_get, MPI_Comm, int *)                                            \
    X(Cart_shift, MPI_Comm, int, int, int *, int *)                            \
    X(Graph_neighbors_count, MPI_Comm, int, int *)                             \
    X(Graph_neighbors, MPI_Comm, int, int, int[])                              \
    X(Dist_graph_neighbors_count, MPI_Comm, int *, int *, int *)               \
    X(Dist_graph_neighbors, MPI_Comm, int, int[], int[], int, int[], int[])    \
    X(Info_delete, MPI_Info, const char *)                                     \
    X(Info_free, MPI_Info *)                                                   \
    X(Info_get, MPI_Info, const char *, int, char *, int *)                    \
    X(Info_set, MPI_Info, const char *, const char *)                          \
    X(Comm_free, MPI_Comm *)                                                   \
    X(Comm_get_name, MPI_Comm, char *, int *)                                  \
    X(Comm_group, MPI_Comm, MPI_Group *)                                       \
    X(Group_compare, MPI_Group, MPI_Group, int *)                              \
    X(Group_rank, MPI_Group, int *)                                            \
    X(Group_size, MPI_Group, int *)                                            \
    X(Group_free, MPI_Group *)                                                 \
    X(Group_translate_ranks, MPI_Group, int, const int[], MPI_Group, int[])    \
    X(Comm_rank, MPI_Comm, int *)                                              \
    X(Comm_remote_size, MPI_Comm, int *)                                       \
    X(Comm_size, MPI_Comm, int *)                                              \
    X(Comm_test_inter, MPI_Comm, int *)                                        \
    X(Comm_create_keyval, MPI_Comm_copy_attr_function *,                       \
      MPI_Comm_delete_attr_function *, int *, void *)                          \
    X(Comm_set_attr, MPI_Comm, int, void *)                                    \
    X(Comm_get_attr, MPI_Comm, int, void *, int *)                             \
    X(Comm_call_errhandler, MPI_Comm, int)                                     \
    X(Comm_create_errhandler, MPI_Comm_errhandler_function *,                  \
      MPI_Errhandler *)                                                        \
    X(Comm_set_errhandler, MPI_Comm, MPI_Errhandler)                           \
    X(Errhandler_free, MPI_Errhandler *)                                       \
    X(Type_commit, MPI_Datatype *)                                             \
    X(Type_create_hindexed, int, const int[], const MPI_Aint[], MPI_Datatype,  \
      MPI_Datatype *)                                                          \
    X(Type_create_keyval, MPI_Type_copy_attr_function *,                       \
      MPI_Type_delete_attr_function *, int *, void *)                          \
    X(Type_set_attr, MPI_Datatype, int, void *)                                \
    X(Type_get_attr, MPI_Datatype, int, void *, int *)                         \
    X(Type_get_contents, MPI_Datatype, int, int, int, int[], MPI_Aint[],       \
      MPI_Datatype[])                                                          \
    X(Type_get_envelope, MPI_Datatype, int *, int *, int *, int *)             \
    X(Type_get_extent, MPI_Datatype, MPI_Aint *, MPI_Aint *)                   \
    X(Type_get_true_extent, MPI_Datatype, MPI_Aint *, MPI_Aint *)              \
    X(Type_size_x, MPI_Datatype, MPI_Count *)                                  \
    X(Pack, const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm)     \
    X(Unpack, const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm)   \
    X(Reduce_local, const void *, void *, int, MPI_Datatype, MPI_Op)           \
    X(Op_commutative, MPI_Op, int *)                                           \
    X(Grequest_start, MPI_Grequest_query_function *,                           \
      MPI_Grequest_free_function *, MPI_Grequest_cancel_function *, void *,    \
      MPI_Request *)                                                           \
    X(Grequest_complete, MPI_Request)                                          \
    X(Recv_init, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) \
    X(Send, const void *, int, MPI_Datatype, int, int, MPI_Comm)               \
    X(Irecv, void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *)     \
    X(Status_set_elements, MPI_Status *, MPI_Datatype, int)                    \
    X(Status_set_cancelled, MPI_Status *, int)                                 \
    X(Query_thread, int *)

/* Functions of MPI-4 that the binding calls; a library may lack them. */
#define XMPI_HOST_OPTIONAL(X)                                                  \
    X(Session_get_info, xmpi_session_t, MPI_Info *)                            \
    X(Group_from_session_pset, xmpi_session_t, const char *, MPI_Group *)      \
    X(Type_get_envelope_c, MPI_Datatype, MPI_Count *, MPI_Count *,             \
      MPI_Count *, MPI_Count *, int *)                                         \
    X(Type_get_contents_c, MPI_Datatype, MPI_Count, MPI_Count, MPI_Count,      \
      MPI_Count, int[], MPI_Aint[], MPI_Count[], MPI_Datatype[])               \
    XMPI_ADDED_OF_4(X)                                                         \
    XMPI_OTHERS_OF_4(X) XMPI_WAITS_OF_41(X)

/* The forms of a collective; every library has the first two. */
#define XMPI_HOST_FORMS(ID, coll, name, iname, LIKE, ...)                      \
    int (*name)(P_##LIKE(int, int));                                           \
    int (*iname)(P_##LIKE(int, int), MPI_Request *);                           \
    int (*name##_init)(P_##LIKE(int, int), MPI_Info, MPI_Request *);           \
    int (*name##_c)(P_##LIKE(MPI_Count, MPI_Aint));                            \
    int (*iname##_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Request *);            \
    int (*name##_init_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Info,              \
                         MPI_Request *);

/* NULL: the library has no such function. Names of members cannot be in
 * parentheses. NOLINTBEGIN(bugprone-macro-parentheses) */
typedef struct xmpi_host {
#define XMPI_HOST_MEMBER(name, ...) int (*name)(__VA_ARGS__);
    XMPI_HOST_FUNCTIONS(XMPI_HOST_MEMBER)
    XMPI_HOST_OPTIONAL(XMPI_HOST_MEMBER)
    XMPI_EXTENSIONS(XMPI_HOST_MEMBER)
#undef XMPI_HOST_MEMBER
    XYL_COLL_MPI_MAP(XMPI_HOST_FORMS)
    XMPI_NEIGHBORS(XMPI_HOST_FORMS)
    /* Open MPI's hook into its progress. */
    int (*progress_register)(int (*hook)(void));
    int (*progress_unregister)(int (*hook)(void));
    /* One turn of Open MPI's progress. */
    void (*progress)(void);
    int is_open_mpi;
} xmpi_host_t;
/* NOLINTEND(bugprone-macro-parentheses) */

extern xmpi_host_t xmpi_host;

extern const xmpi_front_t *xmpi_front;

/* 1: the library writes to requests of MPI_Ialltoallw and MPI_Alltoallw_init as
 * if it had made them. Open MPI's Fortran functions, from 5 on, store the
 * arrays of types beyond the end of a generalized request. */
int xmpi_host_writes_to_requests(void);
/* Fails a call that neither the library nor the binding has: calls the error
 * handler, returns MPI's code. */
int xmpi_host_lacks(MPI_Comm comm);
/* Cleared memory that this rank cannot do without, because other ranks wait for
 * this one. If there is none, a line says so and the process aborts. */
void *xmpi_memory(size_t count, size_t bytes);
