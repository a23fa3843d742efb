/* Candidates, from the registry. Pure. */
#include "bench/tune/plans.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/tuning.h"
#include "collectives/stages/choice.h"
#include "runtime/base/file.h"

static const size_t segments[] = {1 << 10, 1 << 12, 1 << 14,
                                  1 << 16, 1 << 18, 1 << 20};
static const uint32_t leaders[] = {1, 2, 4, 8, 16};
static const uint32_t radixes[] = {2, 4, 8, 16};

enum {
    SEGMENTS = sizeof segments / sizeof *segments,
    LEADERS = sizeof leaders / sizeof *leaders,
    RADIXES = sizeof radixes / sizeof *radixes,
    SEND_WINDOW = 4,
    RECV_WINDOW = 8,
    SHAPES_MAX = 64,
    SHARES_ALL = 8,         /* ranks of which each number is worth a look */
    WINDOW_BYTES = 64 << 20 /* the least that nodes have by default */
};

/* The best in the memory of a node by the table that decides. */
static const char table_choice[] = "node";

struct list {
    xylem_coll_t coll;
    const struct tune_shape *shape;
    struct tune_plan *plans;
    size_t count;
};

/* Trees of few places are often the same by several names. */
struct shapes {
    uint32_t places;
    uint64_t hashes[SHAPES_MAX];
    size_t count;
};

static uint32_t ranks_of(const struct tune_shape *shape)
{
    return shape->nodes * shape->node_ranks;
}

static void add(struct list *list, const char *name, size_t segment,
                uint32_t lanes)
{
    struct tune_plan *plan = &list->plans[list->count];

    if (list->count == TUNE_PLANS_MAX)
        return;
    *plan = (struct tune_plan){.segment_bytes = segment, .lanes = lanes};
    snprintf(plan->algorithm, sizeof plan->algorithm, "%s", name);
    if (segment != 0) {
        plan->send_window = SEND_WINDOW;
        plan->recv_window = RECV_WINDOW;
    }
    list->count++;
}

static void add_segments(struct list *list, const char *name, uint32_t lanes)
{
    size_t i;

    for (i = 0; i < SEGMENTS && (i == 0 || list->coll != XYLEM_COLL_BARRIER);
         i++)
        add(list, name, segments[i], lanes);
}

static uint64_t shape_hash(xyl_shape_t shape, uint32_t places)
{
    uint32_t *children = calloc(places, sizeof *children), place, count;
    uint64_t hash = XYL_HASH_SEED;
    unsigned half;

    for (half = 0; half < shape.tree->halves; half++)
        for (place = 0; place < places && children != NULL; place++) {
            count = xyl_tree_children(shape, half, places, place, 0, children,
                                      places);
            hash = xyl_hash(hash, &count, sizeof count);
            hash = xyl_hash(hash, children, count * sizeof *children);
        }
    free(children);
    return hash;
}

/* The radix of "name:K"; 0: it has none. */
static uint32_t radix_in(const char *name)
{
    const char *colon = strchr(name, ':');

    return colon == NULL ? 0 : (uint32_t)atoi(colon + 1);
}

/* 1 when none of the trees before is the same. Trees of the machine's levels
 * are not known here. */
static int is_new_shape(struct shapes *shapes, const xyl_algorithm_t *algorithm,
                        const char *name)
{
    uint32_t radix = radix_in(name);
    uint64_t hash;
    size_t i;

    if (algorithm->kind != XYL_ALGORITHM_TREE ||
        algorithm->tree->parent == NULL)
        return 1;
    hash = shape_hash(
        (xyl_shape_t){algorithm->tree,
                      radix == 0 ? algorithm->tree->radix.preset : radix},
        shapes->places);
    for (i = 0; i < shapes->count; i++)
        if (shapes->hashes[i] == hash)
            return 0;
    if (shapes->count < SHAPES_MAX)
        shapes->hashes[shapes->count++] = hash;
    return 1;
}

