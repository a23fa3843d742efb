/* Writes the kernels of a level's stages. Each kernel combines its inputs to
 * its results; a copy has one input. For a segment of a broadcast or reduction
 * a stage has one kernel, for all blocks of the other collectives a few. Then
 * the leader's memory between nodes has the blocks in the order of ranks:
 *
 *                   gpu up                              gpu down
 *   allgather       each seat's block to the leader's   the other nodes' blocks
 *                   memory, and to all seats            to all seats
 *   reduce_scatter  the sum of all seats' vectors       each seat's block to it
 *                   to the leader's memory
 *   alltoall        the blocks for the nodes that the   the blocks from these
 *                   seat deals with to its memory       nodes to their seats
 *
 * levels/alltoall.c says which nodes a seat deals with.
 * So a block that stays on its node does not go through the processor's
 * memory. */
#include "collectives/device/level_run.h"

#include <assert.h>

#include "collectives/data/limits.h"
#include "collectives/stages/messages.h"
#include "runtime/core/context.h"

/* The work of the next kernel, on `bytes`; *count says how many there are. */
static xyl_cuda_combine_t *combine_next(xyl_level_stage_t *stage, int *count,
                                        uint64_t bytes)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    uint32_t kernel = stage->kernel[stage->idle - 1 - (uint32_t)(*count)++];
    xyl_cuda_combine_t *combine = &stage->combine[kernel];

    combine->op = plan->op;
    combine->type = plan->type;
    combine->count = bytes / xylem_type_bytes(plan->type);
    combine->blocks = (uint32_t)xyl_limits_of(plan->context)->device_blocks;
    combine->inputs = combine->results = 0;
    return combine;
}

/* Adds a place in a buffer of the seat's. 0: the memory cannot be opened. */
static int add_seat(const xyl_level_stage_t *stage, uint64_t at, uint32_t seat,
                    int is_result, xyl_cuda_combine_t *combine)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    const xyl_device_offer_t *offer = xyl_device_offer(plan, seat);
    char *opened = xyl_device_operand(
        plan, seat, is_result ? &offer->result : &offer->input);

    if (opened == NULL)
        return 0;
    opened += at;
    if (is_result)
        combine->result[combine->results++] = opened;
    else
        combine->input[combine->inputs++] = opened;
    return 1;
}

/* ---- a segment ---- */

/* 1: the stage's kernels read the seat's buffer. Of a broadcast they read the
 * root's; the other offers may not be there yet. */
static int reads_seat(const xyl_level_stage_t *stage, uint32_t seat)
{
    const xyl_problem_t *problem = &stage->level->plan.problem;

    return problem->coll == XYLEM_COLL_BCAST ? seat == problem->root
                                             : stage->position == XYL_LEVEL_UP;
}

/* 1: the stage's kernels write the seat's buffer. */
static int writes_seat(const xyl_level_stage_t *stage, uint32_t seat)
{
    return stage->position == XYL_LEVEL_DOWN &&
           xyl_device_offer(&stage->level->plan, seat)->result_bytes != 0;
}

/* Adds the buffers of all seats that the kernel reads, and that it writes. 0: a
 * seat's memory cannot be opened. */
static int add_seats(const xyl_level_stage_t *stage, uint64_t index,
                     xyl_cuda_combine_t *combine)
{
    uint32_t seat, seats = stage->level->plan.problem.ranks;
    uint64_t at = xyl_stage_at(&stage->stage, index);
    int is_open = 1;

    for (seat = 0; is_open && seat < seats; seat++) {
        if (reads_seat(stage, seat))
            is_open = add_seat(stage, at, seat, 0, combine);
        if (is_open && writes_seat(stage, seat))
            is_open = add_seat(stage, at, seat, 1, combine);
    }
    return is_open;
}

static int write_segment(xyl_level_stage_t *stage, uint64_t index)
{
    int count = 0;
    xyl_cuda_combine_t *combine =
        combine_next(stage, &count, xyl_stage_length(&stage->stage, index));
    char *memory = xyl_stage_place(&stage->stage, index, stage->memory);

    if (!add_seats(stage, index, combine))
        return -1;
    if (combine->inputs == 0)
        combine->input[combine->inputs++] = memory;
    if (stage->position != XYL_LEVEL_DOWN)
        combine->result[combine->results++] = memory;
    return count;
}

/* ---- blocks ---- */

static int gathers(const xyl_device_level_t *level)
{
    return level->plan.problem.coll == XYLEM_COLL_ALLGATHER;
}

/* ---- messages of an alltoall ---- */

