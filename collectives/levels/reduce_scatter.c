/* Reduce_scatter(_block) in levels: a node's leader combines the vectors of the
 * node's ranks, gets the node's blocks by a reduce_scatter of the leaders, and
 * scatters them. If ranks do not fill node after node, the leaders first bring
 * the blocks into node order.
 *
 *   node reduce ──▶ (sort) ──▶ reduce_scatter ──▶ node scatter
 */
#include "collectives/levels/parts.h"

enum { REDUCE, SORT, NET, SCATTER };

/* Counts and places are elements. */
typedef struct combining {
    xyl_han_t *han;
    xyl_han_blocks_t nodes;
    uint64_t total;
    xyl_role_t vector, result; /* that the net reads, and writes */
} combining_t;

/* ---- buffers ---- */

static int is_node_order(const combining_t *c)
{
    return c->han->levels->order == NULL;
}

/* The leader's buffers: SCRATCH for the node's sum, SPARE for the sorted
 * vector, and the free one of the two for the result. A node's only rank has
 * its vector in INPUT, and writes RESULT. */
static void make_buffers(combining_t *c)
{
    xyl_han_t *han = c->han;
    uint64_t element = han->problem.element_bytes;
    uint64_t all = c->total * element;
    uint64_t own = c->nodes.counts[han->levels->node] * element;

    c->vector = xyl_han_is_alone(han) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH;
    if (!is_node_order(c))
        c->vector = XYL_ROLE_SPARE;
    c->result = xyl_han_is_alone(han) ? XYL_ROLE_RESULT : XYL_ROLE_SPARE;
    if (!is_node_order(c) && !xyl_han_is_alone(han))
        c->result = XYL_ROLE_SCRATCH;
    if (!xyl_han_leads(han))
        return;
    if (!xyl_han_is_alone(han))
        xyl_han_make_scratch(han, all);
    if (!xyl_han_is_alone(han) || !is_node_order(c))
        xyl_han_make_spare(han, is_node_order(c) ? own : all);
}

/* ---- stages ---- */

static void reduce_node(const combining_t *c)
{
    xyl_han_t *han = c->han;
    const xyl_han_stage_t stage = {
        .number = REDUCE,
        .reads = XYL_ROLE_INPUT,
        .writes = xyl_han_leads(han) ? XYL_ROLE_SCRATCH : XYL_ROLE_NOTHING};
    const xyl_problem_t problem = {
        .coll = XYLEM_COLL_REDUCE,
        .root = han->leader,
        .count = c->total,
        .element_bytes = han->problem.element_bytes,
        .is_commutative = han->problem.is_commutative,
        .in_arrival_order = han->problem.in_arrival_order};

    xyl_han_add_node(han, &problem, &stage);
}

static void write_sorted(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    const combining_t *c = han->arg;
    uint32_t node;

    for (node = 0; node < han->levels->nodes; node++)
        xyl_han_copy_blocks(han, schedule, &c->nodes, node, 0);
}

static void combine_nodes(const combining_t *c)
{
    xyl_han_t *han = c->han;
    const xyl_han_stage_t stage = {
        .number = NET, .reads = c->vector, .writes = c->result};
    uint64_t bytes = c->total * han->problem.element_bytes;
    xyl_problem_t problem = {.coll = XYLEM_COLL_REDUCE_SCATTER,
                             .count = c->nodes.counts[han->levels->node],
                             .recv_counts = c->nodes.counts,
                             .recv_displs = c->nodes.places,
                             .element_bytes = han->problem.element_bytes,
                             .is_in_place = han->problem.is_in_place &&
                                            c->vector == XYL_ROLE_INPUT,
                             .is_commutative = han->problem.is_commutative};
    const xyl_algorithm_t *exchange;

    problem.ranks = han->levels->nodes;
    exchange = xyl_han_choose(han, XYL_TEAM_LEADERS, &problem, bytes, NULL);
    xyl_han_add_net(han, exchange, &problem, &stage);
}

static void scatter_node(const combining_t *c)
{
    xyl_han_t *han = c->han;
    const xyl_han_stage_t stage = {
        .number = SCATTER, .reads = c->result, .writes = XYL_ROLE_RESULT};
    xyl_problem_t problem = {
        .coll = XYLEM_COLL_SCATTER, .root = han->leader, .element_bytes = 1};
    xyl_han_blocks_t blocks;
    uint64_t sum = 0;
    uint32_t seat;

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
    const xyl_han_stage_t sort = {
        .number = SORT,
        .reads = xyl_han_is_alone(han) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
        .writes = XYL_ROLE_SPARE};
    combining_t c = {.han = han};

    han->arg = &c;
    xyl_han_choose_leaders(han, 0, XYL_HAN_NO_ROOT);
    if (!xyl_han_find_nodes(han, &c.nodes))
        return;
    c.total = c.nodes.places[han->levels->nodes];
    make_buffers(&c);
    if (!xyl_han_is_alone(han))
        reduce_node(&c);
    if (xyl_han_leads(han) && !is_node_order(&c))
        xyl_han_add_written(han, write_sorted, &sort);
    if (xyl_han_leads(han))
        combine_nodes(&c);
    if (!xyl_han_is_alone(han))
        scatter_node(&c);
}

const xyl_algorithm_t xyl_algorithm_levels_reduce_scatter = {
    .name = "han",
    .help = "levels in series (Luo et al. 2020)",
    XYL_BY_LEVELS(reduce_scatter_add_stages),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
};
