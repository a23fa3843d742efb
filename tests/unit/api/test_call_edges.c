/* Edges of the collectives' arguments over the simulated net: types without
 * data, types that differ though their handles are equal, parts without a tree,
 * arguments that must be refused, and the state after a refusal.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collectives/device/team.h"
#include "collectives/device/way.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

#define MUST(call) CHECK_EQ(call, XYLEM_OK)

enum { RANKS = 5, UNTOUCHED = 0x55 };

static fabric_t *fabric_start(uint32_t ranks)
{
    fabric_options_t options = {
        .seed = 3, .eager_bytes_max = 64, .delay_max = 9, .reorder = 1};

    return fabric_create(ranks, &options);
}

static xylem_coll_args_t args_of(xylem_coll_t coll, const void *send,
                                 void *recv)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = coll,
                               .send = send,
                               .recv = recv,
                               .type = XYLEM_UINT64};
}

/* Starts on all ranks, runs to the end, and frees. */
static void run_all(fabric_t *fabric, xylem_coll_args_t *args)
{
    xylem_request_t *requests[RANKS] = {NULL};
    uint32_t i;

    for (i = 0; i < RANKS; i++)
        if (xylem_coll_start(fabric_world(fabric, i), &args[i], &requests[i]) !=
            XYLEM_OK)
            check_failed(__FILE__, __LINE__, xylem_last_error());
    fabric_run_dry(fabric);
    for (i = 0; i < RANKS; i++) {
        if (requests[i] == NULL)
            continue;
        MUST(xylem_request_test(requests[i]));
        MUST(xylem_request_free(requests[i]));
    }
}

/* ---- types without data ---- */

/* Counts of them mean nothing: not a byte moves. */
static void test_without_data(void)
{
    static const xylem_coll_t colls[] = {
        XYLEM_COLL_BCAST,     XYLEM_COLL_GATHER,    XYLEM_COLL_GATHERV,
        XYLEM_COLL_SCATTER,   XYLEM_COLL_SCATTERV,  XYLEM_COLL_ALLGATHER,
        XYLEM_COLL_ALLTOALL,  XYLEM_COLL_ALLTOALLV, XYLEM_COLL_ALLGATHERV,
        XYLEM_COLL_ALLTOALLW, XYLEM_COLL_SCAN};
    const uint64_t counts[RANKS] = {3, 1, 4, 1, 5}, zeros[RANKS] = {0};
    unsigned char send[RANKS][400], recv[RANKS][400];
    fabric_t *fabric = fabric_start(RANKS);
    xylem_type_t types[RANKS], all[RANKS][RANKS];
    xylem_op_t ops[RANKS];
    uint32_t i, j, n;

    for (i = 0; i < RANKS; i++) {
        xylem_context_t *context = fabric_context(fabric, i);
        MUST(xylem_type_create(context, NULL, 0, 24, &types[i]));
        MUST(xylem_op_create(context, (xylem_op_fn)abort, NULL, 0, &ops[i]));
        for (j = 0; j < RANKS; j++)
            all[i][j] = types[i];
    }
    for (n = 0; n < sizeof colls / sizeof *colls; n++) {
        xylem_coll_args_t args[RANKS];
        memset(recv, UNTOUCHED, sizeof recv);
        memset(send, 1, sizeof send);
        for (i = 0; i < RANKS; i++) {
            args[i] = args_of(colls[n], send[i], recv[i]);
            args[i].type = types[i];
            args[i].count = counts[i];
            args[i].op = ops[i];
            args[i].send_counts = args[i].recv_counts = counts;
            args[i].send_displs = args[i].recv_displs = zeros;
            args[i].send_types = args[i].recv_types = all[i];
            if (colls[n] != XYLEM_COLL_GATHERV &&
                colls[n] != XYLEM_COLL_SCATTERV &&
                colls[n] != XYLEM_COLL_ALLGATHERV)
                args[i].count = 3;
        }
        run_all(fabric, args);
        for (i = 0; i < sizeof recv; i++)
            if (((unsigned char *)recv)[i] != UNTOUCHED)
                break;
        CHECK_EQ(i, sizeof recv);
    }
    for (i = 0; i < RANKS; i++) {
        MUST(xylem_op_destroy(fabric_context(fabric, i), ops[i]));
        MUST(xylem_type_destroy(fabric_context(fabric, i), types[i]));
    }
    fabric_destroy(fabric);
}

