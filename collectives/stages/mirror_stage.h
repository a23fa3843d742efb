/* Mirror stages, at the ends of an operation's lanes where a buffer of the
 * user's lies in memory that the processor does not touch: one before all
 * others brings input from there to the mirror that these work on, one behind
 * them brings the result back, segment by segment where the message is cut,
 * else by runs. They send nothing, so that other ranks need not know: each rank
 * has a mirror, or has none. */
#ifndef XYL_COLLECTIVES_STAGES_MIRROR_STAGE_H
#define XYL_COLLECTIVES_STAGES_MIRROR_STAGE_H

#include "collectives/data/extents.h"
#include "collectives/stages/collective.h"

/* After all other stages. Nothing is done where the executor has no mirrors. */
xylem_status_t xyl_mirror_stages_add(xyl_operation_t *operation,
                                     const xyl_call_t *call);

/* The parts of that, for those who decide in each run whether there are
 * mirrors: a stage between a buffer and its mirror, which may be passed over in
 * the run that is under way, and the memory of both. */
xylem_status_t xyl_mirror_stage_add(xyl_operation_t *operation,
                                    const xyl_stage_spec_t *spec,
                                    const xyl_extents_t *extents,
                                    xyl_stage_t **stage_out);
void xyl_mirror_stage_skip(xyl_stage_t *stage, int is_skipped);
xylem_status_t xyl_mirrors_take(xyl_operation_t *operation,
                                const xyl_extents_t *input,
                                const xyl_extents_t *result,
                                int are_one_buffer);

/* Gives back the memory of mirrors, if there is any. */
void xyl_mirrors_give(xyl_operation_t *operation);

#endif
