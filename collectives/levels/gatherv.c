/* Gatherv in two levels: short blocks of a node come together at its leader and
 * go to the root as one bundle, long ones go there straight; those of the
 * root's own node come to their places at once. See varying.h.
 *
 *   root's node     node gatherv
 *   other nodes     node gatherv, into slots ──▶ bundle
 *                   straight
 *
 * Karonis et al., Exploiting hierarchy in parallel computer networks to
 * optimize collective operation performance, 2000; Traff, Hierarchical
 * gather/scatter algorithms with graceful degradation, IPDPS 2004. */
#include "collectives/levels/varying.h"
#include "collectives/stages/exchange_stage.h"

enum { NODE, NET };

/* ---- at the root ---- */

static void recv_bundle(const xyl_han_t *han, xyl_schedule_t *schedule,
                        uint32_t node)
{
    xyl_han_bundle_t bundle = xyl_han_bundle(han, node);
    xyl_position_t from = {XYL_BUFFER_RECV, 0, bundle.at};
    xyl_action_t recv;
    uint32_t seat;

    if (bundle.bytes == 0)
        return;
    if (!bundle.lie_together)
        from = xyl_schedule_temp(schedule, bundle.bytes);
    recv = xyl_schedule_recv(schedule, han->leaders.ranks[node], XYL_HAN_BUNDLE,
                             from, bundle.bytes, XYL_ACTION_NONE);
    if (bundle.lie_together)
        return;
    for (seat = 0; seat < xyl_levels_seats(han->levels, node); seat++) {
        xyl_han_block_t block = xyl_han_block(han, node, seat);
        if (block.bytes == 0 || !xyl_han_is_bundled(han, node, block.bytes))
            continue;
        xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, block.at),
                          from, block.bytes, recv);
        from = xyl_position_plus(from, block.bytes);
    }
}

static void recv_straight(const xyl_han_t *han, xyl_schedule_t *schedule,
                          uint32_t node)
{
    uint32_t seat;

    for (seat = 0; seat < xyl_levels_seats(han->levels, node); seat++) {
        xyl_han_block_t block = xyl_han_block(han, node, seat);
        if (!xyl_han_is_bundled(han, node, block.bytes) && block.bytes != 0)
            xyl_schedule_recv(schedule, block.rank, XYL_HAN_STRAIGHT,
                              xyl_position(XYL_BUFFER_RECV, block.at),
                              block.bytes, XYL_ACTION_NONE);
    }
}

/* A long block may have to wait for its rank's part in the bundle, but no
 * bundle for long blocks: so these come behind all bundles. */
static void write_root(const xyl_han_t *han, const void *arg,
                       xyl_schedule_t *schedule)
{
    uint32_t nodes = han->levels->nodes, step;
    xyl_han_block_t own;

    (void)arg;
    schedule->flight_max = XYL_HAN_MESSAGES_UNDER_WAY;
    own = xyl_han_block(han, han->net_root, han->leader);
    if (han->seats.size == 1 && !han->problem.is_in_place)
        xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, own.at),
                          xyl_position(XYL_BUFFER_SEND, 0), own.bytes,
                          XYL_ACTION_NONE);
    for (step = 1; step < nodes; step++)
        recv_bundle(han, schedule, (han->net_root + step) % nodes);
    for (step = 1; step < nodes; step++)
        recv_straight(han, schedule, (han->net_root + step) % nodes);
}

static xylem_status_t add_root(const xyl_han_t *han)
{
    const xyl_han_stage_t node = {
        .number = NODE, .reads = XYL_ROLE_INPUT, .writes = XYL_ROLE_RESULT};
    const xyl_han_stage_t net = {.number = NET,
                                 .reads = XYL_ROLE_INPUT,
                                 .writes = XYL_ROLE_RESULT,
                                 .is_apart = 1};
    xylem_status_t status = XYLEM_OK;

    if (han->seats.size > 1)
        status = xyl_han_add_root_node(han, &node);
    if (status != XYLEM_OK || !xyl_han_is_root(han) || !xyl_han_is_in_net(han))
        return status;
    return xyl_han_add_written(han, write_root, NULL, &net);
}

