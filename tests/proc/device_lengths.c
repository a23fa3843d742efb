/* One rank of a job whose ranks have blocks in memory of GPUs and differ about
 * the length of one of them: rank 0 sends rank 1 more, or less, than this
 * expects, in an alltoallv and in a gatherv to rank 1. Rank 1 is told, and so
 * is everybody in the next call; nothing is written behind its buffer. So are
 * the ranks of a broadcast and of a scatter whose root has more, or less, than
 * the others. In a reduce_scatter rank 0 has another block of the same result
 * longer. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "tests/proc/job.h"

enum { BLOCK = 4000, EXTRA = 80, RANKS_MAX = 16, CALLS_MAX = 1000 };

static job_t job;
static struct bench_device *device;
static char *send, *recv; /* a block more than there are ranks */

static xylem_status_t call(xylem_team_t *team, xylem_coll_t coll,
                           uint64_t extra, uint64_t lack)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    uint64_t sent[RANKS_MAX], received[RANKS_MAX], at[RANKS_MAX];
    xylem_request_t *request;
    xylem_status_t status;
    uint32_t i;

    for (i = 0; i < job.ranks; i++) {
        sent[i] = received[i] = BLOCK;
        at[i] = UINT64_C(2) * BLOCK * i;
    }
    if (job.rank == 0)
        sent[1] += extra;
    if (job.rank == 1)
        received[0] += lack;
    args.coll = coll;
    args.send = send;
    args.recv = recv;
    args.type = XYLEM_BYTE;
    args.root = 1;
    args.count = sent[1];
    args.send_counts = coll == XYLEM_COLL_ALLTOALLV ? sent : NULL;
    args.send_displs = coll == XYLEM_COLL_ALLTOALLV ? at : NULL;
    if (coll == XYLEM_COLL_ALLTOALLV || job.rank == 1) {
        args.recv_counts = received;
        args.recv_displs = at;
    }
    MUST(xylem_coll_start(team, &args, &request));
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

/* By counts of which rank 0 has others, with the same sum. */
static xylem_status_t reduce_scatter(xylem_team_t *team, uint64_t extra)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    uint64_t counts[RANKS_MAX];
    xylem_request_t *request;
    xylem_status_t status;
    uint32_t i;

    for (i = 0; i < job.ranks; i++)
        counts[i] = BLOCK;
    if (job.rank == 0) {
        counts[0] -= extra;
        counts[1] += extra;
    }
    args.coll = XYLEM_COLL_REDUCE_SCATTER;
    args.send = send;
    args.recv = recv;
    args.type = XYLEM_UINT8;
    args.op = XYLEM_BOR;
    args.recv_counts = counts;
    MUST(xylem_coll_start(team, &args, &request));
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

static void scatters_differ(void)
{
    char behind[EXTRA], ones[EXTRA], clean[EXTRA] = {0};
    xylem_team_t *team;

    memset(ones, -1, sizeof ones);
    MUST(device_copy(device, recv + BLOCK, clean, EXTRA));
    MUST(device_copy(device, send + 2 * BLOCK - EXTRA, ones, EXTRA));
    MUST(device_copy(device, send + 2 * BLOCK, ones, EXTRA));
    MUST(xylem_team_dup(job.world, &team));
    MUST(reduce_scatter(team, 0));
    MUST(xylem_barrier(job.world));    /* all have ended it */
    (void)reduce_scatter(team, EXTRA); /* that they differ need not be seen */
    MUST(device_copy(device, behind, recv + BLOCK, EXTRA));
    REQUIRE(memcmp(behind, clean, EXTRA) == 0, "written behind the buffer");
    MUST(xylem_barrier(job.world));
    MUST(xylem_team_destroy(team));
}

