/* Allgather(v) in levels: the ranks of a node gather their blocks; the leaders
 * exchange the blocks of nodes, and each broadcasts the blocks of other nodes
 * within its own. Traff, Efficient allgather for regular SMP-clusters,
 * EuroPVM/MPI 2006.
 *
 *   node allgather ──▶ (copy in) ──▶ exchange ──▶ node bcasts ──▶ (copy out)
 */
#include "collectives/levels/parts.h"

enum { NODE, NET, BEFORE, AFTER };

/* ---- places ---- */

/* 1: RECV is in node order, so no store is needed. */
static int is_in_node_order(const xyl_han_t *han)
{
    const xyl_problem_t *problem = &han->problem;
    uint64_t sum = 0, count;
    uint32_t rank;

    if (han->levels->order != NULL)
        return 0;
    for (rank = 0; rank < problem->ranks; rank++) {
        count = xyl_problem_block(problem, rank);
        if (count != 0 && xyl_problem_block_at(problem, rank) != sum)
            return 0;
        sum += count;
    }
    return 1;
}

/* ---- the own node ---- */

static void gather_node(xyl_han_t *han)
{
    const xyl_han_stage_t stage =
        xyl_han_stage(NODE, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    xyl_problem_t problem = {.coll = XYLEM_COLL_ALLGATHER,
                             .element_bytes = 1,
                             .is_in_place = han->problem.is_in_place};
    xyl_han_blocks_t blocks;

    if (!xyl_han_find_blocks(han, &blocks))
        return;
    problem.recv_counts = blocks.counts;
    problem.recv_displs = blocks.places;
    xyl_han_add_node(han, &problem, &stage);
}

/* ---- in and out of the store ---- */

static void write_copy_in(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    xyl_han_copy_blocks(han, schedule, han->levels->node, 0);
}

/* The blocks of this node are at their places already, unless the node has only
 * one rank. */
static void write_copy_out(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    uint32_t node;

    for (node = 0; node < han->levels->nodes; node++)
        if (node != han->levels->node || xyl_han_is_alone(han))
            xyl_han_copy_blocks(han, schedule, node, 1);
}

/* ---- between nodes ---- */

static void exchange_nodes(xyl_han_t *han, xyl_role_t store)
{
    int is_direct = store == XYL_ROLE_RESULT;
    xyl_han_stage_t stage = xyl_han_stage(NET, XYL_ROLE_INPUT, store);
    xyl_problem_t problem = {.coll = XYLEM_COLL_ALLGATHERV,
                             .ranks = han->levels->nodes,
                             .count = han->nodes.counts[han->levels->node],
                             .recv_counts = han->nodes.counts,
                             .recv_displs = han->nodes.places,
                             .element_bytes = 1,
                             .is_in_place = 1};
    const xyl_algorithm_t *exchange;

    if (xyl_han_is_alone(han))
        problem.is_in_place = han->problem.is_in_place && is_direct;
    if (xyl_han_is_alone(han) && han->problem.is_in_place && !is_direct)
        stage.send_at = xyl_problem_block_at(&han->problem, han->problem.rank);
    exchange = xyl_han_choose(han, XYL_TEAM_LEADERS, &problem,
                              han->nodes.places[problem.ranks] / problem.ranks,
                              &problem.radix);
    xyl_han_add_net(han, exchange, &problem, &stage);
}

/* ---- within nodes ---- */

static void hand_on(xyl_han_t *han, uint32_t number, xyl_role_t store,
                    uint64_t from, uint64_t end)
{
    const xyl_han_stage_t stage = {.number = number,
                                   .reads = XYL_ROLE_NOTHING,
                                   .writes = store,
                                   .recv_at = from};
    const xyl_problem_t problem = {.coll = XYLEM_COLL_BCAST,
                                   .root = han->leader,
                                   .count = end - from,
                                   .element_bytes = 1};

    if (from != end)
        xyl_han_add_node(han, &problem, &stage);
}

static void allgather_add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t in =
        xyl_han_stage(NODE, XYL_ROLE_RESULT, XYL_ROLE_SCRATCH);
    const xyl_han_stage_t out =
        xyl_han_stage(NODE, XYL_ROLE_SCRATCH, XYL_ROLE_RESULT);
    int is_alone = xyl_han_is_alone(han), is_direct = is_in_node_order(han);
    int exchanges = is_alone || han->levels->nodes > 1;
    xyl_role_t store = is_direct ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH;
    uint32_t node = han->levels->node, nodes = han->levels->nodes;

    xyl_han_choose_leaders(han, 0, XYL_HAN_NO_ROOT);
    if (!xyl_han_find_nodes(han))
        return;
    if (!is_direct && exchanges)
        xyl_han_make_scratch(han, han->nodes.places[nodes]);
    if (!is_alone)
        gather_node(han);
    if (!exchanges)
        return;
    if (xyl_han_leads(han) && !is_alone && !is_direct)
        xyl_han_add_written(han, write_copy_in, &in);
    if (xyl_han_leads(han))
        exchange_nodes(han, store);
    if (!is_alone) { /* the blocks of other nodes */
        hand_on(han, BEFORE, store, 0, han->nodes.places[node]);
        hand_on(han, AFTER, store, han->nodes.places[node + 1],
                han->nodes.places[nodes]);
    }
    if (!is_direct)
        xyl_han_add_written(han, write_copy_out, &out);
}

const xyl_algorithm_t xyl_algorithm_levels_allgather = {
    .name = "han",
    .help = "levels in series (Traff 2006)",
    XYL_BY_LEVELS(allgather_add_stages),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
