/* A record of what a simulation does, in the format that Chrome's and
 * Perfetto's trace viewers read: a row per rank with its pieces of work, the
 * copies and sums in them, bursts of noise, and a mark where a stage is through
 * with a segment; and an arrow per message. */
#ifndef XYL_SIMULATOR_TRACE_H
#define XYL_SIMULATOR_TRACE_H

#include "simulator/machine.h"

typedef struct sim_trace sim_trace_t;

/* NULL when the file cannot be written; errno says why. Nodes are processes,
 * ranks their threads. Stops recording after `events_max`. */
sim_trace_t *sim_trace_create(const char *path, uint32_t ranks,
                              uint32_t ranks_per_node, uint64_t events_max);
/* 1 when everything was written. */
int sim_trace_destroy(sim_trace_t *trace);

/* A piece of time of a rank. `name` is plain text; `detail` goes with it. */
void sim_trace_span(sim_trace_t *trace, uint32_t rank, const char *name,
                    sim_time_t begin, sim_time_t end, uint64_t detail);
/* A moment of a rank: `stage`, one of that name, has done `segment`. */
void sim_trace_mark(sim_trace_t *trace, uint32_t rank, const char *stage,
                    sim_time_t time, uint32_t sequence, uint64_t segment);
/* A message; `id` is its own. Of 0 bytes: one that only says something. */
void sim_trace_message(sim_trace_t *trace, uint64_t id, uint32_t source,
                       sim_time_t sent, uint32_t destination,
                       sim_time_t received, size_t bytes);

#endif
