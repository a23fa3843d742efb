/* What the ranks tell each other first when a context is created: version,
 * settings that must agree, node, process, the processors they may run on, and
 * what they offer of their memory. */
#ifndef XYL_RUNTIME_JOB_PEERS_H
#define XYL_RUNTIME_JOB_PEERS_H

#include <stdatomic.h>

#include "runtime/base/config.h"
#include "runtime/job/bootstrap.h"
#include "runtime/job/topology.h"

/* What is known of a rank of the job. */
typedef struct xyl_peer {
    xylem_place_t place; /* but for the node known from xyl_reach_exchange on */
    int32_t pid;
    uint8_t is_local; /* runs on this machine, whatever its node is called */
    _Atomic uint8_t has_failed; /* any thread reads it */
    uint8_t is_suspected; /* has_failed once the failure event is handled */
} xyl_peer_t;

static inline int xyl_peer_is_dead(const xyl_peer_t *peer)
{
    return atomic_load_explicit(&peer->has_failed, memory_order_relaxed);
}

/* What a rank says of itself. All borrowed for the call. */
typedef struct xyl_peers_mine {
    xylem_status_t status; /* not XYLEM_OK: it gives up, the rest is unset */
    const xyl_config_t *config;
    const void *offer;  /* for those who share memory with it */
    size_t offer_bytes; /* a multiple of 8, equal on all ranks */
} xyl_peers_mine_t;

/* What all have said. */
typedef struct xyl_peers {
    xyl_peer_t *all; /* [ranks], from malloc */
    xyl_blobs_t hellos;
    uint32_t node_ranks_max; /* of the largest node */
    int tables_differ;       /* that ranks have found; all see it */
    int speak_otherwise; /* some are of another version or build, as all of them
                            find: nobody knows what these exchange next */
    int are_together;    /* on one machine, where nothing stands between them */
} xyl_peers_t;

/* Exchanges hellos and checks that the ranks fit together. Also where this rank
 * gives up, as the others wait for its hello. The members of *peers_out are the
 * caller's, also after a failure. */
xylem_status_t xyl_peers_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_peers_mine_t *mine,
                                  xyl_peers_t *peers_out);

/* The status of a rank that has told this one that it gives up, and because of
 * whom (XYL_NO_CULPRIT: by itself), which this one will pass on. The log has
 * the cause from that rank. */
xylem_status_t xyl_peer_gives_up(xyl_bootstrap_t *bootstrap, uint32_t rank,
                                 uint32_t status, uint32_t culprit);

/* Says that what the rank has told is cut off. */
xylem_status_t xyl_peer_is_incomplete(uint32_t rank);

/* The name of a rank's node, with a final 0: XYL_NODE_NAME_BYTES + 1 bytes. */
void xyl_peers_node(const xyl_blobs_t *hellos, uint32_t rank, char *name_out);

/* The processors that the rank may run on. */
const xyl_cpus_t *xyl_peers_cpus(const xyl_blobs_t *hellos, uint32_t rank);

/* What the rank has offered. */
const void *xyl_peers_offer(const xyl_blobs_t *hellos, uint32_t rank);

#endif
