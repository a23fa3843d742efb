/* The public collectives: checks, planning, starting. */
#include "collectives/compose.h"

#include <inttypes.h>

#include "collectives/plan_cache.h"
#include "runtime/base/status.h"
#include "trees/tree.h"

/* ---- checks ---- */

static xylem_status_t check_buffers(const xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    const char *call)
{
    int is_root = team->rank == args->root;

    if (args->count == 0)
        return XYLEM_OK;
    if (args->coll == XYLEM_COLL_BCAST)
        return args->recv != NULL
                   ? XYLEM_OK
                   : xyl_fail(XYLEM_ERR_INVALID_ARG,
                              "%s: the buffer is NULL and count is %zu", call,
                              args->count);
    if (args->send == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: the send buffer is NULL and count is %zu", call,
                        args->count);
    if (args->send == XYLEM_IN_PLACE && !is_root)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: XYLEM_IN_PLACE is for the root only", call);
    if (is_root && args->recv == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: the receive buffer of the root is NULL", call);
    if (is_root && args->send == args->recv)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: send and receive buffer are the same; say "
                        "XYLEM_IN_PLACE",
                        call);
    return XYLEM_OK;
}

static xylem_status_t check_tuning(const xylem_coll_args_t *args,
                                   const char *call)
{
    if (args->tree >= XYLEM_TREE_COUNT || args->radix > XYL_TREE_RADIX_MAX)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: there is no tree %d of radix %u (at most %d)",
                        call, (int)args->tree, args->radix, XYL_TREE_RADIX_MAX);
    if ((args->tree == XYLEM_TREE_KNOMIAL && args->radix < 2) ||
        ((args->tree == XYLEM_TREE_KARY || args->tree == XYLEM_TREE_KCHAIN) &&
         args->radix < 1))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: radix %u is too small for this tree", call,
                        args->radix);
    if (args->recv_window > XYL_WINDOW_MAX ||
        (args->recv_window != 0 && args->send_window > args->recv_window) ||
        args->send_window > XYL_WINDOW_MAX)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: windows N %u, M %u: need N <= M <= %d", call,
                        args->send_window, args->recv_window, XYL_WINDOW_MAX);
    return XYLEM_OK;
}

static xylem_status_t check_frame(const xylem_team_t *team,
                                  const xylem_coll_args_t *args,
                                  const char *call)
{
    if (args == NULL || args->struct_bytes < sizeof *args)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: args is NULL or its struct_bytes is not set",
                        call);
    return check_buffers(team, args, call);
}

static xylem_status_t check_values(const xylem_team_t *team,
                                   const xylem_coll_args_t *args,
                                   const char *call)
{
    size_t element_bytes;

    if (args->coll >= XYLEM_COLL_COUNT)
        return xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: there is no collective %d",
                        call, (int)args->coll);
    if (args->root >= team->size)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: root %u is outside the team's %u ranks", call,
                        args->root, team->size);
    element_bytes = xylem_type_bytes(args->type);
    if (element_bytes == 0)
        return xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: there is no type %" PRIu32,
                        call, args->type);
    if (args->count > (size_t)PTRDIFF_MAX / element_bytes)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: %zu elements of %zu bytes exceed the address "
                        "space",
                        call, args->count, element_bytes);
    return check_tuning(args, call);
}

/* ---- planning and starting ---- */

static xylem_status_t plan(xylem_team_t *team, const xylem_coll_args_t *args,
                           const char *call, xylem_request_t **request_out)
{
    xyl_operation_t *operation = NULL;
    xylem_status_t status = xyl_team_check(team, call);

    if (status == XYLEM_OK)
        status = check_frame(team, args, call);
    if (status != XYLEM_OK)
        return status;
    operation = xyl_plan_take(team, args);
    if (operation != NULL) {
        xyl_request_revive(&operation->request);
        *request_out = &operation->request;
        return XYLEM_OK;
    }
    /* A kept plan is for arguments that have passed before. */
    status = check_values(team, args, call);
    if (status != XYLEM_OK)
        return status;
    switch (args->coll) {
    case XYLEM_COLL_BCAST:
        status = xyl_bcast_create(team, args, &operation);
        break;
    case XYLEM_COLL_REDUCE:
        status = xyl_reduce_create(team, args, &operation);
        break;
    case XYLEM_COLL_COUNT:
        return XYLEM_ERR_INTERNAL; /* refused by xyl_args_check */
    }
    if (status != XYLEM_OK)
        return status;
    xyl_plan_describe(operation, args);
    *request_out = &operation->request;
    return XYLEM_OK;
}

static xylem_status_t plan_and_start(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const char *call,
                                     xylem_request_t **request_out)
{
    xylem_request_t *request;
    xylem_status_t status = plan(team, args, call, &request);

    if (status != XYLEM_OK)
        return status;
    /* Before the start: a callback may free the request at once. */
    if (request_out != NULL)
        *request_out = request;
    return xyl_request_start(request);
}

