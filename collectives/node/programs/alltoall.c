/* Alltoall(v, w): every seat publishes its blocks, beginning with that for its
 * neighbour, and copies out those that the others have for it.
 *
 * Where lengths vary, blocks are handed in a first piece, which each seat has
 * cells of for all others; only those that are longer than a cell go as above.
 * Two seats hand theirs by their lines.
 *
 * Long blocks are offered where they lie: each seat reads there what is for it,
 * beginning with that of its neighbour; also those of a length that varies, by
 * their cells of the first piece. Of too many seats for a line between each two
 * they go in rounds: in each, seats exchange in pairs, through a few places
 * that are used again and again, and so stay in the caches. */
#include "collectives/node/parcel.h"
#include "collectives/node/programs/parts.h"

enum {
    ROUNDS_CUTS = 8, /* of a block in one piece */
    PLACES = 2,      /* of a seat */
    CELL_LEAST = 32,
    CELL_LINE = 64 /* longer ones are whole lines */
};

/* What is in place is written over: it is copied. */
static xyl_step_kind_t alltoall_publishes(const xyl_problem_t *problem)
{
    return problem->is_in_place ? XYL_STEP_COPY : XYL_STEP_PUBLISH;
}

/* The input of a seat has the blocks side by side. */
static xyl_position_t alltoall_block_in(const xyl_node_program_t *program,
                                        uint32_t from, uint32_t to)
{
    return xyl_position_of(XYL_BUFFER_INPUT, from, to * program->piece_bytes);
}

static xyl_position_t block_to(const xyl_problem_t *problem, uint32_t seat)
{
    return xyl_position_of(XYL_BUFFER_RECV, 0,
                           xyl_node_block_at(problem, seat));
}

static xyl_position_t block_from(const xyl_problem_t *problem, uint32_t seat)
{
    return problem->is_in_place
               ? block_to(problem, seat)
               : xyl_position_of(XYL_BUFFER_SEND, 0,
                                 xyl_node_send_at(problem, seat));
}

/* Where it lies it has them as long as they are, and all alike if it is
 * shared. */
static uint64_t alltoall_further(const xyl_problem_t *problem,
                                 const xyl_step_t *step,
                                 xyl_position_t published, uint32_t seat)
{
    return xyl_problem_bytes(problem) * seat + step->within - published.at;
}

static void write_alltoall_own(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    uint64_t bytes = xyl_node_block(problem, problem->rank);
    xyl_step_t *step =
        xyl_node_step(program, XYL_STEP_COPY, block_to(problem, problem->rank),
                      block_from(problem, problem->rank), program->piece_bytes);

    step->total = xyl_node_left(program, bytes);
}

/* The count of a seat that says that its block for the seat at that distance is
 * published: as many are, or all. */
static uint32_t count_of(const xyl_problem_t *problem, uint32_t distance)
{
    return !xyl_problem_varies(problem) &&
                   xyl_problem_bytes(problem) <
                       problem->node.limits->alltoall_each
               ? problem->ranks - 1
               : distance;
}

static void write_alltoall_inputs(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    uint32_t distance;

    for (distance = 1; distance < problem->ranks; distance++) {
        uint32_t seat = (problem->rank + distance) % problem->ranks;
        xyl_step_t *step =
            xyl_node_step(program, alltoall_publishes(problem),
                          alltoall_block_in(program, problem->rank, seat),
                          block_from(problem, seat), program->piece_bytes);
        step->further = alltoall_further(problem, step, step->to, seat);
        step->total =
            xyl_node_left(program, xyl_node_send_block(problem, seat));
        if (count_of(problem, distance) != distance)
            continue;
        step->post = XYL_POST_COUNT;
        step->post_value = distance;
        /* In place, what is copied out waits for this seat as well. */
        step->post_seat = problem->is_in_place || count_of(problem, 1) != 1
                              ? XYL_BOARD_ALL
                              : seat;
    }
    if (!problem->is_in_place)
        write_alltoall_own(problem, program);
}

