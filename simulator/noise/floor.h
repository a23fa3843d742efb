/* The floor: the least cost of noise for calls that block. Half of a call's
 * work makes data that others need, the other half uses data that the rank
 * needs; between the two it waits once for the ranks whose data it needs. An
 * implementation adds other work for others and other waits.
 *
 *   p_i[k] = advance(max(e_i[k-1], max over j of e_j[k-D])), half of the work
 *   e_i[k] = advance(max(p_i[k], max over the needed j of p_j[k])), the rest
 *
 * D is how many calls a rank that need not wait may be ahead of the slowest.
 */
#pragma once

#include "simulator/noise/noise.h"

/* The ranks whose data a rank needs in a call. */
typedef enum sim_needs {
    SIM_NEEDS_ROOT,     /* the root's, as in broadcasts */
    SIM_NEEDS_FOR_ROOT, /* the root those of all, other ranks none */
    SIM_NEEDS_ALL,
    SIM_NEEDS_BELOW, /* of the ranks before it, as in scans */
    SIM_NEEDS_GRID   /* of its neighbours in a grid, row by row */
} sim_needs_t;

/* The needs of a collective; NEIGHBOR_ALLGATHER's are in a grid. */
sim_needs_t sim_needs_of(xylem_coll_t coll);

typedef struct sim_floor {
    sim_needs_t needs;
    uint32_t ranks, root;
    uint32_t columns;         /* of the grid */
    sim_time_t work;          /* of a call without noise */
    uint64_t depth;           /* D; 0: any */
    const sim_noise_t *noise; /* borrowed */
} sim_floor_t;

/* Time per call in calls that follow each other, the mean over the ranks, in
 * units of `work`: 1 without noise. Negative: there is no memory. */
double sim_floor(const sim_floor_t *floor);
