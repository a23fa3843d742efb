/* The net over UCX tagged messages. */
#ifndef XYL_PROGRESS_NET_UCX_NET_UCX_H
#define XYL_PROGRESS_NET_UCX_NET_UCX_H

#include "progress/net/net.h"

extern const xyl_net_ops_t xyl_net_ucx;

#endif
