/* MPI's functions. Each fills a call, which dispatch() makes or leaves.
 *
 * Macros make the six forms of a collective from its list of parameters
 * (parameters.h): blocking, nonblocking and persistent, each for counts of int
 * and, with _c, of MPI_Count. */
#include <stddef.h>

#include "bindings/mpi/call.h"

/* clang-format off */

/* ---- arguments for the host, for each list of parameters ---- */

#define A_BARRIER comm
#define A_BCAST buf, count, type, root, comm
#define A_REDUCE sbuf, rbuf, count, type, op, root, comm
#define A_ALLREDUCE sbuf, rbuf, count, type, op, comm
#define A_REDUCE_SCATTER sbuf, rbuf, counts, type, op, comm
#define A_GATHER sbuf, scount, stype, rbuf, rcount, rtype, root, comm
#define A_GATHERV sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, root, comm
#define A_SCATTERV sbuf, scounts, sdispls, stype, rbuf, rcount, rtype, root, comm
#define A_ALLGATHER sbuf, scount, stype, rbuf, rcount, rtype, comm
#define A_NEIGHBOR_ALLGATHER A_ALLGATHER
#define A_ALLGATHERV sbuf, scount, stype, rbuf, rcounts, rdispls, rtype, comm
#define A_ALLTOALLV sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype, comm
#define A_ALLTOALLW sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes, comm

/* clang-format on */

/* ---- taking calls ---- */

/* 1: the call is made, *code_out is MPI's code; 0: the host has to make it. */
static int dispatch(const xmpi_call_t *call, xmpi_form_t form,
                    MPI_Request *request, int *code_out)
{
    uint64_t begin = xmpi_state.is_watched ? xmpi_now() : 0;
    xmpi_comm_t *comm = xmpi_comm_find(call->comm);
    xmpi_fate_t fate = XMPI_OFF;

    *code_out = MPI_SUCCESS;
    if (comm != NULL)
        fate = xmpi_comm_decide(comm, call->coll, form);
    if (fate == XMPI_TAKEN)
        *code_out = xmpi_take(call, form, comm, request, &fate);
    if (xmpi_state.is_watched)
        xmpi_report_call(call, comm, fate, begin);
    return fate == XMPI_TAKEN;
}

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

/* One function: its name and parameters, the members of its xmpi_call_t, and
 * HOST, the call of the host's function. */
#define FUNCTION(NAME, PARAMETERS, LIKE, COLL, LARGE, FORM, REQUEST, HOST)     \
    XMPI_EXPORTED int xmpi_##NAME PARAMETERS;                                  \
    int xmpi_##NAME PARAMETERS                                                 \
    {                                                                          \
        xmpi_call_t call = {.coll = XYLEM_COLL_##COLL,                         \
                            .is_large = (LARGE),                               \
                            .comm = comm,                                      \
                            F_##LIKE};                                         \
        uint64_t begin;                                                        \
        int code;                                                              \
                                                                               \
        if (dispatch(&call, FORM, REQUEST, &code))                             \
            return code;                                                       \
        begin = xmpi_state.is_watched ? xmpi_now() : 0;                        \
        code = HOST;                                                           \
        if (xmpi_state.is_watched)                                             \
            xmpi_report_left(&call, begin);                                    \
        return code;                                                           \
    }

/* ---- counts of int ---- */

#define HOST_INIT(function, ...)                                               \
    ((function) != NULL ? (function)(__VA_ARGS__) : xmpi_host_lacks(comm))

#define INT_FORMS(COLL, coll_name, NAME, INAME, LIKE, ...)                     \
    FUNCTION(NAME, (P_##LIKE(int, int)), LIKE, COLL, 0, XMPI_BLOCKING, NULL,   \
             xmpi_host.NAME(A_##LIKE))                                         \
    FUNCTION(INAME, (P_##LIKE(int, int), MPI_Request * request), LIKE, COLL,   \
             0, XMPI_NONBLOCKING, request, xmpi_host.INAME(A_##LIKE, request)) \
    FUNCTION(NAME##_init,                                                      \
             (P_##LIKE(int, int), MPI_Info info, MPI_Request * request), LIKE, \
             COLL, 0, XMPI_PERSISTENT, request,                                \
             HOST_INIT(xmpi_host.NAME##_init, A_##LIKE, info, request))
XYL_COLL_MPI_MAP(INT_FORMS)

/* ---- large counts ---- */

#define HOST_LARGE(function, FORM, INFO, REQUEST, ...)                         \
    ((function) != NULL ? (function)(__VA_ARGS__)                              \
                        : xmpi_narrow(&call, FORM, INFO, REQUEST))

#define LARGE_FORMS(COLL, coll_name, NAME, INAME, LIKE, ...)                   \
    FUNCTION(NAME##_c, (P_##LIKE(MPI_Count, MPI_Aint)), LIKE, COLL, 1,         \
             XMPI_BLOCKING, NULL,                                              \
             HOST_LARGE(xmpi_host.NAME##_c, XMPI_BLOCKING, MPI_INFO_NULL,      \
                        NULL, A_##LIKE))                                       \
    FUNCTION(INAME##_c,                                                        \
             (P_##LIKE(MPI_Count, MPI_Aint), MPI_Request * request), LIKE,     \
             COLL, 1, XMPI_NONBLOCKING, request,                               \
             HOST_LARGE(xmpi_host.INAME##_c, XMPI_NONBLOCKING, MPI_INFO_NULL,  \
                        request, A_##LIKE, request))                           \
    FUNCTION(                                                                  \
        NAME##_init_c,                                                         \
        (P_##LIKE(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request * request), \
        LIKE, COLL, 1, XMPI_PERSISTENT, request,                               \
        HOST_LARGE(xmpi_host.NAME##_init_c, XMPI_PERSISTENT, info, request,    \
                   A_##LIKE, info, request))
XYL_COLL_MPI_DATA_MAP(LARGE_FORMS)

/* NOLINTEND(readability-function-size) */
