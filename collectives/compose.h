/* Collectives as stages in series: each function plans one on one rank. All
 * return owned (free with xyl_request_discard, or by the user). */
#ifndef XYL_COLLECTIVES_COMPOSE_H
#define XYL_COLLECTIVES_COMPOSE_H

#include "collectives/operation.h"
#include "runtime/team.h"

xylem_status_t xyl_bcast_create(xylem_team_t *team,
                                const xylem_coll_args_t *args,
                                xyl_operation_t **operation_out);
xylem_status_t xyl_reduce_create(xylem_team_t *team,
                                 const xylem_coll_args_t *args,
                                 xyl_operation_t **operation_out);
/* A reduce to rank 0 and a broadcast from it, joined segment by segment;
 * args->root is not used. In place when args->send is XYLEM_IN_PLACE. */
xylem_status_t xyl_allreduce_create(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_operation_t **operation_out);

/* What combines, for args->op on args->type. */
xylem_status_t xyl_combiner_find(xylem_context_t *context,
                                 const xylem_coll_args_t *args,
                                 xyl_combiner_t *combiner_out);

#endif
