/* Reduce_scatter(_block) in levels: a node's vectors are combined at its
 * leader, leaders do a reduce_scatter in which each gets the blocks of its
 * node, and hand them out. Where ranks do not fill node after node the leaders
 * bring the blocks into node order first.
 *
 *   node reduce ──▶ (sort) ──▶ reduce_scatter ──▶ node scatter
 */
#include "collectives/levels/parts.h"

enum { REDUCE, SORT, NET, SCATTER };

/* In elements. */
typedef struct combining {
    xyl_han_t *han;
    const uint64_t *counts, *places; /* [ranks] of blocks in the vector */
    xyl_han_nodes_t nodes;
    uint64_t total;
    xyl_role_t vector, result; /* what goes into the net, what comes out */
} combining_t;

static int find_blocks(combining_t *c)
{
    const xyl_han_t *han = c->han;
    uint64_t *counts = xyl_han_array(han, han->problem.ranks);
    uint64_t *places = xyl_han_array(han, han->problem.ranks);
    uint32_t i;

    if (counts == NULL || places == NULL)
        return 0;
    for (i = 0; i < han->problem.ranks; i++) {
        counts[i] = xyl_problem_block(&han->problem, i);
        places[i] = c->total;
        c->total += counts[i];
    }
    c->counts = counts;
    c->places = places;
    return 1;
}

/* ---- what lies where ---- */

static int is_alone(const combining_t *c)
{
    return c->han->seats.size == 1;
}

static int is_sorted(const combining_t *c)
{
    return c->han->levels->order == NULL;
}

/* The leader's: the sum of the node comes to SCRATCH, sorted to SPARE, and the
 * result to what is free then. */
static xylem_status_t make_buffers(combining_t *c)
{
    const xyl_han_t *han = c->han;
    uint64_t element = han->problem.element_bytes;
    uint64_t all = c->total * element;
    uint64_t own = c->nodes.counts[han->levels->node] * element;
    xylem_status_t status = XYLEM_OK;

    c->vector = is_alone(c) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH;
    if (!is_sorted(c))
        c->vector = XYL_ROLE_SPARE;
    c->result = is_alone(c) ? XYL_ROLE_RESULT : XYL_ROLE_SPARE;
    if (!is_sorted(c) && !is_alone(c))
        c->result = XYL_ROLE_SCRATCH;
    if (!xyl_han_leads(han))
        return XYLEM_OK;
    if (!is_alone(c))
        status = xyl_han_make_scratch(han, all);
    if (status == XYLEM_OK && !(is_alone(c) && is_sorted(c)))
        status = xyl_han_make_spare(han, is_sorted(c) ? own : all);
    return status;
}

/* ---- stages ---- */

static xylem_status_t add_reduce(const combining_t *c)
{
    const xyl_han_t *han = c->han;
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

    return xyl_han_add_node(han, &problem, &stage);
}

static void write_sort(const xyl_han_t *han, const void *arg,
                       xyl_schedule_t *schedule)
{
    const combining_t *c = arg;
    const xyl_levels_t *levels = han->levels;
    uint64_t at = 0;
    uint32_t node, seat, rank;

    for (node = 0; node < levels->nodes; node++)
        for (seat = 0; seat < xyl_levels_seats(levels, node); seat++) {
            rank = xyl_levels_rank(levels, node, seat);
            xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, at),
                              xyl_position(XYL_BUFFER_SEND, c->places[rank]),
                              c->counts[rank], XYL_ACTION_NONE);
            at += c->counts[rank];
        }
}

static xylem_status_t add_sort(const combining_t *c)
{
    const xyl_han_stage_t stage = {.number = SORT,
                                   .reads = is_alone(c) ? XYL_ROLE_INPUT
                                                        : XYL_ROLE_SCRATCH,
                                   .writes = XYL_ROLE_SPARE};

    return xyl_han_add_written(c->han, write_sort, c, &stage);
}

static xylem_status_t add_net(const combining_t *c)
{
    const xyl_han_t *han = c->han;
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
    return xyl_han_add_net(han, exchange, &problem, &stage);
}

static xylem_status_t add_scatter(const combining_t *c)
{
    const xyl_han_t *han = c->han;
    const xyl_han_stage_t stage = {
        .number = SCATTER, .reads = c->result, .writes = XYL_ROLE_RESULT};
    uint64_t *blocks = xyl_han_array(han, han->seats.size);
    uint64_t *block_at = xyl_han_array(han, han->seats.size);
    const xyl_problem_t problem = {.coll = XYLEM_COLL_SCATTER,
                                   .root = han->leader,
                                   .send_counts = blocks,
                                   .send_displs = block_at,
                                   .element_bytes = 1};
    uint64_t sum = 0;
    uint32_t seat;

    if (blocks == NULL || block_at == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (seat = 0; seat < han->seats.size; seat++) {
        blocks[seat] =
            c->counts[han->seats.ranks[seat]] * han->problem.element_bytes;
        block_at[seat] = sum;
        sum += blocks[seat];
    }
    return xyl_han_add_node(han, &problem, &stage);
}

static xylem_status_t reduce_scatter_add_stages(xyl_han_t *han)
{
    combining_t c = {.han = han};
    xylem_status_t status = xyl_han_choose_leaders(han, 0, XYL_HAN_NO_ROOT);

    if (status == XYLEM_OK &&
        (!find_blocks(&c) || !xyl_han_count_nodes(han, c.counts, &c.nodes)))
        status = XYLEM_ERR_NO_MEMORY;
    if (status == XYLEM_OK)
        status = make_buffers(&c);
    if (status == XYLEM_OK && !is_alone(&c))
        status = add_reduce(&c);
    if (status == XYLEM_OK && xyl_han_leads(han) && !is_sorted(&c))
        status = add_sort(&c);
    if (status == XYLEM_OK && xyl_han_leads(han))
        status = add_net(&c);
    if (status == XYLEM_OK && !is_alone(&c))
        status = add_scatter(&c);
    return status;
}

const xyl_algorithm_t xyl_algorithm_levels_reduce_scatter = {
    .name = "han",
    .help = "levels in series (Luo et al. 2020)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
    .add_stages = reduce_scatter_add_stages,
};
