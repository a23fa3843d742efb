/* The plans that may be taken for a call: the candidates of a search. */
#pragma once

#include "bench/tune/model.h"
#include "collectives/choose/registry.h"

enum { TUNE_PLANS_MAX = 8192 };

/* The memory of calls' buffers: the host's, or that of GPUs, on which ranks
 * take turns or not (docs/tuning.md). */
enum tune_memory { TUNE_HOST, TUNE_IN_TURNS, TUNE_SIDE_BY_SIDE };

/* Ranks, on nodes of equal size. */
struct tune_shape {
    uint32_t nodes, node_ranks;
    enum tune_memory memory;
};

/* A plan, as a call names it. */
struct tune_plan {
    char algorithm[XYL_ALGORITHM_TEXT_BYTES]; /* "han:4/binary"; with what goes
                                                 within nodes, if it is named:
                                                 "han:within=node_pairs,..." */
    size_t segment_bytes;                     /* 0: it has none */
    uint32_t send_window, recv_window;        /* 0: it has none */
    uint32_t lanes; /* segments that are on their way side by side */
};

/* Lists all plans for a collective on such a team, and returns how many. In
 * plans in levels the table chooses the algorithm within nodes. */
size_t tune_plans_list(xylem_coll_t coll, const struct tune_shape *shape,
                       struct tune_plan plans[TUNE_PLANS_MAX]);

enum { TUNE_WITHIN_MAX = 16 };
/* Writes a variant of the plan for each algorithm that it may name within
 * nodes: those in the memory of a node, and messages. Returns how many: 0 for a
 * plan without levels, or one that names such an algorithm already. */
size_t tune_plan_within(xylem_coll_t coll, const struct tune_plan *plan,
                        const struct tune_shape *shape,
                        struct tune_plan variants[TUNE_WITHIN_MAX]);

/* Leaders of a node; 0: the plan has no levels, or does not name them. */
size_t tune_plan_leaders(xylem_coll_t coll, const struct tune_plan *plan);
/* 1: the plan names an algorithm within nodes. */
int tune_plan_names_within(xylem_coll_t coll, const struct tune_plan *plan);
/* Leaves the choice within nodes to the table. */
void tune_plan_by_table(struct tune_plan *plan);

/* A level by itself: its work, by its ranks alone. In an allreduce the step
 * behind the leaders' reduction is timed together with that reduction: leaders
 * come to the step when they have ended the reduction, as in algorithm 10. */
struct tune_alone {
    xylem_coll_t coll;
    struct tune_shape shape;
    struct tune_plan plan;
};
/* 0: the plan has no such level. */
int tune_plan_alone(xylem_coll_t coll, const struct tune_plan *plan,
                    const struct tune_shape *shape, enum tune_level level,
                    struct tune_alone *alone_out);

enum { TUNE_NEIGHBOURS_MAX = 8 };
/* Plans that differ in one number from a plan in segments, by a factor of two:
 * in the length of its segments, all or those within nodes, its windows, or its
 * leaders. Returns how many. */
size_t tune_plan_neighbours(xylem_coll_t coll, const struct tune_plan *plan,
                            const struct tune_shape *shape,
                            struct tune_plan neighbours[TUNE_NEIGHBOURS_MAX]);

/* 1: calls of `bytes` can take the plan, with the default room of nodes. */
int tune_plan_fits(xylem_coll_t coll, const struct tune_plan *plan,
                   const struct tune_shape *shape, size_t bytes);

/* 1: for `bytes` the plan differs from those with shorter segments or fewer
 * leaders. */
int tune_plan_applies(const struct tune_plan *plan, size_t bytes);

/* 1: the heuristics let the plan pass. */
int tune_plan_promises(xylem_coll_t coll, const struct tune_plan *plan,
                       const struct tune_shape *shape, size_t bytes);

int tune_plan_is_same(const struct tune_plan *a, const struct tune_plan *b);
