/* A kernel on every rank, whose blocks are threads, and which communicates from
 * inside by nothing but xylem_device.h:
 *
 *   blocks ROUNDS own|shared [VICTIM]
 *
 * In each round every block sends a message to the same block of the next rank,
 * then all blocks of all ranks meet in a barrier, add up in an allreduce that
 * the last block starts, and fill a broadcast tile by tile, in any order. own:
 * each block has a queue of its own. shared: all have one, of four records.
 *
 * The victim, if any, is killed in the midst. The others' blocks all end with
 * XYLEM_ERR_PROC_FAILED, and each of these ranks prints a line. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "include/xylem_device.h"
#include "tests/proc/job.h"

enum {
    BLOCKS = 4,
    BOUND_S = 100, /* of the whole process */
    MESSAGE = 64,
    TILE = 2048, /* elements; of the broadcast each block fills some */
    TILES = 2 * BLOCKS,
    TRIES = 64
};

/* What is behind each tag; every block has a message. */
enum tag { BARRIER, ADD, FILL, FILL_START, MESSAGES, TAGS = MESSAGES + BLOCKS };

typedef struct kernel {
    job_t *job;
    uint32_t rounds, victim;
    xylem_team_t *teams[TAGS];
    xylem_request_t *requests[TAGS];
    xylem_trigger_t *triggers[TAGS];
    _Alignas(64) uint64_t words[TAGS]; /* FILL: how often the bcast was done */
    xylem_proxy_t *proxies[BLOCKS];
    xylem_device_counter_t arrived, added;
    uint64_t sent[BLOCKS][MESSAGE], received[BLOCKS][MESSAGE];
    uint64_t mine, sum;
    uint64_t tiles[TILES * TILE];
    _Atomic uint32_t running;
} kernel_t;

typedef struct block {
    kernel_t *kernel;
    uint32_t number;
    pthread_t thread;
    xylem_device_queue_t queue;
    int status;
} block_t;

/* ---- inside ---- */

static int post(const block_t *block, uint32_t tag, uint32_t index)
{
    int status;

    while ((status = xylem_device_block_post(&block->queue, tag, index, 1,
                                             TRIES)) == XYLEM_ERR_TIMED_OUT)
        sched_yield();
    return status;
}

static int wait_for(const block_t *block, enum tag tag, uint64_t times)
{
    int status;

    while ((status = xylem_device_block_wait(&block->kernel->words[tag], times,
                                             TRIES)) == XYLEM_ERR_TIMED_OUT)
        sched_yield();
    return status;
}

/* The last block of the rank begins it, and all wait for its end. */
static int run_together(const block_t *block, xylem_device_counter_t *counter,
                        enum tag tag, uint64_t times)
{
    int status =
        xylem_device_block_count(&block->queue, counter, 1, BLOCKS, tag, 0, 0);

    if (status == XYLEM_ERR_TIMED_OUT) /* this block is the last */
        status = post(block, tag, 0);
    return status == XYLEM_OK ? wait_for(block, tag, times) : status;
}

static int send_message(const block_t *block, uint64_t round)
{
    kernel_t *kernel = block->kernel;
    uint32_t i, b = block->number;
    uint32_t from =
        (kernel->job->rank + kernel->job->ranks - 1) % kernel->job->ranks;
    int status;

    for (i = 0; i < MESSAGE; i++)
        kernel->sent[b][i] = round * 1000 + kernel->job->rank + i;
    status = post(block, MESSAGES + b, 0);
    if (status == XYLEM_OK)
        status = wait_for(block, MESSAGES + b, round);
    for (i = 0; status == XYLEM_OK && i < MESSAGE; i++)
        REQUIRE(kernel->received[b][i] == round * 1000 + from + i,
                "block %u: a message is wrong in round %llu", b,
                (unsigned long long)round);
    return status;
}

