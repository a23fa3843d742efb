#include "tests/support/call_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/check.h"

static void complain(const call_run_t *run, const char *what, uint32_t rank)
{
    char text[512], words[256];

    call_case_text(&run->c, words, sizeof words);
    snprintf(text, sizeof text, "%s (rank %" PRIu32 "; %s)", what, rank, words);
    check_failed(__FILE__, __LINE__, text);
}

/* ---- life ---- */

static void completed(void *arg, xylem_status_t status)
{
    call_member_t *member = arg;
    call_run_t *run = member->run;

    if (member->is_starting)
        complain(run, "on_complete inside the starting call",
                 member->call.rank);
    if (++member->completions > member->starts)
        complain(run, "on_complete more often than started", member->call.rank);
    if (status != XYLEM_OK && !run->expects_failure)
        complain(run, xylem_status_name(status), member->call.rank);
    member->status = status;
}

static void member_init(call_member_t *member, const call_case_t *c,
                        uint32_t rank)
{
    call_rank_init(&member->call, c, rank, member->team->context);
    member->call.args.on_complete = completed;
    member->call.args.arg = member;
}

void call_run_init(call_run_t *run, fabric_t *fabric, xylem_team_t **teams,
                   const call_case_t *c)
{
    char label[256];
    uint32_t i;

    *run = (call_run_t){.c = *c, .fabric = fabric};
    run->all = call_must(calloc(c->ranks, sizeof *run->all));
    for (i = 0; i < c->ranks; i++) {
        call_member_t *member = &run->all[i];
        member->run = run;
        member->status = XYLEM_IN_PROGRESS;
        member->team = teams != NULL ? teams[i] : fabric_world(fabric, i);
        member_init(member, &run->c, i);
    }
    call_case_text(c, label, sizeof label);
    fabric_label(fabric, label);
}

void call_run_differs(call_run_t *run, uint32_t rank, const call_case_t *c)
{
    call_rank_fini(&run->all[rank].call);
    member_init(&run->all[rank], c, rank);
}

void call_run_fini(call_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->c.ranks; i++) {
        if (xylem_request_free(run->all[i].request) != XYLEM_OK)
            complain(run, "the request cannot be freed", i);
        call_rank_fini(&run->all[i].call);
    }
    free(run->all);
}

xylem_status_t call_run_plan(call_run_t *run, uint32_t rank)
{
    call_member_t *member = &run->all[rank];

    return xylem_coll_init(member->team, &member->call.args, &member->request);
}

static xylem_status_t start(call_member_t *member)
{
    call_run_t *run = member->run;
    xylem_status_t status = XYLEM_OK;

    if (!run->is_persistent)
        status = xylem_coll_start(member->team, &member->call.args,
                                  &member->request);
    else if (member->request == NULL)
        status = call_run_plan(run, member->call.rank);
    if (status != XYLEM_OK)
        return status;
    if (run->drops_types)
        call_rank_drop_types(&member->call);
    return run->is_persistent ? xylem_request_start(member->request) : status;
}

xylem_status_t call_run_start(call_run_t *run, uint32_t rank)
{
    call_member_t *member = &run->all[rank];
    xylem_status_t status;

    member->starts++; /* a callback may come before the call returns */
    member->is_starting = 1;
    status = start(member);
    member->is_starting = 0;
    if (status != XYLEM_OK)
        member->starts--;
    return status;
}

void call_run_start_all(call_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->c.ranks; i++)
        if (call_run_start(run, i) != XYLEM_OK)
            complain(run, xylem_last_error(), i);
}

void call_run_start_mixed(call_run_t *runs, uint32_t count, uint64_t *random)
{
    uint32_t ranks = runs[0].c.ranks, left = ranks * count, rank;
    uint32_t *next = call_must(calloc(ranks, sizeof *next));

    while (left != 0) {
        rank = random_below(random, ranks);
        if (next[rank] == count)
            continue;
        CHECK_EQ(call_run_start(&runs[next[rank]++], rank), XYLEM_OK);
        left--;
    }
    free(next);
}

void call_run_refill(call_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->c.ranks; i++)
        call_rank_fill(&run->all[i].call);
}

/* ---- the end ---- */

int call_run_is_done(void *arg)
{
    call_run_t *run = arg;
    uint32_t i;

    for (i = 0; i < run->c.ranks; i++)
        if (run->all[i].completions != run->all[i].starts &&
            !fabric_is_dead(run->fabric, run->all[i].team->context->rank))
            return 0;
    return 1;
}

int call_run_finish(call_run_t *run)
{
    fabric_script_t script = {call_run_is_done, NULL, run};

    return fabric_run_until(run->fabric, &script);
}

static void check_data(const call_run_t *run, uint32_t rank)
{
    char text[300];

    if (!call_rank_check(&run->all[rank].call, text, sizeof text))
        check_failed(__FILE__, __LINE__, text);
}

void call_run_check_data(const call_run_t *run, uint32_t rank)
{
    if (run->all[rank].status == XYLEM_OK)
        check_data(run, rank);
}

void call_run_check_survivors(const call_run_t *run, uint32_t victim)
{
    uint32_t rank;

    for (rank = 0; rank < run->c.ranks; rank++) {
        if (rank == victim)
            continue;
        CHECK(run->all[rank].status == XYLEM_OK ||
              run->all[rank].status == XYLEM_ERR_PROC_FAILED);
        call_run_check_data(run, rank);
    }
}

void call_run_check(const call_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->c.ranks; i++) {
        if (run->all[i].status != XYLEM_OK)
            complain(run, xylem_status_name(run->all[i].status), i);
        check_data(run, i);
    }
}