/* The n-th name of an algorithm with a radix; 0: there are no more. */
static int nth_name(const xyl_algorithm_t *algorithm, unsigned n, uint32_t most,
                    char name[XYL_ALGORITHM_TEXT_BYTES])
{
    const xyl_radix_t *radix = xyl_algorithm_radix(algorithm);
    unsigned i, found = 0;

    snprintf(name, XYL_ALGORITHM_TEXT_BYTES, "%s", algorithm->name);
    if (radix->most == 0)
        return n == 0;
    for (i = 0; i < RADIXES; i++) {
        if (radixes[i] < radix->least || radixes[i] > radix->most ||
            (radixes[i] >= most && found > 0))
            continue;
        if (found++ != n)
            continue;
        snprintf(name, XYL_ALGORITHM_TEXT_BYTES, "%s:%u", algorithm->name,
                 radixes[i]);
        return 1;
    }
    return 0;
}

/* The lanes that go side by side: each leader has its own, see
 * collectives/choose/fit.c. */
static uint32_t lanes_of(const struct list *list,
                         const xyl_algorithm_t *between, uint32_t led_by)
{
    uint32_t lanes = led_by;

    if (between->kind == XYL_ALGORITHM_TREE)
        lanes *= between->tree == &xyl_tree_double ? 2 : 1;
    if (between->kind == XYL_ALGORITHM_TREE &&
        between->tree == &xyl_tree_flat && list->coll == XYLEM_COLL_ALLREDUCE)
        lanes *= list->shape->nodes;
    return lanes < XYL_LANES_MAX ? lanes : XYL_LANES_MAX;
}

/* Levels in segments, with each algorithm between nodes. */
static void add_levels(struct list *list, const xyl_algorithm_t *levels)
{
    char between[XYL_ALGORITHM_TEXT_BYTES], name[XYL_ALGORITHM_TEXT_BYTES];
    struct shapes shapes = {.places = list->shape->nodes};
    const xyl_algorithm_t *const *all;
    size_t count, i, n, l;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++) {
        if (!xyl_algorithm_goes_between(list->coll, all[i]))
            continue;
        for (n = 0; nth_name(all[i], (unsigned)n, list->shape->nodes, between);
             n++)
            for (l = 0; l < LEADERS; l++) {
                if (leaders[l] > list->shape->node_ranks ||
                    (l == 0 && !is_new_shape(&shapes, all[i], between)))
                    break;
                snprintf(name, sizeof name, "%s:%u/%.80s", levels->name,
                         leaders[l], between);
                add_segments(list, name, lanes_of(list, all[i], leaders[l]));
            }
    }
}

/* Adds plans of an algorithm in memory of GPUs, whose number says how many of
 * the ranks take part. */
static void add_shares(struct list *list, const xyl_algorithm_t *algorithm)
{
    uint32_t ranks = ranks_of(list->shape), share = 1;
    uint32_t most = xyl_algorithm_radix(algorithm)->most;
    char name[XYL_ALGORITHM_TEXT_BYTES];

    add(list, algorithm->name, 0, 1);
    while (share < ranks && share <= most) {
        snprintf(name, sizeof name, "%s:%u", algorithm->name, share);
        add(list, name, 0, 1);
        if (ranks <= SHARES_ALL || share == ranks - 1)
            share++;
        else
            share = 2 * share < ranks ? 2 * share : ranks - 1;
    }
}

static void add_algorithm(struct list *list, struct shapes *shapes,
                          const xyl_algorithm_t *algorithm)
{
    char name[XYL_ALGORITHM_TEXT_BYTES];
    unsigned n;

    if (algorithm->kind == XYL_ALGORITHM_LANES) {
        add_levels(list, algorithm);
        return;
    }
    if ((algorithm->needs & XYL_NEEDS_DEVICE) != 0) {
        add_shares(list, algorithm);
        return;
    }
    for (n = 0; nth_name(algorithm, n, ranks_of(list->shape), name); n++) {
        if (algorithm->kind != XYL_ALGORITHM_TREE)
            add(list, name, 0, 1);
        else if (is_new_shape(shapes, algorithm, name))
            add_segments(list, name, 1);
    }
}

/* Ranks of a node share memory. If buffers lie in memory of GPUs, only
 * algorithms for that fit; one of these runs all others, on mirrors. */
