/* One rank of a job on several nodes, whose broadcasts and reductions have
 * their buffers in memory of GPUs:
 *
 *   device_levels values CASES   results are right: any type and operation that
 *                                GPUs have, lengths, roots, buffers, plans
 *   device_levels mixed CASES    the same, and the second half of the ranks has
 *                                buffers of the host: on two nodes GPUs do the
 *                                levels of one
 *   device_levels held MS        each rank in turn is late to each collective:
 *                                first the ranks that need nothing of it end
 *                                their call, then MS milliseconds go by. A rank
 *                                that waited for more would wait for ever. Rank
 *                                0 prints who ended later, and how much. Ranks
 *                                that lead nothing have no pinned memory
 *   device_levels turns BYTES    while a rank waits in a broadcast, the net has
 *                                each turn of the engine if copies to GPUs may
 *                                be under way, and few if the buffer is the
 *                                host's
 *
 * All ranks draw the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/measure/device.h"
#include "collectives/data/kernels.h"
#include "collectives/data/op.h"
#include "collectives/stages/collective.h"
#include "runtime/core/context.h"
#include "tests/proc/data.h"
#include "tests/proc/job.h"

enum { COUNT_MAX = 40000, ELEMENT_MAX = 16, TYPES = 9 /* with all bits */ };

static const char *const plans[] = {
    NULL,
    "han:within=cuda_ipc",
    "han:within=cuda_ipc,leaders=1,between=binomial",
    "han:within=cuda_ipc,leaders=3,between=flat,segment=4K",
    "han:within=cuda_ipc,between=chain,within_segment=1K,segment=16K",
    "han:within=cuda_ipc,between=double,within_segment=16K,segment=2K"};
enum { PLANS = sizeof plans / sizeof *plans };

static job_t job;
static struct bench_device *device;
static int is_mixed;

static const xylem_coll_t colls[] = {XYLEM_COLL_BCAST,
                                     XYLEM_COLL_REDUCE,
                                     XYLEM_COLL_ALLREDUCE,
                                     XYLEM_COLL_ALLGATHER,
                                     XYLEM_COLL_REDUCE_SCATTER_BLOCK,
                                     XYLEM_COLL_ALLTOALL};
enum { COLLS = sizeof colls / sizeof *colls, OF_SEGMENTS = 3 };

typedef struct reduction {
    xylem_coll_args_t args;
    const data_kind_t *kind; /* NULL: random bytes of all ranks */
    size_t count, bytes;     /* of a contribution */
    size_t at;               /* of the own block in the buffer of all blocks */
    uint32_t seed;
    char *send, *recv; /* on the GPU */
} reduction_t;

static char host[COUNT_MAX * ELEMENT_MAX], other[COUNT_MAX * ELEMENT_MAX];

static void random_bytes(const reduction_t *reduction, uint32_t rank, char *to)
{
    uint64_t random = reduction->seed + 1000 * (rank + 1);
    size_t i;

    for (i = 0; i < reduction->bytes; i++)
        to[i] = (char)job_random(&random);
}

static void contribution(const reduction_t *reduction, uint32_t rank, char *to)
{
    if (reduction->kind == NULL)
        random_bytes(reduction, rank, to);
    else
        data_write(reduction->kind, to, reduction->count, rank,
                   reduction->seed);
}

static void draw(uint64_t *random, reduction_t *reduction)
{
    xylem_coll_args_t *args = &reduction->args;
    int is_of_blocks;

    *args = (xylem_coll_args_t)XYLEM_COLL_ARGS_INIT;
    args->coll = colls[job_random(random) % COLLS];
    args->root = job_random(random) % job.ranks;
    args->count = 1 + job_random(random) %
                          (job_random(random) % 4 == 0 ? COUNT_MAX : 2000);
    args->algorithm = plans[job_random(random) % PLANS];
    if (is_mixed && job_random(random) % 2 == 0)
        args->algorithm = NULL; /* so the host's node knows of no GPUs */
    is_of_blocks = args->coll == XYLEM_COLL_ALLGATHER ||
                   args->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK ||
                   args->coll == XYLEM_COLL_ALLTOALL;
    if (is_of_blocks) {
        args->count = args->count < job.ranks ? 1 : args->count / job.ranks;
        args->algorithm = args->algorithm == NULL ? NULL : plans[1];
    }
    reduction->seed = job_random(random);
    reduction->kind = data_kind(job_random(random));
    args->op = reduction->kind->op;
    args->type = reduction->kind->type;
    /* A broadcast moves also the bytes between members of an element. */
    if (args->coll == XYLEM_COLL_BCAST || is_of_blocks ||
        args->op == DATA_OP_USER || reduction->kind->bytes > ELEMENT_MAX ||
        job_random(random) % 2 == 0)
        reduction->kind = NULL;
    while (reduction->kind == NULL) {
        args->type = job_random(random) % TYPES;
        args->op = (xylem_op_t)(job_random(random) % XYLEM_OP_COUNT);
        if (xyl_kernel_find(args->op, args->type, XYL_ISA_BASE) != NULL)
            break;
    }
    reduction->count = args->count;
    if (args->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK ||
        args->coll == XYLEM_COLL_ALLTOALL)
        reduction->count *= job.ranks;
    reduction->bytes = reduction->count * xylem_type_bytes(args->type);
    reduction->at = job.rank * args->count * xylem_type_bytes(args->type);
    args->recv = reduction->recv;
    args->send = job_random(random) % 3 == 0 ? XYLEM_IN_PLACE : reduction->send;
    if (args->coll == XYLEM_COLL_REDUCE && job.rank != args->root)
        args->send = reduction->send;
    if (args->coll == XYLEM_COLL_BCAST)
        args->send = NULL;
}

