/* The in-order binary tree: the root r has the middle of [0, r) as left child
 * and the middle of [r + 1, ranks) as right child, and so on below. Every
 * subtree is a range of ranks, and left subtree, node, right subtree is rank
 * order, whatever the root. Places are ranks here. Pure functions; any
 * thread. */
#include "trees/shapes.h"

/* A node and the range [begin, end) of its subtree. */
typedef struct node {
    uint32_t place;
    uint32_t begin;
    uint32_t end;
    uint32_t parent;
} node_t;

static uint32_t middle(uint32_t begin, uint32_t end)
{
    return begin + (end - begin) / 2;
}

/* Walks down from the root; the range at least halves with each step but the
 * first. */
static node_t node_find(const xyl_tree_args_t *args, uint32_t place)
{
    node_t node = {args->root, 0, args->ranks, XYL_TREE_NONE};
    int is_left;

    while (node.place != place) {
        is_left = place < node.place; /* random, so without a branch */
        node.parent = node.place;
        node.begin = is_left ? node.begin : node.place + 1;
        node.end = is_left ? node.place : node.end;
        node.place = middle(node.begin, node.end);
    }
    return node;
}

static uint32_t inorder_parent(const xyl_tree_args_t *args, uint32_t place)
{
    return node_find(args, place).parent;
}

static void inorder_children(const xyl_tree_args_t *args, uint32_t place,
                             xyl_children_t *out)
{
    node_t node = node_find(args, place);
    uint32_t left = node.place - node.begin;
    uint32_t right = node.end - node.place - 1;

    /* Below the root the left side is never the smaller one. */
    if (right > left)
        xyl_children_add(out, middle(place + 1, node.end));
    if (left > 0)
        xyl_children_add(out, middle(node.begin, place));
    if (right > 0 && right <= left)
        xyl_children_add(out, middle(place + 1, node.end));
}

const xyl_tree_t xyl_tree_inorder = {
    .name = "inorder",
    .help = "binary, subtrees are rank ranges",
    .halves = 1,
    .is_by_rank = 1,
    .parent = inorder_parent,
    .children = inorder_children,
};
