/* Floors. Calls much shorter than bursts are taken in blocks, each of which
 * waits once; this changes the result by at most a block per burst. One thread.
 */
#include "simulator/noise/floor.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"

enum {
    SEEDS_MAX = 16,      /* phases of ranks to each other stay as they begin */
    STEPS_MAX = 1600000, /* of all ranks and seeds together, if possible */
    BLOCKS_MIN = 200,
    BLOCKS_OF_BURST = 50 /* at least so many are shorter than a burst */
};

static const sim_time_t span = 4 * SIM_S; /* 40 bursts of noise of 10 Hz */

sim_needs_t sim_needs_of(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    if (coll == XYLEM_COLL_SCAN || coll == XYLEM_COLL_EXSCAN)
        return SIM_NEEDS_BELOW;
    if (coll == XYLEM_COLL_NEIGHBOR_ALLGATHER)
        return SIM_NEEDS_GRID;
    if (!traits->has_root)
        return SIM_NEEDS_ALL;
    return traits->receives == XYL_SIDE_ALL ? SIM_NEEDS_ROOT
                                            : SIM_NEEDS_FOR_ROOT;
}

struct run {
    const sim_floor_t *floor;
    sim_noise_t noise;
    sim_noise_cursor_t *cursors;
    sim_time_t *ready; /* when a rank's data are there for others */
    sim_time_t *ended; /* a rank's last block */
    sim_time_t *last;  /* of each block, the end on the slowest rank */
    sim_time_t work;   /* of a block */
    uint64_t blocks, seeds, depth, calls_per_block;
};

static sim_time_t later(sim_time_t one, sim_time_t other)
{
    return one > other ? one : other;
}

/* A block is one call, or several that together are a small part of a burst.
 * `last` has room for all blocks. */
static void blocks_choose(struct run *run)
{
    const sim_floor_t *floor = run->floor;
    sim_time_t most = floor->noise->max / 2 / BLOCKS_OF_BURST;
    uint64_t allowed = STEPS_MAX / SEEDS_MAX / floor->ranks;

    run->calls_per_block = floor->work < most ? most / floor->work : 1;
    run->work = floor->work * run->calls_per_block;
    run->blocks = span / run->work;
    if (run->blocks > allowed)
        run->blocks = allowed;
    if (run->blocks < BLOCKS_MIN)
        run->blocks = BLOCKS_MIN;
    run->seeds = STEPS_MAX / (run->blocks * floor->ranks);
    run->seeds = run->seeds == 0          ? 1
                 : run->seeds > SEEDS_MAX ? SEEDS_MAX
                                          : run->seeds;
    run->depth = floor->depth / run->calls_per_block;
    if (floor->depth != 0 && run->depth == 0)
        run->depth = 1;
}

static sim_time_t latest(const struct run *run, uint32_t first, uint32_t end)
{
    sim_time_t time = 0;

    for (; first < end; first++)
        time = later(time, run->ready[first]);
    return time;
}

static sim_time_t latest_of_grid(const struct run *run, uint32_t rank)
{
    uint32_t columns = run->floor->columns, column = rank % columns;
    sim_time_t time = 0;

    if (rank >= columns)
        time = run->ready[rank - columns];
    if (rank + columns < run->floor->ranks)
        time = later(time, run->ready[rank + columns]);
    if (column > 0)
        time = later(time, run->ready[rank - 1]);
    if (column + 1 < columns && rank + 1 < run->floor->ranks)
        time = later(time, run->ready[rank + 1]);
    return time;
}

/* The time when the data that a rank needs are there; `all`: when all data are,
 * `below`: when those of the ranks before it are. */
static sim_time_t needed(const struct run *run, uint32_t rank, sim_time_t all,
                         sim_time_t below)
{
    switch (run->floor->needs) {
    case SIM_NEEDS_ROOT:
        return run->ready[run->floor->root];
    case SIM_NEEDS_FOR_ROOT:
        return rank == run->floor->root ? all : 0;
    case SIM_NEEDS_ALL:
        return all;
    case SIM_NEEDS_BELOW:
        return below;
    case SIM_NEEDS_GRID:
        return latest_of_grid(run, rank);
    }
    return 0;
}

static void block_run(struct run *run, uint64_t block)
{
    uint32_t ranks = run->floor->ranks, i;
    sim_time_t half = run->work / 2, room = 0, below = 0, all;

    if (run->depth != 0 && block >= run->depth)
        room = run->last[block - run->depth];
    for (i = 0; i < ranks; i++)
        run->ready[i] = sim_noise_advance(&run->cursors[i],
                                          later(run->ended[i], room), half);
    all = latest(run, 0, ranks);
    for (i = 0; i < ranks; i++) {
        sim_time_t begin = later(run->ready[i], needed(run, i, all, below));

        below = later(below, run->ready[i]);
        run->ended[i] =
            sim_noise_advance(&run->cursors[i], begin, run->work - half);
        run->last[block] = later(run->last[block], run->ended[i]);
    }
}

static double seed_run(struct run *run, uint64_t seed)
{
    uint32_t ranks = run->floor->ranks, i;
    uint64_t block;
    double sum = 0;

    run->noise.seed = seed;
    memset(run->ended, 0, ranks * sizeof *run->ended);
    memset(run->last, 0, run->blocks * sizeof *run->last);
    for (i = 0; i < ranks; i++)
        sim_noise_cursor_init(&run->cursors[i], &run->noise, i);
    for (block = 0; block < run->blocks; block++)
        block_run(run, block);
    for (i = 0; i < ranks; i++)
        sum += (double)run->ended[i];
    return sum / ranks / (double)run->blocks / (double)run->work;
}

double sim_floor(const sim_floor_t *floor)
{
    struct run run = {.floor = floor, .noise = *floor->noise};
    double mean = -1;
    uint64_t seed;

    blocks_choose(&run);
    run.cursors = calloc(floor->ranks, sizeof *run.cursors);
    run.ready = calloc(floor->ranks, sizeof *run.ready);
    run.ended = calloc(floor->ranks, sizeof *run.ended);
    run.last = calloc(run.blocks, sizeof *run.last);
    if (run.cursors == NULL || run.ready == NULL || run.ended == NULL ||
        run.last == NULL)
        goto release;
    mean = 0;
    for (seed = 1; seed <= run.seeds; seed++)
        mean += seed_run(&run, floor->noise->seed + seed) / (double)run.seeds;
release:
    free(run.cursors);
    free(run.ready);
    free(run.ended);
    free(run.last);
    return mean;
}
