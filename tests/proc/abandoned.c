/* A rank that leaves the fence at a context's end, because others take too
 * long, while PMIx goes on in its process, as under an MPI library: what the
 * fence's end would have written to is not there any more.
 *
 *   abandoned FOLDER
 *
 * Ranks wait for each other by files in the folder, which is empty. */
#include <pmix.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "runtime/job/bootstrap.h"
#include "tests/proc/job.h"

enum { BOUND_S = 100, POLL_NS = 1000 * 1000 };

static void tell(const char *folder, const char *what)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, what);
    file = fopen(path, "w");
    REQUIRE(file != NULL, "cannot write %s", path);
    fclose(file);
}

static void await(const char *folder, const char *what)
{
    const struct timespec pause = {.tv_nsec = POLL_NS};
    char path[4096];

    snprintf(path, sizeof path, "%s/%s", folder, what);
    while (access(path, F_OK) != 0)
        nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    xyl_bootstrap_t *bootstrap;
    pmix_value_t *value = NULL;
    pmix_proc_t self;

    REQUIRE(argc == 2, "usage: abandoned FOLDER");
    alarm(BOUND_S);
    REQUIRE(PMIx_Init(&self, NULL, 0) == PMIX_SUCCESS, "no PMIx");
    MUST(xyl_bootstrap_pmix_create(&bootstrap));
    if (self.rank != 0)
        await(argv[1], "abandoned");
    MUST(bootstrap->ops->fence_start(bootstrap));
    while (self.rank != 0 &&
           bootstrap->ops->fence_test(bootstrap) == XYLEM_IN_PROGRESS)
        continue;
    bootstrap->ops->destroy(bootstrap);
    tell(argv[1], self.rank == 0 ? "abandoned" : "over");
    await(argv[1], "over");
    /* The server's answer comes behind the end of the fence. */
    (void)PMIx_Get(&self, "nothing", NULL, 0, &value);
    PMIx_Finalize(NULL, 0);
    return 0;
}
