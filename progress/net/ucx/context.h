/* Creates a UCX context with the configuration that the net needs. */
#pragma once

#include <ucp/api/ucp.h>

#include "progress/net/net.h"

ucs_status_t xyl_ucx_context_create(const xyl_net_params_t *given,
                                    ucp_context_h *context_out);
