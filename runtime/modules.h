/* The numbers of the modules of runtime/, by which their state in a context or
 * a team is found (runtime/core/module.h). collectives/data/modules.h goes on
 * from there. */
#pragma once

enum {
    XYL_MODULE_OPERATIONS,   /* core/operation.h */
    XYL_MODULE_SWITCHES,     /* core/context_switches.h */
    XYL_MODULE_SHM,          /* core/context_shm.h */
    XYL_MODULE_NOTICES,      /* faults/notice.h */
    XYL_MODULE_LEAVING,      /* assembly/context_leave.h */
    XYL_MODULE_FAILURES,     /* faults/failure.h */
    XYL_MODULE_LIVENESS,     /* faults/liveness.h */
    XYL_MODULE_NODE_WATCH,   /* faults/node_watch.h */
    XYL_MODULE_AGREEMENTS,   /* faults/agreement.h */
    XYL_MODULE_HANGS,        /* faults/hangs.h */
    XYL_MODULE_STREAM_STEPS, /* triggers/stream_steps.h */
    XYL_MODULE_TRIGGERS,     /* triggers/trigger.h */
    XYL_MODULE_PROXIES,      /* triggers/proxy.h */
    XYL_MODULES_OF_RUNTIME
};
