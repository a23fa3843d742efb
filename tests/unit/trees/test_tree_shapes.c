/* Properties of single shapes: depths, orders, the paper's constructions, and
 * the functions at the limits of their arguments. test_tree.c walks through
 * whole trees.
 *
 * Expected depths for n ranks, found without the library's formulas:
 *   FLAT     1 for n > 1                    CHAIN   n - 1
 *   KCHAIN   ceil((n - 1) / radix)
 *   KARY     levels needed when level d holds radix^d ranks, less one
 *   KNOMIAL  most nonzero digits of any number below n in base radix
 *   INORDER  binary digits of the number of ranks on the root's larger side
 *   DOUBLE   binary digits of n - 1
 *   BINE     deepest rank when the broadcast of the paper is played step by
 *            step, and one more below the ranks that have an extra leaf
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/check.h"
#include "tests/unit/trees/tree_variants.h"
#include "trees/tree.h"

/* --- depths, from scratch ------------------------------------------------ */

static uint32_t digits_of(uint32_t value)
{
    uint32_t digits = 0;

    for (; value > 0; value /= 2)
        digits++;
    return digits;
}

static uint32_t levels_below(uint32_t n, uint32_t radix)
{
    uint64_t level = 1, held = 1;
    uint32_t depth = 0;

    for (; held < n; held += level, depth++)
        level *= radix;
    return depth;
}

static uint32_t nonzero_digits_most(uint32_t n, uint32_t radix)
{
    uint32_t value, rest, digits, most = 0;

    for (value = 0; value < n; value++) {
        digits = 0;
        for (rest = value; rest > 0; rest /= radix)
            digits += rest % radix != 0;
        most = digits > most ? digits : most;
    }
    return most;
}

/* Plays the broadcast: in step i of s each rank that has the data sends over
 * (1 - (-2)^(s - i)) / 3 ranks, forward from an even one, backward from an odd
 * one. Ranks from 2^s on are served last. Writes parents and depths. */
static uint32_t bine_play(uint32_t n, uint32_t *parent, uint32_t *depth)
{
    uint32_t s = digits_of(n) - 1, held = 1, i, holder, deepest = 0;
    int64_t p = (int64_t)1 << s, hop, target;
    static uint32_t holders[RANKS_MAX];

    parent[0] = XYL_TREE_NONE;
    depth[0] = 0;
    holders[0] = 0;
    for (i = 0; i < s; i++) {
        hop = (int64_t)1 << (s - i);
        hop = (1 - ((s - i) % 2 == 0 ? hop : -hop)) / 3;
        for (holder = 0; holder < 1u << i; holder++) {
            target = holders[holder];
            target = (target % 2 == 0 ? target + hop : target - hop + p) % p;
            target = (target + p) % p;
            parent[target] = holders[holder];
            depth[target] = depth[holders[holder]] + 1;
            holders[held++] = (uint32_t)target;
        }
    }
    for (; held < n; held++) {
        parent[held] = held - (uint32_t)p;
        depth[held] = depth[held - (uint32_t)p] + 1;
    }
    for (i = 0; i < n; i++)
        deepest = depth[i] > deepest ? depth[i] : deepest;
    return deepest;
}

/* The edges between the root and the deepest rank. */
static uint32_t depth_of(const variant_t *v, uint32_t n, uint32_t root)
{
    static uint32_t depth[RANKS_MAX], way[RANKS_MAX];
    uint32_t rank, at, steps, deepest = 0;

    memset(depth, 0xff, n * sizeof depth[0]);
    depth[root] = 0;
    for (rank = 0; rank < n; rank++) {
        steps = 0;
        for (at = rank; depth[at] == XYL_TREE_NONE && steps < n;
             at = xyl_tree_parent(v->shape, v->half, n, at, root))
            way[steps++] = at;
        while (steps-- != 0) {
            depth[way[steps]] = depth[at] + 1;
            at = way[steps];
        }
        deepest = depth[rank] > deepest ? depth[rank] : deepest;
    }
    return deepest;
}

