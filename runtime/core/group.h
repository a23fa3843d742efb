/* The ranks that a stage runs between: all of a team, or some of it, numbered
 * in the group's own order. */
#pragma once

#include <stdint.h>

typedef struct xyl_group {
    uint32_t size;
    uint32_t rank;         /* this rank's number in the group */
    const uint32_t *ranks; /* [size] their numbers in the team, borrowed;
                              NULL: the same */
} xyl_group_t;

/* The team's number of a rank of the group. */
static inline uint32_t xyl_group_rank(const xyl_group_t *group, uint32_t rank)
{
    return group->ranks == NULL ? rank : group->ranks[rank];
}
