/* Types of the user's for tests: a number of kinds, with and without gaps, each
 * with a map of its bytes that is made without the library. */
#pragma once

#include "include/xylem.h"

enum {
    CALL_ELEMENT = 8, /* bytes, the unit of cases */
    /* An element of any kind has 1, 2, 3 or 6 of them, so that whole elements
     * of each fit into CALL_QUANTUM. */
    CALL_QUANTUM = 6,
    CALL_KINDS = 10,
    CALL_KINDS_PLAIN = 2 /* below: without gaps */
};

typedef struct call_type {
    xylem_type_t handle;
    int is_user; /* to be destroyed */
    uint32_t unit;
    int in_row; /* the bytes of each element of 8 bytes follow each other */
    int64_t extent, low, high; /* an element's data: [low, high) */
    int64_t offsets[CALL_QUANTUM * CALL_ELEMENT]; /* of its bytes, in order */
} call_type_t;

/* Kind 0 is predefined, with `handle` of 8 bytes. Aborts if a type cannot be
 * made. */
void call_type_make(xylem_context_t *context, uint32_t kind,
                    xylem_type_t handle, call_type_t *type);
void call_type_drop(xylem_context_t *context, call_type_t *type);
