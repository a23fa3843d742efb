/* Barrier: a token goes round the ring twice: first to find that all ranks are
 * there, then to tell them so. One message is under way at a time, in 2 * ranks
 * rounds: a yardstick for other barriers.
 *
 * Among the barriers of Open MPI: Gabriel et al., Open MPI: goals, concept, and
 * design of a next generation MPI implementation, 2004. */
#include "collectives/schedules/algorithm.h"

enum { LAPS = 2 };

static void barrier_double_ring(const xyl_problem_t *problem,
                                xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, lap;
    uint32_t next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    xyl_action_t token = XYL_ACTION_NONE;

    for (lap = 0; lap < LAPS && ranks > 1; lap++) {
        if (rank == 0)
            xyl_schedule_tell(schedule, next, lap, token);
        token = xyl_schedule_hear(schedule, before, lap);
        if (rank != 0)
            xyl_schedule_tell(schedule, next, lap, token);
    }
}

const xyl_algorithm_t xyl_algorithm_barrier_double_ring = {
    .name = "double_ring",
    .help = "a token goes round twice (Gabriel et al. 2004)",
    XYL_BY_SCHEDULE(barrier_double_ring),
    .colls = XYL_COLL_BIT(BARRIER),
};
