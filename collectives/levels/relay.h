/* A broadcast between nodes whose leaders may be late (XYLEM_BYPASS_US). On
 * each node one seat *should* lead a lane, and the next few may. They stand for
 * election when there is something to lead, each when those before it have had
 * their time; the first to claim so on the node's board leads. So nobody knows
 * beforehand who leads another node:
 *
 *     who leads the parent's node   -- "it is me" -->  all who may lead here
 *     who leads the parent's node   <-- "it is me" --  who leads here
 *     who leads the parent's node   -- segments ---->  who leads here
 *
 * Whoever is late finds the word of the parent's node, and all segments in the
 * memory of its own. Messages name as their sender the seat that should lead,
 * so receives need not know who does. Nobody is passed who has claimed.
 *
 * This stage stands behind the node's, which it feeds: what comes from the net
 * is published by the seat that has it, and copied by the others.
 */
#ifndef XYL_COLLECTIVES_LEVELS_RELAY_H
#define XYL_COLLECTIVES_LEVELS_RELAY_H

#include "collectives/levels/team_levels.h"
#include "collectives/stages/tree_stage.h"

enum { XYL_RELAY_SEATS = 4 /* of a node that may lead a lane, at most */ };

static inline uint32_t xyl_relay_seats(const xyl_levels_t *levels,
                                       uint32_t node)
{
    uint32_t seats = xyl_levels_seats(levels, node);

    return seats < XYL_RELAY_SEATS ? seats : XYL_RELAY_SEATS;
}

typedef struct xyl_relay_spec {
    xyl_tree_spec_t tree; /* between those that should lead */
    const xyl_levels_t *levels;
    uint32_t seat;     /* this rank's on its node */
    uint32_t place;    /* how many come before it: below XYL_RELAY_SEATS */
    xyl_stage_t *node; /* the node's stage, with elections; NULL: it has none,
                          and who should lead does */
    uint64_t wait_ns;  /* for each that comes before */
} xyl_relay_spec_t;

/* Adds the stage on a rank that may lead; `stage` says which stage of
 * the node takes what comes from the net; for lanes that carry something. It
 * takes two numbers for its messages. At the root its input is segment_ready;
 * elsewhere the net, or what the node's stage emits. The message is what it
 * writes. */
xylem_status_t xyl_relay_stage_add(xyl_operation_t *operation,
                                   const xyl_stage_spec_t *stage,
                                   const xyl_relay_spec_t *spec);

#endif
