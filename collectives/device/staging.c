#include "collectives/device/staging.h"

#include <pthread.h>
#include <stdlib.h>

#include "collectives/data/limits.h"
#include "collectives/device/device.h"
#include "collectives/device/team.h"
#include "collectives/node/boards.h"
#include "runtime/base/log.h"
#include "runtime/core/context.h"

/* A key beside that of the team's board. */
static uint64_t key_of(const xylem_team_t *team)
{
    return team->key | UINT64_C(1) << 63;
}

static uint64_t chunk_of(const xylem_team_t *team)
{
    return xyl_limits_of(team->context)->device_chunk;
}

/* Pins the memory, so that its copies go on without the processor. */
static void staging_pin(xyl_device_staging_t *staging,
                        const xyl_cuda_library_t *library, int device,
                        size_t bytes)
{
    int error = library->host_register(device, staging->memory, bytes);

    if (error == 0)
        staging->library = library;
    else
        xyl_log(XYL_LOG_INFO, "memory of the node cannot be pinned: %s",
                library->error_text(error));
}

static int staging_attach(xylem_team_t *team, xyl_device_staging_t *staging,
                          size_t bytes)
{
    xyl_shm_t *shm = team->context->shm;

    if (shm == NULL || !xyl_node_place_draw(team->context))
        return 0;
    pthread_mutex_lock(&team->context->lock); /* one caller at a time */
    staging->memory = shm->ops->attach(shm, key_of(team), bytes);
    pthread_mutex_unlock(&team->context->lock);
    if (staging->memory == NULL)
        xyl_node_place_return(team->context);
    return staging->memory != NULL;
}

static xyl_device_staging_t *staging_create(xylem_team_t *team,
                                            const xyl_cuda_library_t *library,
                                            int device)
{
    size_t bytes = xyl_directory_bytes(team->size, chunk_of(team));
    xyl_device_staging_t *staging = calloc(1, sizeof *staging);
    uint32_t rank;

    if (staging == NULL)
        return NULL;
    staging->world = malloc(team->size * sizeof *staging->world);
    if (staging->world == NULL || !staging_attach(team, staging, bytes)) {
        free(staging->world);
        free(staging);
        return NULL;
    }
    for (rank = 0; rank < team->size; rank++)
        staging->world[rank] = xyl_team_world_rank(team, rank);
    xyl_directory_init(&staging->directory, team->context->shm, staging->memory,
                       staging->world, team->size, chunk_of(team));
    staging_pin(staging, library, device, bytes);
    return staging;
}

xyl_device_staging_t *xyl_device_staging_of(xylem_team_t *team,
                                            const xyl_cuda_library_t *library,
                                            int device)
{
    xyl_device_team_t *state = xyl_gpus_of_team(team);

    if (state->staging == NULL)
        state->staging = staging_create(team, library, device);
    return state->staging;
}

void xyl_device_staging_end(xylem_team_t *team, xyl_device_staging_t *staging)
{
    xyl_shm_t *shm = team->context->shm;

    if (staging->library != NULL)
        staging->library->host_unregister(staging->memory);
    pthread_mutex_lock(&team->context->lock);
    shm->ops->detach(shm, key_of(team));
    pthread_mutex_unlock(&team->context->lock);
    xyl_node_place_return(team->context);
    free(staging->world);
    free(staging);
}

int xyl_device_staging_use(xyl_device_staging_t *staging,
                           xyl_directory_call_t *call, xyl_directory_run_t *run)
{
    if (!xyl_directory_is_free(&staging->directory, staging->number + 1))
        return 0;
    call->number = ++staging->number;
    xyl_directory_begin(run, &staging->directory, call);
    return 1;
}

/* ---- turns ---- */

void xyl_device_turn_wait(xylem_team_t *team, xyl_device_turn_t *turn)
{
    xyl_device_turn_t **link = &xyl_gpus_of_team(team)->turns;

    while (*link != NULL)
        link = &(*link)->next;
    *turn = (xyl_device_turn_t){.is_waiting = 1};
    *link = turn;
}

int xyl_device_turn_is(xylem_team_t *team, const xyl_device_turn_t *turn)
{
    return xyl_gpus_of_team(team)->turns == turn;
}

void xyl_device_turn_leave(xylem_team_t *team, xyl_device_turn_t *turn)
{
    xyl_device_turn_t **link = &xyl_gpus_of_team(team)->turns;

    if (!turn->is_waiting)
        return;
    while (*link != turn)
        link = &(*link)->next;
    *link = turn->next;
    turn->is_waiting = 0;
}
