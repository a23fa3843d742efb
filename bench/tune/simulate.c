/* Plans on simulated ranks: one call of each, as every call is like the other
 * there. */
#include <math.h>
#include <stdlib.h>

#include "bench/common/impl_name.h"
#include "bench/tune/tune.h"
#include "simulator/program/case.h"

enum { ERROR_BYTES = 256, RANDOM_SEEDS = 3 };

static int simulated_agree(void *state, void *data, size_t bytes)
{
    (void)state;
    (void)data;
    (void)bytes;
    return 1;
}

/* Lets ranks arrive as on the ranks of a job. */
static void arrivals_set(struct simulation *simulation,
                         const struct tune_time *what)
{
    simulation->arrivals =
        (sim_arrivals_t){.max = (sim_time_t)(what->spread_us * SIM_US),
                         .rank = simulation->ranks / 2};
    if (what->arrivals != TUNE_SYNCHRONISED)
        simulation->arrivals.pattern = what->arrivals == TUNE_LATE
                                           ? SIM_ARRIVAL_ONE_LATE
                                           : SIM_ARRIVAL_RANDOM;
}

/* Ranks live on nodes in blocks. */
static void leaders_fill(const struct tune_time *what, const double *rank_us,
                         double *leader_us)
{
    uint32_t i, rank;

    for (i = 0; i < what->leaders; i++) {
        leader_us[i] = 0;
        for (rank = 0; rank < what->shape.node_ranks; rank++)
            leader_us[i] =
                fmax(leader_us[i], rank_us[i * what->shape.node_ranks + rank]);
    }
}

static int simulated_time(void *state, const struct tune_time *what,
                          double *us_out, double *leader_us)
{
    struct simulation *simulation = state;
    const struct tune_shape *shape = &what->shape;
    struct sim_case c = {.simulation = simulation,
                         .contender = &simulation->contenders[0],
                         .seed = 1,
                         .iterations = 1};
    /* Random arrivals are not like each other. */
    uint64_t seeds = what->arrivals == TUNE_RANDOM ? RANDOM_SEEDS : 1;
    struct sim_outcome outcome;
    double us;
    int ok;

    simulation->nodes = shape->nodes;
    simulation->ranks_per_node = shape->node_ranks;
    simulation->ranks = shape->nodes * shape->node_ranks;
    simulation->coll = what->coll;
    simulation->bytes = what->coll == XYLEM_COLL_BARRIER ? 0 : what->bytes;
    arrivals_set(simulation, what);
    simulation->tuning =
        (struct bench_tuning){.algorithm = what->plan.algorithm,
                              .segment_bytes = what->plan.segment_bytes,
                              .send_window = what->plan.send_window,
                              .recv_window = what->plan.recv_window};
    c.rank_us = calloc(simulation->ranks, sizeof *c.rank_us);
    ok = c.rank_us != NULL;
    *us_out = 0;
    for (; ok && c.seed <= seeds; c.seed++) {
        ok = sim_case_run(&c, &outcome);
        us = what->arrivals == TUNE_SYNCHRONISED ? outcome.us.max
                                                 : outcome.us.avg;
        *us_out += us / (double)seeds;
    }
    if (ok)
        leaders_fill(what, c.rank_us, leader_us);
    free(c.rank_us);
    return ok;
}

int tune_simulation_open(const struct tune_options *options,
                         struct tune_place *place)
{
    struct simulation *simulation = calloc(1, sizeof *simulation);
    char error[ERROR_BYTES] = "";

    if (simulation == NULL)
        return 0;
    if (sim_machine_load(options->machine, &simulation->machine, error,
                         sizeof error) != XYLEM_OK) {
        cli_complain(options->program, "--simulate %s: %s", options->machine,
                     error);
        free(simulation);
        return 0;
    }
    simulation->program = options->program;
    simulation->shares_memory = 1;
    simulation->contenders[0] =
        (struct contender){.name = IMPL_XYLEM, .kind = CONTENDER_EVENT};
    simulation->contenders_count = 1;
    *place =
        (struct tune_place){.state = simulation,
                            .time = simulated_time,
                            .agree = simulated_agree,
                            .near_bytes = simulation->machine.core.cache_bytes,
                            .shares_memory = 1,
                            .nodes_alike = 1,
                            .is_first = 1};
    return 1;
}

void tune_simulation_close(struct tune_place *place)
{
    free(place->state);
}
