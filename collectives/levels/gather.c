/* Gather in two levels: the blocks of a node come together at its leader, in
 * the order of seats, and go to the root as one message; those of the root's
 * own node come to their places at once. Karonis et al., Exploiting hierarchy
 * in parallel computer networks to optimize collective operation performance,
 * 2000. */
#include "collectives/levels/parts.h"

enum { NODE, NET };

enum { RECVS_UNDER_WAY = 32 };

static xylem_status_t add_node(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = NODE,
        .reads = XYL_ROLE_INPUT,
        .writes = xyl_han_has_root(han) ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH};
    xyl_problem_t problem = {.coll = XYLEM_COLL_GATHER,
                             .root = han->leader,
                             .count = han->problem.count,
                             .element_bytes = 1,
                             .is_in_place = xyl_han_is_root(han) &&
                                            han->problem.is_in_place};
    uint64_t *places = xyl_han_places(han);

    if (places == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (xyl_han_has_root(han))
        problem.recv_displs = places;
    return xyl_han_add_node(han, &problem, &stage);
}

/* ---- between nodes ---- */

/* Blocks that do not lie together come through a buffer. */
static void recv_blocks(const xyl_han_t *han, xyl_schedule_t *schedule,
                        uint32_t node)
{
    const xyl_levels_t *levels = han->levels;
    uint64_t block = han->problem.count;
    uint32_t seats = xyl_levels_seats(levels, node), seat, run;
    uint32_t peer = han->leaders.ranks[node];
    int lie_together = xyl_han_run(levels, node, 0) == seats;
    xyl_position_t to = {XYL_BUFFER_RECV, 0, 0};
    xyl_position_t from = {XYL_BUFFER_TEMP, 0, 0};
    xyl_action_t recv;

    to.at = xyl_levels_rank(levels, node, 0) * block;
    if (!lie_together)
        from = xyl_schedule_temp(schedule, seats * block);
    recv = xyl_schedule_recv(schedule, peer, 0, lie_together ? to : from,
                             seats * block, XYL_ACTION_NONE);
    for (seat = 0; !lie_together && seat < seats; seat += run) {
        run = xyl_han_run(levels, node, seat);
        to.at = xyl_levels_rank(levels, node, seat) * block;
        xyl_schedule_copy(schedule, to, xyl_position_plus(from, seat * block),
                          run * block, recv);
    }
}

static void write_straight(const xyl_han_t *han, const void *arg,
                           xyl_schedule_t *schedule)
{
    const xyl_position_t own = {XYL_BUFFER_SEND, 0, 0};
    uint64_t block = han->problem.count;
    uint32_t nodes = han->levels->nodes, step;

    (void)arg;
    if (block == 0)
        return;
    if (!xyl_han_is_root(han)) {
        xyl_schedule_send(schedule, han->problem.root, 0, own,
                          han->seats.size * block, XYL_ACTION_NONE);
        return;
    }
    schedule->flight_max = RECVS_UNDER_WAY;
    if (han->seats.size == 1 && !han->problem.is_in_place)
        xyl_schedule_copy(
            schedule, xyl_position(XYL_BUFFER_RECV, han->problem.root * block),
            own, block, XYL_ACTION_NONE);
    for (step = 1; step < nodes; step++)
        recv_blocks(han, schedule, (han->net_root + step) % nodes);
}

static xylem_status_t add_net(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = NET,
        .reads = han->seats.size == 1 ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
        .writes = xyl_han_is_root(han) ? XYL_ROLE_RESULT : XYL_ROLE_NOTHING,
        .is_apart = xyl_han_is_root(han)};

    if (xyl_han_tree_radix(han) != 0)
        return xyl_han_add_tree(han, &xyl_algorithm_gather_knomial, &stage);
    return xyl_han_add_written(han, write_straight, NULL, &stage);
}

static xylem_status_t gather_add_stages(xyl_han_t *han)
{
    xylem_status_t status = xyl_han_choose_leaders(han, 0, han->problem.root);
    int is_alone = han->seats.size == 1;

    if (status == XYLEM_OK)
        status = xyl_han_make_store(han);
    if (status == XYLEM_OK && !is_alone)
        status = add_node(han);
    if (status == XYLEM_OK && xyl_han_is_in_net(han))
        status = add_net(han);
    return status;
}

const xyl_algorithm_t xyl_algorithm_levels_gather = {
    .name = "han",
    .help = "levels in series (Karonis et al. 2000)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(GATHER),
    .add_stages = gather_add_stages,
};
