/* Collectives from a call to its request: checking, planning, starting. */
#include "collectives/api/arguments.h"
#include "collectives/api/at_once.h"
#include "collectives/choose/compose.h"
#include "collectives/choose/plan_cache.h"
#include "runtime/base/status.h"

/* ---- planning and starting ---- */

/* Of every call, also where a plan is kept. */
static xylem_status_t check(const xylem_team_t *team,
                            const xylem_coll_args_t *args, const char *call)
{
    xylem_status_t status = xyl_team_check(team, call);

    return status == XYLEM_OK ? xyl_arguments_check_frame(team, args, call)
                              : status;
}

xylem_status_t xyl_coll_check(const xylem_team_t *team,
                              const xylem_coll_args_t *args, const char *call)
{
    xylem_status_t status = check(team, args, call);

    return status == XYLEM_OK ? xyl_arguments_check_values(team, args, call)
                              : status;
}

static int is_root(const xylem_team_t *team, const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->has_root && team->rank == args->root;
}

static int has_result(const xylem_team_t *team, const xylem_coll_args_t *args)
{
    return xyl_side_matters(xyl_coll_traits(args->coll)->receives,
                            is_root(team, args));
}

/* Of checked arguments. */
static xylem_status_t plan(xylem_team_t *team, const xylem_coll_args_t *args,
                           const char *call, xylem_request_t **request_out)
{
    xyl_operation_t *operation = xyl_plan_take(team, args);
    xyl_sides_t sides = {.send = NULL};
    xylem_coll_args_t plain;
    xylem_status_t status;

    if (operation != NULL) {
        xyl_request_revive(&operation->request);
        *request_out = &operation->request;
        return XYLEM_OK;
    }
    /* A kept plan is for arguments that have passed before. */
    plain = *args;
    xyl_arrays_leave_out(&plain, is_root(team, args));
    if (!has_result(team, args))
        plain.on_segment = NULL;
    if (xyl_sides_are_needed(args)) {
        status = xyl_sides_find(team->context, args, &plain, &sides);
        if (status != XYLEM_OK)
            return status;
    }
    status = xyl_arguments_check_values(team, &plain, call);
    if (status == XYLEM_OK)
        status = xyl_coll_create(team, &plain, &sides, &operation);
    if (status != XYLEM_OK) {
        xyl_sides_release(&sides);
        return status;
    }
    xyl_plan_describe(operation, args);
    *request_out = &operation->request;
    return XYLEM_OK;
}

/* Of checked arguments. */
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
                               const xylem_coll_args_t *given,
                               xylem_request_t **request_out)
{
    const xylem_coll_args_t *args;
    xylem_coll_args_t own;
    xylem_status_t status =
        xyl_arguments_read(given, "xylem_coll_init", &own, &args);

    if (status == XYLEM_OK && request_out == NULL)
        return no_request_out("xylem_coll_init");
    if (status == XYLEM_OK)
        status = check(team, args, "xylem_coll_init");
    if (status == XYLEM_OK)
        status = plan(team, args, "xylem_coll_init", request_out);
    if (status == XYLEM_OK)
        xyl_request_persist(*request_out);
    return status;
}

/* Segments that only the holder of the request can release. */
static int waits_for_parts(const xylem_team_t *team,
                           const xylem_coll_args_t *args)
{
    return (args->flags & XYLEM_FLAG_PARTS) != 0 && args->count != 0 &&
           xyl_coll_has_input(args->coll, is_root(team, args));
}

xylem_status_t xylem_coll_start(xylem_team_t *team,
                                const xylem_coll_args_t *given,
                                xylem_request_t **request_out)
{
    const xylem_coll_args_t *args;
    xylem_coll_args_t own;
    xylem_status_t status =
        xyl_arguments_read(given, "xylem_coll_start", &own, &args);

    if (status != XYLEM_OK)
        return status;
    if (request_out == NULL && (args->flags & XYLEM_FLAG_AUTOFREE) == 0)
        return no_request_out("xylem_coll_start");
    status = check(team, args, "xylem_coll_start");
    if (status != XYLEM_OK)
        return status;
    if (request_out == NULL && waits_for_parts(team, args))
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "xylem_coll_start: request_out is NULL, so nobody "
                        "could release the segments of XYLEM_FLAG_PARTS");
    return plan_and_start(team, args, "xylem_coll_start", request_out);
}

xylem_status_t xyl_coll_begin(xylem_team_t *team, const xylem_coll_args_t *args,
                              const char *call, xylem_request_t **request_out)
{
    xylem_status_t status;

    if (request_out == NULL)
        return no_request_out(call);
    status = check(team, args, call);
    return status == XYLEM_OK ? plan_and_start(team, args, call, request_out)
                              : status;
}

/* ---- blocking calls ---- */

static xylem_status_t finish(xylem_request_t *request)
{
    xylem_status_t status = xylem_request_wait(request);

    xylem_request_free(request);
    return status;
}

/* Of a kept plan that nobody was handed: the call that is under way keeps the
 * team. */
static xylem_status_t finish_kept(xyl_operation_t *operation,
                                  xylem_status_t status)
{
    if (status == XYLEM_OK)
        status = xyl_request_wait(&operation->request);
    if (status == XYLEM_OK &&
        (xyl_at_once_keep(operation) || xyl_plan_keep(operation)))
        return XYLEM_OK;
    xyl_request_revive(&operation->request);
    xylem_request_free(&operation->request);
    return status;
}

/* A blocking call may not be made where it could never return. */
xylem_status_t xyl_coll_run(xylem_team_t *team, const xylem_coll_args_t *args,
                            const char *call)
{
    xyl_operation_t *operation;
    xylem_request_t *request;
    xyl_at_once_t at_once;
    xylem_status_t status = xyl_team_check(team, call);

    if (status != XYLEM_OK)
        return status;
    at_once = xyl_at_once_run(team, args, &operation);
    if (at_once == XYL_AT_ONCE_DONE)
        return XYLEM_OK;
    if (at_once == XYL_AT_ONCE_BEGUN)
        return finish_kept(operation, XYLEM_OK);
    if (xyl_engine_in_callback(&team->context->engine))
        status = xyl_fail(XYLEM_ERR_IN_CALLBACK,
                          "%s: a callback must not block; use the nonblocking "
                          "form",
                          call);
    if (status == XYLEM_OK)
        status = xyl_arguments_check_frame(team, args, call);
    if (status != XYLEM_OK)
        return status;
    operation = xyl_plan_take(team, args);
    if (operation != NULL)
        return finish_kept(operation, xyl_request_start(&operation->request));
    status = plan_and_start(team, args, call, &request);
    return status == XYLEM_OK ? finish(request) : status;
}
