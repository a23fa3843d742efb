#include "progress/shm/heap.h"

#include <assert.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    CHUNK_BYTES = 64 << 20, /* of addresses; writing takes the memory */
    ALIGN = 64,
    PAGE_BYTES = 4096,
    LARGE_BYTES = 2 << 20, /* from this size on, aligned to pages */
    PUNCH_BYTES = 1 << 20  /* from this size on, given back to the system */
};
#define HEAP_BYTES_MAX (UINT64_C(1) << 46)

void xyl_shm_node_heap_init(xyl_shm_node_heap_t *heap, int fd, uint64_t at)
{
    *heap = (xyl_shm_node_heap_t){.fd = fd, .at = at};
    pthread_mutex_init(&heap->lock, NULL);
}

void xyl_shm_node_heap_fini(xyl_shm_node_heap_t *heap)
{
    while (heap->chunks != NULL) {
        xyl_shm_node_chunk_t *chunk = heap->chunks;
        heap->chunks = chunk->next;
        munmap(chunk->memory, chunk->bytes);
        xyl_ranges_fini(&chunk->ranges);
        free(chunk);
    }
    pthread_mutex_destroy(&heap->lock);
}

/* ---- growing ---- */

static uint64_t heap_round_up(uint64_t bytes, uint64_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* Makes the file long enough; 0: impossible. The system does not refuse a file
 * above the limit of sizes (ulimit -f), but ends the process. */
static int file_reaches(xyl_shm_node_heap_t *heap, uint64_t heap_bytes)
{
    uint64_t bytes = heap->at + heap_bytes;
    struct rlimit limit;

    if (heap_bytes <= heap->reaches)
        return 1;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes) ||
        ftruncate(heap->fd, (off_t)bytes) != 0)
        return 0;
    heap->reaches = heap_bytes;
    return 1;
}

static xyl_shm_node_chunk_t *chunk_add(xyl_shm_node_heap_t *heap, size_t bytes)
{
    xyl_shm_node_chunk_t *chunk = calloc(1, sizeof *chunk);

    if (chunk == NULL)
        return NULL;
    chunk->begin = heap->bytes;
    chunk->bytes = heap_round_up(bytes, CHUNK_BYTES);
    if (!xyl_ranges_init(&chunk->ranges, chunk->bytes))
        goto free_chunk;
    if (!file_reaches(heap, chunk->begin + chunk->bytes))
        goto free_ranges;
    chunk->memory = mmap(NULL, chunk->bytes, PROT_READ | PROT_WRITE,
                         MAP_SHARED | MAP_NORESERVE, heap->fd,
                         (off_t)(heap->at + chunk->begin));
    if (chunk->memory == MAP_FAILED)
        goto free_ranges;
    heap->bytes += chunk->bytes;
    chunk->next = heap->chunks;
    heap->chunks = chunk;
    return chunk;
free_ranges:
    xyl_ranges_fini(&chunk->ranges);
free_chunk:
    free(chunk);
    return NULL;
}

/* ---- allocating ---- */

static void *heap_take(xyl_shm_node_heap_t *heap, uint64_t bytes)
{
    uint64_t align = bytes >= LARGE_BYTES ? PAGE_BYTES : ALIGN;
    xyl_shm_node_chunk_t *chunk;
    uint64_t begin;

    for (chunk = heap->chunks; chunk != NULL; chunk = chunk->next) {
        begin = xyl_ranges_take(&chunk->ranges, bytes, align);
        if (begin != XYL_RANGES_NONE)
            return chunk->memory + begin;
    }
    chunk = chunk_add(heap, bytes);
    if (chunk == NULL)
        return NULL;
    begin = xyl_ranges_take(&chunk->ranges, bytes, align);
    return begin == XYL_RANGES_NONE ? NULL : chunk->memory + begin;
}

void *xyl_shm_node_heap_alloc(xyl_shm_node_heap_t *heap, size_t bytes)
{
    void *memory;

    if (bytes >= HEAP_BYTES_MAX)
        return NULL;
    pthread_mutex_lock(&heap->lock);
    memory = heap->bytes < HEAP_BYTES_MAX
                 ? heap_take(heap, heap_round_up(bytes == 0 ? 1 : bytes, ALIGN))
                 : NULL;
    pthread_mutex_unlock(&heap->lock);
    return memory;
}

/* The chunk that holds all `bytes`; NULL: none. */
static xyl_shm_node_chunk_t *chunk_with(const xyl_shm_node_heap_t *heap,
                                        const char *memory, size_t bytes)
{
    xyl_shm_node_chunk_t *chunk;

    for (chunk = heap->chunks; chunk != NULL; chunk = chunk->next)
        if (memory >= chunk->memory && memory < chunk->memory + chunk->bytes &&
            bytes <= chunk->bytes - (uint64_t)(memory - chunk->memory))
            return chunk;
    return NULL;
}