/* A rank with elements that have no data, and a rank with no elements of some
 * type, call the same. */
static void test_without_data_in_other_words(void)
{
    static const uint64_t counts[RANKS] = {3, 1, 4, 1, 5};
    unsigned char recv[RANKS];
    fabric_t *fabric = fabric_start(RANKS);
    xylem_coll_args_t args[RANKS];
    xylem_type_t types[RANKS];
    uint32_t i;

    memset(recv, UNTOUCHED, sizeof recv);
    for (i = 0; i < RANKS; i++) {
        MUST(xylem_type_create(fabric_context(fabric, i), NULL, 0, 24,
                               &types[i]));
        args[i] = args_of(XYLEM_COLL_ALLGATHERV, recv, recv);
        args[i].recv_counts = counts;
        args[i].count = i % 2 == 0 ? counts[i] : 0;
        args[i].type = i % 2 == 0 ? types[i] : XYLEM_UINT64;
        args[i].recv_count = i % 2 == 0 ? 0 : 1;
        args[i].recv_type = types[i];
    }
    run_all(fabric, args);
    for (i = 0; i < RANKS; i++)
        args[i] = args_of(XYLEM_COLL_BARRIER, NULL, NULL);
    run_all(fabric, args); /* ranks that differed have no next call */
    for (i = 0; i < RANKS; i++) {
        CHECK_EQ(recv[i], UNTOUCHED);
        MUST(xylem_type_destroy(fabric_context(fabric, i), types[i]));
    }
    fabric_destroy(fabric);
}

/* ---- handles that are used again ---- */

/* A type of the old handle, but other gaps; nothing of the old is used. */
static void test_handles_come_again(void)
{
    fabric_t *fabric = fabric_start(RANKS);
    uint64_t send[RANKS][8], recv[RANKS][8 * RANKS], stride, i, j;
    xylem_type_t old = 0;

    for (stride = 1; stride <= 4; stride++) {
        xylem_coll_args_t args[RANKS];
        xylem_type_t types[RANKS];
        memset(recv, UNTOUCHED, sizeof recv);
        for (i = 0; i < RANKS; i++) {
            for (j = 0; j < 8; j++)
                send[i][j] = 100 * i + j;
            MUST(xylem_type_vector(fabric_context(fabric, (uint32_t)i), 2, 1,
                                   (int64_t)stride * 8, XYLEM_UINT64,
                                   &types[i]));
            CHECK(stride == 1 || i != 0 || types[0] == old);
            args[i] = args_of(XYLEM_COLL_ALLGATHER, send[i], recv[i]);
            args[i].count = 1;
            args[i].type = types[i];
        }
        old = types[0];
        run_all(fabric, args);
        for (i = 0; i < RANKS; i++) {
            for (j = 0; j < RANKS; j++) {
                uint64_t at = j * (stride + 1);
                CHECK_EQ(recv[i][at], 100 * j);
                CHECK_EQ(recv[i][at + stride], 100 * j + stride);
            }
            MUST(xylem_type_destroy(fabric_context(fabric, (uint32_t)i),
                                    types[i]));
        }
    }
    fabric_destroy(fabric);
}

/* A type that a collective does not look at is not held. */
static void test_types_that_do_not_matter(void)
{
    fabric_t *fabric = fabric_start(RANKS);
    const uint64_t ones[RANKS] = {1, 1, 1, 1, 1}, displs[RANKS] = {0, 8, 16};
    const xylem_type_t words[RANKS] = {XYLEM_UINT64, XYLEM_UINT64, XYLEM_UINT64,
                                       XYLEM_UINT64, XYLEM_UINT64};
    uint64_t send[RANKS][RANKS] = {{0}}, recv[RANKS][RANKS];
    xylem_coll_args_t args[RANKS];
    xylem_type_t types[RANKS];
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        MUST(xylem_type_vector(fabric_context(fabric, i), 2, 1, 24,
                               XYLEM_UINT64, &types[i]));
        args[i] = args_of(XYLEM_COLL_ALLTOALLW, send[i], recv[i]);
        args[i].type = types[i];
        args[i].send_counts = args[i].recv_counts = ones;
        args[i].send_displs = args[i].recv_displs = displs;
        args[i].send_types = args[i].recv_types = words;
    }
    run_all(fabric, args);
    for (i = 0; i < RANKS; i++) {
        args[i] = args_of(XYLEM_COLL_BARRIER, NULL, NULL);
        args[i].type = types[i];
    }
    run_all(fabric, args);
    for (i = 0; i < RANKS; i++)
        MUST(xylem_type_destroy(fabric_context(fabric, i), types[i]));
    fabric_destroy(fabric); /* counts the memory that is left */
}

