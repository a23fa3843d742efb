/* Collectives from a call to its request: checking, planning, starting. */
#include "collectives/api/arguments.h"
#include "collectives/api/inline_call.h"
#include "collectives/choose/compose.h"
#include "collectives/choose/plan_cache.h"
#include "collectives/data/call.h"
#include "collectives/device/way.h"
#include "collectives/node/node.h"
#include "collectives/node/tagged.h"
#include "collectives/tune/learn.h"
#include "collectives/tune/timing.h"
#include "runtime/base/status.h"

/* ---- planning and starting ---- */

xylem_status_t xyl_coll_check(const xylem_team_t *team,
                              const xylem_coll_args_t *args, const char *call)
{
    xylem_status_t status = xyl_team_check(team, call);

    if (status == XYLEM_OK)
        status = xyl_arguments_check_frame(team, args, call);
    return status == XYLEM_OK ? xyl_arguments_check_values(team, args, call)
                              : status;
}

/* Schedules are cut so that a tag has numbers enough for their messages, except
 * with some thousands of ranks. */
static xylem_status_t tag_prepare(xylem_team_t *team,
                                  const xyl_operation_t *operation,
                                  const char *call)
{
    if (operation->sequences > XYL_TAG_SEQUENCES)
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "%s: with a tag: its messages need more numbers than a "
                        "tag has",
                        call);
    return xyl_tags_reserve(team);
}

static xylem_status_t tag_way(xylem_team_t *team, const xylem_coll_args_t *args,
                              int is_request, xyl_way_t *way)
{
    int has_board = 0;
    xylem_status_t status =
        args->tag > XYLEM_TAG_MAX
            ? XYLEM_OK /* the check of values refuses it */
            : xyl_node_tag_join(team, args->tag, is_request, &has_board);

    way->has_board = (uint16_t)has_board;
    return status;
}

/* Finds the call's memory and its board. The memory of a call with a type of
 * the user's is found later, when the type has been replaced. `is_request`: the
 * call may be started again. */
static inline xylem_status_t way_of(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    int is_request, xyl_way_t *way_out)
{
    *way_out =
        (xyl_way_t){.memory = (uint16_t)(xyl_sides_are_needed(args)
                                             ? XYL_MEMORY_HOST
                                             : xyl_device_memory(team, args))};
    return args->tag == 0 ? XYLEM_OK : tag_way(team, args, is_request, way_out);
}

static void way_undo(xylem_team_t *team, const xylem_coll_args_t *args)
{
    if (!xyl_sides_are_needed(args))
        xyl_device_memory_undo(team, args);
}

/* Begins a call with the arguments that this rank uses, and checks them. After
 * a failure the caller has nothing to give back. */
static xylem_status_t arguments_pack(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const char *call, xyl_call_t *packed)
{
    xylem_status_t status = xyl_arguments_check_frame(team, args, call);

    if (status != XYLEM_OK)
        return status;
    xyl_context_execs_look(team->context);
    status = xyl_call_pack(team, args, packed);
    if (status != XYLEM_OK)
        return status;
    status = xyl_arguments_check_values(team, &packed->args, call);
    if (status != XYLEM_OK)
        xyl_call_give_up(packed);
    return status;
}

/* Plans the packed call. On failure this function gives the call up. */
static xylem_status_t plan_packed(xyl_call_t *packed,
                                  xyl_operation_t **operation_out)
{
    xyl_choice_t choice;
    xylem_status_t status = xyl_call_resolve(packed);

    if (status == XYLEM_OK)
        status = xyl_compose_create(packed, &choice, operation_out);
    if (status != XYLEM_OK) {
        xyl_call_give_up(packed);
        return status;
    }
    if (xyl_observer_measures(packed->team->context->observer))
        (*operation_out)->record.subject = xyl_timing_of(packed, &choice);
    xyl_call_fini(packed);
    return XYLEM_OK;
}

/* Plans a call for which no plan is kept. */
static xylem_status_t plan_anew(xylem_team_t *team,
                                const xylem_coll_args_t *args, xyl_way_t way,
                                const char *call, xylem_request_t **request_out)
{
    xyl_call_t packed;
    xylem_status_t status = arguments_pack(team, args, call, &packed);
    xyl_operation_t *operation;

    if (status != XYLEM_OK)
        return status;
    if (xyl_sides_are_needed(args))
        way.memory = (uint16_t)xyl_device_memory(team, &packed.args);
    packed.way = way;
    status = plan_packed(&packed, &operation);
    if (status != XYLEM_OK) {
        if (xyl_sides_are_needed(args))
            xyl_device_memory_undo(team, &packed.args);
        return status;
    }
    if (args->tag != 0)
        status = tag_prepare(team, operation, call);
    if (status != XYLEM_OK) {
        xyl_request_discard(&operation->request);
        return status;
    }
    operation->looks_max = args->limit_s;
    xyl_collective_of(operation)->key.asks_never =
        !xyl_sides_are_needed(args) && xyl_device_never_asks(team, args);
    xyl_collective_bind(operation, args);
    xyl_plan_describe(operation, args, way);
    *request_out = &operation->request;
    return XYLEM_OK;
}