/* The buffer with this rank's input. */
static char *input_of(const reduction_t *reduction)
{
    const xylem_coll_args_t *args = &reduction->args;

    if (args->send != XYLEM_IN_PLACE && args->coll != XYLEM_COLL_BCAST)
        return reduction->send;
    return reduction->recv +
           (args->coll == XYLEM_COLL_ALLGATHER ? reduction->at : 0);
}

/* All blocks are there. */
static void check_gathered(const reduction_t *reduction, uint32_t number)
{
    uint32_t rank;

    for (rank = 0; rank < job.ranks; rank++) {
        MUST(device_copy(device, other,
                         (char *)reduction->recv + rank * reduction->bytes,
                         reduction->bytes));
        contribution(reduction, rank, host);
        REQUIRE(memcmp(host, other, reduction->bytes) == 0,
                "case %u: an allgather of %zu bytes: block %u is wrong", number,
                reduction->bytes, rank);
    }
}

/* Each rank's block for this one is there. */
static void check_exchanged(const reduction_t *reduction, uint32_t number)
{
    const size_t block = reduction->bytes / job.ranks;
    uint32_t rank;

    MUST(device_copy(device, other, reduction->recv, reduction->bytes));
    for (rank = 0; rank < job.ranks; rank++) {
        contribution(reduction, rank, host);
        REQUIRE(memcmp(host + reduction->at, other + rank * block, block) == 0,
                "case %u: an alltoall of %zu bytes: block %u is wrong", number,
                block, rank);
    }
}

static void check(const reduction_t *reduction, uint32_t number)
{
    const xylem_coll_args_t *args = &reduction->args;
    const size_t own = args->coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK
                           ? reduction->bytes / job.ranks
                           : reduction->bytes;
    xyl_kernel_fn kernel;
    size_t wrong;
    uint32_t rank;

    if (args->coll == XYLEM_COLL_REDUCE && job.rank != args->root)
        return;
    if (args->coll == XYLEM_COLL_ALLGATHER) {
        check_gathered(reduction, number);
        return;
    }
    if (args->coll == XYLEM_COLL_ALLTOALL) {
        check_exchanged(reduction, number);
        return;
    }
    MUST(device_copy(device, other, args->recv, own));
    if (args->coll == XYLEM_COLL_BCAST) {
        contribution(reduction, args->root, host);
        REQUIRE(memcmp(host, other, reduction->bytes) == 0,
                "case %u: a broadcast of %zu bytes from %u by %s: wrong",
                number, reduction->bytes, args->root,
                args->algorithm == NULL ? "any" : args->algorithm);
        return;
    }
    if (reduction->kind != NULL) {
        wrong = data_check_reduced(reduction->kind, other, args->count,
                                   job.ranks, reduction->seed);
        REQUIRE(wrong == args->count, "case %u: %s by %s: wrong at %zu", number,
                reduction->kind->name,
                args->algorithm == NULL ? "any" : args->algorithm, wrong);
        return;
    }
    kernel = xyl_kernel_find(args->op, args->type, XYL_ISA_BASE);
    contribution(reduction, 0, host);
    for (rank = 1; rank < job.ranks; rank++) {
        static char next[sizeof host];
        contribution(reduction, rank, next);
        kernel(host, host, next, reduction->count);
    }
    REQUIRE(memcmp(own == reduction->bytes ? host : host + reduction->at, other,
                   own) == 0,
            "case %u: %s of %s by %s: wrong", number, xylem_op_name(args->op),
            xylem_type_name(args->type),
            args->algorithm == NULL ? "any" : args->algorithm);
}

