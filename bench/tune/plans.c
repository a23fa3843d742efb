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

/* 1 when none of the trees before is the same. Trees of the machine's levels
 * are not known here. */
static int is_new_shape(struct shapes *shapes, const xyl_algorithm_t *algorithm,
                        const char *name)
{
    const char *colon = strchr(name, ':');
    uint64_t hash;
    size_t i;

    if (algorithm->kind != XYL_ALGORITHM_TREE ||
        algorithm->tree->parent == NULL)
        return 1;
    hash =
        shape_hash((xyl_shape_t){algorithm->tree,
                                 colon == NULL ? algorithm->tree->radix.preset
                                               : (uint32_t)atoi(colon + 1)},
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

/* Those that go side by side: each leader has its lanes, see
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
                snprintf(name, sizeof name, "%s:%u/%.40s", levels->name,
                         leaders[l], between);
                add_segments(list, name, lanes_of(list, all[i], leaders[l]));
            }
    }
}

/* One in memory of GPUs, whose number says how many of the ranks do something.
 */
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

/* Ranks of a node share memory. Where buffers lie in that of GPUs the
 * algorithms are those that know of it: all others are behind one of them, on
 * mirrors. */
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

int tune_plan_fits(xylem_coll_t coll, const struct tune_plan *plan,
                   const struct tune_shape *shape, size_t bytes)
{
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;
    xyl_problem_t problem = {
        .coll = coll,
        .ranks = ranks_of(shape),
        .count = bytes,
        .element_bytes = 1,
        .is_commutative = 1,
        .shares_memory = 1,
        .segment_bytes = plan->segment_bytes,
        .node = {.limits = &xyl_limits_builtin,
                 .window_bytes = WINDOW_BYTES,
                 .long_window_bytes = (uint64_t)WINDOW_BYTES / 2 * 3}};

    if (!xyl_algorithm_parse(coll, plan->algorithm, &named, why) ||
        named.algorithm == NULL || named.algorithm->kind != XYL_ALGORITHM_NODE)
        return 1;
    problem.radix = named.radix;
    return xyl_algorithm_fits(named.algorithm, &problem, NULL);
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

/* ---- neighbours ---- */

/* Doubled, or half of it, within some; 0: it stays what it is. */
static size_t stepped(size_t value, int up, size_t least, size_t most)
{
    size_t other = up ? 2 * value : value / 2;

    other = other > most ? most : other;
    return other < least || other == value ? 0 : other;
}

/* "han:4/binary" with other leaders; 0: it has none. */
static int put_leaders(struct tune_plan *plan, const struct tune_shape *shape,
                       int up)
{
    const char *colon = strchr(plan->algorithm, ':'),
               *slash = strchr(plan->algorithm, '/');
    uint32_t most =
        shape->node_ranks < XYL_LANES_MAX ? shape->node_ranks : XYL_LANES_MAX;
    char name[sizeof plan->algorithm];
    uint32_t old, leaders_new;

    if (slash == NULL || colon == NULL || colon > slash)
        return 0;
    old = (uint32_t)atoi(colon + 1);
    leaders_new = (uint32_t)stepped(old, up, 1, most);
    if (old == 0 || leaders_new == 0)
        return 0;
    snprintf(name, sizeof name, "%.*s:%u%.40s", (int)(colon - plan->algorithm),
             plan->algorithm, leaders_new, slash);
    memcpy(plan->algorithm, name, sizeof name);
    plan->lanes = plan->lanes / old * leaders_new;
    if (plan->lanes > XYL_LANES_MAX)
        plan->lanes = XYL_LANES_MAX;
    return 1;
}

size_t tune_plan_neighbours(const struct tune_plan *plan,
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
        count += (size_t)put_leaders(next, shape, up);
    }
    return count;
}

/* ---- heuristics ---- */

static int is_between(const struct tune_plan *plan, const char *name)
{
    const char *slash = strchr(plan->algorithm, '/');

    return strcmp(slash != NULL ? slash + 1 : plan->algorithm, name) == 0;
}

/* Reductions in whose every round the whole message goes. */
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
    int is_levels = strncmp(plan->algorithm, "han", 3) == 0;
    size_t steps;

    if (plan->segment_bytes == 0)
        return bytes <= LONG || !moves_all(coll, plan->algorithm);
    /* Trees that use no node's memory seldom win where there is one. */
    if (shape->node_ranks > 1 && !is_levels)
        return 0;
    steps = bytes / plan->segment_bytes / plan->lanes;
    return steps <= STEPS_MAX &&
           (!is_between(plan, "chain") || steps > CHAIN_STEPS ||
            steps + 1 >= shape->nodes);
}
