/* Ranks that end otherwise than by xylem_context_destroy, and threads that are
 * cancelled:
 *
 *   ends exit      all ranks return from main; the last has begun what the
 *                  others know nothing of
 *   ends thread    a thread is cancelled while it waits, and the others go on
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/job.h"

enum { BOUND_S = 100, COUNT = 100000, CALLS = 20 };

static uint32_t send[COUNT], recv[COUNT];

static void sum(const job_t *job)
{
    uint32_t i;

    for (i = 0; i < COUNT; i++)
        send[i] = job->rank;
    MUST(xylem_allreduce(job->world, send, recv, COUNT, XYLEM_UINT32,
                         XYLEM_SUM));
    for (i = 0; i < COUNT; i++)
        REQUIRE(recv[i] == job->ranks * (job->ranks - 1) / 2, "sum %u at %u",
                recv[i], i);
}

static void *wait_for_others(void *arg)
{
    MUST(xylem_request_wait(arg));
    return NULL;
}

static void mode_thread(const job_t *job)
{
    uint32_t i;

    for (i = 0; i < CALLS; i++) {
        uint32_t mine = 1, all = 0;
        xylem_request_t *request;
        pthread_t thread;
        void *end;

        MUST(xylem_iallreduce(job->world, &mine, &all, 1, XYLEM_UINT32,
                              XYLEM_SUM, &request));
        REQUIRE(pthread_create(&thread, NULL, wait_for_others, request) == 0,
                "no thread");
        pthread_cancel(thread);
        REQUIRE(pthread_join(thread, &end) == 0, "no end");
        MUST(xylem_request_wait(request));
        REQUIRE(all == job->ranks, "the sum is %u", all);
        MUST(xylem_request_free(request));
        sum(job);
    }
}

int main(int argc, char **argv)
{
    job_t job;

    REQUIRE(argc == 2, "usage: ends exit|thread");
    alarm(BOUND_S);
    job_begin(&job);
    sum(&job);
    if (strcmp(argv[1], "thread") == 0) {
        mode_thread(&job);
        job_end(&job);
    } else if (job.rank == job.ranks - 1) {
        static uint32_t mine, all;
        xylem_request_t *request;
        MUST(xylem_iallreduce(job.world, &mine, &all, 1, XYLEM_UINT32,
                              XYLEM_SUM, &request));
    }
    return EXIT_SUCCESS;
}
