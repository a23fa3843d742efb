/* Scatter in two levels, a gather the other way round: the root sends every
 * leader the blocks of its node in one message, and within a node the leader
 * hands them out. Karonis et al., Exploiting hierarchy in parallel computer
 * networks to optimize collective operation performance, 2000. */
#include "collectives/levels/parts.h"

enum { NET, NODE };

enum { SENDS_UNDER_WAY = 32 };

/* ---- between nodes ---- */

/* Blocks that do not lie together go through a buffer. */
static void send_blocks(const xyl_han_t *han, xyl_schedule_t *schedule,
                        uint32_t node)
{
    const xyl_levels_t *levels = han->levels;
    uint64_t block = han->problem.count;
    uint32_t seats = xyl_levels_seats(levels, node), seat, run;
    int lie_together = xyl_han_run(levels, node, 0) == seats;
    xyl_position_t from = {XYL_BUFFER_SEND, 0,
                           xyl_levels_rank(levels, node, 0) * block};
    xyl_action_t ready = XYL_ACTION_NONE;
    xyl_position_t packed;

    if (!lie_together) {
        packed = xyl_schedule_temp(schedule, seats * block);
        for (seat = 0; seat < seats; seat += run) {
            run = xyl_han_run(levels, node, seat);
            from.at = xyl_levels_rank(levels, node, seat) * block;
            ready = xyl_schedule_join(
                schedule, ready,
                xyl_schedule_copy(schedule,
                                  xyl_position_plus(packed, seat * block), from,
                                  run * block, XYL_ACTION_NONE));
        }
        from = packed;
    }
    xyl_schedule_send(schedule, han->leaders.ranks[node], 0, from,
                      seats * block, ready);
}

static void write_straight(const xyl_han_t *han, const void *arg,
                           xyl_schedule_t *schedule)
{
    const xyl_position_t own = {XYL_BUFFER_RECV, 0, 0};
    uint64_t block = han->problem.count;
    uint32_t nodes = han->levels->nodes, step;

    (void)arg;
    if (block == 0)
        return;
    if (!xyl_han_is_root(han)) {
        xyl_schedule_recv(schedule, han->problem.root, 0, own,
                          han->seats.size * block, XYL_ACTION_NONE);
        return;
    }
    schedule->flight_max = SENDS_UNDER_WAY;
    for (step = 1; step < nodes; step++)
        send_blocks(han, schedule, (han->net_root + step) % nodes);
    if (han->seats.size == 1 && !han->problem.is_in_place)
        xyl_schedule_copy(
            schedule, own,
            xyl_position(XYL_BUFFER_SEND, han->problem.root * block), block,
            XYL_ACTION_NONE);
}

static xylem_status_t add_net(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = NET,
        .reads = xyl_han_is_root(han) ? XYL_ROLE_INPUT : XYL_ROLE_NOTHING,
        .writes = han->seats.size == 1 ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH};

    if (xyl_han_tree_radix(han) != 0)
        return xyl_han_add_tree(han, &xyl_algorithm_scatter_knomial, &stage);
    return xyl_han_add_written(han, write_straight, NULL, &stage);
}

/* ---- within a node ---- */

static xylem_status_t add_node(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = NODE,
        .reads = xyl_han_has_root(han) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
        .writes = XYL_ROLE_RESULT,
        .is_apart = xyl_han_is_root(han)};
    xyl_problem_t problem = {.coll = XYLEM_COLL_SCATTER,
                             .root = han->leader,
                             .count = han->problem.count,
                             .element_bytes = 1,
                             .is_in_place = xyl_han_is_root(han) &&
                                            han->problem.is_in_place};
    uint64_t *places = xyl_han_places(han);

    if (places == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (xyl_han_has_root(han))
        problem.send_displs = places;
    return xyl_han_add_node(han, &problem, &stage);
}

static xylem_status_t scatter_add_stages(xyl_han_t *han)
{
    xylem_status_t status = xyl_han_choose_leaders(han, 0, han->problem.root);
    int is_alone = han->seats.size == 1;

    if (status == XYLEM_OK)
        status = xyl_han_make_store(han);
    if (status == XYLEM_OK && xyl_han_is_in_net(han))
        status = add_net(han);
    if (status == XYLEM_OK && !is_alone)
        status = add_node(han);
    return status;
}

const xyl_algorithm_t xyl_algorithm_levels_scatter = {
    .name = "han",
    .help = "levels in series (Karonis et al. 2000)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(SCATTER),
    .add_stages = scatter_add_stages,
};
