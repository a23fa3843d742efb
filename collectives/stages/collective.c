#include "collectives/stages/collective.h"

#include "collectives/data/description.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

size_t xyl_collective_segment(size_t segment_bytes, size_t element_bytes)
{
    size_t elements = segment_bytes / element_bytes;

    return (elements == 0 ? 1 : elements) * element_bytes;
}

void xyl_collective_give_mirrors(xyl_operation_t *operation)
{
    xyl_collective_t *collective = xyl_collective_of(operation);
    xyl_exec_t *exec = collective->users_exec;
    size_t i;

    for (i = 0; i < XYL_MIRRORS; i++) {
        if (collective->mirrors[i].memory != NULL)
            exec->ops->mirror_give(exec, collective->mirrors[i].memory,
                                   collective->mirrors[i].bytes);
        collective->mirrors[i] = (xyl_mirror_t){NULL, 0};
    }
}

static void collective_release(xyl_operation_t *operation)
{
    const xyl_collective_t *collective = xyl_collective_of(operation);

    if (collective->rests != NULL)
        collective->rests(collective->rests_arg);
    xyl_sides_release(&collective->sides);
    xyl_collective_give_mirrors(operation);
}

xylem_status_t xyl_collective_create(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const xyl_plan_t *plan, int has_input,
                                     xyl_operation_t **operation_out)
{
    size_t element_bytes = xylem_type_bytes(args->type);
    xyl_operation_params_t params = {
        .bytes = args->count * element_bytes,
        .segment_bytes =
            xyl_collective_segment(plan->segment_bytes, element_bytes),
        .lanes = plan->lanes,
        .lanes_are_parts = plan->lanes_are_parts,
        .has_input = has_input,
        .waits_for_parts = has_input && (args->flags & XYLEM_FLAG_PARTS) != 0,
        .flags = args->flags,
        .on_complete = args->on_complete,
        .on_segment = args->on_segment,
        .arg = args->arg,
    };
    xyl_collective_t *collective;
    xylem_status_t status;

    if (plan->lanes == 0)
        params.lanes = plan->tree != NULL ? plan->tree->halves : 1;
    status =
        xyl_operation_create(team, &params, sizeof *collective, operation_out);
    if (status != XYLEM_OK)
        return status;
    collective = xyl_collective_of(*operation_out);
    collective->operation.maker.release = collective_release;
    collective->operation.tag = args->tag;
    collective->plan = *plan;
    collective->element_bytes = element_bytes;
    collective->users_exec = xyl_collective_exec(team->context, args);
    collective->exec = collective->users_exec->ops->mirror_take == NULL
                           ? collective->users_exec
                           : team->context->execs.all[0];
    return XYLEM_OK;
}

xylem_status_t xyl_collective_frame(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    size_t segment_bytes,
                                    xyl_operation_t **operation_out)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);
    xylem_coll_args_t frame = *args;
    xyl_plan_t plan = {.tree = NULL};
    int is_root = xyl_args_is_root(args, team->rank);
    int has_input = xyl_coll_has_input(args->coll, is_root);
    xylem_status_t status;

    frame.count = args->count * xylem_type_bytes(args->type);
    if (traits->recv_blocks && !xyl_coll_varies(args->coll) &&
        (traits->receives == XYL_SIDE_ALL || is_root))
        frame.count *= xyl_args_blocks(args, team->size);
    frame.type = XYLEM_BYTE;
    plan.segment_bytes = segment_bytes;
    if (segment_bytes == 0)
        plan.segment_bytes = frame.count == 0 ? 1 : frame.count;
    status =
        xyl_collective_create(team, &frame, &plan, has_input, operation_out);
    /* A rank without a result may have input. */
    if (status == XYLEM_OK &&
        ((traits->reduces && traits->recv_varies) ||
         ((*operation_out)->segments == 0 && !traits->has_segments &&
          xyl_collective_is_mirrored(*operation_out))))
        xyl_operation_make_whole(*operation_out);
    return status;
}

static const void *input_of(const xylem_coll_args_t *args)
{
    return args->send == XYLEM_IN_PLACE ? args->recv : args->send;
}

static void *result_of(const xylem_coll_args_t *args)
{
    return args->recv == XYLEM_IN_PLACE_RECV ? NULL : args->recv;
}

xyl_exec_t *xyl_collective_exec(const xylem_context_t *context,
                                const xylem_coll_args_t *args)
{
    xyl_exec_t *exec = xyl_exec_of(&context->execs, input_of(args));

    return exec->is_immediate ? xyl_exec_of(&context->execs, result_of(args))
                              : exec;
}

int xyl_collective_may_detach(const xyl_operation_t *operation,
                              const xyl_sides_t *sides)
{
    uint64_t least = operation->request.context->config.detach_bytes;

    return least != 0 && operation->bytes >= least && operation->tag == 0 &&
           !operation->parts.are_awaited &&
           operation->told.on_segment == NULL && sides->send == NULL &&
           sides->recv == NULL &&
           xyl_collective_of(operation)->users_exec->is_immediate &&
           !xyl_collective_of(operation)->asks_node;
}

void xyl_collective_bind(xyl_operation_t *operation,
                         const xylem_coll_args_t *args)
{
    xyl_collective_t *collective = xyl_collective_of(operation);

    collective->is_bound = 1;
    collective->bound_send = args->send;
    collective->bound_recv = args->recv;
    xyl_operation_bind(operation, input_of(args), result_of(args));
}
