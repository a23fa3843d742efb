/* The short forms of all collectives, from the arguments of the long one. */
#pragma once

#include "collectives/data/description.h"

/* 1 when there is a short form that can be told these arguments. */
int short_form_exists(const xylem_coll_args_t *args);
xylem_status_t short_form_blocking(xylem_team_t *team,
                                   const xylem_coll_args_t *args);
xylem_status_t short_form_nonblocking(xylem_team_t *team,
                                      const xylem_coll_args_t *args,
                                      xylem_request_t **request_out);
