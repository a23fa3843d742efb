/* Large counts for a host that has only int: calls whose numbers fit into int
 * go to the host, all others are refused. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

typedef struct narrow {
    int scount, rcount;
    int *scounts, *rcounts, *sdispls, *rdispls;
    int code; /* MPI's: whether the numbers fit, and there is memory */
} narrow_t;

static int narrowed(int64_t value, narrow_t *narrow)
{
    if (value > INT_MAX || value < INT_MIN)
        narrow->code = MPI_ERR_COUNT;
    return (int)value;
}

/* Narrows an array of counts or of displacements, which are alike (plan.c). */
static int *narrowed_all(const void *numbers, int n, narrow_t *narrow)
{
    int64_t number;
    int *result, i;

    if (numbers == NULL)
        return NULL;
    result = malloc(((size_t)n + 1) * sizeof *result);
    if (result == NULL)
        narrow->code = MPI_ERR_NO_MEM;
    for (i = 0; result != NULL && i < n; i++) {
        memcpy(&number, (const char *)numbers + (size_t)i * sizeof number,
               sizeof number);
        result[i] = narrowed(number, narrow);
    }
    return result;
}

/* Arguments for the host, for each list of parameters. `c` is the call, `n` its
 * narrowed numbers, `recv` its receive buffer without const. */
#define ENDS          c->root, c->comm
#define SENT_ONE      c->send.buf, n->scount, c->send.type
#define SENT_MANY     c->send.buf, n->scounts, n->sdispls, c->send.type
#define RECEIVED_ONE  recv, n->rcount, c->recv.type
#define RECEIVED_MANY recv, n->rcounts, n->rdispls, c->recv.type
#define GIVEN_BCAST   RECEIVED_ONE, ENDS
#define GIVEN_REDUCE  c->send.buf, recv, n->scount, c->send.type, c->op, ENDS
#define GIVEN_ALLREDUCE                                                        \
    c->send.buf, recv, n->scount, c->send.type, c->op, c->comm
#define GIVEN_REDUCE_SCATTER                                                   \
    c->send.buf, recv, n->rcounts, c->send.type, c->op, c->comm
#define GIVEN_GATHER             SENT_ONE, RECEIVED_ONE, ENDS
#define GIVEN_GATHERV            SENT_ONE, RECEIVED_MANY, ENDS
#define GIVEN_SCATTERV           SENT_MANY, RECEIVED_ONE, ENDS
#define GIVEN_ALLGATHER          SENT_ONE, RECEIVED_ONE, c->comm
#define GIVEN_NEIGHBOR_ALLGATHER GIVEN_ALLGATHER
#define GIVEN_ALLGATHERV         SENT_ONE, RECEIVED_MANY, c->comm
#define GIVEN_ALLTOALLV          SENT_MANY, RECEIVED_MANY, c->comm
#define GIVEN_ALLTOALLW                                                        \
    c->send.buf, n->scounts, n->sdispls, c->send.types, recv, n->rcounts,      \
        n->rdispls, c->recv.types, c->comm
/* Displacements of every form are addresses. */
#define GIVEN_NEIGHBOR_ALLTOALLW                                               \
    c->send.buf, n->scounts, c->send.displs, c->send.types, recv, n->rcounts,  \
        c->recv.displs, c->recv.types, c->comm

typedef int (*host_fn)(const xmpi_call_t *c, const narrow_t *n, void *recv,
                       xmpi_form_t form, MPI_Info info, MPI_Request *request);

