/* Memory of xylem_alloc: sizes, use in collectives, many threads, misuse, and
 * what is left to the context. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/job.h"

enum {
    THREADS = 3,
    ROUNDS = 200,
    ELEMENTS_MAX = 300000,
    SHARED_ROUNDS = 20,
    SHARED_ELEMENTS = 256 << 10 /* 1 MiB: read where it lies */
};

static void refused(xylem_status_t status, xylem_status_t wanted,
                    const char *word)
{
    REQUIRE(status == wanted, "%s in place of %s", xylem_status_name(status),
            xylem_status_name(wanted));
    REQUIRE(strstr(xylem_last_error(), word) != NULL, "'%s' says nothing of %s",
            xylem_last_error(), word);
}

static void misuse(const job_t *job)
{
    void *memory = NULL;
    char own[64];

    refused(xylem_alloc(job->context, 8, NULL), XYLEM_ERR_INVALID_ARG,
            "memory_out");
    refused(xylem_alloc(NULL, 8, &memory), XYLEM_ERR_INVALID_HANDLE, "NULL");
    refused(xylem_alloc(job->context, SIZE_MAX, &memory), XYLEM_ERR_NO_MEMORY,
            "bytes");
    REQUIRE(memory == NULL, "an output was written");
    MUST(xylem_free(job->context, NULL));
    refused(xylem_free(job->context, own), XYLEM_ERR_INVALID_ARG, "freed");
    MUST(xylem_alloc(job->context, 1000, &memory));
    refused(xylem_free(job->context, (char *)memory + 64),
            XYLEM_ERR_INVALID_ARG, "freed");
    refused(xylem_free(NULL, memory), XYLEM_ERR_INVALID_HANDLE, "NULL");
    MUST(xylem_free(job->context, memory));
    refused(xylem_free(job->context, memory), XYLEM_ERR_INVALID_ARG, "freed");
}

static void sizes(const job_t *job)
{
    static const size_t all[] = {0, 1, 64, 65, 4097, 2 << 20, 70 << 20};
    void *memory[sizeof all / sizeof all[0]];
    size_t i, j;

    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        MUST(xylem_alloc(job->context, all[i], &memory[i]));
        REQUIRE((uintptr_t)memory[i] % (all[i] >= 2 << 20 ? 4096 : 64) == 0,
                "%zu bytes at %p", all[i], memory[i]);
        memset(memory[i], (int)i, all[i]);
    }
    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (j = 0; j < all[i]; j += 61)
            REQUIRE(((char *)memory[i])[j] == (char)i, "byte %zu", j);
        if (i % 2 == 0) /* the others are left to the context */
            MUST(xylem_free(job->context, memory[i]));
    }
}

static void collectives(const job_t *job)
{
    static const size_t counts[] = {1, 1000, ELEMENTS_MAX};
    void *in, *out;
    size_t c, i;

    for (c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        MUST(xylem_alloc(job->context, counts[c] * sizeof(uint32_t), &in));
        MUST(xylem_alloc(job->context, counts[c] * sizeof(uint32_t), &out));
        for (i = 0; i < counts[c]; i++)
            ((uint32_t *)in)[i] = job->rank + (uint32_t)i;
        MUST(xylem_allreduce(job->world, in, out, counts[c], XYLEM_UINT32,
                             XYLEM_MAX));
        for (i = 0; i < counts[c]; i++)
            REQUIRE(((uint32_t *)out)[i] == job->ranks - 1 + i, "%zu is %u", i,
                    ((uint32_t *)out)[i]);
        MUST(xylem_bcast(job->world, in, counts[c], XYLEM_UINT32, 0));
        for (i = 0; i < counts[c]; i++)
            REQUIRE(((uint32_t *)in)[i] == i, "%zu is %u", i,
                    ((uint32_t *)in)[i]);
        MUST(xylem_free(job->context, in));
        MUST(xylem_free(job->context, out));
    }
}

/* ---- read where it lies ---- */

static int is_on_board(void)
{
    const char *shm = getenv("XYLEM_SHM");

    return shm == NULL || strcmp(shm, "off") != 0;
}

typedef struct shared {
    uint32_t *in, *out; /* SHARED_ELEMENTS, and that of all ranks */
} shared_t;

static uint32_t value(uint32_t rank, uint32_t round, size_t i)
{
    return rank * 7919 + round * 31 + (uint32_t)i;
}

static void shared_fill(shared_t *shared, uint32_t rank, uint32_t round)
{
    size_t i;

    for (i = 0; i < SHARED_ELEMENTS; i++)
        shared->in[i] = value(rank, round, i);
}

/* What was sent is the caller's again, whoever is still behind. */
static void shared_spoil(shared_t *shared)
{
    memset(shared->in, 0xee, SHARED_ELEMENTS * sizeof *shared->in);
}

static void shared_bcast(const job_t *job, shared_t *shared, uint32_t round)
{
    uint32_t root = round % job->ranks;
    size_t i;

    shared_fill(shared, job->rank, round);
    MUST(xylem_bcast(job->world, shared->in, SHARED_ELEMENTS, XYLEM_UINT32,
                     root));
    if (job->rank != root)
        for (i = 0; i < SHARED_ELEMENTS; i++)
            REQUIRE(shared->in[i] == value(root, round, i), "bcast: %zu is %u",
                    i, shared->in[i]);
    shared_spoil(shared);
}

