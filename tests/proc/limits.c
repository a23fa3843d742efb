/* What there is a limit of:
 *
 *   limits teams COUNT BYTES MIB   COUNT teams of all ranks at once, with an
 *                                  allreduce of BYTES in each, twice; all ranks
 *                                  together have no more than MIB in memory
 *   limits slots COUNT             rank 0 is in COUNT teams of its own, or in
 * as many as there may be: all are refused another limits full COUNT as
 * `teams`, with descriptors used up by the program of rank 1 once there is a
 * context
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { PATIENCE_S = 240, TEAMS_MAX = 1 << 16 };

static job_t job;

/* ---- memory ---- */

/* KiB of this process; what it shares with others counts by its part. */
static uint64_t own_kib(void)
{
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    unsigned long long kib = 0;
    char line[128];

    REQUIRE(file != NULL, "no /proc/self/smaps_rollup");
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "Pss: %llu", &kib) == 1)
            break;
    fclose(file);
    return kib;
}

static uint64_t all_kib(void)
{
    uint64_t kib;

    MUST(xylem_barrier(job.world));
    kib = own_kib();
    MUST(xylem_allreduce(job.world, XYLEM_IN_PLACE, &kib, 1, XYLEM_UINT64,
                         XYLEM_SUM));
    return kib;
}

/* ---- teams ---- */

static void use(xylem_team_t *team, uint64_t *data, size_t bytes)
{
    size_t count = bytes / sizeof *data, i;

    for (i = 0; i < count; i++)
        data[i] = job.rank + i;
    MUST(xylem_allreduce(team, XYLEM_IN_PLACE, data, count, XYLEM_UINT64,
                         XYLEM_SUM));
    for (i = 0; i < count; i++)
        REQUIRE(data[i] == job.ranks * (job.ranks - 1) / 2 + job.ranks * i,
                "number %zu is wrong", i);
}

static void teams(uint32_t count, size_t bytes, uint64_t mib)
{
    xylem_team_t **all = job_memory(count * sizeof *all);
    uint64_t *data = job_memory(bytes), kib;
    uint32_t i, round;

    for (i = 0; i < count; i++)
        MUST(xylem_team_dup(job.world, &all[i]));
    for (round = 0; round < 2; round++)
        for (i = 0; i < count; i++)
            use(all[i], data, bytes);
    kib = all_kib();
    if (job.rank == 0)
        printf("%u teams: %" PRIu64 " MiB\n", count, kib >> 10);
    REQUIRE(kib >> 10 <= mib, "%u teams take %" PRIu64 " MiB", count,
            kib >> 10);
    for (i = 0; i < count; i++)
        MUST(xylem_team_destroy(all[i]));
    free(data);
    free(all);
}

/* ---- tags ---- */

static void slots(uint32_t most)
{
    xylem_team_t **own = job_memory(TEAMS_MAX * sizeof *own), *team = NULL;
    xylem_status_t status = XYLEM_OK;
    const uint32_t only_this[] = {0};
    xylem_ticket_t ticket;
    uint32_t count;
    uint64_t value[1];

    for (count = 0; job.rank == 0 && count < most; count++) {
        status = xylem_ticket_draw(job.context, &ticket);
        if (status != XYLEM_OK)
            break;
        MUST(xylem_team_create(job.context, &ticket, 1, 0, &own[count]));
    }
    REQUIRE(status == XYLEM_OK || status == XYLEM_ERR_NO_RESOURCE, "%s",
            xylem_status_name(status));
    status = xylem_team_dup(job.world, &team);
    REQUIRE(status == XYLEM_ERR_NO_RESOURCE, "one team more: %s",
            xylem_status_name(status));
    MUST(xylem_team_error(job.world, NULL));
    use(job.world, value, sizeof value);
    if (job.rank == 0)
        MUST(xylem_team_destroy(own[--count]));
    MUST(xylem_team_dup(job.world, &team)); /* there is room again */
    use(team, value, sizeof value);
    MUST(xylem_team_destroy(team));
    MUST(xylem_team_subset(job.world, only_this, 1, &team));
    MUST(xylem_team_destroy(team));
    while (count > 0)
        MUST(xylem_team_destroy(own[--count]));
    free(own);
}

int main(int argc, char **argv)
{
    REQUIRE(argc >= 3, "usage: limits teams COUNT BYTES MIB | slots COUNT");
    alarm(PATIENCE_S);
    job_begin(&job);
    if (strcmp(argv[1], "teams") == 0 && argc == 5)
        teams((uint32_t)atoi(argv[2]), (size_t)atoll(argv[3]),
              (uint64_t)atoll(argv[4]));
    else
        slots((uint32_t)atoi(argv[2]));
    job_end(&job);
    return EXIT_SUCCESS;
}
