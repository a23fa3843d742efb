/* The MPI library of the program, by the addresses of its functions: neither
 * the binding nor a profiling tool takes over what the binding calls. */
#ifndef XMPI_HOST_H
#define XMPI_HOST_H

#include <mpi.h>

#include "bindings/mpi/front.h"
#include "bindings/mpi/names.h"
#include "bindings/mpi/parameters.h"

/* A session's handle; the header may be older than sessions. */
#if MPI_VERSION >= 4
typedef MPI_Session xmpi_session_t;
#else
typedef void *xmpi_session_t;
#endif

/* Functions, other than collectives, that the binding takes over or calls. */
#define XMPI_HOST_FUNCTIONS(X)                                                 \
    XMPI_OTHERS(X)                                                             \
    XMPI_WAITS_OF_3(X)                                                         \
    X(Abort)                                                                   \
    X(Topo_test)                                                               \
    X(Cartdim_get)                                                             \
    X(Cart_shift)                                                              \
    X(Graph_neighbors_count)                                                   \
    X(Graph_neighbors)                                                         \
    X(Dist_graph_neighbors_count)                                              \
    X(Dist_graph_neighbors)                                                    \
    X(Info_delete)                                                             \
    X(Info_free)                                                               \
    X(Info_get)                                                                \
    X(Info_set)                                                                \
    X(Comm_free)                                                               \
    X(Comm_get_name)                                                           \
    X(Comm_group)                                                              \
    X(Group_compare)                                                           \
    X(Group_rank)                                                              \
    X(Group_size)                                                              \
    X(Group_free)                                                              \
    X(Group_translate_ranks)                                                   \
    X(Comm_rank)                                                               \
    X(Comm_remote_size)                                                        \
    X(Comm_size)                                                               \
    X(Comm_test_inter)                                                         \
    X(Comm_create_keyval)                                                      \
    X(Comm_set_attr)                                                           \
    X(Comm_get_attr)                                                           \
    X(Comm_call_errhandler)                                                    \
    X(Comm_create_errhandler)                                                  \
    X(Comm_set_errhandler)                                                     \
    X(Errhandler_free)                                                         \
    X(Type_commit)                                                             \
    X(Type_create_hindexed)                                                    \
    X(Type_create_keyval)                                                      \
    X(Type_set_attr)                                                           \
    X(Type_get_attr)                                                           \
    X(Type_get_contents)                                                       \
    X(Type_get_envelope)                                                       \
    X(Type_get_extent)                                                         \
    X(Type_get_true_extent)                                                    \
    X(Type_size_x)                                                             \
    X(Pack)                                                                    \
    X(Unpack)                                                                  \
    X(Reduce_local)                                                            \
    X(Op_commutative)                                                          \
    X(Grequest_start)                                                          \
    X(Grequest_complete)                                                       \
    X(Recv_init)                                                               \
    X(Send)                                                                    \
    X(Irecv)                                                                   \
    X(Status_set_elements)                                                     \
    X(Status_set_cancelled)                                                    \
    X(Query_thread)

/* Names of members cannot be in parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
typedef struct xmpi_host {
#define XMPI_HOST_MEMBER(name) __typeof__(&PMPI_##name) name;
    XMPI_HOST_FUNCTIONS(XMPI_HOST_MEMBER)
#undef XMPI_HOST_MEMBER
    /* NULL: missing, as persistent forms and large counts may be. */
#define XMPI_HOST_MEMBERS(ID, coll, name, iname, LIKE, ...)                    \
    int (*name)(P_##LIKE(int, int));                                           \
    int (*iname)(P_##LIKE(int, int), MPI_Request *);                           \
    int (*name##_init)(P_##LIKE(int, int), MPI_Info, MPI_Request *);
    XYL_COLL_MPI_MAP(XMPI_HOST_MEMBERS)
#undef XMPI_HOST_MEMBERS
#define XMPI_HOST_MEMBERS(ID, coll, name, iname, LIKE, ...)                    \
    int (*name##_c)(P_##LIKE(MPI_Count, MPI_Aint));                            \
    int (*iname##_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Request *);            \
    int (*name##_init_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Info,              \
                         MPI_Request *);
    XYL_COLL_MPI_DATA_MAP(XMPI_HOST_MEMBERS)
#undef XMPI_HOST_MEMBERS
#define XMPI_HOST_MEMBERS(name, iname, LIKE)                                   \
    int (*name)(P_##LIKE(int, int));                                           \
    int (*iname)(P_##LIKE(int, int), MPI_Request *);                           \
    int (*name##_init)(P_##LIKE(int, int), MPI_Info, MPI_Request *);           \
    int (*name##_c)(P_##LIKE(MPI_Count, MPI_Aint));                            \
    int (*iname##_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Request *);            \
    int (*name##_init_c)(P_##LIKE(MPI_Count, MPI_Aint), MPI_Info,              \
                         MPI_Request *);
    XMPI_NEIGHBORS(XMPI_HOST_MEMBERS)
#undef XMPI_HOST_MEMBERS
    /* Functions of MPI-4 and 4.1; NULL: missing. */
    int (*Comm_idup_with_info)(MPI_Comm, MPI_Info, MPI_Comm *, MPI_Request *);
    int (*Comm_create_from_group)(MPI_Group, const char *, MPI_Info,
                                  MPI_Errhandler, MPI_Comm *);
    int (*Session_init)(MPI_Info, MPI_Errhandler, xmpi_session_t *);
    int (*Session_finalize)(xmpi_session_t *);
    int (*Win_create_c)(void *, MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm,
                        MPI_Win *);
    int (*Win_allocate_c)(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *,
                          MPI_Win *);
    int (*Win_allocate_shared_c)(MPI_Aint, MPI_Aint, MPI_Info, MPI_Comm, void *,
                                 MPI_Win *);
    int (*Session_get_info)(xmpi_session_t, MPI_Info *);
    int (*Group_from_session_pset)(xmpi_session_t, const char *, MPI_Group *);
    int (*Request_get_status_all)(int, MPI_Request[], int *, MPI_Status[]);
    int (*Request_get_status_any)(int, MPI_Request[], int *, int *,
                                  MPI_Status *);
    int (*Request_get_status_some)(int, MPI_Request[], int *, int[],
                                   MPI_Status[]);
    /* For types made with large counts; NULL: missing. */
    int (*Type_get_envelope_c)(MPI_Datatype, MPI_Count *, MPI_Count *,
                               MPI_Count *, MPI_Count *, int *);
    int (*Type_get_contents_c)(MPI_Datatype, MPI_Count, MPI_Count, MPI_Count,
                               MPI_Count, int[], MPI_Aint[], MPI_Count[],
                               MPI_Datatype[]);
    /* NULL: the library does not survive deaths of ranks. */
    int (*Comm_revoke)(MPI_Comm);
    /* Open MPI's hook into its progress; NULL: there is none. */
    int (*progress_register)(int (*hook)(void));
    int (*progress_unregister)(int (*hook)(void));
    /* One turn of Open MPI's progress; NULL: there is no such function. */
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
/* Cleared memory without which this rank could not do what the other ranks wait
 * for. If there is none, a line says so and the process aborts. */
void *xmpi_memory(size_t count, size_t bytes);

#endif
