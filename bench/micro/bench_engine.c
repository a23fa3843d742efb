/* The cost of one event: through the ready fifo alone, and through the stage of
 * a rank that forwards a broadcast to two children, over a net that completes
 * everything at once. Each round measures both; medians are printed. One
 * thread. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/common/sorted.h"
#include "collectives/api/modules.h"
#include "progress/engine/engine.h"
#include "runtime/assembly/context_create.h"

enum {
    ROUNDS = 31,
    FIFO_EVENTS = 200000,
    RANKS = 7, /* a binary tree: rank 1 has a parent and two children */
    RANK = 1,
    EVENTS_PER_SEGMENT = 3,
    SEGMENT_BYTES = 64,
    SEGMENTS = 1 << 14
};

/* ---- the fifo alone ---- */

static uint64_t handled;

static void count(xyl_event_t *event)
{
    (void)event;
    handled++;
}

static double fifo_ns(xyl_engine_t *engine)
{
    enum { BATCH = 128 };
    static xyl_event_t events[BATCH];
    const xyl_clock_t *clock = xyl_clock_system();
    uint64_t begin, i;
    unsigned nth;

    for (nth = 0; nth < BATCH; nth++)
        events[nth].handle = count;
    begin = xyl_clock_now(clock);
    for (i = 0; i < FIFO_EVENTS; i += BATCH) {
        for (nth = 0; nth < BATCH; nth++)
            xyl_fifo_push(&engine->ready, &events[nth]);
        xyl_engine_turn(engine);
    }
    return (double)(xyl_clock_now(clock) - begin) / (double)i;
}

/* ---- a net that completes everything at once ---- */

static void null_send(xyl_net_t *net, uint32_t peer, uint64_t tag,
                      const void *buf, size_t bytes, xyl_event_t *event)
{
    (void)peer;
    (void)tag;
    (void)buf;
    (void)bytes;
    xyl_net_complete(net, event, XYLEM_OK);
}

static void null_recv(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                      xyl_event_t *event)
{
    (void)tag;
    (void)buf;
    (void)bytes;
    xyl_net_complete(net, event, XYLEM_OK);
}

static void null_cancel(xyl_net_t *net, xyl_event_t *event)
{
    (void)net;
    (void)event;
}

static unsigned null_progress(xyl_net_t *net)
{
    (void)net;
    return 0;
}

static xylem_status_t null_arm(xyl_net_t *net)
{
    (void)net;
    return XYLEM_ERR_BUSY;
}

static int null_wakeup_fd(xyl_net_t *net)
{
    (void)net;
    return -1;
}

static int null_is_flushed(xyl_net_t *net)
{
    (void)net;
    return 1;
}

static void null_destroy(xyl_net_t *net)
{
    (void)net;
}

static xylem_status_t null_create(const xyl_net_params_t *params,
                                  xyl_net_t **net_out);

static const xyl_net_ops_t null_ops = {.name = "null",
                                       .create = null_create,
                                       .send = null_send,
                                       .recv = null_recv,
                                       .cancel = null_cancel,
                                       .progress = null_progress,
                                       .arm = null_arm,
                                       .wakeup_fd = null_wakeup_fd,
                                       .is_flushed = null_is_flushed,
                                       .destroy = null_destroy};

static xylem_status_t null_create(const xyl_net_params_t *params,
                                  xyl_net_t **net_out)
{
    *net_out = params->arg;
    **net_out = (xyl_net_t){.ops = &null_ops, .ready = params->ready};
    return XYLEM_OK;
}

/* ---- a forwarding rank ---- */

static double forward_ns(xylem_context_t *context, xylem_request_t *request)
{
    const xyl_clock_t *clock = xyl_clock_system();
    uint64_t begin = xyl_clock_now(clock);

    if (xylem_request_start(request) != XYLEM_OK)
        abort();
    while (xylem_request_test(request) == XYLEM_IN_PROGRESS)
        xylem_progress(context);
    return (double)(xyl_clock_now(clock) - begin) /
           ((double)SEGMENTS * EVENTS_PER_SEGMENT);
}

/* ---- report ---- */

static double median(double *values)
{
    sorted_make(values, ROUNDS);
    return values[ROUNDS / 2];
}

static void measure(xylem_context_t *context, xylem_request_t *request)
{
    static double fifo[ROUNDS], forward[ROUNDS];
    int round;

    forward_ns(context, request); /* warms up */
    for (round = 0; round < ROUNDS; round++) {
        fifo[round] = fifo_ns(&context->engine);
        forward[round] = forward_ns(context, request);
    }
    printf("ready fifo, push + pop + handler    %7.1f ns per event\n",
           median(fifo));
    printf("forwarding stage, 1 receive, 2 sends %6.1f ns per event\n",
           median(forward));
}

int main(int argc, char **argv)
{
    static xyl_peer_t peers[RANKS];
    static xyl_net_t net;
    const xyl_context_parts_t parts = {.modules = &xyl_modules_of_collectives,
                                       .rank = RANK,
                                       .ranks = RANKS,
                                       .allocator = xyl_allocator_system(),
                                       .clock = xyl_clock_system(),
                                       .peers = peers,
                                       .net = &null_ops,
                                       .net_arg = &net};
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .count = (size_t)SEGMENTS * SEGMENT_BYTES,
                              .type = XYLEM_BYTE,
                              .segment_bytes = SEGMENT_BYTES,
                              .send_window = 4,
                              .recv_window = 8,
                              .algorithm = "kary:2"};
    int result = EXIT_FAILURE;
    xylem_context_t *context;
    xylem_request_t *request;
    enum cli_result parsed;

    parsed =
        cli_parse_none("bench_engine",
                       "What one event costs, in nanoseconds: through the "
                       "ready fifo alone, and through the\nstage of a rank "
                       "that forwards a broadcast to two children.",
                       argc, argv);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    args.recv = calloc(args.count, 1);
    if (args.recv == NULL ||
        xyl_context_create_of_parts(&parts, &context) != XYLEM_OK)
        goto free_buffer;
    if (xylem_coll_init(xylem_context_world(context), &args, &request) !=
        XYLEM_OK)
        goto destroy_context;
    measure(context, request);
    xylem_request_free(request);
    result = EXIT_SUCCESS;

destroy_context:
    xylem_context_destroy(context);
free_buffer:
    free(args.recv);
    return result;
}
