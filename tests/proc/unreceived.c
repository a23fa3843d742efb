/* A team is aborted by a rank that others have messages for, which it never
 * asks for: the context's end does not wait for what nobody receives.
 *
 *   unreceived */
#include <stdlib.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 50 };

int main(void)
{
    uint64_t mine = 1, sum = 0;
    xylem_status_t status = XYLEM_OK;
    job_t job;

    alarm(BOUND_S); /* less than XYLEM_TIMEOUT_S */
    job_begin(&job);
    if (job.rank != job.ranks - 1)
        status =
            xylem_allreduce(job.world, &mine, &sum, 1, XYLEM_UINT64, XYLEM_SUM);
    else
        MUST(xylem_team_abort(job.world, "it has no memory"));
    REQUIRE(job.rank == job.ranks - 1 || status == XYLEM_ERR_ABORTED, "%s",
            xylem_last_error());
    job_end(&job);
    return 0;
}
