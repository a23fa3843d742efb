/* The ranks' first exchange when a context is created: version, settings that
 * must agree, node, process, usable processors, and their offers of shared
 * memory. */
#pragma once

#include <stdatomic.h>

#include "runtime/base/config.h"
#include "runtime/job/bootstrap.h"
#include "runtime/job/topology.h"

typedef struct xyl_peer {
    xylem_place_t place; /* all but the node is set by xyl_reach_exchange */
    int32_t pid;
    uint8_t is_local; /* runs on this machine, whatever its node is called */
    _Atomic uint8_t has_failed; /* read by any thread */
    uint8_t is_suspected;       /* has_failed follows with the failure event */
} xyl_peer_t;

static inline int xyl_peer_is_dead(const xyl_peer_t *peer)
{
    return atomic_load_explicit(&peer->has_failed, memory_order_relaxed);
}

/* A rank's own contribution. All borrowed for the call. */
typedef struct xyl_peers_mine {
    xylem_status_t status; /* not XYLEM_OK: this rank gives up; no other member
                              is set */
    const xyl_config_t *config;
    const void *offer;  /* for the ranks that share memory with this one */
    size_t offer_bytes; /* a multiple of 8, equal on all ranks */
} xyl_peers_mine_t;

/* The contributions of all ranks. */
typedef struct xyl_peers {
    xyl_peer_t *all; /* [ranks], from malloc */
    xyl_blobs_t hellos;
    uint32_t node_ranks_max; /* of the largest node */
    int tables_differ;       /* ranks have found different tuning tables */
    int speak_otherwise; /* some ranks have another version or build; all ranks
                            find this, and exchange nothing further */
    int are_together;    /* all on one machine, with the same view of it */
} xyl_peers_t;

/* Exchanges hellos and checks that the ranks fit together. A rank that gives up
 * calls this, too, since the others wait for its hello. The caller owns the
 * members of *peers_out, also after a failure. */
xylem_status_t xyl_peers_exchange(xyl_bootstrap_t *bootstrap,
                                  const xyl_peers_mine_t *mine,
                                  xyl_peers_t *peers_out);

/* Called if `rank` gives up because of the rank `culprit` (XYL_NO_CULPRIT:
 * because of itself). Returns this rank's status. The other rank has logged the
 * cause; this rank will pass the culprit on. */
xylem_status_t xyl_peer_gives_up(xyl_bootstrap_t *bootstrap, uint32_t rank,
                                 uint32_t status, uint32_t culprit);

/* Fails: the rank's contribution has arrived incomplete. */
xylem_status_t xyl_peer_is_incomplete(uint32_t rank);

/* The name of a rank's node, with a final 0: XYL_NODE_NAME_BYTES + 1 bytes. */
void xyl_peers_node(const xyl_blobs_t *hellos, uint32_t rank, char *name_out);

const xyl_cpus_t *xyl_peers_cpus(const xyl_blobs_t *hellos, uint32_t rank);

const void *xyl_peers_offer(const xyl_blobs_t *hellos, uint32_t rank);
