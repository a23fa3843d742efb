/* Alltoall(v, w) of short blocks in three steps. The seats of a node share out
 * the nodes: seat s deals with the nodes n for which n mod seats is s. Seat s
 * gets the blocks for these nodes from each seat of its own node, and exchanges
 * one message with each of these nodes. The seats of its node take their blocks
 * from the messages. A message from node m to node n goes from seat n mod
 * seats(m) to seat m mod seats(n), and has for each seat of m the blocks for
 * the seats of n.
 *
 *   node: hand out ──▶ exchange ──▶ node: take
 *
 * Seats publish all blocks at once; if the memory of the nodes has no room for
 * them, blocks go straight from rank to rank. Blocks that vary travel in slots
 * of one length; longer blocks go straight. Both ranks of a block know its
 * length, so no message tells it.
 * Node-aware alltoall: Bienz, Olson, Gropp, Node-aware improvements to
 * allreduce, 2019, section 3; Kuehnemann, Rauber, Runger, 2006. */
#include "collectives/board/board.h"
#include "collectives/data/limits.h"
#include "collectives/levels/han.h"
#include "collectives/levels/parts.h"
#include "collectives/node/node.h"

enum { HAND_OUT, EXCHANGE, TAKE, STRAIGHT };

enum { MESSAGES_UNDER_WAY = 32 };

/* `blocks` is an upper bound of the blocks that all seats of a node publish
 * before the exchange, and of those that they publish after it. */
int xyl_han_alltoall_fits(const xylem_team_t *team, const xyl_levels_t *levels,
                          uint64_t block_bytes)
{
    uint64_t largest = levels->largest;
    uint64_t blocks = largest * largest * (levels->nodes + largest);
    uint64_t window = xyl_node_window_bytes(team);

    return xyl_team_shares(team) && largest <= XYL_BOARD_SEATS_MAX &&
           block_bytes <= window / blocks &&
           largest * XYL_BOARD_LINE_BYTES <= window - block_bytes * blocks;
}

/* ---- blocks ---- */

/* A block's place in its buffer, and its bytes that go by levels: 0 if the
 * block is longer than a slot. A slot has problem.count bytes. */
typedef struct block {
    uint64_t at, bytes;
} block_t;

static uint64_t if_short(const xyl_han_t *han, uint64_t bytes)
{
    return bytes <= han->problem.count ? bytes : 0;
}

static block_t received_from(const xyl_han_t *han, uint32_t rank)
{
    return (block_t){xyl_problem_block_at(&han->problem, rank),
                     if_short(han, xyl_problem_block(&han->problem, rank))};
}

static block_t sent_to(const xyl_han_t *han, uint32_t rank)
{
    const xyl_problem_t *problem = &han->problem;

    return (block_t){
        xyl_block_at(problem, problem->send_displs, rank),
        if_short(han, xyl_block_count(problem, problem->send_counts, rank))};
}

/* ---- which seat deals with which node ---- */

static uint32_t seats_of(const xyl_han_t *han, uint32_t node)
{
    return xyl_levels_seats(han->levels, node);
}

/* Bytes of the message between this node and another, either way. */
static uint64_t message_bytes(const xyl_han_t *han, uint32_t node)
{
    return (uint64_t)han->seats.size * seats_of(han, node) * han->problem.count;
}

/* Bytes of the messages with all nodes that a seat deals with. */
static uint64_t all_bytes(const xyl_han_t *han, uint32_t seat)
{
    uint64_t sum = 0;
    uint32_t node;

    for (node = seat; node < han->levels->nodes; node += han->seats.size)
        sum += message_bytes(han, node);
    return sum;
}

static uint64_t most_bytes(const xyl_han_t *han)
{
    uint64_t most = 0;
    uint32_t seat;

    for (seat = 0; seat < han->seats.size; seat++)
        if (all_bytes(han, seat) > most)
            most = all_bytes(han, seat);
    return most;
}

/* ---- within the node ---- */

/* Publishes `bytes` of SEND, from `from` on, at `to`. */
static void publish(const xyl_han_t *han, xyl_node_program_t *program,
                    uint64_t to, uint64_t from, uint64_t bytes)
{
    (void)xyl_node_step(program, XYL_STEP_COPY,
                        xyl_position_of(XYL_BUFFER_INPUT, han->seats.rank, to),
                        xyl_in_send(from), bytes);
}

/* Publishes this seat's blocks, each in the slot of its receiver's rank. */
static void publish_slots(const xyl_han_t *han, xyl_node_program_t *program)
{
    uint32_t rank;

    for (rank = 0; rank < han->problem.ranks; rank++) {
        block_t block = sent_to(han, rank);
        if (block.bytes != 0)
            publish(han, program, rank * han->problem.count, block.at,
                    block.bytes);
    }
}