static int fits(const xyl_algorithm_t *algorithm, xylem_coll_t coll,
                const struct tune_shape *shape)
{
    const xyl_problem_t problem = {.coll = coll,
                                   .ranks = ranks_of(shape),
                                   .is_commutative = 1,
                                   .shares_memory = shape->nodes == 1,
                                   .on_device = shape->memory != TUNE_HOST,
                                   .fills_nodes = 1};

    if (shape->memory != TUNE_HOST)
        return shape->nodes == 1 && xyl_algorithm_does(algorithm, coll) &&
               (algorithm->needs & XYL_NEEDS_DEVICE) != 0 &&
               xyl_algorithm_fits(algorithm, &problem, NULL);
    if ((algorithm->kind == XYL_ALGORITHM_LANES ||
         algorithm->kind == XYL_ALGORITHM_LEVELS) &&
        (shape->nodes == 1 || shape->node_ranks == 1))
        return 0;
    return (algorithm->needs & XYL_STANDS_FOR_KIND) == 0 &&
           xyl_algorithm_does(algorithm, coll) &&
           xyl_algorithm_fits(algorithm, &problem, NULL);
}

size_t tune_plans_list(xylem_coll_t coll, const struct tune_shape *shape,
                       struct tune_plan plans[TUNE_PLANS_MAX])
{
    struct list list = {coll, shape, plans, 0};
    struct shapes shapes = {.places = ranks_of(shape)};
    const xyl_algorithm_t *const *all;
    size_t count, i;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        if (fits(all[i], coll, shape))
            add_algorithm(&list, &shapes, all[i]);
    return list.count;
}

/* A problem of `ranks` ranks in the memory of a node, with the default room. */
static xyl_problem_t node_problem(xylem_coll_t coll, uint32_t ranks)
{
    return (xyl_problem_t){
        .coll = coll,
        .ranks = ranks,
        .element_bytes = 1,
        .is_commutative = 1,
        .shares_memory = 1,
        .node = {.limits = &xyl_limits_builtin,
                 .window_bytes = WINDOW_BYTES,
                 .long_window_bytes = (uint64_t)WINDOW_BYTES / 2 * 3}};
}

/* 1: the plan fits the memory of a node, or does not use it. */
static int node_fits(xylem_coll_t coll, const struct tune_plan *plan,
                     const struct tune_shape *shape, size_t bytes)
{
    xyl_problem_t problem = node_problem(coll, ranks_of(shape));
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;

    if (!xyl_algorithm_parse(coll, plan->algorithm, &named, why) ||
        named.algorithm == NULL || named.algorithm->kind != XYL_ALGORITHM_NODE)
        return 1;
    problem.count = bytes;
    problem.segment_bytes = plan->segment_bytes;
    problem.radix = named.radix;
    return xyl_algorithm_fits(named.algorithm, &problem, NULL);
}

/* 1: some level can run the algorithm that the plan names within nodes. If none
 * can, the plan equals the one with the table's choice. */
static int some_level_fits(xylem_coll_t coll, const struct tune_plan *plan,
                           const struct tune_shape *shape, size_t bytes)
{
    static const enum tune_level levels[] = {TUNE_SR, TUNE_SB};
    size_t i, lane = (bytes + plan->lanes - 1) / plan->lanes;
    struct tune_alone alone;

    for (i = 0; i < 2; i++)
        if (tune_plan_alone(coll, plan, shape, levels[i], &alone) &&
            strcmp(alone.plan.algorithm, table_choice) != 0 &&
            node_fits(alone.coll, &alone.plan, &alone.shape, lane))
            return 1;
    return 0;
}

int tune_plan_fits(xylem_coll_t coll, const struct tune_plan *plan,
                   const struct tune_shape *shape, size_t bytes)
{
    return tune_plan_names_within(coll, plan)
               ? some_level_fits(coll, plan, shape, bytes)
               : node_fits(coll, plan, shape, bytes);
}

int tune_plan_applies(const struct tune_plan *plan, size_t bytes)
{
    size_t steps;

    if (plan->segment_bytes == 0)
        return 1;
    if (plan->segment_bytes > bytes && plan->segment_bytes != segments[0])
        return 0;
    steps = (bytes + plan->segment_bytes - 1) / plan->segment_bytes;
    return plan->lanes <= (steps > 0 ? steps : 1);
}

