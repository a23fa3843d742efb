#include "collectives/schedules/blocks.h"

#include <stdlib.h>

#include "runtime/base/status.h"

static uint64_t elements_in_front(const xyl_blocks_t *blocks, uint64_t rank)
{
    return blocks->before == NULL ? blocks->problem->count * rank
                                  : blocks->before[rank];
}

static uint64_t block_count_of(const xyl_blocks_t *blocks, uint32_t rank)
{
    return xyl_recv_count(blocks->problem, rank);
}

static xyl_position_t packed_place(const xyl_blocks_t *blocks, uint32_t rank)
{
    return xyl_in_recv(blocks->packed_at + elements_in_front(blocks, rank));
}

/* Adds up the lengths of blocks. Empty blocks may lie anywhere. */
static void add_up_blocks(xyl_blocks_t *blocks)
{
    const xyl_problem_t *problem = blocks->problem;
    uint64_t sum = 0, count, at;
    uint32_t rank;

    blocks->before =
        malloc(((size_t)problem->ranks + 1) * sizeof *blocks->before);
    if (blocks->before == NULL) {
        blocks->schedule->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a schedule");
        return;
    }
    for (rank = 0; rank < problem->ranks; rank++) {
        blocks->before[rank] = sum;
        count = block_count_of(blocks, rank);
        at = xyl_block_at(problem, problem->recv_displs, rank);
        if (count != 0 && sum == 0)
            blocks->packed_at = at;
        else if (count != 0 && at != blocks->packed_at + sum)
            blocks->is_packed = 0;
        sum += count;
    }
    blocks->before[rank] = sum;
}

void xyl_blocks_init(xyl_blocks_t *blocks, const xyl_problem_t *problem,
                     xyl_schedule_t *schedule)
{
    *blocks = (xyl_blocks_t){
        .problem = problem, .schedule = schedule, .is_packed = 1};
    if (problem->recv_counts != NULL)
        add_up_blocks(blocks);
    blocks->owned = xyl_own_block(problem, schedule, &blocks->own);
}

void xyl_blocks_fini(xyl_blocks_t *blocks)
{
    free(blocks->before);
    blocks->before = NULL;
}

uint64_t xyl_blocks_count(const xyl_blocks_t *blocks, uint32_t first,
                          uint64_t number)
{
    uint64_t ranks = blocks->problem->ranks, end = first + number;

    if (end <= ranks)
        return elements_in_front(blocks, end) -
               elements_in_front(blocks, first);
    return elements_in_front(blocks, ranks) - elements_in_front(blocks, first) +
           elements_in_front(blocks, end - ranks);
}

int xyl_blocks_lie_together(const xyl_blocks_t *blocks, uint32_t first,
                            uint64_t number, xyl_position_t *at_out)
{
    int is_single = number == 1;

    *at_out = is_single ? xyl_recv_block(blocks->problem, first)
                        : packed_place(blocks, first);
    return is_single ||
           (blocks->is_packed && first + number <= blocks->problem->ranks);
}

/* Copies out blocks that do not go past the last rank. */
static void copy_range(const xyl_blocks_t *blocks, uint32_t first, uint32_t end,
                       xyl_position_t from, xyl_action_t after)
{
    uint64_t count;
    uint32_t rank;

    if (blocks->is_packed) {
        count =
            elements_in_front(blocks, end) - elements_in_front(blocks, first);
        xyl_schedule_copy(blocks->schedule, packed_place(blocks, first), from,
                          count, after);
        return;
    }
    for (rank = first; rank < end; rank++) {
        count = block_count_of(blocks, rank);
        xyl_schedule_copy(blocks->schedule,
                          xyl_recv_block(blocks->problem, rank), from, count,
                          after);
        from = xyl_position_plus(from, count);
    }
}

void xyl_blocks_copy_out(const xyl_blocks_t *blocks, uint32_t first,
                         uint64_t number, xyl_position_t from,
                         xyl_action_t after)
{
    uint64_t ranks = blocks->problem->ranks, end = first + number;

    if (blocks->schedule->status != XYLEM_OK)
        return;
    if (end <= ranks) {
        copy_range(blocks, first, (uint32_t)end, from, after);
        return;
    }
    copy_range(blocks, first, (uint32_t)ranks, from, after);
    from = xyl_position_plus(from, elements_in_front(blocks, ranks) -
                                       elements_in_front(blocks, first));
    copy_range(blocks, 0, (uint32_t)(end - ranks), from, after);
}

/* ---- blocks in the order of ranks ---- */

xyl_store_t xyl_store_make(const xyl_blocks_t *blocks)
{
    xyl_store_t store = {blocks, xyl_in_recv(blocks->packed_at)};

    if (!blocks->is_packed)
        store.at = xyl_schedule_temp(
            blocks->schedule,
            elements_in_front(blocks, blocks->problem->ranks));
    return store;
}

xyl_action_t xyl_store_own(const xyl_store_t *store)
{
    const xyl_blocks_t *blocks = store->blocks;
    uint32_t rank = blocks->problem->rank;

    if (blocks->is_packed || block_count_of(blocks, rank) == 0)
        return blocks->owned;
    return xyl_schedule_copy(
        blocks->schedule,
        xyl_position_plus(store->at, elements_in_front(blocks, rank)),
        blocks->own, block_count_of(blocks, rank), XYL_ACTION_NONE);
}

void xyl_store_send(const xyl_store_t *store, uint32_t peer, uint32_t label,
                    uint32_t first, uint32_t end, xyl_action_t after)
{
    const xyl_blocks_t *blocks = store->blocks;
    uint64_t at = elements_in_front(blocks, first);
    int is_own = first == blocks->problem->rank && end == first + 1;

    xyl_schedule_send(blocks->schedule, peer, label,
                      is_own ? blocks->own : xyl_position_plus(store->at, at),
                      elements_in_front(blocks, end) - at,
                      is_own ? XYL_ACTION_NONE : after);
}

xyl_action_t xyl_store_recv(const xyl_store_t *store, uint32_t peer,
                            uint32_t label, uint32_t first, uint32_t end)
{
    const xyl_blocks_t *blocks = store->blocks;
    uint64_t at = elements_in_front(blocks, first);
    xyl_position_t to = xyl_position_plus(store->at, at);
    xyl_action_t recv =
        xyl_schedule_recv(blocks->schedule, peer, label, to,
                          elements_in_front(blocks, end) - at, XYL_ACTION_NONE);

    if (!blocks->is_packed)
        copy_range(blocks, first, end, to, recv);
    return recv;
}
