#include "collectives/choose/compose.h"

#include "collectives/choose/select.h"
#include "collectives/data/description.h"
#include "collectives/data/user_op.h"
#include "collectives/levels/han.h"
#include "collectives/node/node.h"
#include "collectives/stages/pack_stage.h"
#include "collectives/stages/tree_stage.h"
#include "runtime/base/status.h"

xylem_status_t xyl_combiner_find(xylem_context_t *context,
                                 const xylem_coll_args_t *args,
                                 xyl_combiner_t *combiner_out)
{
    const xyl_user_op_t *user;
    const char *op, *type;

    if (args->op >= XYL_USER_OP_BASE) {
        user = xyl_user_op_find(context, args->op);
        if (user == NULL)
            return xyl_fail(XYLEM_ERR_INVALID_ARG,
                            "there is no operation %u; was it "
                            "destroyed?",
                            args->op);
        *combiner_out = (xyl_combiner_t){
            .fn = user->fn,
            .fn_arg = user->arg,
            .is_commutative = (user->flags & XYLEM_OP_COMMUTATIVE) != 0};
        return XYLEM_OK;
    }
    combiner_out->kernel =
        xyl_kernel_find(args->op, args->type, xyl_isa_best());
    combiner_out->is_commutative = 1;
    if (combiner_out->kernel != NULL)
        return XYLEM_OK;
    op = xylem_op_name(args->op);
    type = xylem_type_name(args->type);
    return xyl_fail(
        XYLEM_ERR_INVALID_ARG, "operation %s is not defined on type %s",
        op != NULL ? op : "(unknown)", type != NULL ? type : "(block)");
}

/* Adds one stage per lane; lane 1 exists for double trees only. */
static xylem_status_t add_down(xyl_operation_t *operation, uint32_t root)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t lane;

    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++)
        status = xyl_down_stage_add(operation, lane,
                                    xyl_tree_of_team(operation, root, lane));
    return status;
}

static xylem_status_t add_up(xyl_operation_t *operation, uint32_t root)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t lane;

    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++)
        status = xyl_up_stage_add(operation, lane,
                                  xyl_tree_of_team(operation, root, lane));
    return status;
}

static xylem_status_t hand_out(xyl_operation_t *operation,
                               xylem_status_t status,
                               xyl_operation_t **operation_out)
{
    if (status == XYLEM_OK)
        *operation_out = operation;
    else
        xyl_request_discard(&operation->request);
    return status;
}

/* ---- broadcast: one stage down ---- */

static xylem_status_t bcast_create(const xyl_call_t *call,
                                   const xylem_coll_args_t *args,
                                   xyl_operation_t **operation_out)
{
    xylem_team_t *team = call->team;
    xyl_operation_t *operation;
    xyl_plan_t plan;
    xylem_status_t status;

    xyl_select(team, args, 1, &plan);
    status = xyl_collective_create(team, args, &plan, team->rank == args->root,
                                   &operation);
    if (status != XYLEM_OK)
        return status;
    status = add_down(operation, args->root);
    if (status == XYLEM_OK)
        status = xyl_pack_stages_add(operation, call->sides.recv);
    return hand_out(operation, status, operation_out);
}

/* ---- reduce: one stage up ---- */

static xylem_status_t reduce_create(const xyl_call_t *call,
                                    const xylem_coll_args_t *args,
                                    xyl_operation_t **operation_out)
{
    xyl_operation_t *operation;
    xyl_plan_t plan;
    xylem_status_t status;

    xyl_select(call->team, args, call->combiner.is_commutative, &plan);
    status = xyl_collective_create(call->team, args, &plan, 1, &operation);
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(operation)->combiner = call->combiner;
    status = add_up(operation, args->root);
    return hand_out(operation, status, operation_out);
}

/* ---- allreduce: up to rank 0, then down from it ---- */

