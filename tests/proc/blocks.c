/* A kernel on every rank, whose blocks communicate from inside by nothing but
 * xylem_device.h:
 *
 *   blocks ROUNDS own|shared [VICTIM]
 *
 * In each round every block sends a message to the same block of the next rank,
 * then all blocks of all ranks meet in a barrier, add up in an allreduce that
 * the last block starts, and fill a broadcast tile by tile, in any order. own:
 * each block has a queue of its own. shared: all have one, of four records.
 *
 *   blocks ROUNDS storm
 *
 * Every block counts up 1,000 triggers in each round, in an order of its own,
 * by one queue of 16 records; half of the triggers are bound while it does. No
 * count is lost or doubled.
 *
 * The victim, if any, is killed in the midst. The others' blocks all end with
 * XYLEM_ERR_PROC_FAILED, and each of these ranks prints a line. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/proc/blocks.h"
#include "tests/proc/job.h"

enum { BOUND_S = 100 /* of the whole process */ };

typedef struct kernel {
    job_t *job;
    uint32_t victim;
    inside_t *inside;
    xylem_team_t *teams[TAGS];
    xylem_request_t *requests[TAGS];
    xylem_trigger_t *triggers[STORM_TAGS];
    xylem_proxy_t *proxies[BLOCKS];
} kernel_t;

