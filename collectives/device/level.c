/* The levels within a node of a broadcast, reduce or allreduce on several
 * nodes, if the node's ranks have their buffers in memory of GPUs that reach
 * one another. For each segment a lane's leader begins two kernels. The first
 * one combines the inputs of all seats where they lie, into pinned memory,
 * which the stages between nodes read. The second one copies the result of
 * these stages to all seats that get it.
 *
 *   gpu up ──▶ net up ──▶ net down ──▶ gpu down            directly
 *   entry ──▶ mirror ──▶ node ──▶ net ... node ──▶ mirror   else
 *
 * In a broadcast the first kernel reads the root's buffer alone, and the second
 * one of the root's node reads it, too. Other nodes have only the second one.
 *
 * Copies from the GPUs, the net and copies to the GPUs go on side by side: no
 * segment waits for another, and at most as many kernels of a lane are under
 * way as the lane's edges have messages. After the Gathered Shared Buffer
 * (Faraji 2018), without its copies, as in cuda_ipc.c.
 *
 * A node stage publishes each seat's offer (plan.h) with some words. When all
 * seats of the node have come, each decides whether the node goes directly: the
 * stages of the other way are left out of the run. No other node need know. A
 * broadcast's way to the net is decided as soon as the root and the leader have
 * come, so a seat that is late holds up its own node alone.
 * From then on a rank waits only for what it needs: a seat for the words of
 * leaders, which count segments whose inputs are read, and whose results are
 * written. There is no barrier. */
#include <string.h>

#include "collectives/data/limits.h"
#include "collectives/device/plan.h"
#include "collectives/device/reach.h"
#include "collectives/levels/parts.h"
#include "collectives/node/node.h"
#include "collectives/node/stage.h"
#include "collectives/stages/messages.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"
#include "runtime/faults/failure.h"

enum {
    SHARES = 4 /* a lane is cut into so many segments, or more */
};

/* Each seat publishes its offer, and behind it these words, in lines of their
 * own. All but `is_settled` are set by leaders. */
typedef struct words {
    _Atomic uint64_t is_settled;
    /* Segments of each lane that kernels up have read, and that kernels down
     * have read and written. */
    _Atomic uint64_t read[XYL_LANES_MAX], written[XYL_LANES_MAX];
} words_t;

enum {
    WORDS_AT = (sizeof(xyl_device_offer_t) + XYL_BOARD_LINE_BYTES - 1) /
               XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES,
    PUBLISHED = (WORDS_AT + sizeof(words_t) + XYL_BOARD_LINE_BYTES - 1) /
                XYL_BOARD_LINE_BYTES * XYL_BOARD_LINE_BYTES
};

typedef struct level level_t;

/* The stages of a lane. ENTRY holds the input back until the node's way is
 * known, and then passes it to the stages of mirrors, or drops it. */
typedef enum position { ENTRY, UP, DOWN, POSITIONS } position_t;

typedef struct level_stage {
    xyl_stage_t stage;
    level_t *level;
    uint32_t lane;
    position_t position;
    char *memory;     /* the message, where the stages between nodes have it */
    int is_open;      /* 1: kernels may begin */
    uint64_t *there;  /* bits: input is there, and nothing has begun */
    uint64_t *over;   /* bits: a kernel has ended */
    uint64_t begun;   /* all segments below have begun */
    uint64_t ended;   /* how many segments have */
    uint64_t told;    /* all below have ended, as the word says */
    uint32_t idle;    /* how many kernels are not under way */
    uint32_t *kernel; /* [kernels] numbers, those of idle ones first */
    uint64_t *index;  /* [kernels] the segment */
    xyl_cuda_combine_t *combine; /* [kernels] */
    xyl_stage_work_t *works;
} level_stage_t;

typedef struct lane {
    uint32_t leader; /* seat */
    /* NULL: there is no such stage. All seats have ENTRY. */
    level_stage_t *at[POSITIONS];
    /* The leader has these stages between nodes. If kernels bring the net no
     * input, `before_net` does; if none take its results, `behind_net` does. */
    xyl_stage_t *net_first, *net_last, *before_net, *behind_net;
} lane_t;

