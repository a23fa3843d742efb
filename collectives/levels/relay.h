/* A broadcast between nodes whose segments lie in the memory of the nodes. On
 * each node one seat leads a lane. The net writes the leader's segments into
 * the node's window, and the leader sends them on from there. A few more seats
 * of a node stand by, in case its leader is late or held up
 * (docs/inside/levels.md, "Broadcasts that are sent on"). */
#pragma once

#include "collectives/data/algorithm.h"
#include "collectives/levels/team_levels.h"
#include "collectives/stages/tree_stage.h"

enum { XYL_RELAY_SEATS = 3 /* of a node: its leader, and stand-bys */ };

typedef struct xyl_relay_spec {
    xyl_tree_spec_t tree; /* between leaders */
    const xyl_levels_t *levels;
    uint32_t lane;     /* of the operation */
    uint32_t place;    /* 0: this seat leads; else how many seats precede it */
    xyl_stage_t *node; /* runs a xyl_relay_program; NULL: no windows */
    uint64_t wait_ns;  /* wait per place before a question; 0: never */
} xyl_relay_spec_t;

/* Adds a relay behind the node's stage, for a lane that is not empty. The relay
 * has two sequence numbers; stage->writes is the message. */
xylem_status_t xyl_relay_stage_add(xyl_operation_t *operation,
                                   const xyl_stage_spec_t *stage,
                                   const xyl_relay_spec_t *spec);

/* The program of a broadcast within a node with relays. On the root's node the
 * root publishes segments; on other nodes the net writes them into the window.
 * Selection does not offer it. */
extern const xyl_algorithm_t xyl_relay_program;
