/* Mode ends of `misuse`: when a request has completed, for every call alike,
 * and what the end of a context completes and releases. */
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "tests/proc/misuse.h"

enum { CHAIN = 5, LOOKS_MAX = 100 };

/* ---- while on_complete runs ---- */

typedef struct told {
    job_t *job;
    xylem_request_t *request;
    int is_threaded;
    _Atomic int is_called, may_return, has_returned;
    uint32_t value;
} told_t;

/* On its own request; with a progress thread the main thread looks meanwhile,
 * and lets this one return. */
static void tell(void *arg, xylem_status_t status)
{
    told_t *told = arg;

    MUST(status);
    MUST(xylem_request_test(told->request));
    atomic_store(&told->is_called, 1);
    while (told->is_threaded && !atomic_load(&told->may_return))
        sched_yield();
    atomic_store(&told->has_returned, 1);
}

static void while_told(job_t *job, int is_threaded)
{
    told_t told = {.job = job, .is_threaded = is_threaded};
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    int i;

    args.coll = XYLEM_COLL_BCAST;
    args.recv = &told.value;
    args.count = 1;
    args.type = XYLEM_UINT32;
    args.on_complete = tell;
    args.arg = &told;
    MUST(xylem_coll_init(job->world, &args, &told.request));
    MUST(xylem_request_start(told.request));
    while (!atomic_load(&told.is_called))
        if (xylem_progress(job->context) == 0)
            sched_yield();
    for (i = 0; i < LOOKS_MAX; i++)
        MUST(xylem_request_test(told.request));
    REQUIRE(!is_threaded || !atomic_load(&told.has_returned),
            "the callback has returned");
    atomic_store(&told.may_return, 1);
    MUST(xylem_request_wait(told.request));
    REQUIRE(atomic_load(&told.has_returned),
            "a wait is over before the callback");
    MUST(xylem_request_free(told.request));
}

/* ---- the end of a context ---- */

typedef struct chain {
    xylem_team_t *team;
    _Atomic uint32_t links;
    uint32_t values[CHAIN];
} chain_t;

static void chain_start(chain_t *chain);

static void chain_goes_on(void *arg, xylem_status_t status)
{
    chain_t *chain = arg;

    MUST(status);
    if (atomic_fetch_add(&chain->links, 1) + 1 < CHAIN)
        chain_start(chain);
}

/* Nobody holds the request, and so nobody can wait for it. */
static void chain_start(chain_t *chain)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = XYLEM_COLL_BCAST;
    args.flags = XYLEM_FLAG_AUTOFREE;
    args.recv = &chain->values[atomic_load(&chain->links)];
    args.count = 1;
    args.type = XYLEM_UINT32;
    args.on_complete = chain_goes_on;
    args.arg = chain;
    MUST(xylem_coll_start(chain->team, &args, NULL));
}

/* A request that has completed, one that is idle and has a trigger, a team: all
 * go with the context. */
static void leave_things(job_t *job, uint32_t *value)
{
    xylem_trigger_args_t trigger = XYLEM_TRIGGER_ARGS_INIT;
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *completed, *idle;
    xylem_trigger_t *unused;
    xylem_team_t *team;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = XYLEM_IN_PLACE;
    args.recv = value;
    args.count = 1;
    args.type = XYLEM_UINT32;
    args.op = XYLEM_SUM;
    MUST(xylem_team_dup(job->world, &team));
    MUST(xylem_coll_start(team, &args, &completed));
    MUST(xylem_request_wait(completed));
    MUST(xylem_coll_init(team, &args, &idle));
    trigger.action = XYLEM_TRIGGER_START;
    trigger.request = idle;
    MUST(xylem_trigger_create(job->context, &trigger, &unused));
}

/* Nobody but this rank can go on with it. */
static void held_up(job_t *job)
{
    uint32_t value = 1;
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.flags = XYLEM_FLAG_PARTS;
    args.send = XYLEM_IN_PLACE;
    args.recv = &value;
    args.count = 1;
    args.type = XYLEM_UINT32;
    args.op = XYLEM_SUM;
    MUST(xylem_coll_start(job->world, &args, &request));
    FAILS(xylem_context_destroy(job->context), XYLEM_ERR_BUSY,
          "active requests: 1");
    MUST(xylem_segment_ready(request, 0)); /* the context goes on */
    MUST(xylem_request_wait(request));
    REQUIRE(value == job->ranks, "the sum is %u", value);
    MUST(xylem_request_free(request));
}

static void end_of_all(job_t *job)
{
    chain_t chain = {.team = job->world};
    uint32_t value = 1;

    held_up(job);
    leave_things(job, &value);
    chain_start(&chain);
    MUST(xylem_context_destroy(job->context));
    REQUIRE(atomic_load(&chain.links) == CHAIN, "%u links of %d",
            atomic_load(&chain.links), CHAIN);
    REQUIRE(value == job->ranks, "the sum is %u", value);
    job_begin(job); /* another one in its place */
}

void mode_ends(job_t *job)
{
    char progress[16];

    MUST(xylem_setting_get("PROGRESS", progress, sizeof progress));
    while_told(job, strcmp(progress, "thread") == 0);
    end_of_all(job);
    end_of_all(job);
}
