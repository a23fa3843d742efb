/* Topology-aware trees: the examples of the thesis (X. Luo, PhD thesis,
 * University of Tennessee, 2020, section 4.2), and random placements in which
 * groups are uneven, ranks are not contiguous and each level has a shape of
 * its own. For every root: each rank is reached once, parents and children
 * agree, groups are entered at their leaders, and each level is crossed by as
 * few edges as can join its groups. Expected values come from ids alone, pair
 * by pair, without the map. */
#include <stdio.h>
#include <string.h>

#include "tests/support/check.h"
#include "trees/topology_tree.h"

enum {
    RANKS_MAX = 5000,
    SMALL_MAX = 64,
    PLACEMENTS = 1500, /* random ones, every root each */
    SHAPES = XYL_TREE_LEVELS_MAX + 1
};

/* A placement with the memory of its map. */
typedef struct placement {
    uint32_t ids[XYL_TREE_LEVELS_MAX * RANKS_MAX];
    uint32_t core[RANKS_MAX];
    uint32_t memory[XYL_MAP_WORDS(RANKS_MAX, XYL_TREE_LEVELS_MAX)];
    xyl_shape_t shapes[SHAPES];
    unsigned half;
    xyl_topology_map_t map;
} placement_t;

/* The results of a walk. */
typedef struct walk {
    uint32_t queue[RANKS_MAX];
    uint32_t parent[RANKS_MAX];
    unsigned char seen[RANKS_MAX];
    uint32_t edges[SHAPES]; /* by the level they cross */
} walk_t;

static placement_t placed;
static walk_t walked;

/* The level of the map at which two ranks part: 0 = different outermost groups,
 * ..., `levels` = the same innermost group. */
static uint32_t level_of(const xyl_topology_map_t *map, uint32_t a, uint32_t b)
{
    const uint32_t *group = map->group;
    uint32_t level = 0;

    for (; level < map->levels; level++, group += map->ranks)
        if (group[map->position[a]] != group[map->position[b]])
            break;
    return level;
}

static uint32_t random_below(uint64_t *state, uint32_t bound)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return (uint32_t)((*state >> 11) % bound);
}

static uint32_t id_of(const placement_t *p, uint32_t level, uint32_t rank)
{
    return p->ids[level * p->map.ranks + rank];
}

/* The first level at which two ranks have different ids. */
static uint32_t level_wanted(const placement_t *p, uint32_t a, uint32_t b)
{
    uint32_t level = 0;

    while (level < p->map.levels && id_of(p, level, a) == id_of(p, level, b))
        level++;
    return level;
}

static int is_before(const placement_t *p, uint32_t a, uint32_t b)
{
    uint32_t level = level_wanted(p, a, b);

    if (level < p->map.levels)
        return id_of(p, level, a) < id_of(p, level, b);
    return p->core[a] != p->core[b] ? p->core[a] < p->core[b] : a < b;
}

static void build(placement_t *p, uint32_t ranks, uint32_t levels)
{
    memcpy(p->memory, p->ids, levels * ranks * sizeof *p->ids);
    memcpy(p->memory + levels * ranks, p->core, ranks * sizeof *p->core);
    xyl_topology_map_build(ranks, levels, p->memory, &p->map);
}

/* `nodes` nodes of 2 sockets of 4 cores, ranks in core order. */
static void build_thesis(placement_t *p, uint32_t nodes)
{
    uint32_t rank, ranks = nodes * 8;

    for (rank = 0; rank < ranks; rank++) {
        p->ids[rank] = rank / 8;
        p->ids[ranks + rank] = rank / 4 % 2;
        p->core[rank] = rank % 8;
    }
    build(p, ranks, 2);
}

static void shapes_set(placement_t *p, const xyl_tree_t *tree, uint32_t radix)
{
    uint32_t i;

    for (i = 0; i < SHAPES; i++)
        p->shapes[i] = (xyl_shape_t){tree, radix};
}

/* --- the walk ------------------------------------------------------------ */

