/* One rank of a job that checks collectives in the way its argument names:
 *
 *   collectives MODE NUMBER
 *
 * The exit code is 0 when this rank found everything right, 77 when the mode
 * cannot run on this machine. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/modes.h"

static const struct mode {
    const char *name;
    void (*run)(job_t *job, uint32_t number);
} modes[] = {
    {"sweep", mode_sweep},
    {"big", mode_big},
    {"persistent", mode_persistent},
    {"flight", mode_flight},
    {"threads", mode_threads},
    {"callbacks", mode_callbacks},
    {"parts", mode_parts},
    {"teams", mode_teams},
    {"huge", mode_huge},
    {"large", mode_large},
    {"brief", mode_brief},
    {"idle", mode_idle},
    {"stack", mode_stack},
};

int main(int argc, char **argv)
{
    job_t job;
    size_t i;

    REQUIRE(argc == 3, "usage: collectives MODE NUMBER");
    for (i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(modes[i].name, argv[1]) == 0)
            break;
    REQUIRE(i < sizeof modes / sizeof modes[0], "there is no mode %s", argv[1]);
    job_begin(&job);
    modes[i].run(&job, (uint32_t)strtoul(argv[2], NULL, 10));
    job_end(&job);
    return EXIT_SUCCESS;
}
