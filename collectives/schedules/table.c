#include <string.h>

#include "collectives/schedules/writers.h"

/* Ordered by collective; within one the first that fits is a safe choice. */
static const xyl_algorithm_t table[] = {
    {XYLEM_COLL_BCAST, "scatter_ring",
     "scatter, then round the ring (Barnett et al. 1994)",
     xyl_bcast_scatter_ring, 0, 0, 0},
    {XYLEM_COLL_BCAST, "scatter_allgather",
     "scatter, then recursive doubling (Thakur et al. 2005)",
     xyl_bcast_scatter_allgather, 0, 0, 0},
    {XYLEM_COLL_BCAST, "circulant", "round-optimal in many blocks (Traff 2024)",
     xyl_bcast_circulant, XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_BCAST, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_BCAST, "han", "levels in series (Luo et al. 2020)", NULL,
     XYL_NEEDS_LEVELS | XYL_TAKES_RADIX, 0, 16},
    {XYLEM_COLL_REDUCE, "rabenseifner",
     "recursive halving, then a gather (Rabenseifner 2004)",
     xyl_reduce_rabenseifner, 0, 0, 0},
    {XYLEM_COLL_REDUCE, "circulant",
     "round-optimal in many blocks (Traff 2024)", xyl_reduce_circulant,
     XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_REDUCE, "linear",
     "each straight to the root (Gabriel et al. 2004)", xyl_reduce_linear, 0, 0,
     0},
    {XYLEM_COLL_REDUCE, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_REDUCE, "han", "levels in series (Luo et al. 2020)", NULL,
     XYL_NEEDS_LEVELS | XYL_TAKES_RADIX, 0, 16},
    {XYLEM_COLL_ALLREDUCE, "recursive_doubling",
     "all exchange all, log2 rounds (Thakur et al. 2005)",
     xyl_allreduce_recursive_doubling, 0, 0, 0},
    {XYLEM_COLL_ALLREDUCE, "recursive_multiplying",
     "groups of radix exchange (Ruefenacht et al. 2017)",
     xyl_allreduce_recursive_multiplying, XYL_TAKES_RADIX, 4, 32},
    {XYLEM_COLL_ALLREDUCE, "rabenseifner",
     "recursive halving, then doubling (Rabenseifner 2004)",
     xyl_reduce_rabenseifner, 0, 0, 0},
    {XYLEM_COLL_ALLREDUCE, "ring",
     "parts go twice round the ring (Patarasuk, Yuan 2009)", xyl_reduce_ring,
     XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_ALLREDUCE, "circulant",
     "halving and doubling for any number of ranks (Traff 2024)",
     xyl_reduce_parts_circulant, XYL_NEEDS_COMMUTATIVE, 0, 0},
    {XYLEM_COLL_ALLREDUCE, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_ALLREDUCE, "han", "levels in series (Luo et al. 2020)", NULL,
     XYL_NEEDS_LEVELS | XYL_TAKES_RADIX, 0, 16},
    {XYLEM_COLL_GATHER, "knomial",
     "up a tree, subtrees in one message (Chan et al. 2007)",
     xyl_gather_knomial, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_GATHER, "linear",
     "each straight to the root (Gabriel et al. 2004)", xyl_gather_linear, 0, 0,
     0},
    {XYLEM_COLL_GATHER, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_GATHER, "han", "levels in series (Karonis et al. 2000)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_GATHERV, "linear",
     "each straight to the root (Gabriel et al. 2004)", xyl_gather_linear, 0, 0,
     0},
    {XYLEM_COLL_GATHERV, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_GATHERV, "han", "levels in series (Traff 2004)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_SCATTER, "knomial",
     "down a tree, subtrees in one message (Chan et al. 2007)",
     xyl_scatter_knomial, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_SCATTER, "linear",
     "from the root straight to each (Gabriel et al. 2004)", xyl_scatter_linear,
     0, 0, 0},
    {XYLEM_COLL_SCATTER, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_SCATTER, "han", "levels in series (Karonis et al. 2000)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_SCATTERV, "linear",
     "from the root straight to each (Gabriel et al. 2004)", xyl_scatter_linear,
     0, 0, 0},
    {XYLEM_COLL_SCATTERV, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_SCATTERV, "han", "levels in series (Traff 2004)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_ALLGATHER, "ring", "from neighbour to neighbour (Thakur 2005)",
     xyl_allgather_ring, 0, 0, 0},
    {XYLEM_COLL_ALLGATHER, "recursive_doubling",
     "all exchange all, log2 rounds (Thakur et al. 2005)",
     xyl_allgather_recursive_doubling, 0, 0, 0},
    {XYLEM_COLL_ALLGATHER, "bruck",
     "log rounds over growing distances (Bruck et al. 1997)",
     xyl_allgather_bruck, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_ALLGATHER, "neighbor_exchange",
     "pairs of blocks between neighbours (Chen et al. 2005)",
     xyl_allgather_neighbor_exchange, XYL_NEEDS_EVEN, 0, 0},
    {XYLEM_COLL_ALLGATHER, "sparbit",
     "a binomial tree per block (Loch, Koslovski 2021)", xyl_allgather_sparbit,
     0, 0, 0},
    {XYLEM_COLL_ALLGATHER, "linear",
     "each straight to all others (Thakur et al. 2005)", xyl_allgather_linear,
     0, 0, 0},
    {XYLEM_COLL_ALLGATHER, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_ALLGATHER, "han", "levels in series (Traff 2006)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "ring", "from neighbour to neighbour (Thakur 2005)",
     xyl_allgather_ring, 0, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "recursive_doubling",
     "all exchange all, log2 rounds (Thakur et al. 2005)",
     xyl_allgather_recursive_doubling, 0, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "bruck",
     "log rounds over growing distances (Bruck et al. 1997)",
     xyl_allgather_bruck, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_ALLGATHERV, "neighbor_exchange",
     "pairs of blocks between neighbours (Chen et al. 2005)",
     xyl_allgather_neighbor_exchange, XYL_NEEDS_EVEN, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "sparbit",
     "a binomial tree per block (Loch, Koslovski 2021)", xyl_allgather_sparbit,
     0, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "linear",
     "each straight to all others (Thakur et al. 2005)", xyl_allgather_linear,
     0, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_ALLGATHERV, "han", "levels in series (Traff 2006)", NULL,
     XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_ALLTOALL, "pairwise", "one partner per step (Thakur 2005)",
     xyl_alltoall_pairwise, 0, 0, 0},
    {XYLEM_COLL_ALLTOALL, "bruck",
     "log rounds, blocks go by the digits of their way (Bruck et al. 1997)",
     xyl_alltoall_bruck, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_ALLTOALL, "linear",
     "all at once, straight (Thakur et al. 2005)", xyl_alltoall_linear, 0, 0,
     0},
    {XYLEM_COLL_ALLTOALL, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_ALLTOALL, "han", "levels in series (Kuehnemann et al. 2006)",
     NULL, XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_ALLTOALLV, "pairwise", "one partner per step (Thakur 2005)",
     xyl_alltoall_pairwise, 0, 0, 0},
    {XYLEM_COLL_ALLTOALLV, "linear",
     "all at once, straight (Thakur et al. 2005)", xyl_alltoall_linear, 0, 0,
     0},
    {XYLEM_COLL_ALLTOALLV, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_ALLTOALLV, "han", "levels in series (Kuehnemann et al. 2006)",
     NULL, XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_BARRIER, "dissemination",
     "radix - 1 partners per round (Hensgen et al. 1988)",
     xyl_barrier_dissemination, XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_BARRIER, "recursive_doubling",
     "all tell all, log2 rounds (Thakur et al. 2005)",
     xyl_barrier_recursive_doubling, 0, 0, 0},
    {XYLEM_COLL_BARRIER, "knomial",
     "up a tree and down again (Hensgen et al. 1988)", xyl_barrier_knomial,
     XYL_TAKES_RADIX, 2, 64},
    {XYLEM_COLL_BARRIER, "double_ring",
     "a token goes round twice (Gabriel et al. 2004)", xyl_barrier_double_ring,
     0, 0, 0},
    {XYLEM_COLL_BARRIER, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_BARRIER, "han", "levels in series (Luo et al. 2020)", NULL,
     XYL_NEEDS_LEVELS | XYL_TAKES_RADIX, 0, 16},
    {XYLEM_COLL_REDUCE_SCATTER, "pairwise",
     "one partner per step (Thakur et al. 2005)", xyl_reduce_scatter_pairwise,
     0, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, "recursive_halving",
     "half of the rest per round (Thakur et al. 2005)",
     xyl_reduce_scatter_recursive_halving, XYL_NEEDS_COMMUTATIVE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, "ring",
     "parts go round the ring (Thakur et al. 2005)", xyl_reduce_ring,
     XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, "circulant",
     "halving for any number of ranks (Traff 2024)", xyl_reduce_parts_circulant,
     XYL_NEEDS_COMMUTATIVE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, "node", "through the shared memory of a node",
     NULL, XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER, "han", "levels in series (Luo et al. 2020)",
     NULL, XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "pairwise",
     "one partner per step (Thakur et al. 2005)", xyl_reduce_scatter_pairwise,
     0, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "recursive_halving",
     "half of the rest per round (Thakur et al. 2005)",
     xyl_reduce_scatter_recursive_halving, XYL_NEEDS_COMMUTATIVE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "ring",
     "parts go round the ring (Thakur et al. 2005)", xyl_reduce_ring,
     XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "circulant",
     "halving for any number of ranks (Traff 2024)", xyl_reduce_parts_circulant,
     XYL_NEEDS_COMMUTATIVE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "node",
     "through the shared memory of a node", NULL, XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_REDUCE_SCATTER_BLOCK, "han",
     "levels in series (Luo et al. 2020)", NULL, XYL_NEEDS_LEVELS, 0, 0},
    {XYLEM_COLL_SCAN, "recursive_doubling",
     "sums of twice as many (Hillis, Steele 1986)", xyl_scan_recursive_doubling,
     0, 0, 0},
    {XYLEM_COLL_SCAN, "linear", "from rank to rank, in segments",
     xyl_scan_linear, XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_SCAN, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_SCAN, "han", "levels in series (Sanders, Traff 2006)", NULL,
     XYL_NEEDS_LEVELS | XYL_NEEDS_FILLED_NODES, 0, 0},
    {XYLEM_COLL_EXSCAN, "recursive_doubling",
     "sums of 1, 3, 6, 12, ... ranks (Traff 2025)", xyl_scan_recursive_doubling,
     0, 0, 0},
    {XYLEM_COLL_EXSCAN, "linear", "from rank to rank, in segments",
     xyl_scan_linear, XYL_TAKES_SEGMENTS, 0, 0},
    {XYLEM_COLL_EXSCAN, "node", "through the shared memory of a node", NULL,
     XYL_NEEDS_NODE, 0, 0},
    {XYLEM_COLL_EXSCAN, "han", "levels in series (Sanders, Traff 2006)", NULL,
     XYL_NEEDS_LEVELS | XYL_NEEDS_FILLED_NODES, 0, 0},
};

