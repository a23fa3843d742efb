/* Neighbor_allgather over the simulated net, for cases that the random graphs
 * of test_calls do not have: refusals, ranks without neighbours, lengths that
 * differ, many neighbours by rendezvous, lists that change between calls. */
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

#define MUST(call) CHECK_EQ(call, XYLEM_OK)

enum { RANKS = 6, GROUP = 70, MANY = 3 * GROUP, UNTOUCHED = 0x55 };

static const uint32_t nobody = UINT32_MAX;

static fabric_t *fabric_start(uint32_t ranks, size_t eager_bytes_max)
{
    fabric_options_t options = {.seed = 5,
                                .eager_bytes_max = eager_bytes_max,
                                .delay_max = 9,
                                .reorder = 1};

    return fabric_create(ranks, &options);
}

static xylem_coll_args_t args_of(const uint64_t *send, uint64_t *recv,
                                 size_t count)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                               .send = send,
                               .recv = recv,
                               .count = count,
                               .type = XYLEM_UINT64};
}

/* Starts on all ranks, runs to the end, and frees. */
static void run_all(fabric_t *fabric, uint32_t ranks, xylem_coll_args_t *args)
{
    xylem_request_t *requests[MANY] = {NULL};
    uint32_t i;

    for (i = 0; i < ranks; i++)
        if (xylem_coll_start(fabric_world(fabric, i), &args[i], &requests[i]) !=
            XYLEM_OK)
            check_failed(__FILE__, __LINE__, xylem_last_error());
    fabric_run_dry(fabric);
    for (i = 0; i < ranks; i++) {
        if (requests[i] == NULL)
            continue;
        MUST(xylem_request_test(requests[i]));
        MUST(xylem_request_free(requests[i]));
    }
}

/* ---- what is refused ---- */

static void check_refused(const xylem_team_t *team,
                          const xylem_coll_args_t *args, const char *word)
{
    xylem_request_t *request = NULL;

    CHECK_EQ(xylem_coll_start((xylem_team_t *)(uintptr_t)team, args, &request),
             XYLEM_ERR_INVALID_ARG);
    CHECK(request == NULL);
    if (strstr(xylem_last_error(), word) == NULL)
        check_failed(__FILE__, __LINE__, xylem_last_error());
}

#define REFUSED(word, ...)                                                     \
    do {                                                                       \
        xylem_coll_args_t bad = good;                                          \
        __VA_ARGS__;                                                           \
        check_refused(team, &bad, word);                                       \
    } while (0)

static void on_segment(void *arg, uint64_t segment, size_t offset, size_t bytes)
{
    (void)arg;
    (void)segment;
    (void)offset;
    (void)bytes;
}

static void test_refused(void)
{
    static const uint32_t both[] = {0, 1}, beyond[] = {1, RANKS}, other[] = {1};
    fabric_t *fabric = fabric_start(RANKS, 64);
    const xylem_team_t *team = fabric_world(fabric, 0);
    uint64_t send[4] = {0}, recv[8] = {0};
    xylem_coll_args_t good = args_of(send, recv, 2);

    good.destinations = good.sources = both;
    good.destination_count = good.source_count = 2;
    REFUSED("array destinations is NULL", bad.destinations = NULL);
    REFUSED("array sources is NULL", bad.sources = NULL);
    REFUSED("sources[1] is 6: the team has 6 ranks", bad.sources = beyond);
    REFUSED("destinations[1] is 6", bad.destinations = beyond);
    REFUSED("names itself among its sources only", bad.destinations = other;
            bad.destination_count = 1);
    REFUSED("names itself among its destinations only", bad.sources = other;
            bad.source_count = 1);
    REFUSED("sends itself 16 bytes and receives 8", bad.recv_count = 1;
            bad.recv_type = XYLEM_UINT64);
    REFUSED("address space", bad.recv_count = SIZE_MAX / 16 - 1;
            bad.recv_type = XYLEM_UINT64);
    REFUSED("address space", bad.count = SIZE_MAX / 16 - 1);
    REFUSED("there is no type", bad.type = XYLEM_TYPE_COUNT);
    REFUSED("send buffer is NULL", bad.send = NULL);
    REFUSED("receive buffer is NULL", bad.recv = NULL);
    REFUSED("receive buffer is NULL", bad.recv = NULL; bad.count = 0;
            bad.recv_count = 2; bad.recv_type = XYLEM_UINT64);
    REFUSED("are the same", bad.recv = send);
    REFUSED("XYLEM_IN_PLACE cannot", bad.send = XYLEM_IN_PLACE);
    REFUSED("root of a scatter", bad.recv = XYLEM_IN_PLACE_RECV);
    REFUSED("XYLEM_FLAG_PARTS", bad.flags = XYLEM_FLAG_PARTS);
    REFUSED("combines nothing", bad.flags = XYLEM_FLAG_ARRIVAL_ORDER);
    REFUSED("on_segment", bad.on_segment = on_segment);
    REFUSED("not for neighbor_allgather", bad.algorithm = "ring");
    fabric_destroy(fabric);
}

