/* Creates a UCX context with the configuration that the net needs. */
#ifndef XYL_PROGRESS_NET_UCX_CONTEXT_H
#define XYL_PROGRESS_NET_UCX_CONTEXT_H

#include <ucp/api/ucp.h>

#include "progress/net/net.h"

ucs_status_t xyl_ucx_context_create(const xyl_net_params_t *given,
                                    ucp_context_h *context_out);

#endif
