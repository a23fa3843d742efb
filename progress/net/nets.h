/* The nets of this library, and which of them a job uses. */
#pragma once

#include "progress/net/list.h"
#include "progress/net/net.h"

#define XYL_NET_DECLARE(name) extern const xyl_net_ops_t xyl_net_##name;
XYL_NET_LIST(XYL_NET_DECLARE)
#undef XYL_NET_DECLARE

/* In the order of trial; ends with NULL. */
extern const xyl_net_ops_t *const xyl_nets[];

/* Creates the net of that name, or with `name` NULL the first that can serve
 * the job and works. Returns owned (free with its destroy). */
xylem_status_t xyl_nets_create(const char *name, const xyl_net_params_t *params,
                               xyl_net_t **net_out);
