/* The edges of one rank in one tree, with their slots. */
#include "collectives/stages/tree_stage.h"

#include <assert.h>
#include <string.h>

#include "runtime/base/status.h"

typedef struct neighbours {
    uint32_t parent, child_count, *children; /* ranks of the group */
} neighbours_t;

xylem_status_t xyl_edges_init_one(xyl_edge_t *edge, xyl_stage_t *stage,
                                  uint32_t window, uint32_t limit,
                                  xyl_event_fn handle)
{
    uint32_t i, slots = xyl_edge_slot_count(window);

    edge->stage = stage;
    edge->window = window;
    edge->limit = limit < window ? limit : window;
    edge->slot_mask = slots - 1;
    edge->slots = xyl_arena_array(&stage->operation->request.arena, slots,
                                  sizeof *edge->slots);
    if (edge->slots == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < slots; i++) {
        edge->slots[i].event.handle = handle;
        edge->slots[i].edge = edge;
    }
    return XYLEM_OK;
}

static xylem_status_t edge_init(xyl_edge_t *edge, xyl_stage_t *stage,
                                uint32_t rank, uint32_t window, uint32_t limit,
                                xyl_event_fn handle)
{
    edge->peer = xyl_group_rank(&stage->group, rank);
    edge->self = xyl_group_rank(&stage->group, stage->group.rank);
    return xyl_edges_init_one(edge, stage, window, limit, handle);
}

static void sort_ranks(uint32_t *ranks, uint32_t count)
{
    uint32_t i, j, rank;

    for (i = 1; i < count; i++) {
        rank = ranks[i];
        for (j = i; j > 0 && ranks[j - 1] > rank; j--)
            ranks[j] = ranks[j - 1];
        ranks[j] = rank;
    }
}

xyl_tree_spec_t xyl_edges_tree_of(const xyl_operation_t *operation,
                                  uint32_t root, unsigned half)
{
    return (xyl_tree_spec_t){xyl_team_all(operation->request.team),
                             {xyl_collective_of(operation)->plan.tree,
                              xyl_collective_of(operation)->plan.radix},
                             root,
                             half,
                             NULL};
}

/* A tree, with all that determines its edges. */
typedef struct found_tree {
    const xyl_tree_spec_t *spec;
    const xyl_topology_map_t *map;
    xyl_shape_t shapes[XYL_TREE_LEVELS_MAX + 1];
} found_tree_t;

/* The levels of a topology tree are chains if the tree is the whole team's and
 * its radix is below 2, else k-nomial. */
static xylem_status_t tree_find(xylem_team_t *team, const xyl_tree_spec_t *spec,
                                found_tree_t *tree)
{
    xyl_shape_t shape = spec->shape;
    uint32_t i;

    tree->spec = spec;
    tree->map = spec->map;
    if (shape.tree == &xyl_tree_topology) {
        if (spec->group.ranks == NULL) {
            tree->map = xyl_map_of_team(team);
            if (tree->map == NULL)
                return XYLEM_ERR_NO_MEMORY;
        }
        shape.tree = spec->group.ranks == NULL && shape.radix < 2
                         ? &xyl_tree_chain
                         : &xyl_tree_knomial;
    }
    assert(tree->map == NULL || tree->map->ranks == spec->group.size);
    for (i = 0; i <= XYL_TREE_LEVELS_MAX; i++)
        tree->shapes[i] = shape;
    return XYLEM_OK;
}

static uint32_t find_parent(const found_tree_t *tree)
{
    const xyl_tree_spec_t *spec = tree->spec;

    return tree->map != NULL
               ? xyl_topology_tree_parent(tree->map, tree->shapes, spec->half,
                                          spec->group.rank, spec->root)
               : xyl_tree_parent(tree->shapes[0], spec->half, spec->group.size,
                                 spec->group.rank, spec->root);
}

