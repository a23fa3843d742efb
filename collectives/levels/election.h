/* Which seat of a node leads a broadcast whose leaders may be late: the first
 * that claims to, by a word of the node stage's first piece on the board. A
 * seat that may lead waits for this at the gate of its node stage, and so has
 * not retired the piece meanwhile.
 *
 * This, relay.h and the program below are all there is to such broadcasts; the
 * rest of the library knows gates only. */
#ifndef XYL_COLLECTIVES_LEVELS_ELECTION_H
#define XYL_COLLECTIVES_LEVELS_ELECTION_H

#include "collectives/data/algorithm.h"
#include "collectives/node/stage.h"

typedef struct xyl_election {
    xyl_stage_t *stage; /* the node's */
    /* Claims may be made; one has been made. By whoever polls, or claims. */
    void (*opened)(void *arg);
    void (*decided)(void *arg, uint32_t seat);
    void *arg;
    /* The run. */
    int is_open, is_decided;
} xyl_election_t;

/* Before the first run of its stage, which `election` outlives; and before each
 * run. */
void xyl_election_hold(xyl_election_t *election);
void xyl_election_reset(xyl_election_t *election);
/* For this seat, if no other has claimed before. After `opened`, before
 * `decided`, which it calls. */
void xyl_election_claim(xyl_election_t *election);

/* Broadcasts within the node in which whoever has a segment publishes it: for
 * seats that may lead, which have a gate, and for others. Not for selection. */
extern const xyl_algorithm_t xyl_election_bcast;
extern const xyl_algorithm_t xyl_election_bcast_for_others;

#endif
