/* The net over UCX tagged messages. */
#ifndef XYL_PROGRESS_NET_UCX_NET_UCX_H
#define XYL_PROGRESS_NET_UCX_NET_UCX_H

#include "progress/net/net.h"

/* Creates a worker whose events go to `ready`; `can_sleep` asks UCX for its
 * event descriptor. The address, *bytes_out long, belongs to the net. */
xylem_status_t xyl_net_ucx_create(xyl_fifo_t *ready, int can_sleep,
                                  xyl_net_t **net_out, const void **address_out,
                                  size_t *bytes_out);

/* How each peer is reached: addresses[peer] is borrowed until destroy;
 * is_local[peer] (copied): the peer's process runs on this machine, so that
 * its death is seen without UCX. Endpoints are created on the first send. */
xylem_status_t xyl_net_ucx_connect(xyl_net_t *net, uint32_t peers,
                                   const void *const *addresses,
                                   const uint8_t *is_local);

#endif
