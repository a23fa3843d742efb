/* The rivals' requests: planned like the library's, with one stage that is
 * theirs. Any thread may call rival_init. */
#include "bench/measure/rival_stages.h"

#include "collectives/choose/choose.h"
#include "collectives/choose/compose.h"
#include "collectives/data/user_op.h"
#include "runtime/base/status.h"

static const rival_pace_t paces[] = {
    [RIVAL_BLOCKING] = {.at_once = 1, .ahead = 0},
    [RIVAL_WAITALL] = {.at_once = UINT32_MAX, .ahead = 1},
};

static xylem_status_t check(xylem_team_t *team, const xylem_coll_args_t *args,
                            xyl_combiner_t *combiner_out)
{
    xylem_status_t status = xyl_coll_check(team, args, "rival_init");

    if (status == XYLEM_OK && args->coll == XYLEM_COLL_REDUCE)
        status = xyl_combiner_find(team->context, args, combiner_out);
    if (status != XYLEM_OK)
        return status;
    if ((args->flags & XYLEM_FLAG_PARTS) != 0)
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "rival_init: these designs begin with all of their "
                        "input");
    if (args->coll == XYLEM_COLL_REDUCE && !combiner_out->is_commutative)
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "rival_init: these designs combine in the order of "
                        "the tree; the operation must be commutative");
    return XYLEM_OK;
}

static xylem_status_t add_stage(xyl_operation_t *operation,
                                const rival_pace_t *pace,
                                const xylem_coll_args_t *args)
{
    if (args->coll == XYLEM_COLL_BCAST)
        return rival_down_add(operation, pace, args->root);
    return rival_up_add(operation, pace, args->root);
}

xylem_status_t rival_init(rival_design_t design, xylem_team_t *team,
                          const xylem_coll_args_t *args,
                          xylem_request_t **request_out)
{
    const rival_pace_t *pace = &paces[design];
    xyl_combiner_t combiner = {.kernel = NULL};
    xyl_operation_t *operation;
    xyl_choice_t choice;
    xyl_plan_t plan;
    xylem_status_t status = check(team, args, &combiner);

    if (status == XYLEM_OK)
        status = xyl_choose_tree(team, args, 1, &choice);
    if (status != XYLEM_OK)
        return status;
    plan = choice.frame;
    plan.lanes = 1; /* of a double tree, too */
    plan.send_window = 1;
    plan.recv_window = pace->ahead + 1;
    status = xyl_collective_create(team, args, &plan, 0, &operation);
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(operation)->combiner = combiner;
    status = add_stage(operation, pace, args);
    if (status != XYLEM_OK) {
        xyl_request_discard(&operation->request);
        return status;
    }
    xyl_collective_bind(operation, args);
    xyl_request_persist(&operation->request);
    *request_out = &operation->request;
    return XYLEM_OK;
}
