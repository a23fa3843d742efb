/* A context joins its job in three exchanges between all ranks, so that all of
 * them create the context, or none (docs/inside/runtime.md). */
#pragma once

#include "runtime/core/context.h"

/* Joins a context of which only the frame exists: the parts that need no other
 * rank. `user` NULL: by the bootstrap that the settings name. */
xylem_status_t xyl_context_join(xylem_context_t *context,
                                const xylem_bootstrap_t *user);
/* For a rank that could not create its frame: takes part in all exchanges, as
 * the other ranks wait for this one. The text of the last error stays. */
void xyl_context_give_up(const xylem_bootstrap_t *user,
                         const xyl_config_t *config, xylem_status_t why);

/* Two steps of joining, for contexts made of parts. The team of all ranks comes
 * after all else. */
void xyl_context_net_attach(xylem_context_t *context, xyl_net_t *net);
xylem_status_t xyl_context_world_create(xylem_context_t *context);
