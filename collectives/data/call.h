/* A call as those read it who plan it: found once, whatever way it then goes.
 */
#ifndef XYL_COLLECTIVES_DATA_CALL_H
#define XYL_COLLECTIVES_DATA_CALL_H

#include "collectives/data/op.h"
#include "collectives/data/problem.h"
#include "collectives/data/sides.h"
#include "runtime/core/team.h"

/* Of the flags of a call, beside the user's: it has a tag, and a board by that.
 */
#define XYL_FLAG_ON_BOARD 0x40000000u

typedef struct xyl_call {
    xylem_team_t *team;
    const xylem_coll_args_t *users; /* those of the user, with types replaced */
    const xylem_coll_args_t *args;  /* checked; names no type of the user's */
    xyl_combiner_t combiner;
    /* Whoever plans borrows them; the operation that comes of it holds them
     * from then on. */
    xyl_sides_t sides;
    xyl_problem_t problem;
    uint64_t *blocks; /* memory of the problem's; NULL: it needs none */
} xyl_call_t;

/* The part of the problem that says nothing of differing blocks. */
void xyl_call_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                      int is_commutative, xyl_problem_t *problem_out);

/* From team, args, combiner and sides to the problem; of an alltoallw, whose
 * types are those of its blocks, to its sides as well. After a failure the
 * sides are to be released, too. */
xylem_status_t xyl_call_resolve(xyl_call_t *call);
/* What resolving took, but for the sides. */
void xyl_call_fini(xyl_call_t *call);

#endif
