/* Large counts for a host that knows none: what fits into int is handed on,
 * all else is refused. */
#include <limits.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"

#if !XMPI_HOST_HAS_MPI4

typedef struct narrow {
    int scount, rcount;
    int *scounts, *rcounts, *sdispls, *rdispls;
    int has_overflow;
} narrow_t;

static int narrowed(int64_t value, narrow_t *narrow)
{
    if (value > INT_MAX || value < INT_MIN)
        narrow->has_overflow = 1;
    return (int)value;
}

static int *narrowed_counts(const void *counts, int n, narrow_t *narrow)
{
    int *result =
        counts == NULL ? NULL : malloc(((size_t)n + 1) * sizeof *result);
    int i;

    for (i = 0; result != NULL && i < n; i++)
        result[i] = narrowed(((const MPI_Count *)counts)[i], narrow);
    return result;
}

static int *narrowed_displs(const void *displs, int n, narrow_t *narrow)
{
    int *result =
        displs == NULL ? NULL : malloc(((size_t)n + 1) * sizeof *result);
    int i;

    for (i = 0; result != NULL && i < n; i++)
        result[i] = narrowed(((const MPI_Aint *)displs)[i], narrow);
    return result;
}

/* The host's three forms of a collective. */
#define FORMS(NAME, INAME, ...)                                                \
    (form == XMPI_BLOCKING ? xmpi_host.NAME(__VA_ARGS__)                       \
     : form == XMPI_NONBLOCKING                                                \
         ? xmpi_host.INAME(__VA_ARGS__, request)                               \
         : xmpi_host.NAME##_init(__VA_ARGS__, info, request))

static int host_reduction(const xmpi_call_t *c, const narrow_t *n, void *recv,
                          xmpi_form_t form, MPI_Info info, MPI_Request *request)
{
    const void *send = c->send.buf;
    MPI_Datatype type = c->send.type;

    switch ((int)c->coll) {
    case XYLEM_COLL_REDUCE:
        return FORMS(Reduce, Ireduce, send, recv, n->scount, type, c->op,
                     c->root, c->comm);
    case XYLEM_COLL_ALLREDUCE:
        return FORMS(Allreduce, Iallreduce, send, recv, n->scount, type, c->op,
                     c->comm);
    case XYLEM_COLL_REDUCE_SCATTER:
        return FORMS(Reduce_scatter, Ireduce_scatter, send, recv, n->rcounts,
                     type, c->op, c->comm);
    case XYLEM_COLL_REDUCE_SCATTER_BLOCK:
        return FORMS(Reduce_scatter_block, Ireduce_scatter_block, send, recv,
                     n->scount, type, c->op, c->comm);
    case XYLEM_COLL_SCAN:
        return FORMS(Scan, Iscan, send, recv, n->scount, type, c->op, c->comm);
    default:
        return FORMS(Exscan, Iexscan, send, recv, n->scount, type, c->op,
                     c->comm);
    }
}

static int host_move(const xmpi_call_t *c, const narrow_t *n, void *recv,
                     xmpi_form_t form, MPI_Info info, MPI_Request *request)
{
    const void *send = c->send.buf;
    MPI_Datatype st = c->send.type, rt = c->recv.type;

    switch ((int)c->coll) {
    case XYLEM_COLL_BCAST:
        return FORMS(Bcast, Ibcast, recv, n->rcount, rt, c->root, c->comm);
    case XYLEM_COLL_GATHER:
        return FORMS(Gather, Igather, send, n->scount, st, recv, n->rcount, rt,
                     c->root, c->comm);
    case XYLEM_COLL_GATHERV:
        return FORMS(Gatherv, Igatherv, send, n->scount, st, recv, n->rcounts,
                     n->rdispls, rt, c->root, c->comm);
    case XYLEM_COLL_SCATTER:
        return FORMS(Scatter, Iscatter, send, n->scount, st, recv, n->rcount,
                     rt, c->root, c->comm);
    case XYLEM_COLL_SCATTERV:
        return FORMS(Scatterv, Iscatterv, send, n->scounts, n->sdispls, st,
                     recv, n->rcount, rt, c->root, c->comm);
    case XYLEM_COLL_ALLGATHER:
        return FORMS(Allgather, Iallgather, send, n->scount, st, recv,
                     n->rcount, rt, c->comm);
    case XYLEM_COLL_ALLGATHERV:
        return FORMS(Allgatherv, Iallgatherv, send, n->scount, st, recv,
                     n->rcounts, n->rdispls, rt, c->comm);
    case XYLEM_COLL_ALLTOALL:
        return FORMS(Alltoall, Ialltoall, send, n->scount, st, recv, n->rcount,
                     rt, c->comm);
    case XYLEM_COLL_ALLTOALLV:
        return FORMS(Alltoallv, Ialltoallv, send, n->scounts, n->sdispls, st,
                     recv, n->rcounts, n->rdispls, rt, c->comm);
    case XYLEM_COLL_ALLTOALLW:
        return FORMS(Alltoallw, Ialltoallw, send, n->scounts, n->sdispls,
                     c->send.types, recv, n->rcounts, n->rdispls, c->recv.types,
                     c->comm);
    default:
        return host_reduction(c, n, recv, form, info, request);
    }
}

/* How long the arrays are that matter on this rank. */
static int blocks_of(const xmpi_call_t *call)
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
    return (call->coll == XYLEM_COLL_GATHERV ||
            call->coll == XYLEM_COLL_SCATTERV) &&
                   !is_root
               ? 0
               : size;
}

int xmpi_narrow(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
                MPI_Request *request)
{
    narrow_t n = {.has_overflow = 0};
    void *recv = (void *)(uintptr_t)call->recv.buf;
    int size = blocks_of(call), code;

    n.scount = narrowed(call->send.count, &n);
    n.rcount = narrowed(call->recv.count, &n);
    n.scounts = narrowed_counts(call->send.counts, size, &n);
    n.rcounts = narrowed_counts(call->recv.counts, size, &n);
    n.sdispls = narrowed_displs(call->send.displs, size, &n);
    n.rdispls = narrowed_displs(call->recv.displs, size, &n);
    if (n.has_overflow) {
        code = MPI_ERR_COUNT;
        xmpi_host.Comm_call_errhandler(call->comm, code);
    } else {
        code = host_move(call, &n, recv, form, info, request);
    }
    /* What is not blocking may read the arrays until it ends: they stay. */
    if (form == XMPI_BLOCKING || code != MPI_SUCCESS) {
        free(n.scounts);
        free(n.rcounts);
        free(n.sdispls);
        free(n.rdispls);
    }
    return code; /* NOLINT(clang-analyzer-unix.Malloc) */
}

#else

/* Never called: the host has the large forms itself. */
int xmpi_narrow(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
                MPI_Request *request)
{
    (void)call;
    (void)form;
    (void)info;
    (void)request;
    return MPI_ERR_INTERN;
}

#endif