/* Bytes of the message between this node and another, either way. */
static uint64_t message_bytes(const xyl_device_level_t *level, uint32_t node)
{
    return (uint64_t)level->seats.size *
           xyl_levels_seats(level->blocks.levels, node) *
           level->blocks.bytes[0];
}

/* Bytes of the messages with all nodes that this seat deals with. */
static uint64_t all_messages(const xyl_device_level_t *level)
{
    uint64_t sum = 0;
    uint32_t node;

    for (node = level->seats.rank; node < level->blocks.levels->nodes;
         node += level->seats.size)
        sum += message_bytes(level, node);
    return sum;
}

/* An upper bound of a stage's moves. */
static uint32_t moves_most(const xyl_device_level_t *level)
{
    uint32_t seats = level->seats.size;

    assert(seats != 0); /* this rank is one */
    return (level->blocks.levels->nodes / seats + 1) * seats *
           level->blocks.levels->largest;
}

/* ---- the blocks of a call ---- */

int xyl_launches_find(xyl_han_t *han, xyl_device_level_t *level)
{
    xyl_level_blocks_t *blocks = &level->blocks;
    const size_t element = han->problem.element_bytes;
    xyl_han_blocks_t own;
    uint32_t seat;

    if (!xyl_han_find_blocks(han, &own) || !xyl_han_find_nodes(han))
        return 0;
    for (seat = 0; seat < level->seats.size; seat++) {
        own.counts[seat] *= element;
        own.places[seat] *= element;
    }
    blocks->bytes = own.counts;
    blocks->at = own.places;
    blocks->total = han->nodes.places[han->levels->nodes] * element;
    blocks->levels = han->levels;
    level->kernels = level->seats.size;
    blocks->all_lead = level->plan.problem.coll == XYLEM_COLL_ALLTOALL;
    if (blocks->all_lead) {
        blocks->result_at = all_messages(level);
        level->kernels = moves_most(level) / XYL_CUDA_MOVES_MAX + 1;
    } else {
        blocks->result_at = gathers(level) ? 0 : blocks->total;
    }
    return 1;
}

/* Adds the same place in all seats' results, but not that of the only input. 0:
 * a seat's memory cannot be opened. */
static int add_results(const xyl_level_stage_t *stage, uint64_t at,
                       xyl_cuda_combine_t *combine)
{
    uint32_t seat;

    for (seat = 0; seat < stage->level->seats.size; seat++) {
        if (!add_seat(stage, at, seat, 1, combine))
            return 0;
        if (combine->result[combine->results - 1] == combine->input[0])
            combine->results--; /* in place */
    }
    return 1;
}

static int write_gathered(xyl_level_stage_t *stage)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    int count = 0, is_open = 1;
    uint32_t seat;

    for (seat = 0; is_open && seat < stage->level->seats.size; seat++) {
        xyl_cuda_combine_t *combine =
            combine_next(stage, &count, blocks->bytes[seat]);
        is_open = add_seat(stage, 0, seat, 0, combine) &&
                  add_results(stage, blocks->at[seat], combine);
        combine->result[combine->results++] = stage->memory + blocks->at[seat];
    }
    return is_open ? count : -1;
}

/* Copies the blocks of other nodes from `from` to `end`. 0: see above. */
static int write_others(xyl_level_stage_t *stage, uint64_t from, uint64_t end,
                        int *count)
{
    xyl_cuda_combine_t *combine;

    if (from == end)
        return 1;
    combine = combine_next(stage, count, end - from);
    combine->input[combine->inputs++] = stage->memory + from;
    return add_results(stage, from, combine);
}

static int write_handed_on(xyl_level_stage_t *stage)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    uint32_t last = stage->level->seats.size - 1;
    int count = 0;

    return write_others(stage, 0, blocks->at[0], &count) &&
                   write_others(stage, blocks->at[last] + blocks->bytes[last],
                                blocks->total, &count)
               ? count
               : -1;
}

static int write_sum(xyl_level_stage_t *stage)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    int count = 0, is_open = 1;
    xyl_cuda_combine_t *combine;
    uint32_t seat;

    if (blocks->total == 0)
        return 0;
    combine = combine_next(stage, &count, blocks->total);
    for (seat = 0; is_open && seat < stage->level->seats.size; seat++)
        is_open = add_seat(stage, 0, seat, 0, combine);
    combine->result[combine->results++] = stage->memory;
    return is_open ? count : -1;
}

