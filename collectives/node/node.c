#include "collectives/node/node.h"

#include <assert.h>
#include <stdlib.h>

#include "collectives/board/parcel.h"
#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/node/boards.h"
#include "collectives/node/groups.h"
#include "collectives/node/kept.h"
#include "collectives/node/stage.h"
#include "collectives/node/state.h"
#include "collectives/node/tagged.h"
#include "runtime/base/holder.h"
#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/faults/failure.h"

/* 1: windows have room for programs of `seats` seats whose smallest part, such
 * as an element, has `unit` bytes. */
static int has_room(const xylem_team_t *team, uint64_t seats, uint64_t unit)
{
    const uint64_t line = XYL_BOARD_LINE_BYTES;
    uint64_t room = xyl_node_window_bytes(team);

    if (!team->may_share || seats < 2 || seats > XYL_BOARD_SEATS_MAX)
        return 0;
    /* The smallest window of a program has seats + 1 units for each seat. */
    return unit <= room &&
           (unit + line - 1) / line * line <= room / (seats * (seats + 1));
}

int xyl_node_is_possible(const xylem_team_t *team, const xyl_problem_t *problem)
{
    uint64_t unit = problem->element_bytes, least = XYL_PARCEL_BETWEEN_LEAST;

    if (xyl_coll_traits(problem->coll)->has_neighbors && unit < least)
        unit = least;
    return xyl_node_may_have_board(team) && has_room(team, team->size, unit);
}

/* ---- calls that are refused ---- */

typedef struct refusal {
    xyl_task_t task;
    xylem_team_t *team;
    uint64_t call;
    xylem_status_t status;
} refusal_t;

static void refusal_run(xyl_task_t *task)
{
    refusal_t *refusal = XYL_HOLDER(refusal_t, task, task);
    xylem_team_t *team = refusal->team;
    /* Other ranks may wait on the board, even if this rank has made no call
     * before. Without the board the team cannot go on: all its calls would be
     * refused. */
    xyl_board_t *board = xyl_node_board_of_team(team);

    if (board != NULL) {
        if (refusal->call != 0)
            xyl_node_share_refusal(board, refusal->call);
    } else if (!xyl_team_has_failed(team)) {
        xyl_failure_raise(team, refusal->status, team->context->rank,
                          xylem_status_text(refusal->status));
    }
    xyl_team_unreference(team);
    free(refusal);
}

void xyl_node_refused(xylem_team_t *team, uint64_t call, xylem_status_t status)
{
    refusal_t *refusal;

    if (!team->is_one_node || team->context->shm == NULL ||
        !xyl_team_shares(team) || xyl_team_has_failed(team))
        return;
    refusal = calloc(1, sizeof *refusal);
    if (refusal == NULL)
        return; /* waiting ranks are not told */
    *refusal = (refusal_t){{NULL, refusal_run}, team, call, status};
    xyl_team_reference(team);
    xyl_engine_submit(&team->context->engine, &refusal->task);
}

/* Returns the groups of the seats (free with free). NULL: no memory. */
static uint32_t *groups_create(const xylem_team_t *team,
                               const xyl_group_t *seats)
{
    const xylem_context_t *context = team->context;
    xylem_place_t *places = malloc(seats->size * sizeof *places);
    uint32_t *group_of = malloc(seats->size * sizeof *group_of);
    uint32_t i, world, groups;

    for (i = 0; i < seats->size && places != NULL; i++) {
        world = xyl_team_world_rank(team, xyl_group_rank(seats, i));
        places[i] = context->peers[world].place;
    }
    if (places != NULL && group_of != NULL) {
        groups = xyl_node_groups_find(places, seats->size,
                                      context->config.node_groups, group_of);
        if (context->config.verbose != 0)
            xyl_log(XYL_LOG_NONE, "select: %u ranks of a node in %u groups",
                    seats->size, groups);
    } else {
        free(group_of);
        group_of = NULL;
    }
    free(places);
    return group_of;
}

/* The groups of seats, found by the first call that needs them; alike on all
 * ranks of the node. */
static xylem_status_t groups_of(xylem_team_t *team, const xyl_group_t *seats,
                                const uint32_t **group_of_out)
{
    xyl_node_team_t *node = xyl_node_of_team(team);

    pthread_mutex_lock(&team->lock);
    if (node->group_of == NULL)
        node->group_of = groups_create(team, seats);
    *group_of_out = node->group_of;
    pthread_mutex_unlock(&team->lock);
    return *group_of_out != NULL
               ? XYLEM_OK
               : xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for groups of ranks");
}

/* 1: other ranks may wait for this rank to create the team's board, because no
 * rank destroys the board before all have created it. In a failed team this
 * rank may have made no call that needs the board, while the board of others
 * has windows of the pool. A dead rank never creates it. (A team on several
 * nodes no longer knows its seats.)
 */
