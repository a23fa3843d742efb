/* The leader of each node, its lowest rank, watches the leaders of other nodes
 * (runtime/job/lookout.h). If a node has not answered for XYLEM_SILENCE_S, the
 * leaders that watch it take all of its ranks for dead. */
#pragma once

#include "runtime/core/context.h"
#include "runtime/job/lookout.h"

extern const xyl_module_t xyl_node_watch_module;

/* Called when all ranks' places are known. The caller sends *address_out to all
 * ranks. */
void xyl_node_watch_open(xylem_context_t *context,
                         xyl_lookout_address_t *address_out);
/* 1: this rank watches other nodes. */
int xyl_node_watch_is_open(const xylem_context_t *context);
/* Called when the addresses of all leaders are known. */
xylem_status_t xyl_node_watch_start(xylem_context_t *context);
void xyl_node_watch_stop(xylem_context_t *context);
