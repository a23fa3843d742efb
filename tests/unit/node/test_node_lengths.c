/* Ranks of a node send other lengths than their receivers expect. */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum { ODD_RANKS = 3, ODD_BYTES = 900000 };

typedef struct odd_calls {
    fabric_t *fabric;
    uint32_t ranks;
    char *sends, *recvs; /* [ranks][ODD_BYTES] of ones, and of zeros */
    xylem_request_t *requests[ODD_RANKS];
} odd_calls_t;

static odd_calls_t odd_begin(uint32_t ranks, uint64_t seed)
{
    fabric_options_t options = {.seed = seed, .shares_memory = 1};
    odd_calls_t odd = {.fabric = fabric_create(ranks, &options),
                       .ranks = ranks,
                       .sends = malloc((size_t)ranks * ODD_BYTES),
                       .recvs = calloc(ranks, ODD_BYTES)};

    CHECK(odd.sends != NULL && odd.recvs != NULL);
    memset(odd.sends, 1, (size_t)ranks * ODD_BYTES);
    return odd;
}

static void odd_start(odd_calls_t *odd, uint32_t rank, xylem_coll_args_t args)
{
    args.struct_bytes = sizeof args;
    args.send = odd->sends + (size_t)rank * ODD_BYTES;
    args.recv = odd->recvs + (size_t)rank * ODD_BYTES;
    args.type = XYLEM_BYTE;
    CHECK_EQ(xylem_coll_start(fabric_world(odd->fabric, rank), &args,
                              &odd->requests[rank]),
             XYLEM_OK);
}

/* The rank fails, and nothing is written behind its expected bytes. */
static void odd_end(odd_calls_t *odd, uint32_t rank, xylem_status_t status,
                    uint64_t behind)
{
    fabric_run_dry(odd->fabric);
    CHECK_EQ(xylem_request_test(odd->requests[rank]), status);
    CHECK_EQ(odd->recvs[(size_t)rank * ODD_BYTES + behind], 0);
    for (rank = 0; rank < odd->ranks; rank++)
        xylem_request_free(odd->requests[rank]);
    fabric_destroy(odd->fabric);
    free(odd->sends);
    free(odd->recvs);
}

static xylem_status_t odd_status(uint64_t sent, uint64_t expected)
{
    return sent > expected ? XYLEM_ERR_TRUNCATED : XYLEM_ERR_MISMATCH;
}

/* One rank sends another length than its receiver expects: the call fails, as a
 * message over the net does. */
static void lengths_differ(xylem_coll_t coll, uint64_t sent, uint64_t expected)
{
    odd_calls_t odd = odd_begin(3, sent);
    uint32_t root = 1, rank, other = coll == XYLEM_COLL_GATHERV ? root : 2;
    const uint64_t counts[2][3] = {{8, 0, sent}, {8, 0, expected}};
    const uint64_t displs[3] = {0, 8, 8};

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = coll,
                                      .count = counts[rank == other][rank],
                                      .root = root,
                                      .send_counts = counts[0],
                                      .recv_counts = counts[1],
                                      .send_displs = displs,
                                      .recv_displs = displs});
    odd_end(&odd, other, odd_status(sent, expected),
            (other == root ? 8 : 0) + expected);
}

/* The same in an alltoallv, where rank 0 sends rank 1 another length. */
static void lengths_differ_in_alltoallv(uint32_t ranks, uint64_t sent,
                                        uint64_t expected)
{
    odd_calls_t odd = odd_begin(ranks, sent);
    const uint64_t displs[3] = {0, 300000, 600000};
    uint64_t send_counts[3][3], recv_counts[3][3];
    uint32_t rank, i;

    for (rank = 0; rank < ranks; rank++) {
        for (i = 0; i < ranks; i++) {
            send_counts[rank][i] = rank == 0 && i == 1 ? sent : 8;
            recv_counts[rank][i] = rank == 1 && i == 0 ? expected : 8;
        }
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_ALLTOALLV,
                                      .send_counts = send_counts[rank],
                                      .recv_counts = recv_counts[rank],
                                      .send_displs = displs,
                                      .recv_displs = displs});
    }
    odd_end(&odd, 1, odd_status(sent, expected), expected);
}

/* Rank 0 has one block for both its neighbours, and rank 1 expects another
 * length; the blocks of these two have 8 bytes. */
static void lengths_differ_of_neighbors(uint64_t sent, uint64_t expected)
{
    static const uint32_t ends[2] = {1, 2}, middle[1] = {0};
    const uint64_t counts[3] = {8, expected, sent};
    odd_calls_t odd = odd_begin(3, sent);
    uint32_t rank;

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                                      .count = rank == 0 ? sent : 8,
                                      .recv_count = counts[rank],
                                      .recv_type = XYLEM_BYTE,
                                      .destinations = rank == 0 ? ends : middle,
                                      .sources = rank == 0 ? ends : middle,
                                      .destination_count = rank == 0 ? 2 : 1,
                                      .source_count = rank == 0 ? 2 : 1});
    odd_end(&odd, 1, odd_status(sent, expected), expected);
}

/* Rank 0 sends a long block to rank 2; rank 1 expects one as well. The line
 * between ranks 0 and 1 has no owner, and is not looked at. */
static void test_no_neighbor_of_its_source(void)
{
    static const uint32_t zero = 0, two = 2;
    odd_calls_t odd = odd_begin(3, 6);
    uint32_t rank;

    for (rank = 0; rank < 3; rank++)
        odd_start(&odd, rank,
                  (xylem_coll_args_t){.coll = XYLEM_COLL_NEIGHBOR_ALLGATHER,
                                      .count = 300000,
                                      .destinations = &two,
                                      .sources = &zero,
                                      .destination_count = rank == 0,
                                      .source_count = rank != 0});
    odd_end(&odd, 1, XYLEM_ERR_MISMATCH, 0);
}

static void test_lengths_differ(void)
{
    static const uint64_t lengths[] = {0,    1,    96,    97,     5000,
                                       8192, 8193, 60000, 100000, 200000};
    uint32_t i, k;

    for (i = 0; i < 10; i++)
        for (k = 0; k < 10; k++)
            if (i != k) {
                lengths_differ(XYLEM_COLL_GATHERV, lengths[i], lengths[k]);
                lengths_differ(XYLEM_COLL_SCATTERV, lengths[i], lengths[k]);
                lengths_differ_in_alltoallv(2, lengths[i], lengths[k]);
                lengths_differ_in_alltoallv(3, lengths[i], lengths[k]);
                if (lengths[i] != 0 &&
                    lengths[k] != 0) /* recv_count 0: sent's */
                    lengths_differ_of_neighbors(lengths[i], lengths[k]);
            }
}

static const check_case_t cases[] = {
    {"lengths_differ", test_lengths_differ},
    {"no_neighbor_of_its_source", test_no_neighbor_of_its_source},
};
CHECK_MAIN(cases)