/* Two tiles each, those with the highest numbers first. */
static int fill(const block_t *block, uint64_t round)
{
    kernel_t *kernel = block->kernel;
    uint64_t i, tile, other;
    int status = XYLEM_OK;

    if (block->number == 0)
        status = post(block, FILL_START, 0);
    for (other = 0; other < TILES / BLOCKS && status == XYLEM_OK; other++) {
        tile = TILES - 1 - (other * BLOCKS + block->number);
        if (kernel->job->rank != 0)
            continue;
        for (i = 0; i < TILE; i++)
            kernel->tiles[tile * TILE + i] = round + tile * TILE + i;
        status = post(block, FILL, (uint32_t)tile);
    }
    if (status == XYLEM_OK)
        status = wait_for(block, FILL_START, round);
    for (i = block->number; status == XYLEM_OK && i < TILES * TILE; i += BLOCKS)
        REQUIRE(kernel->tiles[i] == round + i, "element %llu is wrong",
                (unsigned long long)i);
    return status;
}

static void *block_main(void *arg)
{
    block_t *block = arg;
    kernel_t *kernel = block->kernel;
    uint64_t ranks = kernel->job->ranks, round;

    for (round = 1; round <= kernel->rounds && block->status == XYLEM_OK;
         round++) {
        if (kernel->job->rank == kernel->victim && block->number == 1 &&
            round == kernel->rounds / 2)
            kill(getpid(), SIGKILL);
        block->status = send_message(block, round);
        if (block->number == 0)
            kernel->mine = round + kernel->job->rank;
        if (block->status == XYLEM_OK)
            block->status =
                run_together(block, &kernel->arrived, BARRIER, round);
        if (block->status == XYLEM_OK)
            block->status = run_together(block, &kernel->added, ADD, round);
        if (block->status == XYLEM_OK)
            REQUIRE(kernel->sum == ranks * round + ranks * (ranks - 1) / 2,
                    "the sum is wrong in round %llu",
                    (unsigned long long)round);
        if (block->status == XYLEM_OK)
            block->status = fill(block, round);
    }
    atomic_fetch_sub(&kernel->running, 1);
    return NULL;
}

/* ---- outside ---- */

/* A request on a team of its own, as blocks begin them in any order. */
static void add_request(kernel_t *kernel, enum tag tag,
                        const xylem_coll_args_t *args)
{
    xylem_trigger_args_t trigger = {.struct_bytes = sizeof trigger,
                                    .action = XYLEM_TRIGGER_START,
                                    .word = &kernel->words[tag]};

    MUST(xylem_team_dup(kernel->job->world, &kernel->teams[tag]));
    MUST(xylem_coll_init(kernel->teams[tag], args, &kernel->requests[tag]));
    trigger.request = kernel->requests[tag];
    MUST(xylem_trigger_create(kernel->job->context, &trigger,
                              &kernel->triggers[tag]));
}

static void add_messages(kernel_t *kernel)
{
    uint32_t ranks = kernel->job->ranks, b;
    uint32_t next = (kernel->job->rank + 1) % ranks;
    uint32_t previous = (kernel->job->rank + ranks - 1) % ranks;

    for (b = 0; b < BLOCKS; b++)
        add_request(
            kernel, MESSAGES + b,
            &(xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                                 .coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                                 .send = kernel->sent[b],
                                 .recv = kernel->received[b],
                                 .count = MESSAGE,
                                 .type = XYLEM_UINT64,
                                 .destinations = &next,
                                 .sources = &previous,
                                 .destination_count = 1,
                                 .source_count = 1});
}

static void add_collectives(kernel_t *kernel)
{
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BARRIER};
    xylem_trigger_args_t trigger = {.struct_bytes = sizeof trigger,
                                    .action = XYLEM_TRIGGER_SEGMENTS,
                                    .word = &kernel->words[FILL]};

    add_request(kernel, BARRIER, &args);
    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = &kernel->mine;
    args.recv = &kernel->sum;
    args.count = 1;
    args.type = XYLEM_UINT64;
    add_request(kernel, ADD, &args);
    args = (xylem_coll_args_t){.struct_bytes = sizeof args,
                               .coll = XYLEM_COLL_BCAST,
                               .flags = XYLEM_FLAG_PARTS,
                               .recv = kernel->tiles,
                               .count = (size_t)TILES * TILE,
                               .type = XYLEM_UINT64,
                               .segment_bytes = TILE * sizeof(uint64_t),
                               .algorithm = "binary"};
    add_request(kernel, FILL_START, &args);
    if (kernel->job->rank != 0)
        return;
    trigger.request = kernel->requests[FILL_START];
    trigger.threshold = 1;
    MUST(xylem_trigger_create(kernel->job->context, &trigger,
                              &kernel->triggers[FILL]));
}

