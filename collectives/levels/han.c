#include "collectives/levels/han.h"

#include <assert.h>
#include <string.h>

#include "collectives/data/description.h"
#include "collectives/data/user_op.h"
#include "collectives/levels/parts.h"
#include "collectives/levels/relay.h"
#include "collectives/node/node.h"
#include "collectives/node/stage.h"
#include "collectives/stages/copy_stage.h"
#include "collectives/stages/tree_stage.h"
#include "runtime/base/status.h"

int xyl_han_keeps_order(xylem_team_t *team)
{
    const xyl_levels_t *levels = xyl_levels_of_team(team);

    return levels != NULL && levels->order == NULL;
}

/* ---- who leads ---- */

/* Chooses the nodes' leaders of a lane: seats in turn. A single leader on the
 * root's node is the root itself; several leaders share the work. */
static void choose_lane_leaders(xyl_han_t *han)
{
    uint32_t number = han->lane / han->choice->halves, seat;
    uint32_t turn = number % han->choice->leaders;

    xyl_han_choose_leaders(
        han, turn, han->choice->leaders == 1 ? han->root : XYL_HAN_NO_ROOT);
    if (han->status != XYLEM_OK)
        return;
    han->node_root = han->leader;
    assert(han->levels->nodes != 0);
    han->net_root = (turn + number / han->choice->leaders) % han->levels->nodes;
    if (han->root == XYL_HAN_NO_ROOT)
        return;
    xyl_levels_find(han->levels, han->root, &han->net_root, &seat);
    if (han->net_root == han->levels->node)
        han->node_root = seat;
}

/* ---- stages of one lane ---- */

enum { NODE_REDUCE, NET_UP, NET_DOWN, NODE_BCAST };
enum { SHARED_CORES_LONGER = 100 /* factor on the wait before a rank asks */ };

/* Stages within nodes and stages between them may have different segments. */
static xyl_stage_spec_t lane_spec(const xyl_han_t *han, uint32_t number,
                                  xyl_role_t reads, xyl_role_t writes)
{
    xyl_stage_spec_t spec = xyl_han_spec(han, number, reads, writes);

    spec.grain = number == NODE_REDUCE || number == NODE_BCAST
                     ? han->choice->within_grain
                     : han->choice->between_grain;
    return spec;
}

static xyl_role_t lane_input(const xyl_han_t *han)
{
    return han->is_private ? XYL_ROLE_SCRATCH : XYL_ROLE_INPUT;
}

static int is_at_root(const xyl_han_t *han)
{
    return han->root != XYL_HAN_NO_ROOT && han->net_root == han->levels->node;
}

/* The buffer for the leader's sum of its node, and for the result. */
static xyl_role_t lane_result(const xyl_han_t *han)
{
    const xylem_team_t *team = han->operation->request.team;

    if (han->is_private ||
        (han->root != XYL_HAN_NO_ROOT && han->root != team->rank))
        return XYL_ROLE_SCRATCH;
    return XYL_ROLE_RESULT;
}

/* Adds a stage through memory. NULL: there is none, because the node has no
 * memory for it, or its ranks are to send messages. */
static xyl_stage_t *add_in_memory(xyl_han_t *han, xylem_coll_t coll,
                                  const xyl_algorithm_t *algorithm,
                                  int has_relay, const xyl_stage_spec_t *spec)
{
    const xyl_node_part_t part = {
        .coll = coll,
        .algorithm = algorithm,
        .chooser = han->choice->chooser,
        .named = coll == XYLEM_COLL_BCAST ? han->choice->within_down
                                          : han->choice->within_up,
        .named_radix = han->choice->within_radix,
        .group = han->seats,
        .root = han->node_root,
        .is_in_place =
            han->args->send == XYLEM_IN_PLACE ||
            (coll == XYLEM_COLL_REDUCE && spec->reads == lane_result(han)),
        .roots_in_turn =
            han->choice->leaders >= han->seats.size && !is_at_root(han),
        .is_for_one = coll == XYLEM_COLL_REDUCE && han->root != XYL_HAN_NO_ROOT,
        .is_beside_trees = han->choice->exchange == NULL,
        .is_at_root = is_at_root(han),
        .has_relay = has_relay};
    xyl_stage_t *stage = NULL;

    if (han->status == XYLEM_OK && han->seats.size > 1 &&
        !han->choice->is_by_messages)
        han->status = xyl_node_part_add(han->operation, spec, &part, &stage);
    return stage;
}