/* 0 when a child is wrong; the new tail otherwise. */
static uint32_t visit(const placement_t *p, uint32_t root, uint32_t rank,
                      uint32_t tail)
{
    static uint32_t list[RANKS_MAX];
    const xyl_topology_map_t *map = &p->map;
    uint32_t count, i;

    count = xyl_topology_tree_children(map, p->shapes, p->half, rank, root,
                                       list, map->ranks);
    if (count > map->ranks - tail)
        return 0;
    for (i = 0; i < count; i++) {
        if (list[i] >= map->ranks || walked.seen[list[i]] ||
            xyl_topology_tree_parent(map, p->shapes, p->half, list[i], root) !=
                rank)
            return 0;
        walked.seen[list[i]] = 1;
        walked.parent[list[i]] = rank;
        walked.queue[tail++] = list[i];
        walked.edges[level_wanted(p, rank, list[i])]++;
    }
    return tail;
}

/* Every rank once, parents and children mutual; counts edges. */
static int walk(const placement_t *p, uint32_t root)
{
    uint32_t head, tail = 1;

    memset(&walked, 0, sizeof(walked));
    walked.queue[0] = root;
    walked.seen[root] = 1;
    walked.parent[root] =
        xyl_topology_tree_parent(&p->map, p->shapes, p->half, root, root);
    CHECK_EQ(walked.parent[root], XYL_TREE_NONE);
    for (head = 0; head < tail && tail != 0; head++)
        tail = visit(p, root, walked.queue[head], tail);
    CHECK_EQ(tail, p->map.ranks);
    return tail == p->map.ranks;
}

/* Groups of a level are its ranks without a lower rank in the same group. The
 * fewest edges within each group above are its groups less one. */
static void edges_wanted(const placement_t *p, uint32_t *edges)
{
    uint32_t level, a, b, groups, groups_above = 1;

    for (level = 0; level <= p->map.levels; level++) {
        groups = level == p->map.levels ? p->map.ranks : 0;
        for (a = 0; a < p->map.ranks && level < p->map.levels; a++) {
            for (b = 0; b < a && level_wanted(p, a, b) <= level; b++)
                ;
            groups += b == a;
        }
        edges[level] = groups - groups_above;
        groups_above = groups;
    }
}

/* 1: the rank leads its group: the root, or without it the first rank. */
static int is_leader(const placement_t *p, uint32_t level, uint32_t rank,
                     uint32_t root)
{
    uint32_t other;

    if (level == p->map.levels || rank == root)
        return 1;
    if (level_wanted(p, rank, root) > level)
        return 0;
    for (other = 0; other < p->map.ranks; other++)
        if (level_wanted(p, rank, other) > level && is_before(p, other, rank))
            return 0;
    return 1;
}

/* An edge that crosses a level joins two leaders of that level. */
static void check_leaders(const placement_t *p, uint32_t root)
{
    uint32_t rank, parent, level;

    for (rank = 0; rank < p->map.ranks; rank++) {
        if (rank == root)
            continue;
        parent = walked.parent[rank];
        level = level_wanted(p, rank, parent);
        CHECK(is_leader(p, level, rank, root));
        CHECK(is_leader(p, level, parent, root));
    }
}

static void check_root(const placement_t *p, uint32_t root,
                       const uint32_t *edges)
{
    uint32_t level;

    if (!walk(p, root))
        return;
    for (level = 0; level <= p->map.levels; level++)
        CHECK_EQ(walked.edges[level], edges[level]);
    check_leaders(p, root);
}

/* --- random placements --------------------------------------------------- */

/* Ids are few and unlike for each level, so that groups are uneven; cores may
 * be equal; ids of inner levels repeat in other groups. */
static void build_random(placement_t *p, uint64_t *state, uint32_t ranks,
                         uint32_t levels)
{
    const xyl_tree_t *const *trees;
    uint32_t level, rank, kinds;
    size_t count;

    trees = xyl_trees(&count);
    for (level = 0; level < levels; level++) {
        kinds = 1 + random_below(state, 5);
        for (rank = 0; rank < ranks; rank++) /* low ids more often */
            p->ids[level * ranks + rank] =
                100 * random_below(state, 1 + random_below(state, kinds));
    }
    for (rank = 0; rank < ranks; rank++)
        p->core[rank] = random_below(state, 2 * ranks);
    for (level = 0; level <= levels; level++) {
        do
            p->shapes[level].tree = trees[random_below(state, (uint32_t)count)];
        while (p->shapes[level].tree->parent == NULL);
        p->shapes[level].radix = 2 + random_below(state, 6);
    }
    build(p, ranks, levels);
}

