/* Contexts one after the other, where rank 1 is slow to leave: the launcher
 * learns that the PMIx session of its context before has ended when the other
 * ranks already wait for rank 1 in their next context. And a launcher that does
 * not come to its first request in time, as Open MPI's on a busy machine. */
#include <dlfcn.h>
#include <pmix.h>
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

static int gets;

pmix_status_t PMIx_Get(const pmix_proc_t *proc, const char key[],
                       const pmix_info_t info[], size_t ninfo,
                       pmix_value_t **val)
{
    static __typeof__(&PMIx_Get) get;

    if (get == NULL)
        *(void **)(void *)&get = dlsym(RTLD_NEXT, "PMIx_Get");
    if (strncmp(key, "xylem.", 6) == 0 && gets++ == 0)
        return PMIX_ERR_TIMEOUT;
    return get(proc, key, info, ninfo, val);
}

int main(void)
{
    int i;

    for (i = 0; i < CONTEXTS; i++) {
        uint32_t value = 0;
        job_t job;

        gets = 0;
        job_begin(&job);
        REQUIRE(gets != 0, "context %d has asked nobody", i);
        value = job.rank == 0 ? 7 : 0;
        MUST(xylem_bcast(job.world, &value, 1, XYLEM_UINT32, 0));
        REQUIRE(value == 7, "context %d gave %u", i, value);
        is_late = job.rank == 1;
        job_end(&job);
        is_late = 0;
    }
    return 0;
}