/* Adds a stage through memory, or along a tree if memory cannot be had. */
static void add_within(xyl_han_t *han, xylem_coll_t coll,
                       const xyl_stage_spec_t *spec)
{
    const xyl_tree_spec_t tree = {han->seats, han->choice->node_tree,
                                  han->node_root, 0, NULL};

    if (add_in_memory(han, coll, NULL, 0, spec) != NULL ||
        han->status != XYLEM_OK || han->seats.size == 1)
        return;
    han->status = coll == XYLEM_COLL_BCAST
                      ? xyl_down_stage_add(han->operation, spec, &tree)
                      : xyl_up_stage_add(han->operation, spec, &tree);
}

/* `reads`: the role of the buffer with this seat's contribution. */
static void add_node_reduce(xyl_han_t *han, xyl_role_t reads)
{
    xyl_role_t writes =
        han->seats.rank == han->node_root ? lane_result(han) : XYL_ROLE_NOTHING;
    const xyl_stage_spec_t spec = lane_spec(han, NODE_REDUCE, reads, writes);

    add_within(han, XYLEM_COLL_REDUCE, &spec);
}

/* On each node, only the stage of the root waits for input. */
static void add_node_bcast(xyl_han_t *han)
{
    int is_root = han->seats.rank == han->node_root;
    xyl_role_t message = han->is_private ? XYL_ROLE_SCRATCH : XYL_ROLE_RESULT;
    xyl_stage_spec_t spec = lane_spec(han, NODE_BCAST, XYL_ROLE_INPUT, message);

    if (!is_root) {
        spec.after = NULL;
        spec.takes_input = 0;
    }
    add_within(han, XYLEM_COLL_BCAST, &spec);
}

static xyl_tree_spec_t net_tree(const xyl_han_t *han)
{
    int is_ordered =
        xyl_collective_of(han->operation)->plan.tree == &xyl_tree_inorder;

    return (xyl_tree_spec_t){han->leaders,
                             {xyl_collective_of(han->operation)->plan.tree,
                              xyl_collective_of(han->operation)->plan.radix},
                             han->net_root,
                             han->lane % han->choice->halves,
                             is_ordered ? NULL
                                        : xyl_levels_switches(han->levels)};
}

/* `reads`: the role of the buffer with the leader's contribution. */
static void add_net_up(xyl_han_t *han, xyl_role_t reads)
{
    xyl_role_t writes = han->leaders.rank == han->net_root ? lane_result(han)
                                                           : XYL_ROLE_NOTHING;
    const xyl_stage_spec_t spec = lane_spec(han, NET_UP, reads, writes);
    const xyl_tree_spec_t tree = net_tree(han);

    if (han->status != XYLEM_OK || !xyl_han_is_in_net(han))
        return;
    han->status = xyl_up_stage_add(han->operation, &spec, &tree);
    xyl_han_note_net(han);
}

static void add_net_down(xyl_han_t *han)
{
    const xyl_stage_spec_t spec =
        lane_spec(han, NET_DOWN, XYL_ROLE_NOTHING,
                  han->is_private ? XYL_ROLE_SCRATCH : XYL_ROLE_RESULT);
    const xyl_tree_spec_t tree = net_tree(han);

    if (han->status != XYLEM_OK || !xyl_han_is_in_net(han))
        return;
    han->status = xyl_down_stage_add(han->operation, &spec, &tree);
    xyl_han_note_net(han);
}

static void add_net_exchange(xyl_han_t *han, xyl_role_t reads)
{
    const xyl_operation_t *operation = han->operation;
    const xyl_han_stage_t stage = {
        .number = NET_UP, .reads = reads, .writes = lane_result(han)};
    const xyl_problem_t problem = {
        .coll = XYLEM_COLL_ALLREDUCE,
        .count = xyl_operation_lane_bytes(operation, han->lane) /
                 xyl_collective_of(operation)->element_bytes,
        .element_bytes = xyl_collective_of(operation)->element_bytes,
        .is_in_place =
            han->args->send == XYLEM_IN_PLACE || reads == lane_result(han),
        .is_commutative = xyl_collective_of(operation)->combiner.is_commutative,
        .radix = han->choice->frame.radix};

    if (!xyl_han_is_in_net(han))
        return;
    xyl_han_add_net(han, han->choice->exchange, &problem, &stage);
}

/* ---- collectives ---- */

static void add_bcast_plain(xyl_han_t *han)
{
    if (is_at_root(han))
        add_node_bcast(han);
    add_net_down(han);
    if (!is_at_root(han))
        add_node_bcast(han);
}

/* 1: segments are sent on from a window on each node. The message is long
 * enough to detach, and the user has named no other way within nodes. */
