/* Contents of buffers: for each kind (a type with an operation) what a rank
 * contributes, and what a broadcast or a reduction must give. Contents repeat
 * every DATA_PERIOD elements, a prime, so that an element out of place is
 * seen; all sums are exact. Pure; any thread. */
#pragma once

#include "include/xylem.h"

enum { DATA_PERIOD = 251, DATA_ELEMENT_BYTES_MAX = 32 };

typedef struct data_kind {
    const char *name;
    xylem_type_t type;
    xylem_op_t op; /* DATA_OP_USER: made by data_user_op */
    size_t bytes;  /* of an element */
    void (*write)(void *element, uint32_t rank, uint32_t value);
    /* left = left op right */
    void (*combine)(void *left, const void *right);
    int (*equal)(const void *a, const void *b);
} data_kind_t;

#define DATA_OP_USER ((xylem_op_t)UINT32_MAX)

const data_kind_t *data_kind(size_t number); /* modulo the count */

/* An associative operation that is not commutative. */
xylem_status_t data_user_op(xylem_context_t *context, xylem_op_t *op_out);

/* The contribution of a rank. */
void data_write(const data_kind_t *kind, void *buf, size_t count, uint32_t rank,
                uint32_t seed);

/* The first wrong element; `count`: all are right. */
size_t data_check(const data_kind_t *kind, const void *buf, size_t count,
                  uint32_t rank, uint32_t seed);
size_t data_check_reduced(const data_kind_t *kind, const void *buf,
                          size_t count, uint32_t ranks, uint32_t seed);