static uint32_t depth_wanted(const variant_t *v, uint32_t n, uint32_t root)
{
    const xyl_shape_t shape = v->shape;
    static uint32_t parent[RANKS_MAX], depth[RANKS_MAX];
    uint32_t left = root, right = n - 1 - root;
    uint32_t radix =
        shape.tree->radix.most != 0 ? shape.radix : shape.tree->radix.preset;

    if (shape.tree == &xyl_tree_flat)
        return n > 1;
    if (shape.tree == &xyl_tree_chain)
        return n - 1;
    if (shape.tree == &xyl_tree_kchain)
        return (n - 1 + shape.radix - 1) / shape.radix;
    if (shape.tree == &xyl_tree_kary || shape.tree == &xyl_tree_binary)
        return levels_below(n, radix);
    if (shape.tree == &xyl_tree_knomial || shape.tree == &xyl_tree_binomial)
        return nonzero_digits_most(n, radix);
    if (shape.tree == &xyl_tree_inorder)
        return digits_of(left > right ? left : right);
    if (shape.tree == &xyl_tree_double)
        return digits_of(n - 1);
    if (shape.tree == &xyl_tree_bine)
        return bine_play(n, parent, depth);
    return depth_of(v, n, root); /* nothing better is known */
}

/* --- properties of single shapes ----------------------------------------- */

static void test_depths(void)
{
    uint32_t i, n, root, last;

    variants_fill();
    for (i = 0; i < variant_count; i++) {
        xyl_shape_t shape = variants[i].shape;
        for (n = 1; n <= RANKS_MAX; n++) {
            last = shape.tree == &xyl_tree_inorder && n <= 256 ? n - 1 : 0;
            for (root = 0; root <= last; root++)
                CHECK_EQ(depth_of(&variants[i], n, root),
                         depth_wanted(&variants[i], n, root));
        }
    }
}

static void test_ordered_shapes(void)
{
    const xyl_shape_t ordered[] = {
        {&xyl_tree_flat, 0},    {&xyl_tree_chain, 0}, {&xyl_tree_kchain, 3},
        {&xyl_tree_knomial, 2}, {&xyl_tree_kary, 1},  {&xyl_tree_inorder, 0},
        {&xyl_tree_knomial, 5}};
    uint32_t n;
    size_t i;

    for (n = 1; n <= RANKS_MAX; n++) {
        for (i = 0; i < sizeof(ordered) / sizeof(ordered[0]); i++) {
            CHECK(xyl_tree_is_ordered(ordered[i], n, 0));
            /* Then all other ranks are places 1 ... n - 1 in order. */
            CHECK(xyl_tree_is_ordered(ordered[i], n, n - 1));
        }
        for (i = 0; i < n; i++)
            CHECK(xyl_tree_is_ordered(ordered[0], n, (uint32_t)i));
    }
    CHECK(!xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_chain, 0}, 8, 3));
    CHECK(!xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_knomial, 2}, 8, 1));
    CHECK(xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_knomial, 2}, 8, 4));
    CHECK(!xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_kary, 2}, 8, 0));
    CHECK(!xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_double, 0}, 8, 0));
    CHECK(!xyl_tree_is_ordered((xyl_shape_t){&xyl_tree_bine, 0}, 8, 0));
}

static void test_double_inner(void)
{
    const xyl_shape_t shape = {&xyl_tree_double, 0};
    uint32_t n, root, rank, first, second;

    for (n = 1; n <= RANKS_MAX; n++)
        for (root = 0; root < n; root += 1 + n / 16)
            for (rank = 0; rank < n; rank++) {
                first = xyl_tree_children(shape, 0, n, rank, root, NULL, 0);
                second = xyl_tree_children(shape, 1, n, rank, root, NULL, 0);
                CHECK(rank == root || first == 0 || second == 0);
                CHECK(first <= 2 && second <= 2);
                if (rank == root)
                    CHECK(first == (n > 1) && second == (n > 1));
            }
}

/* The parents are those of the broadcast in the paper. That bine_play reaches
 * each rank once is shown by the walks, which find the same parents. */
static void test_bine_steps(void)
{
    static uint32_t parent[RANKS_MAX], depth[RANKS_MAX];
    const xyl_shape_t shape = {&xyl_tree_bine, 0};
    uint32_t n, rank;

    for (n = 1; n <= RANKS_MAX; n++) {
        bine_play(n, parent, depth);
        for (rank = 0; rank < n; rank++)
            CHECK_EQ(xyl_tree_parent(shape, 0, n, rank, 0), parent[rank]);
    }
}

/* Labels and places are one to one: the tree over 2^s ranks has 2^s distinct
 * ranks, s + 1 levels and a binomial number of ranks on each. */