/* In place, what a seat has is written over after it has posted that count. */
static void write_alltoall_wait(const xyl_problem_t *problem,
                                xyl_node_program_t *program, uint32_t count)
{
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};
    xyl_step_t *step;

    if (!problem->is_in_place)
        return;
    step = xyl_node_step(program, XYL_STEP_NOTHING, nowhere, nowhere, 0);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = problem->rank;
    step->wait_for = count;
}

static void write_alltoall_block(const xyl_problem_t *problem,
                                 xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seats = problem->ranks;
    uint32_t seat = (problem->rank + seats - distance) % seats;
    xyl_position_t to = block_to(problem, seat);
    xyl_step_t *step;

    xyl_node_strand(program);
    /* the block there must have been published */
    write_alltoall_wait(problem, program, count_of(problem, seats - distance));
    step = xyl_node_step(program, XYL_STEP_COPY, to,
                         alltoall_block_in(program, seat, problem->rank),
                         program->piece_bytes);
    step->further = alltoall_further(problem, step, step->from, problem->rank);
    step->total = xyl_node_left(program, xyl_node_block(problem, seat));
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = seat;
    step->wait_for = count_of(problem, distance);
}

/* ---- where they lie ---- */

enum { OFFER_CELL = 1024 };

/* Who names a segment gets rounds of it. */
static int may_offer(const xyl_problem_t *problem)
{
    return !problem->node.is_level && problem->ranks > 1 &&
           problem->segment_bytes == 0;
}

/* Where lengths vary, two seats have one parcel each way, by its own line. */
static int has_heads(const xyl_problem_t *problem)
{
    return problem->ranks > 2;
}

static int has_lines(const xyl_problem_t *problem)
{
    return has_heads(problem) || !xyl_node_is_cut_late(problem);
}

static uint64_t kept_bytes(const xyl_problem_t *problem,
                           const xyl_node_program_t *program, uint32_t end)
{
    uint64_t bytes = 0, block;
    uint32_t seat;

    for (seat = 0; seat < end && problem->is_in_place; seat++) {
        block = xyl_node_send_block(problem, seat);
        if (seat != problem->rank && xyl_node_is_offered(program, block))
            bytes += block;
    }
    return bytes;
}

/* In place a copy is offered: of the block itself, what comes is written there.
 */
static xyl_position_t offered_block(const xyl_problem_t *problem,
                                    const xyl_node_program_t *program,
                                    uint32_t seat)
{
    return problem->is_in_place
               ? xyl_position_of(XYL_BUFFER_TEMP, 0,
                                 kept_bytes(problem, program, seat))
               : block_from(problem, seat);
}

/* By which a seat's block goes to the one at that distance. */
static xyl_position_t cell_of(const xyl_node_program_t *program, uint32_t seat,
                              uint32_t distance)
{
    return xyl_position_of(XYL_BUFFER_INPUT, seat,
                           (distance - 1) * program->cell);
}

static void keep_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t seat)
{
    if (problem->is_in_place)
        (void)xyl_node_step(
            program, XYL_STEP_COPY, offered_block(problem, program, seat),
            block_from(problem, seat), xyl_node_send_block(problem, seat));
}

static void offer_block(const xyl_problem_t *problem,
                        xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    xyl_step_t *step;

    keep_block(problem, program, seat);
    step = xyl_node_step(program, XYL_STEP_OFFER,
                         cell_of(program, problem->rank, distance),
                         offered_block(problem, program, seat),
                         xyl_node_send_block(problem, seat));
    step->post_seat = seat;
    step->has_line = 1;
    program->offers = 1;
}

/* Until it was read, or handed in parts. */
static void hand_offered(const xyl_problem_t *problem,
                         xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    uint64_t bytes = xyl_node_send_block(problem, seat);
    xyl_step_t *step;

    if (!xyl_node_is_offered(program, bytes) || !has_lines(problem))
        return;
    xyl_node_strand(program);
    step = xyl_node_hand(program, problem->rank, seat,
                         offered_block(problem, program, seat), bytes);
    step->to = cell_of(program, problem->rank, distance);
    step->offers = step->has_line = 1;
}

