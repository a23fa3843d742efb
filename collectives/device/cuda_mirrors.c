/* Mirrors in memory of the host, for ranks of one node whose buffers lie in
 * memory of GPUs. Each rank copies its input to its mirror, the collective runs
 * in the memory of the node, by the table's algorithm for it, and each rank
 * copies its result back. Ranks tell one another nothing, so buffers of some of
 * them may lie anywhere. Copies through the host need not wait for a turn on a
 * GPU that ranks share. */
#include "collectives/data/description.h"
#include "collectives/device/plan.h"
#include "collectives/levels/parts.h"

/* The composer of the operation puts the mirrors around this stage. */
static void cuda_mirrors_add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t how = {.reads = XYL_ROLE_INPUT,
                                 .writes = XYL_ROLE_RESULT};

    xyl_han_add_node(han, &han->problem, &how);
}

const xyl_algorithm_t xyl_algorithm_cuda_mirrors = {
    .name = "cuda_mirrors",
    .help = "copies to the host and back, around the node's algorithm",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_DEVICE_COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_mirrors_add_stages,
};
