/* A node that is cut off, for tests/cluster:
 *
 *   cut ROOT FILE
 *
 * All wait for the first broadcast of rank ROOT, which sends nothing until
 * there is FILE.go, or its team fails; so nobody else has anything to send.
 * Each writes its number to FILE.RANK.pid before it waits, and what it is
 * answered to FILE.RANK.end. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 120, TURNS_PER_LOOK = 1000, PATH_BYTES = 512 };

static void write_line(const char *file, uint32_t rank, const char *kind,
                       const char *text)
{
    char path[PATH_BYTES], new_path[PATH_BYTES + 4];
    FILE *out;

    snprintf(path, sizeof path, "%s.%u.%s", file, rank, kind);
    snprintf(new_path, sizeof new_path, "%s.new", path);
    out = fopen(new_path, "w");
    REQUIRE(out != NULL, "cannot write to %s", new_path);
    fprintf(out, "%s\n", text);
    fclose(out);
    REQUIRE(rename(new_path, path) == 0, "cannot write to %s", path);
}

static void wait_for_word(const job_t *job, const char *file)
{
    char path[PATH_BYTES];
    int turns;

    snprintf(path, sizeof path, "%s.go", file);
    while (access(path, F_OK) != 0 &&
           xylem_team_error(job->world, NULL) == XYLEM_OK)
        for (turns = 0; turns < TURNS_PER_LOOK; turns++) {
            xylem_progress(job->context);
            usleep(10);
        }
}

int main(int argc, char **argv)
{
    xylem_status_t status;
    uint32_t root, number;
    char text[32];
    job_t job;

    REQUIRE(argc == 3, "usage: cut ROOT FILE");
    root = (uint32_t)atoi(argv[1]);
    alarm(BOUND_S);
    job_begin(&job);
    snprintf(text, sizeof text, "%d", (int)getpid());
    write_line(argv[2], job.rank, "pid", text);
    number = job.rank == root ? 47 : 0;
    if (job.rank == root)
        wait_for_word(&job, argv[2]);
    status = xylem_bcast(job.world, &number, 1, XYLEM_UINT32, root);
    REQUIRE(status != XYLEM_OK || number == 47, "%u was broadcast", number);
    write_line(argv[2], job.rank, "end", xylem_status_name(status));
    if (status == XYLEM_OK)
        job_end(&job);
    return EXIT_SUCCESS;
}
