/* Mirror stages, at the ends of an operation's lanes, for a user's buffer in
 * memory that the processor does not touch. The first stage copies the input to
 * a mirror, on which the stages between work; the last copies the result back.
 * They copy segment by segment if the message is cut, else by runs. They send
 * nothing, so a rank has mirrors or has none, and others need not know. */
#ifndef XYL_COLLECTIVES_STAGES_MIRROR_STAGE_H
#define XYL_COLLECTIVES_STAGES_MIRROR_STAGE_H

#include "collectives/data/extents.h"
#include "collectives/stages/collective.h"

/* Adds mirror stages, after all other stages; none if the executor has no
 * mirrors, or if they are there. */
xylem_status_t xyl_mirror_stages_add(xyl_operation_t *operation,
                                     const xyl_call_t *call);

/* The parts of that, for a collective that decides in each run whether it has
 * mirrors: a stage between a buffer and its mirror, which may be skipped in the
 * current run, and the memory of both mirrors. */
xylem_status_t xyl_mirror_stage_add(xyl_operation_t *operation,
                                    const xyl_stage_spec_t *spec,
                                    const xyl_extents_t *extents,
                                    xyl_stage_t **stage_out);
void xyl_mirror_stage_skip(xyl_stage_t *stage, int is_skipped);
xylem_status_t xyl_mirrors_take(xyl_operation_t *operation,
                                const xyl_extents_t *input,
                                const xyl_extents_t *result,
                                int are_one_buffer);

/* Sets the operation's scratch to memory that the user's executor reaches, too.
 */
xylem_status_t xyl_mirror_scratch_take(xyl_operation_t *operation,
                                       uint64_t bytes);

#endif
