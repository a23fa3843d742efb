/* The levels within a node of a collective on several nodes, if the node's
 * ranks have their buffers in memory of GPUs that reach one another. For each
 * segment of a broadcast or reduction a lane's leader begins two kernels. The
 * first one combines the inputs of all seats where they lie, into pinned
 * memory, which the stages between nodes read. The second one copies the result
 * of these stages to all seats that get it.
 *
 *   gpu up ──▶ net up ──▶ net down ──▶ gpu down            directly
 *   entry ──▶ mirror ──▶ node ──▶ net ... node ──▶ mirror   else
 *
 * In a broadcast the first kernel reads the root's buffer alone, and the second
 * one of the root's node reads it, too. Other nodes have only the second one.
 *
 * Collectives of blocks (level_kernels.c) have more kernels for their only
 * segment.
 *
 * At most as many kernels of a lane are under way as an edge of it has
 * messages. This is the Gathered Shared Buffer without its copies, as in
 * cuda_ipc.c.
 *
 * A node stage publishes each seat's offer (plan.h) with some words. When all
 * seats of the node have come, each decides whether the node goes directly: the
 * stages of the other way are left out of the run. No other node need know. A
 * broadcast's way to the net is decided as soon as the root and the leader have
 * come, so a seat that is late holds up its own node alone. Then a seat waits
 * only for the words of leaders, which count the segments that are read and
 * those that are written. There is no barrier. */
#include "collectives/device/level_run.h"

#include <string.h>

#include "collectives/data/limits.h"
#include "collectives/device/reach.h"
#include "collectives/node/stage.h"
#include "collectives/stages/messages.h"
#include "runtime/core/context.h"
#include "runtime/faults/failure.h"

static xyl_level_stage_t *self(xyl_stage_t *stage)
{
    return (xyl_level_stage_t *)(void *)stage;
}

static xyl_level_words_t *words_of(const xyl_device_level_t *level,
                                   uint32_t seat)
{
    return (
        xyl_level_words_t *)(void *)(xyl_node_stage_input(level->names, seat) +
                                     XYL_LEVEL_WORDS_AT);
}

static _Atomic uint64_t *word_of(xyl_level_words_t *words, uint32_t lane,
                                 xyl_level_position_t position)
{
    return position == XYL_LEVEL_UP ? &words->read[lane]
                                    : &words->written[lane];
}

/* ---- kernels ---- */

/* Says how many segments are read or written, from the first one on. */
static void tell(xyl_level_stage_t *stage)
{
    const xyl_device_level_t *level = stage->level;
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

static void stage_check(xyl_level_stage_t *stage)
{
    if (stage->ended == stage->stage.count &&
        stage->stage.operation->failure == XYLEM_OK)
        xyl_stage_complete(&stage->stage);
}

/* All kernels of the segment have ended. */
static void segment_end(xyl_level_stage_t *stage, uint64_t index)
{
    xyl_bits_set(stage->over, index);
    stage->ended++;
    tell(stage);
}

/* Begins the kernels of a segment: the idle ones with the highest numbers. */
static void segment_begin(xyl_level_stage_t *stage, uint64_t index)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    int is_down = stage->position == XYL_LEVEL_DOWN;
    int count = xyl_launches_write(stage, index), i;

    if (count < 0) {
        xyl_failure_raise_for(stage->stage.operation,
                              xyl_device_unopened(plan));
        return;
    }
    for (i = 0; i < count; i++) {
        uint32_t kernel = stage->kernel[--stage->idle];
        stage->index[kernel] = index;
        if (stage->moves != NULL)
            xyl_cuda_move_begin(plan->exec, &stage->works[kernel].work,
                                plan->device, &stage->moves[kernel]);
        else
            xyl_cuda_combine_begin(
                plan->exec, &stage->works[kernel].work, plan->device,
                is_down ? XYL_CUDA_IN : XYL_CUDA_OUT, &stage->combine[kernel]);
        (void)xyl_stage_worked(&stage->stage, 0);
    }
    if (count == 0) {
        segment_end(stage, index);
        xyl_stage_emit(&stage->stage, index);
    }
}

/* Begins as many kernels as may be under way, for the lowest segments. */
static void kernels_begin(xyl_level_stage_t *stage)
{
    uint64_t index = stage->begun, count = stage->stage.count;

    for (; index < count && stage->idle != 0 &&
           stage->stage.operation->failure == XYLEM_OK;
         index++) {
        if (xyl_bits_test(stage->there, index)) {
            xyl_bits_clear(stage->there, index);
            segment_begin(stage, index);
            if (index == stage->begun)
                stage->begun++;
        } else if (index == stage->begun && xyl_bits_test(stage->over, index)) {
            stage->begun++;
        }
    }
}

