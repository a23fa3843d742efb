/* Pack stages, at the ends of an operation's lanes where this rank's elements
 * have gaps: all stages between them work on packed bytes in the operation's
 * scratch memory. Only this rank has them, and they send nothing, so that other
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

#endif