struct level {
    xyl_device_plan_t plan; /* its ranks are this node's seats */
    xyl_group_t seats;
    xyl_stage_t *names;
    lane_t *lanes;
    uint32_t lane_count;
    uint32_t kernels; /* of a stage under way, at most */
    int is_unsuited;  /* segments go singly to or from the user, or a stage
                         cannot be left out */
    int is_started, is_settled; /* this run */
    int is_fed;    /* this run: what brings the nets their input is known */
    uint32_t come; /* seats, in their order */
};

static level_stage_t *self(xyl_stage_t *stage)
{
    return (level_stage_t *)(void *)stage;
}

static words_t *words_of(const level_t *level, uint32_t seat)
{
    return (words_t *)(void *)(xyl_node_stage_input(level->names, seat) +
                               WORDS_AT);
}

static _Atomic uint64_t *word_of(words_t *words, uint32_t lane,
                                 position_t position)
{
    return position == UP ? &words->read[lane] : &words->written[lane];
}

static int leads(const level_t *level, const lane_t *lane)
{
    return lane->leader == level->seats.rank;
}

static int is_bcast(const level_t *level)
{
    return level->plan.problem.coll == XYLEM_COLL_BCAST;
}

/* 1: the call has a root, on this node. */
static int has_root(const level_t *level)
{
    return level->plan.problem.root != UINT32_MAX;
}

/* ---- kernels ---- */

/* 1: the stage's kernels read the seat's buffer. Of a broadcast they read the
 * root's; the other offers may not be there yet. */
static int reads_seat(const level_stage_t *stage, uint32_t seat)
{
    const xyl_problem_t *problem = &stage->level->plan.problem;

    return is_bcast(stage->level) ? seat == problem->root
                                  : stage->position == UP;
}

/* 1: the stage's kernels write the seat's buffer. */
static int writes_seat(const level_stage_t *stage, uint32_t seat)
{
    return stage->position == DOWN &&
           xyl_device_offer(&stage->level->plan, seat)->result_bytes != 0;
}

static xyl_cuda_combine_t *combine_of(const level_stage_t *stage,
                                      uint32_t kernel, uint64_t index)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    xyl_cuda_combine_t *combine = &stage->combine[kernel];

    combine->op = plan->op;
    combine->type = plan->type;
    combine->count =
        xyl_stage_length(&stage->stage, index) / xylem_type_bytes(plan->type);
    combine->blocks = (uint32_t)xyl_limits_of(plan->context)->device_blocks;
    combine->inputs = combine->results = 0;
    return combine;
}

/* Adds where the segment lies in a buffer of the seat's. 0: the memory cannot
 * be opened. */
static int add_seat(const level_stage_t *stage, uint64_t index, uint32_t seat,
                    int is_result, xyl_cuda_combine_t *combine)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    const xyl_device_offer_t *offer = xyl_device_offer(plan, seat);
    char *opened = xyl_device_operand(
        plan, seat, is_result ? &offer->result : &offer->input);

    if (opened == NULL)
        return 0;
    opened += xyl_stage_at(&stage->stage, index);
    if (is_result)
        combine->result[combine->results++] = opened;
    else
        combine->input[combine->inputs++] = opened;
    return 1;
}

/* Adds the buffers of all seats that the kernel reads, and that it writes. 0: a
 * seat's memory cannot be opened. */
static int add_seats(const level_stage_t *stage, uint64_t index,
                     xyl_cuda_combine_t *combine)
{
    uint32_t seat, seats = stage->level->plan.problem.ranks;
    int is_open = 1;

    for (seat = 0; is_open && seat < seats; seat++) {
        if (reads_seat(stage, seat))
            is_open = add_seat(stage, index, seat, 0, combine);
        if (is_open && writes_seat(stage, seat))
            is_open = add_seat(stage, index, seat, 1, combine);
    }
    return is_open;
}

