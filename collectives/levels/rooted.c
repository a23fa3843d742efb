/* Gather(v) and scatter(v) in two levels. The blocks of a node go in one
 * message, a bundle, between the root and the node's leader. A gather or
 * scatter of the node moves them between the leader and its ranks. The blocks
 * of the root's own node are gathered to, or scattered from, the user's buffer.
 *
 *   gather(v)    root's node     node gather
 *                other nodes     node gather ──▶ bundle
 *   scatter(v)   root's node     node scatter
 *                other nodes     (lengths) ──▶ bundle ──▶ node scatter
 *
 * docs/inside/levels.md says which blocks of a v form go in bundles.
 *
 * Karonis et al., Exploiting hierarchy in parallel computer networks to
 * optimize collective operation performance, 2000; Traff, Hierarchical
 * gather/scatter algorithms with graceful degradation, IPDPS 2004. */
#include <stdlib.h>

#include "collectives/data/limits.h"
#include "collectives/levels/parts.h"
#include "collectives/node/node.h"
#include "runtime/base/status.h"

enum { MESSAGES_OF_ROOT = 32 };

/* Messages between the root and a rank. */
enum { STRAIGHT, BUNDLE };

/* Stages; the node's comes first in a gather, last in a scatter. */
enum { GATHER, NET, SCATTER, TELL = GATHER };

static int is_scatter(const xyl_han_t *han)
{
    return han->problem.coll == XYLEM_COLL_SCATTER ||
           han->problem.coll == XYLEM_COLL_SCATTERV;
}

static int is_v_form(const xyl_han_t *han)
{
    return han->problem.coll == XYLEM_COLL_GATHERV ||
           han->problem.coll == XYLEM_COLL_SCATTERV;
}

/* ---- which blocks are in a bundle ---- */

/* 1: the nodes of the team have the memory that the v forms need; equal on all
 * ranks. */
static int has_room_for_slots(const xyl_han_t *han)
{
    const xylem_team_t *team = han->operation->request.team;
    uint32_t largest = han->levels->largest;

    return team->context->all_nodes_share &&
           (largest == 1 || xyl_node_would_have_room(team, largest));
}

/* The bytes of a slot: the longest block that a rank of the node may have in
 * the bundle of a v form. */
static uint64_t slot_bytes(const xyl_han_t *han, uint32_t node)
{
    const xyl_limits_t *limits = xyl_limits_of(han->operation->request.context);
    uint64_t most = han->levels->nodes <= limits->bundle_few_nodes
                        ? limits->bundle_few
                        : limits->bundle;
    uint64_t room = limits->bundle_slots / xyl_levels_seats(han->levels, node);

    return room < most ? room : most;
}

static int is_bundled(const xyl_han_t *han, uint32_t node, uint64_t bytes)
{
    return !is_v_form(han) || (xyl_levels_seats(han->levels, node) > 1 &&
                               bytes <= slot_bytes(han, node));
}

/* This rank's bytes in its node's bundle. The root's node has no bundle. */
static uint64_t own_bundled(const xyl_han_t *han)
{
    uint64_t own = han->problem.count;

    return is_bundled(han, han->levels->node, own) ? own : 0;
}

/* ---- at the root ---- */

/* A block, or several that lie together. */
typedef struct run {
    uint32_t rank; /* of the first */
    uint64_t bytes, at;
} run_t;

static run_t block_of_seat(const xyl_han_t *han, uint32_t node, uint32_t seat)
{
    uint32_t rank = xyl_levels_rank(han->levels, node, seat);

    return (run_t){rank, xyl_problem_block(&han->problem, rank),
                   xyl_problem_block_at(&han->problem, rank)};
}

/* The next run of blocks in a node's bundle, from *seat on; moves *seat behind
 * it. A run of 0 bytes: no block is left. */
static run_t next_run(const xyl_han_t *han, uint32_t node, uint32_t *seat)
{
    run_t run = {0}, block;

    for (; *seat < xyl_levels_seats(han->levels, node); ++*seat) {
        block = block_of_seat(han, node, *seat);
        if (block.bytes == 0 || !is_bundled(han, node, block.bytes))
            continue;
        if (run.bytes == 0)
            run = block;
        else if (block.at == run.at + run.bytes)
            run.bytes += block.bytes;
        else
            break;
    }
    return run;
}