/* Arrays that a collective does not have are not looked at, nor kept. */
static void test_arrays_that_do_not_matter(void)
{
    static const xylem_coll_t colls[] = {XYLEM_COLL_REDUCE_SCATTER,
                                         XYLEM_COLL_ALLGATHER};
    fabric_t *fabric = fabric_start(RANKS);
    const uint64_t ones[RANKS] = {1, 1, 1, 1, 1};
    uint64_t send[RANKS][RANKS], recv[RANKS][RANKS], round, i;
    uint64_t *nowhere = (uint64_t *)(uintptr_t)64;
    xylem_coll_args_t args[RANKS];

    for (round = 0; round < 4; round++) {
        memset(send, 1, sizeof send);
        for (i = 0; i < RANKS; i++) {
            args[i] = args_of(colls[round % 2], send[i], recv[i]);
            args[i].count = 1;
            args[i].send_counts = args[i].send_displs = nowhere;
            args[i].recv_counts = round % 2 == 0 ? ones : nowhere;
            args[i].recv_displs = nowhere;
            args[i].send_types = args[i].recv_types = (xylem_type_t *)nowhere;
        }
        run_all(fabric, args);
    }
    fabric_destroy(fabric);
}

/* ---- parts ---- */

/* A broadcast by a schedule, too, has its input at the root. */
static void test_parts_of_a_schedule(void)
{
    static const char *const names[] = {"scatter_ring", "circulant",
                                        "knomial:2"};
    fabric_t *fabric = fabric_start(RANKS);
    uint64_t words[RANKS][100], segments, segment;
    xylem_request_t *requests[RANKS];
    xylem_coll_args_t args;
    size_t bytes;
    uint32_t i, n;

    for (n = 0; n < sizeof names / sizeof *names; n++) {
        memset(words, 0, sizeof words);
        for (i = 0; i < RANKS; i++) {
            args = args_of(XYLEM_COLL_BCAST, NULL, words[i]);
            args.count = 100;
            args.root = 2;
            args.segment_bytes = 160;
            args.flags = XYLEM_FLAG_PARTS;
            args.algorithm = names[n];
            MUST(
                xylem_coll_start(fabric_world(fabric, i), &args, &requests[i]));
        }
        fabric_run_dry(fabric);
        CHECK_EQ(xylem_request_test(requests[0]), XYLEM_IN_PROGRESS);
        for (i = 0; i < 100; i++)
            words[2][i] = i + 1;
        MUST(xylem_request_segments(requests[2], &segments, &bytes));
        for (segment = 0; segment < segments; segment++)
            MUST(xylem_segment_ready(requests[2], segment));
        fabric_run_dry(fabric);
        for (i = 0; i < RANKS; i++) {
            MUST(xylem_request_test(requests[i]));
            if (xylem_request_test(requests[i]) == XYLEM_OK)
                MUST(xylem_request_free(requests[i]));
            CHECK(memcmp(words[i], words[2], sizeof words[2]) == 0);
        }
    }
    fabric_destroy(fabric);
}

enum { PAIRS = 50, STRETCHED = 4 * PAIRS };

/* Words 2k and 2k + 1 of a message lie 3 words apart. */
static uint64_t *word_of(uint64_t *words, size_t number, int has_gaps)
{
    return has_gaps ? &words[number / 2 * 4 + number % 2 * 3] : &words[number];
}

typedef struct told {
    uint64_t words[STRETCHED];
    int has_gaps;
    uint64_t segments;
} told_t;

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    told_t *told = arg;
    size_t i;

    (void)segment;
    told->segments++;
    for (i = offset / 8; i < (offset + bytes) / 8; i++)
        CHECK_EQ(*word_of(told->words, i, told->has_gaps), i + 1);
}