static void test_bine_bijection(void)
{
    enum { BITS_MAX = 16 };
    static uint32_t queue[1u << BITS_MAX];
    static unsigned char level[1u << BITS_MAX];
    const xyl_shape_t shape = {&xyl_tree_bine, 0};
    uint32_t bits, head, tail, count, list[BITS_MAX], i;

    for (bits = 0; bits <= BITS_MAX; bits++) {
        uint64_t on_level[BITS_MAX + 1] = {0}, binomial = 1;
        memset(level, 0xff, sizeof(level));
        queue[0] = 0;
        level[0] = 0;
        for (head = 0, tail = 1; head < tail; head++) {
            on_level[level[queue[head]]]++;
            count = xyl_tree_children(shape, 0, 1u << bits, queue[head], 0,
                                      list, BITS_MAX);
            for (i = 0; i < count && level[list[i]] == 0xff; i++) {
                level[list[i]] = (unsigned char)(level[queue[head]] + 1);
                queue[tail++] = list[i];
            }
            CHECK_EQ(i, count);
        }
        CHECK_EQ(tail, 1u << bits);
        for (i = 0; i <= bits; i++) {
            CHECK_EQ(on_level[i], binomial);
            binomial = binomial * (bits - i) / (i + 1);
        }
    }
}

/* --- limits and programmer errors ---------------------------------------- */

static void test_capacity(void)
{
    enum { N = 40, UNTOUCHED = 0x5a5a5a5a };
    uint32_t full[N], part[N], i, rank, capacity, count, c;

    variants_fill();
    for (i = 0; i < variant_count; i++) {
        const variant_t *v = &variants[i];
        for (rank = 0; rank < N; rank++) {
            count = xyl_tree_children(v->shape, v->half, N, rank, 7, full, N);
            for (capacity = 0; capacity <= count; capacity++) {
                for (c = 0; c < N; c++)
                    part[c] = UNTOUCHED;
                CHECK_EQ(xyl_tree_children(v->shape, v->half, N, rank, 7, part,
                                           capacity),
                         count);
                for (c = 0; c < N; c++)
                    CHECK_EQ(part[c], c < capacity ? full[c] : UNTOUCHED);
            }
        }
    }
}

/* Runs one call in a child process; 1 when an assertion stopped it. */
static int is_refused(xyl_shape_t shape, unsigned half, uint32_t n,
                      uint32_t rank, uint32_t root)
{
    const struct rlimit no_core = {0, 0};
    int state = 0;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        setrlimit(RLIMIT_CORE, &no_core);
        if (freopen("/dev/null", "w", stderr) == NULL)
            _exit(1);
        signal(SIGABRT, SIG_DFL);
        xyl_tree_parent(shape, half, n, rank, root);
        _exit(0);
    }
    if (pid < 0 || waitpid(pid, &state, 0) != pid)
        return 0;
    return WIFSIGNALED(state) && WTERMSIG(state) == SIGABRT;
}

static void test_programmer_errors(void)
{
    const xyl_shape_t chain = {&xyl_tree_chain, 0};
    const xyl_shape_t kary = {&xyl_tree_kary, 2};

#ifdef NDEBUG
    check_skip("assertions are compiled out");
    return;
#endif
    CHECK(!is_refused(kary, 0, 8, 3, 0));
    CHECK(is_refused((xyl_shape_t){&xyl_tree_topology, 2}, 0, 8, 3, 0));
    CHECK(is_refused((xyl_shape_t){&xyl_tree_kary, 0}, 0, 8, 3, 0));
    CHECK(is_refused((xyl_shape_t){&xyl_tree_knomial, 1}, 0, 8, 3, 0));
    CHECK(is_refused((xyl_shape_t){&xyl_tree_kchain, 65}, 0, 8, 3, 0));
    CHECK(is_refused((xyl_shape_t){&xyl_tree_double, 0}, 2, 8, 3, 0));
    CHECK(is_refused(chain, 1, 8, 3, 0));
    CHECK(is_refused(chain, 0, 8, 8, 0));
    CHECK(is_refused(chain, 0, 8, 3, 8));
    CHECK(is_refused(chain, 0, 0, 0, 0));
}

static const check_case_t cases[] = {
    {"depths", test_depths},
    {"ordered_shapes", test_ordered_shapes},
    {"double_inner", test_double_inner},
    {"bine_steps", test_bine_steps},
    {"bine_bijection", test_bine_bijection},
    {"capacity", test_capacity},
    {"programmer_errors", test_programmer_errors},
};

CHECK_MAIN(cases)
