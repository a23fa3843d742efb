/* Nodes that watch each other, so that one that is cut off from the net, or
 * off, is missed also by those who only wait for it. One rank of each node, its
 * leader, has connections of TCP to those of a few other nodes, on which
 * nothing is sent: the system asks the other one's from time to time and ends a
 * connection that is not answered. A process that is stopped or computes is
 * therefore no death, and nothing of it is on the way of a message.
 *
 * The nodes are a ring, in steps that take neighbours far apart, as those of
 * one switch or rack are lost together. Each connects to the next
 * XYL_LOOKOUT_AHEAD of them that it may watch, and both ends watch. One that
 * cannot be reached, or has said goodbye, is passed over.
 *
 * Who connects says the number that the other has told all ranks, and is told
 * another: strangers are turned away, and addresses that several machines have
 * are not taken for each other.
 *
 * One thread at a time; nothing blocks. */
#ifndef XYL_RUNTIME_JOB_LOOKOUT_H
#define XYL_RUNTIME_JOB_LOOKOUT_H

#include <stdint.h>

enum { XYL_LOOKOUT_AHEAD = 2, XYL_LOOKOUT_HOSTS = 4 };

/* What a leader tells all ranks; zeros: it is not watched. */
typedef struct xyl_lookout_address {
    uint32_t hosts[XYL_LOOKOUT_HOSTS]; /* IPv4; as port, in the net's order */
    uint16_t port;
    uint16_t unused[3];
    uint64_t question, answer;
} xyl_lookout_address_t;

/* Pointers are borrowed until the end. */
typedef struct xyl_lookout_params {
    uint32_t nodes, node; /* how many, and whose leader this is */
    uint64_t silence_s;   /* without an answer, and a node is lost */
    const xyl_lookout_address_t *const *addresses; /* [nodes] */
    /* 0: no more, or it is seen otherwise. */
    int (*is_watched)(void *arg, uint32_t node);
    /* Once for a node. `whole`: it does not answer; else its leader has ended
     * without a goodbye. */
    void (*lost)(void *arg, uint32_t node, int whole);
    void *arg;
} xyl_lookout_params_t;

typedef struct xyl_lookout xyl_lookout_t;

/* Listens. NULL: it is not possible, and *address_out is that of nobody. */
xyl_lookout_t *xyl_lookout_open(xyl_lookout_address_t *address_out);
/* Once; XYLEM_ERR_NO_MEMORY. */
int xyl_lookout_begin(xyl_lookout_t *lookout,
                      const xyl_lookout_params_t *params);
/* Looks what has happened; some times a second. */
void xyl_lookout_look(xyl_lookout_t *lookout, uint64_t now_ns);
/* Says goodbye. NULL is allowed. */
void xyl_lookout_close(xyl_lookout_t *lookout);

/* How many connections are watched. */
uint32_t xyl_lookout_count(const xyl_lookout_t *lookout);
/* The node that comes after so many others, from `node` on. */
uint32_t xyl_lookout_next(uint32_t nodes, uint32_t node, uint32_t hops);

#endif