static void kernel_begin(level_stage_t *stage, uint32_t kernel, uint64_t index)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    xyl_cuda_combine_t *combine = combine_of(stage, kernel, index);
    char *memory = xyl_stage_place(&stage->stage, index, stage->memory);
    int is_down = stage->position == DOWN;

    stage->index[kernel] = index;
    if (!add_seats(stage, index, combine)) {
        xyl_failure_raise_for(stage->stage.operation,
                              xyl_device_unopened(plan));
        return;
    }
    if (combine->inputs == 0)
        combine->input[combine->inputs++] = memory;
    if (!is_down)
        combine->result[combine->results++] = memory;
    xyl_cuda_combine_begin(plan->exec, &stage->works[kernel].work, plan->device,
                           is_down ? XYL_CUDA_IN : XYL_CUDA_OUT, combine);
    (void)xyl_stage_worked(&stage->stage, 0);
}

/* Begins as many kernels as may be under way, for the lowest segments. */
static void kernels_begin(level_stage_t *stage)
{
    uint64_t index = stage->begun, count = stage->stage.count;

    for (; index < count && stage->idle != 0 &&
           stage->stage.operation->failure == XYLEM_OK;
         index++) {
        if (xyl_bits_test(stage->there, index)) {
            xyl_bits_clear(stage->there, index);
            kernel_begin(stage, stage->kernel[--stage->idle], index);
            if (index == stage->begun)
                stage->begun++;
        } else if (index == stage->begun && xyl_bits_test(stage->over, index)) {
            stage->begun++;
        }
    }
}

/* Says how many segments are read or written, from the first one on. */
static void tell(level_stage_t *stage)
{
    const level_t *level = stage->level;
    uint64_t told = stage->told;

    while (told < stage->stage.count && xyl_bits_test(stage->over, told))
        told++;
    if (told == stage->told)
        return;
    stage->told = told;
    xyl_node_stage_set(level->names,
                       word_of(words_of(level, level->seats.rank), stage->lane,
                               stage->position),
                       told);
}

static void stage_check(level_stage_t *stage)
{
    if (stage->ended == stage->stage.count &&
        stage->stage.operation->failure == XYLEM_OK)
        xyl_stage_complete(&stage->stage);
}

static void kernel_ended(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    level_stage_t *stage = self(work->stage);
    uint64_t index = stage->index[work->number];

    if (!xyl_stage_arrived(&stage->stage, event))
        return;
    stage->kernel[stage->idle++] = (uint32_t)work->number;
    xyl_bits_set(stage->over, index);
    stage->ended++;
    tell(stage);
    kernels_begin(stage);
    xyl_stage_emit(&stage->stage, index);
    stage_check(stage);
}

/* ---- the stages of a lane ---- */

static void level_start(xyl_stage_t *stage)
{
    level_stage_t *own = self(stage);
    level_t *level = own->level;
    size_t bytes = xyl_bits_words(stage->count) * sizeof *own->there;
    uint32_t i;

    memset(own->there, 0, bytes);
    memset(own->over, 0, bytes);
    own->begun = own->ended = own->told = 0;
    own->is_open = 0;
    own->idle = level->kernels;
    for (i = 0; i < level->kernels; i++)
        own->kernel[i] = i;
    /* The stages of the last lane start last. */
    if (own->lane + 1 == level->lane_count)
        level->is_started = 1;
    stage->operation->request.context->engine.polled++;
}

static void segment_pass(level_stage_t *stage, uint64_t index)
{
    xyl_bits_clear(stage->there, index);
    stage->ended++;
    xyl_stage_emit(&stage->stage, index);
}

/* Lets kernels begin. No stage comes before those that read buffers of seats:
 * all segments are there. */
static void stage_open(level_stage_t *stage)
{
    uint64_t index;

    stage->is_open = 1;
    for (index = 0; stage->stage.inputs == 0 && index < stage->stage.count;
         index++)
        xyl_bits_set(stage->there, index);
    kernels_begin(stage);
    stage_check(stage);
}

static int is_over(const level_stage_t *stage)
{
    return stage == NULL || stage->stage.is_complete;
}

/* The node's way is known: kernels begin, or the segments go on to the stages
 * of mirrors, or the stage has nothing to do. */
