#include "runtime/core/team.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/status.h"

/* ---- life ---- */

static int lives_on_one_node(const xylem_team_t *team)
{
    const xyl_peer_t *peers = team->context->peers;
    uint32_t i, node = peers[xyl_team_world_rank(team, 0)].place.node;

    for (i = 1; i < team->size; i++)
        if (peers[xyl_team_world_rank(team, i)].place.node != node)
            return 0;
    return 1;
}

/* Teams that use one slot in turn begin with different numbers, in case a
 * message of the earlier team is left. */
static uint32_t first_sequence(uint64_t key)
{
    return key == XYL_TEAM_KEY_WORLD
               ? 0
               : (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* The bits of a tag's source that a team of this size does not need. */
static uint64_t mark_bits(uint32_t size)
{
    uint64_t bits = 0;
    uint32_t i;

    for (i = 0; i < XYL_TEAM_SOURCE_BITS; i++)
        if (UINT32_C(1) << i >= size)
            bits |= UINT64_C(1) << (XYL_TEAM_SOURCE_AT + i);
    return bits;
}

xylem_team_t *xyl_team_reserve(xylem_context_t *context, uint32_t ranks_max)
{
    size_t bytes = xyl_modules_bytes(context->modules, XYL_OWNER_TEAM,
                                     sizeof(xylem_team_t));
    xylem_team_t *team = xyl_pool_acquire(&context->pool, bytes);

    if (team != NULL) {
        memset(team, 0, bytes);
        if (ranks_max == 0)
            return team;
        team->world_ranks = malloc(ranks_max * sizeof *team->world_ranks);
        team->peer_slots = malloc(ranks_max * sizeof *team->peer_slots);
        if (team->world_ranks != NULL && team->peer_slots != NULL)
            return team;
        xyl_team_unreserve(context, team);
    }
    (void)xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team");
    return NULL;
}

void xyl_team_unreserve(xylem_context_t *context, xylem_team_t *team)
{
    if (team == NULL)
        return;
    free(team->world_ranks);
    free(team->peer_slots);
    team->magic = 0;
    xyl_pool_release(
        &context->pool, team,
        xyl_modules_bytes(context->modules, XYL_OWNER_TEAM, sizeof *team));
}

/* Shrinks an array to the bytes that the team needs. */
static void *array_fit(void *array, size_t bytes)
{
    void *fit = array == NULL ? NULL : realloc(array, bytes);

    return fit == NULL ? array : fit;
}

void xyl_team_create(xylem_context_t *context, xylem_team_t *team,
                     uint32_t rank, uint32_t size, uint32_t slot, uint64_t key)
{
    xyl_modules_attach(context->modules, XYL_OWNER_TEAM, team, sizeof *team,
                       team->attached);
    team->world_ranks =
        array_fit(team->world_ranks, size * sizeof *team->world_ranks);
    team->peer_slots =
        array_fit(team->peer_slots, size * sizeof *team->peer_slots);
    team->magic = XYL_TEAM_MAGIC;
    team->rank = rank;
    team->size = size;
    team->slot = slot;
    team->context = context;
    atomic_init(&team->begun, first_sequence(key));
    team->mark_bits = mark_bits(size);
    atomic_init(&team->references, 1);
    atomic_init(&team->persistent, 0);
    pthread_mutex_init(&team->lock, NULL);
    team->is_one_node = lives_on_one_node(team);
    team->may_share = 1;
    team->key = key;
    pthread_mutex_lock(&context->lock);
    LIST_INSERT_HEAD(&context->teams, team, others);
    pthread_mutex_unlock(&context->lock);
    xyl_modules_team_made(team);
}

static void team_release(xylem_team_t *team)
{
    xylem_context_t *context = team->context;

    /* First, so that a thread that looks at all teams does not find it. */
    pthread_mutex_lock(&context->lock);
    LIST_REMOVE(team, others);
    pthread_mutex_unlock(&context->lock);
    xyl_modules_team_ends(team);
    /* Every operation of the team has completed here, so all messages for the
     * slot are matched, unless the team failed. */
    if (!xyl_team_has_failed(team) && team->slot < XYL_TEAM_SLOTS)
        xyl_context_slot_release(context, team->slot);
    pthread_mutex_destroy(&team->lock);
    xyl_tags_fini(team);
    xyl_team_unreserve(context, team);
}

void xyl_team_reference(xylem_team_t *team)
{
    atomic_fetch_add_explicit(&team->references, 1, memory_order_relaxed);
}

void xyl_team_unreference(xylem_team_t *team)
{
    /* Partner: the same, by the thread that is last. */
    if (atomic_fetch_sub_explicit(&team->references, 1, memory_order_acq_rel) ==
        1)
        team_release(team);
}

/* ---- by keys ---- */

xylem_team_t *xyl_team_listed(xylem_context_t *context, uint64_t key)
{
    xylem_team_t *team;

    LIST_FOREACH(team, &context->teams, others)
    if (team->key == key)
        break;
    return team;
}

xylem_team_t *xyl_team_find(xylem_context_t *context, uint64_t key)
{
    uint32_t references = 0; /* 0: the last one is being given up */
    xylem_team_t *team;

    pthread_mutex_lock(&context->lock);
    team = xyl_team_listed(context, key);
    if (team != NULL)
        references =
            atomic_load_explicit(&team->references, memory_order_relaxed);
    while (references != 0 &&
           !atomic_compare_exchange_weak_explicit(
               &team->references, &references, references + 1,
               memory_order_relaxed, memory_order_relaxed))
        continue;
    pthread_mutex_unlock(&context->lock);
    return references != 0 ? team : NULL;
}

/* ---- failures ---- */

uint32_t xyl_team_rank_of(const xylem_team_t *team, uint32_t world_rank)
{
    uint32_t i;

    if (team->world_ranks == NULL)
        return world_rank < team->size ? world_rank : UINT32_MAX;
    for (i = 0; i < team->size; i++)
        if (team->world_ranks[i] == world_rank)
            return i;
    return UINT32_MAX;
}

xylem_status_t xylem_team_failed(const xylem_team_t *team, uint32_t *ranks,
                                 uint32_t capacity, uint32_t *count_out)
{
    xylem_status_t status = xyl_team_check(team, "xylem_team_failed");
    uint32_t i, count = 0;

    if (status != XYLEM_OK)
        return status;
    if (count_out == NULL || (ranks == NULL && capacity != 0))
        return xyl_refuse("xylem_team_failed", "an output is NULL");
    for (i = 0; i < team->size; i++) {
        if (!xyl_peer_is_dead(
                &team->context->peers[xyl_team_world_rank(team, i)]))
            continue;
        if (count < capacity)
            ranks[count] = i;
        count++;
    }
    *count_out = count;
    return XYLEM_OK;
}

xylem_status_t xylem_team_error(const xylem_team_t *team, uint32_t *rank_out)
{
    xylem_status_t status = xyl_team_check(team, "xylem_team_error");
    int has_failed;

    if (status != XYLEM_OK)
        return status;
    has_failed = xyl_team_has_failed(team);
    if (rank_out != NULL)
        *rank_out = has_failed ? xyl_team_rank_of(team, team->failure.rank)
                               : UINT32_MAX;
    return has_failed ? xyl_explain(team->failure.status, "the team failed: %s",
                                    team->failure.text)
                      : XYLEM_OK;
}

/* ---- public ---- */

xylem_status_t xyl_team_check(const xylem_team_t *team, const char *call)
{
    if (team == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE, "%s: the team is NULL", call);
    if (!xyl_team_is_one(team))
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "%s: this is no team, or it was destroyed", call);
    return XYLEM_OK;
}

xylem_status_t xyl_team_check_may_block(const xylem_team_t *team,
                                        const char *call)
{
    xylem_status_t status = xyl_team_check(team, call);

    return status == XYLEM_OK ? xyl_context_may_block(team->context, call)
                              : status;
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
        return xyl_refuse(
            "xylem_team_place",
            "rank %u is outside the team's %u ranks, or place_out is NULL",
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
