/* Gather and scatter: all blocks of a subtree of a k-nomial tree go in one
 * message, up to the root or down from it. On their way they are collected in
 * the temporary buffer. The root receives, or sends, each message in the places
 * of its blocks. If the ranks of a subtree go past the last and on from 0, its
 * blocks go in two messages. For short blocks.
 * Chan, Heimlich, Purkayastha, van de Geijn, Collective communication: theory,
 * practice, and experience, 2007: gather and scatter on a minimum spanning
 * tree, here with a radix. */
#include "collectives/schedules/algorithm.h"

enum { LABEL_FIRST, LABEL_REST };

typedef struct subtrees {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    int is_down;
    uint64_t place;     /* of this rank, counted from the root */
    xyl_position_t all; /* the blocks of the subtree */
    uint64_t first; /* number of these blocks, up to that of the last rank */
    xyl_action_t ready[2]; /* after [0] the `first` blocks are there, after [1]
                              the rest */
} subtrees_t;

static uint64_t place_of_peer(const subtrees_t *trees, uint32_t rank)
{
    uint64_t ranks = trees->problem->ranks;

    return (rank + ranks - trees->problem->root) % ranks;
}

/* Sends or receives blocks of a subtree. */
static xyl_action_t pass_blocks(const subtrees_t *trees, int is_send,
                                uint32_t peer, uint32_t label,
                                xyl_position_t at, uint64_t blocks,
                                xyl_action_t after)
{
    return xyl_schedule_pass(trees->schedule, is_send, peer, label, at,
                             blocks * trees->problem->count, after);
}

/* Copies the own block to or from `at`, where it is one of many. */
static xyl_action_t pass_own_block(const subtrees_t *trees, xyl_position_t at,
                                   xyl_action_t after)
{
    const xyl_position_t small =
        xyl_position(trees->is_down ? XYL_BUFFER_RECV : XYL_BUFFER_SEND, 0);

    return xyl_schedule_copy(trees->schedule, trees->is_down ? small : at,
                             trees->is_down ? at : small, trees->problem->count,
                             after);
}

/* Where the blocks of a child's subtree lie; *first_out: how many lie there. If
 * this rank is the root and the subtree goes past the last rank, the rest lies
 * at the beginning of the buffer. */
static xyl_position_t child_blocks(const subtrees_t *trees, uint32_t child,
                                   uint64_t span, uint64_t *first_out)
{
    const xyl_problem_t *problem = trees->problem;
    uint64_t left = problem->ranks - child;
    uint64_t at = place_of_peer(trees, child) - trees->place;

    *first_out = trees->place == 0 && span > left ? left : span;
    return trees->place == 0
               ? xyl_position(trees->all.buffer, child * problem->count)
               : xyl_position_plus(trees->all, at * problem->count);
}

static void write_child(subtrees_t *trees, uint32_t child)
{
    const xyl_problem_t *problem = trees->problem;
    xyl_schedule_t *schedule = trees->schedule;
    uint64_t place = place_of_peer(trees, child), at = place - trees->place;
    uint64_t span = xyl_knomial_span(place, problem->ranks, problem->radix);
    int is_first = at<trees->first, is_rest = at + span> trees->first;
    uint64_t first;
    xyl_position_t blocks = child_blocks(trees, child, span, &first);
    xyl_action_t action =
        pass_blocks(trees, trees->is_down, child, LABEL_FIRST, blocks, first,
                    trees->is_down ? trees->ready[!is_first] : XYL_ACTION_NONE);

    pass_blocks(trees, trees->is_down, child, LABEL_REST,
                xyl_position(blocks.buffer, 0), span - first, XYL_ACTION_NONE);
    if (trees->is_down && is_first && is_rest)
        xyl_schedule_order(schedule, action, trees->ready[1]);
    if (trees->is_down || trees->place == 0)
        return;
    if (is_first)
        trees->ready[0] = xyl_schedule_join(schedule, trees->ready[0], action);
    if (is_rest)
        trees->ready[1] = xyl_schedule_join(schedule, trees->ready[1], action);
}

static void write_parent(subtrees_t *trees, uint32_t parent, uint64_t span)
{
    trees->ready[0] = pass_blocks(trees, !trees->is_down, parent, LABEL_FIRST,
                                  trees->all, trees->first, trees->ready[0]);
    trees->ready[1] = pass_blocks(
        trees, !trees->is_down, parent, LABEL_REST,
        xyl_position_plus(trees->all, trees->problem->count * trees->first),
        span - trees->first, trees->ready[1]);
}

/* Finds where the blocks of the subtree lie: those of a leaf and of the root
 * lie in the user's buffer. 1: the own block is copied. */
static int find_blocks(subtrees_t *trees, uint32_t parent, uint64_t span)
{
    const xyl_problem_t *problem = trees->problem;
    int takes_send = trees->is_down == (trees->place == 0);
    uint64_t left = problem->ranks - problem->rank;

    trees->first = parent == problem->root && span > left ? left : span;
    trees->all =
        span > 1 && trees->place != 0
            ? xyl_schedule_temp(trees->schedule, problem->count * span)
            : xyl_position(takes_send ? XYL_BUFFER_SEND : XYL_BUFFER_RECV, 0);
    return trees->place == 0 ? !problem->is_in_place : span > 1;
}

static void blocks_knomial(const xyl_problem_t *problem,
                           xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, root = problem->root;
    subtrees_t trees = {.problem = problem,
                        .schedule = schedule,
                        .is_down = problem->coll == XYLEM_COLL_SCATTER,
                        .ready = {XYL_ACTION_NONE, XYL_ACTION_NONE}};
    const xyl_shape_t shape = {&xyl_tree_knomial, problem->radix};
    uint32_t children[XYL_DISTANCES_MAX], i;
    uint32_t count = xyl_tree_children(shape, 0, ranks, rank, root, children,
                                       XYL_DISTANCES_MAX);
    uint32_t parent = xyl_tree_parent(shape, 0, ranks, rank, root);
    xyl_position_t own;
    uint64_t span;
    int copies;

    if (problem->count == 0)
        return;
    trees.place = place_of_peer(&trees, rank);
    span = xyl_knomial_span(trees.place, ranks, problem->radix);
    copies = find_blocks(&trees, parent, span);
    own = trees.all;
    if (trees.place == 0)
        own.at = root * problem->count;
    if (trees.is_down && trees.place != 0)
        write_parent(&trees, parent, span);
    if (!trees.is_down && copies)
        trees.ready[0] = pass_own_block(&trees, own, XYL_ACTION_NONE);
    for (i = 0; i < count; i++)
        write_child(&trees, children[i]);
    if (trees.is_down && copies)
        pass_own_block(&trees, own, trees.ready[0]);
    if (!trees.is_down && trees.place != 0)
        write_parent(&trees, parent, span);
}

const xyl_algorithm_t xyl_algorithm_blocks_knomial = {
    .name = "knomial",
    .help = "along a tree, subtrees in one message (Chan et al. 2007)",
    XYL_BY_SCHEDULE(blocks_knomial),
    .colls = XYL_COLL_BIT(GATHER) | XYL_COLL_BIT(SCATTER),
    .radix = {2, 2, 64},
};