static void stage_settle(level_stage_t *stage)
{
    uint64_t index;
    int is_direct;

    /* Its segments may have come while an earlier stage passed its own. */
    if (is_over(stage))
        return;
    is_direct = stage->level->plan.is_direct;
    if (is_direct && stage->position == DOWN) {
        stage_open(stage);
    } else if (is_direct || stage->stage.inputs == 0) {
        xyl_stage_complete(&stage->stage);
    } else {
        for (index = 0; index < stage->stage.count; index++)
            if (xyl_bits_test(stage->there, index))
                segment_pass(stage, index);
        stage_check(stage);
    }
}

static void level_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    level_stage_t *own = self(stage);

    xyl_bits_set(own->there, index);
    if (own->is_open) {
        kernels_begin(own);
    } else if (own->level->is_settled) {
        segment_pass(own, index);
        stage_check(own);
    }
}

static void level_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    const union {
        const void *constant;
        char *plain;
    } memory = {reads};

    (void)writes;
    self(stage)->memory = memory.plain;
}

/* One for each position. */
static const xyl_stage_ops_t level_ops[POSITIONS] = {
#define LEVEL_OPS(text)                                                        \
    {                                                                          \
        .name = (text), .start = level_start,                                  \
        .segment_ready = level_segment_ready, .bind = level_bind,              \
    }
    [ENTRY] = LEVEL_OPS("gpu entry"),
    [UP] = LEVEL_OPS("gpu up"),
    [DOWN] = LEVEL_OPS("gpu down"),
#undef LEVEL_OPS
};

/* ---- which way ---- */

/* 1: the lane's leader can read the root's buffer, so that its kernels bring
 * the net its input, whatever the other seats have. Both seats have come, and
 * find the same. */
static int pair_is_direct(const level_t *level, const lane_t *lane)
{
    const xyl_device_plan_t *plan = &level->plan;
    const xyl_device_offer_t *root, *leader;

    if (!has_root(level))
        return 0;
    root = xyl_device_offer(plan, plan->problem.root);
    leader = xyl_device_offer(plan, lane->leader);
    return root->kind == XYL_DEVICE_GPU && !root->is_bad &&
           leader->kind == XYL_DEVICE_GPU && !leader->is_bad &&
           (leader == root || leader->result_bytes == root->input_bytes) &&
           xyl_device_offer_reaches(leader, root->gpu);
}

/* 1: kernels bring the net its input. */
static int is_fed(const level_t *level, const lane_t *lane)
{
    return is_bcast(level) ? pair_is_direct(level, lane)
                           : level->plan.is_direct;
}

/* Connects the net of a lane that this seat leads to what brings its input, and
 * lets the kernels up begin. */
static void lane_feed(const level_t *level, const lane_t *lane)
{
    level_stage_t *up = lane->at[UP];
    int fed = is_fed(level, lane);

    if (up == NULL)
        return;
    up->stage.next = fed ? lane->net_first : NULL;
    if (is_bcast(level)) {
        lane->before_net->next = fed ? lane->behind_net : lane->net_first;
        lane->net_last->next = fed ? NULL : lane->behind_net;
    }
    if (fed)
        stage_open(up);
    else
        xyl_stage_complete(&up->stage);
}

/* At most once per run, as soon as the offers are there that it depends on. */
static void lanes_feed(level_t *level)
{
    uint32_t i;

    if (level->is_fed)
        return;
    level->is_fed = 1;
    if (is_bcast(level) && has_root(level))
        xyl_device_forget_freed(&level->plan, level->plan.problem.root);
    for (i = 0; i < level->lane_count; i++)
        if (leads(level, &level->lanes[i]))
            lane_feed(level, &level->lanes[i]);
}

/* Leaves out the stages of the other way, and connects those of this one. */
static void way_set(const level_t *level)
{
    const xyl_operation_t *operation = level->plan.operation;
    int is_direct = level->plan.is_direct;
    uint32_t i;

    for (i = 0; i < level->lane_count; i++) {
        level_stage_t *down = level->lanes[i].at[DOWN];
        if (down != NULL && down->stage.inputs != 0)
            down->stage.next = is_direct ? NULL : level->lanes[i].behind_net;
    }
    for (i = 0; i < operation->stages; i++)
        if (operation->stage[i]->awaits)
            operation->stage[i]->ops->settle(operation->stage[i], is_direct);
}

