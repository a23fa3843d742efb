/* By groups of seats that share a cache, or of as many neighbours as the radix
 * says, to one seat and from one seat: the members of a group have their leader
 * between them and the root, so that what goes from cache to cache goes once
 * per group and not once per seat. The root leads its own group, the lowest
 * seat any other.
 *
 * Contributions are combined group by group in the order of their lowest seats,
 * those of a group in the order of seats: so alike for every root. */
#include "collectives/node/programs/parts.h"

/* The lowest seat of a seat's group: with a radix, of neighbours. */
static uint32_t group_of(const xyl_problem_t *problem, uint32_t seat)
{
    if (problem->radix != 0)
        return seat - seat % problem->radix;
    return problem->node.group_of == NULL ? 0 : problem->node.group_of[seat];
}

static int has_groups(const xyl_problem_t *problem)
{
    int reduces = problem->coll == XYLEM_COLL_REDUCE ||
                  problem->coll == XYLEM_COLL_ALLREDUCE;
    int are_several = 0, are_ranges = 1;
    uint32_t seat;

    if (problem->node.roots_in_turn)
        return 0;
    for (seat = 1; seat < problem->ranks; seat++) {
        are_several |= group_of(problem, seat) != 0;
        are_ranges &= group_of(problem, seat) >= group_of(problem, seat - 1);
    }
    return are_several && (!reduces || are_ranges || problem->is_commutative);
}

static uint32_t leader_of(const xyl_problem_t *problem, uint32_t root,
                          uint32_t seat)
{
    uint32_t group = group_of(problem, seat);

    return group == group_of(problem, root) ? root : group;
}

/* Of a seat that is not the root. */
static uint32_t parent_of(const xyl_problem_t *problem, uint32_t root)
{
    uint32_t leader = leader_of(problem, root, problem->rank);

    return leader == problem->rank ? root : leader;
}

static int leads_others(const xyl_problem_t *problem, uint32_t root)
{
    uint32_t seat;

    for (seat = 0; seat < problem->ranks; seat++)
        if (seat != problem->rank &&
            leader_of(problem, root, seat) == problem->rank)
            return 1;
    return 0;
}

static void wait_for(xyl_step_t *step, uint32_t seat, uint32_t count)
{
    step->wait = xyl_wait_count(seat, count);
}

static void fan_post(xyl_step_t *step, uint32_t count, uint32_t seat)
{
    step->post = xyl_post_count(count, seat);
}

/* What comes of a seat's own, and what goes there, may do so singly. */
static void wait_for_own(const xyl_node_program_t *program, xyl_step_t *step,
                         uint32_t segment)
{
    if (program->segments != 0)
        step->wait = xyl_wait_segment(segment);
}

static void fan_emit(const xyl_node_program_t *program, xyl_step_t *step,
                     uint32_t segment)
{
    if (program->segments != 0)
        step->emits = segment;
}

/* A step of a segment, where there are any, else of the whole message; of
 * nothing, if there is none. */
static xyl_step_t *part(const xyl_problem_t *problem,
                        xyl_node_program_t *program, xyl_step_kind_t kind,
                        xyl_position_t to, xyl_position_t from,
                        uint32_t segment)
{
    uint64_t bytes = xyl_problem_bytes(problem);

    if (bytes == 0)
        kind = XYL_STEP_NOTHING;
    return program->segments != 0
               ? xyl_node_segment_step(program, problem, kind, to, from,
                                       segment)
               : xyl_node_step(program, kind, to, from, bytes);
}

/* ---- in ---- */

/* Publishes what this seat contributes: a leader with all of its group. Returns
 * the last step. */