/* Queues of the library's for all, or one of the program's own. */
static void add_queues(kernel_t *kernel, block_t *blocks, int is_shared)
{
    static _Alignas(64) char memory[1024];
    static _Alignas(16) xylem_device_places_t places;
    xylem_proxy_args_t args = {.struct_bytes = sizeof args, .tags = TAGS};
    uint32_t b, tag, queues = is_shared ? 1 : BLOCKS;

    if (is_shared) {
        args.records = 4;
        args.memory = memory;
        args.places = &places;
        REQUIRE(xylem_proxy_bytes(4) <= sizeof memory, "a queue is too large");
    }
    for (b = 0; b < queues; b++) {
        MUST(xylem_proxy_create(kernel->job->context, &args,
                                &kernel->proxies[b]));
        for (tag = 0; tag < TAGS; tag++)
            if (kernel->triggers[tag] != NULL)
                MUST(xylem_proxy_bind(kernel->proxies[b], tag,
                                      kernel->triggers[tag]));
        MUST(xylem_proxy_arm(kernel->proxies[b], 1));
    }
    for (b = 0; b < BLOCKS; b++) {
        blocks[b] =
            (block_t){.kernel = kernel,
                      .number = b,
                      .queue = {.struct_bytes = sizeof(xylem_device_queue_t)}};
        MUST(xylem_proxy_queue(kernel->proxies[is_shared ? 0 : b],
                               &blocks[b].queue));
    }
}

static void destroy(kernel_t *kernel)
{
    uint32_t b, tag;

    for (b = 0; b < BLOCKS; b++)
        MUST(xylem_proxy_destroy(kernel->proxies[b]));
    for (tag = 0; tag < TAGS; tag++)
        MUST(xylem_trigger_destroy(kernel->triggers[tag]));
    for (tag = 0; tag < TAGS; tag++) {
        MUST(xylem_request_free(kernel->requests[tag]));
        MUST(xylem_team_destroy(kernel->teams[tag]));
    }
}

/* Also the victim's peers progress until their blocks have ended. */
static void run(kernel_t *kernel, block_t *blocks)
{
    uint32_t b;

    atomic_store(&kernel->running, BLOCKS);
    for (b = 0; b < BLOCKS; b++)
        REQUIRE(pthread_create(&blocks[b].thread, NULL, block_main,
                               &blocks[b]) == 0,
                "cannot start a thread");
    while (atomic_load(&kernel->running) != 0)
        if (xylem_progress(kernel->job->context) == 0)
            sched_yield();
    for (b = 0; b < BLOCKS; b++) {
        pthread_join(blocks[b].thread, NULL);
        REQUIRE(blocks[b].status == (kernel->victim < kernel->job->ranks
                                         ? XYLEM_ERR_PROC_FAILED
                                         : XYLEM_OK),
                "block %u ends with %s", b,
                xylem_status_name((xylem_status_t)blocks[b].status));
    }
}

int main(int argc, char **argv)
{
    static kernel_t kernel;
    block_t blocks[BLOCKS];
    job_t job;

    if (argc < 3) {
        fputs("usage: blocks ROUNDS own|shared [VICTIM]\n", stderr);
        return 2;
    }
    alarm(BOUND_S);
    job_begin(&job);
    kernel.job = &job;
    kernel.rounds = (uint32_t)atoi(argv[1]);
    kernel.victim = argc > 3 ? (uint32_t)atoi(argv[3]) : UINT32_MAX;
    add_messages(&kernel);
    add_collectives(&kernel);
    add_queues(&kernel, blocks, strcmp(argv[2], "shared") == 0);
    run(&kernel, blocks);
    destroy(&kernel);
    job_end(&job);
    if (kernel.victim != UINT32_MAX)
        puts("right");
    return 0;
}