static void start_with_gaps(fabric_t *fabric, const char *algorithm,
                            told_t *all, xylem_request_t **requests)
{
    xylem_type_t type;
    uint32_t i;

    for (i = 0; i < RANKS; i++) {
        xylem_coll_args_t args = args_of(XYLEM_COLL_BCAST, NULL, all[i].words);
        memset(&all[i], 0, sizeof all[i]);
        all[i].has_gaps = i % 2 == 0;
        MUST(xylem_type_vector(fabric_context(fabric, i), 2, 1, 24,
                               XYLEM_UINT64, &type));
        args.count = all[i].has_gaps ? PAIRS : 2 * PAIRS;
        args.type = all[i].has_gaps ? type : XYLEM_UINT64;
        args.root = 2;
        args.segment_bytes = 152;
        args.flags = XYLEM_FLAG_PARTS;
        args.algorithm = algorithm;
        args.on_segment = segment_told;
        args.arg = &all[i];
        MUST(xylem_coll_start(fabric_world(fabric, i), &args, &requests[i]));
        MUST(xylem_type_destroy(fabric_context(fabric, i), type));
    }
}

/* Each segment is packed when it is released, and told when it is unpacked. */
static void test_parts_with_gaps(void)
{
    static const char *const names[] = {"knomial:2", "chain", "double"};
    fabric_t *fabric = fabric_start(RANKS);
    xylem_request_t *requests[RANKS];
    uint64_t segments, segment;
    told_t all[RANKS];
    size_t bytes, at;
    uint32_t i, n;

    for (n = 0; n < sizeof names / sizeof *names; n++) {
        start_with_gaps(fabric, names[n], all, requests);
        MUST(xylem_request_segments(requests[2], &segments, &bytes));
        CHECK_EQ(bytes, 152);
        for (segment = segments; segment-- > 0;) {
            for (at = segment * 19; at < segment * 19 + 19; at++)
                if (at < 2 * PAIRS)
                    *word_of(all[2].words, at, 1) = at + 1;
            MUST(xylem_segment_ready(requests[2], segment));
            fabric_run_dry(fabric);
            for (i = 0; i < RANKS; i++)
                CHECK_EQ(all[i].segments, segments - segment);
        }
        for (i = 0; i < RANKS; i++) {
            MUST(xylem_request_test(requests[i]));
            MUST(xylem_request_free(requests[i]));
            for (at = 0; all[i].has_gaps && at < STRETCHED; at++)
                CHECK(all[i].words[at] == 0 || at % 4 == 0 || at % 4 == 3);
        }
    }
    fabric_destroy(fabric);
}

/* ---- what is refused ---- */

static void refused(int line, fabric_t *fabric, const xylem_coll_args_t *args,
                    xylem_status_t wanted, const char *word)
{
    xylem_request_t *request = NULL;
    xylem_status_t status =
        xylem_coll_start(fabric_world(fabric, 0), args, &request);

    check_equal(__FILE__, line, "the status", status, wanted);
    if (strstr(xylem_last_error(), word) == NULL)
        check_failed(__FILE__, line, xylem_last_error());
    CHECK(request == NULL);
    if (request != NULL) {
        fabric_run_dry(fabric);
        xylem_request_free(request);
    }
}

#define REFUSED(status, word, ...)                                             \
    do {                                                                       \
        xylem_coll_args_t bad = good;                                          \
        __VA_ARGS__;                                                           \
        refused(__LINE__, fabric, &bad, status, word);                         \
    } while (0)

/* On one rank a call that is accepted by mistake completes, so that the test
 * sees it. */