static xyl_step_t *write_group(const xyl_problem_t *problem,
                               xyl_node_program_t *program, uint32_t root,
                               uint32_t segment)
{
    const uint32_t own = problem->rank, group = group_of(problem, own);
    int leads = leader_of(problem, root, own) == own;
    xyl_step_kind_t kind = XYL_STEP_COPY;
    xyl_step_t *step = &program->nowhere;
    uint32_t seat;

    for (seat = leads ? group : own; seat < problem->ranks; seat++) {
        if (group_of(problem, seat) != group || (!leads && seat != own))
            continue;
        step = part(problem, program, kind, xyl_node_published(program, own),
                    seat == own ? xyl_position_of(XYL_BUFFER_SEND, 0, 0)
                                : xyl_node_published(program, seat),
                    segment);
        if (seat == own)
            wait_for_own(program, step, segment);
        else
            wait_for(step, seat, segment + 1);
        kind = XYL_STEP_JOIN;
    }
    return step;
}

static void write_leaders(const xyl_problem_t *problem,
                          xyl_node_program_t *program, uint32_t segment)
{
    const xyl_position_t result = {XYL_BUFFER_RECV, 0, 0};
    xyl_step_kind_t kind = XYL_STEP_COPY;
    xyl_step_t *step = &program->nowhere;
    uint32_t seat, leader;

    for (seat = 0; seat < problem->ranks; seat++) {
        if (group_of(problem, seat) != seat)
            continue;
        leader = leader_of(problem, problem->rank, seat);
        step = part(problem, program, kind, result,
                    xyl_node_published(program, leader), segment);
        if (leader != problem->rank)
            wait_for(step, leader, segment + 1);
        kind = XYL_STEP_JOIN;
    }
    fan_emit(program, step, segment);
}

/* A segment of what all have in SEND, combined, to RECV of the root; of segment
 * i count i + 1 is posted. */
static void fan_in(const xyl_problem_t *problem, xyl_node_program_t *program,
                   uint32_t root, uint32_t segment)
{
    xyl_step_t *last = write_group(problem, program, root, segment);

    if (problem->rank == root)
        write_leaders(problem, program, segment);
    else
        fan_post(last, segment + 1, parent_of(problem, root));
}

/* ---- out ---- */

static void write_source(const xyl_problem_t *problem,
                         xyl_node_program_t *program, uint32_t count)
{
    xyl_step_t *step = part(problem, program, XYL_STEP_COPY,
                            xyl_node_published(program, problem->rank),
                            xyl_position_of(XYL_BUFFER_RECV, 0, 0), 0);

    wait_for_own(program, step, 0);
    fan_emit(program, step, 0);
    fan_post(step, count, XYL_BOARD_ALL);
}

/* A leader hands on before it takes. */
static void write_fan_reader(const xyl_problem_t *problem,
                             xyl_node_program_t *program, uint32_t root,
                             uint32_t count)
{
    const xyl_position_t own = xyl_node_published(program, problem->rank);
    uint32_t parent = parent_of(problem, root);
    xyl_position_t from = xyl_node_published(program, parent);
    int leads = leads_others(problem, root);
    xyl_step_t *step;

    if (leads) {
        step = part(problem, program, XYL_STEP_COPY, own, from, 0);
        wait_for(step, parent, count);
        fan_post(step, count, XYL_BOARD_ALL);
        from = own;
    }
    step = part(problem, program, XYL_STEP_COPY,
                xyl_position_of(XYL_BUFFER_RECV, 0, 0), from, 0);
    if (!leads)
        wait_for(step, parent, count);
    fan_emit(program, step, 0);
}

/* From RECV of the root to that of all others; posts `count`. */
static void fan_out(const xyl_problem_t *problem, xyl_node_program_t *program,
                    uint32_t root, uint32_t count)
{
    if (problem->rank == root)
        write_source(problem, program, count);
    else
        write_fan_reader(problem, program, root, count);
}

/* ---- the collectives ---- */

/* But for a reduce, of messages in one piece and at most one segment. */
static void barrier_groups_write(const xyl_problem_t *problem,
                                 xyl_node_program_t *program)
{
    xyl_problem_t signal = *problem;

    signal.count = 0;
    fan_in(&signal, program, 0, 0);
    fan_out(&signal, program, 0, 2);
}

