/* Types of the user's for tests: a number of kinds, with and without gaps, each
 * with a map of where its bytes lie that is made without the library. */
#ifndef XYL_TESTS_ANY_TYPE_H
#define XYL_TESTS_ANY_TYPE_H

#include "include/xylem.h"

enum {
    ANY_ELEMENT = 8, /* bytes: what cases are made of */
    /* An element of any kind has 1, 2, 3 or 6 of them, so that whole elements
     * of each fit into ANY_QUANTUM. */
    ANY_QUANTUM = 6,
    ANY_KINDS = 10,
    ANY_KINDS_PLAIN = 2 /* below: without gaps */
};

typedef struct any_type {
    xylem_type_t handle;
    int is_user; /* to be destroyed */
    uint32_t unit;
    int64_t extent, low, high; /* an element's data: [low, high) */
    int64_t offsets[ANY_QUANTUM * ANY_ELEMENT]; /* of its bytes, in order */
} any_type_t;

/* Kind 0 is predefined, as `handle` of 8 bytes. Aborts where a type cannot be
 * made. */
void any_type_make(xylem_context_t *context, uint32_t kind, xylem_type_t handle,
                   any_type_t *type);
void any_type_drop(xylem_context_t *context, any_type_t *type);

#endif