/* ---- lists of all kinds ---- */

/* A rank without neighbours needs no buffers, and is done at once. */
static void test_no_neighbours(void)
{
    fabric_t *fabric = fabric_start(RANKS, 64);
    xylem_coll_args_t args[RANKS];
    uint64_t recv[2] = {7, 7}, sent = 9;
    uint32_t zero = 0, one = 1, i;

    for (i = 0; i < RANKS; i++)
        args[i] = args_of(NULL, NULL, 1);
    run_all(fabric, RANKS, args);
    /* Lists in which no entry is a rank. */
    for (i = 0; i < RANKS; i++) {
        args[i] = args_of(&sent, recv, 1);
        args[i].destinations = args[i].sources = &nobody;
        args[i].destination_count = args[i].source_count = 1;
    }
    run_all(fabric, RANKS, args);
    CHECK(recv[0] == 7 && recv[1] == 7);
    /* One edge, and ranks that are not at it. */
    for (i = 0; i < RANKS; i++)
        args[i] = args_of(i == 0 ? &sent : NULL, i == 1 ? recv : NULL, 1);
    args[0].destinations = &one;
    args[0].destination_count = 1;
    args[1].sources = &zero;
    args[1].source_count = 1;
    run_all(fabric, RANKS, args);
    CHECK(recv[0] == 9 && recv[1] == 7);
    fabric_destroy(fabric);
}

/* The border of a line that is no ring, and neighbours that are named twice. */
static void test_border_and_twice(void)
{
    fabric_t *fabric = fabric_start(RANKS, 0);
    uint32_t lists[RANKS][4], i;
    uint64_t send[RANKS], recv[RANKS][4];
    xylem_coll_args_t args[RANKS];

    memset(recv, UNTOUCHED, sizeof recv);
    for (i = 0; i < RANKS; i++) {
        send[i] = 100 + i;
        lists[i][0] = lists[i][3] = i == 0 ? nobody : i - 1;
        lists[i][1] = i == RANKS - 1 ? nobody : i + 1;
        lists[i][2] = i;
        args[i] = args_of(&send[i], recv[i], 1);
        args[i].destinations = args[i].sources = lists[i];
        /* One end may name an edge twice, the other once. */
        args[i].destination_count = i % 2 == 0 ? 4 : 3;
        args[i].source_count = 4;
    }
    run_all(fabric, RANKS, args);
    for (i = 0; i < RANKS; i++) {
        uint64_t gap;
        memset(&gap, UNTOUCHED, sizeof gap);
        CHECK_EQ(recv[i][0], i == 0 ? gap : 99 + i);
        CHECK_EQ(recv[i][1], i == RANKS - 1 ? gap : 101 + i);
        CHECK_EQ(recv[i][2], 100 + i);
        CHECK_EQ(recv[i][3], recv[i][0]);
    }
    fabric_destroy(fabric);
}

/* Even ranks send blocks of 2 to odd ones, and these blocks of 5 words, which
 * even ranks call 10 halves. */
