/* The placement of a simulated job's ranks on nodes, for tests that depend on
 * it. */
#pragma once

#include "tests/support/fabric.h"

typedef struct shape {
    uint32_t nodes, seats; /* ranks of each node */
    uint32_t cache_seats;  /* that share a cache; 0: all of a node do */
    int is_apart;          /* the ranks of a node share no memory */
    int is_in_turn;        /* rank i is on node i mod nodes */
    int has_switches;      /* two, with half of the nodes below each */
} shape_t;

/* `settings` as fabric_options_t has them. Aborts if there is no fabric. */
fabric_t *shape_create(const shape_t *shape, const char *const *settings);

enum { SHAPE_TEXT_BYTES = 64 };
/* "4x8", and the special features of the shape. */
void shape_text(const shape_t *shape, char text[SHAPE_TEXT_BYTES]);
