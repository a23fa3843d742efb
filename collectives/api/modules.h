/* The modules of runtime/ and collectives/, for the creation of contexts. */
#ifndef XYL_COLLECTIVES_API_MODULES_H
#define XYL_COLLECTIVES_API_MODULES_H

#include "collectives/data/modules.h"
#include "runtime/core/context.h"

extern const xyl_modules_t xyl_modules_of_collectives;

#endif
