/* The numbers of the modules of collectives/, by which their state in a context
 * or a team is found (runtime/core/module.h). A module builds only on modules
 * of lower numbers. */
#pragma once

#include "runtime/core/module.h"
#include "runtime/modules.h"

enum {
    XYL_MODULE_OPS = XYL_MODULES_OF_RUNTIME, /* data/user_op.h */
    XYL_MODULE_TYPES,                        /* data/types.h */
    XYL_MODULE_MAP,                          /* stages/team_map.h */
    XYL_MODULE_LEVELS,                       /* levels/team_levels.h */
    XYL_MODULE_NODE,                         /* node/state.h */
    XYL_MODULE_DEVICE,                       /* device/device.h */
    XYL_MODULE_PLANS,                        /* choose/plan_cache.h */
    XYL_MODULE_TUNING,                       /* choose/tuning.h */
    XYL_MODULE_LEARNING,                     /* tune/learn.h */
    XYL_MODULE_TASKS,                        /* tasks/table.h */
    XYL_MODULE_COUNT
};
