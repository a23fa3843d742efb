/* Trees of ranks, exhaustively.
 *
 * A full walk goes from the root through all children of one tree and checks
 * that each rank is reached exactly once, that its parent agrees, and that
 * subtrees are ranges where xyl_tree_is_ordered() says so. test_tree_shapes.c
 * checks depths.
 *
 *   all shapes and radices, all roots:  n = 1 ... FULL_MAX and `full_sizes`
 *   all shapes and radices, root 0:     n = 1 ... RANKS_MAX
 *   in-order tree, all roots:           n = 1 ... INORDER_FULL_MAX, then every
 *                                       fourth one, the others by samples
 *   one other shape per root, in turn:  n = 1 ... RANKS_MAX
 *
 * The trees of all other roots are rotations of that of root 0. For them the
 * parent and the children of some ranks are compared with the rotated walk of
 * root 0, for each n, root, shape and radix. TREE_SWEEP=full in the
 * environment walks through all of them as well, which takes a minute or two.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/unit/trees/tree_variants.h"
#include "trees/tree.h"

enum {
    FULL_MAX = 80,
    INORDER_FULL_MAX = 256,
    CLIMB_MAX = 100,
    SPOTS = 5 /* ranks compared per rotated tree */
};

static const uint32_t full_sizes[] = {81, 127, 128, 129, 255, 256, 257, 512};

/* The results of a walk; one at a time is enough. */
typedef struct walk {
    uint32_t queue[RANKS_MAX]; /* ranks, parents before children */
    uint32_t parent[RANKS_MAX];
    uint32_t depth[RANKS_MAX];
    uint32_t children[RANKS_MAX]; /* how many */
    uint32_t branch[RANKS_MAX];   /* the root's child above, or itself */
    int is_ranges;
} walk_t;

static walk_t walked;

static int sweep_is_full(void)
{
    const char *wanted = getenv("TREE_SWEEP");

    return wanted != NULL && strcmp(wanted, "full") == 0;
}

/* --- the full walk ------------------------------------------------------- */

/* 1: in every subtree that is not the whole, lowest and highest rank span
 * exactly as many ranks as it has. From the leaves up. */
static int subtrees_are_ranges(uint32_t n, const walk_t *w)
{
    static uint32_t low[RANKS_MAX], high[RANKS_MAX], size[RANKS_MAX];
    uint32_t i, rank, above;

    for (i = 0; i < n; i++) {
        low[i] = high[i] = i;
        size[i] = 1;
    }
    for (i = n; i-- > 1;) {
        rank = w->queue[i];
        above = w->parent[rank];
        if (high[rank] - low[rank] + 1 != size[rank])
            return 0;
        low[above] = low[rank] < low[above] ? low[rank] : low[above];
        high[above] = high[rank] > high[above] ? high[rank] : high[above];
        size[above] += size[rank];
    }
    return 1;
}

/* Reaches the children of queue[head]; the new tail, 0 when one is wrong. */
static uint32_t visit(const variant_t *v, uint32_t n, uint32_t root,
                      uint32_t head, uint32_t tail)
{
    static uint32_t list[RANKS_MAX];
    walk_t *w = &walked;
    uint32_t rank = w->queue[head], count, i;

    count = xyl_tree_children(v->shape, v->half, n, rank, root, list, n);
    w->children[rank] = count;
    if (count > n - tail)
        return 0;
    for (i = 0; i < count; i++) {
        if (list[i] >= n || w->depth[list[i]] != XYL_TREE_NONE ||
            xyl_tree_parent(v->shape, v->half, n, list[i], root) != rank)
            return 0;
        w->depth[list[i]] = w->depth[rank] + 1;
        w->parent[list[i]] = rank;
        w->branch[list[i]] = head == 0 ? list[i] : w->branch[rank];
        w->queue[tail++] = list[i];
    }
    return tail;
}

/* Fills `walked`; 0 when the tree is wrong. */
static int walk(const variant_t *v, uint32_t n, uint32_t root)
{
    uint32_t head, tail = 1;
    walk_t *w = &walked;

    memset(w->depth, 0xff, n * sizeof(w->depth[0]));
    w->queue[0] = root;
    w->depth[root] = 0;
    w->branch[root] = root;
    w->parent[root] = xyl_tree_parent(v->shape, v->half, n, root, root);
    if (w->parent[root] != XYL_TREE_NONE)
        return bad(v, n, root, "the root has a parent");
    for (head = 0; head < tail && tail != 0; head++)
        tail = visit(v, n, root, head, tail);
    if (tail != n)
        return bad(v, n, root, "not every rank is reached exactly once");
    w->is_ranges = subtrees_are_ranges(n, w);
    if (xyl_tree_is_ordered(v->shape, n, root) && !w->is_ranges)
        return bad(v, n, root, "is_ordered, but subtrees are no ranges");
    return 1;
}

