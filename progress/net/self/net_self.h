/* The net of a job of one rank: its messages to itself. */
#ifndef XYL_PROGRESS_NET_SELF_NET_SELF_H
#define XYL_PROGRESS_NET_SELF_NET_SELF_H

#include "progress/net/net.h"

extern const xyl_net_ops_t xyl_net_self;

#endif