static void check_map(const placement_t *p)
{
    const xyl_topology_map_t *map = &p->map;
    uint32_t level, i, j, begin;

    for (i = 0; i < map->ranks; i++) {
        CHECK(map->order[i] < map->ranks);
        CHECK_EQ(map->position[map->order[i]], i);
        CHECK(i == 0 || is_before(p, map->order[i - 1], map->order[i]));
    }
    for (level = 0; level < map->levels; level++)
        for (i = 0; i < map->ranks; i++) {
            begin = map->group[level * map->ranks + i];
            /* The first position in the same group as this one. */
            for (j = 0; level_wanted(p, map->order[i], map->order[j]) <= level;
                 j++)
                ;
            CHECK_EQ(begin, j);
        }
    for (i = 0; i < map->ranks; i++)
        for (j = 0; j < map->ranks; j++)
            CHECK_EQ(level_of(map, i, j), level_wanted(p, i, j));
}

static void test_random(void)
{
    uint64_t state = 20200501;
    uint32_t i, root, ranks, edges[SHAPES];

    for (i = 0; i < PLACEMENTS; i++) {
        ranks = 1 + random_below(&state, SMALL_MAX);
        build_random(&placed, &state, ranks, 1 + i % XYL_TREE_LEVELS_MAX);
        placed.half = i / XYL_TREE_LEVELS_MAX % 2;
        check_map(&placed);
        edges_wanted(&placed, edges);
        for (root = 0; root < ranks; root++)
            check_root(&placed, root, edges);
    }
}

/* 1: both ranks lead members of one party of this level. */
static int is_in_party(const placement_t *p, uint32_t level, uint32_t rank,
                       uint32_t other, uint32_t root)
{
    return level_wanted(p, rank, other) >= level &&
           is_leader(p, level, other, root);
}

/* The place of `other` in the party of `rank`: the number of members before
 * it, or after the root has changed places with the first. */
static uint32_t place_wanted(const placement_t *p, uint32_t level,
                             uint32_t rank, uint32_t other, uint32_t root)
{
    uint32_t i, before_other = 0, before_root = 0;

    for (i = 0; i < p->map.ranks; i++) {
        if (!is_in_party(p, level, rank, i, root))
            continue;
        before_other += i != other && is_before(p, i, other);
        before_root += i != root && is_before(p, i, root);
    }
    if (!is_in_party(p, level, rank, root, root))
        return before_other;
    if (other == root)
        return 0;
    return before_other == 0 ? before_root : before_other;
}

static unsigned half_of(const placement_t *p, uint32_t level)
{
    return p->shapes[level].tree == &xyl_tree_double ? p->half : 0;
}

/* The parent as the thesis describes it, by counting. */
static uint32_t parent_wanted(const placement_t *p, uint32_t rank,
                              uint32_t root)
{
    uint32_t level = 0, members = 0, place, i;

    while (!is_leader(p, level, rank, root))
        level++;
    for (i = 0; i < p->map.ranks; i++)
        members += is_in_party(p, level, rank, i, root) != 0;
    place = xyl_tree_parent(p->shapes[level], half_of(p, level), members,
                            place_wanted(p, level, rank, rank, root), 0);
    for (i = 0; i < p->map.ranks; i++)
        if (is_in_party(p, level, rank, i, root) &&
            place_wanted(p, level, rank, i, root) == place)
            return i;
    return XYL_TREE_NONE;
}

static void test_shape_of_each_party(void)
{
    enum { RANKS = 20 };
    uint64_t state = 14;
    uint32_t i, ranks, rank, root;

    for (i = 0; i < 100; i++) {
        ranks = 1 + random_below(&state, RANKS);
        build_random(&placed, &state, ranks, 1 + i % 4);
        placed.half = i / 4 % 2;
        for (root = 0; root < ranks; root++)
            for (rank = 0; rank < ranks; rank++)
                if (rank != root)
                    CHECK_EQ(xyl_topology_tree_parent(&placed.map,
                                                      placed.shapes,
                                                      placed.half, rank, root),
                             parent_wanted(&placed, rank, root));
    }
}

