/* The two designs that event-driven collectives replace, as stages on the same
 * network, engine, trees, segments and combiners as the library's own, so that
 * nothing differs but what waits for what:
 *
 * blocking  one transfer at a time: child by child, segment by segment
 *           (Luo, PhD thesis, University of Tennessee, 2020, algorithm 1)
 * waitall   the transfers of a segment with all children at once, then a wait
 *           for all of them; the next segment's receives are posted before
 *           (the same, algorithm 2)
 *
 * A program of these designs stands in a call until its transfers are over.
 * Here the stage keeps where it stands, and the event of a transfer takes it on
 * to the next wait: nobody blocks, so one thread can run many ranks.
 *
 * For comparison only; nothing in the library uses this. All functions but
 * rival_init run on the thread that progresses. */
#ifndef XYL_BENCH_MEASURE_RIVAL_STAGES_H
#define XYL_BENCH_MEASURE_RIVAL_STAGES_H

#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef enum rival_design { RIVAL_BLOCKING, RIVAL_WAITALL } rival_design_t;

/* A persistent request like that of xylem_coll_init: a broadcast or reduction
 * as `args` say, in the tree and segments that the library would take. Of two
 * trees these designs know the first; windows do not apply to them. A segment
 * is combined in the order own, first child, second child, ... Returns owned
 * (free with xylem_request_free). XYLEM_ERR_UNSUPPORTED: XYLEM_FLAG_PARTS, and
 * operations that are not commutative. */
xylem_status_t rival_init(rival_design_t design, xylem_team_t *team,
                          const xylem_coll_args_t *args,
                          xylem_request_t **request_out);

/* What makes the two designs out of one loop over the segments. */
typedef struct rival_pace {
    uint32_t at_once; /* transfers with children that are under way together */
    uint32_t ahead;   /* segments whose receives are posted before their turn */
} rival_pace_t;

/* Adds the operation's only stage; its windows are pace->ahead + 1 wide. All
 * input is there at the start, so it is never told segment_ready. It reads and
 * writes as the stages of collectives/stages/tree_stage.h do. */
xylem_status_t rival_down_add(xyl_operation_t *operation,
                              const rival_pace_t *pace, uint32_t root);
xylem_status_t rival_up_add(xyl_operation_t *operation,
                            const rival_pace_t *pace, uint32_t root);

#endif
