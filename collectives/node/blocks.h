/* The blocks of a collective in which they differ, in packed bytes, for node
 * programs. */
#ifndef XYL_COLLECTIVES_NODE_BLOCKS_H
#define XYL_COLLECTIVES_NODE_BLOCKS_H

#include "collectives/data/sides.h"
#include "collectives/node/program.h"
#include "runtime/core/team.h"

/* Points the problem at arrays in *memory_out, to be freed; NULL: it needs
 * none. What the types of an alltoallw describe is written to `sides`, to be
 * released. */
xylem_status_t xyl_node_blocks_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_sides_t *sides,
                                    xyl_node_problem_t *problem,
                                    uint64_t **memory_out);

#endif
