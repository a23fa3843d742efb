/* The state behind impl_event, which the rivals share: they differ from the
 * library in nothing but the way they drive its network. */
#ifndef XYL_BENCH_IMPL_EVENT_H
#define XYL_BENCH_IMPL_EVENT_H

#include "bench/impl.h"

struct event_state {
    xylem_context_t *context;
    xylem_team_t *world;
    struct bench_tuning tuning;
};

#endif
