/* Ranks of a team that call different things:
 *
 *   mismatch FIRST COUNT STEP
 *
 * Of all pairs of calls, every STEP-th of COUNT from FIRST on: one rank makes
 * the second call, the others the first. Whatever they wait for, they are told
 * (XYLEM_ERR_MISMATCH), in this call or in one of the next on the team. Nothing
 * is written beyond a buffer; and a team that is made later goes on. No call
 * has a limit: what nobody notices hangs, until the alarm. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"
#include "tests/support/odd_calls.h"

enum {
    BOUND_S = 400,
    GUARD = 4096,
    CALLS_MAX = 1000, /* that follow, until all are told */
    PATTERN = 0x5a
};

typedef struct scene {
    job_t *job;
    char *send, *recv; /* GUARD bytes, ODD_ROOM, GUARD bytes */
} scene_t;

static void check_guards(const scene_t *scene, size_t written)
{
    size_t i;

    for (i = 0; i < GUARD; i++)
        REQUIRE(scene->recv[i] == PATTERN, "written before the buffer");
    for (i = GUARD + written; i < 2 * (size_t)GUARD + ODD_ROOM; i++)
        REQUIRE(scene->recv[i] == PATTERN, "written %zu bytes behind it",
                i - GUARD - written);
}

static void check_told(xylem_status_t status, const char *when)
{
    REQUIRE(status == XYLEM_ERR_MISMATCH, "%s: %s: %s", when,
            xylem_status_name(status), xylem_last_error());
}

static xylem_status_t call(xylem_team_t *team, const xylem_coll_args_t *args)
{
    xylem_request_t *request;
    xylem_status_t status;

    MUST(xylem_coll_start(team, args, &request));
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

static void one_pair(scene_t *scene, uint32_t first, uint32_t second)
{
    uint32_t odd = (first + 3 * second) % scene->job->ranks;
    const odd_kind_t *kind =
        &odd_kinds[scene->job->rank == odd ? second : first];
    odd_call_t odd_call;
    xylem_team_t *team;
    xylem_status_t status;
    uint32_t calls = 0;

    memset(scene->recv, PATTERN, 2 * (size_t)GUARD + ODD_ROOM);
    MUST(xylem_team_dup(scene->job->world, &team));
    odd_call_init(&odd_call, kind, scene->job->rank, scene->job->ranks,
                  scene->send + GUARD, scene->recv + GUARD);
    status = call(team, &odd_call.args);
    if (status != XYLEM_OK)
        check_told(status, "the call");
    do { /* whoever was done before the others noticed hears of it */
        status = xylem_barrier(team);
    } while (status == XYLEM_OK && ++calls < CALLS_MAX);
    check_told(status, "the next call");
    check_told(xylem_team_error(team, NULL), "the team");
    REQUIRE(strstr(xylem_last_error(), " calls ") != NULL ||
                strstr(xylem_last_error(), "different calls") != NULL,
            "no words: %s", xylem_last_error());
    check_guards(scene, odd_call_written(kind, scene->job->ranks));
    MUST(xylem_team_destroy(team));
}

static void check_after(const scene_t *scene)
{
    uint64_t one = 1, sum = 0;

    MUST(xylem_allreduce(scene->job->world, &one, &sum, 1, XYLEM_UINT64,
                         XYLEM_SUM));
    REQUIRE(sum == scene->job->ranks, "the sum is %llu",
            (unsigned long long)sum);
}

int main(int argc, char **argv)
{
    scene_t scene;
    job_t job;
    uint32_t pair, end, step;

    REQUIRE(argc == 4, "usage: mismatch FIRST COUNT STEP");
    alarm(BOUND_S);
    job_begin(&job);
    scene = (scene_t){.job = &job,
                      .send = job_memory(2 * GUARD + ODD_ROOM),
                      .recv = job_memory(2 * GUARD + ODD_ROOM)};
    memset(scene.send, 0, 2 * GUARD + ODD_ROOM);
    pair = (uint32_t)strtoul(argv[1], NULL, 10);
    end = pair + (uint32_t)strtoul(argv[2], NULL, 10);
    step = (uint32_t)strtoul(argv[3], NULL, 10);
    for (; pair < end && pair < ODD_KINDS * ODD_KINDS; pair += step)
        if (pair / ODD_KINDS != pair % ODD_KINDS) {
            one_pair(&scene, pair / ODD_KINDS, pair % ODD_KINDS);
            check_after(&scene);
        }
    free(scene.send);
    free(scene.recv);
    job_end(&job);
    return EXIT_SUCCESS;
}
