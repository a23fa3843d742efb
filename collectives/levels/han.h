/* Collectives of several levels: stages between nodes and stages within them,
 * in series, segment by segment (docs/inside/levels.md). Each lane has a leader
 * on each node, which has stages of both kinds.
 *
 * HAN: Luo et al., Cluster 2020; Luo, PhD thesis, University of Tennessee,
 * 2020, chapter 6. HAN orders the tasks of a level by hand; here events start
 * them. */
#pragma once

#include "collectives/data/call.h"
#include "collectives/stages/choice.h"

/* Creates a bcast, reduce, allreduce or barrier on several nodes, as
 * xyl_node_create (node.h) does on one. */
xylem_status_t xyl_han_create(const xyl_call_t *call,
                              const xyl_choice_t *choice,
                              xyl_operation_t **operation_out);

/* Creates one of the other collectives: each level moves the whole message at
 * once. Elements may have gaps. */
xylem_status_t xyl_han_whole_create(const xyl_call_t *call,
                                    const xyl_choice_t *choice,
                                    xyl_operation_t **operation_out);

/* 1: contributions that are combined node by node are in the order of ranks. */
int xyl_han_keeps_order(xylem_team_t *team);

struct xyl_levels;
/* 1: the memory of all nodes has room for an alltoall's blocks. Equal on all
 * ranks. */
int xyl_han_alltoall_fits(const xylem_team_t *team,
                          const struct xyl_levels *levels,
                          uint64_t block_bytes);
