/* One rank of a job on several nodes, whose broadcasts and reductions have
 * their buffers in memory of GPUs:
 *
 *   device_levels values CASES   results are right: any type and operation that
 *                                GPUs have, lengths, roots, buffers, plans
 *   device_levels mixed CASES    the same, and the second half of the ranks has
 *                                buffers of the host: on two nodes GPUs do the
 *                                levels of one
 *   device_levels late ROUNDS    a rank waits for no other than it needs: on
 * two nodes, a rank of each in turn begins a reduce, or a broadcast, only when
 * one of the other node has ended it. A rank that waited for more would wait
 * for ever
 *
 * All ranks draw the same. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "collectives/data/kernels.h"
#include "collectives/data/op.h"
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

static const xylem_coll_t colls[] = {XYLEM_COLL_BCAST, XYLEM_COLL_REDUCE,
                                     XYLEM_COLL_ALLREDUCE};
enum { COLLS = sizeof colls / sizeof *colls };

typedef struct reduction {
    xylem_coll_args_t args;
    const data_kind_t *kind; /* NULL: random bytes of all ranks */
    size_t bytes;
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
        data_write(reduction->kind, to, reduction->args.count, rank,
                   reduction->seed);
}

static void draw(uint64_t *random, reduction_t *reduction)
{
    xylem_coll_args_t *args = &reduction->args;

    *args = (xylem_coll_args_t)XYLEM_COLL_ARGS_INIT;
    args->coll = colls[job_random(random) % COLLS];
    args->root = job_random(random) % job.ranks;
    args->count = 1 + job_random(random) %
                          (job_random(random) % 4 == 0 ? COUNT_MAX : 2000);
    args->algorithm = plans[job_random(random) % PLANS];
    if (is_mixed && job_random(random) % 2 == 0)
        args->algorithm = NULL; /* so the host's node knows of no GPUs */
    reduction->seed = job_random(random);
    reduction->kind = data_kind(job_random(random));
    args->op = reduction->kind->op;
    args->type = reduction->kind->type;
    if (args->op == DATA_OP_USER || reduction->kind->bytes > ELEMENT_MAX ||
        job_random(random) % 2 == 0)
        reduction->kind = NULL;
    while (reduction->kind == NULL) {
        args->type = job_random(random) % TYPES;
        args->op = (xylem_op_t)(job_random(random) % XYLEM_OP_COUNT);
        if (xyl_kernel_find(args->op, args->type, XYL_ISA_BASE) != NULL)
            break;
    }
    reduction->bytes = args->count * xylem_type_bytes(args->type);
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

    return args->send == XYLEM_IN_PLACE || args->coll == XYLEM_COLL_BCAST
               ? reduction->recv
               : reduction->send;
}

static void check(const reduction_t *reduction, uint32_t number)
{
    const xylem_coll_args_t *args = &reduction->args;
    xyl_kernel_fn kernel;
    size_t wrong;
    uint32_t rank;

    if (args->coll == XYLEM_COLL_REDUCE && job.rank != args->root)
        return;
    MUST(device_copy(device, other, args->recv, reduction->bytes));
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
        kernel(host, host, next, args->count);
    }
    REQUIRE(memcmp(host, other, reduction->bytes) == 0,
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

/* ---- a late rank ---- */

/* One call; all numbers are right where there is a result. */
static void call(xylem_coll_t coll, int32_t *send, int32_t *recv,
                 uint32_t round)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    int32_t *numbers = job_memory(COUNT_MAX * sizeof *numbers), is;
    int is_bcast = coll == XYLEM_COLL_BCAST;
    xylem_request_t *request;
    uint32_t i;

    for (i = 0; i < COUNT_MAX; i++)
        numbers[i] = (int32_t)(i + job.rank + round);
    MUST(device_copy(device, is_bcast ? recv : send, numbers,
                     COUNT_MAX * sizeof *numbers));
    args.coll = coll;
    args.send = is_bcast ? NULL : send;
    args.recv = recv;
    args.count = COUNT_MAX;
    args.type = XYLEM_INT32;
    args.op = is_bcast ? args.op : XYLEM_SUM;
    args.algorithm = plans[2];
    MUST(xylem_coll_start(job.world, &args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    if (is_bcast || job.rank == 0) {
        MUST(device_copy(device, numbers, recv, COUNT_MAX * sizeof *numbers));
        for (i = 0; i < COUNT_MAX; i++) {
            is = (int32_t)(is_bcast ? i + round
                                    : job.ranks * (i + round) +
                                          job.ranks * (job.ranks - 1) / 2);
            REQUIRE(numbers[i] == is, "round %u: wrong at %u", round, i);
        }
    }
    free(numbers);
}

/* Ranks 0 ... ranks / 2 - 1 are on one node, whose first is the root. The first
 * rank of a node leads it. */
static void late(uint32_t rounds)
{
    const uint32_t half = job.ranks / 2;
    const uint32_t early[2] = {1, half + 1},
                   last[2] = {job.ranks - 1, half - 1};
    int32_t *send, *recv;
    uint32_t round, i;
    xylem_team_t *pair[2];

    REQUIRE(half >= 3, "needs three ranks on each of two nodes");
    for (i = 0; i < 2; i++) {
        const uint32_t both[2] = {early[i], last[i]};
        MUST(xylem_team_subset(job.world, both, 2, &pair[i]));
    }
    MUST(device_take(device, COUNT_MAX * sizeof *send, (void **)(void *)&send));
    MUST(device_take(device, COUNT_MAX * sizeof *recv, (void **)(void *)&recv));
    /* Ranks learn which GPUs they reach. */
    call(XYLEM_COLL_REDUCE, send, recv, 0);
    MUST(xylem_barrier(job.world));
    for (round = 1; round <= rounds; round++) {
        i = round % 2;
        if (job.rank == last[i])
            MUST(xylem_barrier(pair[i]));
        call(round % 4 < 2 ? XYLEM_COLL_REDUCE : XYLEM_COLL_BCAST, send, recv,
             round);
        if (job.rank == early[i])
            MUST(xylem_barrier(pair[i]));
        MUST(xylem_barrier(job.world));
    }
    for (i = 0; i < 2; i++)
        if (pair[i] != NULL)
            MUST(xylem_team_destroy(pair[i]));
    device_give(device, send);
    device_give(device, recv);
}

int main(int argc, char **argv)
{
    uint32_t number;

    REQUIRE(argc == 3, "usage: device_levels values|mixed|late NUMBER");
    number = (uint32_t)strtoul(argv[2], NULL, 10);
    job_begin(&job);
    if (device_open(job.rank, &device) != XYLEM_OK)
        return 77;
    is_mixed = strcmp(argv[1], "mixed") == 0;
    if (strcmp(argv[1], "late") == 0)
        late(number);
    else
        values(number);
    device_close(device);
    job_end(&job);
    return 0;
}
