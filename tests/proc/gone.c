/* A rank that goes before its context is made, while the others live on:
 *
 *   gone begin|again|told|met|reach|reached|settle|settled kill|exit|fail
 *        first|last|apart [deaf]
 *
 * When rank 1 goes: before it calls the library; when a context of all has been
 * made and destroyed; when PMIx knows it, and it has
 * told nothing; when it has told the others who it is; before it has told them
 * how it is reached, and behind that; before it has told them what became of
 * its start, and behind that. How: killed, with code 0, or with code 3. first:
 * long before the others begin; last: long after that. apart: ranks begin long
 * after each other, so that some may have given up and ended before others
 * begin; those are told of rank 1, too.
 *
 * deaf: PMIx tells rank 2 that a fence which a rank is lost in is as usual,
 * as PMIx 5 does with some of them.
 *
 * The others are told that it has died, each time they try, but for `settled`,
 * where they have a context in which it is dead. They say how long that took.
 */
#include <dlfcn.h>
#include <pmix.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 100, TRIES = 2, LATE_NS = 500 * 1000 * 1000, VICTIM = 1 };

static int puts_left = -1, commits_left = -1, is_deaf;
static const char *how;

static void go(void)
{
    if (strcmp(how, "kill") == 0)
        raise(SIGKILL);
    exit(strcmp(how, "fail") == 0 ? 3 : 0);
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char key[], pmix_value_t *val)
{
    static __typeof__(&PMIx_Put) put;

    if (puts_left-- == 0)
        go();
    if (put == NULL)
        *(void **)(void *)&put = dlsym(RTLD_NEXT, "PMIx_Put");
    return put(scope, key, val);
}

pmix_status_t PMIx_Commit(void)
{
    static __typeof__(&PMIx_Commit) commit;
    pmix_status_t status;

    if (commit == NULL)
        *(void **)(void *)&commit = dlsym(RTLD_NEXT, "PMIx_Commit");
    status = commit();
    if (commits_left-- == 0)
        go();
    return status;
}

typedef struct waiter {
    pmix_op_cbfunc_t done;
    void *arg;
} waiter_t;

static void fence_done(pmix_status_t status, void *arg)
{
    waiter_t *waiter = arg;

    waiter->done(is_deaf && status == PMIX_ERR_PARTIAL_SUCCESS ? PMIX_SUCCESS
                                                               : status,
                 waiter->arg);
    free(waiter);
}

pmix_status_t PMIx_Fence_nb(const pmix_proc_t procs[], size_t nprocs,
                            const pmix_info_t info[], size_t ninfo,
                            pmix_op_cbfunc_t cbfunc, void *cbdata)
{
    static __typeof__(&PMIx_Fence_nb) fence;
    waiter_t *waiter = malloc(sizeof *waiter);
    pmix_status_t status;

    REQUIRE(waiter != NULL, "no memory");
    *waiter = (waiter_t){cbfunc, cbdata};
    if (fence == NULL)
        *(void **)(void *)&fence = dlsym(RTLD_NEXT, "PMIx_Fence_nb");
    status = fence(procs, nprocs, info, ninfo, fence_done, waiter);
    if (status != PMIX_SUCCESS)
        free(waiter);
    return status;
}

static void go_when(const char *when)
{
    static const char *const names[] = {"told",    "met",    "reach",
                                        "reached", "settle", "settled"};
    int i;

    if (strcmp(when, "begin") == 0 || strcmp(when, "again") == 0)
        go();
    for (i = 0; i < 6; i++) {
        if (strcmp(when, names[i]) == 0)
            *(i % 2 == 0 ? &puts_left : &commits_left) = i / 2;
    }
}

static void live_once(void)
{
    job_t job;

    job_begin(&job);
    MUST(xylem_barrier(job.world));
    job_end(&job);
}

static double now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/* With a context in which the victim is dead. */
static void check_context(xylem_context_t *context)
{
    xylem_team_t *world = xylem_context_world(context);
    xylem_status_t status = xylem_barrier(world);
    uint32_t failed = UINT32_MAX, count = 0;

    REQUIRE(status == XYLEM_ERR_PROC_FAILED, "a barrier says %s",
            xylem_status_name(status));
    MUST(xylem_team_failed(world, &failed, 1, &count));
    REQUIRE(count == 1 && failed == VICTIM, "%u dead, the first rank %u", count,
            failed);
    MUST(xylem_context_destroy(context));
}

static void check_refusal(xylem_context_t *context, xylem_status_t status)
{
    REQUIRE(status == XYLEM_ERR_PROC_FAILED && context == NULL, "%s: '%s'",
            xylem_status_name(status), xylem_last_error());
    REQUIRE(strstr(xylem_last_error(), "rank 1 ") != NULL,
            "nobody is called dead: '%s'", xylem_last_error());
}

static void begin_late(int rank, const char *order)
{
    const struct timespec late = {.tv_nsec = LATE_NS};
    int times = rank;

    if (strcmp(order, "apart") != 0)
        times = (rank == VICTIM) == (strcmp(order, "last") == 0);
    while (times-- > 0)
        nanosleep(&late, NULL);
}

int main(int argc, char **argv)
{
    const char *rank = getenv("PMIX_RANK");
    xylem_status_t status;
    int i, is_victim;

    REQUIRE(argc >= 4 && rank != NULL,
            "usage: gone WHEN HOW first|last|apart [deaf]");
    is_deaf = argc > 4 && atoi(rank) == VICTIM + 1;
    alarm(BOUND_S);
    how = argv[2];
    is_victim = atoi(rank) == VICTIM;
    if (strcmp(argv[1], "again") == 0)
        live_once();
    begin_late(atoi(rank), argv[3]);
    if (is_victim)
        go_when(argv[1]);
    for (i = 0; i < TRIES; i++) {
        xylem_context_t *context = NULL;
        double begin = now_ms();

        status = xylem_context_create(NULL, &context);
        if (i == 0 && strcmp(argv[1], "settled") == 0)
            check_context(context);
        else
            check_refusal(context, status);
        printf("rank %s is told after %.1f ms\n", rank, now_ms() - begin);
    }
    return 0;
}
