/* The registry of algorithms: the entries (data/algorithm.h) that
 * collectives/meson.build lists, and an entry for each tree, as trees know no
 * collectives.
 *
 * Selection, xylem-bench and the tests read the registry. It is constant; any
 * thread. */
#pragma once

#include "collectives/data/algorithm.h"
#include "collectives/data/problem.h"

/* All entries, *count_out of them. */
const xyl_algorithm_t *const *xyl_algorithms(size_t *count_out);

/* The collective's first algorithm of that name. NULL: none. */
const xyl_algorithm_t *xyl_algorithm_find(xylem_coll_t coll, const char *name);
/* The collective's first algorithm of that kind. NULL: none. */
const xyl_algorithm_t *xyl_algorithm_of_kind(xylem_coll_t coll,
                                             xyl_algorithm_kind_t kind);

/* The range of K in "name:K". */
const xyl_radix_t *xyl_algorithm_radix(const xyl_algorithm_t *algorithm);
const char *xyl_algorithm_help(const xyl_algorithm_t *algorithm);

/* 1: the algorithm can solve the problem; NULL cannot. Else `why` (may be NULL)
 * is a static string that says what is missing. */
int xyl_algorithm_fits(const xyl_algorithm_t *algorithm,
                       const xyl_problem_t *problem, const char **why);

/* An algorithm of a collective with its parameter. */
typedef struct xyl_named {
    const xyl_algorithm_t *algorithm; /* NULL: the library's choice */
    uint32_t radix; /* 0: it takes none, or leaves it to the table */
    /* The algorithm between nodes, for levels in segments; NULL: the table
     * decides. */
    const xyl_algorithm_t *between;
    uint32_t between_radix;
    /* The algorithm within nodes: one in the memory of a node ("node": the
     * table's choice), a tree whose ranks send messages, or "ucx", a tree of
     * the library's choice; NULL: the table decides. */
    const char *within;
    uint32_t within_radix;
    /* Bytes of the segments of levels; 0: the call, or the table, decides. */
    size_t segment_bytes, within_segment_bytes;
} xyl_named_t;

/* The collective that levels run between nodes; a barrier's is allreduce. */
xylem_coll_t xyl_registry_between(xylem_coll_t coll);
/* 1: the algorithm can run between nodes in that collective's levels in
 * segments: a tree of one group, or a schedule of an allreduce. */
int xyl_algorithm_goes_between(xylem_coll_t coll,
                               const xyl_algorithm_t *algorithm);

extern const char xyl_within_ucx[];

enum { XYL_ALGORITHM_WHY_BYTES = 128, XYL_ALGORITHM_TEXT_BYTES = 128 };

/* Parses "name", "name:K" or "auto"; for levels in segments also "name/between"
 * and "name:K/between:K", or the parts by name, in any order:
 * "name:leaders=K,between=name:K,within=name:K,segment=64K,within_segment=16K",
 * where one segment is a multiple of the other. Case does not matter. 0: the
 * collective has no such algorithm, and `why` has words that may follow the
 * text. */
int xyl_algorithm_parse(xylem_coll_t coll, const char *text,
                        xyl_named_t *named_out, char *why);
/* Prints a text that is parsed as `named`. The text names parts if one is for
 * the levels within nodes, or for segments. */
void xyl_algorithm_print(const xyl_named_t *named,
                         char text[XYL_ALGORITHM_TEXT_BYTES]);
/* 1: one length is a multiple of the other, or 0: a level has no segments of
 * its own. */
int xyl_segments_meet(size_t segment_bytes, size_t within_segment_bytes);
/* 1: text begins with the name of a part and "=". */
int xyl_algorithm_is_part(const char *text);
