#include "collectives/choose/compose.h"

#include <stdlib.h>

#include "collectives/choose/choose.h"
#include "collectives/choose/plan_cache.h"
#include "collectives/data/call_word.h"
#include "collectives/data/description.h"
#include "collectives/data/user_op.h"
#include "collectives/levels/han.h"
#include "collectives/node/node.h"
#include "collectives/stages/copy_stage.h"
#include "collectives/stages/exchange_stage.h"
#include "collectives/stages/tree_stage.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/core/tags.h"
#include "runtime/core/team.h"

/* Adds one stage per lane; lane 1 exists for double trees only. */
static xylem_status_t add_stages(xyl_operation_t *operation, uint32_t root,
                                 int is_down)
{
    int has_result = is_down || operation->request.team->rank == root;
    xylem_status_t status = XYLEM_OK;
    uint32_t lane;

    for (lane = 0; lane < operation->lanes && status == XYLEM_OK; lane++) {
        xyl_stage_spec_t spec = xyl_stage_behind(
            operation, lane, is_down ? XYL_ROLE_NOTHING : XYL_ROLE_INPUT,
            has_result ? XYL_ROLE_RESULT : XYL_ROLE_NOTHING);
        xyl_tree_spec_t tree = xyl_edges_tree_of(operation, root, lane);
        status = is_down ? xyl_down_stage_add(operation, &spec, &tree)
                         : xyl_up_stage_add(operation, &spec, &tree);
    }
    return status;
}

/* ---- trees: a stage down, one up, or one up and one down from rank 0 ---- */

static xylem_status_t add_tree_stages(xyl_operation_t *operation,
                                      const xyl_call_t *call)
{
    xylem_coll_t coll = call->args.coll;
    uint32_t root = coll == XYLEM_COLL_ALLREDUCE ? 0 : call->args.root;
    xylem_status_t status = XYLEM_OK;

    if (coll != XYLEM_COLL_BCAST)
        status = add_stages(operation, root, 0);
    if (status == XYLEM_OK && coll != XYLEM_COLL_REDUCE)
        status = add_stages(operation, root, 1);
    if (status == XYLEM_OK && coll == XYLEM_COLL_BCAST)
        status = xyl_pack_stages_add(operation, call->sides.recv);
    return status;
}