/* Many groups, and few large ones, under each shape. */
static void test_large(void)
{
    uint64_t state = 7;
    const xyl_tree_t *const *trees;
    uint32_t many, rank, ids, i;
    size_t tree, count;

    trees = xyl_trees(&count);
    for (tree = 0; tree < count; tree++)
        for (many = 0; many < 2 && trees[tree]->parent != NULL; many++) {
            ids = many ? 1800 : 3;
            for (rank = 0; rank < RANKS_MAX; rank++) {
                placed.ids[rank] = random_below(&state, ids);
                placed.ids[RANKS_MAX + rank] = random_below(&state, 2);
                placed.core[rank] = random_below(&state, 64);
            }
            shapes_set(&placed, trees[tree], 4);
            build(&placed, RANKS_MAX, 2);
            for (i = 1; i < RANKS_MAX; i++)
                CHECK(is_before(&placed, placed.map.order[i - 1],
                                placed.map.order[i]));
            placed.half = 0;
            walk(&placed, 0);
            placed.half = trees[tree]->halves - 1;
            walk(&placed, random_below(&state, RANKS_MAX));
        }
}

/* --- the thesis ---------------------------------------------------------- */

/* Figures 4.1 and 4.2: a binary tree in heap order, ranks in core order. */
static void test_thesis_binary(void)
{
    const xyl_shape_t binary = {&xyl_tree_kary, 2};
    uint32_t rank, edges[3] = {0, 0, 0};

    build_thesis(&placed, 2);
    for (rank = 1; rank < 16; rank++)
        edges[level_of(&placed.map, rank,
                       xyl_tree_parent(binary, 0, 16, rank, 0))]++;
    printf("# binary tree, 16 ranks: %u inter-node, %u inter-socket, "
           "%u intra-socket edges\n",
           edges[0], edges[1], edges[2]);
    CHECK_EQ(edges[0], 8);
    CHECK_EQ(edges[1], 4);
    CHECK_EQ(edges[2], 3);
}

/* Figure 4.3, for every root and each shape. */
static void test_thesis_topology(void)
{
    const xyl_tree_t *const *trees;
    size_t tree, count;
    uint32_t root;

    trees = xyl_trees(&count);
    build_thesis(&placed, 2);
    for (tree = 0; tree < count; tree++)
        for (root = 0; root < 16 && trees[tree]->parent != NULL; root++) {
            shapes_set(&placed, trees[tree], 2);
            walk(&placed, root);
            CHECK_EQ(walked.edges[0], 1);
            CHECK_EQ(walked.edges[1], 2);
            CHECK_EQ(walked.edges[2], 12);
        }
    printf("# topology-aware tree, 16 ranks: %u inter-node, %u inter-socket, "
           "%u intra-socket edges\n",
           walked.edges[0], walked.edges[1], walked.edges[2]);
}

static void check_children(uint32_t rank, uint32_t root, const uint32_t *wanted,
                           uint32_t count)
{
    uint32_t list[24], i;

    CHECK_EQ(xyl_topology_tree_children(&placed.map, placed.shapes, placed.half,
                                        rank, root, list, 24),
             count);
    for (i = 0; i < count; i++)
        CHECK_EQ(list[i], wanted[i]);
}

/* Figure 4.4: rank 0 serves a node, a socket and a core, in that order. */
static void test_thesis_leaders(void)
{
    build_thesis(&placed, 3);
    shapes_set(&placed, &xyl_tree_chain, 0);
    check_children(0, 0, (const uint32_t[]){8, 4, 1}, 3);
    check_children(8, 0, (const uint32_t[]){16, 12, 9}, 3);
    check_children(16, 0, (const uint32_t[]){20, 17}, 2);
    check_children(4, 0, (const uint32_t[]){5}, 1);
    check_children(3, 0, NULL, 0);
}

/* Figure 4.5: root 14 changes places with 12, its socket 3 with socket 2, its
 * node 1 with node 0. In chains that order can be read off. */
