/* An algorithm's actions as lines of GOAL. A tree becomes a schedule first, in
 * which segments are passed on as they come, with the windows of each edge. A
 * receive waits for room as in the library; sums and copies have the machine's
 * costs. One thread. */
#include "simulator/program/goal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/results.h"
#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "collectives/data/problem.h"
#include "collectives/data/schedule.h"

/* How a file of schedules begins. */
static const char head[] = "num_ranks ";

enum { SEND_WINDOW = 2, RECV_WINDOW = 4 }; /* without --window */

/* ---- trees ---- */

struct tree_walk {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    uint32_t send_window, recv_window;
    uint32_t parent, children_count, segments;
    uint32_t *children;
    xyl_action_t *before; /* of each edge, child by child and last the parent's,
                             the actions of its segments */
};

static uint64_t segment_count(const struct tree_walk *walk, uint32_t segment)
{
    uint64_t whole =
        walk->problem->segment_bytes / walk->problem->element_bytes;
    uint64_t count = walk->problem->count;

    if (walk->segments == 1)
        return count;
    return segment + 1 == walk->segments ? count - whole * segment : whole;
}

static xyl_position_t segment_at(const struct tree_walk *walk,
                                 xyl_buffer_t buffer, uint32_t segment)
{
    return xyl_position(buffer, segment * segment_count(walk, 0));
}

/* Notes the action of an edge for a segment. It waits for the edge's action for
 * the segment that is a window earlier. */
static void edge_add(struct tree_walk *walk, uint32_t edge, uint32_t segment,
                     uint32_t window, xyl_action_t action)
{
    xyl_action_t *of_edge = &walk->before[(size_t)edge * walk->segments];

    of_edge[segment] = action;
    if (segment >= window)
        xyl_schedule_order(walk->schedule, action, of_edge[segment - window]);
}

static void down_segment(struct tree_walk *walk, uint32_t segment)
{
    xyl_position_t at = segment_at(walk, XYL_BUFFER_RECV, segment);
    uint64_t count = segment_count(walk, segment);
    xyl_action_t ready = XYL_ACTION_NONE;
    uint32_t i;

    if (walk->parent != XYL_TREE_NONE) {
        ready = xyl_schedule_recv(walk->schedule, walk->parent, segment, at,
                                  count, XYL_ACTION_NONE);
        edge_add(walk, walk->children_count, segment, walk->recv_window, ready);
    }
    for (i = 0; i < walk->children_count; i++)
        edge_add(walk, i, segment, walk->send_window,
                 xyl_schedule_send(walk->schedule, walk->children[i], segment,
                                   at, count, ready));
}

static void up_segment(struct tree_walk *walk, uint32_t segment)
{
    xyl_position_t at = segment_at(walk, XYL_BUFFER_RECV, segment);
    uint64_t count = segment_count(walk, segment);
    xyl_action_t ready = XYL_ACTION_NONE, come;
    uint32_t i;

    for (i = 0; i < walk->children_count; i++) {
        xyl_position_t theirs = xyl_schedule_temp(walk->schedule, count);

        come = xyl_schedule_recv(walk->schedule, walk->children[i], segment,
                                 theirs, count, XYL_ACTION_NONE);
        edge_add(walk, i, segment, walk->recv_window, come);
        come = xyl_schedule_reduce(walk->schedule, at, at, theirs, count, come);
        xyl_schedule_order(walk->schedule, come, ready);
        ready = come;
    }
    if (walk->parent != XYL_TREE_NONE)
        edge_add(walk, walk->children_count, segment, walk->send_window,
                 xyl_schedule_send(walk->schedule, walk->parent, segment, at,
                                   count, ready));
}

