/* The part of a context's life in which it joins its job, in three exchanges
 * of all ranks: the first says who they are, the second how they are reached
 * and where they sit, the third of each rank whether all has worked there, so
 * that the context is created on all ranks or on none. */
#ifndef XYL_RUNTIME_CORE_CONTEXT_JOIN_H
#define XYL_RUNTIME_CORE_CONTEXT_JOIN_H

#include "runtime/core/context.h"

/* For a context that is a frame so far, by the bootstrap of the user's or by
 * the one that the settings name. */
xylem_status_t xyl_context_join(xylem_context_t *context,
                                const xylem_bootstrap_t *user);
/* Without a frame there is no context, but the other ranks wait for this one in
 * all exchanges. What it fails with stays the text of the last error. */
void xyl_context_give_up(const xylem_bootstrap_t *user,
                         const xyl_config_t *config, xylem_status_t why);

#endif
