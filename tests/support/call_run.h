/* One collective of any kind on all ranks of a team over the fabric, with
 * callbacks that check their own rules. */
#pragma once

#include "tests/support/call_case.h"
#include "tests/support/fabric.h"

typedef struct call_member {
    struct call_run *run;
    call_rank_t call;
    xylem_team_t *team;
    xylem_request_t *request;
    uint32_t starts, completions;
    xylem_status_t status;
    int is_starting; /* inside the starting call */
} call_member_t;

typedef struct call_run {
    call_case_t c;
    fabric_t *fabric;
    int is_persistent;   /* xylem_coll_init, then started */
    int drops_types;     /* as soon as the call that names them has returned */
    int expects_failure; /* statuses other than XYLEM_OK are no failure */
    call_member_t *all;  /* [c.ranks] */
} call_run_t;

/* teams[i]: rank i's handle, for all ranks of the team; NULL: the world. */
void call_run_init(call_run_t *run, fabric_t *fabric, xylem_team_t **teams,
                   const call_case_t *c);
/* Rank `rank` makes another call than the rest: `c` is borrowed until the end,
 * and nothing is known then of the data. Before its start. */
void call_run_differs(call_run_t *run, uint32_t rank, const call_case_t *c);
/* Frees the requests that are left. */
void call_run_fini(call_run_t *run);

/* Plans one rank of a persistent run. */
xylem_status_t call_run_plan(call_run_t *run, uint32_t rank);
/* Starts one rank (init first, when persistent and not done before). */
xylem_status_t call_run_start(call_run_t *run, uint32_t rank);
void call_run_start_all(call_run_t *run);
/* `count` runs on the same ranks: each rank starts all, in the same order and
 * at any pace. */
void call_run_start_mixed(call_run_t *runs, uint32_t count, uint64_t *random);
/* Fills all buffers again, for a further start of a persistent run. */
void call_run_refill(call_run_t *run);

int call_run_is_done(void *run); /* every live rank has completed its starts */
int call_run_finish(call_run_t *run); /* runs the fabric until it is done */

/* All ranks completed with XYLEM_OK and have the right data. */
void call_run_check(const call_run_t *run);
/* After a rank has died: checks that the other ranks have the right data if
 * they completed well, and else know of the death. */
void call_run_check_survivors(const call_run_t *run, uint32_t victim);
/* This one has, if it completed with XYLEM_OK. */
void call_run_check_data(const call_run_t *run, uint32_t rank);
