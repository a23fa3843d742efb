#include "runtime/core/tags.h"

#include <pthread.h>
#include <stdlib.h>

#include "runtime/base/status.h"
#include "runtime/core/team.h"

enum {
    UNDER_WAY = 1,
    USES_AT = 22, /* above a tag's numbers */
    USES_MASK = (1 << (31 - USES_AT)) - 1
};

xylem_status_t xyl_tags_reserve(xylem_team_t *team)
{
    xyl_tags_t *tags;

    pthread_mutex_lock(&team->lock);
    tags = atomic_load_explicit(&team->tags, memory_order_relaxed);
    if (tags == NULL) {
        tags = calloc(1, sizeof *tags);
        /* Partner: the load in tags_of. */
        atomic_store_explicit(&team->tags, tags, memory_order_release);
    }
    pthread_mutex_unlock(&team->lock);
    return tags != NULL
               ? XYLEM_OK
               : xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team's tags");
}

void xyl_tags_fini(xylem_team_t *team)
{
    free(atomic_load_explicit(&team->tags, memory_order_relaxed));
}

static xyl_tags_t *tags_of(xylem_team_t *team)
{
    /* Partner: the store in xyl_tags_reserve. */
    return atomic_load_explicit(&team->tags, memory_order_acquire);
}

xylem_status_t xyl_tag_begin(xylem_team_t *team, uint32_t tag,
                             uint32_t *sequence_out)
{
    _Atomic uint16_t *uses = &tags_of(team)->uses[tag];
    /* Partner: the addition in xyl_tag_end. */
    uint16_t before =
        atomic_fetch_or_explicit(uses, UNDER_WAY, memory_order_acquire);

    if ((before & UNDER_WAY) != 0)
        return xyl_fail(XYLEM_ERR_BUSY,
                        "a call with tag %u is under way on this team", tag);
    *sequence_out = XYL_SEQUENCE_TAGGED |
                    ((uint32_t)before >> 1 & USES_MASK) << USES_AT |
                    tag * XYL_TAG_SEQUENCES;
    return XYLEM_OK;
}

void xyl_tag_end(xylem_team_t *team, uint32_t tag)
{
    atomic_fetch_add_explicit(&tags_of(team)->uses[tag], 1,
                              memory_order_release);
}

uint32_t xyl_tag_calls(xylem_team_t *team, uint32_t tag)
{
    xyl_tags_t *tags = tags_of(team);

    return tags == NULL ? 0
                        : (uint32_t)atomic_load_explicit(
                              &tags->uses[tag], memory_order_acquire) >>
                              1;
}
