/* One collective of any kind as one rank calls it: types, buffers, arrays and
 * arguments, filled with data by formula, and the expected result, computed
 * without the library and without the other ranks. Every byte of the receive
 * buffer is checked, gaps included, and the send buffer must not change. On the
 * public interface only. */
#pragma once

#include "include/xylem.h"
#include "tests/support/call_side.h"

typedef enum call_types {
    CALL_TYPES_PLAIN, /* predefined; ordered reductions: blocks of bytes */
    CALL_TYPES_ONE,   /* of the user's, the same on both sides and all ranks */
    CALL_TYPES_TWO,   /* each side of each rank has one of its own, and in an
                        alltoallw each block; but for reductions */
    CALL_TYPES_COUNT
} call_types_t;

typedef struct call_case {
    xylem_coll_t coll;
    uint32_t ranks, root;
    /* Of a block, or of the largest: elements of 8 bytes, or CALL_QUANTUM times
     * as many if types are the user's. */
    uint64_t count;
    call_types_t types;
    int in_place;
    /* Reductions compose maps x -> ax + b, which do not commute, by an
     * operation of the user's; else sums of 64-bit integers. */
    int is_ordered;
    uint64_t salt;
    char algorithm[128]; /* "": the library's choice */
    size_t segment_bytes;
} call_case_t;

enum { CALL_POOL = 4 };

typedef struct call_rank {
    const call_case_t *c;
    uint32_t rank;
    xylem_context_t *context;
    xylem_coll_args_t args; /* callbacks are left to the caller */
    xylem_op_t op;
    call_type_t pool[CALL_POOL];
    call_side_t send, recv;
    unsigned char *expected, *sent; /* images of recv.memory, send.memory */
    size_t checked_bytes;
} call_rank_t;

/* Draws everything but the algorithm. */
call_case_t call_case_random(uint64_t *random, xylem_coll_t coll,
                             uint32_t ranks);
/* Text of a case, for labels. */
void call_case_text(const call_case_t *c, char *text, size_t bytes);

/* Types and operations belong to `context`. */
void call_rank_init(call_rank_t *call, const call_case_t *c, uint32_t rank,
                    xylem_context_t *context);
/* The context is still there. */
void call_rank_fini(call_rank_t *call);
/* Destroys the types, which a call that has returned does not need. */
void call_rank_drop_types(call_rank_t *call);
/* Fills the buffers again, for a further start. */
void call_rank_fill(call_rank_t *call);
/* 1: the buffers hold the expected bytes. 0: `text` says what is wrong. */
int call_rank_check(const call_rank_t *call, char *text, size_t text_bytes);
