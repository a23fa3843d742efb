#include "collectives/node/programs/parts.h"

static const xyl_node_algorithm_fn table[XYLEM_COLL_COUNT] = {
    [XYLEM_COLL_BCAST] = xyl_node_bcast,
    [XYLEM_COLL_REDUCE] = xyl_node_reduce,
    [XYLEM_COLL_ALLREDUCE] = xyl_node_allreduce,
    [XYLEM_COLL_BARRIER] = xyl_node_barrier,
    [XYLEM_COLL_GATHER] = xyl_node_gather,
    [XYLEM_COLL_GATHERV] = xyl_node_gather,
    [XYLEM_COLL_SCATTER] = xyl_node_scatter,
    [XYLEM_COLL_SCATTERV] = xyl_node_scatter,
    [XYLEM_COLL_ALLGATHER] = xyl_node_allgather,
    [XYLEM_COLL_ALLGATHERV] = xyl_node_allgather,
    [XYLEM_COLL_ALLTOALL] = xyl_node_alltoall,
    [XYLEM_COLL_ALLTOALLV] = xyl_node_alltoall,
    [XYLEM_COLL_ALLTOALLW] = xyl_node_alltoall,
    [XYLEM_COLL_REDUCE_SCATTER] = xyl_node_reduce_scatter,
    [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = xyl_node_reduce_scatter,
    [XYLEM_COLL_SCAN] = xyl_node_scan,
    [XYLEM_COLL_EXSCAN] = xyl_node_scan,
};

xyl_node_algorithm_fn xyl_node_algorithm(xylem_coll_t coll)
{
    return table[coll];
}
