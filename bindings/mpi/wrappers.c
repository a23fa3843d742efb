/* MPI's functions. Each writes down its call; dispatch() takes it or not.
 *
 * A collective has a list of parameters, the names of these, and what they mean
 * as an xmpi_call_t; its six forms are made of them: blocking, nonblocking and
 * persistent, each for counts of int and, with _c, of MPI_Count. */
#include <stddef.h>

#include "bindings/mpi/call.h"

/* clang-format off */

/* ---- what the collectives are told: C is the type of counts, D that of
 * displacements ---- */

#define P_Bcast(C, D) void *buf, C count, MPI_Datatype type, int root, MPI_Comm comm
#define A_Bcast buf, count, type, root, comm
#define F_Bcast .recv = {buf, count, type, NULL, NULL, NULL}, .root = root

#define P_Reduce(C, D) const void *sbuf, void *rbuf, C count, MPI_Datatype type, MPI_Op op, int root, MPI_Comm comm
#define A_Reduce sbuf, rbuf, count, type, op, root, comm
#define F_Reduce .send = {sbuf, count, type, NULL, NULL, NULL}, .recv = {rbuf, count, type, NULL, NULL, NULL}, .op = op, .root = root

#define P_Allreduce(C, D) const void *sbuf, void *rbuf, C count, MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define A_Allreduce sbuf, rbuf, count, type, op, comm
#define F_Allreduce .send = {sbuf, count, type, NULL, NULL, NULL}, .recv = {rbuf, count, type, NULL, NULL, NULL}, .op = op
#define P_Scan P_Allreduce
#define A_Scan A_Allreduce
#define F_Scan F_Allreduce
#define P_Exscan P_Allreduce
#define A_Exscan A_Allreduce
#define F_Exscan F_Allreduce
#define P_Reduce_scatter_block P_Allreduce
#define A_Reduce_scatter_block A_Allreduce
#define F_Reduce_scatter_block F_Allreduce

#define P_Reduce_scatter(C, D) const void *sbuf, void *rbuf, const C counts[], MPI_Datatype type, MPI_Op op, MPI_Comm comm
#define A_Reduce_scatter sbuf, rbuf, counts, type, op, comm
#define F_Reduce_scatter .send = {sbuf, 0, type, NULL, NULL, NULL}, .recv = {rbuf, 0, type, counts, NULL, NULL}, .op = op

#define P_Gather(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, int root, MPI_Comm comm
#define A_Gather sbuf, scount, stype, rbuf, rcount, rtype, root, comm
#define F_Gather .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}, .root = root
#define P_Scatter P_Gather
#define A_Scatter A_Gather
#define F_Scatter F_Gather

#define P_Gatherv(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, int root, MPI_Comm comm
#define A_Gatherv sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, root, comm
#define F_Gatherv .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}, .root = root

#define P_Scatterv(C, D) const void *sbuf, const C scounts[], const D sdispls[], MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, int root, MPI_Comm comm
#define A_Scatterv sbuf, scounts, sdispls, stype, rbuf, rcount, rtype, root, comm
#define F_Scatterv .send = {sbuf, 0, stype, scounts, sdispls, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}, .root = root

#define P_Allgather(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, C rcount, MPI_Datatype rtype, MPI_Comm comm
#define A_Allgather sbuf, scount, stype, rbuf, rcount, rtype, comm
#define F_Allgather .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, rcount, rtype, NULL, NULL, NULL}
#define P_Alltoall P_Allgather
#define A_Alltoall A_Allgather
#define F_Alltoall F_Allgather

#define P_Allgatherv(C, D) const void *sbuf, C scount, MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, MPI_Comm comm
#define A_Allgatherv sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, comm
#define F_Allgatherv .send = {sbuf, scount, stype, NULL, NULL, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}

#define P_Alltoallv(C, D) const void *sbuf, const C scounts[], const D sdispls[], MPI_Datatype stype, void *rbuf, const C rcounts[], const D rdispls[], MPI_Datatype rtype, MPI_Comm comm
#define A_Alltoallv sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm
#define F_Alltoallv .send = {sbuf, 0, stype, scounts, sdispls, NULL}, .recv = {rbuf, 0, rtype, rcounts, rdispls, NULL}

#define P_Alltoallw(C, D) const void *sbuf, const C scounts[], const D sdispls[], const MPI_Datatype stypes[], void *rbuf, const C rcounts[], const D rdispls[], const MPI_Datatype rtypes[], MPI_Comm comm
#define A_Alltoallw sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm
#define F_Alltoallw .send = {sbuf, 0, MPI_DATATYPE_NULL, scounts, sdispls, stypes}, .recv = {rbuf, 0, MPI_DATATYPE_NULL, rcounts, rdispls, rtypes}

/* clang-format on */

/* ---- taking calls ---- */

/* 1: the call is made, with *code_out as its outcome; 0: it is the host's. */
static int dispatch(const xmpi_call_t *call, xmpi_form_t form,
                    MPI_Request *request, int *code_out)
{
    xmpi_comm_t *comm = xmpi_comm_find(call->comm);
    xmpi_fate_t fate = XMPI_OFF;

    *code_out = MPI_SUCCESS;
    if (comm != NULL)
        fate = xmpi_comm_decide(comm, call->coll, form);
    if (fate == XMPI_TAKEN && form == XMPI_BLOCKING)
        *code_out = xmpi_blocking(call, comm, &fate);
    else if (fate == XMPI_TAKEN && form == XMPI_NONBLOCKING)
        *code_out = xmpi_nonblocking(call, comm, request, &fate);
    else if (fate == XMPI_TAKEN)
        *code_out = xmpi_persistent(call, comm, request, &fate);
    if (xmpi_state.is_verbose)
        xmpi_count(call->coll, form, fate);
    return fate == XMPI_TAKEN;
}

