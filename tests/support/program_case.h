/* A problem for node programs, with memory for all seats and the expected
 * result, computed from the collective's definition. Each seat's memory is one
 * array, in which the buffers lie between guards. */
#pragma once

#include "collectives/data/limits.h"
#include "tests/support/program_run.h"

enum { PROGRAM_SEATS_MAX = 17 };

/* How seats lie in groups, of sizes that `salt` draws. */
typedef enum program_groups {
    PROGRAM_GROUPS_NONE,
    PROGRAM_GROUPS_RANGES,
    PROGRAM_GROUPS_SCATTERED,
    PROGRAM_GROUPS_KINDS
} program_groups_t;

typedef struct program_case {
    xylem_coll_t coll;
    uint32_t seats, root;
    uint64_t count;       /* elements of the message, or of the largest block */
    size_t element_bytes; /* 1 or 8 */
    int in_place;         /* if the collective has that */
    int varies;           /* v forms, reduce_scatter: blocks differ */
    int is_level;         /* of several */
    uint64_t gap;         /* gather, scatter: between the blocks of the root */
    int in_arrival_order; /* of a reduce that commutes */
    uint64_t window_bytes, segment_bytes;
    uint64_t share_bytes; /* others see the memory of some seats */
    int sees_all;         /* of all */
    program_groups_t groups;
    uint32_t radix;  /* of the algorithm; 0: `salt` draws one */
    int shows_order; /* of combining, by an operation that is not associative;
                        it must be that of groups */
    uint64_t salt;
    const xyl_limits_t *limits; /* NULL: the built-in ones */
    const char *algorithm;      /* NULL: `salt` draws one that fits. If it does
                                   not fit: the registry's first that does, as
                                   for "node" */
} program_case_t;

/* 1: elements have one byte, as blocks may be cut anywhere. */
int program_case_is_of_bytes(xylem_coll_t coll);
int program_case_varies(xylem_coll_t coll);
int program_case_has_groups(xylem_coll_t coll); /* when it is short */
/* The smallest window that collectives can work with. */
uint64_t program_case_window_min(const program_case_t *c);

/* Writes the programs and fills the memory. */
void program_case_init(program_run_t *run, const program_case_t *c);
void program_case_fini(program_run_t *run);
/* Fails the running case, with the run's mistake. */
void program_case_complain(const program_run_t *run, const program_case_t *c);
/* Runs the case once, or in up to so many orders, and complains about mistakes;
 * returns the number of orders tried. */
uint64_t program_case_try(const program_case_t *c, uint64_t seed,
                          uint64_t orders_max);
program_run_options_t program_case_options(const program_case_t *c,
                                           uint64_t seed, uint64_t orders_max);