/* Takes a kept plan, whose arguments have been checked, or plans anew. */
static xylem_status_t plan_call(xylem_team_t *team,
                                const xylem_coll_args_t *args, xyl_way_t way,
                                const char *call, xylem_request_t **request_out)
{
    xyl_operation_t *operation = xyl_plan_take(team, args, way);

    if (operation == NULL)
        return plan_anew(team, args, way, call, request_out);
    xyl_request_revive(&operation->request);
    *request_out = &operation->request;
    return XYLEM_OK;
}

/* Starts a request. If that fails, no other code holds it: discards it. */
static xylem_status_t start_planned(xylem_request_t *request,
                                    xylem_request_t **request_out)
{
    xylem_status_t status;

    /* Before the start: a callback may free the request at once. */
    if (request_out != NULL)
        *request_out = request;
    status = xyl_request_start(request);
    if (status == XYLEM_OK)
        return status;
    xyl_request_discard(request);
    if (request_out != NULL)
        *request_out = NULL;
    return status;
}

/* Returns the call's arguments or, if a run that learns tries another plan,
 * *own with that plan. A blocking call in a callback does not count, as it is
 * refused. NULL: no memory. */
static inline const xylem_coll_args_t *
args_of_turn(xylem_team_t *team, const xylem_coll_args_t *args, int blocks,
             xylem_coll_args_t *own)
{
    return xyl_learns(team) &&
                   !(blocks && xyl_engine_in_callback(&team->context->engine))
               ? xyl_learn_turn(team, args, own)
               : args;
}

/* Notes the refusal of a call without a tag: other ranks may wait for this
 * rank. */
static void call_refused(xylem_team_t *team, const xylem_coll_args_t *args,
                         xylem_status_t status)
{
    if (args->tag == 0)
        xyl_compose_refuse(team, status);
}

static xylem_status_t no_turn(xylem_team_t *team, const xylem_coll_args_t *said)
{
    call_refused(team, said, XYLEM_ERR_NO_MEMORY);
    return XYLEM_ERR_NO_MEMORY;
}

/* The team has been checked; `said`: the arguments of the call itself. */
static xylem_status_t start_that_way(xylem_team_t *team,
                                     const xylem_coll_args_t *said,
                                     const xylem_coll_args_t *args,
                                     xyl_way_t way, const char *call,
                                     xylem_request_t **request_out)
{
    xylem_request_t *request = NULL;
    xylem_status_t status = plan_call(team, args, way, call, &request);

    if (status == XYLEM_OK)
        return start_planned(request, request_out);
    way_undo(team, args);
    if (xyl_learns(team))
        xyl_learn_back(team, said);
    call_refused(team, args, status);
    return status;
}

static xylem_status_t plan_and_start(xylem_team_t *team,
                                     const xylem_coll_args_t *args,
                                     const char *call,
                                     xylem_request_t **request_out)
{
    const xylem_coll_args_t *said = args;
    xylem_coll_args_t own;
    xyl_way_t way;
    xylem_status_t status = xyl_team_check(team, call);

    if (status != XYLEM_OK)
        return status;
    args = args_of_turn(team, said, 0, &own);
    if (args == NULL)
        return no_turn(team, said);
    status = way_of(team, args, 0, &way);
    return status == XYLEM_OK
               ? start_that_way(team, said, args, way, call, request_out)
               : status;
}

/* Another request may have the tag when all ranks have freed theirs. */
static void tag_leave(xyl_operation_t *operation)
{
    xyl_node_tag_leave(operation->request.team, operation->tag);
}

/* 1: a start may run inside the call, as no callback tells its end. */
static int runs_inside(const xyl_operation_t *operation)
{
    return xyl_collective_of(operation)->key.runs_inline &&
           operation->request.on_complete == NULL &&
           (operation->request.flags & XYLEM_FLAG_AUTOFREE) == 0;
}

