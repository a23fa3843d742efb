/* A record of what ranks do, in the format that Chrome's and Perfetto's trace
 * viewers read: a row per rank with its pieces of work, the copies and sums in
 * them, bursts of noise, and a mark where a stage is through with a segment; an
 * arrow per message, and operations on rows of their own, as several may be
 * under way. The simulator writes one of all ranks, a rank of a real job one of
 * itself. Times are picoseconds. */
#ifndef XYL_BASE_TRACE_FILE_H
#define XYL_BASE_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct xyl_trace xyl_trace_t;

/* Nodes are processes, ranks their threads. */
typedef struct xyl_trace_rows {
    const char *label;     /* of the first node's process */
    uint32_t first, ranks; /* from which rank on, and how many */
    uint32_t node;         /* of the first */
    uint32_t ranks_per_node;
} xyl_trace_rows_t;

/* NULL when the file cannot be written; errno says why. Stops recording after
 * `events_max`. */
xyl_trace_t *xyl_trace_create(const char *path, const xyl_trace_rows_t *rows,
                              uint64_t events_max);
/* 1 when everything was written. */
int xyl_trace_destroy(xyl_trace_t *trace);

/* What time 0 is on the rank's host: nanoseconds of CLOCK_MONOTONIC and of
 * CLOCK_REALTIME, by which records of several ranks are put together. */
void xyl_trace_clock(xyl_trace_t *trace, uint32_t rank, const char *host,
                     uint64_t monotonic_ns, uint64_t realtime_ns);

/* A piece of time of a rank. `name` is plain text; `detail` goes with it. */
void xyl_trace_span(xyl_trace_t *trace, uint32_t rank, const char *name,
                    uint64_t begin, uint64_t end, uint64_t detail);
/* The same of an operation, among others; `id` is its own. */
void xyl_trace_operation(xyl_trace_t *trace, uint64_t id, uint32_t rank,
                         const char *name, uint64_t begin, uint64_t end,
                         uint64_t bytes);
/* A moment of a rank: `stage`, one of that name, has done `segment`. */
void xyl_trace_mark(xyl_trace_t *trace, uint32_t rank, const char *stage,
                    uint64_t time, uint32_t sequence, uint64_t segment);
/* A message; `id` is its own. Of 0 bytes: one that only says something. */
void xyl_trace_message(xyl_trace_t *trace, uint64_t id, uint32_t source,
                       uint64_t sent, uint32_t destination, uint64_t received,
                       size_t bytes);

#endif
