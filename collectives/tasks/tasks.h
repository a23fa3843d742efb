/* Remote tasks as a module of contexts (runtime/core/module.h). */
#ifndef XYL_COLLECTIVES_TASKS_TASKS_H
#define XYL_COLLECTIVES_TASKS_TASKS_H

#include "runtime/core/module.h"

extern const xyl_module_t xyl_tasks_module;

#endif
