/* Liveness: this rank sees, by a descriptor of each process, that a process on
 * this machine has died. UCX's shared memory does not report that. */
#pragma once

#include "runtime/core/context.h"

extern const xyl_module_t xyl_liveness_module;

/* After the driver has started. Without effect if there are no local peers. */
xylem_status_t xyl_liveness_start(xylem_context_t *context);
void xyl_liveness_stop(xylem_context_t *context);
/* Closes the descriptors, to leave them to messages, and polls /proc in their
 * place. Called before the first turn. */
void xyl_liveness_spare_descriptors(xylem_context_t *context);

/* The progressing thread, after a message could not be moved. The kernel frees
 * the memory of a dying process a moment before it reports the end, so this
 * function waits a moment for that report. Returns XYLEM_ERR_PROC_FAILED if a
 * process of `team` has ended, else `status`. */
xylem_status_t xyl_liveness_explain(xylem_context_t *context,
                                    const xylem_team_t *team,
                                    xylem_status_t status);
/* The net asks this before a first message to a peer (`arg` is the context). 0:
 * the peer's process has ended, or counts as dead; it is suspected now. */
int xyl_liveness_peer_lives(void *arg, uint32_t peer);
