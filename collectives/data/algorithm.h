/* An algorithm: an entry, xyl_algorithm_NAME, in the file that says how it
 * works. The entry has its name, the collectives that it carries out, what it
 * needs and takes, and the function that plans it. The registry
 * (choose/registry.h) lists all entries. Constant; any thread. */
#pragma once

#include "collectives/data/list.h"
#include "include/xylem.h"
#include "trees/tree.h"

struct xyl_problem;
struct xyl_schedule;
struct xyl_node_program;
struct xyl_han;
struct xyl_call;

typedef enum xyl_algorithm_kind {
    XYL_ALGORITHM_TREE,     /* stages along a tree, in segments */
    XYL_ALGORITHM_SCHEDULE, /* an exchange stage */
    XYL_ALGORITHM_NODE,     /* a stage in the shared memory of a node */
    XYL_ALGORITHM_LANES,    /* levels in series, in segments */
    XYL_ALGORITHM_LEVELS,   /* levels in series, the whole message at once */
    XYL_ALGORITHM_KINDS
} xyl_algorithm_kind_t;

enum {
    XYL_NEEDS_COMMUTATIVE = 1,  /* operations */
    XYL_NEEDS_EVEN = 2,         /* ranks */
    XYL_NEEDS_FILLED_NODES = 4, /* ranks are numbered node after node */
    XYL_TAKES_SEGMENTS = 8,
    XYL_READS_CALL = 16,   /* the arguments, beside the problem */
    XYL_NEEDS_DEVICE = 32, /* ranks that tell each other of memory of GPUs */
    /* The name stands for the tables' first algorithm of its kind. */
    XYL_STANDS_FOR_KIND = 64
};

#define XYL_COLL_BIT(coll) (1u << XYLEM_COLL_##coll)

/* How an algorithm runs the levels of a collective within a node
 * (levels/parts.c). Other nodes need not know which way a node goes. If the
 * buffers of a run do not suit the algorithm, the run uses the stages that
 * every operation in levels has. `begin` adds its stages before those of all
 * lanes. `end` adds its stages, and those of mirrors, behind them. `han` keeps
 * errors. */
typedef struct xyl_node_level {
    uint32_t colls; /* XYL_COLL_BIT of each, of the whole call */
    void (*begin)(struct xyl_han *han);
    void (*end)(struct xyl_han *han, const struct xyl_call *call);
} xyl_node_level_t;

typedef struct xyl_algorithm {
    const char *name;
    const char *help; /* with author and year of its source */
    xyl_algorithm_kind_t kind;
    uint32_t colls;    /* XYL_COLL_BIT of each */
    uint32_t needs;    /* or takes */
    xyl_radix_t radix; /* LANES: leaders of a node, 0 leaves them to the table;
                          TREE: see xyl_algorithm_radix */
    union {
        const xyl_tree_t *tree;
        void (*write)(const struct xyl_problem *problem,
                      struct xyl_schedule *schedule);
        void (*program)(const struct xyl_problem *problem,
                        struct xyl_node_program *program);
        /* LANES: adds the stages of han->lane. `han` keeps errors. */
        void (*add_stages)(struct xyl_han *han);
    };
    /* NODE: returns NULL if the algorithm fits the problem, in which the node's
     * part is set; else what is missing, a static string. Reads only what is
     * equal on all ranks. NULL: it fits all problems. */
    const char *(*lacks)(const struct xyl_problem *problem);
    const xyl_node_level_t *level; /* NULL: it runs no levels */
} xyl_algorithm_t;

/* In an entry: the kind, and the function of that kind. */
#define XYL_BY_SCHEDULE(fn) .kind = XYL_ALGORITHM_SCHEDULE, .write = (fn)
#define XYL_BY_PROGRAM(fn)  .kind = XYL_ALGORITHM_NODE, .program = (fn)
#define XYL_BY_LEVELS(fn)   .kind = XYL_ALGORITHM_LEVELS, .add_stages = (fn)

#define XYL_ALGORITHM_DECLARE(name)                                            \
    extern const xyl_algorithm_t xyl_algorithm_##name;
XYL_ALGORITHM_LIST(XYL_ALGORITHM_DECLARE)
#undef XYL_ALGORITHM_DECLARE

static inline int xyl_algorithm_does(const xyl_algorithm_t *algorithm,
                                     xylem_coll_t coll)
{
    return (algorithm->colls >> coll & 1) != 0;
}

/* 1: it does the levels within nodes of that collective. */
static inline int xyl_entry_does_levels(const xyl_algorithm_t *algorithm,
                                        xylem_coll_t coll)
{
    return algorithm->level != NULL &&
           (algorithm->level->colls >> coll & 1) != 0;
}
