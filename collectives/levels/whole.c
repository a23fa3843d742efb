/* Creates collectives of several levels that move the whole message at once. */
#include "collectives/levels/han.h"
#include "collectives/levels/parts.h"
#include "runtime/base/status.h"

enum { LABELS = 64 * 16 /* of any schedule, beyond one per rank and piece */ };

static void set_frame(xyl_han_t *han)
{
    xyl_operation_t *operation = han->operation;
    const xylem_team_t *team = operation->request.team;

    han->sequences =
        (team->size / XYL_TEAM_SEGMENT_TAGS + 1) * xyl_exchange_pieces(team) +
        LABELS / XYL_TEAM_SEGMENT_TAGS + 1;
    operation->sequences = XYL_HAN_STAGES * han->sequences;
    xyl_operation_make_whole(operation);
    operation->has_input = 1; /* all ranks start when they are told to */
}

static void write_nothing(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    (void)han;
    (void)schedule;
}

xylem_status_t xyl_han_whole_create(const xyl_call_t *call,
                                    const xyl_choice_t *choice,
                                    xyl_operation_t **operation_out)
{
    const xyl_han_stage_t nothing = {0};
    xyl_han_t han = {.call = call,
                     .args = &call->args,
                     .sides = &call->sides,
                     .choice = choice,
                     .levels = xyl_levels_of_team(call->team),
                     .root = XYL_HAN_NO_ROOT,
                     .problem = call->problem};
    xylem_status_t status;

    if (han.levels == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team's levels");
    status = xyl_collective_frame(call->team, &call->args, 0, &han.operation);
    if (status != XYLEM_OK)
        return status;
    set_frame(&han);
    xyl_collective_of(han.operation)->combiner = call->combiner;
    xyl_han_find_seats(&han);
    xyl_han_level_begin(&han);
    if (han.status == XYLEM_OK)
        choice->algorithm->add_stages(&han);
    /* A rank without work gets an empty stage, so that its operation completes.
     */
    if (han.status == XYLEM_OK && han.operation->stages == 0)
        xyl_han_add_written(&han, write_nothing, &nothing);
    xyl_han_level_end(&han, call);
    if (han.status == XYLEM_OK)
        *operation_out = han.operation;
    else
        xyl_request_discard(&han.operation->request);
    return han.status;
}