const xyl_algorithm_t *xyl_algorithms(size_t *count_out)
{
    *count_out = sizeof table / sizeof *table;
    return table;
}

const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name)
{
    size_t i;

    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].coll == coll && strcmp(table[i].name, name) == 0)
            return &table[i];
    return NULL;
}

int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const xyl_problem_t *problem, const char **why)
{
    uint32_t flags = algorithm->flags;
    const char *missing = NULL;

    if ((flags & XYL_NEEDS_COMMUTATIVE) != 0 && !problem->is_commutative)
        missing = "needs a commutative operation";
    else if ((flags & XYL_NEEDS_POWER_OF_TWO) != 0 &&
             (problem->ranks & (problem->ranks - 1)) != 0)
        missing = "needs a power of two of ranks";
    else if ((flags & XYL_NEEDS_EVEN) != 0 && problem->ranks % 2 != 0)
        missing = "needs an even number of ranks";
    else if ((flags & XYL_NEEDS_NODE) != 0 && !problem->shares_memory)
        missing = "needs ranks that share memory";
    else if ((flags & XYL_NEEDS_LEVELS) != 0 && !problem->is_commutative &&
             !problem->fills_nodes)
        missing = "needs ranks that fill node after node, or a commutative "
                  "operation";
    else if ((flags & XYL_NEEDS_FILLED_NODES) != 0 && !problem->fills_nodes)
        missing = "needs ranks that fill node after node";
    else if ((flags & XYL_NEEDS_ELEMENT_PER_RANK) != 0 &&
             problem->count < problem->ranks)
        missing = "needs an element per rank";
    if (why != NULL)
        *why = missing;
    return missing == NULL;
}
