/* The modules of runtime/ and collectives/, for the creation of contexts. */
#pragma once

#include "collectives/data/modules.h"
#include "runtime/core/context.h"

extern const xyl_modules_t xyl_modules_of_collectives;
