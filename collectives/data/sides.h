/* The two sides of a collective's messages, as the types of a call describe
 * them. Everything behind this knows packed bytes only: types of the user's
 * are replaced by blocks of as many packed bytes, and where elements have gaps
 * the layout says where these lie. */
#ifndef XYL_COLLECTIVES_DATA_SIDES_H
#define XYL_COLLECTIVES_DATA_SIDES_H

#include "collectives/data/layout.h"
#include "collectives/data/types.h"

typedef struct xyl_sides {
    const xyl_layout_t *send, *recv;  /* acquired; NULL: plain */
    int send_is_empty, recv_is_empty; /* elements of it have no data */
} xyl_sides_t;

/* 1 when a type of the call's own is one of the user's. Those of an alltoallw's
 * blocks are looked at later. */
static inline int xyl_sides_are_needed(const xylem_coll_args_t *args)
{
    return xyl_type_is_user(args->type) ||
           (args->recv_count != 0 && xyl_type_is_user(args->recv_type));
}

/* Writes the arguments with replaced types to *args_out. On success the sides
 * are to be released. */
xylem_status_t xyl_sides_find(xylem_context_t *context,
                              const xylem_coll_args_t *args,
                              xylem_coll_args_t *args_out,
                              xyl_sides_t *sides_out);
void xyl_sides_release(const xyl_sides_t *sides);

#endif
