#include "collectives/api/compare_calls.h"

#include <stdio.h>
#include <string.h>

#include "collectives/choose/compose.h"
#include "collectives/data/call_word.h"
#include "collectives/data/description.h"
#include "runtime/base/file.h"
#include "runtime/core/failure.h"
#include "runtime/core/gate.h"

/* What a rank tells. */
typedef struct row {
    uint64_t call;
    uint64_t type;    /* 0: ranks may describe the same bytes otherwise */
    uint64_t details; /* a hash */
} row_t;

/* In memory of the operation that compares. */
typedef struct comparison {
    xylem_team_t *team;
    xyl_gate_t gate; /* of the call */
    row_t *rows;     /* [ranks] */
} comparison_t;

/* Counts that all ranks have alike. */
static int has_common_counts(const xyl_coll_traits_t *traits)
{
    return traits->recv_varies && !traits->send_varies && !traits->has_root;
}

/* In bytes, since ranks may describe the same ones by other types. */
static uint64_t hash_of_counts(const xylem_team_t *team,
                               const xylem_coll_args_t *args, uint64_t hash)
{
    uint64_t unit = 0, bytes;
    uint32_t i;

    (void)xylem_type_query(team->context,
                           args->recv_count != 0 ? args->recv_type : args->type,
                           &unit, NULL);
    for (i = 0; i < team->size; i++) {
        bytes = args->recv_counts[i] * unit;
        hash = xyl_hash(hash, &bytes, sizeof bytes);
    }
    return hash;
}

static uint64_t details_of(const xylem_team_t *team,
                           const xylem_coll_args_t *args)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    const uint64_t numbers[] = {
        args->root * (uint64_t)traits->has_root,
        args->flags & (XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE),
        args->segment_bytes, args->send_window, args->recv_window};
    uint64_t hash = xyl_hash(XYL_HASH_SEED, numbers, sizeof numbers);

    if (args->algorithm != NULL)
        hash = xyl_hash(hash, args->algorithm, strlen(args->algorithm));
    if (has_common_counts(traits))
        hash = hash_of_counts(team, args, hash);
    return hash;
}

static uint64_t type_of(const xylem_coll_args_t *args)
{
    if (args->coll == XYLEM_COLL_BARRIER ||
        xyl_coll_traits(args->coll)->has_own_types ||
        args->type >= XYLEM_TYPE_COUNT || args->type == XYLEM_BYTE)
        return 0;
    return args->type + UINT64_C(1);
}

static void fail(xylem_team_t *team, uint32_t rank, uint64_t call,
                 const char *what)
{
    char text[XYL_FAILURE_TEXT], words[XYL_CALL_WORDS];

    xyl_call_in_words(call, words, sizeof words);
    snprintf(text, sizeof text,
             "ranks %u and %u of the job call %s, with different %s",
             xyl_team_world_rank(team, 0), xyl_team_world_rank(team, rank),
             words, what);
    xyl_team_fail(team, XYLEM_ERR_MISMATCH, xyl_team_world_rank(team, rank),
                  text);
}

/* All ranks come to the same. */
static void rows_compare(xylem_team_t *team, const row_t *rows)
{
    const row_t *first = rows, *typed = NULL;
    uint32_t i;

    for (i = 0; i < team->size; i++) {
        if (rows[i].call != first->call) {
            xyl_team_differs(team, xyl_team_world_rank(team, 0), first->call,
                             xyl_team_world_rank(team, i), rows[i].call);
            return;
        }
        if (rows[i].details != first->details) {
            fail(team, i, first->call,
                 "settings (algorithm, order, segments, counts)");
            return;
        }
        if (rows[i].type != 0 && typed != NULL && rows[i].type != typed->type) {
            fail(team, i, first->call, "types");
            return;
        }
        if (rows[i].type != 0)
            typed = &rows[i];
    }
}

/* Where it has failed so has the team. */
static void compared(void *arg, xylem_status_t status)
{
    comparison_t *comparison = arg;

    if (status == XYLEM_OK)
        rows_compare(comparison->team, comparison->rows);
    xyl_gate_open(&comparison->gate);
}

void xyl_calls_compare(xylem_team_t *team, const xylem_coll_args_t *args,
                       xyl_operation_t *operation)
{
    comparison_t *comparison;
    xyl_operation_t *allreduce;
    void *rows;

    if (xyl_table_create(team, team->size * sizeof(row_t), 0, compared, NULL,
                         &rows, &allreduce) != XYLEM_OK)
        return;
    comparison =
        xyl_arena_array(&allreduce->request.arena, 1, sizeof *comparison);
    if (comparison == NULL) {
        xyl_request_discard(&allreduce->request);
        return;
    }
    *comparison = (comparison_t){.team = team, .rows = rows};
    allreduce->request.arg = comparison;
    allreduce->call = xyl_call_word_of_comparison();
    allreduce->passes_gates = 1;
    if (operation == NULL) {
        comparison->rows[team->rank].call = xyl_call_word_of_nothing(0);
    } else {
        comparison->rows[team->rank] =
            (row_t){operation->call, type_of(args), details_of(team, args)};
        xyl_gate_close(&comparison->gate, operation);
    }
    (void)xyl_request_start(&allreduce->request);
}
