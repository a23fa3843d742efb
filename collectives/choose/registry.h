/* The registry of algorithms: the entries (data/algorithm.h) that are listed in
 * collectives/meson.build. Trees, which know no collectives, are entries here
 * by their names.
 *
 * Selection, xylem-bench and the tests read the registry. Everything in it is
 * constant; any thread. */
#ifndef XYL_COLLECTIVES_CHOOSE_REGISTRY_H
#define XYL_COLLECTIVES_CHOOSE_REGISTRY_H

#include "collectives/data/algorithm.h"
#include "collectives/data/problem.h"

/* All, *count_out of them. */
const xyl_algorithm_t *const *xyl_algorithms(size_t *count_out);

/* The first of that name; NULL: the collective has none. */
const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name);
/* The first of that kind; NULL: the collective has none. */
const xyl_algorithm_t *xyl_algorithm_of_kind(xylem_coll_t coll,
                                             xyl_algorithm_kind_t kind);

/* What "name:K" may be. */
const xyl_radix_t *xyl_algorithm_radix(const xyl_algorithm_t *algorithm);
const char *xyl_algorithm_help(const xyl_algorithm_t *algorithm);

/* 1 when it can solve the problem, which NULL cannot; else `why` (may be NULL)
 * says what is missing, a static string. */
int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const xyl_problem_t *problem, const char **why);

/* An algorithm of a collective with its parameter. */
typedef struct xyl_named {
    const xyl_algorithm_t *algorithm; /* NULL: the library's choice */
    uint32_t radix; /* 0: it takes none, or leaves it to the table */
    /* What goes between nodes of levels in segments; NULL: the table says. */
    const xyl_algorithm_t *between;
    uint32_t between_radix;
    /* And within nodes; NULL: the table says. The name of an algorithm in the
     * memory of a node ("node" stands for the table's choice), of a tree whose
     * ranks send messages, or "ucx", a tree of the library's choice. */
    const char *within;
    uint32_t within_radix;
    /* Bytes of the segments of levels; 0: the call, or the table, says. */
    size_t segment_bytes, within_segment_bytes;
} xyl_named_t;

/* The collective whose algorithms go between nodes: a barrier in levels is an
 * allreduce. */
xylem_coll_t xyl_coll_between(xylem_coll_t coll);
/* 1 when it can go between the nodes of that collective's levels in segments: a
 * tree of one group, or a schedule of an allreduce. */
int xyl_algorithm_goes_between(xylem_coll_t coll,
                               const xyl_algorithm_t *algorithm);

extern const char xyl_within_ucx[];

enum { XYL_ALGORITHM_WHY_BYTES = 128, XYL_ALGORITHM_TEXT_BYTES = 128 };

/* "name", "name:K" or "auto"; for levels in segments "name/between" and
 * "name:K/between:K" as well, or their parts by name, in any order:
 * "name:leaders=K,between=name:K,within=name:K,segment=64K,within_segment=16K",
 * of which segments are one a multiple of the other. Capitals are like others.
 * 0: that is none of the collective's, and `why` has words on it that may
 * follow the text. */
int xyl_algorithm_parse(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why);
/* The text that is parsed as this. Parts have names where something is said of
 * the levels within nodes, or of segments. */
void xyl_algorithm_print(const xyl_named_t *named,
                         char text[XYL_ALGORITHM_TEXT_BYTES]);
/* 1: segments of levels end together where these meet; 0: a level has none of
 * its own. */
int xyl_segments_meet(size_t segment_bytes, size_t within_segment_bytes);
/* 1: text begins with one of those parts' names and "=". */
int xyl_algorithm_is_part(const char *text);

#endif