static xylem_status_t no_request_out(const char *call)
{
    return xyl_fail(XYLEM_ERR_INVALID_ARG, "%s: request_out is NULL", call);
}

xylem_status_t xylem_coll_init(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               xylem_request_t **request_out)
{
    xylem_status_t status;

    if (request_out == NULL)
        return no_request_out("xylem_coll_init");
    status = plan(team, args, "xylem_coll_init", request_out);
    if (status != XYLEM_OK)
        return status;
    (*request_out)->is_persistent = 1;
    atomic_fetch_add_explicit(&team->persistent, 1, memory_order_relaxed);
    return XYLEM_OK;
}

xylem_status_t xylem_coll_start(xylem_team_t *team,
                                const xylem_coll_args_t *args,
                                xylem_request_t **request_out)
{
    if (request_out == NULL && args != NULL &&
        (args->flags & XYLEM_FLAG_AUTOFREE) == 0)
        return no_request_out("xylem_coll_start");
    return plan_and_start(team, args, "xylem_coll_start", request_out);
}

static xylem_coll_args_t bcast_args(void *buf, size_t count, xylem_type_t type,
                                    uint32_t root)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_BCAST,
                               .recv = buf,
                               .count = count,
                               .type = type,
                               .root = root};
}

static xylem_coll_args_t reduce_args(const void *send, void *recv, size_t count,
                                     xylem_type_t type, xylem_op_t op,
                                     uint32_t root)
{
    return (xylem_coll_args_t){.struct_bytes = sizeof(xylem_coll_args_t),
                               .coll = XYLEM_COLL_REDUCE,
                               .send = send,
                               .recv = recv,
                               .count = count,
                               .type = type,
                               .op = op,
                               .root = root};
}

xylem_status_t xylem_ibcast(xylem_team_t *team, void *buf, size_t count,
                            xylem_type_t type, uint32_t root,
                            xylem_request_t **request_out)
{
    xylem_coll_args_t args = bcast_args(buf, count, type, root);

    if (request_out == NULL)
        return no_request_out("xylem_ibcast");
    return plan_and_start(team, &args, "xylem_ibcast", request_out);
}

xylem_status_t xylem_ireduce(xylem_team_t *team, const void *send, void *recv,
                             size_t count, xylem_type_t type, xylem_op_t op,
                             uint32_t root, xylem_request_t **request_out)
{
    xylem_coll_args_t args = reduce_args(send, recv, count, type, op, root);

    if (request_out == NULL)
        return no_request_out("xylem_ireduce");
    return plan_and_start(team, &args, "xylem_ireduce", request_out);
}

/* ---- blocking calls ---- */

static xylem_status_t finish(xylem_request_t *request)
{
    xylem_status_t status = xylem_request_wait(request);

    xylem_request_free(request);
    return status;
}

/* Runs a kept plan without handing it to anybody: the call that is under way
 * keeps the team. */
static xylem_status_t run_kept(xyl_operation_t *operation)
{
    xylem_status_t status = xyl_request_start(&operation->request);

    if (status == XYLEM_OK)
        status = xyl_request_wait(&operation->request);
    if (status == XYLEM_OK && xyl_plan_keep(operation))
        return XYLEM_OK;
    xyl_request_revive(&operation->request);
    xylem_request_free(&operation->request);
    return status;
}

/* A blocking call may not be made where it could never return. */
static xylem_status_t run(xylem_team_t *team, const xylem_coll_args_t *args,
                          const char *call)
{
    xyl_operation_t *operation;
    xylem_request_t *request;
    xylem_status_t status = xyl_team_check(team, call);

    if (status == XYLEM_OK && xyl_engine_in_callback(&team->context->engine))
        status = xyl_fail(XYLEM_ERR_IN_CALLBACK,
                          "%s: a callback must not block; use the nonblocking "
                          "form",
                          call);
    if (status == XYLEM_OK)
        status = check_frame(team, args, call);
    if (status != XYLEM_OK)
        return status;
    operation = xyl_plan_take(team, args);
    if (operation != NULL)
        return run_kept(operation);
    status = plan_and_start(team, args, call, &request);
    return status == XYLEM_OK ? finish(request) : status;
}

xylem_status_t xylem_bcast(xylem_team_t *team, void *buf, size_t count,
                           xylem_type_t type, uint32_t root)
{
    xylem_coll_args_t args = bcast_args(buf, count, type, root);

    return run(team, &args, "xylem_bcast");
}

xylem_status_t xylem_reduce(xylem_team_t *team, const void *send, void *recv,
                            size_t count, xylem_type_t type, xylem_op_t op,
                            uint32_t root)
{
    xylem_coll_args_t args = reduce_args(send, recv, count, type, op, root);

    return run(team, &args, "xylem_reduce");
}