static void level_settle(level_t *level)
{
    xyl_device_plan_t *plan = &level->plan;
    xylem_status_t status = xyl_device_way_find(plan);
    uint32_t i;

    level->is_settled = 1;
    if (status == XYLEM_OK && !plan->is_direct && plan->has_mirrors) {
        status = xyl_device_mirrors_take(plan);
        plan->has_mirrors = 0; /* they stay for further runs */
    }
    if (status != XYLEM_OK) {
        xyl_failure_raise_for(plan->operation, status);
        return;
    }
    lanes_feed(level);
    way_set(level);
    xyl_node_stage_set(level->names,
                       &words_of(level, level->seats.rank)->is_settled, 1);
    for (i = 0; i < level->lane_count; i++) {
        lane_t *lane = &level->lanes[i];
        stage_settle(lane->at[ENTRY]);
        stage_settle(lane->at[DOWN]);
    }
}

/* 1: the lane's leader says that it has read or written all segments. */
static int is_told(const level_t *level, uint32_t lane, position_t position)
{
    words_t *words = words_of(level, level->lanes[lane].leader);

    return xyl_node_stage_get(level->names, word_of(words, lane, position)) ==
           level->lanes[lane].at[ENTRY]->stage.count;
}

/* 1: this seat needs nothing more of the lane's leader, and the leader nothing
 * more of this seat. */
static int lane_is_over(const level_t *level, uint32_t number)
{
    const lane_t *lane = &level->lanes[number];
    int is_direct = level->plan.is_direct;

    if (leads(level, lane))
        return is_over(lane->at[UP]) && (!is_direct || is_over(lane->at[DOWN]));
    if (level->plan.result.bytes == 0 && is_fed(level, lane) &&
        !is_told(level, number, UP))
        return 0;
    /* The root of a broadcast is read by the kernels down, too. */
    return !is_direct || (level->plan.result.bytes == 0 && !is_bcast(level)) ||
           is_told(level, number, DOWN);
}

static int all_are_settled(const level_t *level)
{
    uint32_t seat;

    for (seat = 0; seat < level->seats.size; seat++)
        if (xyl_node_stage_get(level->names,
                               &words_of(level, seat)->is_settled) == 0)
            return 0;
    return 1;
}

/* 1: all seats have come. Decides what the offers that are there decide. */
static int offers_take(level_t *level, unsigned *did)
{
    level->plan.offers = xyl_node_stage_input(level->names, 0);
    if (!level->is_fed && is_bcast(level) && has_root(level) &&
        xyl_node_stage_has_come(level->names, level->plan.problem.root) &&
        xyl_node_stage_has_come(level->names, level->seats.rank)) {
        lanes_feed(level);
        ++*did;
    }
    while (level->come < level->seats.size &&
           xyl_node_stage_has_come(level->names, level->come))
        level->come++;
    if (level->come != level->seats.size)
        return 0;
    if (!level->is_settled) {
        level_settle(level);
        ++*did;
    }
    return 1;
}

/* The gate of the offers' stage. 1: this seat looks at no offer or word any
 * more. */
static int level_may_go(void *arg, uint64_t piece, unsigned *did)
{
    level_t *level = arg;
    const xyl_operation_t *operation = level->plan.operation;
    uint32_t i;

    (void)piece;
    if (!level->is_started || operation->failure != XYLEM_OK ||
        !offers_take(level, did) || operation->failure != XYLEM_OK)
        return 0;
    for (i = 0; i < level->lane_count; i++)
        if (!lane_is_over(level, i))
            return 0;
    /* Others open this seat's memory when they learn whether they can. */
    return level->plan.is_direct || !level->plan.is_learning ||
           all_are_settled(level);
}

/* ---- offers ---- */

typedef struct offer_stage {
    xyl_stage_t stage;
    level_t *level;
} offer_stage_t;

/* Fills in the offer before the node stage, which starts next, publishes it. */
static void offer_start(xyl_stage_t *stage)
{
    level_t *level = ((offer_stage_t *)(void *)stage)->level;
    xyl_device_offer_t *offer = stage->operation->buffers.spare;

    level->is_started = level->is_settled = level->is_fed = 0;
    level->come = 0;
    memset(offer, 0, PUBLISHED);
    xyl_device_offer_fill(&level->plan, offer);
    offer->is_bad |= (uint8_t)level->is_unsuited;
    xyl_stage_complete(stage);
}

