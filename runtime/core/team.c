#include "runtime/core/team.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/api/at_once.h"
#include "collectives/choose/plan_cache.h"
#include "collectives/node/node.h"
#include "runtime/base/status.h"
#include "runtime/core/team_levels.h"

/* ---- life ---- */

static void list_add(xylem_team_t *team)
{
    xylem_context_t *context = team->context;

    pthread_mutex_lock(&context->lock);
    team->newer = NULL;
    team->older = context->teams;
    if (team->older != NULL)
        team->older->newer = team;
    context->teams = team;
    pthread_mutex_unlock(&context->lock);
}

static void list_remove(xylem_team_t *team)
{
    xylem_context_t *context = team->context;

    pthread_mutex_lock(&context->lock);
    if (team->newer != NULL)
        team->newer->older = team->older;
    else
        context->teams = team->older;
    if (team->older != NULL)
        team->older->newer = team->newer;
    pthread_mutex_unlock(&context->lock);
}

static int lives_on_one_node(const xylem_team_t *team)
{
    const xyl_peer_t *peers = team->context->peers;
    uint32_t i, node = peers[xyl_team_world_rank(team, 0)].place.node;

    for (i = 1; i < team->size; i++)
        if (peers[xyl_team_world_rank(team, i)].place.node != node)
            return 0;
    return 1;
}

xylem_status_t xyl_team_create(xylem_context_t *context, uint32_t rank,
                               uint32_t size, uint32_t slot,
                               uint32_t *world_ranks, uint16_t *peer_slots,
                               xylem_team_t **team_out)
{
    xylem_team_t *team = xyl_pool_acquire(&context->pool, sizeof *team);

    if (team == NULL) {
        free(world_ranks);
        free(peer_slots);
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team");
    }
    memset(team, 0, sizeof *team);
    team->magic = XYL_TEAM_MAGIC;
    team->rank = rank;
    team->size = size;
    team->slot = slot;
    team->context = context;
    team->world_ranks = world_ranks;
    team->peer_slots = peer_slots;
    atomic_init(&team->sequence, 0);
    atomic_init(&team->references, 1);
    atomic_init(&team->persistent, 0);
    pthread_mutex_init(&team->lock, NULL);
    team->is_one_node = lives_on_one_node(team);
    team->key = (uint64_t)(xyl_team_world_rank(team, 0) + 1) << 32;
    list_add(team);
    *team_out = team;
    return XYLEM_OK;
}

static void release(xylem_team_t *team)
{
    xylem_context_t *context = team->context;
    uint32_t i;

    xyl_at_once_clear(team);
    xyl_plan_cache_clear(team);
    xyl_node_release(team);
    xyl_team_levels_free(team);
    list_remove(team);
    /* Every operation of the team has completed here, so all messages for the
     * slot have been matched and it may name another team. After a failure
     * that is not known, and the slot is not used again. */
    if (!xyl_team_has_failures(team))
        xyl_context_slot_release(context, team->slot);
    for (i = 0; i < XYL_TREE_CACHE_SIZE; i++)
        free(team->trees[i].children);
    free(team->map_memory);
    free(team->world_ranks);
    free(team->peer_slots);
    pthread_mutex_destroy(&team->lock);
    team->magic = 0;
    xyl_pool_release(&context->pool, team, sizeof *team);
}

void xyl_team_reference(xylem_team_t *team)
{
    atomic_fetch_add_explicit(&team->references, 1, memory_order_relaxed);
}

void xyl_team_unreference(xylem_team_t *team)
{
    /* Partner: the same, by whoever is last. */
    if (atomic_fetch_sub_explicit(&team->references, 1, memory_order_acq_rel) ==
        1)
        release(team);
}

/* ---- trees ---- */

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
        shapes[i] = radix < 2 ? (xyl_shape_t){XYLEM_TREE_CHAIN, 0}
                              : (xyl_shape_t){XYLEM_TREE_KNOMIAL, radix};
}

/* Writes up to `capacity` children, returns how many there are. */
static uint32_t compute(const xylem_team_t *team, const xyl_tree_key_t *key,
                        uint32_t *parent_out, uint32_t *children,
                        uint32_t capacity)
{
    xyl_shape_t shapes[XYL_TREE_LEVELS_MAX + 1];

    if (key->shape.tree != XYLEM_TREE_TOPOLOGY) {
        *parent_out = xyl_tree_parent(key->shape, key->half, team->size,
                                      team->rank, key->root);
        return xyl_tree_children(key->shape, key->half, team->size, team->rank,
                                 key->root, children, capacity);
    }
    topology_shapes(key->shape.radix, shapes);
    *parent_out =
        xyl_topology_tree_parent(&team->map, shapes, 0, team->rank, key->root);
    return xyl_topology_tree_children(&team->map, shapes, 0, team->rank,
                                      key->root, children, capacity);
}

