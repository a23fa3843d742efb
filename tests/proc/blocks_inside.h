/* What a block does; one source for threads of the host and of a GPU. */
#pragma once

#include <sched.h>

#include "tests/proc/blocks.h"

#ifdef __CUDA_ARCH__
#define THREAD     threadIdx.x
#define THREADS    blockDim.x
#define TOGETHER() __syncthreads()
#define YIELD()    ((void)0)
enum { TRIES = 1 << 16, REPEATS = 1000 }; /* about a minute */
#else
#define THREAD     0u
#define THREADS    1u
#define TOGETHER() ((void)0)
#define YIELD()    sched_yield()
enum { TRIES = 64, REPEATS = 1 << 30 }; /* the process has a bound */
#endif

typedef struct block {
    inside_t *inside;
    const xylem_device_queue_t *queue;
    uint32_t number;
} block_t;

XYLEM_DEVICE_FN_ int post(const block_t *block, uint32_t tag, uint32_t index)
{
    int status = XYLEM_ERR_TIMED_OUT, i;

    for (i = 0; i < REPEATS && status == XYLEM_ERR_TIMED_OUT; i++) {
        if (i != 0)
            YIELD();
        status = xylem_device_block_post(block->queue, tag, index, 1, TRIES);
    }
    return status;
}

XYLEM_DEVICE_FN_ int wait_for(const block_t *block, enum tag tag,
                              uint64_t times)
{
    int status = XYLEM_ERR_TIMED_OUT, i;

    for (i = 0; i < REPEATS && status == XYLEM_ERR_TIMED_OUT; i++) {
        if (i != 0)
            YIELD();
        status = tag >= MESSAGES
                     ? xylem_device_block_wait(&block->inside->words[tag],
                                               times, TRIES)
                     : xylem_device_block_wait_relayed(
                           &block->inside->relays[tag],
                           &block->inside->words[tag], times, TRIES);
    }
    return status;
}

/* Any thread of the block. */
XYLEM_DEVICE_FN_ void expect(const block_t *block, const uint64_t *value,
                             uint64_t expected)
{
    /* Not by the read-only cache. */
    if (*(const volatile uint64_t *)value == expected)
        return;
#ifdef __CUDA_ARCH__
    atomicAdd(&block->inside->wrong[block->number], 1);
#else
    block->inside->wrong[block->number]++;
#endif
}

/* The last block of the rank begins it, and all wait for its end. */
XYLEM_DEVICE_FN_ int run_together(const block_t *block,
                                  xylem_device_counter_t *counter, enum tag tag,
                                  uint64_t times)
{
    int status =
        xylem_device_block_count(block->queue, counter, 1, BLOCKS, tag, 0, 0);

    if (status == XYLEM_ERR_TIMED_OUT) /* this block is the last */
        status = post(block, tag, 0);
    return status == XYLEM_OK ? wait_for(block, tag, times) : status;
}

XYLEM_DEVICE_FN_ int send_message(const block_t *block, uint64_t round)
{
    inside_t *inside = block->inside;
    uint32_t i, b = block->number;
    uint32_t from = (inside->rank + inside->ranks - 1) % inside->ranks;
    int status;

    for (i = THREAD; i < MESSAGE; i += THREADS)
        inside->sent[b][i] = round * 1000 + inside->rank + i;
    status = post(block, MESSAGES + b, 0);
    if (status == XYLEM_OK)
        status = wait_for(block, (enum tag)(MESSAGES + b), round);
    for (i = THREAD; status == XYLEM_OK && i < MESSAGE; i += THREADS)
        expect(block, &inside->received[b][i], round * 1000 + from + i);
    return status;
}

/* Two tiles each, those with the highest numbers first. */
XYLEM_DEVICE_FN_ int fill(const block_t *block, uint64_t round)
{
    inside_t *inside = block->inside;
    uint64_t i, tile, other;
    int status = XYLEM_OK;

    if (block->number == 0)
        status = post(block, FILL_START, 0);
    for (other = 0; other < TILES / BLOCKS && status == XYLEM_OK; other++) {
        tile = TILES - 1 - (other * BLOCKS + block->number);
        if (inside->rank != 0)
            continue;
        for (i = THREAD; i < TILE; i += THREADS)
            inside->tiles[tile * TILE + i] = round + tile * TILE + i;
        status = post(block, FILL, (uint32_t)tile);
    }
    if (status == XYLEM_OK)
        status = wait_for(block, FILL_START, round);
    for (i = block->number + BLOCKS * THREAD;
         status == XYLEM_OK && i < TILES * TILE; i += BLOCKS * THREADS)
        expect(block, &inside->tiles[i], round + i);
    return status;
}

/* Block 1 says that the rank may be killed, and goes on. */
XYLEM_DEVICE_FN_ void stop_here(const block_t *block, uint64_t round)
{
    if (block->number != 1 || THREAD != 0 ||
        round != block->inside->victim_round)
        return;
#ifdef __CUDA_ARCH__
    *(volatile uint32_t *)&block->inside->stopped = 1;
#else
    __atomic_store_n(&block->inside->stopped, 1, __ATOMIC_RELAXED);
#endif
}

XYLEM_DEVICE_FN_ int run_rounds(const block_t *block)
{
    inside_t *inside = block->inside;
    uint64_t ranks = inside->ranks, round;
    int status = XYLEM_OK;

    for (round = 1; round <= inside->rounds && status == XYLEM_OK; round++) {
        stop_here(block, round);
        status = send_message(block, round);
        if (block->number == 0 && THREAD == 0)
            inside->mine = round + inside->rank;
        if (status == XYLEM_OK)
            status = run_together(block, &inside->arrived, BARRIER, round);
        if (status == XYLEM_OK)
            status = run_together(block, &inside->added, ADD, round);
        if (status == XYLEM_OK && THREAD == 0)
            expect(block, &inside->sum,
                   ranks * round + ranks * (ranks - 1) / 2);
        if (status == XYLEM_OK)
            status = fill(block, round);
    }
    return status;
}

/* One record for each tag and round, in an order of the block's own. */
XYLEM_DEVICE_FN_ int run_storm(const block_t *block)
{
    const uint32_t strides[BLOCKS] = {7, 333, 701, 999}; /* prime to the tags */
    uint32_t stride = strides[block->number % BLOCKS], i;
    int status = XYLEM_OK;
    uint32_t round;

    for (round = 0; round < block->inside->rounds; round++)
        for (i = 0; i < STORM_TAGS && status == XYLEM_OK; i++)
            status = post(block, (i * stride + 131 * round) % STORM_TAGS, 0);
    return status;
}

XYLEM_DEVICE_FN_ void block_run(inside_t *inside, uint32_t number)
{
    block_t block;
    int status;

    block.inside = inside;
    block.queue = &inside->queues[number];
    block.number = number;
    status = inside->is_storm ? run_storm(&block) : run_rounds(&block);
    TOGETHER();
    if (THREAD == 0)
        inside->statuses[number] = status;
}
