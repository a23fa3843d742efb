/* Calls that are left to the host. A large call goes to the host's form for
 * large counts. If the host has only int, a call whose numbers fit into int
 * goes to that form, and all others are refused. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/mpi/call.h"

typedef int (*host_fn)(const xmpi_call_t *c, xmpi_form_t form, MPI_Info info,
                       MPI_Request *request);

/* ---- large counts for a host that has only int ---- */

/* *code: MPI_ERR_COUNT if the value does not fit. */
static int narrowed(int64_t value, int *code)
{
    if (value > INT_MAX || value < INT_MIN)
        *code = MPI_ERR_COUNT;
    return (int)value;
}

/* Narrows an array of counts or of displacements, which are alike (plan.c). */
static int *narrowed_all(const void *numbers, int n, int *code)
{
    int64_t number;
    int *result, i;

    if (numbers == NULL)
        return NULL;
    result = malloc(((size_t)n + 1) * sizeof *result);
    if (result == NULL)
        *code = MPI_ERR_NO_MEM;
    for (i = 0; result != NULL && i < n; i++) {
        memcpy(&number, (const char *)numbers + (size_t)i * sizeof number,
               sizeof number);
        result[i] = narrowed(number, code);
    }
    return result;
}

/* The lengths of a call's arrays on this rank; 0: it has none. */
static void blocks_find(const xmpi_call_t *call, int *sent, int *received)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(call->coll);
    int size = 0, rank = 0, is_inter = 0, is_root;

    *sent = *received = 0;
    if (call->comm == MPI_COMM_NULL)
        return;
    if (traits->has_neighbors) {
        const xmpi_comm_t *comm = xmpi_comm_find(call->comm);
        *sent = comm == NULL ? 0 : (int)comm->destination_count;
        *received = comm == NULL ? 0 : (int)comm->source_count;
        return;
    }
    xmpi_host.Comm_test_inter(call->comm, &is_inter);
    if (is_inter)
        xmpi_host.Comm_remote_size(call->comm, &size);
    else
        xmpi_host.Comm_size(call->comm, &size);
    xmpi_host.Comm_rank(call->comm, &rank);
    is_root = is_inter ? call->root == MPI_ROOT : call->root == rank;
    *sent = *received = traits->has_root && !is_root ? 0 : size;
}

/* Narrows one side of a call. `keeps_displs`: displacements are MPI_Aint in
 * every form. */
static void side_narrow(xmpi_side_t *side, int blocks, int keeps_displs,
                        int *code)
{
    side->count = narrowed(side->count, code);
    side->counts = narrowed_all(side->counts, blocks, code);
    if (!keeps_displs)
        side->displs = narrowed_all(side->displs, blocks, code);
}

/* Frees the arrays that side_narrow has made. The arrays of a nonblocking or
 * persistent call are never freed, as the host may still read them. */
static void side_drop(const xmpi_side_t *side, int keeps_displs)
{
    free((void *)(uintptr_t)side->counts);
    if (!keeps_displs)
        free((void *)(uintptr_t)side->displs);
}

static int narrow_call(const xmpi_call_t *call, host_fn host, xmpi_form_t form,
                       MPI_Info info, MPI_Request *request)
{
    int keeps_displs =
        xyl_coll_traits(call->coll)->has_neighbors && call->send.types != NULL;
    int sent, received, code = MPI_SUCCESS;
    xmpi_call_t narrow = *call;

    blocks_find(call, &sent, &received);
    narrow.is_large = 0;
    side_narrow(&narrow.send, sent, keeps_displs, &code);
    side_narrow(&narrow.recv, received, keeps_displs, &code);
    if (code != MPI_SUCCESS)
        xmpi_host.Comm_call_errhandler(call->comm, code);
    else
        code = host(&narrow, form, info, request);
    if (form == XMPI_BLOCKING || code != MPI_SUCCESS) {
        side_drop(&narrow.send, keeps_displs);
        side_drop(&narrow.recv, keeps_displs);
    }
    return code; /* NOLINT(clang-analyzer-unix.Malloc) */
}

/* ---- the host's functions ---- */

/* Arguments for the host, for each list of parameters. `c` is the call, `recv`
 * its receive buffer without const, C the type of counts. */
#define ENDS               c->root, c->comm
#define SENT_ONE(C)        c->send.buf, (C)c->send.count, c->send.type
#define SENT_MANY          c->send.buf, c->send.counts, c->send.displs, c->send.type
#define RECEIVED_ONE(C)    recv, (C)c->recv.count, c->recv.type
#define RECEIVED_MANY      recv, c->recv.counts, c->recv.displs, c->recv.type
#define SUMMED(C)          c->send.buf, recv, (C)c->send.count, c->send.type, c->op
#define GIVEN_BARRIER(C)   c->comm
#define GIVEN_BCAST(C)     RECEIVED_ONE(C), ENDS
#define GIVEN_REDUCE(C)    SUMMED(C), ENDS
#define GIVEN_ALLREDUCE(C) SUMMED(C), c->comm
#define GIVEN_REDUCE_SCATTER(C)                                                \
    c->send.buf, recv, c->recv.counts, c->send.type, c->op, c->comm