static int is_relayed(const xyl_han_t *han)
{
    const xyl_operation_t *operation = han->operation;
    uint64_t least = operation->request.context->config.detach_bytes;

    return least != 0 && operation->bytes >= least && han->levels->nodes > 1 &&
           han->choice->within_down == NULL && !han->choice->is_by_messages &&
           han->choice->within_grain == han->choice->between_grain &&
           xyl_operation_lane_bytes(operation, han->lane) != 0;
}

/* The time before a rank asks for help, at most an hour or so. Ranks that share
 * cores hold each other up for some slices of the scheduler, so they wait
 * longer. */
static uint64_t wait_ns(const xyl_han_t *han)
{
    const xylem_context_t *context = han->operation->request.context;
    uint64_t us = context->config.bypass_us;

    if (context->driver.params.shares_cores)
        us *= SHARED_CORES_LONGER;
    return (us < UINT32_MAX ? us : UINT32_MAX) * 1000;
}

/* How many seats precede this seat as leader or stand-by; 0: this seat leads.
 * XYL_RELAY_SEATS or more: this seat has no relay. A seat stands by only if its
 * operation can detach, because its relay outlives its call. */
static uint32_t place_in_line(const xyl_han_t *han)
{
    uint32_t seats = han->seats.size;
    uint32_t place = (han->seats.rank + seats - han->leader) % seats;

    return place == 0 || (wait_ns(han) != 0 &&
                          xyl_collective_may_detach(han->operation, han->sides))
               ? place
               : XYL_RELAY_SEATS;
}

/* `node`: the node's stage; NULL: no windows, and only leaders have relays. */
static void add_relay(xyl_han_t *han, xyl_stage_t *node)
{
    const xyl_relay_spec_t relay = {.tree = net_tree(han),
                                    .levels = han->levels,
                                    .lane = han->lane,
                                    .place = place_in_line(han),
                                    .node = node,
                                    .wait_ns = wait_ns(han)};
    xyl_stage_spec_t spec =
        lane_spec(han, NET_UP, XYL_ROLE_NOTHING, XYL_ROLE_RESULT);

    spec.sequences_max = 2; /* NET_DOWN has none */
    if (han->status != XYLEM_OK ||
        relay.place >= (node != NULL ? XYL_RELAY_SEATS : 1))
        return;
    han->status = xyl_relay_stage_add(han->operation, &spec, &relay);
    if (relay.place == 0)
        xyl_han_note_net(han);
}

/* A node whose GPUs run the levels has no window: kernels read where the net
 * writes. */