static void offer_segment_ready(xyl_stage_t *stage, uint64_t index)
{
    (void)stage;
    (void)index;
}

static void offer_bind(xyl_stage_t *stage, const void *reads, void *writes)
{
    xyl_device_plan_t *plan = &((offer_stage_t *)(void *)stage)->level->plan;
    const union {
        const void *constant;
        char *plain;
    } input = {reads};

    plan->result.users = writes;
    plan->input.users =
        plan->problem.coll == XYLEM_COLL_BCAST ? writes : input.plain;
}

static const xyl_stage_ops_t offer_ops = {
    .name = "offer",
    .start = offer_start,
    .segment_ready = offer_segment_ready,
    .bind = offer_bind,
};

/* ---- planning ---- */

static void no_memory(xyl_han_t *han)
{
    if (han->status == XYLEM_OK)
        han->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a level on GPUs");
}

static void add_offer(xyl_han_t *han, level_t *level)
{
    const xyl_stage_spec_t spec = {.is_aside = 1,
                                   .reads = XYL_ROLE_USERS_INPUT,
                                   .writes = XYL_ROLE_USERS_RESULT};
    offer_stage_t *offer = (offer_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, &offer_ops, sizeof *offer, 0);

    if (offer == NULL)
        no_memory(han);
    else
        offer->level = level;
}

/* Each seat publishes its offer, and stays while it looks at the others'. */
static void write_names(const level_t *level, xyl_node_program_t *program)
{
    xyl_step_t *step;

    program->element_bytes = 1;
    xyl_node_cut(program, PUBLISHED, PUBLISHED, 1);
    program->input_bytes = PUBLISHED;
    xyl_node_strand(program);
    step =
        xyl_node_step(program, XYL_STEP_COPY,
                      xyl_position_of(XYL_BUFFER_INPUT, level->seats.rank, 0),
                      xyl_in_send(0), PUBLISHED);
    step->cut.total = PUBLISHED;
    step->post = xyl_post_count(1, XYL_BOARD_ALL);
    xyl_node_strand(program);
    xyl_node_signal(program, xyl_wait_nothing(), xyl_post_nothing())->kind =
        XYL_STEP_GATE;
}

