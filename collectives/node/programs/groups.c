/* Collectives to one seat and from one seat, by groups of seats that share a
 * cache; docs/inside/node.md says how groups are made. Contributions are
 * combined group by group in the order of their lowest seats, and in a group in
 * the order of seats: in the same order for every root. */
#include "collectives/node/programs/parts.h"

/* The level at which all seats are one group; at level 0 each seat is a group.
 */
static uint32_t top_of(const xyl_problem_t *problem)
{
    uint64_t size = problem->radix;
    uint32_t level = 1;

    if (problem->radix == 0)
        return 2;
    for (; size < problem->ranks; size *= problem->radix)
        level++;
    return level;
}

static uint32_t lowest_of(const xyl_problem_t *problem, uint32_t level,
                          uint32_t seat)
{
    uint32_t size = 1;

    if (level == 0)
        return seat;
    if (level == top_of(problem))
        return 0;
    if (problem->radix == 0)
        return problem->node.group_of == NULL ? 0
                                              : problem->node.group_of[seat];
    for (; level > 0; level--)
        size *= problem->radix;
    return seat - seat % size;
}

static int has_groups(const xyl_problem_t *problem)
{
    int reduces = problem->coll == XYLEM_COLL_REDUCE ||
                  problem->coll == XYLEM_COLL_ALLREDUCE;
    int are_several = 0, are_ranges = 1;
    uint32_t seat;

    if (problem->node.roots_in_turn || top_of(problem) < 2)
        return 0;
    for (seat = 1; seat < problem->ranks; seat++) {
        uint32_t lowest = lowest_of(problem, 1, seat);
        are_several |= lowest != 0;
        are_ranges &= lowest >= lowest_of(problem, 1, seat - 1);
    }
    return are_several && (!reduces || are_ranges || problem->is_commutative);
}

static uint32_t leader_of(const xyl_problem_t *problem, uint32_t root,
                          uint32_t level, uint32_t seat)
{
    uint32_t lowest = lowest_of(problem, level, seat);

    return lowest == lowest_of(problem, level, root) ? root : lowest;
}

/* The seat that a seat other than the root reports to. */
static uint32_t parent_of(const xyl_problem_t *problem, uint32_t root,
                          uint32_t seat)
{
    uint32_t level = 1;

    while (leader_of(problem, root, level, seat) == seat)
        level++;
    return leader_of(problem, root, level, seat);
}

static int leads_others(const xyl_problem_t *problem, uint32_t root)
{
    uint32_t seat;

    for (seat = 0; seat < problem->ranks; seat++)
        if (seat != root && parent_of(problem, root, seat) == problem->rank)
            return 1;
    return 0;
}

/* A program with segments takes and emits segments one by one. */
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

/* A step for a segment, or for the whole message if the program has no
 * segments; a NOTHING if the message is empty. */
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

/* A seat's sum so far, and where it lies. */
typedef struct fan {
    const xyl_problem_t *problem;
    xyl_node_program_t *program;
    uint32_t root, segment;
    int is_published; /* the sum lies where the seat publishes; else in RECV */
    xyl_step_t *last;
} fan_t;

static xyl_position_t position_of(const fan_t *fan, int is_published)
{
    return is_published ? xyl_node_published(fan->program, fan->problem->rank)
                        : xyl_in_recv(0);
}

static void fan_part(fan_t *fan, xyl_step_kind_t kind, xyl_position_t to,
                     xyl_position_t from)
{
    fan->last = part(fan->problem, fan->program, kind, to, from, fan->segment);
}

/* Copies this seat's contribution, or (JOIN) adds it to the sum. */
static void take_own(fan_t *fan, xyl_step_kind_t kind)
{
    fan_part(fan, kind, position_of(fan, 1), xyl_in_send(0));
    wait_for_own(fan->program, fan->last, fan->segment);
}

/* Combines the groups of the level below, in their order, into their group at
 * `level`, which this seat leads. The new sum overwrites this seat's sum so far
 * only if the latter is the first operand. */
static void combine_group(fan_t *fan, uint32_t level, int is_published)
{
    const xyl_problem_t *problem = fan->problem;
    const uint32_t own = problem->rank, lowest = lowest_of(problem, level, own);
    const int was_published = fan->is_published;
    xyl_step_kind_t kind = XYL_STEP_COPY;
    uint32_t seat, leader;

    fan->is_published = is_published;
    for (seat = lowest; seat < problem->ranks; seat++) {
        if (lowest_of(problem, level, seat) != lowest ||
            lowest_of(problem, level - 1, seat) != seat)
            continue;
        leader = leader_of(problem, fan->root, level - 1, seat);
        if (leader != own) {
            fan_part(fan, kind, position_of(fan, is_published),
                     xyl_node_published(fan->program, leader));
            fan->last->wait = xyl_wait_count(leader, fan->segment + 1);
        } else if (level == 1) {
            take_own(fan, kind);
        } else if (was_published != is_published) {
            fan_part(fan, kind, position_of(fan, is_published),
                     position_of(fan, was_published));
        }
        kind = XYL_STEP_JOIN;
    }
}

