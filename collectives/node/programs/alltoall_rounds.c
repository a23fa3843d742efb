/* Alltoall in rounds. In each round, seats exchange in pairs through a few
 * places, which are used again and again and so stay in the caches. For long
 * blocks of one length. A cut has the segment's length if the call names a
 * segment. */
#include "collectives/node/programs/alltoall.h"

enum {
    ROUNDS_CUTS = 8,         /* of a block in one piece */
    ROUND_BYTES = 128 << 10, /* of a block in one round */
    PLACES = 2               /* of a seat */
};

/* The rounds of a piece, numbered from 1. Each cut of the piece's blocks has
 * the rounds in which each seat meets each other seat once. In a round two
 * seats are each other's partners; one seat has none if their number is odd. A
 * seat publishes for round r + 1 before it copies out the cut of round r:
 *
 *     publish 1   publish 2   copy 1   publish 3   copy 2   ...
 *
 * A step waits only for earlier steps in this order, of its own seat or of
 * others: a copy waits for the partner's publishing in the same round, a
 * publishing for the copy of the block that had the place before. So no step
 * waits for ever. In place, a block is published before it is overwritten, as
 * partners exchange in one round. A seat copies its own block at the end, so
 * that its partners need not wait for this copy. */
typedef struct rounds {
    uint64_t bytes; /* of a cut, and of a place: whole lines */
    uint32_t count;
} rounds_t;

_Static_assert(2 * ROUNDS_CUTS * XYL_BOARD_SEATS_MAX + 4 <
                   1 << XYL_BOARD_COUNT_BITS,
               "a count has room for all rounds of a piece");

/* Rounds of a cut. */
static uint32_t meetings(const xyl_problem_t *problem)
{
    return problem->ranks - (problem->ranks % 2 == 0);
}

/* The partner of `seat`, as in a tournament: in meeting k seats s and k - s are
 * partners, modulo the number of seats. If there is an even number of seats,
 * the last seat is not counted, and meets the seat that would meet itself. Else
 * that seat has no partner, and this function returns the seat itself. */
static uint32_t partner_of(const xyl_problem_t *problem, uint32_t seat,
                           uint32_t round)
{
    uint32_t number = meetings(problem), meeting = (round - 1) % number;
    uint32_t half = (number + 1) / 2; /* 1 / 2, modulo the number */
    uint32_t partner;

    if (seat == number)
        return meeting * half % number;
    partner = (meeting + number - seat) % number;
    return partner == seat && number != problem->ranks ? number : partner;
}

/* A seat's counts, in the order in which it posts them. */
static uint32_t alltoall_count_published(uint32_t round)
{
    return 2 * round;
}

static uint32_t count_read(uint32_t round)
{
    return 2 * round + 3;
}

/* The last round in which this seat used the same place; 0: none. There are
 * more seats than PLACES, so the seat has a partner in one of two successive
 * rounds of a place. */
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

/* Adds the step that moves the round's cut of a block. */
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
    step->cut.within = within;
    step->cut.total = xyl_problem_bytes(problem);
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
                     xyl_node_alltoall_from(problem, partner));
    step->kind = xyl_node_alltoall_publishes(problem);
    step->further = xyl_node_alltoall_further(problem, step, step->to, partner);
    if (before != 0)
        step->wait = xyl_wait_count(partner_of(problem, problem->rank, before),
                                    count_read(before));
    step->post = xyl_post_count(alltoall_count_published(round), partner);
}

static void write_read(const xyl_problem_t *problem,
                       xyl_node_program_t *program, const rounds_t *rounds,
                       uint32_t round)
{
    uint32_t partner = partner_of(problem, problem->rank, round);
    xyl_step_t *step = write_cut(problem, program, rounds, round,
                                 xyl_node_alltoall_to(problem, partner),
                                 place_in(rounds, partner, round));

    step->further =
        xyl_node_alltoall_further(problem, step, step->from, problem->rank);
    step->wait = xyl_wait_count(partner, alltoall_count_published(round));
    if (is_awaited(problem, rounds, round))
        step->post = xyl_post_count(count_read(round), partner);
}

static uint64_t round_bytes(const xyl_problem_t *problem)
{
    return problem->segment_bytes == 0
               ? ROUND_BYTES
               : xyl_board_whole_lines(problem->segment_bytes);
}

static void alltoall_rounds_write(const xyl_problem_t *problem,
                                  xyl_node_program_t *program)
{
    rounds_t rounds = {.bytes = round_bytes(problem)};
    uint64_t cuts;
    uint32_t round;

    program->shares = xyl_node_alltoall_shares(problem);
    xyl_node_cut(program, xyl_problem_bytes(problem),
                 ROUNDS_CUTS * rounds.bytes, rounds.bytes);
    program->input_bytes = PLACES * rounds.bytes;
    cuts = (program->piece_bytes + rounds.bytes - 1) / rounds.bytes;
    rounds.count = (uint32_t)cuts * meetings(problem);
    write_publish(problem, program, &rounds, 1);
    for (round = 1; round <= rounds.count; round++) {
        write_publish(problem, program, &rounds, round + 1);
        if (partner_of(problem, problem->rank, round) != problem->rank)
            write_read(problem, program, &rounds, round);
    }
    xyl_node_alltoall_own(problem, program);
    xyl_node_end_reading(program, xyl_wait_nothing(),
                         count_read(rounds.count) + 1);
}

/* If lengths vary, a seat does not know how many rounds other seats need. */
static const char *alltoall_rounds_lack(const xyl_problem_t *problem)
{
    uint64_t bytes = round_bytes(problem);

    if (problem->ranks <= PLACES)
        return "needs three ranks";
    if (xyl_problem_varies(problem))
        return "needs blocks of one length";
    if (problem->count == 0)
        return xyl_node_lacks_data;
    return bytes <= problem->node.window_bytes / PLACES / problem->ranks
               ? NULL
               : xyl_node_lacks_room;
}

const xyl_algorithm_t xyl_algorithm_node_alltoall_rounds = {
    .name = "node_rounds",
    .help = "ranks exchange in pairs through places that stay in the caches",
    XYL_BY_PROGRAM(alltoall_rounds_write),
    .colls = XYL_COLL_BIT(ALLTOALL),
    .lacks = alltoall_rounds_lack,
};
