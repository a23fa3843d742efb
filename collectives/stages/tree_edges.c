/* The edges of one rank in one tree, with their slots. */
#include "collectives/stages/tree_stage.h"

#include <assert.h>

#include "runtime/base/status.h"

static xylem_status_t edge_init(xyl_edge_t *edge, xyl_stage_t *stage,
                                uint32_t window, xyl_event_fn handle)
{
    uint32_t i, slots = xyl_edge_slot_count(window);

    edge->stage = stage;
    edge->window = window;
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

static uint32_t at_most(uint32_t value, uint64_t most)
{
    return value <= most ? value : (uint32_t)most;
}

static void sort(uint32_t *ranks, uint32_t count)
{
    uint32_t i, j, rank;

    for (i = 1; i < count; i++) {
        rank = ranks[i];
        for (j = i; j > 0 && ranks[j - 1] > rank; j--)
            ranks[j] = ranks[j - 1];
        ranks[j] = rank;
    }
}

static void reverse(uint32_t *ranks, uint32_t count)
{
    uint32_t i, rank;

    for (i = 0; i < count / 2; i++) {
        rank = ranks[i];
        ranks[i] = ranks[count - 1 - i];
        ranks[count - 1 - i] = rank;
    }
}

static xylem_status_t children_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                                    uint32_t window,
                                    const xyl_tree_edges_params_t *params,
                                    const xyl_neighbours_t *neighbours)
{
    const xyl_group_t *group = &params->tree.group;
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    edges->child_count = neighbours->child_count;
    edges->children =
        xyl_arena_array(&stage->operation->request.arena,
                        neighbours->child_count, sizeof *edges->children);
    if (edges->children == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < edges->child_count && status == XYLEM_OK; i++) {
        edges->children[i].number = i;
        edges->children[i].peer =
            xyl_group_rank(group, neighbours->children[i]);
        edges->children[i].self = xyl_group_rank(group, group->rank);
        edges->children_below += neighbours->children[i] < group->rank;
        edges->children[i].limit = at_most(params->child_limit, window);
        status =
            edge_init(&edges->children[i], stage, window, params->child_handle);
    }
    return status;
}

xyl_tree_spec_t xyl_tree_of_team(const xyl_operation_t *operation,
                                 uint32_t root, unsigned half)
{
    const xylem_team_t *team = operation->request.team;

    return (xyl_tree_spec_t){{team->size, team->rank, NULL},
                             {xyl_collective_of(operation)->plan.tree,
                              xyl_collective_of(operation)->plan.radix},
                             root,
                             half,
                             NULL};
}

/* Writes up to `capacity` children, returns how many there are. */
static uint32_t find_in_group(const xyl_tree_spec_t *tree, uint32_t *parent_out,
                              uint32_t *children, uint32_t capacity)
{
    const xyl_group_t *group = &tree->group;
    xyl_shape_t shapes[XYL_TREE_LEVELS_MAX + 1];
    xyl_shape_t shape = tree->shape;
    uint32_t i;

    if (shape.tree == &xyl_tree_topology)
        shape.tree = &xyl_tree_knomial;
    if (tree->map == NULL) {
        *parent_out = xyl_tree_parent(shape, tree->half, group->size,
                                      group->rank, tree->root);
        return xyl_tree_children(shape, tree->half, group->size, group->rank,
                                 tree->root, children, capacity);
    }
    assert(tree->map->ranks == group->size);
    for (i = 0; i <= XYL_TREE_LEVELS_MAX; i++)
        shapes[i] = shape;
    *parent_out = xyl_topology_tree_parent(tree->map, shapes, tree->half,
                                           group->rank, tree->root);
    return xyl_topology_tree_children(tree->map, shapes, tree->half,
                                      group->rank, tree->root, children,
                                      capacity);
}

/* In the group's numbers. A team remembers its trees. */
static xylem_status_t neighbours_find(const xyl_stage_t *stage,
                                      const xyl_tree_spec_t *tree,
                                      xyl_neighbours_t *neighbours)
{
    xyl_arena_t *arena = &stage->operation->request.arena;
    xyl_tree_key_t key = {tree->shape, tree->half, tree->root};

    if (tree->group.ranks == NULL)
        return xyl_team_neighbours(stage->operation->request.team, &key, arena,
                                   neighbours);
    neighbours->child_count = find_in_group(tree, &neighbours->parent, NULL, 0);
    neighbours->children = xyl_arena_array(arena, neighbours->child_count,
                                           sizeof *neighbours->children);
    if (neighbours->children == NULL)
        return XYLEM_ERR_NO_MEMORY;
    find_in_group(tree, &neighbours->parent, neighbours->children,
                  neighbours->child_count);
    return XYLEM_OK;
}

xylem_status_t xyl_tree_edges_init(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                                   const xyl_tree_edges_params_t *params)
{
    /* No window is wider than the lane has segments. */
    uint32_t window =
        at_most(xyl_collective_of(stage->operation)->plan.recv_window,
                stage->count != 0 ? stage->count : 1);
    xyl_neighbours_t neighbours;
    xylem_status_t status = neighbours_find(stage, &params->tree, &neighbours);

    if (status != XYLEM_OK)
        return xyl_fail(status, "no memory for the edges of a tree");
    stage->group = params->tree.group;
    if (params->child_order == XYL_CHILDREN_BY_RANK)
        sort(neighbours.children, neighbours.child_count);
    if (params->child_order == XYL_CHILDREN_REVERSED)
        reverse(neighbours.children, neighbours.child_count);
    edges->has_parent = neighbours.parent != XYL_TREE_NONE;
    if (edges->has_parent)
        edges->parent.peer =
            xyl_group_rank(&params->tree.group, neighbours.parent);
    edges->parent.self =
        xyl_group_rank(&params->tree.group, params->tree.group.rank);
    edges->parent.limit = at_most(params->parent_limit, window);
    if (edges->has_parent)
        status =
            edge_init(&edges->parent, stage, window, params->parent_handle);
    if (status == XYLEM_OK)
        status = children_init(edges, stage, window, params, &neighbours);
    if (status == XYLEM_ERR_NO_MEMORY)
        return xyl_fail(status, "no memory for the edges of a tree");
    return status;
}

void xyl_tree_edges_reset(xyl_tree_edges_t *edges)
{
    uint32_t i;

    xyl_edge_reset(&edges->parent);
    for (i = 0; i < edges->child_count; i++)
        xyl_edge_reset(&edges->children[i]);
}

void xyl_tree_edges_cancel(xyl_tree_edges_t *edges, xyl_stage_t *stage,
                           int cancel_parent, int cancel_children)
{
    uint32_t i;

    if (cancel_parent && edges->has_parent)
        xyl_stage_cancel_edge(stage, &edges->parent);
    for (i = 0; cancel_children && i < edges->child_count; i++)
        xyl_stage_cancel_edge(stage, &edges->children[i]);
}
