/* The bootstrap. Through it the ranks of a job find each other before there is
 * a net, and meet again before the net goes away. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

enum { XYL_NODE_NAME_BYTES = 64 };
#define XYL_NO_CULPRIT UINT32_MAX

/* The contributions of all ranks, in one block of memory. */
typedef struct xyl_blobs {
    char *memory;
    size_t *offsets; /* [ranks + 1] into memory */
} xyl_blobs_t;

xylem_status_t xyl_blobs_init(xyl_blobs_t *blobs, uint32_t ranks);
/* Appends the blob of the next rank. */
xylem_status_t xyl_blobs_append(xyl_blobs_t *blobs, uint32_t rank,
                                const void *data, size_t bytes);
void xyl_blobs_fini(xyl_blobs_t *blobs);

typedef struct xyl_bootstrap xyl_bootstrap_t;

typedef struct xyl_bootstrap_ops {
    int fence_outlives_ranks; /* the living pass a fence if ranks have died */
    int fence_blocks; /* fence_start blocks: no net progress meanwhile */
    /* Gathers the blobs of all ranks. Blocks. Returns owned (free with
     * xyl_blobs_fini). */
    xylem_status_t (*exchange)(xyl_bootstrap_t *bootstrap, const void *mine,
                               size_t bytes, xyl_blobs_t *all_out);
    /* Meets the other ranks. If possible this does not block, so that the
     * caller can progress the net: call fence_start once, then fence_test until
     * its result is not XYLEM_IN_PROGRESS (NULL if fence_start blocks). */
    xylem_status_t (*fence_start)(xyl_bootstrap_t *bootstrap);
    xylem_status_t (*fence_test)(xyl_bootstrap_t *bootstrap);
    void (*destroy)(xyl_bootstrap_t *bootstrap);
} xyl_bootstrap_ops_t;

struct xyl_bootstrap {
    const xyl_bootstrap_ops_t *ops;
    uint32_t rank;
    uint32_t ranks;
    uint64_t timeout_s;
    int is_broken;    /* the ranks could not meet: do not use it again */
    int sees_deaths;  /* a fence never waits for a dead rank */
    uint32_t culprit; /* a rank gone without a context, or XYL_NO_CULPRIT */
    /* The launcher's name for the node. It differs from the machine's name if
     * the launcher presents several nodes on one machine. */
    char node[XYL_NODE_NAME_BYTES];
};

/* The bootstrap's exchange. The ranks also compare their held lines of the log
 * (xyl_log_hold): of the ranks with equal lines the lowest prints them. */
xylem_status_t xyl_bootstrap_exchange(xyl_bootstrap_t *bootstrap,
                                      const void *mine, size_t bytes,
                                      xyl_blobs_t *all_out);

/* Fails because `rank` has died or ended before its context was made. */
xylem_status_t xyl_bootstrap_miss(xyl_bootstrap_t *bootstrap, uint32_t rank);

/* Each returns owned (free with ops->destroy). */
xylem_status_t xyl_bootstrap_pmix_create(xyl_bootstrap_t **bootstrap_out);
xylem_status_t xyl_bootstrap_user_create(const xylem_bootstrap_t *user,
                                         xyl_bootstrap_t **bootstrap_out);
xylem_status_t xyl_bootstrap_single_create(xyl_bootstrap_t **bootstrap_out);

/* 1: a launcher has left its address for PMIx in the environment. */
int xyl_bootstrap_pmix_is_offered(void);
