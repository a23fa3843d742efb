/* Plans on the ranks of this job. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/measure/device.h"
#include "bench/measure/impl_event.h"
#include "bench/measure/workload.h"
#include "bench/tune/tune.h"
#include "collectives/choose/choose.h"
#include "collectives/device/way.h"
#include "runtime/core/context.h"

/* Medians of CALLS_MAX calls are good enough. */
enum { WARMUP = 2, CALLS_MAX = 1000 };

struct job {
    const struct tune_options *options;
    struct event_state *event;
    struct bench_device *device; /* NULL: buffers are the host's */
    struct tune_shape shape;
    /* Levels by themselves, on teams of the same context, made at the first
     * use: this rank's node, and the first rank of each node. World NULL: not
     * made, or this rank is not in it. */
    struct event_state node, leaders;
    int has_levels;
};

static int job_agree(void *state, void *data, size_t bytes)
{
    struct job *job = state;

    return impl_event()->bcast(job->event, data, bytes, 0) == XYLEM_OK;
}

/* The late rank is not the root. */
static sim_arrivals_t arrivals_of(const struct tune_time *what, uint32_t ranks)
{
    sim_arrivals_t arrivals = {.max = (sim_time_t)(what->spread_us * SIM_US),
                               .rank = ranks / 2};

    if (what->arrivals != TUNE_SYNCHRONISED)
        arrivals.pattern = what->arrivals == TUNE_LATE ? SIM_ARRIVAL_ONE_LATE
                                                       : SIM_ARRIVAL_RANDOM;
    return arrivals;
}

/* The library's own plan is measured without a name, as programs call it: short
 * calls in the memory of a node may then run inside the call. */
static const char *algorithm_of(const struct tune_plan *plan)
{
    return strcmp(plan->algorithm, "auto") == 0 ? NULL : plan->algorithm;
}

static int levels_make(struct job *job)
{
    xylem_team_t *world = job->event->world;
    xylem_place_t place;
    xylem_status_t status =
        xylem_team_place(world, xylem_team_rank(world), &place);

    job->node.context = job->leaders.context = job->event->context;
    if (status == XYLEM_OK)
        status = xylem_team_split(world, place.node, 0, &job->node.world);
    if (status == XYLEM_OK)
        status = xylem_team_split(
            world, xylem_team_rank(job->node.world) == 0 ? 0 : XYLEM_COLOR_NONE,
            0, &job->leaders.world);
    if (status != XYLEM_OK)
        fprintf(stderr, "%s: teams of levels: %s\n", job->options->program,
                xylem_last_error());
    job->has_levels = status == XYLEM_OK;
    return job->has_levels;
}

static void levels_free(struct job *job)
{
    if (job->leaders.world != NULL)
        (void)xylem_team_destroy(job->leaders.world);
    if (job->node.world != NULL)
        (void)xylem_team_destroy(job->node.world);
}

/* The state of the team that makes the call; NULL: teams cannot be made. */
static struct event_state *state_of(struct job *job,
                                    const struct tune_shape *shape)
{
    if (shape->nodes == job->shape.nodes &&
        shape->node_ranks == job->shape.node_ranks)
        return job->event;
    if (!job->has_levels && !levels_make(job))
        return NULL;
    return shape->nodes == 1 ? &job->node : &job->leaders;
}

/* Finds for each node the time of the rank that ended last. A rank that took no
 * part brings 0. */
static int leaders_find(const struct job *job, double own_us, double *leader_us)
{
    xylem_team_t *world = job->event->world;
    xylem_place_t place;
    xylem_status_t status =
        xylem_team_place(world, xylem_team_rank(world), &place);

    memset(leader_us, 0, job->shape.nodes * sizeof *leader_us);
    if (status == XYLEM_OK)
        leader_us[place.node] = own_us;
    if (status == XYLEM_OK)
        status = xylem_allreduce(world, XYLEM_IN_PLACE, leader_us,
                                 job->shape.nodes, XYLEM_FLOAT64, XYLEM_MAX);
    return status == XYLEM_OK;
}

