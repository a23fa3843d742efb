/* The decision: which algorithm a call takes, and all that it is run with.
 * Decided from what is equal on all ranks, so that all decide alike. In order
 * of precedence: the call, XYLEM_ALGORITHMS, the tables (rule.h). */
#ifndef XYL_COLLECTIVES_CHOOSE_CHOOSE_H
#define XYL_COLLECTIVES_CHOOSE_CHOOSE_H

#include "collectives/choose/algorithm.h"
#include "collectives/choose/rule.h"
#include "collectives/stages/collective.h"
#include "runtime/core/team.h"

typedef struct xyl_choice {
    const xyl_algorithm_t *algorithm;
    uint32_t radix;
    size_t segment_bytes; /* 0: not cut, or as the algorithm chooses */
    /* Trees, and levels in segments: */
    xyl_plan_t frame; /* with the tree; of levels: between nodes, and lanes */
    /* Levels in segments: */
    uint32_t leaders;      /* of a node; each has a lane for every one of: */
    uint32_t halves;       /* of that tree */
    uint32_t roots;        /* nodes with roots, where there is no other */
    xyl_shape_t node_tree; /* within nodes that share no memory */
    const xyl_algorithm_t *exchange; /* between nodes; NULL: the tree */
} xyl_choice_t;

/* `args` has been checked. Where elements have gaps does not matter, as ranks
 * need not agree on it. Fails when the call names an algorithm that the
 * collective does not have, or that does not fit. */
xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          int is_commutative, xyl_choice_t *choice_out);

/* The tree that the call names, or the tables' first; of a bcast, reduce or
 * allreduce. */
xylem_status_t xyl_choose_tree(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               int is_commutative, xyl_choice_t *choice_out);

/* The schedule for a level: a problem among ranks of one node (SEATS) or
 * between nodes (LEADERS), with blocks of `bytes`; `radix_out` may be NULL. */
struct xyl_problem;
const xyl_algorithm_t *xyl_choose_level(const xylem_team_t *team,
                                        uint32_t level,
                                        const struct xyl_problem *problem,
                                        uint64_t bytes, uint32_t *radix_out);

/* 1 when contributions to a reduction may be combined as they come. */
int xyl_choose_arrival_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative);

#endif
