/* The two designs that event-driven collectives replace, as implementations to
 * measure (rival_stages.h). All else is the library's. They keep their last
 * request from call to call, as the library keeps its plans. One thread. */
#include <stdio.h>

#include "bench/measure/impl_event.h"
#include "bench/measure/registry.h"
#include "bench/measure/rival_stages.h"

/* 1 when the request that is kept was planned for calls like `args`. */
static int is_kept(const struct event_state *state,
                   const xylem_coll_args_t *args)
{
    return state->kept != NULL && state->kept_args.coll == args->coll &&
           state->kept_args.count == args->count &&
           state->kept_args.root == args->root;
}

static xylem_status_t plan(struct event_state *state, rival_design_t design,
                           xylem_coll_args_t *args)
{
    xylem_status_t status;

    if (is_kept(state, args)) {
        xyl_collective_bind(xyl_operation_of(state->kept), args);
        return XYLEM_OK;
    }
    (void)xylem_request_free(state->kept);
    state->kept = NULL;
    args->struct_bytes = sizeof *args;
    args->segment_bytes = state->tuning.segment_bytes;
    args->algorithm = state->tuning.algorithm;
    status = rival_init(design, state->world, args, &state->kept);
    if (status == XYLEM_OK)
        state->kept_args = *args;
    return status;
}

static xylem_status_t run(struct event_state *state, rival_design_t design,
                          const struct bench_call *call)
{
    int reduces = call->coll == XYLEM_COLL_REDUCE;
    xylem_coll_args_t args = {.coll = call->coll,
                              .send = call->send,
                              .recv = call->recv,
                              .count =
                                  call->bytes / (reduces ? sizeof(float) : 1),
                              .type = reduces ? XYLEM_FLOAT32 : XYLEM_BYTE,
                              .op = XYLEM_SUM,
                              .root = call->root};
    xylem_status_t status = plan(state, design, &args);

    if (status == XYLEM_OK)
        status = xylem_request_start(state->kept);
    if (status == XYLEM_OK)
        status = xylem_request_wait(state->kept);
    if (status != XYLEM_OK)
        fprintf(stderr, "%s: %s\n", xylem_status_text(status),
                xylem_last_error());
    return status;
}

/* ---- the tables ---- */

static const char *rival_refusal(void *arg, const struct bench_call *call)
{
    const struct event_state *state = arg;

    if (call->coll != XYLEM_COLL_BCAST && call->coll != XYLEM_COLL_REDUCE)
        return "this implementation has bcast and reduce only";
    if (state->tuning.algorithm != NULL &&
        !registry_is_tree(state->tuning.algorithm, call->coll))
        return "this implementation has trees only; --algorithm list -c bcast "
               "shows them";
    if (state->tuning.mode != BENCH_BLOCKING)
        return "this implementation has blocking calls only";
    return NULL;
}

static xylem_status_t blocking_run(void *state, const struct bench_call *call)
{
    return run(state, RIVAL_BLOCKING, call);
}

static xylem_status_t waitall_run(void *state, const struct bench_call *call)
{
    return run(state, RIVAL_WAITALL, call);
}

static void rival_close(void *arg)
{
    struct event_state *state = arg;

    (void)xylem_request_free(state->kept);
    impl_event()->close(state);
}

static struct bench_impl rival(const char *name)
{
    struct bench_impl impl = *impl_event();

    impl.name = name;
    impl.close = rival_close;
    impl.refusal = rival_refusal;
    /* The one request that is kept serves all buffers. */
    impl.prepare = NULL;
    impl.release = NULL;
    impl.start = NULL;
    impl.finish = NULL;
    return impl;
}

const struct bench_impl *rival_waitall(void)
{
    static struct bench_impl impl;

    impl = rival("waitall");
    impl.run = waitall_run;
    return &impl;
}

const struct bench_impl *rival_blocking(void)
{
    static struct bench_impl impl;

    impl = rival("blocking");
    impl.run = blocking_run;
    return &impl;
}