int tune_plan_is_same(const struct tune_plan *a, const struct tune_plan *b)
{
    return strcmp(a->algorithm, b->algorithm) == 0 &&
           a->segment_bytes == b->segment_bytes &&
           a->send_window == b->send_window && a->recv_window == b->recv_window;
}

/* ---- levels ---- */

/* Parses the parts that a plan in levels names. 0: the plan has no levels, or
 * leaves the algorithm between nodes to the table. */
static int levels_parse(xylem_coll_t coll, const struct tune_plan *plan,
                        xyl_named_t *named)
{
    char why[XYL_ALGORITHM_WHY_BYTES];

    return strncmp(plan->algorithm, "han", 3) == 0 &&
           xyl_algorithm_parse(coll, plan->algorithm, named, why) &&
           named->between != NULL;
}

size_t tune_plan_leaders(xylem_coll_t coll, const struct tune_plan *plan)
{
    xyl_named_t named;

    return levels_parse(coll, plan, &named) ? named.radix : 0;
}

int tune_plan_names_within(xylem_coll_t coll, const struct tune_plan *plan)
{
    xyl_named_t named;

    return levels_parse(coll, plan, &named) && named.within != NULL;
}

void tune_plan_by_table(struct tune_plan *plan)
{
    snprintf(plan->algorithm, sizeof plan->algorithm, "%s", table_choice);
}

/* The collective of a level; 0: there is no such level. */
static int level_coll(xylem_coll_t coll, enum tune_level level,
                      xylem_coll_t *coll_out)
{
    static const xylem_coll_t colls[TUNE_LEVELS] = {
        [TUNE_SR] = XYLEM_COLL_REDUCE,
        [TUNE_IR] = XYLEM_COLL_REDUCE,
        [TUNE_IB] = XYLEM_COLL_BCAST,
        [TUNE_SB] = XYLEM_COLL_BCAST};
    xylem_coll_t between = xyl_registry_between(coll);
    int is_allreduce = between == XYLEM_COLL_ALLREDUCE;

    *coll_out = is_allreduce && level == TUNE_IB ? between : colls[level];
    return is_allreduce || between == colls[level];
}

/* Can be run as a level in the memory of a node; `levels` names the radix. */
static int goes_in_level(xylem_coll_t coll, xylem_coll_t level,
                         const xyl_algorithm_t *algorithm,
                         const struct tune_shape *shape,
                         const xyl_named_t *levels)
{
    xyl_problem_t problem = node_problem(level, shape->node_ranks);

    problem.count = segments[0];
    problem.node.is_level = 1;
    problem.node.roots_in_turn = levels->radix >= shape->node_ranks;
    problem.node.is_for_one = coll == XYLEM_COLL_REDUCE;
    problem.radix = levels->within_radix;
    return algorithm->kind == XYL_ALGORITHM_NODE &&
           (algorithm->needs & XYL_STANDS_FOR_KIND) == 0 &&
           xyl_algorithm_does(algorithm, level) &&
           xyl_algorithm_fits(algorithm, &problem, NULL);
}

static int goes_within(xylem_coll_t coll, const xyl_algorithm_t *algorithm,
                       const struct tune_shape *shape,
                       const xyl_named_t *levels)
{
    xylem_coll_t up, down;

    return (level_coll(coll, TUNE_SR, &up) &&
            goes_in_level(coll, up, algorithm, shape, levels)) ||
           (level_coll(coll, TUNE_SB, &down) &&
            goes_in_level(coll, down, algorithm, shape, levels));
}

/* Adds the plan with the named algorithm within nodes. */
static size_t add_variant(const struct tune_plan *plan,
                          const xyl_named_t *named, size_t count,
                          struct tune_plan variants[TUNE_WITHIN_MAX])
{
    size_t i;

    if (count == TUNE_WITHIN_MAX)
        return count;
    variants[count] = *plan;
    xyl_algorithm_print(named, variants[count].algorithm);
    for (i = 0; i < count; i++) /* entries of several collectives */
        if (tune_plan_is_same(&variants[i], &variants[count]))
            return count;
    return count + 1;
}