/* Fills a cache entry. The lock is held. */
static xylem_status_t remember(xylem_team_t *team, const xyl_tree_key_t *key,
                               xyl_neighbours_t *entry)
{
    enum { CHILDREN_FIRST = 16 };
    uint32_t count, *children = entry->children;
    uint32_t capacity = entry->capacity;

    if (key->shape.tree == XYLEM_TREE_TOPOLOGY && team->map.ranks == 0 &&
        xyl_team_map_create(team->context->peers, team->world_ranks, team->size,
                            &team->map_memory, &team->map) != XYLEM_OK)
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
                    (uint32_t)key->shape.tree * 2 + key->half;
    xyl_neighbours_t *entry = &team->trees[hash % XYL_TREE_CACHE_SIZE];
    uint32_t *children = NULL;
    xylem_status_t status = XYLEM_OK;

    pthread_mutex_lock(&team->lock);
    if (entry->children == NULL || !keys_equal(&entry->key, key)) {
        entry->key.shape.tree = XYLEM_TREE_AUTO; /* until it is filled */
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

/* ---- failures ---- */

int xyl_team_has_failures(const xylem_team_t *team)
{
    uint32_t i;

    if (atomic_load_explicit(&team->context->failures, memory_order_relaxed) ==
        0)
        return 0;
    for (i = 0; i < team->size; i++)
        if (team->context->peers[xyl_team_world_rank(team, i)].has_failed)
            return 1;
    return 0;
}

int xyl_team_contains(const xylem_team_t *team, uint32_t world_rank)
{
    uint32_t i;

    if (team->world_ranks == NULL)
        return world_rank < team->size;
    for (i = 0; i < team->size; i++)
        if (team->world_ranks[i] == world_rank)
            return 1;
    return 0;
}

xylem_status_t xylem_team_failed(const xylem_team_t *team, uint32_t *ranks,
                                 uint32_t capacity, uint32_t *count_out)
{
    xylem_status_t status = xyl_team_check(team, "xylem_team_failed");
    uint32_t i, count = 0;

    if (status != XYLEM_OK)
        return status;
    if (count_out == NULL || (ranks == NULL && capacity != 0))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_team_failed: an output is NULL");
    for (i = 0; i < team->size; i++) {
        if (!team->context->peers[xyl_team_world_rank(team, i)].has_failed)
            continue;
        if (count < capacity)
            ranks[count] = i;
        count++;
    }
    *count_out = count;
    return XYLEM_OK;
}

/* ---- public ---- */

xylem_status_t xyl_team_check(const xylem_team_t *team, const char *call)
{
    if (team == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: the team is NULL", call);
    if (team->magic != XYL_TEAM_MAGIC)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: this is no team, or it was destroyed", call);
    return XYLEM_OK;
}

uint32_t xylem_team_rank(const xylem_team_t *team)
{
    return xyl_team_check(team, "xylem_team_rank") == XYLEM_OK ? team->rank
                                                               : UINT32_MAX;
}

uint32_t xylem_team_size(const xylem_team_t *team)
{
    return xyl_team_check(team, "xylem_team_size") == XYLEM_OK ? team->size : 0;
}

xylem_status_t xylem_team_place(const xylem_team_t *team, uint32_t rank,
                                xylem_place_t *place_out)
{
    xylem_status_t status = xyl_team_check(team, "xylem_team_place");

    if (status != XYLEM_OK)
        return status;
    if (rank >= team->size || place_out == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_team_place: rank %u is outside the team's %u "
                        "ranks, or place_out is NULL",
                        rank, team->size);
    *place_out = team->context->peers[xyl_team_world_rank(team, rank)].place;
    return XYLEM_OK;
}

xylem_status_t xylem_team_destroy(xylem_team_t *team)
{
    xylem_status_t status;

    if (team == NULL)
        return XYLEM_OK;
    status = xyl_team_check(team, "xylem_team_destroy");
    if (status != XYLEM_OK)
        return status;
    if (team == team->context->world)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_team_destroy: the world team belongs to its "
                        "context");
    if (atomic_load_explicit(&team->persistent, memory_order_relaxed) != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "xylem_team_destroy: free the team's persistent "
                        "requests first");
    team->magic = 0;
    xyl_team_unreference(team);
    return XYLEM_OK;
}
