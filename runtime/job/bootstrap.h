/* Bootstrap: how the ranks of a job learn of each other before there is a net,
 * and meet again before it goes away. */
#ifndef XYL_RUNTIME_JOB_BOOTSTRAP_H
#define XYL_RUNTIME_JOB_BOOTSTRAP_H

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

enum { XYL_NODE_NAME_BYTES = 64 };
#define XYL_NO_CULPRIT UINT32_MAX

/* What every rank contributed; one block of memory. */
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
    int fence_outlives_ranks; /* the living pass it when ranks have died */
    int fence_blocks;         /* whoever starts it, who then answers nobody */
    /* Gathers a blob of every rank. Blocks. Returns owned (free with
     * xyl_blobs_fini). */
    xylem_status_t (*exchange)(xyl_bootstrap_t *bootstrap, const void *mine,
                               size_t bytes, xyl_blobs_t *all_out);
    /* Meets the other ranks without blocking where the means allow it, so
     * that the caller can keep the net going: start once, then ask until it
     * is no longer XYLEM_IN_PROGRESS. */
    xylem_status_t (*fence_start)(xyl_bootstrap_t *bootstrap);
    xylem_status_t (*fence_test)(xyl_bootstrap_t *bootstrap);
    void (*destroy)(xyl_bootstrap_t *bootstrap);
} xyl_bootstrap_ops_t;

struct xyl_bootstrap {
    const xyl_bootstrap_ops_t *ops;
    uint32_t rank;
    uint32_t ranks;
    uint64_t timeout_s;
    int is_broken;    /* the ranks could not meet: it is not used again */
    int sees_deaths;  /* a fence never waits for who has died */
    uint32_t culprit; /* who has gone without a context, or XYL_NO_CULPRIT */
    /* The node as the launcher names it; may differ from the machine's name
     * when a launcher presents several nodes. */
    char node[XYL_NODE_NAME_BYTES];
};

/* The bootstrap's exchange, in which ranks also learn which lines of the log
 * wait on others: of equal ones the lowest rank says its own. */
xylem_status_t xyl_bootstrap_exchange(xyl_bootstrap_t *bootstrap,
                                      const void *mine, size_t bytes,
                                      xyl_blobs_t *all_out);

/* Says that the rank has gone, which this one misses. */
xylem_status_t xyl_bootstrap_miss(xyl_bootstrap_t *bootstrap, uint32_t rank);

/* Each returns owned (free with ops->destroy). */
xylem_status_t xyl_bootstrap_pmix_create(xyl_bootstrap_t **bootstrap_out);
xylem_status_t xyl_bootstrap_user_create(const xylem_bootstrap_t *user,
                                         xyl_bootstrap_t **bootstrap_out);
xylem_status_t xyl_bootstrap_single_create(xyl_bootstrap_t **bootstrap_out);

/* 1 when a launcher has left its address for PMIx in the environment. */
int xyl_bootstrap_pmix_is_offered(void);

#endif
