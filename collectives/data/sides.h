/* The two sides of a collective's messages, as the types of a call describe
 * them. All code behind this knows packed bytes only. A block of as many packed
 * bytes replaces a type of the user's. If an element is longer than a block may
 * be, its type becomes bytes, and all counts and displacements count bytes. If
 * elements have gaps, the layout says where their bytes lie. */
#pragma once

#include "collectives/data/layout.h"
#include "collectives/data/types.h"
#include "runtime/core/team.h"

enum { XYL_SIDES_ARRAYS = 4 };

typedef struct xyl_sides {
    const xyl_layout_t *send, *recv;  /* acquired; NULL: plain */
    int send_is_empty, recv_is_empty; /* elements of it have no data */
    /* Counts and displacements in bytes that the arguments name in place of the
     * user's; NULL: they name the user's. */
    uint64_t *arrays[XYL_SIDES_ARRAYS];
} xyl_sides_t;

/* 1 when the call's type, or that of its result, is one of the user's. The
 * types of an alltoallw's blocks are looked at later. */
static inline int xyl_sides_are_needed(const xylem_coll_args_t *args)
{
    return xyl_type_is_user(args->type) ||
           (args->recv_count != 0 && xyl_type_is_user(args->recv_type));
}

/* Replaces the types of the arguments. On success the caller releases the
 * sides; else the arguments are of no use. */
xylem_status_t xyl_sides_replace(const xylem_team_t *team,
                                 xylem_coll_args_t *args,
                                 xyl_sides_t *sides_out);
void xyl_sides_release(const xyl_sides_t *sides);
