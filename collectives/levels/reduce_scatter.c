/* Reduce_scatter(_block) in levels: a node's leader combines the vectors of the
 * node's ranks, gets the node's blocks by a reduce_scatter of the leaders, and
 * scatters them. If ranks do not fill node after node, the leaders first bring
 * the blocks into node order.
 *
 *   node reduce ──▶ (sort) ──▶ reduce_scatter ──▶ node scatter
 */
#include "collectives/levels/parts.h"

enum { REDUCE, SORT, NET, SCATTER };

/* ---- buffers ---- */

/* A leader has the node's sum in SCRATCH. If ranks fill node after node, the
 * result lies behind the sum. Otherwise the sorted vector lies in SPARE, and
 * the result takes the place of the sum. The only rank of a node has its vector
 * in INPUT, and its result in RESULT. */

static int is_node_order(const xyl_han_t *han)
{
    return han->levels->order == NULL;
}

static xyl_role_t sum_role(const xyl_han_t *han)
{
    return xyl_han_is_alone(han) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH;
}

/* The role of the vector that the leaders' stage reads. */
static xyl_role_t vector_role(const xyl_han_t *han)
{
    return is_node_order(han) ? sum_role(han) : XYL_ROLE_SPARE;
}

/* The role of the buffer to which the leaders' stage writes. */
static xyl_role_t result_role(const xyl_han_t *han)
{
    return xyl_han_is_alone(han) ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH;
}

static uint64_t total_of(const xyl_han_t *han)
{
    return han->nodes.places[han->levels->nodes];
}

/* The offset of the result in that buffer, in elements. */
static uint64_t result_at(const xyl_han_t *han)
{
    return is_node_order(han) && !xyl_han_is_alone(han) ? total_of(han) : 0;
}

static void make_buffers(xyl_han_t *han)
{
    uint64_t element = han->problem.element_bytes;
    uint64_t all = total_of(han) * element;
    uint64_t own = han->nodes.counts[han->levels->node] * element;

    if (!xyl_han_is_alone(han))
        xyl_han_make_scratch(han, is_node_order(han) ? all + own : all);
    if (!is_node_order(han))
        xyl_han_make_spare(han, all);
}

/* ---- stages ---- */

static void reduce_node(xyl_han_t *han)
{
    const xyl_han_stage_t stage =
        xyl_han_stage(REDUCE, XYL_ROLE_INPUT,
                      xyl_han_leads(han) ? XYL_ROLE_SCRATCH : XYL_ROLE_NOTHING);
    xyl_problem_t problem = {.coll = XYLEM_COLL_REDUCE,
                             .root = han->leader,
                             .count = total_of(han),
                             .element_bytes = han->problem.element_bytes,
                             .is_commutative = han->problem.is_commutative,
                             .in_arrival_order = han->problem.in_arrival_order};

    xyl_han_add_node(han, &problem, &stage);
}

static void write_sorted(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    uint32_t node;

    for (node = 0; node < han->levels->nodes; node++)
        xyl_han_copy_blocks(han, schedule, node, 0);
}

static void combine_nodes(xyl_han_t *han)
{
    xyl_han_stage_t stage =
        xyl_han_stage(NET, vector_role(han), result_role(han));
    const xyl_problem_t problem = {
        .coll = XYLEM_COLL_REDUCE_SCATTER,
        .ranks = han->levels->nodes,
        .count = han->nodes.counts[han->levels->node],
        .recv_counts = han->nodes.counts,
        .recv_displs = han->nodes.places,
        .element_bytes = han->problem.element_bytes,
        .is_in_place =
            han->problem.is_in_place && stage.reads == XYL_ROLE_INPUT,
        .is_commutative = han->problem.is_commutative};

    stage.recv_at = result_at(han);
    xyl_han_add_net(han,
                    xyl_han_choose(han, XYL_TEAM_LEADERS, &problem,
                                   total_of(han) * problem.element_bytes, NULL),
                    &problem, &stage);
}

static void scatter_node(xyl_han_t *han)
{
    xyl_han_stage_t stage =
        xyl_han_stage(SCATTER, result_role(han), XYL_ROLE_RESULT);
    xyl_problem_t problem = {
        .coll = XYLEM_COLL_SCATTER, .root = han->leader, .element_bytes = 1};
    xyl_han_blocks_t blocks;
    uint64_t sum = 0;
    uint32_t seat;

    stage.send_at = result_at(han) * han->problem.element_bytes;
    if (!xyl_han_find_blocks(han, &blocks))
        return;
    for (seat = 0; seat < han->seats.size; seat++) {
        blocks.counts[seat] *= han->problem.element_bytes;
        blocks.places[seat] = sum; /* among the node's blocks */
        sum += blocks.counts[seat];
    }
    problem.send_counts = blocks.counts;
    problem.send_displs = blocks.places;
    xyl_han_add_node(han, &problem, &stage);
}

static void reduce_scatter_add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t sort =
        xyl_han_stage(SORT, sum_role(han), XYL_ROLE_SPARE);

    xyl_han_choose_leaders(han, 0, XYL_HAN_NO_ROOT);
    if (!xyl_han_find_nodes(han))
        return;
    if (xyl_han_leads(han))
        make_buffers(han);
    if (!xyl_han_is_alone(han))
        reduce_node(han);
    if (xyl_han_leads(han) && !is_node_order(han))
        xyl_han_add_written(han, write_sorted, &sort);
    if (xyl_han_leads(han))
        combine_nodes(han);
    if (!xyl_han_is_alone(han))
        scatter_node(han);
}

const xyl_algorithm_t xyl_algorithm_levels_reduce_scatter = {
    .name = "han",
    .help = "levels in series (Luo et al. 2020)",
    XYL_BY_LEVELS(reduce_scatter_add_stages),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
};
