/* The plans that may be taken for a call: the candidates of a search. */
#ifndef XYL_BENCH_TUNE_PLANS_H
#define XYL_BENCH_TUNE_PLANS_H

#include "bench/tune/model.h"
#include "collectives/choose/registry.h"

enum { TUNE_PLANS_MAX = 8192 };

/* Where the buffers of calls lie: of the host, or of GPUs, whose ranks take
 * turns on them or do not (docs/tuning.md). */
enum tune_memory { TUNE_HOST, TUNE_IN_TURNS, TUNE_SIDE_BY_SIDE };

/* Ranks: so many on each node. */
struct tune_shape {
    uint32_t nodes, node_ranks;
    enum tune_memory memory;
};

/* As a call asks for it. */
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
/* Writes a variant of the plan for each algorithm that may be named within
 * nodes: those in the memory of a node, and messages. Returns how many: 0 for a
 * plan without levels, and for one that names such an algorithm. */
size_t tune_plan_within(xylem_coll_t coll, const struct tune_plan *plan,
                        const struct tune_shape *shape,
                        struct tune_plan variants[TUNE_WITHIN_MAX]);

/* Leaders of a node; 0: the plan has no levels, or does not name them. */
size_t tune_plan_leaders(xylem_coll_t coll, const struct tune_plan *plan);
/* 1: the plan names what goes within nodes. */
int tune_plan_names_within(xylem_coll_t coll, const struct tune_plan *plan);
/* The ranks of a node do what the table says. */
void tune_plan_by_table(struct tune_plan *plan);

/* A level by itself: the same work by ranks of which no others take part. What
 * follows the reductions to the leaders in an allreduce is timed together with
 * the reduction among them: leaders come to it when they have ended that, as in
 * algorithm 10. */
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

/* Whether calls of so many bytes can take the plan, by the room that nodes have
 * by default. */
int tune_plan_fits(xylem_coll_t coll, const struct tune_plan *plan,
                   const struct tune_shape *shape, size_t bytes);

/* Whether the plan differs, for so many bytes, from those with shorter
 * segments or fewer leaders. */
int tune_plan_applies(const struct tune_plan *plan, size_t bytes);

/* Whether it is worth a look by what is known of collectives. */
int tune_plan_promises(xylem_coll_t coll, const struct tune_plan *plan,
                       const struct tune_shape *shape, size_t bytes);

int tune_plan_is_same(const struct tune_plan *a, const struct tune_plan *b);

#endif
