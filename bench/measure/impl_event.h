/* The state behind impl_event, which the rivals share: they differ from the
 * library in nothing but the way they drive its network. */
#pragma once

#include "bench/measure/event_calls.h"
#include "bench/measure/impl.h"

enum { EVENT_WHY_BYTES = 160 };

struct event_state {
    xylem_context_t *context;
    xylem_team_t *world;
    struct bench_tuning tuning;
    struct event_calls calls;
    char why[EVENT_WHY_BYTES]; /* of the last refusal */
    xylem_request_t *kept;     /* a rival's last request; NULL: none */
    xylem_coll_args_t kept_args;
    uint64_t local_units; /* impl_local's work per call */
    void *nccl;           /* impl_nccl's own state */
};
