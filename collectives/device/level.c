/* Plans the levels on GPUs of a call: the stages of a seat, and their wiring
 * to those of mirrors. level_run.c says what they do. */
#include "collectives/data/limits.h"
#include "collectives/device/level_run.h"
#include "collectives/node/node.h"
#include "collectives/node/stage.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum {
    SHARES = 4 /* a lane is cut into so many segments, or more */
};

static void no_memory(xyl_han_t *han)
{
    if (han->status == XYLEM_OK)
        han->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a level on GPUs");
}

static void add_offer(xyl_han_t *han, xyl_device_level_t *level)
{
    const xyl_stage_spec_t spec = {.is_aside = 1,
                                   .reads = XYL_ROLE_USERS_INPUT,
                                   .writes = XYL_ROLE_USERS_RESULT};
    xyl_level_offer_t *offer =
        (xyl_level_offer_t *)(void *)xyl_operation_add_stage(
            han->operation, &spec, &xyl_level_offer_ops, sizeof *offer, 0);

    if (offer == NULL)
        no_memory(han);
    else
        offer->level = level;
}

/* Each seat publishes its offer, and stays while it looks at the others'. */
static void write_names(const xyl_device_level_t *level,
                        xyl_node_program_t *program)
{
    xyl_step_t *step;

    program->element_bytes = 1;
    xyl_node_cut(program, XYL_LEVEL_PUBLISHED, XYL_LEVEL_PUBLISHED, 1);
    program->input_bytes = XYL_LEVEL_PUBLISHED;
    xyl_node_strand(program);
    step =
        xyl_node_step(program, XYL_STEP_COPY,
                      xyl_position_of(XYL_BUFFER_INPUT, level->seats.rank, 0),
                      xyl_in_send(0), XYL_LEVEL_PUBLISHED);
    step->cut.total = XYL_LEVEL_PUBLISHED;
    step->post = xyl_post_count(1, XYL_BOARD_ALL);
    xyl_node_strand(program);
    xyl_node_signal(program, xyl_wait_nothing(), xyl_post_nothing())->kind =
        XYL_STEP_GATE;
}

static void add_names(xyl_han_t *han, xyl_device_level_t *level)
{
    static const xyl_layouts_t plain;
    const xyl_stage_spec_t spec = {.is_aside = 1, .reads = XYL_ROLE_SPARE};
    const xyl_node_gate_t gate = {.may_go = xyl_level_may_go, .arg = level};
    xyl_node_program_t program;

    if (han->status != XYLEM_OK)
        return;
    xyl_node_program_init(&program);
    write_names(level, &program);
    han->status = program.status;
    if (han->status == XYLEM_OK)
        han->status = xyl_node_level_add(han->operation, &spec, &han->seats,
                                         &program, &plain, &level->names);
    if (han->status == XYLEM_OK)
        xyl_node_stage_set_gate(level->names, &gate);
    xyl_node_program_fini(&program);
}

/* The call, among this node's seats. */
static xyl_problem_t problem_of(const xyl_han_t *han)
{
    const xylem_coll_args_t *args = han->args;
    uint32_t node, seat = UINT32_MAX;

    if (han->root != XYL_HAN_NO_ROOT) {
        xyl_levels_find(han->levels, han->root, &node, &seat);
        if (node != han->levels->node)
            seat = UINT32_MAX;
    }
    return (xyl_problem_t){.coll = args->coll,
                           .rank = han->seats.rank,
                           .ranks = han->seats.size,
                           .root = seat,
                           .count = args->count,
                           .element_bytes = xylem_type_bytes(args->type),
                           .is_in_place = args->send == XYLEM_IN_PLACE};
}

/* The message moves at once: sides are those of the team's call. */
static void blocks_begin(xyl_han_t *han, xyl_device_level_t *level)
{
    xyl_device_plan_t *plan = &level->plan;

    plan->result.is_copied = 0; /* all is read before anything is written */
    if (plan->counts != NULL)
        plan->counts += level->seats.ranks[0]; /* ranks fill node after node */
    if (!xyl_launches_find(han, level))
        no_memory(han);
}

