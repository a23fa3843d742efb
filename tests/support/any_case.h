/* One collective of any kind as one rank calls it: types, buffers, arrays and
 * arguments filled with data known by formula, and what must be there in the
 * end, computed without the library and without the other ranks. Every byte of
 * the receive buffer is looked at, gaps included, and the send buffer must not
 * change. On the public interface only. */
#ifndef XYL_TESTS_ANY_CASE_H
#define XYL_TESTS_ANY_CASE_H

#include "include/xylem.h"
#include "tests/support/any_side.h"

typedef enum any_types {
    ANY_TYPES_PLAIN, /* predefined; ordered reductions: blocks of bytes */
    ANY_TYPES_ONE,   /* of the user's, the same on both sides and all ranks */
    ANY_TYPES_TWO,   /* each side of each rank has one of its own, and in an
                        alltoallw each block; but for reductions */
    ANY_TYPES_COUNT
} any_types_t;

typedef struct any_case {
    xylem_coll_t coll;
    uint32_t ranks, root;
    /* Of a block, or of the largest: elements of 8 bytes, or as many times
     * ANY_QUANTUM where types are the user's. */
    uint64_t count;
    any_types_t types;
    int in_place;
    /* Reductions compose maps x -> ax + b, which do not commute, by an
     * operation of the user's; else sums of 64-bit integers. */
    int is_ordered;
    uint64_t salt;
    char algorithm[40]; /* "": the library's choice */
    size_t segment_bytes;
} any_case_t;

enum { ANY_POOL = 4 };

typedef struct any_rank {
    const any_case_t *c;
    uint32_t rank;
    xylem_context_t *context;
    xylem_coll_args_t args; /* callbacks are left to the caller */
    xylem_op_t op;
    any_type_t pool[ANY_POOL];
    any_side_t send, recv;
    unsigned char *expected, *sent; /* images of recv.memory, send.memory */
    size_t checked_bytes;
} any_rank_t;

/* Draws everything but the algorithm. */
any_case_t any_case_random(uint64_t *random, xylem_coll_t coll, uint32_t ranks);
/* Text of a case, for labels. */
void any_case_text(const any_case_t *c, char *text, size_t bytes);

/* Types and operations are those of `context`. */
void any_rank_init(any_rank_t *any, const any_case_t *c, uint32_t rank,
                   xylem_context_t *context);
/* The context is still there. */
void any_rank_fini(any_rank_t *any);
/* Destroys the types, which a call that has returned does not need. */
void any_rank_drop_types(any_rank_t *any);
/* Fills the buffers again, for a further start. */
void any_rank_fill(any_rank_t *any);
/* 1 when the buffers hold what they must; else `text` says what is wrong. */
int any_rank_check(const any_rank_t *any, char *text, size_t text_bytes);

int any_reduces(xylem_coll_t coll);
int any_has_root(xylem_coll_t coll);
int any_takes_in_place(xylem_coll_t coll);
const char *any_name(xylem_coll_t coll);

#endif