static int job_time(void *state, const struct tune_time *what, double *us_out,
                    double *leader_us)
{
    struct job *job = state;
    struct event_state *event = state_of(job, &what->shape);
    struct workload work = {
        .impl = impl_event(),
        .state = event,
        .coll = what->coll,
        .bytes = what->coll == XYLEM_COLL_BARRIER ? 0 : what->bytes,
        .memory = (enum bench_memory)job->options->memory,
        .device = job->device,
        .warmup = WARMUP,
        .iterations_most = CALLS_MAX,
        .seconds = job->options->seconds,
        .arrivals =
            arrivals_of(what, what->shape.nodes * what->shape.node_ranks)};
    struct workload_result result;

    *us_out = 0;
    if (event == NULL)
        return 0;
    if (event->world == NULL) /* this rank takes no part */
        return what->leaders == 0 || leaders_find(job, 0, leader_us);
    event->tuning =
        (struct bench_tuning){.mode = BENCH_BLOCKING,
                              .algorithm = algorithm_of(&what->plan),
                              .segment_bytes = what->plan.segment_bytes,
                              .send_window = what->plan.send_window,
                              .recv_window = what->plan.recv_window};
    if (workload_latency(&work, &result) != XYLEM_OK)
        return 0;
    *us_out =
        what->arrivals == TUNE_SYNCHRONISED ? result.us.max : result.us.avg;
    return what->leaders == 0 || leaders_find(job, result.own_us, leader_us);
}

static xylem_status_t shape_find(xylem_team_t *world, struct tune_shape *shape)
{
    uint32_t ranks = xylem_team_size(world), i, most = 0;
    uint32_t *counts = calloc(ranks, sizeof *counts);
    xylem_status_t status = counts == NULL ? XYLEM_ERR_NO_MEMORY : XYLEM_OK;
    xylem_place_t place;

    *shape = (struct tune_shape){.nodes = 0};
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

/* ---- memory of GPUs ---- */

/* Calls on a buffer there, after which all ranks know how they share GPUs. */
static xylem_status_t device_meet(const struct job *job, xyl_way_t *way_out)
{
    enum { BYTES = 4096, CALLS = 16 };
    xylem_team_t *world = job->event->world;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .count = BYTES,
                              .type = XYLEM_BYTE};
    xylem_status_t status = device_take(job->device, BYTES, &args.recv);
    uint32_t call;

    if (status != XYLEM_OK)
        return status;
    for (call = 0; status == XYLEM_OK && call < CALLS; call++) {
        status = xylem_bcast(world, args.recv, BYTES, XYLEM_BYTE, 0);
        if (status == XYLEM_OK)
            status = xylem_barrier(world);
    }
    way_out->memory = (uint16_t)xyl_device_memory(world, &args);
    device_give(job->device, args.recv);
    return status;
}

/* Finds whether ranks take turns on GPUs, as rules ask. 0: no call goes
 * directly there, and a message has said why. */
static int memory_find(const struct job *job, xyl_way_t way,
                       struct tune_shape *shape)
{
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_BCAST,
                                    .count = 1,
                                    .type = XYLEM_BYTE};
    xyl_problem_t problem;
    xyl_query_t query;

    if (job->event->context->config.cuda_direct == XYL_DIRECT_OFF) {
        cli_complain(job->options->program,
                     "--mem cuda: XYLEM_CUDA_DIRECT=off takes mirrors always, "
                     "by the rules of the host's memory");
        return 0;
    }
    if (xyl_choose_query(job->event->world, &args, way, 1, &problem, &query) !=
        XYLEM_OK)
        return 0;
    if (!problem.on_device) {
        cli_complain(job->options->program,
                     "--mem cuda: an algorithm in memory of GPUs %s",
                     problem.off_device);
        return 0;
    }
    shape->memory = (query.facts & XYL_FACT_SIDE_BY_SIDE) != 0
                        ? TUNE_SIDE_BY_SIDE
                        : TUNE_IN_TURNS;
    return 1;
}

static int memory_open(struct job *job, struct tune_shape *shape)
{
    xyl_way_t way = {.memory = XYL_MEMORY_GPUS};

    if (job->options->memory == BENCH_MEMORY_HOST ||
        xylem_team_size(job->event->world) == 1)
        return 1;
    return device_open(xylem_team_rank(job->event->world), &job->device) ==
               XYLEM_OK &&
           device_meet(job, &way) == XYLEM_OK && memory_find(job, way, shape);
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
    *job = (struct job){.options = options, .event = event};
    *place = (struct tune_place){
        .state = job,
        .time = job_time,
        .agree = job_agree,
        .shares_memory = job->event->context->shm != NULL,
        .is_first = xylem_team_rank(job->event->world) == 0};
    if (shape_find(job->event->world, &place->shape) != XYLEM_OK ||
        !job_agree(job, &place->shares_memory, sizeof place->shares_memory)) {
        tune_job_close(place);
        return 0;
    }
    job->shape = place->shape;
    /* Other ranks may be in a call, and wait: the launcher clears the job. */
    return memory_open(job, &place->shape);
}

void tune_job_close(struct tune_place *place)
{
    struct job *job = place->state;

    levels_free(job);
    impl_event()->close(job->event);
    device_close(job->device);
    free(job);
}