void xyl_level_worked(xyl_event_t *event)
{
    xyl_stage_work_t *work = xyl_stage_work_of(event);
    xyl_level_stage_t *stage = self(work->stage);
    uint64_t index = stage->index[work->number];

    if (!xyl_stage_arrived(&stage->stage, event))
        return;
    stage->kernel[stage->idle++] = (uint32_t)work->number;
    if (!xyl_level_has_segments(stage->level) &&
        stage->idle != stage->level->kernels)
        return;
    segment_end(stage, index);
    kernels_begin(stage);
    xyl_stage_emit(&stage->stage, index);
    stage_check(stage);
}

/* ---- the stages of a lane ---- */

static void level_start(xyl_stage_t *stage)
{
    xyl_level_stage_t *own = self(stage);
    xyl_device_level_t *level = own->level;
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

static void segment_pass(xyl_level_stage_t *stage, uint64_t index)
{
    xyl_bits_clear(stage->there, index);
    stage->ended++;
    xyl_stage_emit(&stage->stage, index);
}

/* Lets kernels begin. No stage comes before those that read buffers of seats:
 * all segments are there. */
static void stage_open(xyl_level_stage_t *stage)
{
    uint64_t index;

    stage->is_open = 1;
    for (index = 0; stage->stage.inputs == 0 && index < stage->stage.count;
         index++)
        xyl_bits_set(stage->there, index);
    kernels_begin(stage);
    stage_check(stage);
}

static int is_over(const xyl_level_stage_t *stage)
{
    return stage == NULL || stage->stage.is_complete;
}

/* The node's way is known: kernels begin, or the segments go on to the stages
 * of mirrors, or the stage has nothing to do. */
static void stage_settle(xyl_level_stage_t *stage)
{
    uint64_t index;
    int is_direct;

    /* Its segments may have come while an earlier stage passed its own. */
    if (is_over(stage))
        return;
    is_direct = stage->level->plan.is_direct;
    if (is_direct && stage->position == XYL_LEVEL_DOWN) {
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
    xyl_level_stage_t *own = self(stage);

    xyl_bits_set(own->there, index);
    if (own->is_open) {
        kernels_begin(own);
        stage_check(own);
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

const xyl_stage_ops_t xyl_level_ops[XYL_LEVEL_POSITIONS] = {
#define LEVEL_OPS(text)                                                        \
    {                                                                          \
        .name = (text), .start = level_start,                                  \
        .segment_ready = level_segment_ready, .bind = level_bind,              \
    }
    [XYL_LEVEL_ENTRY] = LEVEL_OPS("gpu entry"),
    [XYL_LEVEL_UP] = LEVEL_OPS("gpu up"),
    [XYL_LEVEL_DOWN] = LEVEL_OPS("gpu down"),
#undef LEVEL_OPS
};

/* ---- which way ---- */

/* 1: the lane's leader can read the root's buffer, so that its kernels bring
 * the net its input, whatever the other seats have. Both seats have come, and
 * find the same. */
static int pair_is_direct(const xyl_device_level_t *level,
                          const xyl_level_lane_t *lane)
{
    const xyl_device_plan_t *plan = &level->plan;
    const xyl_device_offer_t *root, *leader;

    if (!xyl_level_has_root(level))
        return 0;
    root = xyl_device_offer(plan, plan->problem.root);
    leader = xyl_device_offer(plan, lane->leader);
    return root->kind == XYL_DEVICE_GPU && !root->is_bad &&
           leader->kind == XYL_DEVICE_GPU && !leader->is_bad &&
           (leader == root || leader->result_bytes == root->input_bytes) &&
           xyl_device_offer_reaches(leader, root->gpu);
}

/* 1: kernels bring the net its input. */
static int is_fed(const xyl_device_level_t *level, const xyl_level_lane_t *lane)
{
    return xyl_level_is_bcast(level) ? pair_is_direct(level, lane)
                                     : level->plan.is_direct;
}

/* Connects the net of a lane that this seat leads to what brings its input, and
 * lets the kernels up begin. */
static void lane_feed(const xyl_device_level_t *level,
                      const xyl_level_lane_t *lane)
{
    xyl_level_stage_t *up = lane->at[XYL_LEVEL_UP];
    int fed = is_fed(level, lane);

    if (up == NULL)
        return;
    up->stage.next = fed ? lane->net_first : NULL;
    if (xyl_level_is_bcast(level)) {
        lane->before_net->next = fed ? lane->behind_net : lane->net_first;
        lane->net_last->next = fed ? NULL : lane->behind_net;
    }
    if (fed)
        stage_open(up);
    else
        xyl_stage_complete(&up->stage);
}

/* At most once per run, as soon as the offers are there that it depends on. */
static void lanes_feed(xyl_device_level_t *level)
{
    uint32_t i;

    if (level->is_fed)
        return;
    level->is_fed = 1;
    if (xyl_level_is_bcast(level) && xyl_level_has_root(level))
        xyl_device_forget_freed(&level->plan, level->plan.problem.root);
    for (i = 0; i < level->lane_count; i++)
        if (xyl_level_leads(level, &level->lanes[i]))
            lane_feed(level, &level->lanes[i]);
}

/* Leaves out the stages of the other way, and connects those of this one. */
static void way_set(const xyl_device_level_t *level)
{
    const xyl_operation_t *operation = level->plan.operation;
    int is_direct = level->plan.is_direct;
    uint32_t i;

    for (i = 0; i < level->lane_count; i++) {
        xyl_level_stage_t *down = level->lanes[i].at[XYL_LEVEL_DOWN];
        if (down != NULL && down->stage.inputs != 0)
            down->stage.next = is_direct ? NULL : level->lanes[i].behind_net;
    }
    for (i = 0; i < operation->stages; i++)
        if (operation->stage[i]->awaits)
            operation->stage[i]->ops->settle(operation->stage[i], is_direct);
}

static void level_settle(xyl_device_level_t *level)
{
    xyl_device_plan_t *plan = &level->plan;
    xylem_status_t status = xyl_device_way_find(plan);
    uint32_t i;

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
    level->is_settled = 1; /* a net without messages has ended already */
    xyl_node_stage_set(level->names,
                       &words_of(level, level->seats.rank)->is_settled, 1);
    for (i = 0; i < level->lane_count; i++) {
        xyl_level_lane_t *lane = &level->lanes[i];
        stage_settle(lane->at[XYL_LEVEL_ENTRY]);
        stage_settle(lane->at[XYL_LEVEL_DOWN]);
    }
}

/* 1: a leader of the lane says that it has read or written all segments. */
static int is_told_by(const xyl_device_level_t *level, uint32_t leader,
                      uint32_t lane, xyl_level_position_t position)
{
    xyl_level_words_t *words = words_of(level, leader);

    return xyl_node_stage_get(level->names, word_of(words, lane, position)) ==
           level->lanes[lane].at[XYL_LEVEL_ENTRY]->stage.count;
}

static int is_told(const xyl_device_level_t *level, uint32_t lane,
                   xyl_level_position_t position)
{
    return is_told_by(level, level->lanes[lane].leader, lane, position);
}

/* 1: all seats have read and written all that they deal with. */
static int is_told_by_all(const xyl_device_level_t *level)
{
    uint32_t seat;

    for (seat = 0; seat < level->seats.size; seat++)
        if (!is_told_by(level, seat, 0, XYL_LEVEL_UP) ||
            !is_told_by(level, seat, 0, XYL_LEVEL_DOWN))
            return 0;
    return 1;
}

/* 1: this seat needs nothing more of the lane's leader, and the leader nothing
 * more of this seat. */
static int lane_is_over(const xyl_device_level_t *level, uint32_t number)
{
    const xyl_level_lane_t *lane = &level->lanes[number];
    int is_direct = level->plan.is_direct;

    if (xyl_level_leads(level, lane))
        return is_over(lane->at[XYL_LEVEL_UP]) &&
               (!is_direct ||
                (is_over(lane->at[XYL_LEVEL_DOWN]) &&
                 (!level->blocks.all_lead || is_told_by_all(level))));
    if (level->plan.result.bytes == 0 && is_fed(level, lane) &&
        !is_told(level, number, XYL_LEVEL_UP))
        return 0;
    /* The root of a broadcast is read by the kernels down, too. */
    return !is_direct ||
           (level->plan.result.bytes == 0 && !xyl_level_is_bcast(level)) ||
           is_told(level, number, XYL_LEVEL_DOWN);
}

static int all_are_settled(const xyl_device_level_t *level)
{
    uint32_t seat;

    for (seat = 0; seat < level->seats.size; seat++)
        if (xyl_node_stage_get(level->names,
                               &words_of(level, seat)->is_settled) == 0)
            return 0;
    return 1;
}

/* 1: all seats have come. Decides what the offers that are there decide. */
static int offers_take(xyl_device_level_t *level, unsigned *did)
{
    level->plan.offers = xyl_node_stage_input(level->names, 0);
    if (!level->is_fed && xyl_level_is_bcast(level) &&
        xyl_level_has_root(level) &&
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

int xyl_level_may_go(void *arg, uint64_t piece, unsigned *did)
{
    xyl_device_level_t *level = arg;
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

/* Fills in the offer before the node stage, which starts next, publishes it. */
static void offer_start(xyl_stage_t *stage)
{
    xyl_device_level_t *level = ((xyl_level_offer_t *)(void *)stage)->level;
    xyl_device_offer_t *offer = stage->operation->buffers.spare;

    level->is_started = level->is_settled = level->is_fed = 0;
    level->come = 0;
    memset(offer, 0, XYL_LEVEL_PUBLISHED);
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
    xyl_device_plan_bind(&((xyl_level_offer_t *)(void *)stage)->level->plan,
                         reads, writes);
}

const xyl_stage_ops_t xyl_level_offer_ops = {
    .name = "offer",
    .start = offer_start,
    .segment_ready = offer_segment_ready,
    .bind = offer_bind,
};