/* Gives whole pages back to the system; they are clear when used again. */
static void punch(const xyl_shm_node_heap_t *heap,
                  const xyl_shm_node_chunk_t *chunk, uint64_t begin,
                  uint64_t bytes)
{
    uint64_t first = heap_round_up(begin, PAGE_BYTES);
    uint64_t end = (begin + bytes) / PAGE_BYTES * PAGE_BYTES;

    /* After a failure the pages are used again as they are. */
    (void)fallocate(heap->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)(heap->at + chunk->begin + first),
                    (off_t)(end - first));
}

void xyl_shm_node_heap_free(xyl_shm_node_heap_t *heap, void *memory)
{
    xyl_shm_node_chunk_t *chunk;
    uint64_t begin, bytes;

    pthread_mutex_lock(&heap->lock);
    chunk = chunk_with(heap, memory, 1);
    assert(chunk != NULL);
    begin = (uint64_t)((char *)memory - chunk->memory);
    bytes = xyl_ranges_give(&chunk->ranges, begin);
    assert(bytes != 0);
    if (bytes >= PUNCH_BYTES)
        punch(heap, chunk, begin, bytes);
    pthread_mutex_unlock(&heap->lock);
}

/* ---- names ---- */

uint64_t xyl_shm_node_heap_number(xyl_shm_node_heap_t *heap, const void *memory,
                                  size_t bytes)
{
    const xyl_shm_node_chunk_t *chunk;
    uint64_t number = UINT64_MAX;

    pthread_mutex_lock(&heap->lock);
    chunk = chunk_with(heap, memory, bytes);
    if (chunk != NULL)
        number =
            chunk->begin + (uint64_t)((const char *)memory - chunk->memory);
    pthread_mutex_unlock(&heap->lock);
    return number;
}

const void *xyl_shm_node_heap_place(xyl_shm_node_heap_t *heap, uint64_t number,
                                    size_t bytes)
{
    const xyl_shm_node_chunk_t *chunk;
    const void *place = NULL;

    pthread_mutex_lock(&heap->lock);
    for (chunk = heap->chunks; chunk != NULL; chunk = chunk->next)
        if (number >= chunk->begin && number - chunk->begin < chunk->bytes &&
            bytes <= chunk->bytes - (number - chunk->begin))
            place = chunk->memory + (number - chunk->begin);
    pthread_mutex_unlock(&heap->lock);
    return place;
}

/* ---- other processes' heaps ---- */

/* Doubles the size each time, so that there are few views. A view also maps
 * addresses beyond the end of the file, for use when the file has grown. */
static xyl_shm_node_view_t *view_larger(xyl_shm_node_view_t *older, int fd,
                                        uint64_t at, uint64_t bytes)
{
    xyl_shm_node_view_t *view = calloc(1, sizeof *view);

    if (view == NULL)
        return NULL;
    view->older = older;
    view->bytes = CHUNK_BYTES;
    while (view->bytes < bytes)
        view->bytes *= 2;
    view->memory = mmap(NULL, view->bytes, PROT_READ,
                        MAP_SHARED | MAP_NORESERVE, fd, (off_t)at);
    if (view->memory != MAP_FAILED)
        return view;
    free(view);
    return NULL;
}

static uint64_t heap_in_file(int fd, uint64_t at)
{
    struct stat found;

    if (fstat(fd, &found) != 0 || (uint64_t)found.st_size < at)
        return 0;
    return (uint64_t)found.st_size - at;
}

const void *xyl_shm_node_view(xyl_shm_node_view_t **view, int fd, uint64_t at,
                              uint64_t number, size_t bytes)
{
    xyl_shm_node_view_t *larger;
    uint64_t there;

    if (number >= HEAP_BYTES_MAX || bytes >= HEAP_BYTES_MAX)
        return NULL;
    if (*view != NULL && number + bytes <= (*view)->there)
        return (*view)->memory + number;
    there = heap_in_file(fd, at);
    if (number + bytes > there)
        return NULL;
    if (*view == NULL || (*view)->bytes < number + bytes) {
        larger = view_larger(*view, fd, at, number + bytes);
        if (larger == NULL)
            return NULL;
        *view = larger;
    }
    (*view)->there = there < (*view)->bytes ? there : (*view)->bytes;
    return (*view)->memory + number;
}

void xyl_shm_node_view_fini(xyl_shm_node_view_t **view)
{
    while (*view != NULL) {
        xyl_shm_node_view_t *newest = *view;
        *view = newest->older;
        munmap(newest->memory, newest->bytes);
        free(newest);
    }
}
