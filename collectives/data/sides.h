/* The two sides of a collective's messages, as the types of a call describe
 * them. Everything behind this knows packed bytes only: types of the user's
 * are replaced by blocks of as many packed bytes, or, where an element is
 * longer than a block can be, by bytes, with all counts and displacements in
 * bytes; and where elements have gaps the layout says where these lie. */
#ifndef XYL_COLLECTIVES_DATA_SIDES_H
#define XYL_COLLECTIVES_DATA_SIDES_H

#include "collectives/data/layout.h"
#include "collectives/data/types.h"
#include "runtime/core/team.h"

enum { XYL_SIDES_ARRAYS = 4 };

typedef struct xyl_sides {
    const xyl_layout_t *send, *recv;  /* acquired; NULL: plain */
    int send_is_empty, recv_is_empty; /* elements of it have no data */
    /* Counts and displacements in bytes that the arguments name in place of the
     * user's; NULL: the user's are theirs. */
    uint64_t *arrays[XYL_SIDES_ARRAYS];
} xyl_sides_t;

/* 1 when a type of the call's own is one of the user's. Those of an alltoallw's
 * blocks are looked at later. */
static inline int xyl_sides_are_needed(const xylem_coll_args_t *args)
{
    return xyl_type_is_user(args->type) ||
           (args->recv_count != 0 && xyl_type_is_user(args->recv_type));
}

/* Replaces the types of the arguments. On success the sides are to be released;
 * else the arguments are of no use. */
xylem_status_t xyl_sides_replace(const xylem_team_t *team,
                                 xylem_coll_args_t *args,
                                 xyl_sides_t *sides_out);
void xyl_sides_release(const xyl_sides_t *sides);

#endif
