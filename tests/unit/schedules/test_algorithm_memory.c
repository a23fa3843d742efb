/* Every writer of schedules, with each of its allocations failing: the writer
 * returns and frees its memory, and the schedule says that memory is missing.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectives/choose/registry.h"
#include "collectives/schedules/algorithm.h"
#include "runtime/base/log.h"
#include "tests/support/check.h"
#include "tests/support/failing_memory.h"
#include "tests/support/schedules.h"

enum {
    RANKS = 101,
    ROOT = 75,
    RANK_STEP = 25,
    COUNT = 3 * RANKS,
    FAILURES_MAX = 100,
    TEXT_BYTES = 200
};

/* ---- problems ---- */

static uint64_t counts[RANKS], displs[RANKS];

static int is_varied(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_GATHERV || coll == XYLEM_COLL_SCATTERV ||
           coll == XYLEM_COLL_ALLGATHERV || coll == XYLEM_COLL_ALLTOALLV ||
           coll == XYLEM_COLL_ALLTOALLW || coll == XYLEM_COLL_REDUCE_SCATTER;
}

static xyl_problem_t problem_make(const schedule_entry_t *entry, uint32_t rank,
                                  int is_in_place)
{
    xyl_problem_t problem = {.coll = entry->coll,
                             .rank = rank,
                             .ranks = RANKS,
                             .root = ROOT,
                             .count = COUNT,
                             .element_bytes = sizeof(uint64_t),
                             .is_in_place = is_in_place,
                             .is_commutative = 1,
                             .radix = entry->algorithm->radix.preset,
                             .segment_bytes = COUNT / 10 * sizeof(uint64_t)};

    if ((entry->algorithm->needs & XYL_NEEDS_EVEN) != 0)
        problem.ranks--;
    if (is_varied(entry->coll)) {
        problem.count = counts[rank];
        problem.send_counts = problem.recv_counts = counts;
        problem.send_displs = problem.recv_displs = displs;
    }
    return problem;
}

/* Fills blocks with gaps, so that more has to be kept apart. */
static void blocks_fill(void)
{
    uint64_t at = 0;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        counts[i] = i % 5;
        displs[i] = at;
        at += counts[i] + 1;
    }
}

/* ---- failing ---- */

/* Returns 1 when the failure was met. */
static int write_once(const xyl_algorithm_t *algorithm,
                      const xyl_problem_t *problem, uint64_t nth)
{
    xyl_schedule_t schedule;
    char text[TEXT_BYTES];
    int has_failed;

    xyl_schedule_init(&schedule, problem->element_bytes);
    allocations_to_failure = nth;
    algorithm->write(problem, &schedule);
    has_failed = allocations_to_failure == 0;
    allocations_to_failure = 0;
    if (schedule.status != (has_failed ? XYLEM_ERR_NO_MEMORY : XYLEM_OK)) {
        snprintf(
            text, sizeof text,
            "%s (collective %d), rank %u%s, allocation %" PRIu64 ": status %d",
            algorithm->name, (int)problem->coll, problem->rank,
            problem->is_in_place ? " in place" : "", nth, (int)schedule.status);
        check_failed(__FILE__, __LINE__, text);
    }
    xyl_schedule_fini(&schedule);
    return has_failed;
}

static void every_allocation(void)
{
    static schedule_entry_t all[SCHEDULES_MAX];
    size_t count = schedules_find(all), i;
    uint32_t rank, failures = 0;
    int is_in_place;

    xyl_log_level_set(XYL_LOG_NONE);
    blocks_fill();
    for (i = 0; i < count; i++) {
        for (rank = 0; rank + 1 < RANKS; rank += RANK_STEP)
            for (is_in_place = 0; is_in_place < 2; is_in_place++) {
                xyl_problem_t problem =
                    problem_make(&all[i], rank, is_in_place);
                uint64_t nth = 1;
                if (!xyl_algorithm_fits(all[i].algorithm, &problem, NULL))
                    continue;
                while (write_once(all[i].algorithm, &problem, nth) &&
                       nth < FAILURES_MAX)
                    nth++;
                CHECK(nth < FAILURES_MAX);
                failures += (uint32_t)nth - 1;
            }
    }
    CHECK(failures > count);
}

static const check_case_t cases[] = {
    {"algorithms: every allocation fails once", every_allocation},
};
CHECK_MAIN(cases)
