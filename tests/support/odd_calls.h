/* Calls that differ in collective, length, root, operation or settings, for
 * tests in which ranks make different ones. On the public interface only. */
#pragma once

#include "include/xylem.h"

enum { ODD_KINDS = 36, ODD_RANKS_MAX = 16, ODD_ROOM = 300000 };

typedef struct odd_kind {
    xylem_coll_t coll;
    size_t bytes; /* of a block */
    uint32_t root;
    xylem_op_t op;
    const char *algorithm; /* NULL: the library's choice */
    size_t segment_bytes;
    uint32_t flags;
    int is_skewed; /* if blocks vary, the last has an element of the first */
} odd_kind_t;

extern const odd_kind_t odd_kinds[ODD_KINDS];

/* One rank's call. Blocks that may vary are all alike, unless they are skewed,
 * and lie one behind the other; neighbours are those in a ring. */
typedef struct odd_call {
    xylem_coll_args_t args;
    uint64_t counts[ODD_RANKS_MAX], displs[ODD_RANKS_MAX];
    xylem_type_t types[ODD_RANKS_MAX];
    uint32_t next, previous;
} odd_call_t;

/* Buffers have ODD_ROOM bytes each; `call` stays where it is. */
void odd_call_init(odd_call_t *call, const odd_kind_t *kind, uint32_t rank,
                   uint32_t ranks, const void *send, void *recv);
/* The bytes that the call may write, from the begin of the buffer on. */
size_t odd_call_written(const odd_kind_t *kind, uint32_t ranks);
