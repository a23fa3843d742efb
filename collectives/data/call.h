/* A call as those read it who plan it: what this rank uses of what the user
 * says, found once, whatever way it then goes, and constant from then on. */
#ifndef XYL_COLLECTIVES_DATA_CALL_H
#define XYL_COLLECTIVES_DATA_CALL_H

#include "collectives/data/op.h"
#include "collectives/data/problem.h"
#include "collectives/data/sides.h"
#include "runtime/core/team.h"

typedef struct xyl_call {
    xylem_team_t *team;
    /* Names no type of the user's; arrays and callbacks that this rank has no
     * use for are NULL. In terms that all ranks share: blocks are of bytes,
     * and sums may stand for numbers, which then lie elsewhere. */
    xylem_coll_args_t args;
    xyl_way_t way;
    const void *send;     /* the user's, and */
    size_t element_bytes; /* of an element there, packed, of what is combined */
    uint64_t word;        /* what all ranks of it call, see call_word.h */
    xyl_combiner_t combiner;
    /* Whoever plans borrows them; the operation that comes of it holds them
     * from then on. */
    xyl_sides_t sides;
    xyl_problem_t problem; /* it borrows the arguments */
    uint64_t *blocks;      /* memory of the problem's; NULL: it needs none */
} xyl_call_t;

/* 1 when a reduction's bits are to depend on its contributions alone. */
int xyl_call_is_reproducible(const xylem_team_t *team,
                             const xylem_coll_args_t *args);
/* 1 when contributions to a reduction may be combined as they come. */
int xyl_call_takes_any_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative);

/* Where blocks vary: the mean of those that all ranks know alike, in bytes,
 * because ranks may describe them by different types; 0 where they know none,
 * or the counts are missing. A rank's own count would lead ranks apart. */
uint64_t xyl_call_common_bytes(const xylem_team_t *team,
                               const xylem_coll_args_t *args);

/* The part of the problem that says nothing of differing blocks. */
void xyl_call_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                      xyl_way_t way, int is_commutative,
                      xyl_problem_t *problem_out);

/* Begins a call: its team, its sides, and what this rank uses of the arguments,
 * with packed types but not yet in common terms. The values of these are to be
 * checked then, and its way to be set. After a failure there is nothing to give
 * back. */
xylem_status_t xyl_call_pack(xylem_team_t *team, const xylem_coll_args_t *said,
                             xyl_call_t *call_out);
/* Blocks are of bytes from then on, which ranks may describe by different
 * types. */
void xyl_call_to_bytes(xyl_call_t *call);
/* The rest of a call whose arguments have been checked, which is not copied
 * afterwards. */
xylem_status_t xyl_call_resolve(xyl_call_t *call);
/* xyl_call_fini frees the memory of a call whose sides an operation holds;
 * xyl_call_give_up frees the sides, too, also of a call that has not been
 * resolved. */
void xyl_call_fini(xyl_call_t *call);
void xyl_call_give_up(xyl_call_t *call);

#endif
