/* One collective on all ranks of a team over the fabric: buffers between
 * guards, requests, callbacks that check their own rules, and the expected
 * result, computed without the library. */
#pragma once

#include "tests/support/coll_case.h"
#include "tests/support/fabric.h"

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
    char *expected;       /* the result; but for rounding, for COLL_FLOAT64 */
    coll_hook_fn hook;
    void *hook_arg;
    coll_rank_t *all; /* [ranks] */
} coll_run_t;

/* teams[i]: rank i's handle, for all ranks of the team; NULL: the world. */
void coll_run_init(coll_run_t *run, fabric_t *fabric, xylem_team_t **teams,
                   uint32_t ranks, const coll_case_t *c, uint64_t salt);
/* Frees the requests that are left, and checks the guards. */
void coll_run_fini(coll_run_t *run);

/* Starts one rank (init first, when persistent). */
xylem_status_t coll_run_start(coll_run_t *run, uint32_t rank);
void coll_run_start_all(coll_run_t *run);
/* Fills the buffers for a further start of a persistent run. */
void coll_run_refill(coll_run_t *run, uint64_t salt);
/* Refills one rank's buffers with the same contents. */
void coll_run_refill_rank(coll_run_t *run, uint32_t rank);

/* A fabric_script_t: releases parts, until every live rank has completed its
 * starts. */
int coll_run_is_done(void *run);
unsigned coll_run_act(void *run);
int coll_run_finish(coll_run_t *run); /* runs the fabric until it is done */

/* All ranks completed with XYLEM_OK and have the right data. */
void coll_run_check(const coll_run_t *run);
/* This one has, if it completed with XYLEM_OK. */
void coll_run_check_data(const coll_run_t *run, uint32_t rank);