static void shared_sum(const job_t *job, shared_t *shared, uint32_t round)
{
    uint32_t rank, sum;
    size_t i;

    shared_fill(shared, job->rank, round);
    MUST(xylem_allreduce(job->world, shared->in, shared->out, SHARED_ELEMENTS,
                         XYLEM_UINT32, XYLEM_SUM));
    shared_spoil(shared);
    for (i = 0; i < SHARED_ELEMENTS; i++) {
        for (sum = 0, rank = 0; rank < job->ranks; rank++)
            sum += value(rank, round, i);
        REQUIRE(shared->out[i] == sum, "allreduce: %zu is %u", i,
                shared->out[i]);
    }
}

/* If `apart` is not NULL, it has all ranks but the root, and its first rank
 * calls only when the others have left the reduce. */
static void shared_reduce(const job_t *job, shared_t *shared,
                          xylem_team_t *apart, uint32_t root, uint32_t round)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    uint32_t rank, sum;
    size_t i;

    args.coll = XYLEM_COLL_REDUCE;
    args.root = root;
    args.send = shared->in;
    args.recv = shared->out;
    args.count = SHARED_ELEMENTS;
    args.type = XYLEM_UINT32;
    args.op = XYLEM_SUM;
    args.algorithm = is_on_board() && job->ranks > 1 ? "node_pairs" : NULL;
    shared_fill(shared, job->rank, round);
    if (apart != NULL && xylem_team_rank(apart) == 0)
        MUST(xylem_barrier(apart));
    MUST(xylem_coll_run(job->world, &args, NULL, NULL));
    shared_spoil(shared);
    if (apart != NULL && xylem_team_rank(apart) != 0)
        MUST(xylem_barrier(apart));
    for (i = 0; job->rank == root && i < SHARED_ELEMENTS; i++) {
        for (sum = 0, rank = 0; rank < job->ranks; rank++)
            sum += value(rank, round, i);
        REQUIRE(shared->out[i] == sum, "reduce: %zu is %u", i, shared->out[i]);
    }
}

static void shared_late(const job_t *job, shared_t *shared, uint32_t round)
{
    uint32_t root = round % job->ranks;
    xylem_team_t *apart = NULL;

    MUST(xylem_team_split(job->world, job->rank == root ? XYLEM_COLOR_NONE : 0,
                          (job->rank + round / 2) % job->ranks, &apart));
    shared_reduce(job, shared, apart, root, round);
    if (apart != NULL)
        MUST(xylem_team_destroy(apart));
}

static void shared_blocks(const job_t *job, shared_t *shared, uint32_t round)
{
    size_t i, all = (size_t)job->ranks * SHARED_ELEMENTS;

    shared_fill(shared, job->rank, round);
    MUST(xylem_allgather(job->world, shared->in, shared->out, SHARED_ELEMENTS,
                         XYLEM_UINT32));
    shared_spoil(shared);
    for (i = 0; i < all; i++)
        REQUIRE(shared->out[i] == value((uint32_t)(i / SHARED_ELEMENTS), round,
                                        i % SHARED_ELEMENTS),
                "allgather: %zu is %u", i, shared->out[i]);
}

/* A piece of each buffer to each rank. */
static void shared_exchange(const job_t *job, shared_t *shared, uint32_t round)
{
    size_t i, block = SHARED_ELEMENTS / job->ranks;
    uint32_t rank, sum;

    shared_fill(shared, job->rank, round);
    MUST(xylem_alltoall(job->world, shared->in, shared->out, block,
                        XYLEM_UINT32));
    shared_spoil(shared);
    for (i = 0; i < block * job->ranks; i++)
        REQUIRE(shared->out[i] == value((uint32_t)(i / block), round,
                                        job->rank * block + i % block),
                "alltoall: %zu is %u", i, shared->out[i]);
    shared_fill(shared, job->rank, round);
    MUST(xylem_reduce_scatter_block(job->world, shared->in, shared->out, block,
                                    XYLEM_UINT32, XYLEM_SUM));
    shared_spoil(shared);
    for (i = 0; i < block; i++) {
        for (sum = 0, rank = 0; rank < job->ranks; rank++)
            sum += value(rank, round, job->rank * block + i);
        REQUIRE(shared->out[i] == sum, "reduce_scatter_block: %zu is %u", i,
                shared->out[i]);
    }
}

