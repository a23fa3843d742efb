/* Contexts one after the other, where rank 1 is slow to leave: the launcher
 * learns that the PMIx session of its context before has ended when the other
 * ranks already wait for rank 1 in their next context. */
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { CONTEXTS = 3, LATE_NS = 200 * 1000 * 1000 };

static int is_late;

/* PMIx ends its connection to the launcher by this function. */
int shutdown(int fd, int how);
int shutdown(int fd, int how)
{
    const struct timespec late = {.tv_nsec = LATE_NS};

    if (is_late)
        nanosleep(&late, NULL);
    return (int)syscall(SYS_shutdown, fd, how);
}

int main(void)
{
    int i;

    for (i = 0; i < CONTEXTS; i++) {
        uint32_t value = 0;
        job_t job;

        job_begin(&job);
        value = job.rank == 0 ? 7 : 0;
        MUST(xylem_bcast(job.world, &value, 1, XYLEM_UINT32, 0));
        REQUIRE(value == 7, "context %d gave %u", i, value);
        is_late = job.rank == 1;
        job_end(&job);
        is_late = 0;
    }
    return 0;
}
