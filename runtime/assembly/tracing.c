#include "runtime/assembly/tracing.h"

#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/base/trace_file.h"

enum { EVENTS_MAX = 1 << 20, PATH_BYTES = 4096, ID_BITS = 32 };

typedef enum event_kind {
    EVENT_MARK,
    EVENT_OPERATION,
    EVENT_WAIT
} event_kind_t;

typedef struct event {
    uint64_t begin, end; /* in ticks */
    const char *name;
    uint64_t detail; /* the bytes, or the segment */
    uint32_t kind;
    uint32_t sequence;
} event_t;

typedef struct xyl_recorder {
    xyl_observer_t observer;
    const xyl_clock_t *clock;
    uint64_t origin_ticks, origin_ns;
    uint64_t realtime_ns;   /* at the origin */
    double ns_per_tick;     /* set when the events are written */
    _Atomic uint64_t count; /* of events, also of those without room */
    event_t events[];       /* the system gives memory as it is written to */
} xyl_recorder_t;

/* ---- recording ---- */

static void record(xyl_recorder_t *recorder, const event_t *event)
{
    uint64_t place =
        atomic_fetch_add_explicit(&recorder->count, 1, memory_order_relaxed);

    if (place < EVENTS_MAX)
        recorder->events[place] = *event;
}

/* The processor's counter of constant rate, on processors where it is known. It
 * is read in a fraction of the time that the clock takes. */
static inline uint64_t ticks_now(const xyl_recorder_t *recorder)
{
#if defined __x86_64__
    (void)recorder;
    return __builtin_ia32_rdtsc();
#else
    return xyl_clock_now(recorder->clock);
#endif
}

static uint64_t time_now(void *arg)
{
    return ticks_now(arg);
}

static void segment_emitted(void *arg, const char *stage, uint32_t sequence,
                            uint64_t segment)
{
    uint64_t now = ticks_now(arg);

    record(arg, &(event_t){.begin = now,
                           .end = now,
                           .name = stage,
                           .detail = segment,
                           .kind = EVENT_MARK,
                           .sequence = sequence});
}

static void time_lasted(void *arg, xyl_lasted_t what, const char *name,
                        uint64_t begin, uint64_t bytes)
{
    record(arg, &(event_t){.begin = begin,
                           .end = ticks_now(arg),
                           .name = name,
                           .detail = bytes,
                           .kind = what == XYL_LASTED_WAIT ? EVENT_WAIT
                                                           : EVENT_OPERATION});
}

static uint64_t realtime_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

xylem_status_t xyl_tracing_begin(xylem_context_t *context)
{
    xyl_recorder_t *recorder;

    if (context->config.trace == 0)
        return XYLEM_OK;
    recorder = calloc(1, sizeof *recorder + EVENTS_MAX * sizeof(event_t));
    if (recorder == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for XYLEM_TRACE");
    recorder->observer = (xyl_observer_t){.emitted = segment_emitted,
                                          .time = time_now,
                                          .lasted = time_lasted,
                                          .every = context->config.trace_every,
                                          .arg = recorder};
    recorder->clock = context->engine.clock;
    recorder->origin_ticks = ticks_now(recorder);
    recorder->origin_ns = xyl_clock_now(recorder->clock);
    recorder->realtime_ns = realtime_ns();
    context->observer = &recorder->observer;
    context->execs.recorder = &recorder->observer;
    return XYLEM_OK;
}

/* ---- writing ---- */

/* Picoseconds after the origin. */
static uint64_t time_of(const xyl_recorder_t *recorder, uint64_t ticks)
{
    return (uint64_t)((double)(ticks - recorder->origin_ticks) *
                      recorder->ns_per_tick) *
           1000;
}

static void event_write(xyl_trace_t *trace, uint32_t rank, uint64_t number,
                        const xyl_recorder_t *recorder)
{
    const event_t *event = &recorder->events[number];
    uint64_t begin = time_of(recorder, event->begin);
    uint64_t end = time_of(recorder, event->end);

    switch ((event_kind_t)event->kind) {
    case EVENT_MARK:
        xyl_trace_mark(trace, rank, event->name, begin, event->sequence,
                       event->detail);
        break;
    case EVENT_OPERATION:
        xyl_trace_operation(trace, ((uint64_t)rank << ID_BITS) + number, rank,
                            event->name, begin, end, event->detail);
        break;
    case EVENT_WAIT:
        xyl_trace_span(trace, rank, event->name, begin, end, event->detail);
        break;
    }
}

static void recorder_write(const xylem_context_t *context,
                           const xyl_recorder_t *recorder)
{
    xyl_trace_rows_t rows = {.label = "measured",
                             .first = context->rank,
                             .ranks = 1,
                             .node = context->peers[context->rank].place.node,
                             .ranks_per_node = 1};
    uint64_t count =
        atomic_load_explicit(&recorder->count, memory_order_relaxed);
    uint64_t kept = count < EVENTS_MAX ? count : EVENTS_MAX, i;
    char path[PATH_BYTES], host[HOST_NAME_MAX + 1] = "";
    xyl_trace_t *trace;

    snprintf(path, sizeof path, "%s.%u",
             (const char *)(uintptr_t)context->config.trace, context->rank);
    /* An operation is two events in the file. */
    trace = xyl_trace_create(path, &rows, 2 * kept);
    if (trace == NULL) {
        xyl_log(XYL_LOG_WARN, "XYLEM_TRACE: cannot write %s: %s", path,
                strerror(errno));
        return;
    }
    gethostname(host, sizeof host - 1);
    xyl_trace_clock(trace, context->rank, host, recorder->origin_ns,
                    recorder->realtime_ns);
    for (i = 0; i < kept; i++)
        event_write(trace, context->rank, i, recorder);
    if (!xyl_trace_destroy(trace))
        xyl_log(XYL_LOG_WARN, "XYLEM_TRACE: could not write all of %s", path);
    if (kept < count)
        xyl_log(XYL_LOG_WARN,
                "XYLEM_TRACE: %s has the first %llu of %llu events", path,
                (unsigned long long)kept, (unsigned long long)count);
}

void xyl_tracing_end(xylem_context_t *context)
{
    xyl_recorder_t *recorder;

    if (context->observer == NULL ||
        context->observer->emitted != segment_emitted)
        return;
    recorder = context->observer->arg;
    recorder->ns_per_tick =
        (double)(xyl_clock_now(recorder->clock) - recorder->origin_ns) /
        (double)(ticks_now(recorder) - recorder->origin_ticks + 1);
    context->observer = context->execs.recorder = NULL;
    if (context->peers != NULL)
        recorder_write(context, recorder);
    free(recorder);
}
