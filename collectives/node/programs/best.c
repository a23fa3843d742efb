/* The name `node`, which stands for the first algorithm in the memory of a node
 * that the tables name. */
#include "collectives/data/algorithm.h"

const xyl_algorithm_t xyl_algorithm_node_best = {
    .name = "node",
    .help = "the first of those in the memory of a node that the tables name",
    .kind = XYL_ALGORITHM_NODE,
    .colls = (1u << XYLEM_COLL_COUNT) - 1,
    .needs = XYL_STANDS_FOR_KIND,
};
