/* The ranks' second exchange: the address of each, and its place in its
 * machine. One rank of each node reads the machine for all ranks of the node:
 * ranks that read at once would wait for each other in the system. */
#pragma once

#include "runtime/job/lookout.h"
#include "runtime/job/peers.h"

enum { XYL_REACH_NET_BYTES = 16 }; /* of the name of a net */

/* A rank's own contribution. All borrowed for the call. */
typedef struct xyl_reach_mine {
    xylem_status_t status; /* not XYLEM_OK: this rank gives up; no other member
                              is set */
    const xyl_machine_t *machine;
    const xylem_place_t *places; /* of its node's ranks, in their order; NULL:
                                    another rank has read the machine */
    uint32_t place_count;
    xyl_lookout_address_t lookout;
    const char *net; /* must be equal on all ranks */
    const void *address;
    size_t address_bytes;
} xyl_reach_mine_t;

/* The contributions of all ranks. */
typedef struct xyl_reach {
    xyl_machine_t machine;  /* this rank's */
    xyl_blobs_t blobs;      /* hold the addresses */
    const void **addresses; /* [ranks], from malloc; point into the blobs */
} xyl_reach_t;

/* Exchanges contributions and completes the places of the peers. A rank that
 * gives up calls this, too. The caller owns the members of *reach_out, also
 * after a failure. */
xylem_status_t xyl_reach_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_reach_mine_t *mine,
                                  xyl_peer_t *peers, xyl_reach_t *reach_out);

/* The address of the rank's lookout; zeros: it is not watched. */
const xyl_lookout_address_t *xyl_reach_lookout(const xyl_blobs_t *blobs,
                                               uint32_t rank);
