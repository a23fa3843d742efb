/* Plans on simulated ranks: one call of each, as every call is like the other
 * there. */
#include <stdlib.h>

#include "bench/tune/tune.h"
#include "simulator/program/case.h"

enum { ERROR_BYTES = 256 };

struct simulated {
    struct simulation simulation;
    struct tune_place *place; /* whose shape counts */
};

static int simulated_agree(void *state, void *data, size_t bytes)
{
    (void)state;
    (void)data;
    (void)bytes;
    return 1;
}

static int simulated_time(void *state, xylem_coll_t coll, size_t bytes,
                          const struct tune_plan *plan, double *us_out)
{
    struct simulated *simulated = state;
    struct simulation *simulation = &simulated->simulation;
    const struct tune_shape *shape = &simulated->place->shape;
    struct sim_case c = {.simulation = simulation,
                         .contender = &simulation->contenders[0],
                         .seed = 1,
                         .iterations = 1};
    struct sim_outcome outcome;
    int ok = 0;

    simulation->nodes = shape->nodes;
    simulation->ranks_per_node = shape->node_ranks;
    simulation->ranks = shape->nodes * shape->node_ranks;
    simulation->coll = coll;
    simulation->bytes = coll == XYLEM_COLL_BARRIER ? 0 : bytes;
    simulation->tuning =
        (struct bench_tuning){.algorithm = plan->algorithm,
                              .segment_bytes = plan->segment_bytes,
                              .send_window = plan->send_window,
                              .recv_window = plan->recv_window};
    c.rank_us = calloc(simulation->ranks, sizeof *c.rank_us);
    if (c.rank_us != NULL)
        ok = sim_case_run(&c, &outcome);
    if (ok)
        *us_out = outcome.us.max;
    free(c.rank_us);
    return ok;
}

int tune_simulation_open(const struct tune_options *options,
                         struct tune_place *place)
{
    struct simulated *simulated = calloc(1, sizeof *simulated);
    char error[ERROR_BYTES] = "";

    if (simulated == NULL)
        return 0;
    if (sim_machine_load(options->machine, &simulated->simulation.machine,
                         error, sizeof error) != XYLEM_OK) {
        cli_complain(options->program, "--simulate %s: %s", options->machine,
                     error);
        free(simulated);
        return 0;
    }
    simulated->place = place;
    simulated->simulation.program = options->program;
    simulated->simulation.shares_memory = 1;
    simulated->simulation.contenders[0] =
        (struct contender){.name = "event", .kind = CONTENDER_EVENT};
    simulated->simulation.contenders_count = 1;
    *place = (struct tune_place){.state = simulated,
                                 .time = simulated_time,
                                 .agree = simulated_agree,
                                 .is_first = 1};
    return 1;
}

void tune_simulation_close(struct tune_place *place)
{
    free(place->state);
}