static void test_refused_types(void)
{
    fabric_t *fabric = fabric_start(1);
    xylem_context_t *context = fabric_context(fabric, 0);
    uint64_t send[16] = {0}, recv[16], one = 1, zero = 0;
    xylem_coll_args_t good = args_of(XYLEM_COLL_ALLGATHER, send, recv);
    xylem_type_t gaps, plain, gone, large;

    good.count = 1;
    good.op = XYLEM_SUM;
    MUST(xylem_type_vector(context, 2, 1, 24, XYLEM_UINT64, &gaps));
    MUST(xylem_type_contiguous(context, 2, XYLEM_UINT64, &plain));
    MUST(xylem_type_contiguous(context, UINT64_C(1) << 31, XYLEM_BYTE, &large));
    MUST(xylem_type_contiguous(context, 1, XYLEM_UINT64, &gone));
    MUST(xylem_type_destroy(context, gone));
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.type = gone);
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.type = 99);
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.recv_type = gone,
            bad.recv_count = 1);
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.recv_type = 99,
            bad.recv_count = 1);
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.type = gaps,
            bad.recv_type = 99, bad.recv_count = 1);
    REFUSED(XYLEM_ERR_UNSUPPORTED, "2^31", bad.coll = XYLEM_COLL_ALLREDUCE,
            bad.type = large);
    REFUSED(XYLEM_ERR_INVALID_ARG, "received", bad.type = gaps,
            bad.recv_type = large, bad.recv_count = 1);
    REFUSED(XYLEM_ERR_UNSUPPORTED, "gaps", bad.coll = XYLEM_COLL_ALLREDUCE,
            bad.type = gaps);
    REFUSED(XYLEM_ERR_UNSUPPORTED, "gaps", bad.coll = XYLEM_COLL_SCAN,
            bad.type = plain, bad.recv_type = gaps, bad.recv_count = 1);
    REFUSED(XYLEM_ERR_INVALID_ARG, "sum is not defined",
            bad.coll = XYLEM_COLL_REDUCE, bad.type = plain);
    /* Alltoallw's own types. */
    good.coll = XYLEM_COLL_ALLTOALLW;
    good.send_counts = good.recv_counts = &one;
    good.send_displs = good.recv_displs = &zero;
    good.send_types = good.recv_types = &plain;
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.recv_types = &gone);
    REFUSED(XYLEM_ERR_INVALID_ARG, "no type", bad.send_types = &gone);
    MUST(xylem_type_destroy(context, gaps));
    MUST(xylem_type_destroy(context, plain));
    MUST(xylem_type_destroy(context, large));
    fabric_destroy(fabric);
}

static void test_refused_sizes(void)
{
    fabric_t *fabric = fabric_start(1);
    uint64_t send[16] = {0}, recv[16], one = 1, zero = 0;
    uint64_t huge = UINT64_MAX / 8 + 2, far = UINT64_MAX / 8;
    xylem_coll_args_t good = args_of(XYLEM_COLL_ALLGATHER, send, recv);
    static const xylem_coll_t forms[] = {
        XYLEM_COLL_GATHERV, XYLEM_COLL_ALLGATHERV, XYLEM_COLL_SCATTERV,
        XYLEM_COLL_ALLTOALLV, XYLEM_COLL_REDUCE_SCATTER};
    uint32_t i;

    good.count = 1;
    /* The two sides describe different numbers of bytes. */
    REFUSED(XYLEM_ERR_INVALID_ARG, "bytes", bad.recv_type = XYLEM_UINT32,
            bad.recv_count = 1);
    REFUSED(XYLEM_ERR_INVALID_ARG, "bytes", bad.recv_type = XYLEM_UINT64,
            bad.recv_count = 2);
    for (i = 0; i < sizeof forms / sizeof *forms; i++) {
        good.coll = forms[i];
        good.send_counts = good.recv_counts = &one;
        good.send_displs = good.recv_displs = &zero;
        if (forms[i] != XYLEM_COLL_SCATTERV) {
            REFUSED(XYLEM_ERR_INVALID_ARG, "address space",
                    bad.recv_counts = &huge);
            REFUSED(XYLEM_ERR_INVALID_ARG, "receive buffer is NULL",
                    bad.recv = NULL);
        }
        if (forms[i] == XYLEM_COLL_SCATTERV ||
            forms[i] == XYLEM_COLL_ALLTOALLV) {
            REFUSED(XYLEM_ERR_INVALID_ARG, "address space",
                    bad.send_counts = &huge);
            REFUSED(XYLEM_ERR_INVALID_ARG, "address space",
                    bad.send_displs = &far);
            REFUSED(XYLEM_ERR_INVALID_ARG, "send buffer is NULL",
                    bad.send = NULL);
        }
    }
    fabric_destroy(fabric);
}

