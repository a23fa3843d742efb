/* One collective on all ranks of a team over the fabric: buffers between
 * guards, requests, callbacks that check their own rules, and a reference that
 * is computed without the library. */
#ifndef XYL_TESTS_COLL_RUN_H
#define XYL_TESTS_COLL_RUN_H

#include "tests/support/fabric.h"

typedef enum coll_data {
    COLL_BYTES,   /* bcast: any number of bytes */
    COLL_UINT32,  /* sums that wrap around */
    COLL_FLOAT64, /* sums whose bits depend on the association */
    COLL_AFFINE,  /* maps x -> ax + b modulo 2^32: composed in rank order */
    COLL_DATA_COUNT
} coll_data_t;

typedef struct coll_case {
    xylem_coll_t coll;
    coll_data_t data;
    uint32_t root;
    xylem_tree_t tree;
    uint32_t radix;
    size_t count;
    size_t segment_bytes;
    uint32_t send_window, recv_window;
    uint32_t flags;
    int in_place;     /* at the root of a reduce */
    int persistent;   /* xylem_coll_init, then started by the test */
    int no_callbacks; /* completion is seen by the request's state only */
    int no_segments;  /* no on_segment: plans may then be used again */
} coll_case_t;

typedef struct coll_rank {
    struct coll_run *run;
    uint32_t rank; /* in the team */
    xylem_team_t *team;
    xylem_op_t op;
    xylem_request_t *request;
    char *send_memory, *recv_memory; /* with guards */
    char *send, *recv;
    uint32_t *parts; /* segments in the order of their release */
    uint64_t parts_count, parts_released;
    uint8_t *seen; /* [segments] told by on_segment in this start */
    uint64_t segments_told;
    uint32_t completions;
    uint32_t starts;
    xylem_status_t status;
    int is_starting; /* inside the starting call */
    int is_freed;
} coll_rank_t;

/* Called inside on_complete, after the checks. */
typedef void (*coll_hook_fn)(coll_rank_t *rank, void *arg);

typedef struct coll_run {
    coll_case_t c;
    fabric_t *fabric;
    uint32_t ranks;
    uint64_t salt; /* of the contents */
    uint64_t random;
    size_t element_bytes, bytes;
    uint64_t segments;
    size_t segment_bytes; /* whole elements */
    int expects_failure;  /* statuses other than XYLEM_OK are no failure */
    char *expected;       /* the result; NULL for COLL_FLOAT64 */
    coll_hook_fn hook;
    void *hook_arg;
    coll_rank_t *all; /* [ranks] */
} coll_run_t;

/* teams[i]: rank i's handle, for all ranks of the team; NULL: the world. */
void coll_run_init(coll_run_t *run, fabric_t *fabric, xylem_team_t **teams,
                   uint32_t ranks, const coll_case_t *c, uint64_t salt);
/* Frees what requests are left and checks the guards. */
void coll_run_fini(coll_run_t *run);

/* Starts one rank (init first, when persistent). */
xylem_status_t coll_run_start(coll_run_t *run, uint32_t rank);
void coll_run_start_all(coll_run_t *run);
/* Fills the buffers for a further start of a persistent run. */
void coll_run_refill(coll_run_t *run, uint64_t salt);

/* A fabric_script_t: releases parts, until every live rank has completed its
 * starts. */
int coll_run_is_done(void *run);
unsigned coll_run_act(void *run);
int coll_run_finish(coll_run_t *run); /* runs the fabric until it is done */

/* All ranks completed with XYLEM_OK and have the right data. */
void coll_run_check(const coll_run_t *run);

/* Draws a case for a team of `ranks`; data and collective, too. */
coll_case_t coll_case_random(uint64_t *random, uint32_t ranks);
/* Draws tree and radix. */
void coll_case_random_tree(uint64_t *random, coll_case_t *c);
/* Text of a case, for labels. */
void coll_case_text(const coll_case_t *c, uint32_t ranks, char *text,
                    size_t bytes);

#endif