/* The same to one rank, and from one. */
static void shared_root(const job_t *job, shared_t *shared, uint32_t round)
{
    size_t i, block = SHARED_ELEMENTS / job->ranks;
    uint32_t root = round % job->ranks;

    shared_fill(shared, job->rank, round);
    MUST(xylem_gather(job->world, shared->in, shared->out, SHARED_ELEMENTS,
                      XYLEM_UINT32, root));
    shared_spoil(shared);
    for (i = 0; job->rank == root && i < SHARED_ELEMENTS * job->ranks; i++)
        REQUIRE(shared->out[i] == value((uint32_t)(i / SHARED_ELEMENTS), round,
                                        i % SHARED_ELEMENTS),
                "gather: %zu is %u", i, shared->out[i]);
    shared_fill(shared, job->rank, round);
    MUST(xylem_scatter(job->world, shared->in, shared->out, block, XYLEM_UINT32,
                       root));
    shared_spoil(shared);
    for (i = 0; i < block; i++)
        REQUIRE(shared->out[i] == value(root, round, job->rank * block + i),
                "scatter: %zu is %u", i, shared->out[i]);
}

/* Every other round some ranks have memory of their own. */
static void where_it_lies(const job_t *job)
{
    const size_t bytes = SHARED_ELEMENTS * sizeof(uint32_t);
    shared_t shared;
    void *in, *out, *own = malloc(bytes);
    uint32_t round;

    REQUIRE(own != NULL, "no memory");
    MUST(xylem_alloc(job->context, bytes, &in));
    MUST(xylem_alloc(job->context, bytes * job->ranks, &out));
    for (round = 0; round < SHARED_ROUNDS; round++) {
        shared.in = (round + job->rank) % 4 == 3 ? own : in;
        shared.out = out;
        shared_bcast(job, &shared, round);
        shared_sum(job, &shared, round);
        shared_blocks(job, &shared, round);
        shared_exchange(job, &shared, round);
        shared_root(job, &shared, round);
        shared_reduce(job, &shared, NULL, round % job->ranks, round);
        /* Over the net a rank may have to wait for another. */
        if (is_on_board())
            shared_late(job, &shared, round);
    }
    MUST(xylem_free(job->context, in));
    MUST(xylem_free(job->context, out));
    free(own);
}

/* ---- threads ---- */

static void *alloc_and_free(void *arg)
{
    const job_t *job = arg;
    void *memory[8];
    int round, i;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < 8; i++) {
            MUST(xylem_alloc(job->context, (size_t)(i + round) * 17,
                             &memory[i]));
            memset(memory[i], i, (size_t)(i + round) * 17);
        }
        for (i = 0; i < 8; i++)
            MUST(xylem_free(job->context, memory[i]));
    }
    return NULL;
}

static void threads(job_t *job)
{
    pthread_t all[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&all[i], NULL, alloc_and_free, job) == 0,
                "no thread");
    collectives(job);
    for (i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

/* ---- sums of numbers that round ---- */

/* A sum by pairs of numbers in place, for all ranks or the root, in memory of
 * xylem_alloc on the ranks whose bits are in `allocated`. Returns owned memory
 * (free). */
static float *sum_of(const job_t *job, uint32_t allocated, xylem_coll_t coll)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    size_t bytes = SHARED_ELEMENTS * sizeof(float), i;
    float *own = malloc(bytes), *numbers = own;
    void *memory = NULL;
    uint64_t random = 1 + job->rank;

    REQUIRE(own != NULL, "no memory");
    if ((allocated >> job->rank & 1) != 0) {
        MUST(xylem_alloc(job->context, bytes, &memory));
        numbers = memory;
    }
    for (i = 0; i < SHARED_ELEMENTS; i++)
        numbers[i] = (float)job_random(&random) / 3.0F;
    args.coll = coll;
    args.root = coll == XYLEM_COLL_REDUCE ? job->ranks / 2 : 0;
    args.send = XYLEM_IN_PLACE;
    if (coll == XYLEM_COLL_REDUCE && job->rank != args.root)
        args.send = numbers;
    args.recv = numbers;
    args.count = SHARED_ELEMENTS;
    args.type = XYLEM_FLOAT32;
    args.op = XYLEM_SUM;
    args.algorithm = job->ranks > 1 ? "node_pairs" : NULL;
    MUST(xylem_coll_run(job->world, &args, NULL, NULL));
    if (memory != NULL)
        memcpy(own, memory, bytes);
    MUST(xylem_free(job->context, memory));
    return own;
}

/* The bits of a sum do not depend on whose numbers are read where they lie. */
static void same_bits(const job_t *job, xylem_coll_t coll)
{
    static const uint32_t allocated[] = {UINT32_MAX, 1, 2, 3, 6, 15, 0x6f};
    float *copied, *sum;
    size_t i;

    if (!is_on_board())
        return; /* there are no pairs */
    copied = sum_of(job, 0, coll);
    for (i = 0; i < sizeof allocated / sizeof allocated[0]; i++) {
        sum = sum_of(job, allocated[i], coll);
        REQUIRE(memcmp(sum, copied, SHARED_ELEMENTS * sizeof *sum) == 0,
                "the bits differ if ranks %x have memory of xylem_alloc",
                allocated[i]);
        free(sum);
    }
    free(copied);
}

int main(void)
{
    job_t job;

    job_begin(&job);
    misuse(&job);
    sizes(&job);
    collectives(&job);
    where_it_lies(&job);
    same_bits(&job, XYLEM_COLL_ALLREDUCE);
    same_bits(&job, XYLEM_COLL_REDUCE);
    threads(&job);
    job_end(&job);
    return 0;
}