/* 1: for this variant is_ordered is also necessary. */
static int is_ordered_exactly(const variant_t *v, uint32_t n)
{
    return n <= 2 || (v->shape.tree != &xyl_tree_double &&
                      v->shape.tree != &xyl_tree_bine);
}

static int walk_all(const variant_t *v, uint32_t n, uint32_t root)
{
    if (!walk(v, n, root))
        return 0;
    if (is_ordered_exactly(v, n) &&
        xyl_tree_is_ordered(v->shape, n, root) != walked.is_ranges)
        return bad(v, n, root, "subtrees are ranges, but not is_ordered");
    return 1;
}

static void walk_every_root(uint32_t n)
{
    uint32_t i, root;

    for (i = 0; i < variant_count; i++)
        for (root = 0; root < n; root++)
            if (!walk_all(&variants[i], n, root))
                return;
}

static void test_small_full(void)
{
    uint32_t n;

    variants_fill();
    for (n = 1; n <= FULL_MAX; n++)
        walk_every_root(n);
}

static void test_chosen_full(void)
{
    size_t i;

    variants_fill();
    for (i = 0; i < sizeof(full_sizes) / sizeof(full_sizes[0]); i++)
        walk_every_root(full_sizes[i]);
}

/* From a rank up to the root, or CLIMB_MAX steps of a longer way, each rank is
 * among the children of its parent. */
static void climb(const variant_t *v, uint32_t n, uint32_t root, uint32_t rank)
{
    uint32_t parent, steps, count, i, list[1024];

    for (steps = 0; rank != root && steps < CLIMB_MAX; steps++, rank = parent) {
        parent = xyl_tree_parent(v->shape, v->half, n, rank, root);
        count = xyl_tree_children(v->shape, v->half, n, parent, root, list,
                                  sizeof(list) / sizeof(list[0]));
        for (i = 0; i < count && list[i] != rank; i++)
            ;
        if (i == count)
            bad(v, n, root, "a rank is not a child of its parent");
    }
    if (rank != root && steps < n && n <= CLIMB_MAX)
        bad(v, n, root, "a climb does not end at the root");
}

/* No rotation: above INORDER_FULL_MAX every fourth root is walked, and climbs
 * from both ends and from next to the root cover the others. */
static void test_inorder(void)
{
    const variant_t v = {{&xyl_tree_inorder, 0}, 0, "inorder"};
    uint32_t n, root;

    for (n = 1; n <= RANKS_MAX; n++)
        for (root = 0; root < n; root++) {
            CHECK(xyl_tree_is_ordered(v.shape, n, root));
            if (n <= INORDER_FULL_MAX || (n + root) % 4 == 0) {
                walk_all(&v, n, root);
                continue;
            }
            climb(&v, n, root, 0);
            climb(&v, n, root, n - 1);
            climb(&v, n, root, (root + 1) % n);
        }
}

/* Each n and root with one variant; which one moves on with both. */
static void test_turns_full(void)
{
    uint32_t n, root, turn = 0;

    variants_fill();
    for (n = 1; n <= RANKS_MAX; n++)
        for (root = 0; root < n; root++)
            walk_all(&variants[turn++ % variant_count], n, root);
}

static void test_everything_full(void)
{
    uint32_t n;

    if (!sweep_is_full()) {
        check_skip("set TREE_SWEEP=full");
        return;
    }
    variants_fill();
    for (n = 1; n <= RANKS_MAX; n++)
        walk_every_root(n);
}

/* --- rotations ----------------------------------------------------------- */

/* 1: the tree of root 0 in `walked`, turned so that its place n - root becomes
 * rank 0, has ranges for subtrees. */
static int turned_is_ranges(uint32_t n, uint32_t root)
{
    uint32_t place = n - root;

    if (root == 0 || place == 1 || !walked.is_ranges)
        return walked.is_ranges;
    return walked.branch[place] != walked.branch[place - 1];
}

/* Compares one rank of the tree of `root` with `walked`, that of root 0. */
static int spot(const variant_t *v, uint32_t n, uint32_t root, uint32_t rank)
{
    static uint32_t list[RANKS_MAX];
    uint32_t place = (rank + n - root) % n, i, count, parent, wanted;

    parent = xyl_tree_parent(v->shape, v->half, n, rank, root);
    wanted = walked.parent[place];
    wanted = wanted == XYL_TREE_NONE ? wanted : (wanted + root) % n;
    if (parent != wanted)
        return bad(v, n, root, "a parent is not that of root 0, turned");
    count = xyl_tree_children(v->shape, v->half, n, rank, root, list, n);
    if (count != walked.children[place])
        return bad(v, n, root, "more or less children than with root 0");
    for (i = 0; i < count; i++)
        if (list[i] >= n || walked.parent[(list[i] + n - root) % n] != place)
            return bad(v, n, root, "a child is not that of root 0, turned");
    return 1;
}

