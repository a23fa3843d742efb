/* The calls of a benchmark as calls of the library. */
#pragma once

#include "bench/measure/coll_data.h"
#include "bench/measure/impl.h"

/* The arguments of a rank's call; they refer to the arrays. */
xylem_coll_args_t event_args(const struct coll_arrays *arrays, uint32_t rank,
                             const struct bench_tuning *tuning,
                             const struct bench_call *call);

/* Prepared calls: arguments for each slot. All zero: none. */
struct event_calls {
    xylem_coll_args_t *args;
    /* [slot], if calls do not block: persistent requests, or those under
     * way. */
    xylem_request_t **requests;
    unsigned count;
    struct coll_arrays *arrays;
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
