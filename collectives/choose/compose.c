#include "collectives/choose/compose.h"

#include "collectives/choose/choose.h"
#include "collectives/choose/exchange.h"
#include "collectives/data/description.h"
#include "collectives/data/user_op.h"
#include "collectives/levels/han.h"
#include "collectives/node/node.h"
#include "collectives/stages/pack_stage.h"
#include "collectives/stages/tree_stage.h"
#include "runtime/base/status.h"

/* Adds one stage per lane; lane 1 exists for double trees only. */
static xylem_status_t add_down(xyl_operation_t *operation, uint32_t root)
{
    xylem_status_t status = XYLEM_OK;
    uint32_t lane;

    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        xyl_stage_spec_t spec = xyl_stage_behind(
            operation, lane, XYL_ROLE_NOTHING, XYL_ROLE_RESULT);
        xyl_tree_spec_t tree = xyl_tree_of_team(operation, root, lane);
        status = xyl_down_stage_add(operation, &spec, &tree, NULL);
    }
    return status;
}

static xylem_status_t add_up(xyl_operation_t *operation, uint32_t root)
{
    xyl_role_t writes = operation->request.team->rank == root
                            ? XYL_ROLE_RESULT
                            : XYL_ROLE_NOTHING;
    xylem_status_t status = XYLEM_OK;
    uint32_t lane;

    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        xyl_stage_spec_t spec =
            xyl_stage_behind(operation, lane, XYL_ROLE_INPUT, writes);
        xyl_tree_spec_t tree = xyl_tree_of_team(operation, root, lane);
        status = xyl_up_stage_add(operation, &spec, &tree, NULL);
    }
    return status;
}

/* ---- trees: a stage down, one up, or one up and one down from rank 0 ---- */

static xylem_status_t add_tree_stages(xyl_operation_t *operation,
                                      const xyl_call_t *call)
{
    xylem_coll_t coll = call->args->coll;
    uint32_t root = coll == XYLEM_COLL_ALLREDUCE ? 0 : call->args->root;
    xylem_status_t status = XYLEM_OK;

    if (coll != XYLEM_COLL_BCAST)
        status = add_up(operation, root);
    if (status == XYLEM_OK && coll != XYLEM_COLL_REDUCE)
        status = add_down(operation, root);
    if (status == XYLEM_OK && coll == XYLEM_COLL_BCAST)
        status = xyl_pack_stages_add(operation, call->sides.recv);
    return status;
}

static xylem_status_t tree_create(const xyl_call_t *call,
                                  const xyl_choice_t *choice,
                                  xyl_operation_t **operation_out)
{
    const xylem_coll_args_t *args = call->args;
    int has_input =
        xyl_coll_has_input(args->coll, call->team->rank == args->root);
    xylem_status_t status = xyl_collective_create(
        call->team, args, &choice->frame, has_input, operation_out);

    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->combiner = call->combiner;
    status = add_tree_stages(*operation_out, call);
    if (status != XYLEM_OK)
        xyl_request_discard(&(*operation_out)->request);
    return status;
}

xylem_status_t xyl_allreduce_create(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_operation_t **operation_out)
{
    xyl_call_t call = {.team = team, .args = args};
    xyl_choice_t choice;
    xylem_status_t status =
        xyl_combiner_find(team->context, args, &call.combiner);

    if (status == XYLEM_OK)
        status =
            xyl_choose_tree(team, args, call.combiner.is_commutative, &choice);
    if (status == XYLEM_OK)
        status = tree_create(&call, &choice, operation_out);
    if (status == XYLEM_OK)
        xyl_collective_bind(*operation_out, args);
    return status;
}

/* ---- any ---- */

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

static xylem_status_t (*const creators[XYL_ALGORITHM_KINDS])(
    const xyl_call_t *call, const xyl_choice_t *choice,
    xyl_operation_t **operation_out) = {
    [XYL_ALGORITHM_TREE] = tree_create,
    [XYL_ALGORITHM_SCHEDULE] = xyl_exchange_create,
    [XYL_ALGORITHM_NODE] = xyl_node_create,
    [XYL_ALGORITHM_LANES] = xyl_han_create,
    [XYL_ALGORITHM_LEVELS] = xyl_han_whole_create,
};

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
        xyl_choose_arrival_order(team, &common, call.combiner.is_commutative);
    if (status == XYLEM_OK)
        status =
            creators[choice.algorithm->kind](&call, &choice, operation_out);
    xyl_call_fini(&call);
    *sides = call.sides;
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->sides = call.sides;
    xyl_collective_bind(*operation_out, &common);
    return XYLEM_OK;
}
