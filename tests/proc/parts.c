/* Modes with callbacks. callbacks: requests that restart and free themselves
 * from inside their callbacks, and operations that start others. parts: two
 * threads release the segments of the input, in random order, while the main
 * thread waits; every segment of a result is told once and final. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/data.h"
#include "tests/proc/modes.h"

/* ---- mode callbacks ---- */

typedef struct chain {
    job_t *job;
    xylem_request_t *request;
    _Atomic uint32_t left; /* starts that are still to come */
    _Atomic uint32_t singles;
    uint64_t value;
    uint64_t extra; /* the buffer of the operation started by callbacks */
    _Atomic int extra_is_busy;
} chain_t;

static void single_done(void *arg, xylem_status_t status)
{
    chain_t *chain = arg;

    MUST(status);
    atomic_store(&chain->extra_is_busy, 0);
    atomic_fetch_add(&chain->singles, 1);
}

/* Two operations under way on one team, both begun in this callback: every
 * rank begins them in the same order. */
static void chain_done(void *arg, xylem_status_t status)
{
    chain_t *chain = arg;
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .flags = XYLEM_FLAG_AUTOFREE,
                              .recv = &chain->extra,
                              .count = 1,
                              .type = XYLEM_UINT64,
                              .on_complete = single_done,
                              .arg = chain};
    uint32_t left = atomic_load(&chain->left);

    MUST(status);
    REQUIRE(chain->value == 1000 + left, "the callback found %llu, wanted %u",
            (unsigned long long)chain->value, 1000 + left);
    REQUIRE(xylem_request_wait(chain->request) == XYLEM_ERR_IN_CALLBACK,
            "a callback may wait");
    REQUIRE(xylem_bcast(chain->job->world, &chain->value, 1, XYLEM_UINT64, 0) ==
                XYLEM_ERR_IN_CALLBACK,
            "a callback may broadcast and wait");
    if (left % 8 == 0) {
        REQUIRE(!atomic_exchange(&chain->extra_is_busy, 1),
                "eight rounds did not end one broadcast");
        MUST(xylem_coll_start(chain->job->world, &args, NULL));
    }
    if (left == 1) {
        MUST(xylem_request_free(chain->request));
        chain->request = NULL;
        atomic_store(&chain->left, 0); /* last: the context may go now */
        return;
    }
    atomic_store(&chain->left, left - 1);
    if (chain->job->rank == 0)
        chain->value--;
    MUST(xylem_request_start(chain->request));
}

void mode_callbacks(job_t *job, uint32_t number)
{
    chain_t chain = {.job = job};
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BCAST,
                              .recv = &chain.value,
                              .count = 1,
                              .type = XYLEM_UINT64,
                              .on_complete = chain_done,
                              .arg = &chain};

    atomic_init(&chain.left, number);
    if (job->rank == 0)
        chain.value = 1000 + (uint64_t)number;
    MUST(xylem_coll_init(job->world, &args, &chain.request));
    MUST(xylem_request_start(chain.request));
    while (atomic_load(&chain.left) != 0 ||
           atomic_load(&chain.singles) != number / 8)
        xylem_progress(job->context);
}

/* ---- mode parts ---- */

enum {
    PARTS_BYTES = 300001,
    PARTS_SEGMENT_BYTES = 4096,
    PARTS_SEGMENTS_MAX = 128,
    PRODUCERS = 2
};

typedef struct stream {
    job_t *job;
    const data_kind_t *kind;
    xylem_coll_args_t args;
    xylem_request_t *request;
    uint64_t segments;
    size_t segment_bytes;
    char *data; /* expected result of a broadcast */
    uint32_t seed;
    unsigned told[PARTS_SEGMENTS_MAX];
    uint32_t completions;
} stream_t;

static int has_input(const stream_t *stream)
{
    return stream->args.coll == XYLEM_COLL_REDUCE ||
           stream->job->rank == stream->args.root;
}

static int has_result(const stream_t *stream)
{
    return stream->args.coll == XYLEM_COLL_BCAST ||
           stream->job->rank == stream->args.root;
}

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    stream_t *stream = arg;
    size_t total = stream->args.count * stream->kind->bytes;

    REQUIRE(segment < stream->segments, "segment %llu of %llu was told",
            (unsigned long long)segment, (unsigned long long)stream->segments);
    REQUIRE(offset == segment * stream->segment_bytes &&
                bytes == (segment + 1 < stream->segments ? stream->segment_bytes
                                                         : total - offset),
            "segment %llu lies at %zu with %zu bytes",
            (unsigned long long)segment, offset, bytes);
    REQUIRE(stream->completions == 0, "a segment was told after completion");
    stream->told[segment]++;
    if (stream->args.coll == XYLEM_COLL_BCAST)
        REQUIRE(memcmp((char *)stream->args.recv + offset,
                       stream->data + offset, bytes) == 0,
                "segment %llu was told before it was final",
                (unsigned long long)segment);
}

static void stream_done(void *arg, xylem_status_t status)
{
    stream_t *stream = arg;

    MUST(status);
    stream->completions++;
}

/* ---- producers ---- */

typedef struct producer {
    pthread_t thread;
    stream_t *stream;
    uint32_t number;
} producer_t;

