#include "collectives/levels/team_levels.h"

#include <assert.h>
#include <stdlib.h>

#include "runtime/core/context_switches.h"
#include "runtime/job/switches.h"

#define NO_NODE UINT32_MAX

static uint32_t node_of_rank(const xylem_team_t *team, uint32_t rank)
{
    return team->context->peers[xyl_team_world_rank(team, rank)].place.node;
}

/* Numbers the nodes of the team: number[node of the job]; returns how many. */
static uint32_t number_nodes(const xylem_team_t *team, uint32_t *number,
                             uint32_t nodes)
{
    uint32_t i, count = 0;

    for (i = 0; i < nodes; i++)
        number[i] = NO_NODE;
    for (i = 0; i < team->size; i++)
        if (number[node_of_rank(team, i)] == NO_NODE)
            number[node_of_rank(team, i)] = count++;
    return count;
}

/* Sorts ranks by counting. `order` stays NULL if there is nothing to sort. */
static void sort_by_node(const xylem_team_t *team, const uint32_t *number,
                         xyl_levels_t *levels)
{
    uint32_t *starts = levels->starts;
    uint32_t i, node;

    for (i = 0; i < team->size; i++)
        starts[number[node_of_rank(team, i)] + 1]++;
    for (node = 0; node < levels->nodes; node++) {
        if (starts[node + 1] > levels->largest)
            levels->largest = starts[node + 1];
        starts[node + 1] += starts[node];
    }
    for (i = 0; levels->order != NULL && i < team->size; i++)
        levels->order[starts[number[node_of_rank(team, i)]]++] = i;
    /* Each start is now the start of the next node. */
    for (node = levels->nodes; levels->order != NULL && node > 0; node--)
        starts[node] = starts[node - 1];
    if (levels->order != NULL)
        starts[0] = 0;
}

static int fills_node_after_node(const xylem_team_t *team,
                                 const uint32_t *number)
{
    uint32_t i;

    for (i = 1; i < team->size; i++)
        if (number[node_of_rank(team, i)] < number[node_of_rank(team, i - 1)])
            return 0;
    return 1;
}

/* 0: no memory. */
static int levels_fill(const xylem_team_t *team, const uint32_t *number,
                       xyl_levels_t *levels)
{
    levels->ranks = team->size;
    levels->starts = calloc((size_t)levels->nodes + 2, sizeof(uint32_t));
    if (levels->starts == NULL)
        return 0;
    levels->helped = levels->starts + levels->nodes + 1;
    if (!fills_node_after_node(team, number)) {
        levels->order = malloc(team->size * sizeof(uint32_t));
        if (levels->order == NULL)
            return 0;
    }
    sort_by_node(team, number, levels);
    xyl_levels_find(levels, team->rank, &levels->node, &levels->seat);
    return 1;
}

/* ---- switches ---- */

_Static_assert((int)XYL_SWITCH_LEVELS_MAX <= (int)XYL_TREE_LEVELS_MAX,
               "a map has a level for each");

/* 1: at some level, some nodes are below one switch and others are not. */
static int tells_nodes_apart(const xyl_topology_map_t *map)
{
    uint32_t level, i, groups;

    for (level = 0; level < map->levels; level++) {
        const uint32_t *group = map->group + (size_t)level * map->ranks;
        for (i = 0, groups = 0; i < map->ranks; i++)
            groups += group[i] == i;
        if (groups > 1 && groups < map->ranks)
            return 1;
    }
    return 0;
}

/* 0: no memory. */
static int map_switches(const xylem_team_t *team, const uint32_t *number,
                        uint32_t job_nodes, xyl_levels_t *levels)
{
    const xyl_context_switches_t *switches =
        xyl_context_switches_of(team->context);
    uint32_t nodes = levels->nodes, depth = switches->levels;
    uint32_t *ids, i, level;

    if (switches->ids == NULL)
        return 1;
    assert(nodes > 0 && depth > 0);
    ids = calloc(XYL_MAP_WORDS(nodes, depth), sizeof *ids);
    levels->map_memory = ids;
    if (ids == NULL)
        return 0;
    for (i = 0; i < job_nodes; i++)
        for (level = 0; level < depth && number[i] != NO_NODE; level++)
            ids[(size_t)level * nodes + number[i]] =
                switches->ids[(size_t)i * depth + level];
    xyl_topology_map_build(nodes, depth, ids, &levels->map);
    if (!tells_nodes_apart(&levels->map))
        levels->map.ranks = 0;
    return 1;
}

static void levels_free(xyl_levels_t *levels)
{
    if (levels == NULL)
        return;
    free(levels->starts);
    free(levels->order);
    free(levels->map_memory);
    free(levels);
}

static xyl_levels_t *levels_create(const xylem_team_t *team)
{
    xyl_levels_t *levels = calloc(1, sizeof *levels);
    uint32_t i, nodes = 0, *number;

    for (i = 0; i < team->size; i++)
        if (node_of_rank(team, i) >= nodes)
            nodes = node_of_rank(team, i) + 1;
    assert(nodes > 0);
    number = malloc(nodes * sizeof *number);
    if (levels != NULL && number != NULL) {
        levels->nodes = number_nodes(team, number, nodes);
        if (levels_fill(team, number, levels) &&
            map_switches(team, number, nodes, levels)) {
            free(number);
            return levels;
        }
    }
    free(number);
    levels_free(levels);
    return NULL;
}

/* A team's levels, under the team's lock; NULL until they are needed. */
static xyl_levels_t **levels_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_LEVELS];
}

const xyl_levels_t *xyl_levels_of_team(xylem_team_t *team)
{
    xyl_levels_t **levels = levels_of(team), *made;

    pthread_mutex_lock(&team->lock);
    if (*levels == NULL)
        *levels = levels_create(team);
    made = *levels;
    pthread_mutex_unlock(&team->lock);
    return made;
}

static void levels_end(xylem_team_t *team)
{
    levels_free(*levels_of(team));
}

const xyl_module_t xyl_team_levels_module = {
    .bytes = {[XYL_OWNER_TEAM] = sizeof(xyl_levels_t *)},
    .team_ends = levels_end,
};

/* The node that holds place `at` of the order. */
static uint32_t node_at(const xyl_levels_t *levels, uint32_t at)
{
    uint32_t low = 0, high = levels->nodes;

    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (levels->starts[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

void xyl_levels_find(const xyl_levels_t *levels, uint32_t rank,
                     uint32_t *node_out, uint32_t *seat_out)
{
    uint32_t at = 0;

    if (levels->order == NULL)
        at = rank;
    else
        while (levels->order[at] != rank)
            at++;
    *node_out = node_at(levels, at);
    *seat_out = at - levels->starts[*node_out];
}
