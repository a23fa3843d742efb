/* Nodes that watch each other (docs/inside/runtime.md, "How a death is seen").
 * One rank of each node, its leader, has TCP connections to the leaders of a
 * few other nodes, on which only the system sends: keepalive probes.
 *
 * The nodes form a ring. Neighbours in the ring have distant numbers, since
 * nodes of one switch or rack fail together. Each node connects to the next
 * XYL_LOOKOUT_AHEAD nodes that it may watch, and both ends watch. The ring
 * skips nodes that cannot be reached or have said goodbye.
 *
 * The connecting leader sends the number (`question`) that the other leader has
 * told all ranks, and receives another (`answer`). This turns strangers away,
 * and tells apart machines with equal addresses.
 *
 * One thread at a time; nothing blocks. */
#pragma once

#include <stdint.h>

enum { XYL_LOOKOUT_AHEAD = 2, XYL_LOOKOUT_HOSTS = 4 };

/* A leader's address, sent to all ranks; zeros: it is not watched. */
typedef struct xyl_lookout_address {
    uint32_t hosts[XYL_LOOKOUT_HOSTS]; /* IPv4; in network byte order, as
                                          `port` */
    uint16_t port;
    uint16_t unused[3];
    uint64_t question, answer;
} xyl_lookout_address_t;

/* Pointers are borrowed until the end. */
typedef struct xyl_lookout_params {
    uint32_t nodes, node; /* their number, and this leader's node */
    uint64_t silence_s;   /* a node without an answer for so long is lost */
    const xyl_lookout_address_t *const *addresses; /* [nodes] */
    /* 0: the node is no longer watched, or is watched by other means. */
    int (*is_watched)(void *arg, uint32_t node);
    /* Called once per lost node. `whole`: the node does not answer; else its
     * leader has ended without a goodbye. */
    void (*lost)(void *arg, uint32_t node, int whole);
    void *arg;
} xyl_lookout_params_t;

typedef struct xyl_lookout xyl_lookout_t;

/* Begins to listen. NULL: impossible, and *address_out is all zeros. */
xyl_lookout_t *xyl_lookout_open(xyl_lookout_address_t *address_out);
/* Called once. XYLEM_OK or XYLEM_ERR_NO_MEMORY. */
int xyl_lookout_begin(xyl_lookout_t *lookout,
                      const xyl_lookout_params_t *params);
/* Handles events of the connections; called a few times a second. */
void xyl_lookout_look(xyl_lookout_t *lookout, uint64_t now_ns);
/* Says goodbye to the watched nodes. Accepts NULL. */
void xyl_lookout_close(xyl_lookout_t *lookout);

/* The number of watched connections. */
uint32_t xyl_lookout_count(const xyl_lookout_t *lookout);
/* The node `hops` places behind `node` in the ring. */
uint32_t xyl_lookout_next(uint32_t nodes, uint32_t node, uint32_t hops);