/* `walked` holds the tree of root 0. */
static int rotation(const variant_t *v, uint32_t n, uint32_t root)
{
    /* The root, the ends of the ranks, and two more that move about. */
    const uint32_t spots[SPOTS] = {root, 0, n - 1, (root + 1) % n,
                                   (root * 7919u + n * 31u) % n};
    uint32_t i;

    for (i = 0; i < SPOTS; i++)
        if (!spot(v, n, root, spots[i]))
            return 0;
    if (is_ordered_exactly(v, n) &&
        xyl_tree_is_ordered(v->shape, n, root) != turned_is_ranges(n, root))
        return bad(v, n, root, "is_ordered does not fit the turned tree");
    return 1;
}

static void test_rotations(void)
{
    uint32_t i, n, root;

    variants_fill();
    for (i = 0; i < variant_count; i++) {
        const variant_t *v = &variants[i];
        if (v->shape.tree == &xyl_tree_inorder)
            continue;
        for (n = 1; n <= RANKS_MAX; n++) {
            if (!walk_all(v, n, 0))
                return;
            for (root = 1; root < n; root++)
                if (!rotation(v, n, root))
                    return;
        }
    }
}

/* --- order and limits ---------------------------------------------------- */

/* How deep each subtree of `walked` is, from its top down. */
static void heights(uint32_t n, uint32_t *height)
{
    uint32_t i, rank, above;

    memset(height, 0, n * sizeof(*height));
    for (i = n; i-- > 1;) {
        rank = walked.queue[i];
        above = walked.parent[rank];
        if (height[rank] + 1 > height[above])
            height[above] = height[rank] + 1;
    }
}

/* These are full at powers of their radix only. */
static int is_full(xyl_shape_t shape, uint32_t n)
{
    const uint32_t radix = shape.tree == &xyl_tree_knomial ? shape.radix : 2;

    if (shape.tree != &xyl_tree_knomial && shape.tree != &xyl_tree_binomial &&
        shape.tree != &xyl_tree_bine)
        return 1;
    while (n % radix == 0)
        n /= radix;
    return n == 1;
}

static int is_deepest_first(const variant_t *v, uint32_t n, uint32_t root)
{
    static uint32_t height[RANKS_MAX], list[RANKS_MAX];
    uint32_t rank, count, c;

    heights(n, height);
    for (rank = 0; rank < n; rank++) {
        count = xyl_tree_children(v->shape, v->half, n, rank, root, list, n);
        for (c = 1; c < count; c++)
            if (height[list[c]] > height[list[c - 1]])
                return 0;
    }
    return 1;
}

/* Children are served in the order of falling subtree depth. */
static void test_deepest_first(void)
{
    uint32_t i, n;

    variants_fill();
    for (i = 0; i < variant_count; i++)
        for (n = 1; n <= RANKS_MAX; n++) {
            const variant_t *v = &variants[i];
            if (!is_full(v->shape, n))
                continue;
            if (!walk(v, n, n / 3))
                return;
            if (!is_deepest_first(v, n, n / 3))
                bad(v, n, n / 3, "a deeper subtree is served later");
        }
}

/* Near the top of the number range. */
static void test_huge(void)
{
    const uint32_t sizes[] = {UINT32_MAX, UINT32_C(1) << 31,
                              (UINT32_C(1) << 31) + 1, 1000003};
    uint32_t i, s, r, k;

    variants_fill();
    for (i = 0; i < variant_count; i++) {
        const variant_t *v = &variants[i];
        if (v->shape.tree == &xyl_tree_flat)
            continue; /* the root lists all ranks */
        for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            const uint32_t n = sizes[s];
            const uint32_t roots[] = {0, 1, n / 2, n - 1};
            for (r = 0; r < 4; r++)
                for (k = 0; k < 64; k++)
                    climb(v, n, roots[r],
                          k < 4 ? roots[k] : (k * UINT32_C(2654435761)) % n);
        }
    }
}

static const check_case_t cases[] = {
    {"small_full", test_small_full},
    {"chosen_full", test_chosen_full},
    {"inorder", test_inorder},
    {"turns_full", test_turns_full},
    {"everything_full", test_everything_full},
    {"rotations", test_rotations},
    {"deepest_first", test_deepest_first},
    {"huge", test_huge},
};

CHECK_MAIN(cases)
