/* Addresses without memory behind them: a large reserved range in which blocks
 * take memory only where they are touched. So buffers of a simulation that
 * moves no bytes cost next to nothing. One thread. */
#pragma once

#include "runtime/base/memory.h"

enum { SIM_SPACE_CLASSES = 48 };

typedef struct sim_space {
    char *base;
    size_t bytes, used;
    void *freed[SIM_SPACE_CLASSES]; /* by power of two, linked */
    xyl_allocator_t allocator;
} sim_space_t;

/* 1 when there is room for `bytes` addresses. */
int sim_space_init(sim_space_t *space, size_t bytes);
void sim_space_fini(sim_space_t *space);
