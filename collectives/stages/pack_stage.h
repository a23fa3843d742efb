/* Pack stages, at the ends of an operation's lanes if the stages between work
 * in memory of the operation: on packed bytes, if this rank's elements have
 * gaps; or on sums of numbers (collectives/data/binned.h). They send nothing,
 * so other ranks need not know. */
#ifndef XYL_COLLECTIVES_STAGES_PACK_STAGE_H
#define XYL_COLLECTIVES_STAGES_PACK_STAGE_H

#include "collectives/stages/collective.h"

/* Adds pack stages to a broadcast, after all other stages. A rank with input
 * packs it before those, segment by segment; other ranks unpack behind them.
 * `layout` is the result's, borrowed as long as the operation lives; NULL:
 * plain, and no stage is added. */
xylem_status_t xyl_pack_stages_add(xyl_operation_t *operation,
                                   const xyl_layout_t *layout);

/* Adds pack stages to a reduction that combines sums of numbers, after all
 * other stages. If those do not take the user's numbers themselves, this rank's
 * `input_count` numbers become sums, and sums become `result_count` numbers (0:
 * this rank has no result). */
xylem_status_t xyl_pack_sums_add(xyl_operation_t *operation, size_t input_count,
                                 size_t result_count);

#endif