static void level_begin(xyl_han_t *han)
{
    static const xyl_device_design_t design = {.shares_buffers = 1,
                                               .has_no_rooms = 1};
    xyl_device_level_t *level =
        xyl_arena_array(&han->operation->request.arena, 1, sizeof *level);
    const xyl_problem_t problem = problem_of(han);

    if (level == NULL) {
        no_memory(han);
        return;
    }
    han->level = level;
    level->seats = han->seats;
    level->plan.design = &design;
    level->plan.ranks = level->seats.ranks;
    level->plan.name = han->choice->on_gpus->name;
    level->plan.offer_bytes = XYL_LEVEL_PUBLISHED;
    xyl_device_plan_fill(han, &level->plan, &problem);
    if (!xyl_device_sides_find(&level->plan,
                               han->call == NULL ? &problem : &han->problem,
                               han->sides->send, han->sides->recv))
        no_memory(han);
    level->is_unsuited = han->operation->told.on_segment != NULL ||
                         han->operation->parts.are_awaited;
    level->kernels = han->choice->frame.recv_window;
    if (han->call != NULL)
        blocks_begin(han, level);
    xyl_collective_of(han->operation)->asks_node = 1;
    xyl_han_make_spare(han, XYL_LEVEL_PUBLISHED);
    if (han->status == XYLEM_OK)
        add_offer(han, level);
    add_names(han, level);
}

/* How many segments of the operation make one of the level's: up to
 * device_chunk bytes. */
static uint32_t grain_of(const xyl_operation_t *operation, uint32_t lane)
{
    uint64_t bytes = xyl_operation_lane_bytes(operation, lane) / SHARES;
    uint64_t most = xyl_limits_of(operation->request.context)->device_chunk;

    bytes = (bytes < most ? bytes : most) / operation->segment_bytes;
    return bytes == 0 ? 1 : (uint32_t)bytes;
}

static int stage_allocate(xyl_level_stage_t *stage)
{
    xyl_arena_t *arena = &stage->stage.operation->request.arena;
    size_t kernels = stage->level->kernels;
    size_t words = xyl_bits_words(stage->stage.count);
    int moves = stage->level->plan.problem.coll == XYLEM_COLL_ALLTOALL;

    stage->there = xyl_arena_array(arena, words, sizeof *stage->there);
    stage->over = xyl_arena_array(arena, words, sizeof *stage->over);
    stage->kernel = xyl_arena_array(arena, kernels, sizeof *stage->kernel);
    stage->index = xyl_arena_array(arena, kernels, sizeof *stage->index);
    if (stage->position != XYL_LEVEL_ENTRY && moves)
        stage->moves = xyl_arena_array(arena, kernels, sizeof *stage->moves);
    else if (stage->position != XYL_LEVEL_ENTRY)
        stage->combine =
            xyl_arena_array(arena, kernels, sizeof *stage->combine);
    return stage->there != NULL && stage->over != NULL &&
           stage->kernel != NULL && stage->index != NULL &&
           (stage->combine != NULL || stage->moves != NULL ||
            stage->position == XYL_LEVEL_ENTRY);
}

/* Where the kernels of a stage find the net's memory. */
static xyl_role_t memory_of(const xyl_device_level_t *level,
                            const xyl_level_lane_t *lane,
                            xyl_level_position_t position)
{
    if (position == XYL_LEVEL_ENTRY)
        return XYL_ROLE_NOTHING;
    return position == XYL_LEVEL_DOWN || xyl_level_is_bcast(level) ||
                   level->plan.problem.coll == XYLEM_COLL_ALLGATHER
               ? lane->net_last->writes
               : lane->net_first->reads;
}

static void stage_add(xyl_han_t *han, xyl_device_level_t *level, uint32_t lane,
                      xyl_level_position_t position)
{
    const xyl_stage_spec_t spec = {
        .lane = lane,
        .grain =
            xyl_level_has_segments(level) ? grain_of(han->operation, lane) : 1,
        .is_aside = 1,
        .reads = memory_of(level, &level->lanes[lane], position)};
    xyl_level_stage_t *stage;

    if (han->status != XYLEM_OK)
        return;
    stage = (xyl_level_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, &xyl_level_ops[position], sizeof *stage, 0);
    if (stage == NULL) {
        no_memory(han);
        return;
    }
    stage->level = level;
    stage->lane = lane;
    stage->position = position;
    level->lanes[lane].at[position] = stage;
    if (!stage_allocate(stage))
        no_memory(han);
    if (han->status == XYLEM_OK && position != XYL_LEVEL_ENTRY)
        han->status =
            xyl_stage_works_of(&stage->stage, level->plan.exec, level->kernels,
                               xyl_level_worked, &stage->works);
}

/* The stage that brings the net its input on mirrors. */
static xyl_stage_t *stage_before(const xyl_operation_t *operation,
                                 const xyl_stage_t *next)
{
    uint32_t i;

    for (i = 0; i < operation->stages; i++)
        if (operation->stage[i]->next == next)
            return operation->stage[i];
    return NULL;
}

