/* The ranges of a node's shared memory that this process has mapped: a region
 * for each attached key. */
#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "progress/shm/layout.h"

static xyl_shm_node_region_t **region_find(xyl_shm_node_t *node, uint64_t key)
{
    xyl_shm_node_region_t **link = &node->regions;

    while (*link != NULL && (*link)->key != key)
        link = &(*link)->next;
    return link;
}

static off_t range_of(const xyl_shm_node_t *node, uint32_t entry)
{
    return (off_t)(node->layout.ranges + entry * node->layout.stride);
}

/* Leaves an entry; its last user clears the range for the next. */
static void entry_leave(xyl_shm_node_t *node, uint32_t entry)
{
    if (!xyl_shm_node_leave(xyl_shm_node_entries(node), entry))
        return;
    if (fallocate(node->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  range_of(node, entry), (off_t)node->layout.stride) != 0)
        return; /* not cleared: the entry stays unusable */
    xyl_shm_node_release(xyl_shm_node_entries(node), entry);
}

static void *region_map(xyl_shm_node_t *node, xyl_shm_node_region_t *region)
{
    region->entry = xyl_shm_node_enter(xyl_shm_node_entries(node), region->key);
    if (region->entry == XYL_SHM_NODE_ENTRIES)
        return NULL;
    region->memory = mmap(NULL, region->bytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED | MAP_NORESERVE, node->fd,
                          range_of(node, region->entry));
    if (region->memory != MAP_FAILED)
        return region->memory;
    entry_leave(node, region->entry);
    return NULL;
}

void *xyl_shm_node_attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
{
    xyl_shm_node_t *node = xyl_shm_node_of(shm);
    xyl_shm_node_region_t *region = *region_find(node, key);

    if (region != NULL) {
        assert(region->bytes >= bytes);
        region->users++;
        return region->memory;
    }
    if (bytes == 0 || bytes > node->layout.stride)
        return NULL;
    region = calloc(1, sizeof *region);
    if (region == NULL)
        return NULL;
    region->key = key;
    region->bytes = bytes;
    region->users = 1;
    if (region_map(node, region) == NULL) {
        free(region);
        return NULL;
    }
    region->next = node->regions;
    node->regions = region;
    return region->memory;
}

static void region_free(xyl_shm_node_t *node, xyl_shm_node_region_t **link)
{
    xyl_shm_node_region_t *region = *link;

    *link = region->next;
    munmap(region->memory, region->bytes);
    entry_leave(node, region->entry);
    free(region);
}

void xyl_shm_node_regions_fini(xyl_shm_node_t *node)
{
    while (node->regions != NULL)
        region_free(node, &node->regions);
}

void xyl_shm_node_detach(xyl_shm_t *shm, uint64_t key)
{
    xyl_shm_node_region_t **link = region_find(xyl_shm_node_of(shm), key);

    if (*link != NULL && --(*link)->users == 0)
        region_free(xyl_shm_node_of(shm), link);
}

/* Takes the faults of all pages at once. A kernel without MADV_POPULATE_WRITE
 * takes them one by one later. */
void xyl_shm_node_prepare(xyl_shm_t *shm, void *memory, size_t bytes)
{
    const uintptr_t page = 4096;
    uintptr_t begin = (uintptr_t)memory & ~(page - 1);
    uintptr_t end = ((uintptr_t)memory + bytes + page - 1) & ~(page - 1);

    (void)shm;
#ifdef MADV_POPULATE_WRITE
    (void)madvise((char *)memory - ((uintptr_t)memory - begin), end - begin,
                  MADV_POPULATE_WRITE);
#else
    (void)begin;
    (void)end;
#endif
}