/* 0 without memory. */
static int tree_write(const struct simulation *simulation,
                      const xyl_tree_t *tree, const xyl_problem_t *problem,
                      xyl_schedule_t *schedule)
{
    const xyl_shape_t shape = {tree, problem->radix != 0 ? problem->radix
                                                         : tree->radix.preset};
    uint64_t segment = problem->segment_bytes / problem->element_bytes;
    struct tree_walk walk = {
        .problem = problem,
        .schedule = schedule,
        .send_window = simulation->tuning.send_window != 0
                           ? simulation->tuning.send_window
                           : SEND_WINDOW,
        .recv_window = simulation->tuning.recv_window != 0
                           ? simulation->tuning.recv_window
                           : RECV_WINDOW,
        .parent = xyl_tree_parent(shape, 0, problem->ranks, problem->rank,
                                  problem->root),
        .children_count = xyl_tree_children(
            shape, 0, problem->ranks, problem->rank, problem->root, NULL, 0),
        .segments = 1};
    uint32_t i;

    if (segment != 0 && segment < problem->count)
        walk.segments = (uint32_t)((problem->count + segment - 1) / segment);
    walk.children = calloc(walk.children_count + 1, sizeof *walk.children);
    walk.before = calloc((size_t)walk.segments * (walk.children_count + 1),
                         sizeof *walk.before);
    if (walk.children != NULL && walk.before != NULL) {
        xyl_tree_children(shape, 0, problem->ranks, problem->rank,
                          problem->root, walk.children, walk.children_count);
        for (i = 0; i < walk.segments; i++) {
            if (problem->coll == XYLEM_COLL_BCAST)
                down_segment(&walk, i);
            else
                up_segment(&walk, i);
        }
    }
    i = walk.children != NULL && walk.before != NULL;
    free(walk.children);
    free(walk.before);
    return i != 0;
}

/* ---- lines ---- */

static void action_write(const struct simulation *simulation, FILE *out,
                         uint32_t number, const xyl_action_entry_t *action,
                         size_t element_bytes)
{
    size_t bytes = (size_t)action->count * element_bytes;
    int is_far =
        simulation_bytes(simulation) > simulation->machine.core.cache_bytes;
    sim_rate_t copy = is_far ? simulation->machine.core.copy_far
                             : simulation->machine.core.copy;
    sim_rate_t reduce = is_far ? simulation->machine.core.reduce_far
                               : simulation->machine.core.reduce;
    sim_time_t work = 0;

    switch (action->kind) {
    case XYL_ACTION_SEND:
    case XYL_ACTION_RECV:
        fprintf(out, "l%" PRIu32 ": %s %zub %s %" PRIu32 " tag %" PRIu32 "\n",
                number, action->kind == XYL_ACTION_SEND ? "send" : "recv",
                bytes, action->kind == XYL_ACTION_SEND ? "to" : "from",
                action->peer, action->label);
        return;
    case XYL_ACTION_REDUCE:
        work = sim_rate_time(reduce, bytes);
        break;
    case XYL_ACTION_COPY:
        work = sim_rate_time(copy, bytes);
        break;
    case XYL_ACTION_NOTHING:
        break;
    }
    fprintf(out, "l%" PRIu32 ": calc %" PRIu64 "\n", number, work / SIM_NS);
}

/* Writes one rank's schedule; actions are numbered from 1. */
static void schedule_write(const struct simulation *simulation, FILE *out,
                           uint32_t rank, const xyl_schedule_t *schedule)
{
    uint32_t i, next;

    fprintf(out, "\nrank %" PRIu32 " {\n", rank);
    for (i = 0; i < schedule->count; i++)
        action_write(simulation, out, i + 1, &schedule->actions[i],
                     schedule->element_bytes);
    for (i = 0; i < schedule->count; i++) {
        next = schedule->actions[i].before;
        for (; next != XYL_ACTION_NONE; next = schedule->orders[next].next)
            fprintf(out, "l%" PRIu32 " requires l%" PRIu32 "\n",
                    schedule->orders[next].action + 1, i + 1);
    }
    fputs("}\n", out);
}

