/* Makes a team of the living ranks of a team that has failed. The living ranks
 * agree on the dead, make a temporary team with a slot that is kept for it, and
 * split it. If a rank dies meanwhile, the temporary team fails, and the living
 * ranks begin again. */
#include <stdlib.h>

#include "runtime/base/bits.h"
#include "runtime/base/status.h"
#include "runtime/core/team.h"
#include "runtime/faults/agreement.h"
#include "runtime/faults/notice.h"

static xylem_status_t recovery_check(const xylem_team_t *team, const void *out,
                                     const char *call)
{
    xylem_status_t status = xyl_team_check_may_block(team, call);

    return status == XYLEM_OK && out == NULL
               ? xyl_refuse(call, "an output is NULL")
               : status;
}

static xylem_status_t agree_on(xylem_team_t *team, uint32_t *flags,
                               uint64_t *dead)
{
    xyl_agreement_t agreed = {*flags, dead};
    xylem_status_t status = xyl_agreement_begin(team, &agreed);

    *flags = agreed.flags;
    return status;
}

static uint64_t *dead_known(const xylem_context_t *context)
{
    uint64_t *dead = calloc(xyl_bits_words(context->ranks), sizeof *dead);
    uint32_t rank;

    for (rank = 0; dead != NULL && rank < context->ranks; rank++)
        if (xyl_peer_is_dead(&context->peers[rank]))
            xyl_bits_set(dead, rank);
    return dead;
}

xylem_status_t xylem_team_agree(xylem_team_t *team, uint32_t *flags)
{
    xylem_status_t status = recovery_check(team, flags, "xylem_team_agree");
    uint64_t *dead;

    if (status != XYLEM_OK)
        return status;
    dead = dead_known(team->context);
    if (dead == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to agree");
    status = agree_on(team, flags, dead);
    free(dead);
    return status;
}

/* A key that is used once: no other team's key has bit 63. */
static uint64_t key_for(const xylem_team_t *team)
{
    return team->key ^ (UINT64_C(1) << 63) ^
           (uint64_t)(team->recoveries % 32768) << 48;
}

/* Makes `living` a team of the ranks that are not dead, with the slot that all
 * keep for it. After a failure `living` is still to be given back. */
static xylem_status_t gather_living(xylem_team_t *team, const uint64_t *dead,
                                    xylem_team_t *living)
{
    uint32_t i, rank = UINT32_MAX, count = 0;

    for (i = 0; i < team->size; i++) {
        uint32_t world = xyl_team_world_rank(team, i);
        if (xyl_bits_test(dead, world))
            continue;
        if (i == team->rank)
            rank = count;
        living->peer_slots[count] = XYL_SLOT_RECOVERY;
        living->world_ranks[count++] = world;
    }
    if (rank == UINT32_MAX)
        return xyl_fail(XYLEM_ERR_PROC_FAILED,
                        "the other ranks take this one for dead");
    xyl_team_create(team->context, living, rank, count, XYL_SLOT_RECOVERY,
                    key_for(team));
    living->may_share = 0;
    return XYLEM_OK;
}

/* Agrees with the other ranks on the dead, and on whether all have memory for a
 * team, and makes a team of the living. */
static xylem_status_t living_team(xylem_team_t *team, uint64_t *dead,
                                  xylem_team_t **living_out)
{
    xylem_team_t *living = xyl_team_reserve(team->context, team->size);
    uint32_t flags = living != NULL;
    xylem_status_t status = agree_on(team, &flags, dead);

    if (status == XYLEM_OK)
        team->recoveries++;
    if (status == XYLEM_OK && flags == 0)
        status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "a rank has no memory for a team");
    if (status == XYLEM_OK)
        status = gather_living(team, dead, living);
    if (status != XYLEM_OK)
        xyl_team_unreserve(team->context, living);
    else
        *living_out = living;
    return status;
}

/* 1: the attempt has ended with the same *status on all ranks; 0: try again. */
static int try_to_shrink(xylem_team_t *team, xylem_team_t **team_out,
                         xylem_status_t *status)
{
    uint64_t *dead = dead_known(team->context);
    xylem_team_t *living, *made = NULL;
    uint32_t flags;

    *status = XYLEM_ERR_NO_MEMORY; /* and this rank has not begun */
    if (dead != NULL)
        *status = living_team(team, dead, &living);
    if (*status != XYLEM_OK) {
        free(dead);
        return 1;
    }
    *status = xylem_team_split(living, 0, living->rank, &made);
    if (*status != XYLEM_OK)
        (void)xylem_team_revoke(living); /* the others may wait for this rank */
    flags = *status == XYLEM_OK;
    if (agree_on(team, &flags, dead) != XYLEM_OK)
        flags = 0;
    free(dead);
    (void)xylem_team_destroy(living);
    if (flags != 0) {
        *team_out = made;
        return 1;
    }
    (void)xylem_team_destroy(made);
    return 0;
}

xylem_status_t xylem_team_shrink(xylem_team_t *team, xylem_team_t **team_out)
{
    xylem_status_t status = recovery_check(team, team_out, "xylem_team_shrink");
    uint32_t attempt;

    if (status != XYLEM_OK)
        return status;
    xyl_notices_team_begins(team->context); /* the team for a moment */
    for (attempt = 0; attempt < team->size; attempt++)
        if (try_to_shrink(team, team_out, &status))
            break;
    xyl_notices_team_ended(team->context);
    return status;
}