static uint64_t bundle_bytes(const xyl_han_t *han, uint32_t node)
{
    uint64_t sum = 0, bytes;
    uint32_t seat = 0;

    while ((bytes = next_run(han, node, &seat).bytes) != 0)
        sum += bytes;
    return sum;
}

/* Blocks of a bundle that do not lie together go through a temporary buffer. */
static void pass_bundle(const xyl_han_t *han, xyl_schedule_t *schedule,
                        uint32_t node)
{
    uint32_t peer = han->leaders.ranks[node], seat = 0;
    uint64_t bytes = bundle_bytes(han, node);
    run_t run = next_run(han, node, &seat);
    xyl_position_t place = xyl_position(
        is_scatter(han) ? XYL_BUFFER_SEND : XYL_BUFFER_RECV, run.at);
    xyl_action_t ready = XYL_ACTION_NONE;
    xyl_position_t all, at;

    if (run.bytes == bytes) {
        xyl_schedule_pass(schedule, is_scatter(han), peer, BUNDLE, place, bytes,
                          ready);
        return;
    }
    all = at = xyl_schedule_temp(schedule, bytes);
    if (!is_scatter(han))
        ready = xyl_schedule_recv(schedule, peer, BUNDLE, all, bytes, ready);
    for (; run.bytes != 0; run = next_run(han, node, &seat)) {
        place.at = run.at;
        if (is_scatter(han))
            ready = xyl_schedule_join(schedule, ready,
                                      xyl_schedule_copy(schedule, at, place,
                                                        run.bytes,
                                                        XYL_ACTION_NONE));
        else
            xyl_schedule_copy(schedule, place, at, run.bytes, ready);
        at = xyl_position_plus(at, run.bytes);
    }
    if (is_scatter(han))
        xyl_schedule_send(schedule, peer, BUNDLE, all, bytes, ready);
}

static void pass_straight(const xyl_han_t *han, xyl_schedule_t *schedule,
                          uint32_t node)
{
    xyl_buffer_t buffer = is_scatter(han) ? XYL_BUFFER_SEND : XYL_BUFFER_RECV;
    uint32_t seat;

    for (seat = 0; seat < xyl_levels_seats(han->levels, node); seat++) {
        run_t block = block_of_seat(han, node, seat);
        if (!is_bundled(han, node, block.bytes))
            xyl_schedule_pass(schedule, is_scatter(han), block.rank, STRAIGHT,
                              xyl_position(buffer, block.at), block.bytes,
                              XYL_ACTION_NONE);
    }
}

/* Copies the root's block, unless a stage of the node moves it. */
static void copy_own_block(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    run_t own = block_of_seat(han, han->net_root, han->leader);

    if (!xyl_han_is_alone(han) || han->problem.is_in_place)
        return;
    xyl_schedule_copy(schedule, xyl_in_recv(is_scatter(han) ? 0 : own.at),
                      xyl_in_send(is_scatter(han) ? own.at : 0), own.bytes,
                      XYL_ACTION_NONE);
}

/* Long blocks come behind all bundles: a long block may have to wait for a
 * bundle with blocks of its rank's node, but no bundle waits for a long
 * block. */
static void write_root(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    uint32_t nodes = han->levels->nodes, step;

    schedule->flight_max = MESSAGES_OF_ROOT;
    if (!is_scatter(han))
        copy_own_block(han, schedule);
    for (step = 1; step < nodes; step++)
        pass_bundle(han, schedule, (han->net_root + step) % nodes);
    for (step = 1; step < nodes; step++)
        pass_straight(han, schedule, (han->net_root + step) % nodes);
    if (is_scatter(han))
        copy_own_block(han, schedule);
}

/* ---- elsewhere ---- */

