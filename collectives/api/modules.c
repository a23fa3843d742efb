#include "collectives/api/modules.h"

#include "collectives/choose/plan_cache.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/call_word.h"
#include "collectives/data/types.h"
#include "collectives/data/user_op.h"
#include "collectives/device/device.h"
#include "collectives/levels/team_levels.h"
#include "collectives/node/node.h"
#include "collectives/stages/team_map.h"
#include "collectives/tasks/tasks.h"
#include "collectives/tune/learn.h"
#include "runtime/assembly/context_create.h"
#include "runtime/assembly/context_leave.h"
#include "runtime/core/context_shm.h"
#include "runtime/core/context_switches.h"
#include "runtime/core/operation.h"
#include "runtime/faults/agreement.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/hangs.h"
#include "runtime/faults/liveness.h"
#include "runtime/faults/node_watch.h"
#include "runtime/faults/notice.h"
#include "runtime/triggers/proxy.h"
#include "runtime/triggers/stream_steps.h"
#include "runtime/triggers/trigger.h"

static const xyl_module_t *const modules[XYL_MODULE_COUNT] = {
    [XYL_MODULE_OPERATIONS] = &xyl_operations_module,
    [XYL_MODULE_SWITCHES] = &xyl_switches_module,
    [XYL_MODULE_SHM] = &xyl_shm_module,
    [XYL_MODULE_NOTICES] = &xyl_notices_module,
    [XYL_MODULE_LEAVING] = &xyl_leaving_module,
    [XYL_MODULE_FAILURES] = &xyl_failures_module,
    [XYL_MODULE_LIVENESS] = &xyl_liveness_module,
    [XYL_MODULE_NODE_WATCH] = &xyl_node_watch_module,
    [XYL_MODULE_AGREEMENTS] = &xyl_agreements_module,
    [XYL_MODULE_HANGS] = &xyl_hangs_module,
    [XYL_MODULE_STREAM_STEPS] = &xyl_stream_steps_module,
    [XYL_MODULE_TRIGGERS] = &xyl_triggers_module,
    [XYL_MODULE_PROXIES] = &xyl_proxies_module,
    [XYL_MODULE_OPS] = &xyl_user_ops_module,
    [XYL_MODULE_TYPES] = &xyl_types_module,
    [XYL_MODULE_MAP] = &xyl_team_map_module,
    [XYL_MODULE_LEVELS] = &xyl_team_levels_module,
    [XYL_MODULE_NODE] = &xyl_node_module,
    [XYL_MODULE_DEVICE] = &xyl_device_module,
    [XYL_MODULE_PLANS] = &xyl_plan_cache_module,
    [XYL_MODULE_TUNING] = &xyl_tuning_module,
    [XYL_MODULE_LEARNING] = &xyl_learning_module,
    [XYL_MODULE_TASKS] = &xyl_tasks_module,
};

const xyl_modules_t xyl_modules_of_collectives = {XYL_MODULE_COUNT, modules,
                                                  xyl_word_in_words};

xylem_status_t xylem_context_create(const xylem_context_params_t *params,
                                    xylem_context_t **context_out)
{
    return xyl_context_create(params, &xyl_modules_of_collectives, context_out);
}