/* A buffer on this rank's GPU, or the host's. */
static char *buffer_take(void)
{
    void *memory = NULL;

    if (is_mixed && job.rank >= job.ranks / 2)
        return job_memory(sizeof host);
    MUST(device_take(device, sizeof host, &memory));
    return memory;
}

static void buffer_give(char *memory)
{
    if (is_mixed && job.rank >= job.ranks / 2)
        free(memory);
    else
        device_give(device, memory);
}

static void values(uint32_t cases)
{
    reduction_t reduction = {.kind = NULL};
    uint64_t random = 7;
    uint32_t i, start;

    reduction.send = buffer_take();
    reduction.recv = buffer_take();
    for (i = 0; i < cases; i++) {
        xylem_request_t *request;
        draw(&random, &reduction);
        MUST(xylem_coll_init(job.world, &reduction.args, &request));
        for (start = 0; start < 1 + i % 2; start++) {
            contribution(&reduction, job.rank, host);
            MUST(device_copy(device, input_of(&reduction), host,
                             reduction.bytes));
            MUST(xylem_request_start(request));
            MUST(xylem_request_wait(request));
            check(&reduction, i);
        }
        MUST(xylem_request_free(request));
    }
    buffer_give(reduction.send);
    buffer_give(reduction.recv);
}

/* ---- a rank that is held back ---- */

/* Ranks 0 ... half - 1 are on one node, whose first is the root. The first rank
 * of a node leads it. */
typedef enum verdict { EARLY, EITHER, LATER } verdict_t;

static const char *const verdict_names[] = {"before it", "either", "later"};

/* When a rank ends a call to which `late` comes late. */
static verdict_t verdict_of(xylem_coll_t coll, uint32_t late, uint32_t rank)
{
    uint32_t half = job.ranks / 2;
    int leads = rank % half == 0;

    /* On its own node kernels wait until all offers are there. */
    if (coll == XYLEM_COLL_ALLREDUCE || rank / half == late / half)
        return LATER;
    if (coll == XYLEM_COLL_BCAST && late == 0)
        return LATER;
    if (coll == XYLEM_COLL_REDUCE && rank == 0)
        return LATER;
    /* The net may have a message of a leader's before its receiver comes. */
    if (leads && (late % half == 0 || coll == XYLEM_COLL_REDUCE))
        return EITHER;
    return EARLY;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The ranks that end early, and the late one; NULL: this rank is another. */
static xylem_team_t *early_team(xylem_coll_t coll, uint32_t late)
{
    uint32_t *ranks = job_memory(job.ranks * sizeof *ranks), rank, count = 0;
    xylem_team_t *team = NULL;

    for (rank = 0; rank < job.ranks; rank++)
        if (rank == late || verdict_of(coll, late, rank) == EARLY)
            ranks[count++] = rank;
    MUST(xylem_team_subset(job.world, ranks, count, &team));
    free(ranks);
    return team;
}

/* One call, by one leader of each node. */
static xylem_coll_args_t call_args(const reduction_t *buffers,
                                   xylem_coll_t coll)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;

    args.coll = coll;
    args.send = coll == XYLEM_COLL_BCAST ? NULL : buffers->send;
    args.recv = buffers->recv;
    args.count = COUNT_MAX;
    args.type = XYLEM_INT32;
    args.op = coll == XYLEM_COLL_BCAST ? args.op : XYLEM_SUM;
    args.algorithm = plans[2];
    return args;
}

