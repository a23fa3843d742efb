/* Checks of the arguments of calls. */
#pragma once

#include "collectives/data/description.h"
#include "runtime/core/team.h"

/* The arguments as this library has them: `given` itself, or a copy in `own` if
 * the caller's header is of another release. */
xylem_status_t xyl_arguments_read(const xylem_coll_args_t *given,
                                  const char *call, xylem_coll_args_t *own,
                                  const xylem_coll_args_t **args_out);
/* Checks buffers, arrays and flags, which may differ from call to call of a
 * kept plan. Fails with a text that names `call`. */
xylem_status_t xyl_arguments_check_frame(const xylem_team_t *team,
                                         const xylem_coll_args_t *args,
                                         const char *call);
/* Checks all other arguments; after the frame. */
xylem_status_t xyl_arguments_check_values(const xylem_team_t *team,
                                          const xylem_coll_args_t *args,
                                          const char *call);
