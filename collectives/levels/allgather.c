/* Allgather(v) in levels: the ranks of a node gather their blocks; the leaders
 * exchange the blocks of nodes, and each broadcasts the blocks of other nodes
 * within its own. Traff, Efficient allgather for regular SMP-clusters,
 * EuroPVM/MPI 2006.
 *
 *   node allgather ──▶ (copy in) ──▶ exchange ──▶ node bcasts ──▶ (copy out)
 */
#include "collectives/levels/parts.h"

enum { NODE, NET, BEFORE, AFTER };

/* Counts and places are bytes. */
typedef struct gathering {
    xyl_han_t *han;
    xyl_han_blocks_t nodes;
    int is_direct; /* RECV is in node order: no store */
} gathering_t;

/* ---- places ---- */

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

static xyl_role_t store_of(const gathering_t *g)
{
    return g->is_direct ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH;
}

/* ---- the own node ---- */

static void gather_node(const gathering_t *g)
{
    const xyl_han_stage_t stage = {
        .number = NODE, .reads = XYL_ROLE_INPUT, .writes = XYL_ROLE_RESULT};
    xyl_problem_t problem = {.coll = XYLEM_COLL_ALLGATHER,
                             .element_bytes = 1,
                             .is_in_place = g->han->problem.is_in_place};
    xyl_han_blocks_t blocks;

    if (!xyl_han_find_blocks(g->han, &blocks))
        return;
    problem.recv_counts = blocks.counts;
    problem.recv_displs = blocks.places;
    xyl_han_add_node(g->han, &problem, &stage);
}

/* ---- in and out of the store ---- */

static void write_copy_in(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    const gathering_t *g = han->arg;

    xyl_han_copy_blocks(han, schedule, &g->nodes, han->levels->node, 0);
}

/* This node's blocks are at their places, unless it has only one rank. */
static void write_copy_out(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    const gathering_t *g = han->arg;
    uint32_t node;

    for (node = 0; node < han->levels->nodes; node++)
        if (node != han->levels->node || han->seats.size == 1)
            xyl_han_copy_blocks(han, schedule, &g->nodes, node, 1);
}

static void add_copy(const gathering_t *g, int out)
{
    const xyl_han_stage_t stage = {
        .number = NODE,
        .reads = out ? XYL_ROLE_SCRATCH : XYL_ROLE_RESULT,
        .writes = out ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH};

    xyl_han_add_written(g->han, out ? write_copy_out : write_copy_in, &stage);
}

/* ---- between nodes ---- */

static void exchange_nodes(const gathering_t *g)
{
    xyl_han_t *han = g->han;
    xyl_han_stage_t stage = {
        .number = NET, .reads = XYL_ROLE_INPUT, .writes = store_of(g)};
    xyl_problem_t problem = {.coll = XYLEM_COLL_ALLGATHERV,
                             .recv_counts = g->nodes.counts,
                             .recv_displs = g->nodes.places,
                             .element_bytes = 1,
                             .is_in_place = 1};
    const xyl_algorithm_t *exchange;

    if (han->seats.size == 1)
        problem.is_in_place = han->problem.is_in_place && g->is_direct;
    if (han->seats.size == 1 && han->problem.is_in_place && !g->is_direct)
        stage.send_at = xyl_problem_block_at(&han->problem, han->problem.rank);
    problem.count = g->nodes.counts[han->levels->node];
    problem.ranks = han->levels->nodes;
    exchange = xyl_han_choose(han, XYL_TEAM_LEADERS, &problem,
                              g->nodes.places[problem.ranks] / problem.ranks,
                              &problem.radix);
    xyl_han_add_net(han, exchange, &problem, &stage);
}

/* ---- within nodes ---- */

static void hand_on(const gathering_t *g, uint32_t number, uint64_t from,
                    uint64_t end)
{
    const xyl_han_stage_t stage = {.number = number,
                                   .reads = XYL_ROLE_NOTHING,
                                   .writes = store_of(g),
                                   .recv_at = from};
    const xyl_problem_t problem = {.coll = XYLEM_COLL_BCAST,
                                   .root = g->han->leader,
                                   .count = end - from,
                                   .element_bytes = 1};

    if (from != end)
        xyl_han_add_node(g->han, &problem, &stage);
}

static void allgather_add_stages(xyl_han_t *han)
{
    int is_alone = han->seats.size == 1;
    int exchanges = is_alone || han->levels->nodes > 1;
    gathering_t g = {.han = han};

    han->arg = &g;
    xyl_han_choose_leaders(han, 0, XYL_HAN_NO_ROOT);
    if (!xyl_han_find_nodes(han, &g.nodes))
        return;
    g.is_direct = is_in_node_order(han);
    if (!g.is_direct && exchanges)
        xyl_han_make_scratch(han, g.nodes.places[han->levels->nodes]);
    if (!is_alone)
        gather_node(&g);
    if (!exchanges)
        return;
    if (xyl_han_leads(han) && !is_alone && !g.is_direct)
        add_copy(&g, 0);
    if (xyl_han_leads(han))
        exchange_nodes(&g);
    if (!is_alone) { /* the blocks of other nodes */
        hand_on(&g, BEFORE, 0, g.nodes.places[han->levels->node]);
        hand_on(&g, AFTER, g.nodes.places[han->levels->node + 1],
                g.nodes.places[han->levels->nodes]);
    }
    if (!g.is_direct)
        add_copy(&g, 1);
}

const xyl_algorithm_t xyl_algorithm_levels_allgather = {
    .name = "han",
    .help = "levels in series (Traff 2006)",
    XYL_BY_LEVELS(allgather_add_stages),
    .colls = XYL_COLL_BIT(ALLGATHER) | XYL_COLL_BIT(ALLGATHERV),
};
