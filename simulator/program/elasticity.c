/* The table of the synthetic collective: how much depth absorbs how much noise.
 * Each cell is simulated with some seeds; the formula must give the same times
 * to the last digit, and is evaluated for more seeds, as it is fast. One
 * thread.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"
#include "simulator/program/elastic.h"

enum { RANKS = 16, CALLS = 400, FORMULA_RUNS = 64 /* per simulated one */ };

static const unsigned depths[] = {1, 4, 16, 64};
static const sim_time_t works[] = {SIM_MS / 2, SIM_MS, 4 * SIM_MS};
/* The longest bursts, ten in a second, take 5 and 10 % of the time. */
static const sim_time_t bursts[] = {10 * SIM_MS, 20 * SIM_MS};

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

struct cell {
    struct simulation simulation;
    struct contender contender;
    sim_noise_t noise;
    struct sim_case c;
    double rank_us[RANKS], formula_us[RANKS];
    double quiet_us;
    int differs; /* simulation and formula */
};

struct mean {
    double sum, squares;
    unsigned count;
};

static double mean_of(const struct mean *mean)
{
    return mean->sum / mean->count;
}

/* The standard error. */
static double error_of(const struct mean *mean)
{
    double n = mean->count;

    if (mean->count < 2)
        return 0;
    return sqrt(fmax(0, mean->squares / n - mean_of(mean) * mean_of(mean)) /
                (n - 1));
}

static void mean_add(struct mean *mean, double value)
{
    mean->sum += value;
    mean->squares += value * value;
    mean->count++;
}

static double average(const double *us)
{
    return stats_range(us, RANKS, 1).avg;
}

static double slowdown(const struct cell *cell, const double *us)
{
    return 100 * (average(us) / cell->quiet_us - 1);
}

static int formula_run(struct cell *cell, uint64_t seed)
{
    cell->noise.seed = seed;
    cell->c.seed = seed;
    cell->c.rank_us = cell->formula_us;
    return sim_elastic_formula(&cell->c);
}

static int simulated_run(struct cell *cell, uint64_t seed)
{
    struct sim_outcome outcome;
    unsigned i;

    cell->noise.seed = seed;
    cell->c.seed = seed;
    cell->c.rank_us = cell->rank_us;
    if (!sim_case_run(&cell->c, &outcome) || !formula_run(cell, seed))
        return 0;
    for (i = 0; i < RANKS; i++)
        cell->differs |= cell->rank_us[i] != cell->formula_us[i];
    return 1;
}

static int cell_print(struct table *table, struct cell *cell)
{
    struct mean simulated = {0, 0, 0}, formula = {0, 0, 0};
    const struct simulation *simulation = &cell->simulation;
    unsigned i;

    for (i = 0; i < simulation->seeds; i++) {
        if (!simulated_run(cell, (uint64_t)simulation->seed + i))
            return 0;
        mean_add(&simulated, slowdown(cell, cell->rank_us));
    }
    for (i = 0; i < simulation->seeds * FORMULA_RUNS; i++) {
        if (!formula_run(cell, (uint64_t)simulation->seed + i))
            return 0;
        mean_add(&formula, slowdown(cell, cell->formula_us));
    }
    table_text(table, simulation->coll_name);
    table_real(table, (double)cell->contender.work / (double)SIM_MS, 1);
    table_count(table, cell->contender.depth);
    table_count(table, cell->noise.max / SIM_MS / 2);
    table_real(table, mean_of(&simulated), 2);
    table_real(table, error_of(&simulated), 2);
    table_text(table, cell->differs ? "no" : "yes");
    table_real(table, mean_of(&formula), 2);
    table_real(table, error_of(&formula), 2);
    return 1;
}

static int cell_run(struct table *table, struct cell *cell, sim_time_t burst)
{
    cell->noise = (sim_noise_t){.kind = SIM_NOISE_UNIFORM,
                                .mhz = 10000,
                                .max = burst,
                                .last = UINT32_MAX};
    cell->c.noise = NULL;
    cell->differs = 0;
    if (!simulated_run(cell, 0))
        return 0;
    cell->quiet_us = average(cell->rank_us);
    cell->c.noise = &cell->noise;
    return cell_print(table, cell);
}

/* Runs one collective with one length of calls: all depths and noises. 1: all
 * ran and agreed. */
static int rows_run(struct table *table, const struct simulation *simulation,
                    const char *coll_name, sim_time_t work)
{
    struct cell cell = {.simulation = *simulation, .c = {.iterations = CALLS}};
    size_t depth, burst;
    int differs = 0;

    cell.simulation.coll_name = coll_name;
    cell.simulation.coll =
        strcmp(coll_name, "bcast") == 0 ? XYLEM_COLL_BCAST : XYLEM_COLL_REDUCE;
    cell.simulation.ranks = RANKS;
    cell.simulation.arrivals = (sim_arrivals_t){.max = 0};
    cell.c.simulation = &cell.simulation;
    cell.c.contender = &cell.contender;
    for (depth = 0; depth < COUNT_OF(depths); depth++) {
        cell.contender = (struct contender){.name = "elastic",
                                            .kind = CONTENDER_ELASTIC,
                                            .depth = depths[depth],
                                            .work = work};
        for (burst = 0; burst < COUNT_OF(bursts); burst++) {
            if (!cell_run(table, &cell, bursts[burst]))
                return 0;
            differs |= cell.differs;
        }
    }
    if (differs)
        fprintf(stderr, "%s: %s: the simulation differs from the formula\n",
                simulation->program, coll_name);
    return !differs;
}

int sim_elasticity_main(const struct simulation *simulation)
{
    static const char *const titles[] = {
        "coll",  "call_ms", "depth",   "noise_percent", "simulated",
        "error", "equal",   "formula", "formula_error"};
    struct results results = {.file = -1};
    struct table shown, *table = &shown;
    size_t work;
    int ok = 1;

    if (simulation->csv != NULL) {
        if (!results_open(&results, simulation->program, simulation->csv,
                          titles, COUNT_OF(titles),
                          simulation->resume ? RESULTS_ADD : RESULTS_NEW))
            return EXIT_FAILURE;
        table = &results.table;
    } else {
        printf("%d ranks, %d calls: slowdown by noise in per cent, its "
               "standard error, whether the\nsimulation equals the formula on "
               "the same %u seeds, and the formula with %u seeds\n\n",
               RANKS, CALLS, simulation->seeds,
               simulation->seeds * FORMULA_RUNS);
        table_begin(table, stdout, TABLE_ALIGNED, titles, COUNT_OF(titles), 8);
    }
    for (work = 0; work < COUNT_OF(works); work++) {
        ok &= rows_run(table, simulation, "bcast", works[work]);
        ok &= rows_run(table, simulation, "reduce", works[work]);
        ok &= results.file < 0 || results_commit(&results, 1);
    }
    ok &= results_close(&results);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
