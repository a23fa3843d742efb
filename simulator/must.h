/* The simulation's own memory: without it nothing can go on. The memory of the
 * library under simulation comes from an xyl_allocator_t and may run out. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

static inline void *sim_must(void *memory)
{
    if (memory == NULL) {
        fputs("the simulation is out of memory\n", stderr);
        exit(1);
    }
    return memory;
}
