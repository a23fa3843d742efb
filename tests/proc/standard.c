/* Descriptors 0 to 2 of a rank:
 *
 *   standard        some of them are closed at the start: a context makes them
 *                   /dev/null, before anything else can get their numbers
 *   standard late   all of them are closed when there is a context
 *
 * What is printed then gets into nothing that the ranks speak by. The locale is
 * that of the environment. */
#include <fcntl.h>
#include <locale.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { STANDARD = 3, PRINTED_BYTES = 1 << 10, ROUNDS = 100 };

static void check_null(int fd)
{
    struct stat found, null;

    REQUIRE(stat("/dev/null", &null) == 0, "no /dev/null");
    REQUIRE(fstat(fd, &found) == 0 && S_ISCHR(found.st_mode) &&
                found.st_rdev == null.st_rdev,
            "descriptor %d was closed, and is not /dev/null", fd);
}

/* Into whatever has the numbers of output and errors. */
static void print(void)
{
    static const char zeros[PRINTED_BYTES];
    int fd;

    for (fd = STDOUT_FILENO; fd < STANDARD; fd++)
        if (write(fd, zeros, sizeof zeros) < 0)
            continue; /* it is closed */
}

static void use(xylem_team_t *team, const job_t *job)
{
    uint64_t sum = job->rank;

    MUST(xylem_allreduce(team, XYLEM_IN_PLACE, &sum, 1, XYLEM_UINT64,
                         XYLEM_SUM));
    REQUIRE(sum == job->ranks * (job->ranks - 1) / 2, "the sum is wrong");
}

int main(int argc, char **argv)
{
    int was_open[STANDARD], fd, i;
    xylem_team_t *team;
    job_t job;

    (void)argv;
    setlocale(LC_ALL, "");
    for (fd = 0; fd < STANDARD; fd++)
        was_open[fd] = fcntl(fd, F_GETFD) >= 0;
    job_begin(&job);
    for (fd = 0; fd < STANDARD; fd++) {
        if (!was_open[fd])
            check_null(fd);
        if (argc > 1)
            close(fd);
    }
    for (i = 0; i < ROUNDS; i++) {
        use(job.world, &job);
        print();
    }
    MUST(xylem_team_dup(job.world, &team));
    use(team, &job);
    print();
    MUST(xylem_team_destroy(team));
    job_end(&job);
    return 0;
}
