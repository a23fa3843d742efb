/* The types of a context: handles of the user's types, and what operations
 * need of them. A handle is XYL_USER_TYPE_BASE plus a place in a table that
 * grows; the context's lock guards it. Any thread. */
#pragma once

#include "collectives/data/layout.h"
#include "collectives/data/modules.h"

enum {
    XYL_USER_TYPE_BASE = 0x40000000, /* handles of user types begin here */
    XYL_USER_TYPES_MAX = 1 << 24
};

/* Places that are free form a list by their numbers, each plus 1; 0 ends it. */
typedef struct xyl_type_place {
    const xyl_layout_t *layout; /* NULL: free */
    uint32_t next_free;
} xyl_type_place_t;

typedef struct xyl_type_table {
    xyl_type_place_t *places;
    uint32_t capacity; /* all of them in use or in the list */
    uint32_t first_free;
} xyl_type_table_t;

static inline int xyl_type_is_user(xylem_type_t type)
{
    return type >= XYL_USER_TYPE_BASE &&
           type - XYL_USER_TYPE_BASE < XYL_USER_TYPES_MAX;
}

extern const xyl_module_t xyl_types_module;

/* Any type: the packed bytes of one element, and its layout; NULL for one whose
 * elements lie one behind the other without gaps, as those of predefined types
 * and blocks do. No lock is taken for these. The layout has been acquired
 * (release with xyl_layout_release) and outlives the handle.
 * XYLEM_ERR_INVALID_ARG: there is no such type. */
xylem_status_t xyl_types_find_layout(xylem_context_t *context,
                                     xylem_type_t type, uint64_t *bytes_out,
                                     const xyl_layout_t **layout_out);

/* One element for all of an alltoallw's blocks: block i is counts[i] elements
 * of types[i], the first at displs[i] bytes. Writes where block i begins in the
 * packed bytes to packed_out[i], and how many there are in all to packed_out[n]
 * (NULL: not wanted). The layout is never NULL; the extent of the one element
 * is of no meaning. Returns owned (release with xyl_layout_release). */
xylem_status_t xyl_types_layout_of_blocks(xylem_context_t *context, uint32_t n,
                                          const uint64_t *counts,
                                          const uint64_t *displs,
                                          const xylem_type_t *types,
                                          uint64_t *packed_out,
                                          const xyl_layout_t **layout_out);
