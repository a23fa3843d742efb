/* Copy stages, at the ends of an operation's lanes, where the stages between do
 * not work on the user's buffers. They copy segment by segment if the message
 * is cut. They send nothing, so other ranks need not know of them.
 *
 * Pack stages stand around stages that work in memory of the operation: on
 * packed bytes, if this rank's elements have gaps; or on sums of numbers
 * (collectives/data/binned.h).
 *
 * Mirror stages are for a user's buffer in memory that the processor does not
 * touch. The first stage copies the input to a mirror, on which the stages
 * between work; the last copies the result back. A message that is not cut goes
 * by runs. */
#pragma once

#include "collectives/data/extents.h"
#include "collectives/stages/collective.h"

/* Adds pack stages to a broadcast, after all other stages. A rank with input
 * packs it before the other stages, segment by segment; other ranks unpack the
 * result behind them. `layout` is the result's, borrowed as long as the
 * operation lives; NULL: plain, and no stage is added. */
xylem_status_t xyl_pack_stages_add(xyl_operation_t *operation,
                                   const xyl_layout_t *layout);

/* Adds pack stages to a reduction that combines sums of numbers, after all
 * other stages. If the other stages do not take the user's numbers themselves,
 * this rank's `input_count` numbers become sums, and sums become `result_count`
 * numbers (0: this rank has no result). */
xylem_status_t xyl_pack_sums_add(xyl_operation_t *operation, size_t input_count,
                                 size_t result_count);

/* The bytes of a call's buffers that its mirrors have. */
typedef struct xyl_mirrors {
    xyl_extents_t input, result;
    int are_one; /* both lie in one buffer */
} xyl_mirrors_t;

/* Adds mirror stages, after all other stages; none if the executor has no
 * mirrors, or if the operation has them already. If `later_out` is NULL, the
 * function takes the memory of the mirrors at once; else a run that uses the
 * stages takes it for *later_out. */
xylem_status_t xyl_mirror_stages_add(xyl_operation_t *operation,
                                     const xyl_call_t *call,
                                     xyl_mirrors_t *later_out);

/* The parts of xyl_mirror_stages_add, for a collective that decides in each run
 * whether it has mirrors. A stage lies between a buffer and its mirror; the
 * current run may skip it. Until a run takes the memory of both mirrors and
 * binds the stages, they are bound to an address that no stage may use. */
xylem_status_t xyl_mirror_stage_add(xyl_operation_t *operation,
                                    const xyl_stage_spec_t *spec,
                                    const xyl_extents_t *extents,
                                    xyl_stage_t **stage_out);
void xyl_mirror_stage_skip(xyl_stage_t *stage, int is_skipped);
xylem_status_t xyl_mirrors_find(xyl_operation_t *operation,
                                const xyl_call_t *call,
                                xyl_mirrors_t *mirrors_out);
void xyl_mirrors_postpone(xyl_operation_t *operation);
xylem_status_t xyl_mirrors_take(xyl_operation_t *operation,
                                const xyl_mirrors_t *mirrors);

/* Sets the operation's scratch to memory that the user's executor reaches, too.
 */
xylem_status_t xyl_mirror_scratch_take(xyl_operation_t *operation,
                                       uint64_t bytes);