static xyl_problem_t problem_of(const struct simulation *simulation,
                                const xyl_named_t *named, uint32_t rank)
{
    int reduces = xyl_coll_traits(simulation->coll)->reduces;
    size_t element = reduces ? sizeof(float) : 1;

    return (xyl_problem_t){.coll = simulation->coll,
                           .rank = rank,
                           .ranks = simulation->ranks,
                           .root = simulation->root,
                           .count = simulation->bytes / element,
                           .element_bytes = element,
                           .is_commutative = 1,
                           .fills_nodes = 1,
                           .radix = named->radix,
                           .segment_bytes = simulation->tuning.segment_bytes};
}

/* Why this algorithm has no schedule to write; NULL: it has one. */
static const char *refusal(const struct simulation *simulation,
                           const xyl_named_t *named)
{
    const xyl_algorithm_t *algorithm = named->algorithm;
    const char *why = "does not fit";
    xyl_problem_t problem = problem_of(simulation, named, 0);

    if (algorithm == NULL)
        return "say which: the library's choice may be levels or shared memory";
    if (algorithm->needs & XYL_READS_CALL)
        return "depends on the arguments of the call";
    if (algorithm->kind == XYL_ALGORITHM_TREE)
        return algorithm->tree->parent == NULL || algorithm->tree->halves > 1
                   ? "is not a single tree of one group"
               : simulation->coll != XYLEM_COLL_BCAST &&
                       simulation->coll != XYLEM_COLL_REDUCE
                   ? "trees are written for bcast and reduce"
                   : NULL;
    if (algorithm->kind != XYL_ALGORITHM_SCHEDULE)
        return "is no tree and no schedule";
    return xyl_algorithm_fits(algorithm, &problem, &why) ? NULL : why;
}

static int rank_write(const struct simulation *simulation,
                      const xyl_named_t *named, FILE *out, uint32_t rank)
{
    xyl_problem_t problem = problem_of(simulation, named, rank);
    xyl_schedule_t schedule;
    int ok = 1;

    xyl_schedule_init(&schedule, problem.element_bytes);
    if (named->algorithm->kind == XYL_ALGORITHM_TREE)
        ok =
            tree_write(simulation, named->algorithm->tree, &problem, &schedule);
    else
        named->algorithm->write(&problem, &schedule);
    ok &= schedule.status == XYLEM_OK;
    if (ok)
        schedule_write(simulation, out, rank, &schedule);
    else
        fprintf(stderr, "%s: no memory for the schedule of rank %" PRIu32 "\n",
                simulation->program, rank);
    xyl_schedule_fini(&schedule);
    return ok;
}

int sim_goal_main(const struct simulation *simulation)
{
    char why_buffer[XYL_ALGORITHM_WHY_BYTES];
    const char *text =
        simulation->algorithm != NULL ? simulation->algorithm : "auto";
    const char *why = why_buffer;
    xyl_named_t named;
    uint32_t rank;
    FILE *out;
    int ok = 1;

    if (xyl_algorithm_parse(simulation->coll, text, &named, why_buffer))
        why = refusal(simulation, &named);
    if (why != NULL) {
        fprintf(stderr, "%s: --goal with --algorithm %s: %s\n",
                simulation->program, text, why);
        return EXIT_FAILURE;
    }
    if (!results_may_replace(simulation->program, simulation->goal, head))
        return EXIT_FAILURE;
    out = fopen(simulation->goal, "w");
    if (out != NULL) {
        fprintf(out, "%s%u\n", head, simulation->ranks);
        for (rank = 0; ok && rank < simulation->ranks; rank++)
            ok = rank_write(simulation, &named, out, rank);
    }
    if (out == NULL || ferror(out) | fclose(out)) {
        fprintf(stderr, "%s: cannot write %s: %s\n", simulation->program,
                simulation->goal, strerror(errno));
        ok = 0;
    }
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
