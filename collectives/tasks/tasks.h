/* Remote tasks as a module of contexts (runtime/core/module.h). */
#pragma once

#include "runtime/core/module.h"

extern const xyl_module_t xyl_tasks_module;