static void differ(xylem_coll_t coll, uint64_t extra, uint64_t lack,
                   xylem_status_t expected)
{
    char behind[EXTRA], clean[EXTRA] = {0};
    xylem_team_t *team;
    xylem_status_t status;
    uint32_t calls = 0;

    MUST(device_copy(device, recv + BLOCK, clean, EXTRA));
    MUST(xylem_team_dup(job.world, &team));
    MUST(call(team, coll, 0, 0));
    MUST(xylem_barrier(job.world)); /* all have ended it */
    status = call(team, coll, extra, lack);
    REQUIRE(job.rank != 1 || status == expected, "rank 1 has %s: %s",
            xylem_status_name(status), xylem_last_error());
    do { /* whoever was done before hears of it */
        status = xylem_barrier(team);
    } while (status == XYLEM_OK && ++calls < CALLS_MAX);
    REQUIRE(status == expected, "the next call has %s: %s",
            xylem_status_name(status), xylem_last_error());
    MUST(device_copy(device, behind, recv + BLOCK, EXTRA));
    REQUIRE(lack != 0 || memcmp(behind, clean, EXTRA) == 0,
            "written behind the buffer");
    MUST(xylem_team_destroy(team));
    MUST(xylem_barrier(job.world));
}

/* From rank 0, blocks of one length on each rank. */
static xylem_status_t from_root(xylem_team_t *team, xylem_coll_t coll,
                                uint64_t extra)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request;
    xylem_status_t status;

    args.coll = coll;
    args.send = coll == XYLEM_COLL_BCAST ? NULL : send;
    args.recv = coll == XYLEM_COLL_BCAST && job.rank == 0 ? send : recv;
    args.type = XYLEM_BYTE;
    args.count = BLOCK + extra;
    MUST(xylem_coll_start(team, &args, &request));
    status = xylem_request_wait(request);
    MUST(xylem_request_free(request));
    return status;
}

/* Who finds it first says whether it is too much or too little. */
static void from_root_differ(xylem_coll_t coll, uint64_t extra, uint64_t lack)
{
    char behind[EXTRA], ones[EXTRA], clean[EXTRA] = {0};
    xylem_team_t *team;
    xylem_status_t status;

    memset(ones, -1, sizeof ones);
    MUST(device_copy(device, recv + BLOCK, clean, EXTRA));
    MUST(device_copy(device, send + BLOCK, ones, EXTRA));
    MUST(device_copy(device, send + 2 * BLOCK, ones, EXTRA));
    MUST(xylem_team_dup(job.world, &team));
    MUST(from_root(team, coll, 0));
    MUST(xylem_barrier(job.world)); /* all have ended it */
    status = from_root(team, coll, job.rank == 0 ? extra : lack);
    REQUIRE(job.rank == 0 || status != XYLEM_OK,
            "%s: %d bytes are taken for %d", xylem_coll_name(coll),
            (int)(BLOCK + extra), (int)(BLOCK + lack));
    MUST(xylem_barrier(job.world)); /* nobody writes any more */
    MUST(device_copy(device, behind, recv + BLOCK, EXTRA));
    REQUIRE(job.rank == 0 || memcmp(behind, clean, EXTRA) == 0,
            "written behind the buffer");
    MUST(xylem_barrier(job.world));
    MUST(xylem_team_destroy(team));
}

int main(void)
{
    static const xylem_coll_t colls[] = {XYLEM_COLL_ALLTOALLV,
                                         XYLEM_COLL_GATHERV};
    size_t bytes, i;

    job_begin(&job);
    REQUIRE(job.ranks >= 2 && job.ranks <= RANKS_MAX, "2 to %d ranks",
            RANKS_MAX);
    MUST(device_open(job.rank, &device));
    bytes = (size_t)2 * BLOCK * (job.ranks + 1);
    MUST(device_take(device, bytes, (void **)(void *)&send));
    MUST(device_take(device, bytes, (void **)(void *)&recv));
    for (i = 0; i < sizeof colls / sizeof *colls; i++) {
        differ(colls[i], EXTRA, 0, XYLEM_ERR_TRUNCATED);
        differ(colls[i], 0, EXTRA, XYLEM_ERR_MISMATCH);
    }
    from_root_differ(XYLEM_COLL_BCAST, EXTRA, 0);
    from_root_differ(XYLEM_COLL_BCAST, 0, EXTRA);
    from_root_differ(XYLEM_COLL_SCATTER, EXTRA, 0);
    from_root_differ(XYLEM_COLL_SCATTER, 0, EXTRA);
    scatters_differ();
    device_give(device, send);
    device_give(device, recv);
    job_end(&job);
    device_close(device);
    return 0;
}