static void fetch(xyl_node_program_t *program, uint64_t to, uint32_t seat,
                  uint64_t from, uint64_t bytes)
{
    (void)xyl_node_step(program, XYL_STEP_COPY, xyl_in_recv(to),
                        xyl_position_of(XYL_BUFFER_INPUT, seat, from), bytes);
}

/* Where the message for a node lies before the exchange. The message for this
 * node itself is not sent, so it lies among the messages that have come. */
static uint64_t outgoing_at(const xyl_han_t *han, uint32_t node,
                            uint64_t message)
{
    return node == han->levels->node ? message + all_bytes(han, han->seats.rank)
                                     : message;
}

/* Fetches from `seat` its blocks for the nodes that this seat deals with. */
static void fetch_outgoing(const xyl_han_t *han, xyl_node_program_t *program,
                           uint32_t seat)
{
    uint64_t block = han->problem.count, message = 0, to;
    uint32_t node, first, run;

    for (node = han->seats.rank; node < han->levels->nodes;
         node += han->seats.size) {
        to = outgoing_at(han, node, message) +
             (uint64_t)seat * seats_of(han, node) * block;
        for (first = 0; first < seats_of(han, node); first += run) {
            run = xyl_han_run(han->levels, node, first);
            fetch(program, to + first * block, seat,
                  xyl_levels_rank(han->levels, node, first) * block,
                  run * block);
        }
        message += message_bytes(han, node);
    }
}

/* Fetches the blocks for this seat that `seat` has received. */
static void fetch_incoming(const xyl_han_t *han, xyl_node_program_t *program,
                           uint32_t seat)
{
    uint64_t slot = han->problem.count, message = 0, from;
    uint32_t node, theirs;

    for (node = seat; node < han->levels->nodes; node += han->seats.size) {
        for (theirs = 0; theirs < seats_of(han, node); theirs++) {
            block_t block =
                received_from(han, xyl_levels_rank(han->levels, node, theirs));
            from = (uint64_t)theirs * han->seats.size + han->seats.rank;
            if (block.bytes != 0)
                fetch(program, block.at, seat, message + from * slot,
                      block.bytes);
        }
        message += message_bytes(han, node);
    }
}

/* Each seat reads from itself first, so that no two seats begin with the same
 * seat. */
static void share_within(xyl_han_t *han, const xyl_han_stage_t *stage)
{
    int is_out = stage->number == HAND_OUT;
    uint64_t all = han->problem.count * han->problem.ranks;
    uint64_t bytes = is_out ? all : most_bytes(han);
    uint32_t i, seats = han->seats.size;
    xyl_node_program_t program;

    xyl_node_program_init(&program);
    program.element_bytes = 1;
    program.input_bytes = program.piece_bytes =
        xyl_board_whole_lines(bytes == 0 ? 1 : bytes);
    if (is_out && xyl_problem_varies(&han->problem))
        publish_slots(han, &program);
    else
        publish(han, &program, 0, 0,
                is_out ? all : all_bytes(han, han->seats.rank));
    (void)xyl_node_signal(&program, xyl_wait_nothing(),
                          xyl_post_count(1, XYL_BOARD_ALL));
    for (i = 0; i < seats; i++) {
        uint32_t seat = (han->seats.rank + i) % seats;
        xyl_node_strand(&program);
        (void)xyl_node_signal(&program, xyl_wait_count(seat, 1),
                              xyl_post_nothing()); /* the seat has published */
        if (is_out)
            fetch_outgoing(han, &program, seat);
        else
            fetch_incoming(han, &program, seat);
    }
    xyl_han_add_program(han, &program, stage);
    xyl_node_program_fini(&program);
}

/* ---- on a node of one rank, which deals with all nodes ---- */

static void write_sort(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    uint64_t slot = han->problem.count, message = 0, at;
    uint32_t node, first, run = 1, rank;
    const xyl_han_stage_t *stage = han->arg;
    int out = stage->number == HAND_OUT;

    for (node = 0; node < han->levels->nodes; node++) {
        at = out ? outgoing_at(han, node, message) : message;
        message += message_bytes(han, node);
        for (first = 0; first < seats_of(han, node); first += run) {
            block_t block;
            rank = xyl_levels_rank(han->levels, node, first);
            block = out ? sent_to(han, rank) : received_from(han, rank);
            if (!xyl_problem_varies(&han->problem))
                run = xyl_han_run(han->levels, node, first);
            xyl_schedule_copy(schedule, xyl_in_recv(out ? at : block.at),
                              xyl_in_send(out ? block.at : at),
                              run * block.bytes, XYL_ACTION_NONE);
            at += run * slot;
        }
    }
}

