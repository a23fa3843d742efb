/* The registry of algorithms. Each is an entry, xyl_algorithm_NAME, in the file
 * that says how it works: what it is called, which collectives it carries out,
 * what it needs and takes, and the function that plans it. All are listed in
 * collectives/meson.build. Trees, which know no collectives, are entries here
 * by their names.
 *
 * Selection, xylem-bench and the tests read the registry. Everything in it is
 * constant; any thread. */
#ifndef XYL_COLLECTIVES_CHOOSE_ALGORITHM_H
#define XYL_COLLECTIVES_CHOOSE_ALGORITHM_H

#include "collectives/choose/list.h"
#include "include/xylem.h"
#include "trees/tree.h"

struct xyl_problem;
struct xyl_schedule;
struct xyl_node_program;
struct xyl_han;

typedef enum xyl_algorithm_kind {
    XYL_ALGORITHM_TREE,     /* stages along a tree, in segments */
    XYL_ALGORITHM_SCHEDULE, /* an exchange stage */
    XYL_ALGORITHM_NODE,     /* a stage in the shared memory of a node */
    XYL_ALGORITHM_LANES,    /* levels in series, in segments */
    XYL_ALGORITHM_LEVELS,   /* levels in series, each all there is at once */
    XYL_ALGORITHM_KINDS
} xyl_algorithm_kind_t;

enum {
    XYL_NEEDS_COMMUTATIVE = 1,      /* operations */
    XYL_NEEDS_POWER_OF_TWO = 2,     /* ranks */
    XYL_NEEDS_EVEN = 4,             /* ranks */
    XYL_NEEDS_ELEMENT_PER_RANK = 8, /* at least as many as ranks */
    XYL_NEEDS_FILLED_NODES = 16,    /* ranks are numbered node after node */
    XYL_TAKES_SEGMENTS = 32
};

#define XYL_COLL_BIT(coll) (1u << XYLEM_COLL_##coll)

typedef struct xyl_algorithm {
    const char *name;
    const char *help; /* with author and year of what it is after */
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
        /* LANES: those of han->lane. */
        xylem_status_t (*add_stages)(struct xyl_han *han);
    };
} xyl_algorithm_t;

#define XYL_ALGORITHM_DECLARE(name)                                            \
    extern const xyl_algorithm_t xyl_algorithm_##name;
XYL_ALGORITHM_LIST(XYL_ALGORITHM_DECLARE)
#undef XYL_ALGORITHM_DECLARE

/* All, *count_out of them. */
const xyl_algorithm_t *const *xyl_algorithms(size_t *count_out);

static inline int xyl_algorithm_does(const xyl_algorithm_t *algorithm,
                                     xylem_coll_t coll)
{
    return (algorithm->colls >> coll & 1) != 0;
}

/* The first of that name; NULL: the collective has none. */
const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name);
/* The first of that kind; NULL: the collective has none. */
const xyl_algorithm_t *xyl_algorithm_of_kind(xylem_coll_t coll,
                                             xyl_algorithm_kind_t kind);

/* What "name:K" may be. */
const xyl_radix_t *xyl_algorithm_radix(const xyl_algorithm_t *algorithm);
const char *xyl_algorithm_help(const xyl_algorithm_t *algorithm);

/* 1 when it can solve the problem; else `why` (may be NULL) says what is
 * missing, a static string. */
int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const struct xyl_problem *problem, const char **why);

/* An algorithm of a collective with its parameter. */
typedef struct xyl_named {
    const xyl_algorithm_t *algorithm; /* NULL: the library's choice */
    uint32_t radix; /* 0: it takes none, or leaves it to the table */
} xyl_named_t;

enum { XYL_ALGORITHM_WHY_BYTES = 128, XYL_ALGORITHM_TEXT_BYTES = 64 };

/* "name", "name:K" or "auto"; capitals are like others. 0: that is none of the
 * collective's, and `why` has words on it that may follow the text. */
int xyl_algorithm_parse(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why);
/* The same the other way, in XYL_ALGORITHM_TEXT_BYTES bytes. */
void xyl_algorithm_print(const xyl_named_t *named, char *text);

#endif