static xylem_status_t allreduce_create(xylem_team_t *team,
                                       const xylem_coll_args_t *args,
                                       const xyl_combiner_t *combiner,
                                       xyl_operation_t **operation_out)
{
    xylem_coll_args_t rooted = *args;
    xyl_operation_t *operation;
    xyl_plan_t plan;
    xylem_status_t status;

    rooted.root = 0;
    xyl_select(team, &rooted, combiner->is_commutative, &plan);
    status = xyl_collective_create(team, &rooted, &plan, 1, &operation);
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(operation)->combiner = *combiner;
    status = add_up(operation, 0);
    if (status == XYLEM_OK)
        status = add_down(operation, 0);
    return hand_out(operation, status, operation_out);
}

xylem_status_t xyl_allreduce_create(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_operation_t **operation_out)
{
    xyl_combiner_t combiner = {NULL, NULL, NULL, 0};
    xylem_status_t status = xyl_combiner_find(team->context, args, &combiner);

    if (status == XYLEM_OK)
        status = allreduce_create(team, args, &combiner, operation_out);
    if (status == XYLEM_OK)
        xyl_collective_bind(*operation_out, args);
    return status;
}

/* ---- any ---- */

/* Tree stages, with the tree that was chosen. */
static xylem_status_t tree_create(const xyl_call_t *call,
                                  const xyl_choice_t *choice,
                                  xyl_operation_t **operation_out)
{
    xylem_coll_args_t chosen = *call->args;

    chosen.tree = choice->tree;
    chosen.radix = choice->radix;
    if (chosen.coll == XYLEM_COLL_BCAST)
        return bcast_create(call, &chosen, operation_out);
    if (chosen.coll == XYLEM_COLL_REDUCE)
        return reduce_create(call, &chosen, operation_out);
    return allreduce_create(call->team, &chosen, &call->combiner,
                            operation_out);
}

/* Ranks may describe the bytes of a broadcast by different types: neither the
 * choice nor the cuts may depend on these. */
static xylem_coll_args_t in_common_terms(const xylem_coll_args_t *args)
{
    xylem_coll_args_t common = *args;

    if (args->coll == XYLEM_COLL_BCAST) {
        common.count = args->count * xylem_type_bytes(args->type);
        common.type = XYLEM_BYTE;
        common.recv_count = 0;
    }
    return common;
}

static xylem_status_t create_chosen(const xyl_call_t *call,
                                    const xyl_choice_t *choice,
                                    xyl_operation_t **operation_out)
{
    if (choice->algorithm == NULL)
        return tree_create(call, choice, operation_out);
    if ((choice->algorithm->flags & XYL_NEEDS_LEVELS) != 0)
        return xyl_han_is_whole(call->args->coll)
                   ? xyl_han_whole_create(call, choice, operation_out)
                   : xyl_han_create(call, choice, operation_out);
    if ((choice->algorithm->flags & XYL_NEEDS_NODE) != 0)
        return xyl_node_create(call, choice, operation_out);
    return xyl_exchange_create(call, choice, operation_out);
}

xylem_status_t xyl_coll_create(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               xyl_sides_t *sides,
                               xyl_operation_t **operation_out)
{
    xylem_coll_args_t common = in_common_terms(args);
    xyl_call_t call = {.team = team,
                       .args = &common,
                       .combiner = {NULL, NULL, NULL, 1},
                       .sides = *sides};
    xylem_status_t status = XYLEM_OK;
    xyl_choice_t choice;

    if (xyl_coll_traits(args->coll)->reduces)
        status = xyl_combiner_find(team->context, args, &call.combiner);
    if (status == XYLEM_OK)
        status =
            xyl_choose(team, &common, call.combiner.is_commutative, &choice);
    if (status != XYLEM_OK)
        return status;
    status = xyl_call_resolve(&call);
    call.problem.in_arrival_order =
        xyl_select_arrival_order(team, &common, call.combiner.is_commutative);
    if (status == XYLEM_OK)
        status = create_chosen(&call, &choice, operation_out);
    xyl_call_fini(&call);
    *sides = call.sides;
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->sides = call.sides;
    xyl_collective_bind(*operation_out, &common);
    return XYLEM_OK;
}