/* Sends or receives a whole buffer: the node's blocks, or a long block. */
static void write_buffer(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    const xyl_position_t at =
        xyl_position(is_scatter(han) ? XYL_BUFFER_RECV : XYL_BUFFER_SEND, 0);
    uint64_t blocks = is_v_form(han) ? 1 : han->seats.size;

    xyl_schedule_pass(schedule, !is_scatter(han), han->problem.root,
                      is_v_form(han) ? STRAIGHT : BUNDLE, at,
                      blocks * han->problem.count, XYL_ACTION_NONE);
}

/* The bytes of each seat in the bundle, as seats tell their leader. */
typedef struct lengths {
    uint32_t seats;
    int is_scatter;
    uint64_t *told; /* [seats] */
} lengths_t;

/* The slot of a seat, in SCRATCH; behind all slots is room for the bundle. */
static xyl_position_t slot_at(const xyl_han_t *han, uint32_t seat)
{
    return xyl_in_recv(seat * slot_bytes(han, han->levels->node));
}

/* A gather copies the slots together, then sends the bundle. A scatter receives
 * the bundle, then copies its blocks into the slots. */
static void write_bundle(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    uint64_t slot = slot_bytes(han, han->levels->node);
    uint32_t seats = han->seats.size, root = han->problem.root, seat;
    const xyl_position_t bundle = slot_at(han, seats);
    xyl_action_t message = XYL_ACTION_NONE;

    if (is_scatter(han))
        message = xyl_schedule_recv(schedule, root, BUNDLE, bundle,
                                    seats * slot, XYL_ACTION_NONE);
    for (seat = 0; seat < seats; seat++)
        xyl_schedule_copy(
            schedule, is_scatter(han) ? slot_at(han, seat) : bundle,
            is_scatter(han) ? bundle : slot_at(han, seat), slot, message);
    if (is_scatter(han))
        return;
    message = xyl_schedule_send(schedule, root, BUNDLE, bundle, seats * slot,
                                XYL_ACTION_NONE);
    for (seat = 0; seat < seats; seat++)
        xyl_schedule_order(schedule, message, seat);
}

static void trim_bundle(const void *arg, xyl_action_entry_t *actions)
{
    const lengths_t *lengths = arg;
    xyl_action_entry_t *message =
        &actions[lengths->is_scatter ? 0 : lengths->seats];
    xyl_action_entry_t *copy = actions + lengths->is_scatter;
    uint64_t bytes = 0;
    uint32_t seat;

    for (seat = 0; seat < lengths->seats; seat++, copy++) {
        if (lengths->is_scatter)
            copy->left.at = message->to.at + bytes;
        else
            copy->to.at = message->left.at + bytes;
        copy->count = lengths->told[seat];
        bytes += lengths->told[seat];
    }
    message->count = bytes;
    if (bytes == 0) /* both sides leave the message out */
        message->kind = XYL_ACTION_NOTHING;
    else
        message->kind = lengths->is_scatter ? XYL_ACTION_RECV : XYL_ACTION_SEND;
}

/* ---- stages between nodes ---- */

/* The radix of a tree of leaders; 0: bundles go straight. There is a tree only
 * if all nodes have equally many ranks and their blocks lie together. */
static uint32_t tree_radix(const xyl_han_t *han)
{
    const xyl_levels_t *levels = han->levels;
    const xyl_problem_t problem = {.coll = han->problem.coll,
                                   .ranks = levels->nodes};
    uint32_t radix;

    if (levels->order != NULL || is_v_form(han) ||
        levels->ranks != levels->nodes * levels->largest)
        return 0;
    (void)xyl_han_choose(han, XYL_TEAM_LEADERS, &problem,
                         levels->largest * han->problem.count, &radix);
    return radix;
}

static void add_tree(xyl_han_t *han, uint32_t radix,
                     const xyl_han_stage_t *stage)
{
    xyl_problem_t problem = han->problem;

    problem.count *= han->seats.size;
    problem.is_in_place =
        xyl_han_is_root(han) && (problem.is_in_place || !xyl_han_is_alone(han));
    problem.radix = radix;
    xyl_han_add_net(han, &xyl_algorithm_blocks_knomial, &problem, stage);
}

