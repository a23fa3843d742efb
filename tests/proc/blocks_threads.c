/* Blocks are threads. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/blocks_inside.h"
#include "tests/proc/job.h"

static pthread_t threads[BLOCKS];
static inside_t *shared;
static _Atomic uint32_t running;

void *blocks_memory(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);

    REQUIRE(memory != NULL, "no memory");
    return memset(memory, 0, bytes);
}

void *blocks_places(void)
{
    return blocks_memory(sizeof(xylem_device_places_t));
}

static void *thread_main(void *arg)
{
    block_run(shared, (uint32_t)(uintptr_t)arg);
    atomic_fetch_sub(&running, 1);
    return NULL;
}

void blocks_begin(inside_t *inside)
{
    uintptr_t b;

    shared = inside;
    atomic_store(&running, BLOCKS);
    for (b = 0; b < BLOCKS; b++)
        REQUIRE(pthread_create(&threads[b], NULL, thread_main, (void *)b) == 0,
                "cannot start a thread");
}

int blocks_run(void)
{
    return atomic_load(&running) != 0;
}

void blocks_end(void)
{
    uint32_t b;

    for (b = 0; b < BLOCKS; b++)
        pthread_join(threads[b], NULL);
}