/* Writes up to `capacity`, returns how many there are. */
static uint32_t find_children(const found_tree_t *tree, uint32_t *children,
                              uint32_t capacity)
{
    const xyl_tree_spec_t *spec = tree->spec;

    return tree->map != NULL
               ? xyl_topology_tree_children(tree->map, tree->shapes, spec->half,
                                            spec->group.rank, spec->root,
                                            children, capacity)
               : xyl_tree_children(tree->shapes[0], spec->half,
                                   spec->group.size, spec->group.rank,
                                   spec->root, children, capacity);
}

static xylem_status_t neighbours_find(const xyl_stage_t *stage,
                                      const xyl_tree_spec_t *spec,
                                      neighbours_t *neighbours)
{
    enum { MOST_HAVE = 16 };
    uint32_t first[MOST_HAVE], count;
    found_tree_t tree;
    xylem_status_t status =
        tree_find(stage->operation->request.team, spec, &tree);

    if (status != XYLEM_OK)
        return status;
    neighbours->parent = find_parent(&tree);
    count = find_children(&tree, first, MOST_HAVE);
    neighbours->child_count = count;
    neighbours->children = xyl_arena_array(&stage->operation->request.arena,
                                           count, sizeof *neighbours->children);
    if (neighbours->children == NULL)
        return XYLEM_ERR_NO_MEMORY;
    if (count <= MOST_HAVE)
        memcpy(neighbours->children, first, count * sizeof *first);
    else
        find_children(&tree, neighbours->children, count);
    return XYLEM_OK;
}

static xylem_status_t children_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                                    uint32_t window,
                                    const xyl_tree_edges_params_t *params,
                                    const neighbours_t *neighbours)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    edges->child_count = neighbours->child_count;
    edges->children =
        xyl_arena_array(&stage->operation->request.arena,
                        neighbours->child_count, sizeof *edges->children);
    if (edges->children == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < edges->child_count && status == XYLEM_OK; i++) {
        uint32_t child = neighbours->children[i];
        if (params->child_order == XYL_CHILDREN_REVERSED)
            child = neighbours->children[edges->child_count - 1 - i];
        edges->children[i].number = i;
        edges->children_below += child < stage->group.rank;
        status = edge_init(&edges->children[i], stage, child, window,
                           params->child_limit, params->child_handle);
    }
    return status;
}

xylem_status_t xyl_edges_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                              const xyl_tree_edges_params_t *params)
{
    /* No window is wider than the lane has segments. */
    uint32_t most = xyl_collective_of(stage->operation)->plan.recv_window;
    uint64_t count = stage->count != 0 ? stage->count : 1;
    uint32_t window = most <= count ? most : (uint32_t)count;
    neighbours_t neighbours;
    xylem_status_t status = neighbours_find(stage, &params->tree, &neighbours);

    if (status != XYLEM_OK)
        return xyl_fail(status, "no memory for the edges of a tree");
    stage->group = params->tree.group;
    if (params->child_order == XYL_CHILDREN_BY_RANK)
        sort_ranks(neighbours.children, neighbours.child_count);
    edges->has_parent = neighbours.parent != XYL_TREE_NONE;
    if (edges->has_parent)
        status = edge_init(&edges->parent, stage, neighbours.parent, window,
                           params->parent_limit, params->parent_handle);
    if (status == XYLEM_OK)
        status = children_init(edges, stage, window, params, &neighbours);
    if (status == XYLEM_ERR_NO_MEMORY)
        return xyl_fail(status, "no memory for the edges of a tree");
    return status;
}

void xyl_edges_reset(xyl_tree_edges_t *edges)
{
    uint32_t i;

    xyl_edge_reset(&edges->parent);
    for (i = 0; i < edges->child_count; i++)
        xyl_edge_reset(&edges->children[i]);
}

void xyl_edges_cancel(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                      int cancel_parent, int cancel_children)
{
    uint32_t i;

    if (cancel_parent && edges->has_parent)
        xyl_stage_cancel_edge(stage, &edges->parent);
    for (i = 0; cancel_children && i < edges->child_count; i++)
        xyl_stage_cancel_edge(stage, &edges->children[i]);
}