/* Adds the kernels' stages of a lane that this seat leads. */
static void kernels_add(xyl_han_t *han, xyl_device_level_t *level,
                        uint32_t number)
{
    xyl_level_lane_t *lane = &level->lanes[number];
    int is_at_root = xyl_level_is_bcast(level) && xyl_level_has_root(level);

    lane->before_net = stage_before(han->operation, lane->net_first);
    lane->behind_net = lane->net_last->next;
    if (!xyl_level_is_bcast(level) || is_at_root)
        stage_add(han, level, number, XYL_LEVEL_UP);
    if (lane->net_last->writes == XYL_ROLE_NOTHING)
        return;
    stage_add(han, level, number, XYL_LEVEL_DOWN);
    if (han->status != XYLEM_OK || is_at_root)
        return;
    lane->net_last->next = &lane->at[XYL_LEVEL_DOWN]->stage;
    lane->at[XYL_LEVEL_DOWN]->stage.inputs =
        lane->at[XYL_LEVEL_DOWN]->stage.count;
}

/* Adds the stage before all others of the lane, and those of its leader. */
static void lane_add(xyl_han_t *han, xyl_device_level_t *level, uint32_t number)
{
    const xyl_han_net_t *net = &han->nets[number];
    xyl_level_lane_t *lane = &level->lanes[number];

    *lane = (xyl_level_lane_t){
        .leader = net->leader, .net_first = net->first, .net_last = net->last};
    stage_add(han, level, number, XYL_LEVEL_ENTRY);
    if (han->status == XYLEM_OK && han->operation->has_input)
        xyl_operation_put_first(han->operation, number,
                                &lane->at[XYL_LEVEL_ENTRY]->stage);
    if (han->status == XYLEM_OK && net->first != NULL)
        kernels_add(han, level, number);
}

/* Stages that are neither between nodes nor of this level wait until the way is
 * known. */
static void others_await(const xyl_han_t *han, xyl_device_level_t *level)
{
    const xyl_operation_t *operation = han->operation;
    uint32_t i, lane;

    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        int is_of_net = 0;
        for (lane = 0; lane < operation->lanes; lane++)
            is_of_net |=
                stage == han->nets[lane].first || stage == han->nets[lane].last;
        if (is_of_net || stage == level->names ||
            stage->ops == &xyl_level_offer_ops)
            continue;
        stage->awaits = stage->ops->settle != NULL;
        level->is_unsuited |= !stage->awaits;
    }
}

/* 1: the stages between nodes work on mirrors of the user's buffers. */
static int is_on_mirrors(const xyl_han_net_t *net)
{
    return net->first != NULL && (net->first->reads == XYL_ROLE_INPUT ||
                                  net->first->reads == XYL_ROLE_RESULT ||
                                  net->last->writes == XYL_ROLE_RESULT);
}

/* Adds the mirrors' stages. A leader's stages between nodes work on mirrors in
 * any case, or in scratch memory; all others take memory when a run needs it.
 */
static void mirrors_add(xyl_han_t *han, xyl_device_level_t *level,
                        const xyl_call_t *call)
{
    xyl_device_plan_t *plan = &level->plan;
    uint32_t lane;

    plan->has_mirrors = xyl_collective_is_mirrored(han->operation);
    for (lane = 0; lane < han->operation->lanes; lane++)
        plan->has_mirrors &= !is_on_mirrors(&han->nets[lane]);
    han->status = xyl_mirror_stages_add(
        han->operation, call, plan->has_mirrors ? &plan->mirrors : NULL);
}

static void level_end(xyl_han_t *han, const xyl_call_t *call)
{
    xyl_device_level_t *level = han->level;
    xyl_operation_t *operation = han->operation;

    mirrors_add(han, level, call);
    if (han->status != XYLEM_OK)
        return;
    level->lane_count = operation->lanes;
    level->lanes = xyl_arena_array(&operation->request.arena, operation->lanes,
                                   sizeof *level->lanes);
    if (level->lanes == NULL) {
        no_memory(han);
        return;
    }
    others_await(han, level);
    for (han->lane = 0; han->lane < operation->lanes; han->lane++)
        lane_add(han, level, han->lane);
}

const xyl_node_level_t xyl_device_level = {
    .colls = XYL_DEVICE_LEVEL_COLLS,
    .begin = level_begin,
    .end = level_end,
};