/* ---- on other nodes ---- */

static void write_straight(const xyl_han_t *han, const void *arg,
                           xyl_schedule_t *schedule)
{
    (void)arg;
    xyl_schedule_send(schedule, han->problem.root, XYL_HAN_STRAIGHT,
                      xyl_position(XYL_BUFFER_SEND, 0), han->problem.count,
                      XYL_ACTION_NONE);
}

static xylem_status_t add_straight(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {.number = NET,
                                   .reads = XYL_ROLE_INPUT,
                                   .writes = XYL_ROLE_NOTHING,
                                   .is_apart = 1};

    return xyl_han_add_written(han, write_straight, NULL, &stage);
}

/* What lies in the slots is put together; the send comes behind the copies. */
static void write_bundle(const xyl_han_t *han, const void *arg,
                         xyl_schedule_t *schedule)
{
    uint64_t slot = xyl_han_short_max(han, han->levels->node);
    uint32_t seats = han->seats.size, seat;
    xyl_position_t bundle = xyl_han_bundle_room(han);
    xyl_action_t send;

    (void)arg;
    for (seat = 0; seat < seats; seat++)
        xyl_schedule_copy(schedule, bundle, xyl_han_slot(han, seat), slot,
                          XYL_ACTION_NONE);
    send = xyl_schedule_send(schedule, han->problem.root, XYL_HAN_BUNDLE,
                             bundle, seats * slot, XYL_ACTION_NONE);
    for (seat = 0; seat < seats; seat++)
        xyl_schedule_order(schedule, send, seat);
}

static void trim_bundle(const void *arg, xyl_action_entry_t *actions)
{
    const xyl_han_lengths_t *lengths = arg;
    xyl_action_entry_t *send = &actions[lengths->seats];
    uint64_t bytes = 0;
    uint32_t seat;

    for (seat = 0; seat < lengths->seats; seat++) {
        actions[seat].to.at = send->left.at + bytes;
        actions[seat].count = lengths->told[seat];
        bytes += lengths->told[seat];
    }
    xyl_action_trim(send, XYL_ACTION_SEND, bytes);
}

static xylem_status_t add_bundle(const xyl_han_t *han,
                                 const xyl_han_lengths_t *lengths)
{
    const xyl_han_stage_t stage = {.number = NET,
                                   .reads = XYL_ROLE_NOTHING,
                                   .writes = XYL_ROLE_SCRATCH,
                                   .trim = trim_bundle,
                                   .trim_arg = lengths};

    return xyl_han_add_written(han, write_bundle, NULL, &stage);
}

static xylem_status_t add_levels(const xyl_han_t *han)
{
    const xyl_han_stage_t node = {
        .number = NODE,
        .reads = XYL_ROLE_INPUT,
        .writes = xyl_han_leads(han) ? XYL_ROLE_SCRATCH : XYL_ROLE_NOTHING};
    const xyl_han_lengths_t *lengths;
    xylem_status_t status;

    if (!xyl_han_leads(han))
        return xyl_han_add_slots(han, NULL, &node);
    lengths = xyl_han_make_slots(han);
    if (lengths == NULL)
        return XYLEM_ERR_NO_MEMORY;
    status = xyl_han_add_slots(han, lengths, &node);
    return status == XYLEM_OK ? add_bundle(han, lengths) : status;
}

static xylem_status_t gatherv_add_stages(xyl_han_t *han)
{
    static const xyl_han_varying_t way = {add_root, add_levels, add_straight,
                                          &xyl_algorithm_gather_linear};

    return xyl_han_add_varying(han, &way);
}

const xyl_algorithm_t xyl_algorithm_levels_gatherv = {
    .name = "han",
    .help = "levels in series (Traff 2004)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(GATHERV),
    .add_stages = gatherv_add_stages,
};
