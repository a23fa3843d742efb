/* A call for planning: the part of the user's arguments that this rank uses. It
 * is found once, whatever way the call then goes, and constant afterwards. */
#pragma once

#include "collectives/data/op.h"
#include "collectives/data/problem.h"
#include "collectives/data/sides.h"
#include "runtime/core/team.h"

typedef struct xyl_call {
    xylem_team_t *team;
    /* Without types of the user's. Arrays and callbacks that this rank has no
     * use for are NULL. In terms that all ranks share: elements of blocks are
     * bytes, and in the reproducible order elements may be sums, which the
     * library makes of the user's numbers. */
    xylem_coll_args_t args;
    xyl_way_t way;
    const void *send;     /* the user's */
    size_t element_bytes; /* of an element at `send`, packed */
    uint64_t word;        /* the call as a word: see call_word.h */
    xyl_combiner_t combiner;
    /* A plan's operation takes the sides over. */
    xyl_sides_t sides;
    xyl_problem_t problem; /* borrows `args` */
    uint64_t *blocks;      /* memory of the problem; NULL: it needs none */
} xyl_call_t;

/* 1: a reduction's bits must depend on its contributions alone. */
int xyl_call_is_reproducible(const xylem_team_t *team,
                             const xylem_coll_args_t *args);
/* 1 when contributions to a reduction may be combined as they come. */
int xyl_call_takes_any_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative);

/* The mean of blocks that vary, by counts that all ranks share; in bytes,
 * because ranks may describe blocks by different types. 0: ranks share no
 * counts, or the counts are missing. By counts of its own a rank could choose
 * otherwise than the others. */
uint64_t xyl_call_common_bytes(const xylem_team_t *team,
                               const xylem_coll_args_t *args);

/* Finds the problem except for blocks that vary. */
void xyl_call_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                      xyl_way_t way, int is_commutative,
                      xyl_problem_t *problem_out);

/* Begins a call: its team, its sides, and the arguments that this rank uses,
 * with packed types but not yet in common terms. The caller then checks their
 * values, and sets the call's way. A failed call needs no xyl_call_give_up. */
xylem_status_t xyl_call_pack(xylem_team_t *team, const xylem_coll_args_t *said,
                             xyl_call_t *call_out);
/* Makes the call count its blocks in bytes, as ranks may describe them by
 * different types. */
void xyl_call_to_bytes(xyl_call_t *call);
/* Completes a call whose arguments have been checked. It must not be copied
 * afterwards. */
xylem_status_t xyl_call_resolve(xyl_call_t *call);
/* xyl_call_fini frees the memory of a call whose sides an operation holds;
 * xyl_call_give_up frees the sides, too, also of a call that has not been
 * resolved. */
void xyl_call_fini(xyl_call_t *call);
void xyl_call_give_up(xyl_call_t *call);
