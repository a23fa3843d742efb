/* xylem through its public interface. Barrier and gather are made of its two
 * collectives. One thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/impl_event.h"

static xylem_status_t reported(xylem_status_t status, const char *what)
{
    if (status != XYLEM_OK)
        fprintf(stderr, "%s: %s: %s\n", what, xylem_status_text(status),
                xylem_last_error());
    return status;
}

static xylem_status_t event_open(const struct bench_tuning *tuning,
                                 void **state_out)
{
    struct event_state *state = calloc(1, sizeof *state);
    xylem_status_t status;

    if (state == NULL)
        return reported(XYLEM_ERR_NO_MEMORY, "open");
    state->tuning = *tuning;
    status = reported(xylem_context_create(NULL, &state->context), "context");
    if (status != XYLEM_OK) {
        free(state);
        return status;
    }
    state->world = xylem_context_world(state->context);
    *state_out = state;
    return XYLEM_OK;
}

static void event_close(void *arg)
{
    struct event_state *state = arg;

    (void)reported(xylem_context_destroy(state->context), "close");
    free(state);
}

static uint32_t event_rank(void *arg)
{
    struct event_state *state = arg;

    return xylem_team_rank(state->world);
}

static uint32_t event_size(void *arg)
{
    struct event_state *state = arg;

    return xylem_team_size(state->world);
}

static int is_tuned(const struct bench_tuning *tuning)
{
    return tuning->tree != XYLEM_TREE_AUTO || tuning->radix != 0 ||
           tuning->segment_bytes != 0 || tuning->send_window != 0 ||
           tuning->recv_window != 0;
}

/* Runs what the plain calls cannot be told. */
static xylem_status_t run_tuned(const struct event_state *state,
                                xylem_coll_args_t *args)
{
    xylem_request_t *request;
    xylem_status_t status;

    args->struct_bytes = sizeof *args;
    args->segment_bytes = state->tuning.segment_bytes;
    args->send_window = state->tuning.send_window;
    args->recv_window = state->tuning.recv_window;
    args->tree = state->tuning.tree;
    args->radix = state->tuning.radix;
    status = xylem_coll_start(state->world, args, &request);
    if (status != XYLEM_OK)
        return status;
    status = xylem_request_wait(request);
    (void)xylem_request_free(request);
    return status;
}

static xylem_status_t event_bcast(void *arg, void *buf, size_t bytes,
                                  uint32_t root)
{
    struct event_state *state = arg;
    xylem_coll_args_t args = {.coll = XYLEM_COLL_BCAST,
                              .recv = buf,
                              .count = bytes,
                              .type = XYLEM_BYTE,
                              .root = root};

    if (is_tuned(&state->tuning))
        return reported(run_tuned(state, &args), "bcast");
    return reported(xylem_bcast(state->world, buf, bytes, XYLEM_BYTE, root),
                    "bcast");
}

static xylem_status_t event_reduce(void *arg, const void *send, void *recv,
                                   size_t bytes, uint32_t root)
{
    struct event_state *state = arg;
    xylem_coll_args_t args = {.coll = XYLEM_COLL_REDUCE,
                              .send = send,
                              .recv = recv,
                              .count = bytes / sizeof(float),
                              .type = XYLEM_FLOAT32,
                              .op = XYLEM_SUM,
                              .root = root};

    if (is_tuned(&state->tuning))
        return reported(run_tuned(state, &args), "reduce");
    return reported(xylem_reduce(state->world, send, recv, args.count,
                                 XYLEM_FLOAT32, XYLEM_SUM, root),
                    "reduce");
}

/* The root's broadcast waits for the reduction, and that for everybody. */
static xylem_status_t event_barrier(void *arg)
{
    struct event_state *state = arg;
    uint8_t mine = 1;
    uint8_t sum = 0;
    xylem_status_t status =
        xylem_reduce(state->world, &mine, &sum, 1, XYLEM_UINT8, XYLEM_MAX, 0);

    if (status == XYLEM_OK)
        status = xylem_bcast(state->world, &sum, 1, XYLEM_BYTE, 0);
    return reported(status, "barrier");
}

static void event_progress(void *arg)
{
    struct event_state *state = arg;

    (void)xylem_progress(state->context);
}

/* Sums vectors that are zero but for the rank's own part: exact. */
static xylem_status_t event_gather(void *arg, const double *mine, size_t count,
                                   double *all)
{
    struct event_state *state = arg;
    size_t total = count * xylem_team_size(state->world);
    double *padded = calloc(total, sizeof *padded);
    xylem_status_t status;

    if (padded == NULL)
        return reported(XYLEM_ERR_NO_MEMORY, "gather");
    memcpy(padded + count * xylem_team_rank(state->world), mine,
           count * sizeof *mine);
    status = xylem_reduce(state->world, padded, all, total, XYLEM_FLOAT64,
                          XYLEM_SUM, 0);
    free(padded);
    return reported(status, "gather");
}

const struct bench_impl *impl_event(void)
{
    static const struct bench_impl impl = {.name = "event",
                                           .open = event_open,
                                           .close = event_close,
                                           .rank = event_rank,
                                           .size = event_size,
                                           .bcast = event_bcast,
                                           .reduce = event_reduce,
                                           .barrier = event_barrier,
                                           .progress = event_progress,
                                           .gather = event_gather};

    return &impl;
}