#define GIVEN_GATHER(C)             SENT_ONE(C), RECEIVED_ONE(C), ENDS
#define GIVEN_GATHERV(C)            SENT_ONE(C), RECEIVED_MANY, ENDS
#define GIVEN_SCATTERV(C)           SENT_MANY, RECEIVED_ONE(C), ENDS
#define GIVEN_ALLGATHER(C)          SENT_ONE(C), RECEIVED_ONE(C), c->comm
#define GIVEN_NEIGHBOR_ALLGATHER(C) GIVEN_ALLGATHER(C)
#define GIVEN_ALLGATHERV(C)         SENT_ONE(C), RECEIVED_MANY, c->comm
#define GIVEN_ALLTOALLV(C)          SENT_MANY, RECEIVED_MANY, c->comm
#define GIVEN_ALLTOALLW(C)                                                     \
    c->send.buf, c->send.counts, c->send.displs, c->send.types, recv,          \
        c->recv.counts, c->recv.displs, c->recv.types, c->comm
#define GIVEN_NEIGHBOR_ALLTOALLW(C) GIVEN_ALLTOALLW(C)

/* As many parameters as MPI's. NOLINTBEGIN(readability-function-size) */

/* Calls one of the three forms, if the host has it. */
#define TRY(blocking, nonblocking, persistent, ...)                            \
    if (form == XMPI_BLOCKING && xmpi_host.blocking != NULL)                   \
        return xmpi_host.blocking(__VA_ARGS__);                                \
    if (form == XMPI_NONBLOCKING && xmpi_host.nonblocking != NULL)             \
        return xmpi_host.nonblocking(__VA_ARGS__, request);                    \
    if (form == XMPI_PERSISTENT && xmpi_host.persistent != NULL)               \
        return xmpi_host.persistent(__VA_ARGS__, info, request);

#define HOST(ID, coll_name, NAME, INAME, LIKE, ...)                            \
    static int host_##NAME(const xmpi_call_t *c, xmpi_form_t form,             \
                           MPI_Info info, MPI_Request *request)                \
    {                                                                          \
        void *recv = (void *)(uintptr_t)c->recv.buf;                           \
                                                                               \
        (void)recv;                                                            \
        if (c->is_large) {                                                     \
            TRY(NAME##_c, INAME##_c, NAME##_init_c, GIVEN_##LIKE(MPI_Count))   \
            return narrow_call(c, host_##NAME, form, info, request);           \
        }                                                                      \
        TRY(NAME, INAME, NAME##_init, GIVEN_##LIKE(int))                       \
        return xmpi_host_lacks(c->comm);                                       \
    }
XYL_COLL_MPI_MAP(HOST)
XMPI_NEIGHBORS(HOST)

int xmpi_leave(const xmpi_call_t *call, xmpi_form_t form, MPI_Info info,
               MPI_Request *request)
{
#define ROW(ID, coll_name, NAME, ...) [XYLEM_COLL_##ID] = host_##NAME,
    static const host_fn hosts[XYLEM_COLL_COUNT] = {XYL_COLL_MPI_MAP(ROW)};
#undef ROW

    return hosts[call->coll](call, form, info, request);
}

/* ---- neighbourhood collectives that are the host's ---- */

/* Defines one function. Its call has the traits of the one neighbourhood
 * collective that xylem has. */
#define LARGE(FUNCTION, PARAMETERS, NAME, LIKE, FORM, INFO, REQUEST)           \
    static int large_##FUNCTION PARAMETERS                                     \
    {                                                                          \
        const xmpi_call_t c = {.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,          \
                               .is_large = 1,                                  \
                               .comm = comm,                                   \
                               F_##LIKE};                                      \
                                                                               \
        return host_##NAME(&c, FORM, INFO, REQUEST);                           \
    }
#define NEIGHBORS(ID, coll_name, NAME, INAME, LIKE, ...)                       \
    LARGE(NAME##_c, (P_##LIKE(MPI_Count, MPI_Aint)), NAME, LIKE,               \
          XMPI_BLOCKING, MPI_INFO_NULL, NULL)                                  \
    LARGE(INAME##_c, (P_##LIKE(MPI_Count, MPI_Aint), MPI_Request * request),   \
          NAME, LIKE, XMPI_NONBLOCKING, MPI_INFO_NULL, request)                \
    LARGE(                                                                     \
        NAME##_init_c,                                                         \
        (P_##LIKE(MPI_Count, MPI_Aint), MPI_Info info, MPI_Request * request), \
        NAME, LIKE, XMPI_PERSISTENT, info, request)
XMPI_NEIGHBORS(NEIGHBORS)
/* NOLINTEND(readability-function-size) */

/* Names of members cannot be in parentheses.
 * NOLINTBEGIN(bugprone-macro-parentheses) */
void xmpi_neighbors_take(void)
{
#define TAKE(name, function)                                                   \
    if (xmpi_host.name == NULL)                                                \
        xmpi_front->take(#name, (xmpi_function_t)function);
#define TAKE_ALL(ID, coll_name, NAME, INAME, LIKE, ...)                        \
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