static void call_run(const reduction_t *buffers, xylem_coll_t coll)
{
    const xylem_coll_args_t args = call_args(buffers, coll);
    xylem_request_t *request;

    MUST(xylem_coll_start(job.world, &args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
}

static void held_check(xylem_coll_t coll, uint32_t late, const uint64_t *times)
{
    uint32_t rank;

    for (rank = 0; rank < job.ranks; rank++) {
        uint64_t end = times[2 * (size_t)rank + 1],
                 begin = times[2 * (size_t)late];
        verdict_t is = verdict_of(coll, late, rank);
        REQUIRE(rank == late || is == EITHER || (is == LATER) == (end > begin),
                "%s: rank %u ends %s than rank %u begins",
                xylem_coll_name(coll), rank, end > begin ? "later" : "earlier",
                late);
        if (job.rank == 0 && rank != late)
            printf("%s, rank %u held back: rank %u ends %s, by %.1f ms\n",
                   xylem_coll_name(coll), late, rank, verdict_names[is],
                   ((double)end - (double)begin) / 1e6);
    }
}

static void held_one(const reduction_t *buffers, xylem_coll_t coll,
                     uint32_t late, uint32_t ms)
{
    const struct timespec pause = {0, (long)ms * 1000000};
    uint64_t own[2], *all = job_memory(job.ranks * sizeof own);
    xylem_team_t *early = early_team(coll, late);

    MUST(xylem_barrier(job.world));
    if (job.rank == late) {
        MUST(xylem_barrier(early));
        nanosleep(&pause, NULL);
    }
    own[0] = now_ns();
    call_run(buffers, coll);
    own[1] = now_ns();
    if (early != NULL && job.rank != late)
        MUST(xylem_barrier(early));
    MUST(xylem_allgather(job.world, own, all, 2, XYLEM_UINT64));
    held_check(coll, late, all);
    if (early != NULL)
        MUST(xylem_team_destroy(early));
    free(all);
}

/* In a call that goes directly only a leader has pinned memory. */
static void memory_check(const reduction_t *buffers)
{
    const xylem_coll_args_t args = call_args(buffers, XYLEM_COLL_ALLREDUCE);
    const xyl_collective_t *collective;
    xylem_request_t *request;

    MUST(xylem_coll_init(job.world, &args, &request));
    MUST(xylem_request_start(request));
    MUST(xylem_request_wait(request));
    collective = (const void *)request;
    REQUIRE((collective->mirrors[0].memory != NULL) ==
                (job.rank % (job.ranks / 2) == 0),
            "this rank has mirrors, or a leader has none");
    MUST(xylem_request_free(request));
}

static void held(uint32_t ms)
{
    const reduction_t buffers = {.send = buffer_take(), .recv = buffer_take()};
    uint32_t late;
    size_t i;

    REQUIRE(job.ranks % 2 == 0 && job.ranks >= 4 && ms < 1000,
            "needs two nodes of as many ranks");
    call_run(&buffers, XYLEM_COLL_REDUCE); /* ranks learn whom they reach */
    memory_check(&buffers);
    for (i = 0; i < OF_SEGMENTS; i++)
        for (late = 0; late < job.ranks; late++)
            held_one(&buffers, colls[i], late, ms);
    buffer_give(buffers.send);
    buffer_give(buffers.recv);
}

/* ---- turns of the engine ---- */

/* How often the engine polls the node's memory before the net has a turn, while
 * this rank waits in a broadcast for its root, which comes later. */
static unsigned polls_of_waiting(xylem_team_t *all, void *memory, size_t bytes)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request;
    unsigned polls;

    args.coll = XYLEM_COLL_BCAST;
    args.recv = memory;
    args.count = bytes;
    args.type = XYLEM_BYTE;
    args.algorithm = "han";
    if (job.rank == 0)
        MUST(xylem_barrier(all));
    MUST(xylem_coll_start(job.world, &args, &request));
    polls = job.context->engine.polls;
    if (job.rank != 0)
        MUST(xylem_barrier(all));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    return polls;
}

static void turns(uint32_t bytes)
{
    char *on_gpu = buffer_take(), *on_host = job_memory(bytes);
    xylem_team_t *all;
    unsigned polls;

    REQUIRE(bytes <= sizeof host, "too long");
    /* Ranks that share cores let the net have each turn in any case. */
    job.context->driver.params.shares_cores = 0;
    MUST(xylem_team_split(job.world, 0, 0, &all));
    polls = polls_of_waiting(all, on_host, bytes);
    REQUIRE(job.rank == 0 || polls > 1,
            "the net comes first for the host, too");
    polls = polls_of_waiting(all, on_gpu, bytes);
    REQUIRE(polls == 1, "the net waits for %u polls", polls);
    MUST(xylem_team_destroy(all));
    buffer_give(on_gpu);
    free(on_host);
}

int main(int argc, char **argv)
{
    uint32_t number;

    REQUIRE(argc == 3, "usage: device_levels values|mixed|held|turns NUMBER");
    number = (uint32_t)strtoul(argv[2], NULL, 10);
    job_begin(&job);
    if (device_open(job.rank, &device) != XYLEM_OK)
        return 77;
    is_mixed = strcmp(argv[1], "mixed") == 0;
    if (strcmp(argv[1], "held") == 0)
        held(number);
    else if (strcmp(argv[1], "turns") == 0)
        turns(number);
    else
        values(number);
    device_close(device);
    job_end(&job);
    return 0;
}
