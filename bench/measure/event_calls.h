/* The calls of a benchmark as calls of the library. */
#ifndef XYL_BENCH_MEASURE_EVENT_CALLS_H
#define XYL_BENCH_MEASURE_EVENT_CALLS_H

#include "bench/measure/impl.h"

/* Of every rank's block, for the forms with counts of their own: all blocks are
 * equal, one behind the other. */
struct event_arrays {
    uint64_t *counts, *displs; /* in elements */
    xylem_type_t *types;
};
/* For calls like `call`. 1, or 0 without memory; destroy them either way. */
int event_arrays_create(struct event_arrays *arrays, uint32_t ranks,
                        const struct bench_call *call);
void event_arrays_destroy(struct event_arrays *arrays);

/* The arguments of a call; they refer to the arrays. */
xylem_coll_args_t event_args(const struct event_arrays *arrays,
                             const struct bench_tuning *tuning,
                             const struct bench_call *call);

/* What has been prepared: arguments for each slot. All zero: nothing. */
struct event_calls {
    xylem_coll_args_t *args;
    xylem_request_t **requests; /* persistent ones; else NULL */
    unsigned count;
    struct event_arrays arrays;
};

/* Persistent requests are made if the tuning says so, which is collective. */
xylem_status_t event_calls_create(struct event_calls *calls, xylem_team_t *team,
                                  const struct bench_tuning *tuning,
                                  const struct bench_call *list,
                                  unsigned count);
void event_calls_destroy(struct event_calls *calls);

/* Runs a call without any tuning, by the blocking function of its name. */
xylem_status_t event_call_plain(xylem_team_t *team,
                                const xylem_coll_args_t *args);

/* Runs any call: starts it and waits. */
xylem_status_t event_call_started(xylem_team_t *team,
                                  const xylem_coll_args_t *args);

#endif
