#include "collectives/choose/exchange.h"

#include "collectives/data/description.h"
#include "collectives/levels/han.h"
#include "collectives/node/node.h"
#include "collectives/stages/exchange_stage.h"
#include "runtime/base/status.h"

/* ---- the problem ---- */

void xyl_problem_outline(xylem_team_t *team, const xylem_coll_args_t *args,
                         int is_commutative, xyl_problem_t *problem_out)
{
    xyl_call_outline(team, args, is_commutative, problem_out);
    problem_out->shares_memory = xyl_node_is_possible(team, problem_out);
    problem_out->fills_nodes = team->is_one_node || xyl_han_keeps_order(team);
}

/* ---- the operation ---- */

static xylem_status_t add_stage(xyl_operation_t *operation,
                                const xyl_call_t *call,
                                const xyl_algorithm_t *algorithm,
                                const xyl_problem_t *problem)
{
    const xyl_layouts_t layouts = {call->sides.send, call->sides.recv};
    const xyl_stage_spec_t spec =
        xyl_stage_behind(operation, 0, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    xyl_schedule_t schedule;
    xyl_stage_t *stage;
    xylem_status_t status;

    xyl_schedule_init(&schedule, problem->element_bytes);
    algorithm->write(problem, &schedule);
    status = xyl_schedule_status(&schedule);
    if (status == XYLEM_OK)
        status = xyl_exchange_stage_add(operation, &spec, &schedule, &layouts,
                                        &stage);
    xyl_schedule_fini(&schedule);
    return status;
}

xylem_status_t xyl_exchange_create(const xyl_call_t *call,
                                   const xyl_choice_t *choice,
                                   xyl_operation_t **operation_out)
{
    xyl_problem_t problem = call->problem;
    xylem_status_t status =
        xyl_collective_frame(call->team, call->args, 0, operation_out);

    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->combiner = call->combiner;
    problem.radix = choice->radix;
    problem.segment_bytes = choice->segment_bytes;
    status = add_stage(*operation_out, call, choice->algorithm, &problem);
    if (status != XYLEM_OK)
        xyl_request_discard(&(*operation_out)->request);
    return status;
}
