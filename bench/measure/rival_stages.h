/* The two designs that event-driven collectives replace, as stages on the same
 * network, engine, trees, segments and combiners as the library's own. They
 * differ only in their waits:
 *
 * blocking  one transfer at a time: child by child, segment by segment
 *           (Luo, PhD thesis, University of Tennessee, 2020, algorithm 1)
 * waitall   the transfers of a segment with all children at once, then a wait
 *           for all of them; the next segment's receives are posted before
 *           (the same, algorithm 2)
 *
 * A program of these designs would block in a call until its transfers are
 * over. Here the stage keeps its place in the program, and the event of a
 * transfer takes it on to the next wait; so one thread can run many ranks.
 *
 * For comparison only; nothing in the library uses this. All functions but
 * rival_init run on the thread that progresses. */
#pragma once

#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef enum rival_design { RIVAL_BLOCKING, RIVAL_WAITALL } rival_design_t;

/* A persistent request like that of xylem_coll_init: a broadcast or reduction
 * by `args`, in the tree and segments that the library would take, but without
 * windows, and of a double tree only the first. A segment is combined in the
 * order own, first child, second child, ... Returns owned
 * (free with xylem_request_free). XYLEM_ERR_UNSUPPORTED: XYLEM_FLAG_PARTS, and
 * operations that are not commutative. */
xylem_status_t rival_init(rival_design_t design, xylem_team_t *team,
                          const xylem_coll_args_t *args,
                          xylem_request_t **request_out);

/* The parameters by which one loop over the segments is either design. */
typedef struct rival_pace {
    uint32_t at_once; /* transfers with children that are under way together */
    uint32_t ahead;   /* segments whose receives are posted before their turn */
} rival_pace_t;

/* Adds the operation's only stage; its windows are pace->ahead + 1 wide. As all
 * input is there at the start, segment_ready is never called. The stage reads
 * and writes as the stages of collectives/stages/tree_stage.h do. */
xylem_status_t rival_down_add(xyl_operation_t *operation,
                              const rival_pace_t *pace, uint32_t root);
xylem_status_t rival_up_add(xyl_operation_t *operation,
                            const rival_pace_t *pace, uint32_t root);
