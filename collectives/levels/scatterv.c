/* Scatterv in two levels, a gatherv the other way round: the root sends every
 * leader the short blocks of its node as one bundle, and long ones straight to
 * their ranks. See varying.h.
 *
 *   root's node     node scatterv
 *   other nodes     telling of lengths ──▶ bundle, into slots ──▶ node scatterv
 *                   straight
 *
 * Karonis et al., Exploiting hierarchy in parallel computer networks to
 * optimize collective operation performance, 2000; Traff, Hierarchical
 * gather/scatter algorithms with graceful degradation, IPDPS 2004. */
#include "collectives/levels/varying.h"
#include "collectives/stages/exchange_stage.h"

enum { TELL, NET, NODE };

/* ---- at the root ---- */

/* The bundle is put together, unless it lies there as it is. */
static void send_bundle(const xyl_han_t *han, xyl_schedule_t *schedule,
                        uint32_t node)
{
    xyl_han_bundle_t bundle = xyl_han_bundle(han, node);
    xyl_position_t from = {XYL_BUFFER_SEND, 0, bundle.at}, to;
    xyl_action_t ready = XYL_ACTION_NONE;
    uint32_t seat;

    if (bundle.bytes == 0)
        return;
    if (!bundle.lie_together)
        from = xyl_schedule_temp(schedule, bundle.bytes);
    to = from;
    for (seat = 0;
         !bundle.lie_together && seat < xyl_levels_seats(han->levels, node);
         seat++) {
        xyl_han_block_t block = xyl_han_block(han, node, seat);
        if (block.bytes == 0 || !xyl_han_is_bundled(han, node, block.bytes))
            continue;
        ready = xyl_schedule_join(
            schedule, ready,
            xyl_schedule_copy(schedule, to,
                              xyl_position(XYL_BUFFER_SEND, block.at),
                              block.bytes, XYL_ACTION_NONE));
        to = xyl_position_plus(to, block.bytes);
    }
    xyl_schedule_send(schedule, han->leaders.ranks[node], XYL_HAN_BUNDLE, from,
                      bundle.bytes, ready);
}

static void send_straight(const xyl_han_t *han, xyl_schedule_t *schedule,
                          uint32_t node)
{
    uint32_t seat;

    for (seat = 0; seat < xyl_levels_seats(han->levels, node); seat++) {
        xyl_han_block_t block = xyl_han_block(han, node, seat);
        if (!xyl_han_is_bundled(han, node, block.bytes) && block.bytes != 0)
            xyl_schedule_send(schedule, block.rank, XYL_HAN_STRAIGHT,
                              xyl_position(XYL_BUFFER_SEND, block.at),
                              block.bytes, XYL_ACTION_NONE);
    }
}

/* A long block may have to wait for its rank's part of the bundle, but no
 * bundle for long blocks: so these go behind all bundles. */
static void write_root(const xyl_han_t *han, const void *arg,
                       xyl_schedule_t *schedule)
{
    uint32_t nodes = han->levels->nodes, step;
    xyl_han_block_t own = xyl_han_block(han, han->net_root, han->leader);

    (void)arg;
    schedule->flight_max = XYL_HAN_MESSAGES_UNDER_WAY;
    for (step = 1; step < nodes; step++)
        send_bundle(han, schedule, (han->net_root + step) % nodes);
    for (step = 1; step < nodes; step++)
        send_straight(han, schedule, (han->net_root + step) % nodes);
    if (han->seats.size == 1 && !han->problem.is_in_place)
        xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, 0),
                          xyl_position(XYL_BUFFER_SEND, own.at), own.bytes,
                          XYL_ACTION_NONE);
}

static xylem_status_t add_root(const xyl_han_t *han)
{
    const xyl_han_stage_t node = {.number = NODE,
                                  .reads = XYL_ROLE_INPUT,
                                  .writes = XYL_ROLE_RESULT,
                                  .is_apart = 1};
    const xyl_han_stage_t net = {
        .number = NET, .reads = XYL_ROLE_INPUT, .writes = XYL_ROLE_RESULT};
    xylem_status_t status = XYLEM_OK;

    if (xyl_han_is_root(han) && xyl_han_is_in_net(han))
        status = xyl_han_add_written(han, write_root, NULL, &net);
    if (status != XYLEM_OK || han->seats.size == 1)
        return status;
    return xyl_han_add_root_node(han, &node);
}

/* ---- on other nodes ---- */

static void write_straight(const xyl_han_t *han, const void *arg,
                           xyl_schedule_t *schedule)
{
    (void)arg;
    xyl_schedule_recv(schedule, han->problem.root, XYL_HAN_STRAIGHT,
                      xyl_position(XYL_BUFFER_RECV, 0), han->problem.count,
                      XYL_ACTION_NONE);
}

static xylem_status_t add_straight(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {.number = NET,
                                   .reads = XYL_ROLE_NOTHING,
                                   .writes = XYL_ROLE_RESULT,
                                   .is_apart = 1};

    return xyl_han_add_written(han, write_straight, NULL, &stage);
}

/* The receive comes before the copies, into the slots. */
static void write_bundle(const xyl_han_t *han, const void *arg,
                         xyl_schedule_t *schedule)
{
    uint64_t slot = xyl_han_short_max(han, han->levels->node);
    uint32_t seats = han->seats.size, seat;
    xyl_position_t bundle = xyl_han_bundle_room(han);
    xyl_action_t recv =
        xyl_schedule_recv(schedule, han->problem.root, XYL_HAN_BUNDLE, bundle,
                          seats * slot, XYL_ACTION_NONE);

    (void)arg;
    for (seat = 0; seat < seats; seat++)
        xyl_schedule_copy(schedule, xyl_han_slot(han, seat), bundle, slot,
                          recv);
}

static void trim_bundle(const void *arg, xyl_action_entry_t *actions)
{
    const xyl_han_lengths_t *lengths = arg;
    xyl_action_entry_t *copies = actions + 1;
    uint64_t bytes = 0;
    uint32_t seat;

    for (seat = 0; seat < lengths->seats; seat++) {
        copies[seat].left.at = actions->to.at + bytes;
        copies[seat].count = lengths->told[seat];
        bytes += lengths->told[seat];
    }
    xyl_action_trim(actions, XYL_ACTION_RECV, bytes);
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
        .reads = xyl_han_leads(han) ? XYL_ROLE_SCRATCH : XYL_ROLE_NOTHING,
        .writes = XYL_ROLE_RESULT};
    const xyl_han_lengths_t *lengths = NULL;
    xylem_status_t status;

    if (xyl_han_leads(han)) {
        lengths = xyl_han_make_slots(han);
        if (lengths == NULL)
            return XYLEM_ERR_NO_MEMORY;
    }
    status = xyl_han_add_telling(han, lengths, TELL);
    if (status == XYLEM_OK && lengths != NULL)
        status = add_bundle(han, lengths);
    return status == XYLEM_OK ? xyl_han_add_slots(han, NULL, &node) : status;
}

static xylem_status_t scatterv_add_stages(xyl_han_t *han)
{
    static const xyl_han_varying_t way = {add_root, add_levels, add_straight,
                                          &xyl_algorithm_scatter_linear};

    return xyl_han_add_varying(han, &way);
}

const xyl_algorithm_t xyl_algorithm_levels_scatterv = {
    .name = "han",
    .help = "levels in series (Traff 2004)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(SCATTERV),
    .add_stages = scatterv_add_stages,
};
