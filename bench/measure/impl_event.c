/* xylem through its public interface. Only two things come from its tables:
 * whether an algorithm fits, so that a refusal is printed once and before any
 * start, and how much room ranks have. One thread. */
#include <stdio.h>
#include <stdlib.h>

#include "bench/common/impl_name.h"
#include "bench/measure/coll.h"
#include "bench/measure/impl_event.h"
#include "bench/measure/registry.h"
#include "runtime/core/context.h"

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

/* ---- what is measured ---- */

static const char *event_refusal(void *arg, const struct bench_call *call)
{
    struct event_state *state = arg;

    if (state->tuning.algorithm == NULL)
        return NULL;
    /* The call itself finds out whether ranks share memory. */
    return registry_refusal(state->tuning.algorithm, call,
                            xylem_team_size(state->world), 1, state->why,
                            sizeof state->why);
}

static xylem_status_t event_prepare(void *arg, const struct bench_call *calls,
                                    unsigned count)
{
    struct event_state *state = arg;

    return reported(event_calls_create(&state->calls, state->world,
                                       &state->tuning, calls, count),
                    "prepare");
}

static void event_release(void *arg)
{
    struct event_state *state = arg;

    event_calls_destroy(&state->calls);
}

static xylem_status_t event_start(void *arg, const struct bench_call *call)
{
    struct event_state *state = arg;
    xylem_request_t **request = &state->calls.requests[call->slot];
    xylem_status_t status =
        state->tuning.mode == BENCH_PERSISTENT
            ? xylem_request_start(*request)
            : xylem_coll_start(state->world, &state->calls.args[call->slot],
                               request);

    return reported(status, xyl_coll_traits(call->coll)->name);
}

static xylem_status_t event_finish(void *arg, const struct bench_call *call)
{
    struct event_state *state = arg;
    xylem_request_t **request = &state->calls.requests[call->slot];
    xylem_status_t status = xylem_request_wait(*request);

    if (state->tuning.mode == BENCH_NONBLOCKING) {
        (void)xylem_request_free(*request);
        *request = NULL;
    }
    return reported(status, xyl_coll_traits(call->coll)->name);
}

/* 1: a call has settings that the plain functions cannot take. */
static int is_tuned(const struct bench_tuning *tuning)
{
    return tuning->algorithm != NULL || tuning->segment_bytes != 0 ||
           tuning->send_window != 0 || tuning->recv_window != 0;
}

static xylem_status_t event_run(void *arg, const struct bench_call *call)
{
    struct event_state *state = arg;
    const xylem_coll_args_t *args = &state->calls.args[call->slot];
    xylem_status_t status;

    if (state->tuning.mode != BENCH_BLOCKING) {
        status = event_start(arg, call);
        return status == XYLEM_OK ? event_finish(arg, call) : status;
    }
    status = is_tuned(&state->tuning) ? event_call_started(state->world, args)
                                      : event_call_plain(state->world, args);
    return reported(status, xyl_coll_traits(call->coll)->name);
}

/* ---- what the measuring itself needs ---- */

static xylem_status_t event_bcast(void *arg, void *buf, size_t bytes,
                                  uint32_t root)
{
    struct event_state *state = arg;

    return reported(xylem_bcast(state->world, buf, bytes, XYLEM_BYTE, root),
                    "bcast");
}

static xylem_status_t event_reduce(void *arg, const void *send, void *recv,
                                   size_t bytes, uint32_t root)
{
    struct event_state *state = arg;

    return reported(xylem_reduce(state->world, send, recv,
                                 bytes / sizeof(float), XYLEM_FLOAT32,
                                 XYLEM_SUM, root),
                    "reduce");
}

static xylem_status_t event_barrier(void *arg)
{
    struct event_state *state = arg;

    return reported(xylem_barrier(state->world), "barrier");
}

static xylem_status_t event_take(void *arg, size_t bytes, void **memory_out)
{
    struct event_state *state = arg;

    return reported(xylem_alloc(state->context, bytes, memory_out), "alloc");
}

static void event_give(void *arg, void *memory)
{
    struct event_state *state = arg;

    (void)reported(xylem_free(state->context, memory), "free");
}

static void event_progress(void *arg)
{
    struct event_state *state = arg;

    (void)xylem_progress(state->context);
}

static xylem_status_t event_gather(void *arg, const double *mine, size_t count,
                                   double *all)
{
    struct event_state *state = arg;

    return reported(
        xylem_gather(state->world, mine, all, count, XYLEM_FLOAT64, 0),
        "gather");
}

static uint64_t event_room(void *arg)
{
    const struct event_state *state = arg;

    return state->context->sizes.budget;
}

const struct bench_impl *impl_event(void)
{
    static const struct bench_impl impl = {.name = IMPL_XYLEM,
                                           .open = event_open,
                                           .close = event_close,
                                           .rank = event_rank,
                                           .size = event_size,
                                           .refusal = event_refusal,
                                           .prepare = event_prepare,
                                           .run = event_run,
                                           .start = event_start,
                                           .finish = event_finish,
                                           .release = event_release,
                                           .bcast = event_bcast,
                                           .reduce = event_reduce,
                                           .barrier = event_barrier,
                                           .take = event_take,
                                           .give = event_give,
                                           .progress = event_progress,
                                           .room = event_room,
                                           .gather = event_gather};

    return &impl;
}