static void take_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seats = problem->ranks;
    uint32_t seat = (problem->rank + seats - distance) % seats;
    uint64_t bytes = xyl_node_block(problem, seat);
    int is_offered = xyl_node_is_offered(program, bytes);
    xyl_step_t *step;

    /* Of one other seat, when its own is handed, if nobody waits for that. */
    if (has_lines(problem) || is_offered || program->offers) {
        xyl_node_strand(program);
        write_alltoall_wait(problem, program, 1); /* after it was handed */
    }
    step = xyl_node_take(program, seat, seat, block_to(problem, seat), bytes);
    step->from = cell_of(program, seat, distance);
    step->offers = is_offered;
    step->has_line = is_offered && has_lines(problem);
    step->has_head = !is_offered && has_heads(problem);
    program->takes += (uint32_t)is_offered;
    program->offers |= is_offered;
}

static void copy_long_own(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint64_t bytes = xyl_node_block(problem, problem->rank);

    if (problem->is_in_place || !xyl_node_is_offered(program, bytes))
        return;
    xyl_node_strand(program);
    (void)xyl_node_step(program, XYL_STEP_COPY,
                        block_to(problem, problem->rank),
                        block_from(problem, problem->rank), bytes);
}

/* A line and a cell from each seat to each other, beside the slots as long as
 * there is room, else in a window of the pool; 0: there is none. */
static uint64_t offer_bytes(const xyl_problem_t *problem)
{
    const uint64_t line = sizeof(xyl_parcel_line_t);
    const uint64_t pairs = (uint64_t)problem->ranks * (problem->ranks - 1);
    uint64_t each =
        xyl_board_unpooled(problem->ranks, problem->node.long_window_bytes) /
        pairs / line * line;

    if (each >= XYL_PARCEL_BETWEEN_LEAST)
        return each < line + OFFER_CELL ? each : line + OFFER_CELL;
    each = XYL_PARCEL_BETWEEN_LEAST;
    return each * pairs <= problem->node.window_bytes ? each : 0;
}

static int are_offered(const xyl_problem_t *problem)
{
    return problem->coll == XYLEM_COLL_ALLTOALL && may_offer(problem) &&
           xyl_problem_bytes(problem) >= problem->node.limits->alltoall_read &&
           offer_bytes(problem) != 0;
}

/* All of them at a time, as seats come and as they read. */
static void write_offered(const xyl_problem_t *problem,
                          xyl_node_program_t *program)
{
    uint32_t distance, seats = problem->ranks;
    xyl_step_t *step;

    xyl_node_plan_parcels(problem, program);
    program->cell = offer_bytes(problem);
    program->cells = program->input_bytes = (seats - 1) * program->cell;
    program->read_from = 1;
    program->temp_bytes = kept_bytes(problem, program, seats);
    for (distance = 1; distance < seats; distance++)
        offer_block(problem, program, distance);
    step = xyl_node_step(program, XYL_STEP_NOTHING, block_to(problem, 0),
                         block_to(problem, 0), 0);
    step->post = XYL_POST_COUNT;
    step->post_value = 1;
    for (distance = 1; distance < seats; distance++)
        take_block(problem, program, distance);
    for (distance = 1; distance < seats; distance++)
        hand_offered(problem, program, distance);
    copy_long_own(problem, program);
}

/* ---- the first piece ---- */

/* Of several other seats: a cell for each, of whole lines if that leaves room
 * for offers; 1: it does. */
static int plan_cells_for_each(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    const uint64_t line = sizeof(xyl_parcel_line_t);
    uint64_t others = problem->ranks - 1;
    uint64_t cell =
        xyl_board_unpooled(problem->ranks, problem->node.long_window_bytes) /
        problem->ranks / XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES / others;
    int has_room;

    if (cell > problem->node.limits->parcel_cell)
        cell = problem->node.limits->parcel_cell;
    has_room = cell / line * line >= XYL_PARCEL_BETWEEN_LEAST;
    if (has_room)
        cell = cell / line * line;
    else
        cell = cell < CELL_LINE ? CELL_LEAST : cell / CELL_LINE * CELL_LINE;
    program->cell = cell;
    program->cells = xyl_board_whole_lines(others * cell);
    program->first_bytes = cell - sizeof(xyl_parcel_head_t);
    return has_room;
}

