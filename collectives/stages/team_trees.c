#include "collectives/stages/team_trees.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

enum { TREES_MAX = 64 /* that a team remembers; a power of two */ };

/* The state of a team; by its lock. */
typedef struct team_trees {
    xyl_neighbours_t trees[TREES_MAX];
    uint32_t *map_memory;   /* of `map`; NULL: not its own */
    xyl_topology_map_t map; /* of 0 ranks until a topology tree is asked for */
} team_trees_t;

static team_trees_t *trees_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_TREES];
}

xylem_status_t xyl_team_map_create(const xyl_peer_t *peers,
                                   const uint32_t *world_ranks, uint32_t n,
                                   uint32_t **memory_out,
                                   xyl_topology_map_t *map_out)
{
    uint32_t levels = 3, i;
    /* order, position, group[levels], ids[levels], core */
    uint32_t *memory = malloc((size_t)n * (2 + levels + levels + 1) * 4);
    uint32_t *group, *ids, *core;

    if (memory == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a map of ranks");
    group = memory + 2 * (size_t)n;
    ids = group + (size_t)levels * n;
    core = ids + (size_t)levels * n;
    for (i = 0; i < n; i++) {
        const xylem_place_t *place =
            &peers[world_ranks == NULL ? i : world_ranks[i]].place;
        ids[i] = place->node;
        ids[n + i] = place->socket;
        ids[2 * (size_t)n + i] = place->numa;
        core[i] = place->core;
    }
    xyl_topology_map_build(n, levels, ids, core, memory, memory + n, group,
                           map_out);
    *memory_out = memory;
    return XYLEM_OK;
}

/* The topology tree takes one shape for all levels: a chain for radix 1, else
 * k-nomial. */
static void topology_shapes(uint32_t radix, xyl_shape_t *shapes)
{
    uint32_t i;

    for (i = 0; i <= XYL_TREE_LEVELS_MAX; i++)
        shapes[i] = radix < 2 ? (xyl_shape_t){&xyl_tree_chain, 0}
                              : (xyl_shape_t){&xyl_tree_knomial, radix};
}

/* Writes up to `capacity` children, returns how many there are. */
static uint32_t compute(const xylem_team_t *team, const xyl_tree_key_t *key,
                        uint32_t *parent_out, uint32_t *children,
                        uint32_t capacity)
{
    xyl_shape_t shapes[XYL_TREE_LEVELS_MAX + 1];

    if (key->shape.tree != &xyl_tree_topology) {
        *parent_out = xyl_tree_parent(key->shape, key->half, team->size,
                                      team->rank, key->root);
        return xyl_tree_children(key->shape, key->half, team->size, team->rank,
                                 key->root, children, capacity);
    }
    topology_shapes(key->shape.radix, shapes);
    *parent_out = xyl_topology_tree_parent(&trees_of(team)->map, shapes, 0,
                                           team->rank, key->root);
    return xyl_topology_tree_children(&trees_of(team)->map, shapes, 0,
                                      team->rank, key->root, children,
                                      capacity);
}

/* Fills a cache entry. The lock is held. */
static xylem_status_t remember(xylem_team_t *team, const xyl_tree_key_t *key,
                               xyl_neighbours_t *entry)
{
    enum { CHILDREN_FIRST = 16 };
    uint32_t count, *children = entry->children;
    uint32_t capacity = entry->capacity;
    team_trees_t *state = trees_of(team);

    if (key->shape.tree == &xyl_tree_topology && state->map.ranks == 0 &&
        xyl_team_map_create(team->context->peers, team->world_ranks, team->size,
                            &state->map_memory, &state->map) != XYLEM_OK)
        return XYLEM_ERR_NO_MEMORY;
    if (children == NULL) {
        capacity = CHILDREN_FIRST;
        children = malloc(capacity * sizeof *children);
        if (children == NULL)
            return XYLEM_ERR_NO_MEMORY;
        entry->children = children;
        entry->capacity = capacity;
    }
    count = compute(team, key, &entry->parent, children, capacity);
    if (count > capacity) {
        children = realloc(children, count * sizeof *children);
        if (children == NULL)
            return XYLEM_ERR_NO_MEMORY;
        entry->children = children;
        entry->capacity = count;
        compute(team, key, &entry->parent, children, count);
    }
    entry->child_count = count;
    entry->key = *key;
    return XYLEM_OK;
}

static int keys_equal(const xyl_tree_key_t *a, const xyl_tree_key_t *b)
{
    return a->shape.tree == b->shape.tree && a->shape.radix == b->shape.radix &&
           a->half == b->half && a->root == b->root;
}

xylem_status_t xyl_team_neighbours(xylem_team_t *team,
                                   const xyl_tree_key_t *key,
                                   xyl_arena_t *arena,
                                   xyl_neighbours_t *neighbours_out)
{
    uint32_t hash = (key->root * 31 + key->shape.radix) * 31 +
                    (uint32_t)((uintptr_t)key->shape.tree >> 3) + key->half;
    xyl_neighbours_t *entry = &trees_of(team)->trees[hash % TREES_MAX];
    uint32_t *children = NULL;
    xylem_status_t status = XYLEM_OK;

    pthread_mutex_lock(&team->lock);
    if (entry->children == NULL || !keys_equal(&entry->key, key)) {
        entry->key.shape.tree = NULL; /* until it is filled */
        status = remember(team, key, entry);
    }
    if (status == XYLEM_OK) {
        children = xyl_arena_array(arena, entry->child_count, sizeof *children);
        if (children == NULL)
            status = XYLEM_ERR_NO_MEMORY;
    }
    if (status == XYLEM_OK) {
        memcpy(children, entry->children,
               entry->child_count * sizeof *children);
        *neighbours_out = *entry;
        neighbours_out->children = children;
    }
    pthread_mutex_unlock(&team->lock);
    return status;
}

void xyl_team_map_borrow(xylem_team_t *team, const xyl_topology_map_t *map)
{
    team_trees_t *state = trees_of(team);

    if (state->map.ranks == 0)
        state->map = *map;
}

static void trees_end(xylem_team_t *team)
{
    team_trees_t *state = trees_of(team);
    unsigned i;

    for (i = 0; i < TREES_MAX; i++)
        free(state->trees[i].children);
    free(state->map_memory);
}

const xyl_module_t xyl_team_trees_module = {
    .name = "trees",
    .bytes = {[XYL_OWNER_TEAM] = sizeof(team_trees_t)},
    .team_ends = trees_end,
};