static xylem_status_t init_that_way(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_way_t way,
                                    xylem_request_t **request_out)
{
    xylem_status_t status =
        plan_call(team, args, way, "xylem_coll_init", request_out);

    if (status == XYLEM_ERR_NO_MEMORY)
        xyl_node_refused(team, 0, status);
    if (status != XYLEM_OK) {
        way_undo(team, args);
        if (args->tag != 0 && args->tag <= XYLEM_TAG_MAX)
            xyl_node_tag_leave(team, args->tag);
        return status;
    }
    /* Stand-ins are made of these buffers; a kept plan had other ones. */
    xyl_collective_of(xyl_operation_of(*request_out))->key.args.send =
        args->send;
    xyl_collective_of(xyl_operation_of(*request_out))->key.args.recv =
        args->recv;
    if (args->tag != 0)
        xyl_operation_of(*request_out)->maker.given_up = tag_leave;
    if (runs_inside(xyl_operation_of(*request_out)))
        (*request_out)->run = xyl_inline_start;
    xyl_request_persist(*request_out);
    return XYLEM_OK;
}

xylem_status_t xylem_tag_suits(xylem_team_t *team,
                               const xylem_coll_args_t *given, int *suits_out)
{
    const xylem_coll_args_t *args;
    xylem_coll_args_t own;
    xyl_call_t packed;
    xylem_status_t status =
        xyl_arguments_read(given, "xylem_tag_suits", &own, &args);

    if (status == XYLEM_OK && (args->tag == 0 || suits_out == NULL))
        status = xyl_refuse("xylem_tag_suits",
                            "the call has no tag, or suits_out is NULL");
    if (status == XYLEM_OK)
        status = xyl_team_check(team, "xylem_tag_suits");
    if (status == XYLEM_OK)
        status = arguments_pack(team, args, "xylem_tag_suits", &packed);
    if (status != XYLEM_OK)
        return status;
    *suits_out = xyl_device_tag_suits(team, &packed.args);
    xyl_call_give_up(&packed);
    return XYLEM_OK;
}

xylem_status_t xylem_coll_init(xylem_team_t *team,
                               const xylem_coll_args_t *given,
                               xylem_request_t **request_out)
{
    const xylem_coll_args_t *args;
    xylem_coll_args_t own;
    xyl_way_t way = {0};
    xylem_status_t status =
        xyl_arguments_read(given, "xylem_coll_init", &own, &args);

    if (status == XYLEM_OK && request_out == NULL)
        return xyl_refuse("xylem_coll_init", "request_out is NULL");
    if (status == XYLEM_OK)
        status = xyl_team_check(team, "xylem_coll_init");
    if (status == XYLEM_OK)
        status = way_of(team, args, 1, &way);
    return status == XYLEM_OK ? init_that_way(team, args, way, request_out)
                              : status;
}

/* Checks a call without request_out: this rank's segments may not wait for
 * their release. */
static xylem_status_t check_without_request(const xylem_team_t *team,
                                            const xylem_coll_args_t *args,
                                            const char *call)
{
    xylem_status_t status = xyl_team_check(team, call);

    if (status == XYLEM_OK)
        status = xyl_arguments_check_frame(team, args, call);
    if (status == XYLEM_OK && args->count != 0 &&
        xyl_coll_has_input(args->coll, xyl_args_is_root(args, team->rank)))
        status = xyl_refuse(call, "request_out is NULL, so nobody could "
                                  "release the segments of XYLEM_FLAG_PARTS");
    return status;
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
        return xyl_refuse("xylem_coll_start", "request_out is NULL");
    if (request_out == NULL && (args->flags & XYLEM_FLAG_PARTS) != 0) {
        status = check_without_request(team, args, "xylem_coll_start");
        if (status != XYLEM_OK)
            return status;
    }
    return plan_and_start(team, args, "xylem_coll_start", request_out);
}

xylem_status_t xyl_coll_begin(xylem_team_t *team, const xylem_coll_args_t *args,
                              const char *call, xylem_request_t **request_out)
{
    return request_out != NULL ? plan_and_start(team, args, call, request_out)
                               : xyl_refuse(call, "request_out is NULL");
}

/* ---- blocking calls ---- */

enum {
    COUNT_ASKS = 128,  /* elements; ranks of most shorter calls never ask */
    SLICE_US = 20,     /* of a wait, until the caller may look */
    SLICES_SHORT = 50, /* then a rank may sleep */
    SLICE_LONG_US = 1000
};

/* The caller's function during a wait; NULL: none. */
typedef struct look {
    xylem_look_fn run;
    void *arg;
} look_t;

static xylem_status_t wait_and_look(xylem_request_t *request,
                                    const look_t *look)
{
    unsigned slices = 0;
    xylem_status_t status = XYLEM_IN_PROGRESS;

    if (look == NULL)
        return xyl_request_wait(request);
    while (status == XYLEM_IN_PROGRESS) {
        status = xyl_request_wait_for(
            request, slices < SLICES_SHORT ? SLICE_US : SLICE_LONG_US);
        slices++;
        if (status == XYLEM_IN_PROGRESS)
            look->run(look->arg);
    }
    return status;
}

