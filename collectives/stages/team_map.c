#include "collectives/stages/team_map.h"

#include <stdlib.h>

#include "runtime/base/status.h"

/* The state of a team, under its lock. */
typedef struct team_map {
    uint32_t *memory;       /* of `map`; NULL: borrowed, or none */
    xyl_topology_map_t map; /* of 0 ranks until it is asked for */
} team_map_t;

static team_map_t *map_of(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_MAP];
}

xylem_status_t xyl_map_create(const xyl_peer_t *peers,
                              const uint32_t *world_ranks, uint32_t n,
                              uint32_t **memory_out,
                              xyl_topology_map_t *map_out)
{
    enum { LEVELS = 3 };
    uint32_t *memory = malloc(XYL_MAP_WORDS(n, LEVELS) * sizeof *memory);
    uint32_t i;

    if (memory == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a map of ranks");
    for (i = 0; i < n; i++) {
        const xylem_place_t *place =
            &peers[world_ranks == NULL ? i : world_ranks[i]].place;
        memory[i] = place->node;
        memory[n + i] = place->socket;
        memory[2 * (size_t)n + i] = place->numa;
        memory[3 * (size_t)n + i] = place->core;
    }
    xyl_topology_map_build(n, LEVELS, memory, map_out);
    *memory_out = memory;
    return XYLEM_OK;
}

const xyl_topology_map_t *xyl_map_of_team(xylem_team_t *team)
{
    team_map_t *state = map_of(team);
    xylem_status_t status = XYLEM_OK;

    pthread_mutex_lock(&team->lock);
    if (state->map.ranks == 0)
        status = xyl_map_create(team->context->peers, team->world_ranks,
                                team->size, &state->memory, &state->map);
    pthread_mutex_unlock(&team->lock);
    return status == XYLEM_OK ? &state->map : NULL;
}

void xyl_map_borrow(xylem_team_t *team, const xyl_topology_map_t *map)
{
    team_map_t *state = map_of(team);

    if (state->map.ranks == 0)
        state->map = *map;
}

static void map_end(xylem_team_t *team)
{
    free(map_of(team)->memory);
}

const xyl_module_t xyl_team_map_module = {
    .bytes = {[XYL_OWNER_TEAM] = sizeof(team_map_t)},
    .team_ends = map_end,
};
