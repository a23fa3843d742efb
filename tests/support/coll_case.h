/* One collective with all its arguments, as tests draw it. */
#pragma once

#include "include/xylem.h"

typedef enum coll_data {
    COLL_BYTES,   /* bcast: any number of bytes */
    COLL_UINT32,  /* sums that wrap around */
    COLL_FLOAT64, /* sums whose bits depend on the association */
    COLL_AFFINE,  /* maps x -> ax + b modulo 2^32: composed in rank order */
    COLL_DATA_COUNT
} coll_data_t;

enum { COLL_ALGORITHM_BYTES = 24 };

typedef struct coll_case {
    xylem_coll_t coll;
    coll_data_t data;
    uint32_t root;
    char algorithm[COLL_ALGORITHM_BYTES]; /* "": the library's choice */
    size_t count;
    size_t segment_bytes;
    uint32_t send_window, recv_window;
    uint32_t flags;
    int in_place;     /* at the root of a reduce */
    int persistent;   /* xylem_coll_init, then started by the test */
    int no_callbacks; /* completion is seen by the request's state only */
    int no_segments;  /* no on_segment: plans may then be used again */
} coll_case_t;

size_t coll_element_bytes(coll_data_t data);

/* Draws a case for a team of `ranks`; data and collective, too. */
coll_case_t coll_case_random(uint64_t *random, uint32_t ranks);
/* As many segments, each `factor` times as long. */
void coll_case_enlarge(coll_case_t *c, size_t factor);
/* The trees that a case may name, and the library's choice. */
size_t coll_case_trees(void);
/* Names the tree of that number, with a radix near `radix` if it takes one. */
void coll_case_tree(coll_case_t *c, size_t tree, uint32_t radix);
/* Draws one. */
void coll_case_random_tree(uint64_t *random, coll_case_t *c);
/* Text of a case, for labels. */
void coll_case_text(const coll_case_t *c, uint32_t ranks, char *text,
                    size_t bytes);