/* A schedule gives a rank a part of 2^32 segments, which must not become 0. */
static void test_too_many_segments(void)
{
    const size_t bytes = (size_t)1 << 33;
    fabric_t *fabric = fabric_start(2);
    void *memory = mmap(NULL, bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    xylem_coll_args_t args =
        args_of(XYLEM_COLL_ALLREDUCE, XYLEM_IN_PLACE, memory);
    xylem_request_t *request;

    CHECK(memory != MAP_FAILED);
    args.count = bytes;
    args.type = XYLEM_UINT8;
    args.algorithm = "ring";
    args.segment_bytes = 1;
    CHECK_EQ(xylem_coll_start(fabric_world(fabric, 0), &args, &request),
             XYLEM_ERR_INVALID_ARG);
    CHECK(strstr(xylem_last_error(), "too small") != NULL);
    munmap(memory, bytes);
    fabric_destroy(fabric);
}

/* ---- who asks for memory of GPUs ---- */

enum { ASKING = 3, LONG_BYTES = 4096 };

static uint64_t calls_counted(fabric_t *fabric, uint32_t rank)
{
    return xyl_gpus_of_team(fabric_world(fabric, rank))->calls;
}

static xylem_status_t start_bcast(fabric_t *fabric, uint32_t rank, size_t count,
                                  xylem_type_t type, xylem_request_t **request)
{
    static unsigned char buffers[ASKING][LONG_BYTES];
    xylem_coll_args_t args = args_of(XYLEM_COLL_BCAST, NULL, buffers[rank]);

    args.count = count;
    args.type = type;
    return xylem_coll_start(fabric_world(fabric, rank), &args, request);
}

/* The number of a call decides whether ranks ask. All of them count each call,
 * whatever type they name, with a GPU or without; and no refused call. */
static void test_asking_is_counted_alike(void)
{
    const fabric_options_t options = {.seed = 5, .shares_memory = 1};
    fabric_t *fabric = fabric_create(ASKING, &options);
    size_t counts[ASKING] = {LONG_BYTES, 2, 1};
    xylem_type_t types[ASKING] = {XYLEM_BYTE, 0, XYLEM_TYPE_BLOCK(LONG_BYTES)};
    xylem_request_t *requests[ASKING], *request;
    uint64_t call;
    uint32_t rank;

    MUST(xylem_type_contiguous(fabric_context(fabric, 1), LONG_BYTES / 2,
                               XYLEM_BYTE, &types[1]));
    fabric_context(fabric, 2)->config.cuda = 0;
    for (call = 1; call <= 3; call++) {
        for (rank = 0; rank < ASKING; rank++)
            MUST(start_bcast(fabric, rank, counts[rank], types[rank],
                             &requests[rank]));
        fabric_run_dry(fabric);
        for (rank = 0; rank < ASKING; rank++) {
            MUST(xylem_request_test(requests[rank]));
            CHECK_EQ(calls_counted(fabric, rank), call);
            if (call < 3) /* the next call takes its memory */
                MUST(xylem_request_free(requests[rank]));
        }
    }
    /* Another length, for which no plan is kept. */
    counts[0] /= 2;
    counts[1] /= 2;
    types[2] = XYLEM_TYPE_BLOCK(LONG_BYTES / 2);
    for (rank = 0; rank < ASKING; rank++) {
        fabric_fail_allocation(fabric, 1);
        CHECK_EQ(start_bcast(fabric, rank, counts[rank], types[rank], &request),
                 XYLEM_ERR_NO_MEMORY);
        fabric_fail_allocation(fabric, 0);
        CHECK_EQ(calls_counted(fabric, rank), 3);
        MUST(xylem_request_free(requests[rank]));
    }
    MUST(xylem_type_destroy(fabric_context(fabric, 1), types[1]));
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"types without data", test_without_data},
    {"types without data, in other words", test_without_data_in_other_words},
    {"handles that come again", test_handles_come_again},
    {"types that do not matter", test_types_that_do_not_matter},
    {"arrays that do not matter", test_arrays_that_do_not_matter},
    {"parts of a schedule", test_parts_of_a_schedule},
    {"parts with gaps", test_parts_with_gaps},
    {"refused types", test_refused_types},
    {"refused sizes", test_refused_sizes},
    {"schedules: too many segments are refused", test_too_many_segments},
    {"device: calls in which ranks may ask are counted alike",
     test_asking_is_counted_alike},
};
CHECK_MAIN(cases)
