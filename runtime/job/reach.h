/* What the ranks tell each other once they know who they are: how each is
 * reached, and where in its machine it sits. A machine is read by one rank of
 * each node, for all of them: the system makes those wait for each other who
 * read it at once. */
#ifndef XYL_RUNTIME_JOB_REACH_H
#define XYL_RUNTIME_JOB_REACH_H

#include "runtime/job/lookout.h"
#include "runtime/job/peers.h"

enum { XYL_REACH_NET_BYTES = 16 }; /* of the name of a net */

/* What a rank says of itself. All borrowed for the call. */
typedef struct xyl_reach_mine {
    xylem_status_t status;        /* not XYLEM_OK: it gives up, */
    const xyl_machine_t *machine; /* and the rest is unset */
    const xylem_place_t *places;  /* of its node's ranks, in their order; NULL:
                                     another rank has read the machine */
    uint32_t place_count;
    xyl_lookout_address_t lookout;
    const char *net; /* alike on all ranks */
    const void *address;
    size_t address_bytes;
} xyl_reach_mine_t;

/* What all have said. */
typedef struct xyl_reach {
    xyl_machine_t machine;  /* this rank's */
    xyl_blobs_t blobs;      /* hold the addresses */
    const void **addresses; /* [ranks], from malloc; they lie in the blobs */
} xyl_reach_t;

/* Exchanges that, also where this rank gives up, and completes the places of
 * the peers. The members of *reach_out are the caller's, also after a failure.
 */
xylem_status_t xyl_reach_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_reach_mine_t *mine,
                                  xyl_peer_t *peers, xyl_reach_t *reach_out);

/* What the rank has told of its lookout; zeros: it is not watched. */
const xyl_lookout_address_t *xyl_reach_lookout(const xyl_blobs_t *blobs,
                                               uint32_t rank);

#endif
