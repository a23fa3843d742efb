/* Calls of the library. One thread. */
#include "bench/measure/event_calls.h"

#include <stdlib.h>

#include "bench/measure/coll.h"

/* ---- the arguments ---- */

static void arrays_set(const struct event_arrays *arrays,
                       xylem_coll_args_t *args)
{
    xylem_coll_t coll = args->coll;
    int is_alltoall =
        coll == XYLEM_COLL_ALLTOALLV || coll == XYLEM_COLL_ALLTOALLW;

    if (is_alltoall || coll == XYLEM_COLL_SCATTERV) {
        args->send_counts = arrays->counts;
        args->send_displs = arrays->displs;
    }
    if (is_alltoall || coll == XYLEM_COLL_GATHERV ||
        coll == XYLEM_COLL_ALLGATHERV) {
        args->recv_counts = arrays->counts;
        args->recv_displs = arrays->displs;
    }
    if (coll == XYLEM_COLL_REDUCE_SCATTER)
        args->recv_counts = arrays->counts;
    if (coll == XYLEM_COLL_ALLTOALLW) {
        args->send_types = arrays->types;
        args->recv_types = arrays->types;
    }
}

xylem_coll_args_t event_args(const struct event_arrays *arrays,
                             const struct bench_tuning *tuning,
                             const struct bench_call *call)
{
    int reduces = coll_traits(call->coll)->reduces;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = call->coll,
                              .send = call->send,
                              .recv = call->recv,
                              .count =
                                  call->bytes / (reduces ? sizeof(float) : 1),
                              .type = reduces ? XYLEM_FLOAT32 : XYLEM_BYTE,
                              .op = XYLEM_SUM,
                              .root = call->root,
                              .segment_bytes = tuning->segment_bytes,
                              .send_window = tuning->send_window,
                              .recv_window = tuning->recv_window,
                              .tree = tuning->tree,
                              .radix = tuning->radix,
                              .algorithm = tuning->algorithm};

    arrays_set(arrays, &args);
    return args;
}

int event_arrays_create(struct event_arrays *arrays, uint32_t ranks,
                        const struct bench_call *call)
{
    size_t element_bytes = coll_traits(call->coll)->reduces ? sizeof(float) : 1;
    uint64_t each = call->bytes / element_bytes;
    uint32_t i;

    arrays->counts = calloc(ranks, sizeof *arrays->counts);
    arrays->displs = calloc(ranks, sizeof *arrays->displs);
    arrays->types = calloc(ranks, sizeof *arrays->types);
    if (arrays->counts == NULL || arrays->displs == NULL ||
        arrays->types == NULL)
        return 0;
    for (i = 0; i < ranks; i++) {
        arrays->counts[i] = each;
        arrays->displs[i] = each * i;
        arrays->types[i] = XYLEM_BYTE;
    }
    return 1;
}

void event_arrays_destroy(struct event_arrays *arrays)
{
    free(arrays->counts);
    free(arrays->displs);
    free(arrays->types);
    *arrays = (struct event_arrays){NULL, NULL, NULL};
}

static xylem_status_t requests_create(struct event_calls *calls,
                                      xylem_team_t *team)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    calls->requests = calloc(calls->count, sizeof(xylem_request_t *));
    if (calls->requests == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < calls->count && status == XYLEM_OK; i++)
        status = xylem_coll_init(team, &calls->args[i], &calls->requests[i]);
    return status;
}

xylem_status_t event_calls_create(struct event_calls *calls, xylem_team_t *team,
                                  const struct bench_tuning *tuning,
                                  const struct bench_call *list, unsigned count)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    *calls = (struct event_calls){.count = count};
    calls->args = calloc(count, sizeof *calls->args);
    if (calls->args == NULL ||
        !event_arrays_create(&calls->arrays, xylem_team_size(team), &list[0]))
        status = XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < count && status == XYLEM_OK; i++)
        calls->args[i] = event_args(&calls->arrays, tuning, &list[i]);
    if (status == XYLEM_OK && tuning->mode == BENCH_PERSISTENT)
        status = requests_create(calls, team);
    if (status != XYLEM_OK)
        event_calls_destroy(calls);
    return status;
}

