/* A team is aborted by a rank that takes no part in a long allreduce, for which
 * the others have sent it messages:
 *
 *   unwanted
 *
 * Nobody receives them any more, and nobody waits for that, nor has UCX
 * anything to say of it (UCX_LOG_LEVEL=warn). */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 50, ABSENT = 1, WORDS = 1 << 18, LATE_US = 100000 };

int main(void)
{
    job_t job;
    xylem_team_t *team;
    xylem_request_t *request;
    double *words, *sums;

    alarm(BOUND_S); /* less than XYLEM_TIMEOUT_S */
    job_begin(&job);
    words = job_memory(WORDS * sizeof *words);
    sums = job_memory(WORDS * sizeof *sums);
    MUST(xylem_team_dup(job.world, &team));
    MUST(xylem_barrier(team));
    if (job.rank == ABSENT) {
        usleep(LATE_US); /* for what they begin with to come */
        MUST(xylem_team_abort(team, "it has no memory"));
    } else {
        MUST(xylem_iallreduce(team, words, sums, WORDS, XYLEM_FLOAT64,
                              XYLEM_SUM, &request));
        REQUIRE(xylem_request_wait(request) == XYLEM_ERR_ABORTED,
                "it does not fail");
        MUST(xylem_request_free(request));
    }
    MUST(xylem_team_destroy(team));
    job_end(&job);
    free(words);
    free(sums);
    return EXIT_SUCCESS;
}