static void plan_cells(const xyl_problem_t *problem,
                       xyl_node_program_t *program)
{
    int has_room = 1;

    if (has_heads(problem))
        has_room = plan_cells_for_each(problem, program);
    else
        program->cells = program->cell = program->first_bytes =
            xyl_node_cell(problem);
    if (!has_room || !may_offer(problem))
        return;
    program->read_from = problem->node.limits->alltoall_read;
    if (program->read_from <= program->first_bytes)
        program->read_from = program->first_bytes + 1;
    program->temp_bytes = kept_bytes(problem, program, problem->ranks);
}

static void hand_block(const xyl_problem_t *problem,
                       xyl_node_program_t *program, uint32_t distance)
{
    uint32_t seat = (problem->rank + distance) % problem->ranks;
    uint64_t bytes = xyl_node_send_block(problem, seat);
    int is_offered = xyl_node_is_offered(program, bytes);
    xyl_step_t *step;

    if (is_offered && has_lines(problem)) {
        offer_block(problem, program, distance);
        return;
    }
    if (is_offered)
        keep_block(problem, program, seat);
    step = xyl_node_hand(program, problem->rank, seat,
                         is_offered ? offered_block(problem, program, seat)
                                    : block_from(problem, seat),
                         bytes);
    step->to = cell_of(program, problem->rank, distance);
    step->has_head = has_heads(problem);
    step->offers = is_offered;
    program->offers |= is_offered;
}

static void write_first(const xyl_problem_t *problem,
                        xyl_node_program_t *program)
{
    uint64_t own = xyl_node_block(problem, problem->rank);
    uint32_t distance;

    plan_cells(problem, program);
    for (distance = 1; distance < problem->ranks; distance++)
        hand_block(problem, program, distance);
    if (has_heads(problem))
        xyl_node_tell(program);
    if (!problem->is_in_place && own <= program->first_bytes)
        (void)xyl_node_step(program, XYL_STEP_COPY,
                            block_to(problem, problem->rank),
                            block_from(problem, problem->rank), own);
    for (distance = 1; distance < problem->ranks; distance++)
        take_block(problem, program, distance);
    for (distance = 1; distance < problem->ranks; distance++)
        hand_offered(problem, program, distance);
    copy_long_own(problem, program);
    if (has_heads(problem))
        xyl_node_hear(program);
}

/* ---- in windows ---- */

static void write_blocks(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    uint64_t seats = problem->ranks;
    uint32_t distance;

    if (xyl_node_is_cut_late(problem))
        write_first(problem, program);
    xyl_node_plan_blocks(problem, program,
                         problem->node.window_bytes / seats / seats / 128 *
                             128);
    program->input_bytes = xyl_board_whole_lines(seats * program->piece_bytes);
    write_alltoall_inputs(problem, program);
    for (distance = 1; distance < problem->ranks; distance++)
        write_alltoall_block(problem, program, distance);
    if (!program->shares)
        return;
    xyl_node_strand(program);
    xyl_node_has_read(problem, program, XYL_WAIT_STRANDS, 0, problem->ranks);
    xyl_node_until_read(program, problem->ranks);
}

/* ---- rounds ---- */

/* The rounds of a piece, from 1 on: as many for each cut of its blocks as it
 * takes until each seat has met each other. In a round a seat has one partner,
 * whose partner it is; or none, where there is an odd number of seats. It
 * publishes for round r + 1 before it copies out what it gets in round r:
 *
 *     publish 1   publish 2   copy 1   publish 3   copy 2   ...
 *
 * Each waits only for what stands before it there, in other seats' as in its
 * own: what was published for the round, or what was copied out of the place
 * before. And in place, a block is published before it is copied over, because
 * partners exchange in one round. Its own block a seat copies at the end: in
 * between, its partners would wait. */
