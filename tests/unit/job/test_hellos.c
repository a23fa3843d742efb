/* Hellos of ranks that give up: a rank that gives up because of a rank that has
 * gone names that rank, and so does a rank that learns of it from one that has
 * only given up. */
#include "runtime/job/peers.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/config.h"
#include "tests/support/check.h"

enum { RANKS = 4, GONE = 2, BLOB_BYTES = 8192 };

/* The hellos of ranks. */
typedef struct said {
    xyl_bootstrap_t base;
    char blobs[RANKS][BLOB_BYTES];
    size_t bytes[RANKS];
} said_t;

/* A rank gets the hellos of lower ranks, and its own in the place of others. */
static xylem_status_t said_exchange(xyl_bootstrap_t *bootstrap,
                                    const void *mine, size_t bytes,
                                    xyl_blobs_t *all_out)
{
    said_t *said = (said_t *)(void *)bootstrap;
    uint32_t rank;

    CHECK(bytes <= BLOB_BYTES);
    memcpy(said->blobs[bootstrap->rank], mine, bytes);
    said->bytes[bootstrap->rank] = bytes;
    CHECK_EQ(xyl_blobs_init(all_out, RANKS), XYLEM_OK);
    for (rank = 0; rank < RANKS; rank++) {
        uint32_t from = rank < bootstrap->rank ? rank : bootstrap->rank;
        CHECK_EQ(xyl_blobs_append(all_out, rank, said->blobs[from],
                                  said->bytes[from]),
                 XYLEM_OK);
    }
    return XYLEM_OK;
}

static const xyl_bootstrap_ops_t said_ops = {.exchange = said_exchange};

static xylem_status_t exchange(said_t *said, uint32_t rank,
                               xylem_status_t status)
{
    static const xyl_config_t config;
    const xyl_peers_mine_t mine = {.status = status, .config = &config};
    xyl_peers_t peers;

    said->base.ops = &said_ops;
    said->base.rank = rank;
    said->base.ranks = RANKS;
    status = xyl_peers_exchange(&said->base, &mine, &peers);
    xyl_blobs_fini(&peers.hellos);
    free(peers.all);
    return status;
}

static void test_culprit(void)
{
    static said_t said;

    said.base.culprit = XYL_NO_CULPRIT;
    (void)xyl_bootstrap_miss(&said.base, GONE);
    CHECK_EQ(exchange(&said, 0, XYLEM_ERR_PROC_FAILED), XYLEM_ERR_PROC_FAILED);
    said.base.culprit = XYL_NO_CULPRIT;
    CHECK_EQ(exchange(&said, 1, XYLEM_OK), XYLEM_ERR_PROC_FAILED);
    CHECK_EQ(said.base.culprit, GONE);
    CHECK(strstr(xylem_last_error(), "rank 2 has died") != NULL);
}

/* A rank that gives up for a reason of its own is named itself. */
static void test_own_reason(void)
{
    static said_t said;

    said.base.culprit = XYL_NO_CULPRIT;
    CHECK_EQ(exchange(&said, 0, XYLEM_ERR_NO_MEMORY), XYLEM_ERR_NO_MEMORY);
    CHECK_EQ(exchange(&said, 1, XYLEM_OK), XYLEM_ERR_NO_MEMORY);
    CHECK_EQ(said.base.culprit, XYL_NO_CULPRIT);
    CHECK(strstr(xylem_last_error(), "rank 0 cannot create") != NULL);
}

static const check_case_t cases[] = {
    {"culprit", test_culprit},
    {"own_reason", test_own_reason},
};
CHECK_MAIN(cases)
