#include "simulator/space.h"

#include <sys/mman.h>

/* In front of each block. */
typedef struct header {
    void *next; /* freed */
    size_t size_class;
} header_t;

static void *space_alloc(void *arg, size_t bytes)
{
    sim_space_t *space = arg;
    size_t size_class = 10, block_bytes;
    header_t *header;

    while ((size_t)1 << size_class < bytes)
        size_class++;
    if (size_class >= SIM_SPACE_CLASSES)
        return NULL;
    header = space->freed[size_class];
    if (header != NULL) {
        space->freed[size_class] = header->next;
        return (char *)header + XYL_MEMORY_ALIGN;
    }
    block_bytes = ((size_t)1 << size_class) + XYL_MEMORY_ALIGN;
    if (space->bytes - space->used < block_bytes)
        return NULL;
    header = (header_t *)(void *)(space->base + space->used);
    space->used += block_bytes;
    header->size_class = size_class;
    return (char *)header + XYL_MEMORY_ALIGN;
}

static void space_release(void *arg, void *block)
{
    sim_space_t *space = arg;
    header_t *header = (header_t *)(void *)((char *)block - XYL_MEMORY_ALIGN);

    header->next = space->freed[header->size_class];
    space->freed[header->size_class] = header;
}

int sim_space_init(sim_space_t *space, size_t bytes)
{
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    *space = (sim_space_t){.base = base, .bytes = bytes};
    space->allocator = (xyl_allocator_t){space_alloc, space_release, space};
    if (base != MAP_FAILED) {
        /* One touched byte must not take two megabytes. */
        (void)madvise(base, bytes, MADV_NOHUGEPAGE);
        return 1;
    }
    space->base = NULL;
    space->bytes = 0;
    return 0;
}

void sim_space_fini(sim_space_t *space)
{
    if (space->base != NULL)
        munmap(space->base, space->bytes);
}
