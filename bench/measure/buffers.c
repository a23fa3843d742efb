/* Rotated buffers. One thread. */
#include "bench/measure/buffers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    SLOT_ALIGN = 64, /* a cache line */
    MEMORY_ALIGN = 4096,
    /* Of the free memory, all buffers of all ranks take at most 1 / this. */
    MEMORY_DIVISOR = 4
};

/* The system's value, or `fallback` if it has none. */
static size_t system_value(int name, size_t fallback)
{
    long value = sysconf(name);

    return value > 0 ? (size_t)value : fallback;
}

static size_t cache_share_bytes(uint32_t ranks)
{
    size_t cpus = system_value(_SC_NPROCESSORS_ONLN, 1);
    size_t sharers = ranks < cpus ? ranks : cpus;
    size_t last = system_value(_SC_LEVEL3_CACHE_SIZE, 0);
    size_t own = system_value(_SC_LEVEL2_CACHE_SIZE, (size_t)1 << 20);

    return last / (sharers > 0 ? sharers : 1) + own;
}

/* One line more than needed, so that buffers of a power of two of bytes do not
 * all compete for the same lines of the cache. */
static size_t slot_of(size_t bytes)
{
    return (bytes / SLOT_ALIGN + 2) * SLOT_ALIGN;
}

unsigned buffers_count(size_t bytes, uint32_t ranks, unsigned sets)
{
    size_t slot = slot_of(bytes);
    size_t wanted = cache_share_bytes(ranks) / slot + 1;
    size_t free_bytes =
        system_value(_SC_AVPHYS_PAGES, 0) * system_value(_SC_PAGESIZE, 4096);
    size_t allowed =
        free_bytes / MEMORY_DIVISOR / (slot * sets * (ranks > 0 ? ranks : 1));

    if (wanted > allowed)
        wanted = allowed;
    if (wanted > BUFFERS_MAX)
        wanted = BUFFERS_MAX;
    return wanted < BUFFERS_MIN ? BUFFERS_MIN : (unsigned)wanted;
}

xylem_status_t buffers_create_of(struct buffers *buffers, size_t bytes,
                                 unsigned count, const struct bench_impl *impl,
                                 void *state)
{
    size_t slot = slot_of(bytes);
    size_t total;
    void *memory = NULL;

    if (slot <= SIZE_MAX / 2 / count) {
        total = (slot * count / MEMORY_ALIGN + 1) * MEMORY_ALIGN;
        if (impl == NULL)
            memory = aligned_alloc(MEMORY_ALIGN, total);
        else if (impl->take(state, total, &memory) != XYLEM_OK)
            memory = NULL;
    }
    if (memory == NULL) {
        fprintf(stderr, "no memory for %u buffers of %zu bytes\n", count,
                bytes);
        return XYLEM_ERR_NO_MEMORY;
    }
    memset(memory, 0, slot * count);
    *buffers = (struct buffers){.memory = memory,
                                .bytes = bytes,
                                .slot_bytes = slot,
                                .count = count,
                                .impl = impl,
                                .state = state};
    return XYLEM_OK;
}

xylem_status_t buffers_create(struct buffers *buffers, size_t bytes,
                              unsigned count)
{
    return buffers_create_of(buffers, bytes, count, NULL, NULL);
}

void buffers_destroy(struct buffers *buffers)
{
    if (buffers->impl == NULL)
        free(buffers->memory);
    else if (buffers->memory != NULL)
        buffers->impl->give(buffers->state, buffers->memory);
    buffers->memory = NULL;
}

void *buffers_at(const struct buffers *buffers, uint64_t iteration)
{
    return buffers->memory + iteration % buffers->count * buffers->slot_bytes;
}