/* Calls the host's form of a collective. */
static int host_call(const xmpi_call_t *c, const narrow_t *n, void *recv,
                     xmpi_form_t form, MPI_Info info, MPI_Request *request)
{
    switch ((int)c->coll) {
#define FORMS(ID, coll_name, NAME, INAME, LIKE, ...)                           \
    case XYLEM_COLL_##ID:                                                      \
        if (form == XMPI_BLOCKING)                                             \
            return xmpi_host.NAME(GIVEN_##LIKE);                               \
        if (form == XMPI_NONBLOCKING)                                          \
            return xmpi_host.INAME(GIVEN_##LIKE, request);                     \
        if (xmpi_host.NAME##_init != NULL)                                     \
            return xmpi_host.NAME##_init(GIVEN_##LIKE, info, request);         \
        return xmpi_host_lacks(c->comm);
        XYL_COLL_MPI_DATA_MAP(FORMS)
#undef FORMS
    default:
        return MPI_ERR_INTERN; /* no other collective has counts */
    }
}

/* The length of a call's arrays on this rank; 0: it has none. */
static int narrowed_blocks(const xmpi_call_t *call)
{
    int size = 0, rank = 0, is_inter = 0, is_root;

    if (call->comm == MPI_COMM_NULL)
        return 0;
    xmpi_host.Comm_test_inter(call->comm, &is_inter);
    if (is_inter)
        xmpi_host.Comm_remote_size(call->comm, &size);
    else
        xmpi_host.Comm_size(call->comm, &size);
    xmpi_host.Comm_rank(call->comm, &rank);
    is_root = is_inter ? call->root == MPI_ROOT : call->root == rank;
    return xyl_coll_traits(call->coll)->has_root && !is_root ? 0 : size;
}

/* Frees the arrays, unless the call may go on reading them: those of a call
 * that does not block are never freed. */
static void narrow_drop(const narrow_t *n, xmpi_form_t form, int code)
{
    if (form != XMPI_BLOCKING && code == MPI_SUCCESS)
        return;
    free(n->scounts);
    free(n->rcounts);
    free(n->sdispls);
    free(n->rdispls);
}

/* `out` blocks are sent, `in` received. */
static int narrowed_call(const xmpi_call_t *call, int out, int in,
                         int narrows_displs, host_fn host, xmpi_form_t form,
                         MPI_Info info, MPI_Request *request)
{
    narrow_t n = {.code = MPI_SUCCESS};
    int code;

    n.scount = narrowed(call->send.count, &n);
    n.rcount = narrowed(call->recv.count, &n);
    n.scounts = narrowed_all(call->send.counts, out, &n);
    n.rcounts = narrowed_all(call->recv.counts, in, &n);
    if (narrows_displs) {
        n.sdispls = narrowed_all(call->send.displs, out, &n);
        n.rdispls = narrowed_all(call->recv.displs, in, &n);
    }
    code = n.code;
    if (code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(call->comm, code);
    else
        code = host(call, &n, (void *)(uintptr_t)call->recv.buf, form, info,
                    request);
    narrow_drop(&n, form, code);
    return code; /* NOLINT(clang-analyzer-unix.Malloc) */
}

int xmpi_narrow(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
                MPI_Request *request)
{
    int size = narrowed_blocks(call);

    return narrowed_call(call, size, size, 1, host_call, form, info, request);
}

/* ---- neighbourhood collectives that are the host's ---- */

static int narrowed_neighbors(const xmpi_call_t *call, host_fn host,
                              xmpi_form_t form, MPI_Info info,
                              MPI_Request *request)
{
    const xmpi_comm_t *comm = xmpi_comm_find(call->comm);
    int out = comm == NULL ? 0 : (int)comm->destination_count;
    int in = comm == NULL ? 0 : (int)comm->source_count;

    return narrowed_call(call, out, in,
                         call->send.types == NULL && call->recv.types == NULL,
                         host, form, info, request);
}

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */
#define NEIGHBORS(NAME, INAME, LIKE)                                           \
    static int host_##NAME(const xmpi_call_t *c, const narrow_t *n,            \
                           void *recv, xmpi_form_t form, MPI_Info info,        \
                           MPI_Request *request)                               \
    {                                                                          \
        if (form == XMPI_BLOCKING)                                             \
            return xmpi_host.NAME(GIVEN_##LIKE);                               \
        if (form == XMPI_NONBLOCKING)                                          \
            return xmpi_host.INAME(GIVEN_##LIKE, request);                     \
        if (xmpi_host.NAME##_init != NULL)                                     \
            return xmpi_host.NAME##_init(GIVEN_##LIKE, info, request);         \
        return xmpi_host_lacks(c->comm);                                       \
    }                                                                          \
    static int large_##NAME##_c(P_##LIKE(MPI_Count, MPI_Aint))                 \
    {                                                                          \
        const xmpi_call_t c = {F_##LIKE, .comm = comm};                        \
        return narrowed_neighbors(&c, host_##NAME, XMPI_BLOCKING,              \
                                  MPI_INFO_NULL, NULL);                        \
    }                                                                          \
    static int large_##INAME##_c(P_##LIKE(MPI_Count, MPI_Aint),                \
                                 MPI_Request *request)                         \
    {                                                                          \
        const xmpi_call_t c = {F_##LIKE, .comm = comm};                        \
        return narrowed_neighbors(&c, host_##NAME, XMPI_NONBLOCKING,           \
                                  MPI_INFO_NULL, request);                     \
    }                                                                          \
    static int large_##NAME##_init_c(P_##LIKE(MPI_Count, MPI_Aint),            \
                                     MPI_Info info, MPI_Request *request)      \
    {                                                                          \
        const xmpi_call_t c = {F_##LIKE, .comm = comm};                        \
        return narrowed_neighbors(&c, host_##NAME, XMPI_PERSISTENT, info,      \
                                  request);                                    \
    }
XMPI_NEIGHBORS(NEIGHBORS)
/* NOLINTEND(readability-function-size) */

/* Names of members cannot be in parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
void xmpi_neighbors_take(void)
{
#define TAKE(name, function)                                                   \
    if (xmpi_host.name == NULL)                                                \
        xmpi_front->take(#name, (xmpi_function_t)function);
#define TAKE_ALL(NAME, INAME, LIKE)                                            \
    if (xmpi_host.NAME##_init != NULL)                                         \
        xmpi_front->take(#NAME "_init",                                        \
                         (xmpi_function_t)xmpi_host.NAME##_init);              \
    TAKE(NAME##_c, large_##NAME##_c)                                           \
    TAKE(INAME##_c, large_##INAME##_c)                                         \
    TAKE(NAME##_init_c, large_##NAME##_init_c)
    XMPI_NEIGHBORS(TAKE_ALL)
#undef TAKE
#undef TAKE_ALL
}
/* NOLINTEND(bugprone-macro-parentheses) */
