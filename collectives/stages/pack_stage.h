/* Pack stages, at the ends of an operation's lanes where the stages between
 * them work on something else than the user's elements, in memory of the
 * operation: on packed bytes, where this rank's elements have gaps; or on sums
 * of numbers (collectives/data/binned.h). They send nothing, so that other
 * ranks need not know. */
#ifndef XYL_COLLECTIVES_STAGES_PACK_STAGE_H
#define XYL_COLLECTIVES_STAGES_PACK_STAGE_H

#include "collectives/stages/collective.h"

/* After all stages of a broadcast have been added. A rank with input packs it
 * before them, segment by segment; others unpack behind them. `layout` is that
 * of the result; NULL: plain, and nothing is done. Borrows it for as long as
 * the operation lives. */
xylem_status_t xyl_pack_stages_add(xyl_operation_t *operation,
                                   const xyl_layout_t *layout);

/* After all stages of a reduction have been added that combines sums of
 * numbers. Where stages do not take the user's numbers by themselves, the
 * `input_count` of this rank become sums, and where it has a result
 * (`result_count` not 0) sums become numbers. */
xylem_status_t xyl_sum_stages_add(xyl_operation_t *operation,
                                  size_t input_count, size_t result_count);

#endif