static xylem_status_t coll_finish(xylem_request_t *request, const look_t *look)
{
    xylem_status_t status = wait_and_look(request, look);

    xylem_request_free(request);
    return status;
}

/* Finishes a kept plan whose request no user holds; the call keeps the team. */
static xylem_status_t finish_kept(xyl_operation_t *operation,
                                  xylem_status_t status, const look_t *look)
{
    if (status == XYLEM_OK)
        status = wait_and_look(&operation->request, look);
    if (status == XYLEM_OK && xyl_plan_keep(operation))
        return XYLEM_OK;
    xyl_request_revive(&operation->request);
    xylem_request_free(&operation->request);
    return status;
}

/* Runs a blocking call, but not in a callback, where it could never return.
 * `is_short`: the call is a short form that has not tried a plan that runs
 * inside; this function tries one. */
static __attribute__((noinline)) xylem_status_t
run_by_way(xylem_team_t *team, const xylem_coll_args_t *args, const char *call,
           int is_short, const look_t *look)
{
    const xylem_coll_args_t *said = args;
    xyl_operation_t *operation;
    xylem_request_t *request;
    xyl_inline_outcome_t outcome = XYL_INLINE_NOT;
    xylem_coll_args_t own;
    xylem_status_t status = xyl_team_check(team, call);
    xyl_way_t way;

    if (status != XYLEM_OK)
        return status;
    args = args_of_turn(team, args, 1, &own);
    if (args == NULL)
        return no_turn(team, said);
    status = way_of(team, args, 0, &way);
    if (status != XYLEM_OK)
        return status;
    if (is_short && xyl_way_is_plain(way) &&
        args != &own) /* a learner's plans do not run inside */
        outcome = xyl_inline_call(team, args, 1, &operation);
    if (outcome == XYL_INLINE_DONE)
        return XYLEM_OK;
    if (outcome == XYL_INLINE_BEGUN)
        return finish_kept(operation, XYLEM_OK, look);
    if (xyl_engine_in_callback(&team->context->engine)) {
        way_undo(team, args);
        return xyl_context_may_block(team->context, call);
    }
    operation = xyl_plan_take(team, args, way);
    if (operation != NULL)
        return finish_kept(operation, xyl_request_start(&operation->request),
                           look);
    status = start_that_way(team, said, args, way, call, &request);
    return status == XYLEM_OK ? coll_finish(request, look) : status;
}

/* Most short calls find a plan whose ranks never ask where buffers lie. Longer
 * calls do not look for such a plan first, as their ranks often have to ask. */
static inline __attribute__((always_inline)) xylem_status_t
run_and_wait(xylem_team_t *team, const xylem_coll_args_t *args,
             const char *call, int is_short, const look_t *look)
{
    xyl_operation_t *operation;
    xyl_inline_outcome_t outcome = XYL_INLINE_ASKS;

    if (is_short && args->count < COUNT_ASKS && xyl_team_is_one(team) &&
        !xyl_learns(team))
        outcome = xyl_inline_call(team, args, 0, &operation);
    if (outcome == XYL_INLINE_DONE)
        return XYLEM_OK;
    if (outcome == XYL_INLINE_BEGUN)
        return finish_kept(operation, XYLEM_OK, look);
    return run_by_way(team, args, call, is_short && outcome == XYL_INLINE_ASKS,
                      look);
}

xylem_status_t xyl_coll_run(xylem_team_t *team, const xylem_coll_args_t *args,
                            const char *call)
{
    return run_and_wait(team, args, call, 1, NULL);
}

xylem_status_t xylem_coll_run(xylem_team_t *team,
                              const xylem_coll_args_t *given, xylem_look_fn run,
                              void *arg)
{
    const look_t look = {run, arg};
    const xylem_coll_args_t *args;
    xylem_coll_args_t own;
    int is_short;
    xylem_status_t status =
        xyl_arguments_read(given, "xylem_coll_run", &own, &args);

    if (status != XYLEM_OK)
        return status;
    if ((args->flags & (XYLEM_FLAG_PARTS | XYLEM_FLAG_AUTOFREE)) != 0 ||
        args->on_complete != NULL)
        return xyl_refuse("xylem_coll_run",
                          "what is waited for has no on_complete and neither "
                          "XYLEM_FLAG_PARTS nor XYLEM_FLAG_AUTOFREE");
    is_short = args->flags == 0 && args->on_segment == NULL &&
               args->limit_s == 0 && !xyl_plan_args_say_more(args);
    return run_and_wait(team, args, "xylem_coll_run", is_short,
                        run == NULL ? NULL : &look);
}
