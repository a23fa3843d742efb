/* The functions that the binding takes over, as tables: the front exports
 * MPI_NAME and PMPI_NAME for each, a module has xmpi_NAME. */
#ifndef XMPI_NAMES_H
#define XMPI_NAMES_H

/* Blocking name, nonblocking name, XYLEM_COLL_ and index of XMPI_COLL_. */
#define XMPI_COLLECTIVES_WITH_DATA(X)                                          \
    X(Bcast, Ibcast, BCAST)                                                    \
    X(Reduce, Ireduce, REDUCE)                                                 \
    X(Allreduce, Iallreduce, ALLREDUCE)                                        \
    X(Gather, Igather, GATHER)                                                 \
    X(Gatherv, Igatherv, GATHERV)                                              \
    X(Scatter, Iscatter, SCATTER)                                              \
    X(Scatterv, Iscatterv, SCATTERV)                                           \
    X(Allgather, Iallgather, ALLGATHER)                                        \
    X(Allgatherv, Iallgatherv, ALLGATHERV)                                     \
    X(Alltoall, Ialltoall, ALLTOALL)                                           \
    X(Alltoallv, Ialltoallv, ALLTOALLV)                                        \
    X(Alltoallw, Ialltoallw, ALLTOALLW)                                        \
    X(Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER)                         \
    X(Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER_BLOCK)       \
    X(Scan, Iscan, SCAN)                                                       \
    X(Exscan, Iexscan, EXSCAN)

#define XMPI_COLLECTIVES(X)                                                    \
    X(Barrier, Ibarrier, BARRIER)                                              \
    XMPI_COLLECTIVES_WITH_DATA(X)

/* What is not a collective, but has to do with what the binding keeps. */
#define XMPI_OTHERS(X)                                                         \
    X(Init)                                                                    \
    X(Init_thread)                                                             \
    X(Start)                                                                   \
    X(Startall)                                                                \
    X(Request_free)                                                            \
    X(Type_free)                                                               \
    X(Op_free)                                                                 \
    X(Comm_dup)                                                                \
    X(Comm_split)                                                              \
    X(Comm_create)                                                             \
    X(Comm_split_type)                                                         \
    X(Comm_dup_with_info)                                                      \
    X(Cart_create)                                                             \
    X(Cart_sub)                                                                \
    X(Graph_create)                                                            \
    X(Dist_graph_create)                                                       \
    X(Dist_graph_create_adjacent)

/* Every name that the front exports. */
#define XMPI_FORMS_(name, iname, coll) X_(name) X_(iname) X_(name##_init)
#define XMPI_LARGE_FORMS_(name, iname, coll)                                   \
    X_(name##_c) X_(iname##_c) X_(name##_init_c)

#endif