/* A request on a team of its own, as blocks begin them in any order. */
static void add_request(kernel_t *kernel, enum tag tag,
                        const xylem_coll_args_t *args)
{
    xylem_trigger_args_t trigger = {.struct_bytes = sizeof trigger,
                                    .action = XYLEM_TRIGGER_START,
                                    .word = &kernel->inside->words[tag]};

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
                                 .send = kernel->inside->sent[b],
                                 .recv = kernel->inside->received[b],
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
                                    .word = &kernel->inside->words[FILL]};

    add_request(kernel, BARRIER, &args);
    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = &kernel->inside->mine;
    args.recv = &kernel->inside->sum;
    args.count = 1;
    args.type = XYLEM_UINT64;
    add_request(kernel, ADD, &args);
    args = (xylem_coll_args_t){.struct_bytes = sizeof args,
                               .coll = XYLEM_COLL_BCAST,
                               .flags = XYLEM_FLAG_PARTS,
                               .recv = kernel->inside->tiles,
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

static xylem_proxy_t *queue_create(const kernel_t *kernel, uint32_t records,
                                   uint32_t tags)
{
    xylem_proxy_args_t args = {
        .struct_bytes = sizeof args, .records = records, .tags = tags};
    xylem_proxy_t *proxy;

    args.memory = blocks_memory(xylem_proxy_bytes(records));
    args.places = blocks_places();
    MUST(xylem_proxy_create(kernel->job->context, &args, &proxy));
    MUST(xylem_proxy_arm(proxy, 1));
    return proxy;
}

static void hand_queue(const kernel_t *kernel, uint32_t b, xylem_proxy_t *proxy)
{
    kernel->inside->queues[b].struct_bytes = sizeof(xylem_device_queue_t);
    MUST(xylem_proxy_queue(proxy, &kernel->inside->queues[b]));
}

static void add_queues(kernel_t *kernel, int is_shared)
{
    uint32_t b, tag;

    for (b = 0; b < BLOCKS; b++) {
        if (b == 0 || !is_shared) {
            kernel->proxies[b] = queue_create(kernel, is_shared ? 4 : 64, TAGS);
            for (tag = 0; tag < TAGS; tag++)
                if (kernel->triggers[tag] != NULL)
                    MUST(xylem_proxy_bind(kernel->proxies[b], tag,
                                          kernel->triggers[tag]));
        }
        hand_queue(kernel, b, kernel->proxies[is_shared ? 0 : b]);
    }
}

static void destroy(kernel_t *kernel)
{
    uint32_t b, tag;

    for (b = 0; b < BLOCKS; b++)
        MUST(xylem_proxy_destroy(kernel->proxies[b]));
    for (tag = 0; tag < STORM_TAGS; tag++)
        MUST(xylem_trigger_destroy(kernel->triggers[tag]));
    for (tag = 0; tag < TAGS; tag++) {
        MUST(xylem_request_free(kernel->requests[tag]));
        MUST(xylem_team_destroy(kernel->teams[tag]));
    }
}

/* Also the victim's peers progress until their blocks have ended. */
static void progress(const kernel_t *kernel)
{
    while (blocks_run()) {
        if (__atomic_load_n(&kernel->inside->stopped, __ATOMIC_RELAXED) != 0)
            kill(getpid(), SIGKILL);
        if (xylem_progress(kernel->job->context) == 0)
            sched_yield();
    }
    blocks_end();
}

static void check_blocks(const kernel_t *kernel)
{
    int expected =
        kernel->victim < kernel->job->ranks ? XYLEM_ERR_PROC_FAILED : XYLEM_OK;
    uint32_t b;

    for (b = 0; b < BLOCKS; b++) {
        REQUIRE(kernel->inside->statuses[b] == expected,
                "block %u ends with %s", b,
                xylem_status_name((xylem_status_t)kernel->inside->statuses[b]));
        REQUIRE(kernel->inside->wrong[b] == 0, "block %u: %u values are wrong",
                b, kernel->inside->wrong[b]);
    }
}

static void bind_storm(const kernel_t *kernel, uint32_t first)
{
    uint32_t tag;

    for (tag = first; tag < STORM_TAGS; tag += 2)
        MUST(xylem_proxy_bind(kernel->proxies[0], tag, kernel->triggers[tag]));
}

static void run_storm(kernel_t *kernel)
{
    inside_t *inside = kernel->inside;
    xylem_trigger_args_t args = {.struct_bytes = sizeof args,
                                 .threshold = BLOCKS};
    uint32_t tag, b;

    inside->is_storm = 1;
    for (tag = 0; tag < STORM_TAGS; tag++) {
        args.word = &inside->words[tag];
        MUST(xylem_trigger_create(kernel->job->context, &args,
                                  &kernel->triggers[tag]));
    }
    kernel->proxies[0] = queue_create(kernel, 16, STORM_TAGS);
    for (b = 0; b < BLOCKS; b++)
        hand_queue(kernel, b, kernel->proxies[0]);
    bind_storm(kernel, 0);
    blocks_begin(inside);
    for (b = 0; b < 100 && blocks_run(); b++)
        (void)xylem_progress(kernel->job->context);
    bind_storm(kernel, 1); /* their first counts have come */
    progress(kernel);
    while (xylem_progress(kernel->job->context) != 0)
        ;
    for (tag = 0; tag < STORM_TAGS; tag++)
        REQUIRE(XYLEM_WORD_TIMES(__atomic_load_n(
                    &inside->words[tag], __ATOMIC_ACQUIRE)) == inside->rounds,
                "trigger %u: fired %llu times", tag,
                (unsigned long long)XYLEM_WORD_TIMES(inside->words[tag]));
}

static void run(kernel_t *kernel, int is_shared)
{
    add_messages(kernel);
    add_collectives(kernel);
    add_queues(kernel, is_shared);
    if (kernel->job->rank == kernel->victim)
        kernel->inside->victim_round = kernel->inside->rounds / 2;
    blocks_begin(kernel->inside);
    progress(kernel);
}

int main(int argc, char **argv)
{
    static kernel_t kernel;
    job_t job;

    if (argc < 3) {
        fputs("usage: blocks ROUNDS own|shared|storm [VICTIM]\n", stderr);
        return 2;
    }
    alarm(BOUND_S);
    job_begin(&job);
    kernel.job = &job;
    kernel.inside = blocks_memory(sizeof *kernel.inside);
    kernel.inside->rank = job.rank;
    kernel.inside->ranks = job.ranks;
    kernel.inside->rounds = (uint32_t)atoi(argv[1]);
    kernel.victim = argc > 3 ? (uint32_t)atoi(argv[3]) : UINT32_MAX;
    if (strcmp(argv[2], "storm") == 0)
        run_storm(&kernel);
    else
        run(&kernel, strcmp(argv[2], "shared") == 0);
    check_blocks(&kernel);
    destroy(&kernel);
    job_end(&job);
    if (kernel.victim != UINT32_MAX)
        puts("right");
    return 0;
}