size_t tune_plan_within(xylem_coll_t coll, const struct tune_plan *plan,
                        const struct tune_shape *shape,
                        struct tune_plan variants[TUNE_WITHIN_MAX])
{
    const xyl_algorithm_t *const *all;
    char name[XYL_ALGORITHM_TEXT_BYTES];
    size_t count, i, found = 0;
    xyl_named_t named;
    unsigned n;

    if (!levels_parse(coll, plan, &named) || named.within != NULL)
        return 0;
    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        for (n = 0; nth_name(all[i], n, shape->node_ranks, name); n++) {
            named.within = all[i]->name;
            named.within_radix = radix_in(name);
            if (goes_within(coll, all[i], shape, &named))
                found = add_variant(plan, &named, found, variants);
        }
    named.within = xyl_within_ucx;
    named.within_radix = 0;
    return add_variant(plan, &named, found, variants);
}

/* Prints the algorithm within nodes as a call on the ranks of one node names
 * it; the table has its own word for the memory, and messages go along a tree.
 */
static void within_print(xylem_coll_t coll, xylem_coll_t level,
                         const xyl_named_t *levels,
                         const struct tune_shape *shape,
                         char text[XYL_ALGORITHM_TEXT_BYTES])
{
    static const char by_messages[] = "knomial:4";
    const xyl_algorithm_t *algorithm =
        levels->within == NULL ? NULL
                               : xyl_algorithm_find(level, levels->within);
    xyl_named_t named = {.algorithm = algorithm, .radix = levels->within_radix};

    if (algorithm != NULL && algorithm->kind == XYL_ALGORITHM_NODE &&
        !goes_in_level(coll, level, algorithm, shape, levels))
        algorithm = NULL;
    if (levels->within != NULL && strcmp(levels->within, xyl_within_ucx) == 0)
        snprintf(text, XYL_ALGORITHM_TEXT_BYTES, "%s", by_messages);
    else if (algorithm == NULL)
        snprintf(text, XYL_ALGORITHM_TEXT_BYTES, "%s", table_choice);
    else
        xyl_algorithm_print(&named, text);
}

int tune_plan_alone(xylem_coll_t coll, const struct tune_plan *plan,
                    const struct tune_shape *shape, enum tune_level level,
                    struct tune_alone *alone_out)
{
    xyl_named_t named, between;

    *alone_out = (struct tune_alone){.plan = *plan};
    alone_out->plan.lanes = 1;
    if (!levels_parse(coll, plan, &named) ||
        !level_coll(coll, level, &alone_out->coll))
        return 0;
    if (level == TUNE_SR || level == TUNE_SB) {
        alone_out->shape =
            (struct tune_shape){1, shape->node_ranks, shape->memory};
        within_print(coll, alone_out->coll, &named, shape,
                     alone_out->plan.algorithm);
        return 1;
    }
    if (!xyl_algorithm_does(named.between, alone_out->coll))
        return 0; /* a schedule does all at once */
    between =
        (xyl_named_t){.algorithm = named.between, .radix = named.between_radix};
    xyl_algorithm_print(&between, alone_out->plan.algorithm);
    alone_out->shape = (struct tune_shape){shape->nodes, 1, shape->memory};
    if (named.between->kind != XYL_ALGORITHM_TREE)
        alone_out->plan.segment_bytes = alone_out->plan.send_window =
            alone_out->plan.recv_window = 0;
    return 1;
}

/* ---- neighbours ---- */

/* The value doubled or halved, within bounds; 0: it stays as it is. */
static size_t stepped(size_t value, int up, size_t least, size_t most)
{
    size_t other = up ? 2 * value : value / 2;

    other = other > most ? most : other;
    return other < least || other == value ? 0 : other;
}

