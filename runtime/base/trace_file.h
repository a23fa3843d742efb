/* A record of the ranks' work, in the format of Chrome's and Perfetto's trace
 * viewers. Each rank has a row with its pieces of work, the copies and sums
 * inside them, bursts of noise, and a mark where a stage has done a segment.
 * Each message is an arrow. Operations have rows of their own, as several may
 * be under way. The simulator records all ranks in one file, a rank of a real
 * job only itself. Times are picoseconds. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct xyl_trace xyl_trace_t;

/* Nodes are processes, ranks their threads. */
typedef struct xyl_trace_rows {
    const char *label;     /* of the first node's process */
    uint32_t first, ranks; /* the first rank, and the number of ranks */
    uint32_t node;         /* of the first rank */
    uint32_t ranks_per_node;
} xyl_trace_rows_t;

/* NULL: the file cannot be written; errno says why. Recording stops after
 * `events_max` events. */
xyl_trace_t *xyl_trace_create(const char *path, const xyl_trace_rows_t *rows,
                              uint64_t events_max);
/* 1: the whole file has been written. */
int xyl_trace_destroy(xyl_trace_t *trace);

/* Time 0 by the clocks of the rank's host, CLOCK_MONOTONIC and CLOCK_REALTIME,
 * by which the records of several ranks are put together. */
void xyl_trace_clock(xyl_trace_t *trace, uint32_t rank, const char *host,
                     uint64_t monotonic_ns, uint64_t realtime_ns);

/* A rank was busy with `name`, plain text, from `begin` to `end`; viewers show
 * `detail` with it. */
void xyl_trace_span(xyl_trace_t *trace, uint32_t rank, const char *name,
                    uint64_t begin, uint64_t end, uint64_t detail);
/* The same for an operation; others may be under way. `id` is unique. */
void xyl_trace_operation(xyl_trace_t *trace, uint64_t id, uint32_t rank,
                         const char *name, uint64_t begin, uint64_t end,
                         uint64_t bytes);
/* At `time` the rank's stage `stage`, with number `sequence`, has done
 * `segment`. */
void xyl_trace_mark(xyl_trace_t *trace, uint32_t rank, const char *stage,
                    uint64_t time, uint32_t sequence, uint64_t segment);
/* A message; `id` is unique. 0 bytes: a message without data. */
void xyl_trace_message(xyl_trace_t *trace, uint64_t id, uint32_t source,
                       uint64_t sent, uint32_t destination, uint64_t received,
                       size_t bytes);