static void test_thesis_root(void)
{
    build_thesis(&placed, 3);
    shapes_set(&placed, &xyl_tree_chain, 0);
    check_children(14, 14, (const uint32_t[]){0, 8, 13}, 3);
    check_children(13, 14, (const uint32_t[]){12}, 1);
    check_children(12, 14, (const uint32_t[]){15}, 1);
    check_children(15, 14, NULL, 0);
    check_children(8, 14, (const uint32_t[]){9}, 1);
    check_children(0, 14, (const uint32_t[]){16, 4, 1}, 3);
    check_children(16, 14, (const uint32_t[]){20, 17}, 2);
    shapes_set(&placed, &xyl_tree_flat, 0);
    check_children(14, 14, (const uint32_t[]){0, 16, 8, 13, 12, 15}, 6);
    check_children(0, 14, (const uint32_t[]){4, 1, 2, 3}, 4);
}

/* --- limits -------------------------------------------------------------- */

static void test_capacity(void)
{
    enum { UNTOUCHED = 0x5a5a5a5a };
    uint32_t full[24], part[24], rank, capacity, count, i;

    build_thesis(&placed, 3);
    shapes_set(&placed, &xyl_tree_flat, 0);
    for (rank = 0; rank < 24; rank++) {
        count = xyl_topology_tree_children(&placed.map, placed.shapes,
                                           placed.half, rank, 14, full, 24);
        for (capacity = 0; capacity <= count; capacity++) {
            for (i = 0; i < 24; i++)
                part[i] = UNTOUCHED;
            CHECK_EQ(xyl_topology_tree_children(&placed.map, placed.shapes,
                                                placed.half, rank, 14, part,
                                                capacity),
                     count);
            for (i = 0; i < 24; i++)
                CHECK_EQ(part[i], i < capacity ? full[i] : UNTOUCHED);
        }
        CHECK_EQ(xyl_topology_tree_children(&placed.map, placed.shapes,
                                            placed.half, rank, 14, NULL, 0),
                 count);
    }
}

/* One group with all ranks at each level: the tree of the innermost shape,
 * with the root and the first rank in core order changed. */
static void test_one_group(void)
{
    const uint32_t ranks = 9, root = 5;
    uint32_t rank, wanted, parent;

    memset(&placed, 0, sizeof(placed));
    build(&placed, ranks, XYL_TREE_LEVELS_MAX);
    shapes_set(&placed, &xyl_tree_knomial, 2);
    for (rank = 1; rank < ranks; rank++) { /* as a place */
        wanted = xyl_tree_parent(placed.shapes[0], 0, ranks, rank, 0);
        wanted = wanted == 0 ? root : wanted == root ? 0 : wanted;
        parent =
            xyl_topology_tree_parent(&placed.map, placed.shapes, placed.half,
                                     rank == root ? 0 : rank, root);
        CHECK_EQ(parent, wanted);
    }
    CHECK_EQ(level_of(&placed.map, 2, 7), XYL_TREE_LEVELS_MAX);
}

/* A rank that leads no group has children in at most one of the two trees; and
 * both halves cross each level equally rarely. */
static void test_halves(void)
{
    uint32_t root, rank, half, level, children, edges[SHAPES] = {0};

    build_thesis(&placed, 3);
    shapes_set(&placed, &xyl_tree_double, 0);
    edges_wanted(&placed, edges);
    for (root = 0; root < placed.map.ranks; root++) {
        for (half = 0; half < 2; half++) {
            placed.half = half;
            walk(&placed, root);
            for (level = 0; level <= placed.map.levels; level++)
                CHECK_EQ(walked.edges[level], edges[level]);
        }
        for (rank = 0; rank < placed.map.ranks; rank++) {
            children = 0;
            for (half = 0; half < 2; half++)
                children +=
                    xyl_topology_tree_children(&placed.map, placed.shapes, half,
                                               rank, root, NULL, 0) > 0;
            CHECK(children < 2 || is_leader(&placed, 1, rank, root));
        }
    }
}

static const check_case_t cases[] = {
    {"thesis_binary", test_thesis_binary},
    {"thesis_topology", test_thesis_topology},
    {"thesis_leaders", test_thesis_leaders},
    {"thesis_root", test_thesis_root},
    {"random", test_random},
    {"shape_of_each_party", test_shape_of_each_party},
    {"large", test_large},
    {"capacity", test_capacity},
    {"one_group", test_one_group},
    {"halves", test_halves},
};

CHECK_MAIN(cases)
