/* Mode blocks of `misuse`: what callers of the collectives with blocks, types
 * and algorithms do wrong, and that the team works as before. */
#include <stdio.h>
#include <string.h>

#include "tests/proc/misuse.h"

enum { RANKS_MAX = 8 };

/* Arguments that every rank may give. */
typedef struct frame {
    uint64_t send[2 * RANKS_MAX], recv[2 * RANKS_MAX];
    uint64_t ones[RANKS_MAX], displs[RANKS_MAX];
    xylem_type_t types[RANKS_MAX];
    xylem_coll_args_t good;
} frame_t;

#define REFUSED_AS(status, word, ...)                                          \
    do {                                                                       \
        xylem_coll_args_t bad = frame->good;                                   \
        __VA_ARGS__;                                                           \
        misuse_refused(__FILE__, __LINE__, job->world, &bad, status, word);    \
    } while (0)
#define REFUSED(word, ...) REFUSED_AS(XYLEM_ERR_INVALID_ARG, word, __VA_ARGS__)

static void frame_init(frame_t *frame)
{
    uint32_t i;

    *frame = (frame_t){0};
    for (i = 0; i < RANKS_MAX; i++) {
        frame->ones[i] = 1;
        frame->displs[i] = i;
        frame->types[i] = XYLEM_UINT64;
    }
    frame->good = (xylem_coll_args_t){.struct_bytes = sizeof frame->good,
                                      .send = frame->send,
                                      .recv = frame->recv,
                                      .count = 1,
                                      .type = XYLEM_UINT64,
                                      .op = XYLEM_SUM,
                                      .send_counts = frame->ones,
                                      .recv_counts = frame->ones,
                                      .send_displs = frame->displs,
                                      .recv_displs = frame->displs,
                                      .send_types = frame->types,
                                      .recv_types = frame->types};
}

static void bad_buffers(const job_t *job, frame_t *frame)
{
    static const xylem_coll_t all[] = {XYLEM_COLL_ALLREDUCE,
                                       XYLEM_COLL_ALLGATHER,
                                       XYLEM_COLL_ALLGATHERV,
                                       XYLEM_COLL_ALLTOALL,
                                       XYLEM_COLL_ALLTOALLV,
                                       XYLEM_COLL_REDUCE_SCATTER,
                                       XYLEM_COLL_SCAN,
                                       XYLEM_COLL_EXSCAN,
                                       XYLEM_COLL_REDUCE_SCATTER_BLOCK};
    uint32_t i;

    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        frame->good.coll = all[i];
        REFUSED("send buffer is NULL", bad.send = NULL);
        REFUSED("receive buffer is NULL", bad.recv = NULL);
        REFUSED("root of a scatter", bad.recv = XYLEM_IN_PLACE_RECV);
    }
    frame->good.coll = XYLEM_COLL_ALLGATHER;
    REFUSED("XYLEM_IN_PLACE", bad.send = bad.recv);
    frame->good.coll = XYLEM_COLL_BCAST;
    REFUSED("root of a scatter", bad.recv = XYLEM_IN_PLACE_RECV);
    frame->good.coll = XYLEM_COLL_SCATTER;
    REFUSED("receive buffer is NULL", bad.recv = NULL);
    REFUSED("cannot be the send buffer", bad.send = XYLEM_IN_PLACE);
    frame->good.coll = XYLEM_COLL_GATHER;
    REFUSED("send buffer is NULL", bad.send = NULL);
    if (job->rank == 0) {
        REFUSED("receive buffer is NULL", bad.recv = NULL);
    } else {
        REFUSED("for the root only", bad.send = XYLEM_IN_PLACE);
        REFUSED("root of a scatter", bad.coll = XYLEM_COLL_SCATTER,
                bad.recv = XYLEM_IN_PLACE_RECV);
    }
}

static void bad_arrays(const job_t *job, frame_t *frame)
{
    uint64_t huge[RANKS_MAX];
    uint32_t i;

    for (i = 0; i < RANKS_MAX; i++)
        huge[i] = UINT64_MAX / 8;
    frame->good.coll = XYLEM_COLL_ALLGATHERV;
    REFUSED("array recv_counts is NULL", bad.recv_counts = NULL);
    REFUSED("address space", bad.recv_counts = huge);
    REFUSED("address space", bad.recv_displs = huge);
    frame->good.coll = XYLEM_COLL_REDUCE_SCATTER;
    REFUSED("array recv_counts is NULL", bad.recv_counts = NULL);
    REFUSED("address space", bad.recv_counts = huge);
    frame->good.coll = XYLEM_COLL_ALLTOALLV;
    REFUSED("array recv_counts is NULL", bad.recv_counts = NULL);
    REFUSED("array send_counts is NULL", bad.send_counts = NULL);
    REFUSED("address space", bad.send_counts = huge);
    REFUSED("address space", bad.recv_displs = huge);
    frame->good.coll = XYLEM_COLL_ALLTOALLW;
    REFUSED("array send_types is NULL", bad.send_types = NULL);
    REFUSED("array recv_types is NULL", bad.recv_types = NULL);
    REFUSED("array send_displs is NULL", bad.send_displs = NULL);
    REFUSED("array recv_displs is NULL", bad.recv_displs = NULL);
    REFUSED("array recv_counts is NULL", bad.recv_counts = NULL);
    if (job->rank == 0) {
        frame->good.coll = XYLEM_COLL_GATHERV;
        REFUSED("array recv_counts is NULL", bad.recv_counts = NULL);
        REFUSED("receive buffer is NULL", bad.recv = NULL);
        frame->good.coll = XYLEM_COLL_SCATTERV;
        REFUSED("array send_counts is NULL", bad.send_counts = NULL);
        REFUSED("send buffer is NULL", bad.send = NULL);
        REFUSED("address space", bad.send_counts = huge);
    }
}

