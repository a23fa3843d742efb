/* Collectives as stages in series: the functions plan a collective on one rank.
 * They return owned (freed by xyl_request_discard, or by the user). */
#pragma once

#include "collectives/data/call.h"
#include "collectives/stages/choice.h"
#include "runtime/core/team.h"

/* Plans any collective as selection chooses; the call has been resolved. On
 * success the operation owns the call's sides. Buffers are not bound yet. */
xylem_status_t xyl_compose_create(const xyl_call_t *call,
                                  xyl_choice_t *choice_out,
                                  xyl_operation_t **operation_out);

/* Plans an exchange that ranks of a team make beside the calls of the program.
 * *table_out is memory of the operation, `bytes` bytes of zeros. Each rank
 * writes its part there and starts the operation, which combines the tables of
 * all ranks by bitwise or, calls `done` with `arg`, and frees itself. */
xylem_status_t xyl_compose_table(xylem_team_t *team, size_t bytes,
                                 uint32_t flags, xylem_complete_fn done,
                                 void *arg, void **table_out,
                                 xyl_operation_t **operation_out);

/* Fails, with a text that names `call`, unless `args` can be planned for
 * `team`. */
xylem_status_t xyl_coll_check(const xylem_team_t *team,
                              const xylem_coll_args_t *args, const char *call);

/* Notes that a collective call of this rank was refused with `status`: other
 * ranks may have made it, and wait for this rank. */
void xyl_compose_refuse(xylem_team_t *team, xylem_status_t status);

/* For the short forms: blocking, and nonblocking. */
xylem_status_t xyl_coll_run(xylem_team_t *team, const xylem_coll_args_t *args,
                            const char *call);
xylem_status_t xyl_coll_begin(xylem_team_t *team, const xylem_coll_args_t *args,
                              const char *call, xylem_request_t **request_out);
