/* The exchange stage: runs a schedule. */
#pragma once

#include "collectives/data/layout.h"
#include "collectives/data/limits.h"
#include "collectives/data/schedule.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

/* The most pieces into which a message of the team may be cut. */
static inline uint32_t xyl_exchange_pieces(const xylem_team_t *team)
{
    return team->is_one_node
               ? (uint32_t)xyl_limits_of(team->context)->exchange_pieces
               : 1;
}

/* Adds a stage that runs `schedule` when all of its input is there, and emits
 * all segments at its end. The schedule is copied; its peers are ranks of the
 * stage's group. The stage reads SEND of the schedule, and writes RECV. Layouts
 * are borrowed until the operation is freed. */
xylem_status_t xyl_exchange_stage_add(xyl_operation_t *operation,
                                      const xyl_stage_spec_t *spec,
                                      const xyl_schedule_t *schedule,
                                      const xyl_layouts_t *layouts,
                                      xyl_stage_t **stage_out);

/* Sets a function for lengths that are known only when the input is there. The
 * stage then calls `trim`, at every start. `trim` writes counts, at most those
 * of the schedule, and offsets to the actions, in the order in which these were
 * added. `arg` is borrowed until the operation is freed. A stage of a team on
 * one node has no such function. */
typedef void (*xyl_exchange_trim_fn)(const void *arg,
                                     xyl_action_entry_t *actions);
void xyl_exchange_stage_trim(xyl_stage_t *stage, xyl_exchange_trim_fn trim,
                             const void *arg);