typedef struct rounds {
    uint64_t bytes; /* of a cut, and of a place: whole lines */
    uint32_t count;
} rounds_t;

/* alltoall_rounds_seats is more than PLACES: of two rounds that use a place,
 * one has a partner. */
_Static_assert(2 * ROUNDS_CUTS * XYL_BOARD_SEATS_MAX + 4 <
                   1 << XYL_BOARD_COUNT_BITS,
               "a count has room for all rounds of a piece");

/* Rounds of a cut. */
static uint32_t meetings(const xyl_problem_t *problem)
{
    return problem->ranks - (problem->ranks % 2 == 0);
}

/* As in a tournament: in meeting k seats s and k - s (modulo their number) are
 * partners. The one that would meet itself meets the last seat, which is not
 * counted where the number is even; else it has none, and is returned. */
static uint32_t partner_of(const xyl_problem_t *problem, uint32_t seat,
                           uint32_t round)
{
    uint32_t number = meetings(problem), meeting = (round - 1) % number;
    uint32_t half = (number + 1) / 2; /* of one, modulo the number */
    uint32_t partner;

    if (seat == number)
        return meeting * half % number;
    partner = (meeting + number - seat) % number;
    return partner == seat && number != problem->ranks ? number : partner;
}

/* A seat's counts, in the order of what it does. */
static uint32_t alltoall_count_published(uint32_t round)
{
    return 2 * round;
}

static uint32_t count_read(uint32_t round)
{
    return 2 * round + 3;
}

/* The round before in which the seat used the same place; 0: none. */
static uint32_t round_before(const xyl_problem_t *problem, uint32_t round)
{
    uint32_t seat = problem->rank;

    if (round > PLACES && partner_of(problem, seat, round - PLACES) == seat)
        round -= PLACES;
    return round > PLACES ? round - PLACES : 0;
}

/* 1: the partner uses the place again. */
static int is_awaited(const xyl_problem_t *problem, const rounds_t *rounds,
                      uint32_t round)
{
    uint32_t partner = partner_of(problem, problem->rank, round);

    round += PLACES;
    if (partner_of(problem, partner, round) == partner)
        round += PLACES;
    return round <= rounds->count;
}

static xyl_position_t place_in(const rounds_t *rounds, uint32_t seat,
                               uint32_t round)
{
    return xyl_position_of(XYL_BUFFER_INPUT, seat,
                           round % PLACES * rounds->bytes);
}

/* Adds the step that moves the part of a block which has its turn. */
static xyl_step_t *write_cut(const xyl_problem_t *problem,
                             xyl_node_program_t *program,
                             const rounds_t *rounds, uint32_t round,
                             xyl_position_t to, xyl_position_t from)
{
    uint64_t within = (round - 1) / meetings(problem) * rounds->bytes;
    uint64_t left = program->piece_bytes - within;
    xyl_step_t *step;

    if (to.buffer == XYL_BUFFER_RECV)
        to.at += within;
    if (from.buffer != XYL_BUFFER_INPUT)
        from.at += within;
    step = xyl_node_step(program, XYL_STEP_COPY, to, from,
                         left < rounds->bytes ? left : rounds->bytes);
    step->within = within;
    step->total = xyl_problem_bytes(problem);
    return step;
}

static void write_publish(const xyl_problem_t *problem,
                          xyl_node_program_t *program, const rounds_t *rounds,
                          uint32_t round)
{
    uint32_t partner = partner_of(problem, problem->rank, round);
    uint32_t before = round_before(problem, round);
    xyl_step_t *step;

    if (partner == problem->rank || round > rounds->count)
        return;
    step = write_cut(problem, program, rounds, round,
                     place_in(rounds, problem->rank, round),
                     block_from(problem, partner));
    step->kind = alltoall_publishes(problem);
    step->further = alltoall_further(problem, step, step->to, partner);
    if (before != 0) {
        step->wait = XYL_WAIT_COUNT;
        step->wait_seat = partner_of(problem, problem->rank, before);
        step->wait_for = count_read(before);
    }
    step->post = XYL_POST_COUNT;
    step->post_value = alltoall_count_published(round);
    step->post_seat = partner;
}