void event_calls_destroy(struct event_calls *calls)
{
    unsigned i;

    for (i = 0; calls->requests != NULL && i < calls->count; i++)
        (void)xylem_request_free(calls->requests[i]);
    free(calls->requests);
    free(calls->args);
    event_arrays_destroy(&calls->arrays);
    *calls = (struct event_calls){0};
}

/* ---- the calls ---- */

xylem_status_t event_call_started(xylem_team_t *team,
                                  const xylem_coll_args_t *args)
{
    xylem_request_t *request;
    xylem_status_t status = xylem_coll_start(team, args, &request);

    if (status != XYLEM_OK)
        return status;
    status = xylem_request_wait(request);
    (void)xylem_request_free(request);
    return status;
}

/* One function per collective, named for it. */
#define PLAIN(name, ...)                                                       \
    static xylem_status_t plain_##name(xylem_team_t *team,                     \
                                       const xylem_coll_args_t *a)             \
    {                                                                          \
        (void)a;                                                               \
        return xylem_##name(__VA_ARGS__);                                      \
    }

PLAIN(bcast, team, a->recv, a->count, a->type, a->root)
PLAIN(reduce, team, a->send, a->recv, a->count, a->type, a->op, a->root)
PLAIN(allreduce, team, a->send, a->recv, a->count, a->type, a->op)
PLAIN(barrier, team)
PLAIN(gather, team, a->send, a->recv, a->count, a->type, a->root)
PLAIN(gatherv, team, a->send, a->count, a->recv, a->recv_counts, a->recv_displs,
      a->type, a->root)
PLAIN(scatter, team, a->send, a->recv, a->count, a->type, a->root)
PLAIN(scatterv, team, a->send, a->send_counts, a->send_displs, a->recv,
      a->count, a->type, a->root)
PLAIN(allgather, team, a->send, a->recv, a->count, a->type)
PLAIN(allgatherv, team, a->send, a->count, a->recv, a->recv_counts,
      a->recv_displs, a->type)
PLAIN(alltoall, team, a->send, a->recv, a->count, a->type)
PLAIN(alltoallv, team, a->send, a->send_counts, a->send_displs, a->recv,
      a->recv_counts, a->recv_displs, a->type)
PLAIN(reduce_scatter, team, a->send, a->recv, a->recv_counts, a->type, a->op)
PLAIN(reduce_scatter_block, team, a->send, a->recv, a->count, a->type, a->op)
PLAIN(scan, team, a->send, a->recv, a->count, a->type, a->op)
PLAIN(exscan, team, a->send, a->recv, a->count, a->type, a->op)

xylem_status_t event_call_plain(xylem_team_t *team,
                                const xylem_coll_args_t *args)
{
    static xylem_status_t (*const plain[XYLEM_COLL_COUNT])(
        xylem_team_t *, const xylem_coll_args_t *) = {
        [XYLEM_COLL_BCAST] = plain_bcast,
        [XYLEM_COLL_REDUCE] = plain_reduce,
        [XYLEM_COLL_ALLREDUCE] = plain_allreduce,
        [XYLEM_COLL_BARRIER] = plain_barrier,
        [XYLEM_COLL_GATHER] = plain_gather,
        [XYLEM_COLL_GATHERV] = plain_gatherv,
        [XYLEM_COLL_SCATTER] = plain_scatter,
        [XYLEM_COLL_SCATTERV] = plain_scatterv,
        [XYLEM_COLL_ALLGATHER] = plain_allgather,
        [XYLEM_COLL_ALLGATHERV] = plain_allgatherv,
        [XYLEM_COLL_ALLTOALL] = plain_alltoall,
        [XYLEM_COLL_ALLTOALLV] = plain_alltoallv,
        [XYLEM_COLL_ALLTOALLW] = event_call_started, /* it has no such form */
        [XYLEM_COLL_REDUCE_SCATTER] = plain_reduce_scatter,
        [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = plain_reduce_scatter_block,
        [XYLEM_COLL_SCAN] = plain_scan,
        [XYLEM_COLL_EXSCAN] = plain_exscan,
    };

    return plain[args->coll](team, args);
}