static void add_names(xyl_han_t *han, level_t *level)
{
    static const xyl_layouts_t plain;
    const xyl_stage_spec_t spec = {.is_aside = 1, .reads = XYL_ROLE_SPARE};
    const xyl_node_gate_t gate = {.may_go = level_may_go, .arg = level};
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

static void level_begin(xyl_han_t *han)
{
    static const xyl_device_design_t design = {.shares_buffers = 1,
                                               .has_no_rooms = 1};
    level_t *level =
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
    level->plan.offer_bytes = PUBLISHED;
    xyl_device_plan_fill(han, &level->plan, &problem);
    if (!xyl_device_sides_find(&level->plan, &problem, han->sides->send,
                               han->sides->recv))
        no_memory(han);
    level->is_unsuited = han->operation->told.on_segment != NULL ||
                         han->operation->parts.are_awaited;
    level->kernels = han->choice->frame.recv_window;
    xyl_collective_of(han->operation)->asks_node = 1;
    xyl_han_make_spare(han, PUBLISHED);
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

static int stage_allocate(level_stage_t *stage)
{
    xyl_arena_t *arena = &stage->stage.operation->request.arena;
    size_t kernels = stage->level->kernels;
    size_t words = xyl_bits_words(stage->stage.count);

    stage->there = xyl_arena_array(arena, words, sizeof *stage->there);
    stage->over = xyl_arena_array(arena, words, sizeof *stage->over);
    stage->kernel = xyl_arena_array(arena, kernels, sizeof *stage->kernel);
    stage->index = xyl_arena_array(arena, kernels, sizeof *stage->index);
    if (stage->position != ENTRY)
        stage->combine =
            xyl_arena_array(arena, kernels, sizeof *stage->combine);
    return stage->there != NULL && stage->over != NULL &&
           stage->kernel != NULL && stage->index != NULL &&
           (stage->combine != NULL || stage->position == ENTRY);
}

/* Where the kernels of a stage find the net's memory. */
static xyl_role_t memory_of(const level_t *level, const lane_t *lane,
                            position_t position)
{
    if (position == ENTRY)
        return XYL_ROLE_NOTHING;
    return position == DOWN || is_bcast(level) ? lane->net_last->writes
                                               : lane->net_first->reads;
}

static void stage_add(xyl_han_t *han, level_t *level, uint32_t lane,
                      position_t position)
{
    const xyl_stage_spec_t spec = {
        .lane = lane,
        .grain = grain_of(han->operation, lane),
        .is_aside = 1,
        .reads = memory_of(level, &level->lanes[lane], position)};
    level_stage_t *stage;

    if (han->status != XYLEM_OK)
        return;
    stage = (level_stage_t *)(void *)xyl_operation_add_stage(
        han->operation, &spec, &level_ops[position], sizeof *stage, 0);
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
    if (han->status == XYLEM_OK && position != ENTRY)
        han->status =
            xyl_stage_works_of(&stage->stage, level->plan.exec, level->kernels,
                               kernel_ended, &stage->works);
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
static void kernels_add(xyl_han_t *han, level_t *level, uint32_t number)
{
    lane_t *lane = &level->lanes[number];
    int is_at_root = is_bcast(level) && has_root(level);

    lane->before_net = stage_before(han->operation, lane->net_first);
    lane->behind_net = lane->net_last->next;
    if (!is_bcast(level) || is_at_root)
        stage_add(han, level, number, UP);
    if (lane->net_last->writes == XYL_ROLE_NOTHING)
        return;
    stage_add(han, level, number, DOWN);
    if (han->status != XYLEM_OK || is_at_root)
        return;
    lane->net_last->next = &lane->at[DOWN]->stage;
    lane->at[DOWN]->stage.inputs = lane->at[DOWN]->stage.count;
}

/* Adds the stage before all others of the lane, and those of its leader. */
static void lane_add(xyl_han_t *han, level_t *level, uint32_t number)
{
    const xyl_han_net_t *net = &han->nets[number];
    lane_t *lane = &level->lanes[number];

    *lane = (lane_t){
        .leader = net->leader, .net_first = net->first, .net_last = net->last};
    stage_add(han, level, number, ENTRY);
    if (han->status == XYLEM_OK && han->operation->has_input)
        xyl_operation_put_first(han->operation, number,
                                &lane->at[ENTRY]->stage);
    if (han->status == XYLEM_OK && net->first != NULL)
        kernels_add(han, level, number);
}

/* Stages that are neither between nodes nor of this level wait until the way is
 * known. */
static void others_await(const xyl_han_t *han, level_t *level)
{
    const xyl_operation_t *operation = han->operation;
    uint32_t i, lane;

    for (i = 0; i < operation->stages; i++) {
        xyl_stage_t *stage = operation->stage[i];
        int is_of_net = 0;
        for (lane = 0; lane < operation->lanes; lane++)
            is_of_net |=
                stage == han->nets[lane].first || stage == han->nets[lane].last;
        if (is_of_net || stage == level->names || stage->ops == &offer_ops)
            continue;
        stage->awaits = stage->ops->settle != NULL;
        level->is_unsuited |= !stage->awaits;
    }
}

/* Adds the mirrors' stages. A leader's stages between nodes work on mirrors in
 * any case; a seat that leads no lane takes memory when a run needs it. */
static void mirrors_add(xyl_han_t *han, level_t *level, const xyl_call_t *call)
{
    xyl_device_plan_t *plan = &level->plan;
    uint32_t lane;

    plan->has_mirrors = xyl_collective_is_mirrored(han->operation);
    for (lane = 0; lane < han->operation->lanes; lane++)
        plan->has_mirrors &= han->nets[lane].first == NULL;
    han->status = xyl_mirror_stages_add(
        han->operation, call, plan->has_mirrors ? &plan->mirrors : NULL);
}

static void level_end(xyl_han_t *han, const xyl_call_t *call)
{
    level_t *level = han->level;
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