static int others_wait_to_leave(const xylem_team_t *team)
{
    return xyl_team_has_failed(team) && team->is_one_node &&
           team->context->shm != NULL && xyl_team_shares(team) &&
           team->failure.status != XYLEM_ERR_PROC_FAILED;
}

/* 1: nothing is left on the board, because its team has ended well. */
static int may_be_kept(const xylem_team_t *team, const xyl_board_t *board)
{
    return team->parent_key != 0 && !xyl_team_has_failed(team) &&
           team->is_one_node && TAILQ_EMPTY(&board->stages) &&
           xyl_node_of_team(team)->tagged == NULL &&
           xyl_history_refusals(team) == 0 &&
           xyl_board_get(board, xyl_board_spare(board, XYL_SPARE_TAGS)) == 0;
}

static void team_ends(xylem_team_t *team)
{
    xylem_context_t *context = team->context;
    xyl_board_t *board = xyl_node_of_team(team)->board;

    free(xyl_node_of_team(team)->group_of);
    if (board == NULL && others_wait_to_leave(team))
        board =
            xyl_node_board_of_team(team); /* NULL: others' boards stay, too */
    if (board == NULL && xyl_node_of_team(team)->has_place)
        xyl_node_place_return(context);
    if (board == NULL)
        return;
    if (may_be_kept(team, board)) {
        board = xyl_kept_put(context, board, team->parent_key);
        xyl_node_board_give_up(context, board);
        return;
    }
    board->next_left = xyl_tagged_end(xyl_node_of_team(team)->tagged, NULL);
    xyl_node_boards_leave(context, board);
}

static xylem_status_t context_begins(xylem_context_t *context)
{
    xylem_status_t status = xyl_engine_source_add(
        &context->engine,
        (xyl_source_t){xyl_node_stages_poll, xyl_node_of_context(context)});

    assert(status == XYLEM_OK);
    return status;
}

const xyl_module_t xyl_node_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_node_context_t),
              [XYL_OWNER_TEAM] = sizeof(xyl_node_team_t)},
    .context_begins = context_begins,
    .context_ends = xyl_node_boards_end,
    .team_ends = team_ends,
};

/* ---- the program ---- */

xylem_status_t xyl_node_outline(xylem_team_t *team, const xyl_group_t *seats,
                                xyl_problem_t *problem)
{
    problem->rank = seats->rank;
    problem->ranks = seats->size;
    problem->node.limits = xyl_limits_of(team->context);
    problem->node.window_bytes = xyl_node_window_bytes(team);
    problem->node.long_window_bytes = xyl_node_longest_window(team->context);
    if (team->context->shm->ops->share != NULL)
        problem->node.share_bytes = team->context->config.share_bytes;
    problem->shares_memory = 1;
    return groups_of(team, seats, &problem->node.group_of);
}

static xylem_status_t program_write(const xyl_algorithm_t *algorithm,
                                    const xyl_problem_t *problem,
                                    xyl_node_program_t *program)
{
    program->element_bytes = problem->element_bytes;
    program->all_wait = xyl_node_all_wait(problem);
    algorithm->program(problem, program);
    return program->status;
}

/* ---- the operation ---- */