static void add_bcast_relayed(xyl_han_t *han)
{
    int has_relay = place_in_line(han) < XYL_RELAY_SEATS;
    const xyl_stage_spec_t spec =
        lane_spec(han, NODE_BCAST, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    xyl_stage_t *node =
        han->nets != NULL ? NULL
                          : add_in_memory(han, XYLEM_COLL_BCAST,
                                          &xyl_relay_program, has_relay, &spec);

    if (node == NULL && is_at_root(han))
        add_node_bcast(han);
    if (node != NULL && han->beside != NULL)
        xyl_node_stage_join(node, han->beside);
    han->beside = node;
    add_relay(han, node);
    if (node == NULL && !is_at_root(han))
        add_node_bcast(han);
}

static void add_bcast(xyl_han_t *han)
{
    if (is_relayed(han))
        add_bcast_relayed(han);
    else
        add_bcast_plain(han);
}

static void add_reduce(xyl_han_t *han)
{
    int is_alone = han->seats.size == 1;

    if (is_at_root(han) && han->choice->leaders > 1 && !is_alone) {
        add_net_up(han, lane_input(han));
        add_node_reduce(han, xyl_han_is_in_net(han) ? lane_result(han)
                                                    : lane_input(han));
        return;
    }
    add_node_reduce(han, lane_input(han));
    add_net_up(han, is_alone ? lane_input(han) : lane_result(han));
}

static void add_allreduce(xyl_han_t *han)
{
    xyl_role_t brought =
        han->seats.size == 1 ? lane_input(han) : lane_result(han);

    add_node_reduce(han, lane_input(han));
    if (han->choice->exchange != NULL) {
        add_net_exchange(han, brought);
    } else {
        add_net_up(han, brought);
        add_net_down(han);
    }
    add_node_bcast(han);
}

static int leads_any(const xyl_han_t *han)
{
    return han->seats.size > 1 && han->levels->seat < han->choice->leaders;
}

/* The bytes of all lanes from the first to the last that this seat leads. */
typedef struct part {
    uint64_t next; /* where the next lane begins */
    uint64_t from, end;
} part_t;

static void part_add_lane(part_t *part, const xyl_han_t *han)
{
    uint64_t at = part->next;

    part->next += xyl_operation_lane_bytes(han->operation, han->lane);
    if (!xyl_han_is_in_net(han) || at == part->next)
        return;
    if (part->end == 0)
        part->from = at;
    part->end = part->next;
}

/* A leader that is not the root combines its part in scratch memory. `scratch`
 * points as far before that memory as the part begins in the message, because
 * stages add a segment's offset in the message. */
static void make_memory_of(xyl_han_t *han, const part_t *part)
{
    if (part->end == 0)
        return;
    xyl_han_make_scratch(han, part->end - part->from);
    if (han->status == XYLEM_OK)
        han->operation->buffers.scratch =
            (void *)((uintptr_t)han->operation->buffers.scratch -
                     (uintptr_t)part->from);
}

static void add_lanes(xyl_han_t *han, xylem_coll_t coll)
{
    xyl_operation_t *operation = han->operation;
    int combines_apart = coll == XYLEM_COLL_REDUCE && leads_any(han) &&
                         han->root != operation->request.team->rank;
    part_t part = {0};

    operation->sequences = operation->lanes * XYL_HAN_STAGES;
    if (han->is_private)
        xyl_han_make_scratch(han, operation->bytes);
    if (han->is_private && han->status == XYLEM_OK)
        memset(operation->buffers.scratch, 0, operation->bytes);
    for (han->lane = 0; han->lane < operation->lanes; han->lane++) {
        choose_lane_leaders(han);
        if (han->status == XYLEM_OK)
            han->choice->algorithm->add_stages(han);
        if (han->status == XYLEM_OK && combines_apart)
            part_add_lane(&part, han);
    }
    make_memory_of(han, &part);
}

/* ---- creation ---- */

/* The operation's arguments: a barrier moves one byte of its own. */
static xylem_coll_args_t frame_of(const xylem_coll_args_t *args)
{
    xylem_coll_args_t frame = *args;

    if (args->coll == XYLEM_COLL_BARRIER) {
        frame.send = XYLEM_IN_PLACE;
        frame.recv = NULL;
        frame.count = 1;
        frame.type = XYLEM_BYTE;
        frame.op = XYLEM_BOR;
        frame.on_segment = NULL;
    }
    return frame;
}

xylem_status_t xyl_han_create(const xyl_call_t *call,
                              const xyl_choice_t *choice,
                              xyl_operation_t **operation_out)
{
    const xylem_coll_args_t *args = &call->args;
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    xylem_coll_args_t frame = frame_of(args);
    int is_bcast = args->coll == XYLEM_COLL_BCAST;
    xyl_han_t han = {.args = &frame,
                     .sides = &call->sides,
                     .choice = choice,
                     .levels = xyl_levels_of_team(call->team),
                     .sequences = 1,
                     .root = traits->has_root ? args->root : XYL_HAN_NO_ROOT,
                     .is_private = args->coll == XYLEM_COLL_BARRIER};
    xyl_combiner_t *combiner;

    if (han.levels == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team's levels");
    han.status = xyl_collective_create(
        call->team, &frame, &choice->frame,
        !is_bcast || call->team->rank == args->root, &han.operation);
    if (han.status != XYLEM_OK)
        return han.status;
    combiner = &xyl_collective_of(han.operation)->combiner;
    *combiner = call->combiner;
    if (han.is_private)
        han.status = xyl_combiner_find(call->team->context, &frame, combiner);
    xyl_han_find_seats(&han);
    xyl_han_level_begin(&han);
    if (han.status == XYLEM_OK)
        add_lanes(&han, args->coll);
    if (han.status == XYLEM_OK && is_bcast)
        han.status = xyl_pack_stages_add(han.operation, call->sides.recv);
    xyl_han_level_end(&han, call);
    if (han.status == XYLEM_OK)
        *operation_out = han.operation;
    else
        xyl_request_discard(&han.operation->request);
    return han.status;
}

#define LANES_ENTRY(coll, of_colls)                                            \
    const xyl_algorithm_t xyl_algorithm_levels_##coll = {                      \
        .name = "han",                                                         \
        .help = "levels in series (Luo et al. 2020)",                          \
        .kind = XYL_ALGORITHM_LANES,                                           \
        .colls = (of_colls),                                                   \
        .radix = {1, 0, 16},                                                   \
        .add_stages = add_##coll,                                              \
    }
LANES_ENTRY(bcast, XYL_COLL_BIT(BCAST));
LANES_ENTRY(reduce, XYL_COLL_BIT(REDUCE));
LANES_ENTRY(allreduce, XYL_COLL_BIT(ALLREDUCE) | XYL_COLL_BIT(BARRIER));