/* Adds the stage between nodes: that of the root, that of a leader of another
 * node, or that of a rank with a long block. The leader has its node's blocks
 * in SCRATCH, unless it is alone on the node. */
static void add_between(xyl_han_t *han)
{
    int is_root = xyl_han_is_root(han);
    int is_users = is_root || xyl_han_is_alone(han) || is_v_form(han);
    xyl_han_stage_t stage = {
        .number = NET,
        .reads = is_users ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
        .writes = is_users ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH,
        .is_apart = is_root ? !is_scatter(han) : is_v_form(han)};
    uint32_t radix = tree_radix(han);

    if (!is_root && is_scatter(han))
        stage.reads = XYL_ROLE_NOTHING;
    if (!is_root && !is_scatter(han))
        stage.writes = XYL_ROLE_NOTHING;
    if (radix != 0)
        add_tree(han, radix, &stage);
    else
        xyl_han_add_written(han, is_root ? write_root : write_buffer, &stage);
}

/* ---- stages within nodes ---- */

static xyl_han_stage_t node_stage(const xyl_han_t *han)
{
    int is_users = xyl_han_has_root(han);

    return (xyl_han_stage_t){
        .number = is_scatter(han) ? SCATTER : GATHER,
        .reads =
            is_users || !is_scatter(han) ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
        .writes =
            is_users || is_scatter(han) ? XYL_ROLE_RESULT : XYL_ROLE_SCRATCH,
        .is_apart = is_users && is_scatter(han)};
}

/* Sets the blocks of the buffer that has all: SEND in a scatter, else RECV. */
static void set_blocks(const xyl_han_t *han, xyl_problem_t *problem,
                       const uint64_t *bytes, const uint64_t *at)
{
    int is_down = is_scatter(han);

    *(is_down ? &problem->send_counts : &problem->recv_counts) = bytes;
    *(is_down ? &problem->send_displs : &problem->recv_displs) = at;
}

/* Adds the node's stage: on the root's node, or for blocks of one length. */
static void add_node(xyl_han_t *han)
{
    const xyl_han_stage_t stage = node_stage(han);
    xyl_problem_t problem = {.coll = han->problem.coll,
                             .root = han->leader,
                             .count = han->problem.count,
                             .element_bytes = 1,
                             .is_in_place = xyl_han_is_root(han) &&
                                            han->problem.is_in_place};
    xyl_han_blocks_t blocks;

    if (!xyl_han_find_blocks(han, &blocks))
        return;
    if (xyl_han_has_root(han) && (xyl_han_is_root(han) || !is_v_form(han)))
        set_blocks(han, &problem, is_v_form(han) ? blocks.counts : NULL,
                   blocks.places);
    xyl_han_add_node(han, &problem, &stage);
}

/* Adds the stage of a v form on a node without the root: from seats into slots,
 * or back. The seats first tell each other the lengths of their blocks;
 * `lengths` gets them (NULL: this seat needs none). In the leader's problem
 * blocks are as long as slots, but the stage moves no more than the longest
 * block that a seat tells of. */
static void add_slots(xyl_han_t *han, const lengths_t *lengths)
{
    const xyl_han_stage_t stage = node_stage(han);
    uint64_t slot = slot_bytes(han, han->levels->node);
    uint64_t *bytes = xyl_han_array(han, han->seats.size);
    uint64_t *at = xyl_han_array(han, han->seats.size);
    xyl_problem_t problem = {.coll = han->problem.coll,
                             .root = han->leader,
                             .count = own_bundled(han),
                             .element_bytes = 1};
    xyl_node_program_t program;
    uint32_t seat;

    if (han->status != XYLEM_OK)
        return;
    for (seat = 0; seat < han->seats.size; seat++) {
        bytes[seat] = seat == han->seats.rank ? problem.count : slot;
        at[seat] = seat * slot;
    }
    if (xyl_han_leads(han))
        set_blocks(han, &problem, bytes, at);
    xyl_node_program_init(&program);
    xyl_han_write_program(han, &problem, &program);
    program.largest = problem.count;
    program.told = lengths == NULL ? NULL : lengths->told;
    xyl_han_add_program(han, &program, &stage);
    xyl_node_program_fini(&program);
}

