/* Calls of the library. One thread. */
#include "bench/measure/event_calls.h"

#include <stdlib.h>

#include "bench/measure/coll_data.h"

/* ---- the arguments ---- */

xylem_coll_args_t event_args(const struct coll_arrays *arrays, uint32_t rank,
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

    coll_arrays_set(arrays, rank, &args);
    return args;
}

static xylem_status_t requests_create(struct event_calls *calls,
                                      xylem_team_t *team, enum bench_mode mode)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    calls->requests = calloc(calls->count, sizeof(xylem_request_t *));
    if (calls->requests == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (mode != BENCH_PERSISTENT)
        return XYLEM_OK;
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
    calls->arrays =
        coll_arrays_create(list[0].coll, xylem_team_size(team), list[0].bytes);
    if (calls->args == NULL || calls->arrays == NULL)
        status = XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < count && status == XYLEM_OK; i++)
        calls->args[i] =
            event_args(calls->arrays, xylem_team_rank(team), tuning, &list[i]);
    if (status == XYLEM_OK && tuning->mode != BENCH_BLOCKING)
        status = requests_create(calls, team, tuning->mode);
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
    coll_arrays_destroy(calls->arrays);
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
        return xylem_##name(team XYL_LIST_##LIKE(XYL_PASSED));
        XYL_COLL_MAP(PLAIN)
#undef PLAIN
    case XYLEM_COLL_COUNT:
        break;
    }
    return XYLEM_ERR_INTERNAL; /* there is no other */
}
