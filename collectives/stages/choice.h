/* The decision for a call: the algorithm, and all its parameters. Equal on all
 * ranks. */
#pragma once

#include "collectives/data/algorithm.h"
#include "collectives/data/problem.h"
#include "collectives/stages/collective.h"

/* The ranks that an algorithm is chosen for. */
enum {
    XYL_TEAM_NODE = 1,    /* a team on one node */
    XYL_TEAM_NODES = 2,   /* a team on several */
    XYL_TEAM_SEATS = 4,   /* ranks of a node that share no memory, as a level */
    XYL_TEAM_LEADERS = 8, /* one rank of each node, as a level */
    XYL_TEAM_BOARD = 16,  /* ranks of a node that share memory, as a level */
    XYL_TEAM_ANY = XYL_TEAM_NODE | XYL_TEAM_NODES
};

/* Functions by which levels choose the algorithms that they are made of. */
typedef struct xyl_chooser {
    /* The schedule for a level: a problem among ranks of one node (SEATS) or
     * between nodes (LEADERS), with blocks of `bytes`; `radix_out` may be NULL.
     */
    const xyl_algorithm_t *(*level)(const xylem_team_t *team, uint32_t level,
                                    const xyl_problem_t *problem,
                                    uint64_t bytes, uint32_t *radix_out);
    /* The algorithm for a level in the memory of a node; sets the problem's
     * radix, and reads its `node`. Returns `named` if that fits (NULL: none is
     * named). */
    const xyl_algorithm_t *(*in_memory)(const xylem_team_t *team,
                                        const xyl_algorithm_t *named,
                                        uint32_t named_radix,
                                        xyl_problem_t *problem);
} xyl_chooser_t;

struct xyl_rule;

typedef struct xyl_choice {
    const xyl_algorithm_t *algorithm;
    /* The rule that chose the algorithm, or by which a named algorithm is run;
     * NULL: none. */
    const struct xyl_rule *rule;
    int is_named; /* chosen by name, not by the rule */
    uint32_t radix;
    size_t segment_bytes; /* 0: not cut, or as the algorithm chooses */
    /* For trees, and for levels in segments: these have the tree between nodes,
     * and the lanes. */
    xyl_plan_t frame;
    /* For levels in segments: */
    uint32_t leaders; /* of a node; each has a lane for each half */
    uint32_t halves;  /* of the tree */
    uint32_t roots; /* nodes that are roots of lanes, if the call has no root */
    xyl_shape_t node_tree; /* within nodes that go by messages */
    int is_by_messages;    /* even if they share memory */
    /* Algorithms that the user has named for the memory of a node; NULL:
     * `chooser` chooses. */
    const xyl_algorithm_t *within_up, *within_down;
    uint32_t within_radix;
    /* The algorithm for the levels of this node if its buffers lie in memory of
     * GPUs. Equal on the ranks of the node only. NULL: none. */
    const xyl_algorithm_t *on_gpus;
    /* Segments of the frame in a segment within nodes, and in one between
     * nodes: one of the two is 1. */
    uint32_t within_grain, between_grain;
    const xyl_algorithm_t *exchange; /* between nodes; NULL: the tree */
    const xyl_chooser_t *chooser;    /* for the levels */
} xyl_choice_t;