/* Adds a stage in which the seats only tell each other lengths. */
static void add_telling(xyl_han_t *han, const lengths_t *lengths)
{
    const xyl_han_stage_t stage = {.number = TELL};
    xyl_node_program_t program;

    xyl_node_program_init(&program);
    program.element_bytes = 1;
    xyl_node_cut_late(&program, UINT64_MAX);
    program.largest = own_bundled(han);
    program.told = lengths == NULL ? NULL : lengths->told;
    xyl_han_add_program(han, &program, &stage);
    xyl_node_program_fini(&program);
}

/* Makes the leader's slots. They do not lie in the arena: most of their memory
 * is never touched, and a plan is kept for the next call only if its arena is
 * small. */
static const lengths_t *make_slots(xyl_han_t *han)
{
    xyl_operation_t *operation = han->operation;
    uint64_t slot = slot_bytes(han, han->levels->node);
    lengths_t *lengths =
        xyl_arena_array(&operation->request.arena, 1, sizeof *lengths);

    operation->buffers.owned = malloc(2 * slot * han->seats.size);
    operation->buffers.scratch = operation->buffers.owned;
    if (lengths == NULL || operation->buffers.scratch == NULL) {
        han->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a node's blocks");
        return NULL;
    }
    *lengths = (lengths_t){han->seats.size, is_scatter(han),
                           xyl_han_array(han, han->seats.size)};
    return lengths;
}

/* ---- the collective ---- */

static void add_v_elsewhere(xyl_han_t *han)
{
    xyl_han_stage_t bundle =
        xyl_han_stage(NET, XYL_ROLE_NOTHING, XYL_ROLE_SCRATCH);
    const lengths_t *lengths = NULL;

    if (!xyl_han_is_alone(han) && xyl_han_leads(han))
        bundle.trim_arg = lengths = make_slots(han);
    if (slot_bytes(han, han->levels->node) != 0)
        bundle.trim = trim_bundle;
    if (!xyl_han_is_alone(han) && is_scatter(han))
        add_telling(han, lengths);
    if (!xyl_han_is_alone(han) && !is_scatter(han))
        add_slots(han, lengths);
    if (lengths != NULL)
        xyl_han_add_written(han, write_bundle, &bundle);
    if (!xyl_han_is_alone(han) && is_scatter(han))
        add_slots(han, NULL);
    if (han->problem.count != own_bundled(han))
        add_between(han);
}

static void rooted_add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t flat =
        xyl_han_stage(0, XYL_ROLE_INPUT, XYL_ROLE_RESULT);

    xyl_han_choose_leaders(han, 0, han->problem.root);
    if (han->status != XYLEM_OK)
        return;
    if (is_v_form(han) && !has_room_for_slots(han)) {
        xyl_han_add_flat(han, &xyl_algorithm_blocks_linear, &han->problem,
                         &flat);
        return;
    }
    if (is_v_form(han) && !xyl_han_has_root(han)) {
        add_v_elsewhere(han);
        return;
    }
    if (!xyl_han_is_alone(han) && xyl_han_leads(han) && !xyl_han_has_root(han))
        xyl_han_make_scratch(han, han->seats.size * han->problem.count);
    if (!xyl_han_is_alone(han) && !is_scatter(han))
        add_node(han);
    if (xyl_han_is_in_net(han))
        add_between(han);
    if (!xyl_han_is_alone(han) && is_scatter(han))
        add_node(han);
}

const xyl_algorithm_t xyl_algorithm_levels_gather = {
    .name = "han",
    .help = "levels in series (Karonis et al. 2000)",
    XYL_BY_LEVELS(rooted_add_stages),
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(SCATTER),
};

const xyl_algorithm_t xyl_algorithm_levels_gatherv = {
    .name = "han",
    .help = "levels in series (Traff 2004)",
    XYL_BY_LEVELS(rooted_add_stages),
    .colls = XYL_COLL_BIT(GATHERV) | XYL_COLL_BIT(SCATTERV),
};