/* Writes and releases its share of the segments in random order. */
static void *producer_main(void *arg)
{
    producer_t *producer = arg;
    stream_t *stream = producer->stream;
    int is_bcast = stream->args.coll == XYLEM_COLL_BCAST;
    char *input =
        is_bcast ? stream->args.recv : (char *)(uintptr_t)stream->args.send;
    uint64_t state = stream->seed * 10 + producer->number, segment;
    uint64_t first = job_random(&state) % stream->segments, i;
    size_t total = stream->args.count * stream->kind->bytes;

    for (i = 0; i < stream->segments; i++) {
        size_t offset, bytes;
        segment = (first + i) % stream->segments;
        if (segment % PRODUCERS != producer->number)
            continue;
        offset = segment * stream->segment_bytes;
        bytes = total - offset < stream->segment_bytes ? total - offset
                                                       : stream->segment_bytes;
        memcpy(input + offset, stream->data + offset, bytes);
        MUST(xylem_segment_ready(stream->request, segment));
    }
    return NULL;
}

static void produce(stream_t *stream)
{
    producer_t producers[PRODUCERS];
    uint32_t i;

    for (i = 0; i < PRODUCERS; i++) {
        producers[i] = (producer_t){.stream = stream, .number = i};
        REQUIRE(pthread_create(&producers[i].thread, NULL, producer_main,
                               &producers[i]) == 0,
                "cannot start a thread");
    }
    MUST(xylem_request_wait(stream->request));
    for (i = 0; i < PRODUCERS; i++)
        pthread_join(producers[i].thread, NULL);
}

static void stream_check(const stream_t *stream)
{
    const xylem_coll_args_t *args = &stream->args;
    size_t right = args->count;
    uint64_t i;

    REQUIRE(stream->completions == 1, "on_complete ran %u times",
            stream->completions);
    for (i = 0; i < stream->segments && has_result(stream); i++)
        REQUIRE(stream->told[i] == 1, "segment %llu was told %u times",
                (unsigned long long)i, stream->told[i]);
    if (args->coll == XYLEM_COLL_BCAST)
        right = data_check(stream->kind, args->recv, args->count, args->root,
                           stream->seed);
    else if (stream->job->rank == args->root)
        right = data_check_reduced(stream->kind, args->recv, args->count,
                                   stream->job->ranks, stream->seed);
    REQUIRE(right == args->count, "element %zu of %zu is wrong", right,
            args->count);
}

static void stream_run(stream_t *stream, uint32_t seed)
{
    int is_bcast = stream->args.coll == XYLEM_COLL_BCAST;

    stream->seed = seed;
    stream->completions = 0;
    memset(stream->told, 0, sizeof stream->told);
    data_write(stream->kind, stream->data, stream->args.count,
               is_bcast ? stream->args.root : stream->job->rank, seed);
    memset(stream->args.recv, 0, stream->args.count * stream->kind->bytes);
    MUST(xylem_request_start(stream->request));
    if (has_input(stream))
        produce(stream);
    else
        MUST(xylem_request_wait(stream->request));
    stream_check(stream);
}

static void stream_plan(stream_t *stream, xylem_coll_t coll, const char *tree,
                        uint32_t number)
{
    size_t count = PARTS_BYTES / stream->kind->bytes;
    size_t bytes = count * stream->kind->bytes;

    stream->data = job_memory(bytes);
    stream->args = (xylem_coll_args_t){.struct_bytes = sizeof stream->args,
                                       .coll = coll,
                                       .flags = XYLEM_FLAG_PARTS,
                                       .send = job_memory(bytes),
                                       .recv = job_memory(bytes),
                                       .count = count,
                                       .type = stream->kind->type,
                                       .op = stream->kind->op,
                                       .root = number % stream->job->ranks,
                                       .on_complete = stream_done,
                                       .on_segment = segment_told,
                                       .arg = stream,
                                       .segment_bytes = PARTS_SEGMENT_BYTES,
                                       .algorithm = tree};
    MUST(xylem_coll_init(stream->job->world, &stream->args, &stream->request));
    MUST(xylem_request_segments(stream->request, &stream->segments,
                                &stream->segment_bytes));
    REQUIRE(stream->segments <= PARTS_SEGMENTS_MAX &&
                stream->segments * stream->segment_bytes >= bytes,
            "%llu segments of %zu bytes", (unsigned long long)stream->segments,
            stream->segment_bytes);
}

void mode_parts(job_t *job, uint32_t number)
{
    static const char *const trees[] = {"chain", "knomial:2", "double",
                                        "inorder"};
    uint32_t plan, start;

    for (plan = 0; plan < 8; plan++) {
        stream_t stream = {.job = job, .kind = data_kind(plan % 3)};
        stream_plan(&stream, plan % 2 ? XYLEM_COLL_REDUCE : XYLEM_COLL_BCAST,
                    trees[plan / 2], plan);
        for (start = 0; start < number; start++)
            stream_run(&stream, plan * 1000 + start);
        MUST(xylem_request_free(stream.request));
        free(stream.data);
        free((void *)(uintptr_t)stream.args.send);
        free(stream.args.recv);
    }
}