static xylem_status_t tree_create(const xyl_call_t *call,
                                  const xyl_choice_t *choice,
                                  xyl_operation_t **operation_out)
{
    const xylem_coll_args_t *args = &call->args;
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

/* A reduce to rank 0 and a broadcast from it, joined segment by segment. */
static xylem_status_t allreduce_create(xylem_team_t *team,
                                       const xylem_coll_args_t *args,
                                       xyl_operation_t **operation_out)
{
    xyl_call_t call = {.team = team, .args = *args};
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

xylem_status_t xyl_compose_table(xylem_team_t *team, size_t bytes,
                                 uint32_t flags, xylem_complete_fn done,
                                 void *arg, void **table_out,
                                 xyl_operation_t **operation_out)
{
    const xylem_coll_args_t args = {.struct_bytes = sizeof args,
                                    .coll = XYLEM_COLL_ALLREDUCE,
                                    .flags = flags | XYLEM_FLAG_AUTOFREE,
                                    .send = XYLEM_IN_PLACE,
                                    .recv = calloc(bytes, 1),
                                    .count = bytes,
                                    .type = XYLEM_BYTE,
                                    .op = XYLEM_BOR,
                                    .on_complete = done,
                                    .arg = arg};
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;

    if (args.recv != NULL)
        status = allreduce_create(team, &args, operation_out);
    if (status != XYLEM_OK) {
        free(args.recv);
        return xyl_fail(status, "no memory for what ranks tell each other");
    }
    (*operation_out)->buffers.owned = args.recv;
    (*operation_out)->call = xyl_word_of_call(&args, team->size);
    *table_out = args.recv;
    return XYLEM_OK;
}

/* ---- schedules: one stage ---- */

static xylem_status_t add_exchange_stage(xyl_operation_t *operation,
                                         const xyl_call_t *call,
                                         const xyl_algorithm_t *algorithm,
                                         const xyl_problem_t *problem)
{
    const xyl_layouts_t layouts = {call->sides.send, call->sides.recv};
    xyl_stage_spec_t spec =
        xyl_stage_behind(operation, 0, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    xyl_schedule_t schedule;
    xyl_stage_t *stage;
    xylem_status_t status;

    if (problem->has_tag)
        spec.sequences_max = XYL_TAG_SEQUENCES;
    xyl_schedule_init(&schedule, problem->element_bytes);
    algorithm->write(problem, &schedule);
    status = schedule.status;
    if (status == XYLEM_OK)
        status = xyl_exchange_stage_add(operation, &spec, &schedule, &layouts,
                                        &stage);
    xyl_schedule_fini(&schedule);
    return status;
}

/* Refuses segments that are too many for a schedule, as trees do. */
static xylem_status_t segments_check(const xyl_operation_t *operation,
                                     size_t segment_bytes)
{
    return segment_bytes == 0 ||
                   operation->bytes / segment_bytes <= XYL_SEGMENTS_MAX
               ? XYLEM_OK
               : xyl_fail(XYLEM_ERR_INVALID_ARG,
                          "segments of %zu bytes are too small for a message "
                          "of %zu bytes",
                          segment_bytes, operation->bytes);
}

static xylem_status_t exchange_create(const xyl_call_t *call,
                                      const xyl_choice_t *choice,
                                      xyl_operation_t **operation_out)
{
    xyl_problem_t problem = call->problem;
    xylem_status_t status =
        xyl_collective_frame(call->team, &call->args, 0, operation_out);

    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->combiner = call->combiner;
    problem.radix = choice->radix;
    problem.segment_bytes = choice->segment_bytes;
    status = segments_check(*operation_out, choice->segment_bytes);
    if (status == XYLEM_OK)
        status = add_exchange_stage(*operation_out, call, choice->algorithm,
                                    &problem);
    if (status != XYLEM_OK)
        xyl_request_discard(&(*operation_out)->request);
    return status;
}

/* ---- detaching ---- */

/* The bytes that the ranks of this node hold for a call whose run has detached:
 * in a tree each rank has the whole message; in levels each leader has a part
 * of it. */
static uint64_t node_holds(const xyl_operation_t *operation,
                           const xyl_choice_t *choice)
{
    const xylem_team_t *team = operation->request.team;
    const xyl_peer_t *peers = team->context->peers;
    uint32_t rank, ranks = 0;

    if (choice->algorithm->kind != XYL_ALGORITHM_TREE)
        return operation->bytes;
    for (rank = 0; rank < team->size; rank++)
        ranks += peers[xyl_team_world_rank(team, rank)].place.node ==
                 peers[team->context->rank].place.node;
    return operation->bytes * ranks;
}

static xyl_operation_t *another(const xyl_operation_t *operation)
{
    xylem_coll_args_t args = xyl_collective_of(operation)->key.args;
    xyl_operation_t *other = NULL;
    xyl_choice_t choice;
    xyl_call_t call;

    args.on_complete = NULL;
    args.flags &= ~XYLEM_FLAG_AUTOFREE;
    if (xyl_call_pack(operation->request.team, &args, &call) != XYLEM_OK)
        return NULL;
    call.way = xyl_collective_of(operation)->key.way;
    if (xyl_call_resolve(&call) != XYLEM_OK ||
        xyl_compose_create(&call, &choice, &other) != XYLEM_OK) {
        xyl_call_give_up(&call);
        return NULL;
    }
    xyl_call_fini(&call);
    other->record.subject = operation->record.subject;
    xyl_collective_bind(other, &args);
    xyl_plan_describe(other, &args, call.way);
    return other;
}

/* Lets the operation detach if xyl_collective_may_detach allows it. */
static void plan_detaching(xyl_operation_t *operation, const xyl_call_t *call,
                           const xyl_choice_t *choice)
{
    uint32_t i;

    if (!xyl_collective_may_detach(operation, &call->sides))
        return;
    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        if (stage->ops->hold != NULL)
            stage->ops->hold(stage, &operation->detach.hold);
        if (stage->ops->may_keep != NULL && stage->ops->may_keep(stage)) {
            stage->may_keep = 1;
            operation->detach.hold.keepers++;
        }
    }
    operation->detach.counter =
        call->combiner.fn == NULL
            ? NULL
            : xyl_user_op_detached(operation->request.context, call->args.op);
    operation->detach.node_holds = node_holds(operation, choice);
    operation->maker.another = another;
}

/* ---- sums, in the reproducible order ---- */

static uint64_t input_count(const xylem_team_t *team,
                            const xylem_coll_args_t *args)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    uint64_t count = 0;
    uint32_t i;

    if (!traits->recv_varies)
        return traits->send_blocks ? args->count * team->size : args->count;
    for (i = 0; i < team->size; i++)
        count += args->recv_counts[i];
    return count;
}

static uint64_t result_count(const xylem_team_t *team,
                             const xylem_coll_args_t *args)
{
    if (!xyl_args_receives(args, xyl_args_is_root(args, team->rank)) ||
        (args->coll == XYLEM_COLL_EXSCAN && team->rank == 0))
        return 0;
    return xyl_coll_traits(args->coll)->recv_varies
               ? args->recv_counts[team->rank]
               : args->count;
}

/* ---- the operation ---- */

/* Adds stages around the algorithm's; discards the operation on failure. */
static xylem_status_t add_outer_stages(const xyl_call_t *call,
                                       xyl_operation_t *operation)
{
    xylem_status_t status = XYLEM_OK;

    if (call->combiner.binned != NULL)
        status =
            xyl_pack_sums_add(operation, input_count(call->team, &call->args),
                              result_count(call->team, &call->args));
    if (status == XYLEM_OK)
        status = xyl_mirror_stages_add(operation, call, NULL);
    if (status != XYLEM_OK)
        xyl_request_discard(&operation->request);
    return status;
}

static xylem_status_t (*const creators[XYL_ALGORITHM_KINDS])(
    const xyl_call_t *call, const xyl_choice_t *choice,
    xyl_operation_t **operation_out) = {
    [XYL_ALGORITHM_TREE] = tree_create,
    [XYL_ALGORITHM_SCHEDULE] = exchange_create,
    [XYL_ALGORITHM_NODE] = xyl_node_create,
    [XYL_ALGORITHM_LANES] = xyl_han_create,
    [XYL_ALGORITHM_LEVELS] = xyl_han_whole_create,
};

xylem_status_t xyl_compose_create(const xyl_call_t *call,
                                  xyl_choice_t *choice_out,
                                  xyl_operation_t **operation_out)
{
    xylem_status_t status =
        xyl_choose(call->team, &call->args, call->way,
                   call->combiner.is_commutative, choice_out);

    if (status == XYLEM_OK)
        status = creators[choice_out->algorithm->kind](call, choice_out,
                                                       operation_out);
    if (status == XYLEM_OK)
        status = add_outer_stages(call, *operation_out);
    if (status != XYLEM_OK)
        return status;
    (*operation_out)->call = call->word;
    xyl_collective_of(*operation_out)->sides = call->sides;
    plan_detaching(*operation_out, call, choice_out);
    return XYLEM_OK;
}

void xyl_compose_refuse(xylem_team_t *team, xylem_status_t status)
{
    uint64_t word = xyl_word_of_nothing(1 + xyl_history_refusals(team));

    if (team->size == 1)
        return;
    xyl_history_refuse(team, word);
    xyl_node_refused(team, word, status);
}
