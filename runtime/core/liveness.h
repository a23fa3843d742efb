/* Liveness: notices the death of processes on this machine, which UCX's shared
 * memory does not report, by a process descriptor of each. */
#ifndef XYL_RUNTIME_CORE_LIVENESS_H
#define XYL_RUNTIME_CORE_LIVENESS_H

#include "runtime/core/context.h"

/* After the driver has started. Sets context->liveness; without local peers or
 * without support of the kernel it stays NULL. */
xylem_status_t xyl_liveness_start(xylem_context_t *context);
void xyl_liveness_stop(xylem_context_t *context);
/* Gives up the descriptors and looks instead: others need them more. Before the
 * first turn. */
void xyl_liveness_spare_descriptors(xylem_context_t *context);

/* The progressing thread: a message could not be moved. The kernel takes the
 * memory of a dying process away a moment before it says that the process has
 * ended: waits for that word, but only a moment. XYLEM_ERR_PROC_FAILED when a
 * process of `team` has ended, else `status`. */
xylem_status_t xyl_liveness_explain(xylem_context_t *context,
                                    const xylem_team_t *team,
                                    xylem_status_t status);
/* The same of one process, as the net asks before a first message (`arg` is the
 * context): 0 if it has ended, or counts as dead, which is then known. */
int xyl_liveness_peer_lives(void *arg, uint32_t peer);

#endif
