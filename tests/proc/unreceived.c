/* A team is aborted while a rank of it is elsewhere, and takes no message: the
 * context's end gives the word of it up after some seconds, and says so; which
 * is what that rank waits for here, before it ends its own.
 *
 *   unreceived FILE
 *
 * Only where a first message waits for the receiver, as by TCP. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 50, AWAY = 1, LOOK_US = 10000 };

static const char *path;

static void look_for_words(void *arg, const char *level, const char *text)
{
    FILE *file;

    (void)arg;
    (void)level;
    if (strstr(text, "undelivered") == NULL)
        return;
    file = fopen(path, "w");
    REQUIRE(file != NULL, "cannot write to %s", path);
    fclose(file);
}

int main(int argc, char **argv)
{
    job_t job;

    REQUIRE(argc == 2, "usage: unreceived FILE");
    path = argv[1];
    alarm(BOUND_S); /* less than XYLEM_TIMEOUT_S */
    xylem_log_set(look_for_words, NULL);
    job_begin(&job);
    if (job.rank == job.ranks - 1)
        MUST(xylem_team_abort(job.world, "it has no memory"));
    while (job.rank == AWAY && access(path, F_OK) != 0)
        usleep(LOOK_US);
    job_end(&job);
    return 0;
}