static void bcast_groups_write(const xyl_problem_t *problem,
                               xyl_node_program_t *program)
{
    program->segment_bytes = xyl_node_bcast_segment_bytes(problem);
    program->piece_bytes = program->segment_bytes;
    program->segments = 1;
    if (xyl_problem_bytes(problem) > XYL_BOARD_INLINE_BYTES)
        program->input_bytes =
            xyl_board_whole_lines(xyl_problem_bytes(problem));
    fan_out(problem, program, problem->root, 1);
}

static void reduce_groups_write(const xyl_problem_t *problem,
                                xyl_node_program_t *program)
{
    uint32_t segment;

    xyl_node_reduce_plan(problem, program);
    for (segment = 0; segment < program->segments; segment++)
        fan_in(problem, program, problem->root, segment);
}

static void allreduce_groups_write(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    xyl_node_hand_over(problem, program, xyl_problem_bytes(problem),
                       xyl_problem_bytes(problem));
    fan_in(problem, program, 0, 0);
    fan_out(problem, program, 0, 2);
}

/* The first seat gathers; what it has put together goes out by groups. */
static void allgather_groups_write(const xyl_problem_t *problem,
                                   xyl_node_program_t *program)
{
    xyl_problem_t whole = *problem;

    xyl_node_plan_inputs(problem, program, xyl_problem_bytes(problem));
    whole.count *= problem->ranks;
    if (xyl_problem_bytes(&whole) > XYL_BOARD_INLINE_BYTES)
        program->input_bytes = xyl_board_whole_lines(xyl_problem_bytes(&whole));
    xyl_node_allgather_in(problem, program);
    fan_out(&whole, program, 0, 2);
}

static int fits_beside_others(const xyl_problem_t *problem, uint64_t bytes)
{
    return xyl_board_whole_lines(bytes) <=
           problem->node.window_bytes / problem->ranks;
}

static const char *groups_lack(const xyl_problem_t *problem)
{
    uint64_t bytes = xyl_problem_bytes(problem);

    if (!has_groups(problem))
        return "needs ranks in several groups, see XYLEM_NODE_GROUPS";
    switch ((int)problem->coll) {
    case XYLEM_COLL_BCAST:
        return bytes <= xyl_node_bcast_segment_bytes(problem) &&
                       fits_beside_others(problem, bytes)
                   ? NULL
                   : xyl_node_lacks_room;
    case XYLEM_COLL_ALLREDUCE:
        return xyl_node_whole_lacks(problem);
    case XYLEM_COLL_ALLGATHER:
        return fits_beside_others(problem, bytes * problem->ranks)
                   ? xyl_node_allgather_first_lacks(problem)
                   : xyl_node_lacks_room;
    default:
        return NULL;
    }
}

/* The idea is that of XHC (Katevenis et al. 2022). */
#define GROUPS_ENTRY(coll, COLL)                                               \
    const xyl_algorithm_t xyl_algorithm_node_##coll##_groups = {               \
        .name = "node_groups",                                                 \
        .help = "by groups of ranks that share a cache (Katevenis et al. "     \
                "2022)",                                                       \
        .kind = XYL_ALGORITHM_NODE,                                            \
        .colls = XYL_COLL_BIT(COLL),                                           \
        .radix = {2, 0, XYL_BOARD_SEATS_MAX / 2},                              \
        .lacks = groups_lack,                                                  \
        .program = coll##_groups_write,                                        \
    };

GROUPS_ENTRY(bcast, BCAST)
GROUPS_ENTRY(reduce, REDUCE)
GROUPS_ENTRY(allreduce, ALLREDUCE)
GROUPS_ENTRY(barrier, BARRIER)
GROUPS_ENTRY(allgather, ALLGATHER)