static int write_scattered(xyl_level_stage_t *stage)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    char *sums = stage->memory + blocks->result_at;
    int count = 0, is_open = 1;
    uint32_t seat;

    for (seat = 0; is_open && seat < stage->level->seats.size; seat++) {
        xyl_cuda_combine_t *combine;
        if (blocks->bytes[seat] == 0)
            continue;
        combine = combine_next(stage, &count, blocks->bytes[seat]);
        combine->input[combine->inputs++] =
            sums + (blocks->at[seat] - blocks->at[0]);
        is_open = add_seat(stage, 0, seat, 1, combine);
    }
    return is_open ? count : -1;
}

/* Adds a move to the last of the kernels, or to a next one. */
static void add_move(xyl_level_stage_t *stage, int *count, char *to,
                     const char *from, uint64_t bytes)
{
    xyl_cuda_moves_t *moves = NULL;

    if (*count != 0)
        moves = &stage->moves[stage->kernel[stage->idle - (uint32_t)*count]];
    if (moves == NULL || moves->count == XYL_CUDA_MOVES_MAX) {
        moves =
            &stage->moves[stage->kernel[stage->idle - (uint32_t)++ * count]];
        moves->count = 0;
        moves->blocks =
            (uint32_t)xyl_limits_of(stage->level->plan.context)->device_blocks;
    }
    moves->move[moves->count++] =
        (xyl_cuda_move_t){.to = to, .from = from, .bytes = bytes};
}

static char *seat_at(const xyl_level_stage_t *stage, uint32_t seat,
                     int is_result, uint32_t block)
{
    const xyl_device_plan_t *plan = &stage->level->plan;
    const xyl_device_offer_t *offer = xyl_device_offer(plan, seat);
    char *opened = xyl_device_operand(
        plan, seat, is_result ? &offer->result : &offer->input);

    return opened == NULL ? NULL
                          : opened + block * stage->level->blocks.bytes[0];
}

/* Moves the blocks of a seat for a node, or between seats of this node. 0: a
 * seat's memory cannot be opened. */
static int move_out(xyl_level_stage_t *stage, uint32_t seat, uint32_t node,
                    char *message, int *count)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    uint32_t seats = xyl_levels_seats(blocks->levels, node), other;
    uint64_t bytes = seats * blocks->bytes[0];
    char *from =
        seat_at(stage, seat, 0, xyl_levels_rank(blocks->levels, node, 0));

    if (from == NULL)
        return 0;
    if (node != blocks->levels->node) {
        add_move(stage, count, message + seat * bytes, from, bytes);
        return 1;
    }
    for (other = 0; other < seats; other++, from += blocks->bytes[0]) {
        char *to = seat_at(stage, other, 1,
                           xyl_levels_rank(blocks->levels, node, seat));
        if (to == NULL)
            return 0;
        add_move(stage, count, to, from, blocks->bytes[0]);
    }
    return 1;
}

/* Moves the blocks from a node to a seat. 0: see above. */
static int move_in(xyl_level_stage_t *stage, uint32_t seat, uint32_t node,
                   const char *message, int *count)
{
    const xyl_level_blocks_t *blocks = &stage->level->blocks;
    uint32_t seats = stage->level->seats.size, other;

    if (node == blocks->levels->node)
        return 1;
    for (other = 0; other < xyl_levels_seats(blocks->levels, node); other++) {
        char *to = seat_at(stage, seat, 1,
                           xyl_levels_rank(blocks->levels, node, other));
        if (to == NULL)
            return 0;
        add_move(stage, count, to,
                 message + ((uint64_t)other * seats + seat) * blocks->bytes[0],
                 blocks->bytes[0]);
    }
    return 1;
}

static int write_moves(xyl_level_stage_t *stage, int is_up)
{
    const xyl_device_level_t *level = stage->level;
    char *message = stage->memory + (is_up ? 0 : level->blocks.result_at);
    int count = 0, is_open = 1;
    uint32_t node, seat;

    for (node = level->seats.rank; node < level->blocks.levels->nodes;
         node += level->seats.size) {
        for (seat = 0; is_open && seat < level->seats.size; seat++)
            is_open = is_up ? move_out(stage, seat, node, message, &count)
                            : move_in(stage, seat, node, message, &count);
        message += message_bytes(level, node);
    }
    return is_open ? count : -1;
}

static int write_blocks(xyl_level_stage_t *stage)
{
    int is_up = stage->position == XYL_LEVEL_UP;

    if (stage->level->blocks.all_lead)
        return write_moves(stage, is_up);
    if (gathers(stage->level))
        return is_up ? write_gathered(stage) : write_handed_on(stage);
    return is_up ? write_sum(stage) : write_scattered(stage);
}

int xyl_launches_write(xyl_level_stage_t *stage, uint64_t index)
{
    return stage->level->blocks.bytes == NULL ? write_segment(stage, index)
                                              : write_blocks(stage);
}