/* Sets other leaders; 0: the plan has none. */
static int put_leaders(xylem_coll_t coll, struct tune_plan *plan,
                       const struct tune_shape *shape, int up)
{
    uint32_t most =
        shape->node_ranks < XYL_LANES_MAX ? shape->node_ranks : XYL_LANES_MAX;
    uint32_t old, leaders_new;
    xyl_named_t named;

    if (!levels_parse(coll, plan, &named))
        return 0;
    old = named.radix;
    leaders_new = (uint32_t)stepped(old, up, 1, most);
    if (old == 0 || leaders_new == 0)
        return 0;
    named.radix = leaders_new;
    xyl_algorithm_print(&named, plan->algorithm);
    plan->lanes = plan->lanes / old * leaders_new;
    if (plan->lanes > XYL_LANES_MAX)
        plan->lanes = XYL_LANES_MAX;
    return 1;
}

/* Sets other segments within nodes; 0: the plan has none. */
static int put_within_segment(xylem_coll_t coll, struct tune_plan *plan, int up)
{
    size_t segment = plan->segment_bytes, other;
    xyl_named_t named;

    if (!levels_parse(coll, plan, &named))
        return 0;
    other = stepped(named.within_segment_bytes != 0 ? named.within_segment_bytes
                                                    : segment,
                    up, segments[0], segments[SEGMENTS - 1]);
    if (other == 0 || !xyl_segments_meet(segment, other))
        return 0;
    named.within_segment_bytes = other == segment ? 0 : other;
    xyl_algorithm_print(&named, plan->algorithm);
    return 1;
}

size_t tune_plan_neighbours(xylem_coll_t coll, const struct tune_plan *plan,
                            const struct tune_shape *shape,
                            struct tune_plan neighbours[TUNE_NEIGHBOURS_MAX])
{
    enum { SEND_WINDOW_MAX = 32 };
    size_t count = 0, segment;
    struct tune_plan *next;
    uint32_t window;
    int up;

    for (up = 0; up < 2 && plan->segment_bytes != 0; up++) {
        segment = stepped(plan->segment_bytes, up, segments[0],
                          segments[SEGMENTS - 1]);
        window = (uint32_t)stepped(plan->send_window, up, 1, SEND_WINDOW_MAX);
        next = &neighbours[count];
        *next = *plan;
        next->segment_bytes = segment;
        next = &neighbours[count += segment != 0];
        *next = *plan;
        next->send_window = window;
        next->recv_window = 2 * window;
        next = &neighbours[count += window != 0];
        *next = *plan;
        count += (size_t)put_leaders(coll, next, shape, up);
        next = &neighbours[count];
        *next = *plan;
        count += (size_t)put_within_segment(coll, next, up);
    }
    return count;
}

/* ---- heuristics ---- */

static int is_chain(xylem_coll_t coll, const struct tune_plan *plan)
{
    xyl_named_t named;

    return strcmp(levels_parse(coll, plan, &named) ? named.between->name
                                                   : plan->algorithm,
                  xyl_tree_chain.name) == 0;
}

/* 1: the whole message goes in every round of the reduction. */
static int moves_all(xylem_coll_t coll, const char *algorithm)
{
    static const char *const names[] = {"linear", "recursive_doubling",
                                        "recursive_multiplying"};
    size_t i;

    if (coll != XYLEM_COLL_REDUCE && coll != XYLEM_COLL_ALLREDUCE)
        return 0;
    for (i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(algorithm, names[i], strlen(names[i])) == 0)
            return 1;
    return 0;
}

int tune_plan_promises(xylem_coll_t coll, const struct tune_plan *plan,
                       const struct tune_shape *shape, size_t bytes)
{
    enum { CHAIN_STEPS = 8, STEPS_MAX = 64, LONG = 1 << 16 };
    xyl_named_t named = {.within = NULL};
    int is_levels;
    size_t steps;

    if (plan->segment_bytes == 0)
        return bytes <= LONG || !moves_all(coll, plan->algorithm);
    is_levels = levels_parse(coll, plan, &named);
    /* Messages within a node seldom win if it shares memory. */
    if (shape->node_ranks > 1 &&
        (!is_levels ||
         (named.within != NULL && strcmp(named.within, xyl_within_ucx) == 0)))
        return 0;
    steps = bytes / plan->segment_bytes / plan->lanes;
    return steps <= STEPS_MAX &&
           (!is_chain(coll, plan) || steps > CHAIN_STEPS ||
            steps + 1 >= shape->nodes);
}
