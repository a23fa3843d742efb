/* A kernel that communicates from inside by nothing but xylem_device.h: what
 * its blocks and the rank around them share. Blocks are threads of the host
 * (blocks_threads.c) or of a GPU (blocks_gpu.cu), with the same source
 * (blocks_inside.h). Included by C and CUDA C++. */
#pragma once

#include "include/xylem_device.h"

enum {
    BLOCKS = 4,
    MESSAGE = 64,
    TILE = 2048, /* elements; of the broadcast each block fills some */
    TILES = 2 * BLOCKS,
    STORM_TAGS = 1000
};

/* What is behind each tag; every block has a message. */
enum tag { BARRIER, ADD, FILL, FILL_START, MESSAGES, TAGS = MESSAGES + BLOCKS };

/* Memory that both sides reach; all of it 0 at first. */
typedef struct inside {
    uint32_t rank, ranks, rounds;
    uint32_t is_storm;
    uint32_t victim_round; /* block 1 of this rank stops in it; 0: never */
    xylem_device_queue_t queues[BLOCKS];
    xylem_device_counter_t arrived, added;
    xylem_device_relay_t relays[MESSAGES]; /* of words all blocks wait for */
    uint64_t words[STORM_TAGS]; /* FILL: how often the bcast was done */
    uint64_t sent[BLOCKS][MESSAGE], received[BLOCKS][MESSAGE];
    uint64_t mine, sum;
    uint64_t tiles[TILES * TILE];
    int statuses[BLOCKS];
    uint32_t wrong[BLOCKS]; /* how many values were */
    uint32_t stopped;       /* the victim's block has got there */
} inside_t;

#ifdef __cplusplus
extern "C" {
#endif

/* What those who run blocks offer. Memory is 0 and aligned to 64 bytes. */
void *blocks_memory(size_t bytes);
/* For places in a queue, closer to the blocks; NULL: nothing is. */
void *blocks_places(void);
void blocks_begin(inside_t *inside);
/* 1: some still run. */
int blocks_run(void);
void blocks_end(void);

#ifdef __cplusplus
}
#endif
