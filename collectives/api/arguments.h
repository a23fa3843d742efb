/* What the arguments of each collective mean, and whether they are right. */
#ifndef XYL_COLLECTIVES_API_ARGUMENTS_H
#define XYL_COLLECTIVES_API_ARGUMENTS_H

#include "runtime/core/team.h"

/* Who has a buffer that matters. */
typedef enum xyl_side {
    XYL_SIDE_NOBODY,
    XYL_SIDE_ROOT,
    XYL_SIDE_ALL
} xyl_side_t;

static inline int xyl_side_matters(xyl_side_t side, int is_root)
{
    return side == XYL_SIDE_ALL || (side == XYL_SIDE_ROOT && is_root);
}

typedef struct xyl_coll_traits {
    const char *name;
    uint8_t has_root;
    uint8_t reduces;
    uint8_t sends; /* xyl_side_t: whose `send` matters */
    uint8_t receives;
    uint8_t send_blocks; /* `send` has a block per rank */
    uint8_t recv_blocks;
    uint8_t send_varies; /* by send_counts */
    uint8_t recv_varies;
    uint8_t takes_in_place; /* xyl_side_t: who may say XYLEM_IN_PLACE */
} xyl_coll_traits_t;

/* Of a collective below XYLEM_COLL_COUNT. */
const xyl_coll_traits_t *xyl_coll_traits(xylem_coll_t coll);

/* Whether buffers and arrays are there: what may differ from call to call of a
 * kept plan. Fails with a text that names `call`. */
xylem_status_t xyl_arguments_check_frame(const xylem_team_t *team,
                                         const xylem_coll_args_t *args,
                                         const char *call);
/* The rest; after the frame. */
xylem_status_t xyl_arguments_check_values(const xylem_team_t *team,
                                          const xylem_coll_args_t *args,
                                          const char *call);

#endif