static void write_read(const xyl_problem_t *problem,
                       xyl_node_program_t *program, const rounds_t *rounds,
                       uint32_t round)
{
    uint32_t partner = partner_of(problem, problem->rank, round);
    xyl_step_t *step =
        write_cut(problem, program, rounds, round, block_to(problem, partner),
                  place_in(rounds, partner, round));

    step->further = alltoall_further(problem, step, step->from, problem->rank);
    step->wait = XYL_WAIT_COUNT;
    step->wait_seat = partner;
    step->wait_for = alltoall_count_published(round);
    if (!is_awaited(problem, rounds, round))
        return;
    step->post = XYL_POST_COUNT;
    step->post_value = count_read(round);
    step->post_seat = partner;
}

static void write_round(const xyl_problem_t *problem,
                        xyl_node_program_t *program, const rounds_t *rounds,
                        uint32_t round)
{
    write_publish(problem, program, rounds, round + 1);
    if (partner_of(problem, problem->rank, round) != problem->rank)
        write_read(problem, program, rounds, round);
}

static uint64_t round_bytes(const xyl_problem_t *problem)
{
    return problem->segment_bytes == 0
               ? xyl_board_whole_lines(problem->node.limits->alltoall_round)
               : xyl_board_whole_lines(problem->segment_bytes);
}

/* Where blocks vary a seat does not know how many rounds others need. */
static int goes_in_rounds(const xyl_problem_t *problem)
{
    uint64_t bytes = round_bytes(problem);
    uint64_t least = problem->segment_bytes == 0
                         ? problem->node.limits->alltoall_rounds
                         : bytes;

    return problem->coll == XYLEM_COLL_ALLTOALL &&
           !xyl_problem_varies(problem) &&
           problem->ranks >= problem->node.limits->alltoall_rounds_seats &&
           xyl_problem_bytes(problem) >= least &&
           bytes <= problem->node.window_bytes / PLACES / problem->ranks;
}

static void write_rounds(const xyl_problem_t *problem,
                         xyl_node_program_t *program)
{
    rounds_t rounds = {.bytes = round_bytes(problem)};
    uint64_t cuts;
    uint32_t round;

    xyl_node_cut(program, xyl_problem_bytes(problem),
                 ROUNDS_CUTS * rounds.bytes, rounds.bytes);
    program->input_bytes = PLACES * rounds.bytes;
    cuts = (program->piece_bytes + rounds.bytes - 1) / rounds.bytes;
    rounds.count = (uint32_t)cuts * meetings(problem);
    write_publish(problem, program, &rounds, 1);
    for (round = 1; round <= rounds.count; round++)
        write_round(problem, program, &rounds, round);
    if (!problem->is_in_place)
        write_alltoall_own(problem, program);
    if (!program->shares)
        return;
    xyl_node_has_read(problem, program, XYL_WAIT_NOTHING, 0,
                      count_read(rounds.count) + 1);
    xyl_node_until_read(program, count_read(rounds.count) + 1);
}

/* Where blocks vary a seat does not know where its own lie elsewhere. */
static void alltoall_write(const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    if (are_offered(problem)) {
        write_offered(problem, program);
        return;
    }
    program->shares =
        !xyl_node_is_cut_late(problem) &&
        xyl_node_shares(problem, xyl_problem_bytes(problem) * problem->ranks);
    if (goes_in_rounds(problem))
        write_rounds(problem, program);
    else
        write_blocks(problem, program);
}

const xyl_algorithm_t xyl_algorithm_node_alltoall = {
    .name = "node",
    .help = "through the shared memory of a node",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(ALLTOALL) | XYL_COLL_BIT(ALLTOALLV) |
             XYL_COLL_BIT(ALLTOALLW),
    .program = alltoall_write,
};
