/* Plans on the ranks of this job. */
#include <stdlib.h>
#include <string.h>

#include "bench/measure/impl_event.h"
#include "bench/measure/workload.h"
#include "bench/tune/tune.h"

/* Medians of so many calls are good; more would only take time. */
enum { WARMUP = 2, CALLS_MAX = 1000 };

struct job {
    const struct tune_options *options;
    struct event_state *event;
};

static int job_agree(void *state, void *data, size_t bytes)
{
    struct job *job = state;

    return impl_event()->bcast(job->event, data, bytes, 0) == XYLEM_OK;
}

/* The root is not the one that is late. */
static sim_arrivals_t arrivals_of(const struct tune_time *what, uint32_t ranks)
{
    sim_arrivals_t arrivals = {.max = (sim_time_t)(what->spread_us * SIM_US),
                               .rank = ranks / 2};

    if (what->arrivals != TUNE_SYNCHRONISED)
        arrivals.pattern = what->arrivals == TUNE_LATE ? SIM_ARRIVAL_ONE_LATE
                                                       : SIM_ARRIVAL_RANDOM;
    return arrivals;
}

/* What the library takes is measured as programs call it, who name nothing:
 * short calls in the memory of a node may then run inside the call. */
static const char *algorithm_of(const struct tune_plan *plan)
{
    return strcmp(plan->algorithm, "auto") == 0 ? NULL : plan->algorithm;
}

static int job_time(void *state, const struct tune_time *what, double *us_out)
{
    struct job *job = state;
    struct workload work = {
        .impl = impl_event(),
        .state = job->event,
        .coll = what->coll,
        .bytes = what->coll == XYLEM_COLL_BARRIER ? 0 : what->bytes,
        .warmup = WARMUP,
        .iterations_most = CALLS_MAX,
        .seconds = job->options->seconds,
        .arrivals = arrivals_of(what, xylem_team_size(job->event->world))};
    struct workload_result result;

    job->event->tuning =
        (struct bench_tuning){.mode = BENCH_BLOCKING,
                              .algorithm = algorithm_of(&what->plan),
                              .segment_bytes = what->plan.segment_bytes,
                              .send_window = what->plan.send_window,
                              .recv_window = what->plan.recv_window};
    if (workload_latency(&work, &result) != XYLEM_OK)
        return 0;
    *us_out =
        what->arrivals == TUNE_SYNCHRONISED ? result.us.max : result.us.avg;
    return 1;
}

static xylem_status_t shape_find(xylem_team_t *world, struct tune_shape *shape)
{
    uint32_t ranks = xylem_team_size(world), i, most = 0;
    uint32_t *counts = calloc(ranks, sizeof *counts);
    xylem_status_t status = counts == NULL ? XYLEM_ERR_NO_MEMORY : XYLEM_OK;
    xylem_place_t place;

    *shape = (struct tune_shape){0, 0};
    for (i = 0; i < ranks && status == XYLEM_OK; i++) {
        status = xylem_team_place(world, i, &place);
        if (status != XYLEM_OK)
            break;
        if (counts[place.node]++ == 0)
            shape->nodes++;
        if (counts[place.node] > most)
            most = counts[place.node];
    }
    shape->node_ranks = most;
    free(counts);
    return status;
}

int tune_job_open(const struct tune_options *options, struct tune_place *place)
{
    static const struct bench_tuning none = {.mode = BENCH_BLOCKING};
    struct job *job = calloc(1, sizeof *job);
    void *event;

    if (job == NULL || impl_event()->open(&none, &event) != XYLEM_OK) {
        free(job);
        return 0;
    }
    *job = (struct job){options, event};
    *place = (struct tune_place){.state = job,
                                 .time = job_time,
                                 .agree = job_agree,
                                 .is_first =
                                     xylem_team_rank(job->event->world) == 0};
    if (shape_find(job->event->world, &place->shape) == XYLEM_OK)
        return 1;
    tune_job_close(place);
    return 0;
}

void tune_job_close(struct tune_place *place)
{
    struct job *job = place->state;

    impl_event()->close(job->event);
    free(job);
}
