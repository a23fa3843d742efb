/* Whether the arguments of a call are right. */
#ifndef XYL_COLLECTIVES_API_ARGUMENTS_H
#define XYL_COLLECTIVES_API_ARGUMENTS_H

#include "collectives/data/description.h"
#include "runtime/core/team.h"

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
