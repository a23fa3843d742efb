/* The exchange stage: runs a schedule. */
#ifndef XYL_COLLECTIVES_EXCHANGE_STAGE_H
#define XYL_COLLECTIVES_EXCHANGE_STAGE_H

#include "collectives/layout.h"
#include "collectives/operation.h"
#include "collectives/schedule.h"

/* Adds a stage that runs `schedule` when all of its input is there, and emits
 * all segments at its end. The schedule is copied; its peers are ranks of the
 * stage's group. It reads what schedules call SEND, and writes RECV. */
xylem_status_t xyl_exchange_stage_add(xyl_operation_t *operation, uint32_t lane,
                                      const xyl_schedule_t *schedule);

/* One side's buffer; `layout` (borrowed until the operation is freed) is NULL
 * where elements are plain. Once, before the first bind. */
xylem_status_t xyl_exchange_stage_layouts(xyl_stage_t *stage,
                                          const xyl_layout_t *send,
                                          const xyl_layout_t *recv);

#endif
