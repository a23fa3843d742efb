/* Calls of the library. One thread. */
#include "bench/measure/event_calls.h"

#include <stdlib.h>

#include "bench/measure/coll.h"

/* ---- the arguments ---- */

static void arrays_set(const struct event_arrays *arrays,
                       xylem_coll_args_t *args)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);

    if (traits->send_varies) {
        args->send_counts = arrays->counts;
        args->send_displs = arrays->displs;
    }
    if (traits->recv_varies)
        args->recv_counts = arrays->counts;
    if (traits->recv_varies && traits->recv_blocks)
        args->recv_displs = arrays->displs;
    if (traits->has_own_types) {
        args->send_types = arrays->types;
        args->recv_types = arrays->types;
    }
}

xylem_coll_args_t event_args(const struct event_arrays *arrays,
                             const struct bench_tuning *tuning,
                             const struct bench_call *call)
{
    int reduces = xyl_coll_traits(call->coll)->reduces;
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
                              .algorithm = tuning->algorithm};

    arrays_set(arrays, &args);
    return args;
}

int event_arrays_create(struct event_arrays *arrays, uint32_t ranks,
                        const struct bench_call *call)
{
    size_t element_bytes =
        xyl_coll_traits(call->coll)->reduces ? sizeof(float) : 1;
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

xylem_status_t event_call_plain(xylem_team_t *team,
                                const xylem_coll_args_t *args)
{
    switch (args->coll) {
#define PLAIN(ID, name, Mpi, Impi, LIKE, ...)                                  \
    case XYLEM_COLL_##ID:                                                      \
        return xylem_##name(team XYL_PASSED_##LIKE(args));
        XYL_COLL_MAP(PLAIN)
#undef PLAIN
    case XYLEM_COLL_COUNT:
        break;
    }
    return XYLEM_ERR_INTERNAL; /* there is no other */
}