static void test_lengths_differ(void)
{
    enum { SHORT = 2, LONG = 5 };
    fabric_t *fabric = fabric_start(RANKS, 24);
    uint64_t send[RANKS][LONG], recv[RANKS][RANKS / 2 * LONG];
    uint32_t lists[RANKS][RANKS / 2], i, j;
    xylem_coll_args_t args[RANKS];

    for (i = 0; i < RANKS; i++) {
        for (j = 0; j < LONG; j++)
            send[i][j] = 10 * i + j;
        for (j = 0; j < RANKS / 2; j++)
            lists[i][j] = 2 * j + 1 - i % 2;
        args[i] = args_of(send[i], recv[i], i % 2 == 0 ? SHORT : LONG);
        args[i].recv_count = i % 2 == 0 ? (size_t)2 * LONG : SHORT;
        args[i].recv_type = i % 2 == 0 ? XYLEM_UINT32 : XYLEM_UINT64;
        args[i].destinations = args[i].sources = lists[i];
        args[i].destination_count = args[i].source_count = RANKS / 2;
    }
    run_all(fabric, RANKS, args);
    for (i = 0; i < RANKS; i++) {
        uint32_t each = i % 2 == 0 ? LONG : SHORT;
        for (j = 0; j < RANKS / 2 * each; j++)
            CHECK_EQ(recv[i][j], 10 * lists[i][j / each] + j % each);
    }
    fabric_destroy(fabric);
}

/* More neighbours than messages are under way, all by rendezvous, in lists that
 * would block if messages were posted in their order: each of three groups
 * sends to the next one first, and receives from that one first. */
static void test_many_neighbours(void)
{
    fabric_t *fabric = fabric_start(MANY, 0);
    static uint32_t lists[MANY][2 * GROUP];
    static uint64_t send[MANY], recv[MANY][2 * GROUP];
    static xylem_coll_args_t args[MANY];
    uint32_t i, j;

    for (i = 0; i < MANY; i++) {
        uint32_t next = (i / GROUP + 1) % 3, last = (i / GROUP + 2) % 3;
        send[i] = random_mix(i);
        for (j = 0; j < GROUP; j++) {
            lists[i][j] = next * GROUP + j;
            lists[i][GROUP + j] = last * GROUP + j;
        }
        args[i] = args_of(&send[i], recv[i], 1);
        args[i].destinations = args[i].sources = lists[i];
        args[i].destination_count = args[i].source_count = 2 * GROUP;
    }
    run_all(fabric, MANY, args);
    for (i = 0; i < MANY; i++)
        for (j = 0; j < 2 * GROUP; j++)
            CHECK_EQ(recv[i][j], send[lists[i][j]]);
    fabric_destroy(fabric);
}

/* ---- plans that are kept ---- */

/* Lists are compared by their contents, not by their addresses. */
static void test_lists_change(void)
{
    fabric_t *fabric = fabric_start(RANKS, 64);
    uint32_t destinations[RANKS], sources[RANKS], round, i;
    uint64_t send[RANKS], recv[RANKS];
    xylem_coll_args_t args[RANKS];

    for (round = 0; round < 9; round++) {
        uint32_t shift = 1 + round / 2 % 2;
        for (i = 0; i < RANKS; i++) {
            send[i] = 1000 * round + i;
            destinations[i] = (i + shift) % RANKS;
            sources[i] = (i + RANKS - shift) % RANKS;
            args[i] = args_of(&send[i], &recv[i], 1);
            args[i].destinations = &destinations[i];
            args[i].sources = &sources[i];
            args[i].destination_count = args[i].source_count = 1;
        }
        run_all(fabric, RANKS, args);
        for (i = 0; i < RANKS; i++)
            CHECK_EQ(recv[i], 1000 * round + sources[i]);
    }
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"refused", test_refused},
    {"no neighbours", test_no_neighbours},
    {"border, and twice", test_border_and_twice},
    {"lengths that differ", test_lengths_differ},
    {"many neighbours", test_many_neighbours},
    {"lists that change", test_lists_change},
};
CHECK_MAIN(cases)