#define CALL_(NAME, COLL, LARGE)                                               \
    xmpi_call_t call = {.coll = XYLEM_COLL_##COLL,                             \
                        .is_large = (LARGE),                                   \
                        .comm = comm,                                          \
                        F_##NAME}

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

/* ---- counts of int ---- */

#define INT_FORMS(NAME, INAME, COLL)                                           \
    int xmpi_##NAME(P_##NAME(int, int));                                       \
    int xmpi_##INAME(P_##NAME(int, int), MPI_Request *request);                \
    int xmpi_##NAME##_init(P_##NAME(int, int), MPI_Info info,                  \
                           MPI_Request *request);                              \
    int xmpi_##NAME(P_##NAME(int, int))                                        \
    {                                                                          \
        CALL_(NAME, COLL, 0);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_BLOCKING, NULL, &code))                       \
            return code;                                                       \
        return xmpi_host.NAME(A_##NAME);                                       \
    }                                                                          \
    int xmpi_##INAME(P_##NAME(int, int), MPI_Request *request)                 \
    {                                                                          \
        CALL_(NAME, COLL, 0);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_NONBLOCKING, request, &code))                 \
            return code;                                                       \
        return xmpi_host.INAME(A_##NAME, request);                             \
    }                                                                          \
    int xmpi_##NAME##_init(P_##NAME(int, int), MPI_Info info,                  \
                           MPI_Request *request)                               \
    {                                                                          \
        CALL_(NAME, COLL, 0);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_PERSISTENT, request, &code))                  \
            return code;                                                       \
        return xmpi_host.NAME##_init(A_##NAME, info, request);                 \
    }
XMPI_COLLECTIVES_WITH_DATA(INT_FORMS)

/* ---- large counts ---- */

#if XMPI_HOST_HAS_MPI4
#define HOST_LARGE(NAME)         xmpi_host.NAME##_c(A_##NAME)
#define HOST_ILARGE(NAME, INAME) xmpi_host.INAME##_c(A_##NAME, request)
#define HOST_LARGE_INIT(NAME)    xmpi_host.NAME##_init_c(A_##NAME, info, request)
#else
#define HOST_LARGE(NAME) xmpi_narrow(&call, XMPI_BLOCKING, MPI_INFO_NULL, NULL)
#define HOST_ILARGE(NAME, INAME)                                               \
    xmpi_narrow(&call, XMPI_NONBLOCKING, MPI_INFO_NULL, request)
#define HOST_LARGE_INIT(NAME) xmpi_narrow(&call, XMPI_PERSISTENT, info, request)
#endif

#define LARGE_FORMS(NAME, INAME, COLL)                                         \
    int xmpi_##NAME##_c(P_##NAME(MPI_Count, MPI_Aint));                        \
    int xmpi_##INAME##_c(P_##NAME(MPI_Count, MPI_Aint), MPI_Request *request); \
    int xmpi_##NAME##_init_c(P_##NAME(MPI_Count, MPI_Aint), MPI_Info info,     \
                             MPI_Request *request);                            \
    int xmpi_##NAME##_c(P_##NAME(MPI_Count, MPI_Aint))                         \
    {                                                                          \
        CALL_(NAME, COLL, 1);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_BLOCKING, NULL, &code))                       \
            return code;                                                       \
        return HOST_LARGE(NAME);                                               \
    }                                                                          \
    int xmpi_##INAME##_c(P_##NAME(MPI_Count, MPI_Aint), MPI_Request *request)  \
    {                                                                          \
        CALL_(NAME, COLL, 1);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_NONBLOCKING, request, &code))                 \
            return code;                                                       \
        return HOST_ILARGE(NAME, INAME);                                       \
    }                                                                          \
    int xmpi_##NAME##_init_c(P_##NAME(MPI_Count, MPI_Aint), MPI_Info info,     \
                             MPI_Request *request)                             \
    {                                                                          \
        CALL_(NAME, COLL, 1);                                                  \
        int code;                                                              \
        if (dispatch(&call, XMPI_PERSISTENT, request, &code))                  \
            return code;                                                       \
        return HOST_LARGE_INIT(NAME);                                          \
    }
XMPI_COLLECTIVES_WITH_DATA(LARGE_FORMS)

/* NOLINTEND(readability-function-size) */

/* ---- barriers ---- */

int xmpi_Barrier(MPI_Comm comm);
int xmpi_Ibarrier(MPI_Comm comm, MPI_Request *request);
int xmpi_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request);

int xmpi_Barrier(MPI_Comm comm)
{
    xmpi_call_t call = {.coll = XYLEM_COLL_BARRIER, .comm = comm};
    int code;

    if (dispatch(&call, XMPI_BLOCKING, NULL, &code))
        return code;
    return xmpi_host.Barrier(comm);
}

int xmpi_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    xmpi_call_t call = {.coll = XYLEM_COLL_BARRIER, .comm = comm};
    int code;

    if (dispatch(&call, XMPI_NONBLOCKING, request, &code))
        return code;
    return xmpi_host.Ibarrier(comm, request);
}

int xmpi_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    xmpi_call_t call = {.coll = XYLEM_COLL_BARRIER, .comm = comm};
    int code;

    if (dispatch(&call, XMPI_PERSISTENT, request, &code))
        return code;
    return xmpi_host.Barrier_init(comm, info, request);
}