static xylem_status_t operation_make(const xyl_call_t *call,
                                     const xyl_node_program_t *program,
                                     xyl_operation_t **operation_out)
{
    const xyl_group_t seats = xyl_team_all(call->team);
    const xyl_layouts_t layouts = {call->sides.send, call->sides.recv};
    xyl_stage_spec_t spec;
    xyl_board_t *board;
    xyl_stage_t *stage;
    xylem_status_t status = XYLEM_OK;

    if (call->args.tag != 0)
        board = xyl_node_tag_board(call->team, call->args.tag);
    else
        status = xyl_node_board_of(call->team, &seats, &board);
    if (status == XYLEM_OK)
        status = xyl_collective_frame(
            call->team, &call->args,
            program->segments == 0 ? 0 : program->segment_bytes, operation_out);
    if (status != XYLEM_OK)
        return status;
    xyl_collective_of(*operation_out)->combiner = call->combiner;
    spec = xyl_stage_behind(*operation_out, 0, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    status = xyl_node_stage_add(*operation_out, &spec, board, program, &layouts,
                                &stage);
    if (status == XYLEM_OK)
        xyl_node_stage_make_sums(stage, 1);
    else
        xyl_request_discard(&(*operation_out)->request);
    return status;
}

xylem_status_t xyl_node_create(const xyl_call_t *call,
                               const xyl_choice_t *choice,
                               xyl_operation_t **operation_out)
{
    const xyl_group_t seats = xyl_team_all(call->team);
    xyl_problem_t problem = call->problem;
    xyl_node_program_t program;
    xylem_status_t status;

    problem.segment_bytes = choice->segment_bytes;
    problem.radix = choice->radix;
    xyl_node_program_init(&program);
    status = xyl_node_outline(call->team, &seats, &problem);
    if (status == XYLEM_OK)
        status = program_write(choice->algorithm, &problem, &program);
    if (status == XYLEM_OK)
        status = operation_make(call, &program, operation_out);
    xyl_node_program_fini(&program);
    return status;
}

/* ---- a level of several ---- */

static xylem_status_t part_write(const xyl_operation_t *operation,
                                 const xyl_stage_spec_t *spec,
                                 const xyl_node_part_t *part,
                                 xyl_node_program_t *program)
{
    uint64_t bytes = xyl_operation_lane_bytes(operation, spec->lane);
    uint64_t segment_bytes =
        xyl_operation_offset(operation, spec->grain != 0 ? spec->grain : 1);
    size_t element_bytes = xyl_collective_of(operation)->element_bytes;
    xyl_problem_t problem = {
        .coll = part->coll,
        .root = part->root,
        .count = bytes / element_bytes,
        .element_bytes = element_bytes,
        .is_in_place = part->is_in_place,
        .segment_bytes =
            bytes < segment_bytes && bytes != 0 ? bytes : segment_bytes,
        .is_commutative = xyl_collective_of(operation)->combiner.is_commutative,
        .in_arrival_order = xyl_collective_of(operation)->plan.arrival_order,
        .combines_sums = xyl_collective_of(operation)->combiner.binned != NULL,
        .node.roots_in_turn = part->roots_in_turn,
        .node.is_level = 1,
        .node.is_for_one = part->is_for_one,
        .node.is_at_root = part->is_at_root,
        .node.has_relay = part->has_relay,
    };
    xylem_team_t *team = operation->request.team;
    const xyl_algorithm_t *algorithm = part->algorithm;
    xylem_status_t status = xyl_node_outline(team, &part->group, &problem);

    if (status == XYLEM_OK && algorithm == NULL)
        algorithm = part->chooser->in_memory(team, part->named,
                                             part->named_radix, &problem);
    if (status == XYLEM_OK)
        status = program_write(algorithm, &problem, program);
    if (status != XYLEM_OK)
        return status;
    program->ends_turns = part->is_beside_trees;
    /* Between two levels no stage cuts segments anew. */
    if (program->segment_bytes != problem.segment_bytes)
        program->segments = 0;
    return XYLEM_OK;
}

xylem_status_t xyl_node_part_add(xyl_operation_t *operation,
                                 const xyl_stage_spec_t *spec,
                                 const xyl_node_part_t *part,
                                 xyl_stage_t **stage_out)
{
    static const xyl_layouts_t plain;
    xylem_team_t *team = operation->request.team;
    xyl_node_program_t program;
    xyl_board_t *board = NULL;
    xylem_status_t status;

    *stage_out = NULL;
    if (team->context->shm == NULL ||
        !has_room(team, part->group.size,
                  xyl_collective_of(operation)->element_bytes))
        return XYLEM_OK;
    xyl_node_program_init(&program);
    status = part_write(operation, spec, part, &program);
    if (status == XYLEM_OK && program.segments != 0)
        status = xyl_node_board_of(team, &part->group, &board);
    if (status == XYLEM_OK && program.segments != 0)
        status = xyl_node_stage_add(operation, spec, board, &program, &plain,
                                    stage_out);
    if (status == XYLEM_OK && *stage_out != NULL)
        xyl_node_stage_make_sums(*stage_out, 0);
    xyl_node_program_fini(&program);
    return status;
}

/* ---- a level of several, at once ---- */

int xyl_node_would_have_room(const xylem_team_t *team, uint32_t seats)
{
    return has_room(team, seats, 1);
}

int xyl_node_has_room(const xylem_team_t *team, uint32_t seats, uint64_t unit)
{
    return team->context->shm != NULL && has_room(team, seats, unit);
}

uint64_t xyl_node_window_bytes(const xylem_team_t *team)
{
    return team->context->sizes.window;
}

xylem_status_t xyl_node_level_write(xylem_team_t *team,
                                    const xyl_group_t *seats,
                                    const xyl_chooser_t *chooser,
                                    const xyl_problem_t *problem,
                                    xyl_node_program_t *program)
{
    xyl_problem_t whole = *problem;
    const xyl_algorithm_t *algorithm;
    xylem_status_t status;

    whole.node.is_level = 1;
    status = xyl_node_outline(team, seats, &whole);
    if (status != XYLEM_OK)
        return status;
    algorithm = chooser->in_memory(team, NULL, 0, &whole);
    return program_write(algorithm, &whole, program);
}

xylem_status_t
xyl_node_level_add(xyl_operation_t *operation, const xyl_stage_spec_t *spec,
                   const xyl_group_t *seats, xyl_node_program_t *program,
                   const xyl_layouts_t *layouts, xyl_stage_t **stage_out)
{
    xyl_board_t *board;
    xylem_status_t status =
        xyl_node_board_of(operation->request.team, seats, &board);

    if (status != XYLEM_OK)
        return status;
    program->segments = 0; /* no segment comes or goes singly */
    return xyl_node_stage_add(operation, spec, board, program, layouts,
                              stage_out);
}