/* 1: the leader makes the group's sum in the place where it publishes; 0: in
 * RECV. A leader that comes first in its group adds the others to its sum. Any
 * other leader is the root; it uses the two places by turns. */
static int is_combined_where_published(const fan_t *fan, uint32_t level)
{
    const uint32_t own = fan->problem->rank;
    int is_first = leader_of(fan->problem, fan->root, level - 1,
                             lowest_of(fan->problem, level, own)) == own;

    if (level == 1)
        return 1;
    if (level == top_of(fan->problem) && fan->is_published)
        return 0;
    return is_first ? fan->is_published : !fan->is_published;
}

/* Combines a segment of all seats' SEND in RECV of the root. A seat posts count
 * i + 1 for segment i. */
static void fan_in(const xyl_problem_t *problem, xyl_node_program_t *program,
                   uint32_t root, uint32_t segment)
{
    const uint32_t own = problem->rank, top = top_of(problem);
    fan_t fan = {problem, program, root, segment, 1, &program->nowhere};
    uint32_t level;

    if (leader_of(problem, root, 1, own) != own)
        take_own(&fan, XYL_STEP_COPY);
    for (level = 1; level <= top && leader_of(problem, root, level, own) == own;
         level++)
        combine_group(&fan, level, is_combined_where_published(&fan, level));
    if (own != root) {
        fan.last->post =
            xyl_post_count(segment + 1, parent_of(problem, root, own));
        return;
    }
    if (fan.is_published)
        fan_part(&fan, XYL_STEP_COPY, position_of(&fan, 0),
                 position_of(&fan, 1));
    fan_emit(program, fan.last, segment);
}

/* ---- out ---- */

static void write_source(const xyl_problem_t *problem,
                         xyl_node_program_t *program, uint32_t count)
{
    xyl_step_t *step =
        part(problem, program, XYL_STEP_COPY,
             xyl_node_published(program, problem->rank), xyl_in_recv(0), 0);

    wait_for_own(program, step, 0);
    fan_emit(program, step, 0);
    step->post = xyl_post_count(count, XYL_BOARD_ALL);
}

/* A leader hands the message on before it copies the message to RECV. */
static void write_fan_reader(const xyl_problem_t *problem,
                             xyl_node_program_t *program, uint32_t root,
                             uint32_t count)
{
    const xyl_position_t own = xyl_node_published(program, problem->rank);
    uint32_t parent = parent_of(problem, root, problem->rank);
    xyl_position_t from = xyl_node_published(program, parent);
    int leads = leads_others(problem, root);
    xyl_step_t *step;

    if (leads) {
        step = part(problem, program, XYL_STEP_COPY, own, from, 0);
        step->wait = xyl_wait_count(parent, count);
        step->post = xyl_post_count(count, XYL_BOARD_ALL);
        from = own;
    }
    step = part(problem, program, XYL_STEP_COPY, xyl_in_recv(0), from, 0);
    if (!leads)
        step->wait = xyl_wait_count(parent, count);
    fan_emit(program, step, 0);
}

/* Copies RECV of the root to RECV of all others; posts `count`. */
static void fan_out(const xyl_problem_t *problem, xyl_node_program_t *program,
                    uint32_t root, uint32_t count)
{
    if (problem->rank == root)
        write_source(problem, program, count);
    else
        write_fan_reader(problem, program, root, count);
}

/* ---- the collectives ---- */

/* All but the reduce take messages in one piece and at most one segment. */
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
    xyl_node_leave_caches(problem, program, xyl_problem_bytes(problem),
                          xyl_problem_bytes(problem));
    fan_in(problem, program, 0, 0);
    fan_out(problem, program, 0, 2);
}

/* The first seat gathers the blocks, and the result goes out by groups. */
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

/* After XHC (Katevenis et al. 2022). */
#define GROUPS_ENTRY(coll, COLL)                                               \
    const xyl_algorithm_t xyl_algorithm_node_##coll##_groups = {               \
        .name = "node_groups",                                                 \
        .help = "by groups of ranks that share a cache, or with a radix by "   \
                "levels of groups of neighbours (Katevenis et al. 2022)",      \
        XYL_BY_PROGRAM(coll##_groups_write),                                   \
        .colls = XYL_COLL_BIT(COLL),                                           \
        .radix = {2, 0, XYL_BOARD_SEATS_MAX / 2},                              \
        .lacks = groups_lack,                                                  \
    };

GROUPS_ENTRY(bcast, BCAST)
GROUPS_ENTRY(reduce, REDUCE)
GROUPS_ENTRY(allreduce, ALLREDUCE)
GROUPS_ENTRY(barrier, BARRIER)
GROUPS_ENTRY(allgather, ALLGATHER)