/* Adds the stage before the exchange (HAND_OUT), or after it (TAKE). */
static void add_within_node(xyl_han_t *han, uint32_t number)
{
    int out = number == HAND_OUT;
    xyl_han_stage_t stage =
        xyl_han_stage(number, out ? XYL_ROLE_INPUT : XYL_ROLE_SCRATCH,
                      out ? XYL_ROLE_SCRATCH : XYL_ROLE_RESULT);

    stage.send_at = out ? 0 : all_bytes(han, han->seats.rank);
    han->arg = &stage;
    if (han->seats.size == 1)
        xyl_han_add_written(han, write_sort, &stage);
    else
        share_within(han, &stage);
}

/* ---- between nodes ---- */

/* All seats post sends and receives in the same order of nodes. So the first
 * message that is left, in this order, is posted on both sides. */
static void write_exchange(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    const xyl_levels_t *levels = han->levels;
    uint64_t message = 0, bytes;
    uint32_t node, peer;

    schedule->flight_max = MESSAGES_UNDER_WAY;
    for (node = han->seats.rank; node < levels->nodes;
         node += han->seats.size) {
        const xyl_position_t from = xyl_in_send(message);
        const xyl_position_t to = xyl_in_recv(message);
        bytes = message_bytes(han, node);
        message += bytes;
        peer =
            xyl_levels_rank(levels, node, levels->node % seats_of(han, node));
        if (node == levels->node)
            continue;
        xyl_schedule_recv(schedule, peer, 0, to, bytes, XYL_ACTION_NONE);
        xyl_schedule_send(schedule, peer, 0, from, bytes, XYL_ACTION_NONE);
    }
}

/* ---- straight from rank to rank ---- */

/* The lengths of blocks that go straight; 0 for others. NULL: no memory. */
static const uint64_t *long_ones(xyl_han_t *han, const uint64_t *bytes)
{
    uint64_t *array = xyl_han_array(han, han->problem.ranks);
    uint32_t rank;

    for (rank = 0; array != NULL && rank < han->problem.ranks; rank++)
        array[rank] = if_short(han, bytes[rank]) == 0 ? bytes[rank] : 0;
    return array;
}

static void exchange_long(xyl_han_t *han)
{
    const xyl_han_stage_t stage = {.number = STRAIGHT,
                                   .reads = XYL_ROLE_INPUT,
                                   .writes = XYL_ROLE_RESULT,
                                   .is_apart = 1};
    xyl_problem_t problem = han->problem;

    if (xyl_problem_varies(&problem)) {
        problem.recv_counts = long_ones(han, problem.recv_counts);
        problem.send_counts = long_ones(han, problem.send_counts);
    }
    xyl_han_add_flat(han, &xyl_algorithm_alltoall_pairwise, &problem, &stage);
}

/* ---- the collective ---- */

/* The longest slot, up to the limit `alltoall_slot`, for which nodes have the
 * memory; 0: none. */
static uint64_t most_slot_bytes(const xyl_han_t *han)
{
    const xylem_team_t *team = han->operation->request.team;
    uint64_t bytes = xyl_limits_of(team->context)->alltoall_slot;

    while (bytes != 0 && !xyl_han_alltoall_fits(team, han->levels, bytes))
        bytes /= 2;
    return bytes;
}

static void alltoall_add_stages(xyl_han_t *han)
{
    xyl_han_stage_t exchange =
        xyl_han_stage(EXCHANGE, XYL_ROLE_SCRATCH, XYL_ROLE_SCRATCH);
    const xylem_team_t *team = han->operation->request.team;
    int varies = xyl_problem_varies(&han->problem);
    uint64_t bytes;

    if (varies)
        han->problem.count = most_slot_bytes(han);
    if ((varies && han->problem.count == 0) ||
        !xyl_han_alltoall_fits(team, han->levels, han->problem.count)) {
        exchange_long(han);
        return;
    }
    bytes = all_bytes(han, han->seats.rank);
    exchange.recv_at = bytes;
    xyl_han_make_scratch(han, 2 * bytes);
    add_within_node(han, HAND_OUT);
    xyl_han_add_written(han, write_exchange, &exchange);
    han->leader = han->seats.rank;
    xyl_han_note_net(han);
    add_within_node(han, TAKE);
    if (varies)
        exchange_long(han);
}

const xyl_algorithm_t xyl_algorithm_levels_alltoall = {
    .name = "han",
    .help = "levels in series (Kuehnemann et al. 2006)",
    XYL_BY_LEVELS(alltoall_add_stages),
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
};
