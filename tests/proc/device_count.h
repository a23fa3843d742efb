/* How many allocations on devices a process has, in jobs whose CUDA is
 * fake_cuda.c. */
#pragma once

#include "progress/exec/cuda/cuda.h"

/* Its own, or those that it has opened of others, which cannot be exported. */
unsigned device_count(const xyl_cuda_library_t *library, int of_others);