static void bad_neighbors(const job_t *job, frame_t *frame)
{
    const uint32_t own[] = {job->rank}, beyond[] = {job->ranks};
    uint64_t word = 7;
    xylem_request_t *request;

    frame->good.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER;
    frame->good.destinations = frame->good.sources = own;
    frame->good.destination_count = frame->good.source_count = 1;
    REFUSED("array sources is NULL", bad.sources = NULL);
    REFUSED("array destinations is NULL", bad.destinations = NULL);
    REFUSED("destinations[0]", bad.destinations = beyond);
    REFUSED("sources[0]", bad.sources = beyond);
    REFUSED("among its sources only", bad.destination_count = 0);
    REFUSED("cannot be the send buffer", bad.send = XYLEM_IN_PLACE);
    REFUSED("send buffer is NULL", bad.send = NULL);
    REFUSED("receive buffer is NULL", bad.recv = NULL);
    REFUSED("XYLEM_FLAG_PARTS", bad.flags = XYLEM_FLAG_PARTS);
    /* What is refused leaves the team as it was. */
    frame->good.send = &word;
    MUST(xylem_coll_start(job->world, &frame->good, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
    REQUIRE(frame->recv[0] == word, "received %llu",
            (unsigned long long)frame->recv[0]);
    frame->good.send = frame->send;
    frame->good.destinations = frame->good.sources = NULL;
    frame->good.destination_count = frame->good.source_count = 0;
}

static void bad_types(const job_t *job, frame_t *frame)
{
    xylem_type_t gaps, gone;

    MUST(xylem_type_vector(job->context, 2, 1, 24, XYLEM_UINT32, &gaps));
    MUST(xylem_type_contiguous(job->context, 2, XYLEM_UINT32, &gone));
    MUST(xylem_type_destroy(job->context, gone));
    frame->good.coll = XYLEM_COLL_ALLGATHER;
    REFUSED("no type", bad.type = gone);
    REFUSED("no type", bad.recv_count = 1, bad.recv_type = gone);
    REFUSED("no type", bad.recv_count = 1, bad.recv_type = XYLEM_TYPE_COUNT);
    REFUSED("bytes", bad.recv_count = 1, bad.recv_type = XYLEM_UINT32);
    frame->good.coll = XYLEM_COLL_ALLREDUCE;
    REFUSED("of one type", bad.recv_count = 2, bad.recv_type = XYLEM_UINT32);
    REFUSED_AS(XYLEM_ERR_UNSUPPORTED, "gaps", bad.type = gaps);
    MUST(xylem_type_destroy(job->context, gaps));
}

static void bad_algorithms(const job_t *job, frame_t *frame)
{
    frame->good.coll = XYLEM_COLL_ALLGATHER;
    REFUSED("'best': there is no such", bad.algorithm = "best");
    REFUSED("'': there is no such", bad.algorithm = "");
    REFUSED("takes no radix", bad.algorithm = "ring:");
    REFUSED("'pairwise': it is not for", bad.algorithm = "pairwise");
    REFUSED("radix of 2 ... 64", bad.algorithm = "bruck:1");
    REFUSED("'knomial:2': it is not for", bad.algorithm = "knomial:2");
    if (job->ranks % 2 != 0)
        REFUSED("even", bad.algorithm = "neighbor_exchange");
    REFUSED("windows", bad.send_window = 3, bad.recv_window = 2);
}

/* Nothing of all this has moved a message or a number. */
static void all_is_well(const job_t *job, frame_t *frame)
{
    uint32_t i;

    frame->send[0] = 100 + job->rank;
    MUST(
        xylem_allgather(job->world, frame->send, frame->recv, 1, XYLEM_UINT64));
    for (i = 0; i < job->ranks; i++)
        REQUIRE(frame->recv[i] == 100 + i, "block %u is wrong", i);
    MUST(xylem_barrier(job->world));
}

void mode_blocks(job_t *job)
{
    frame_t frame;

    REQUIRE(job->ranks <= RANKS_MAX, "at most %d ranks", RANKS_MAX);
    frame_init(&frame);
    bad_buffers(job, &frame);
    bad_arrays(job, &frame);
    bad_neighbors(job, &frame);
    bad_types(job, &frame);
    bad_algorithms(job, &frame);
    all_is_well(job, &frame);
}
