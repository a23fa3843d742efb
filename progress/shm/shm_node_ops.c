#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "progress/shm/shm_node_inside.h"
#include "runtime/base/log.h"

enum { DRAINS_MAX = 64 };

/* ---- regions ---- */

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

/* Counts this process out. The last one clears the range before anybody can
 * take it again. */
static void entry_leave(xyl_shm_node_t *node, uint32_t entry)
{
    if (!xyl_shm_node_leave(xyl_shm_node_entries(node), entry))
        return;
    if (fallocate(node->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                  range_of(node, entry), (off_t)node->layout.stride) != 0)
        return; /* cannot be used again */
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

static void *node_attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
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

static void node_detach(xyl_shm_t *shm, uint64_t key)
{
    xyl_shm_node_region_t **link = region_find(xyl_shm_node_of(shm), key);

    if (*link != NULL && --(*link)->users == 0)
        region_free(xyl_shm_node_of(shm), link);
}

/* All of the pages at once; where the kernel cannot, one by one later. */
static void node_prepare(xyl_shm_t *shm, void *memory, size_t bytes)
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

/* ---- flags and sleeping ----
 *
 * setter:  stores the flag,              then looks whether anybody sleeps
 * sleeper: says that it goes to sleep,   then looks at its flags
 *
 * One of the two sees the other, as these four are sequentially consistent. A
 * load of this kind costs no more than one that acquires. */

static xyl_shm_node_peer_t *peer_find(const xyl_shm_node_t *node, uint32_t rank)
{
    uint32_t low = 0, high = node->count;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (node->peers[middle].member.rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low < node->count && node->peers[low].member.rank == rank);
    return &node->peers[low];
}

/* For reading and writing: to write to a pipe that nobody reads, as its owner
 * has just died, would end this process. */
static int wake_open(xyl_shm_node_t *node, const xyl_shm_member_t *member)
{
    int fd = xyl_shm_node_open(member->pid, member->wake_fd, member->wake_inode,
                               O_RDWR | O_NONBLOCK);

    if (fd >= 0)
        return fd;
    xyl_log(errno == ENOENT || node->has_warned ? XYL_LOG_INFO : XYL_LOG_WARN,
            "cannot wake rank %u (%s), which may sleep longer than it need; "
            "XYLEM_PROGRESS=caller avoids that",
            member->rank, strerror(errno));
    node->has_warned = 1;
    return XYL_SHM_FD_FAILED;
}

static void wake_peer(xyl_shm_node_t *node, xyl_shm_node_peer_t *peer)
{
    char byte = 0;

    if (peer->wake_fd == XYL_SHM_FD_CLOSED)
        peer->wake_fd = wake_open(node, &peer->member);
    if (peer->wake_fd != XYL_SHM_FD_FAILED &&
        write(peer->wake_fd, &byte, 1) < 0)
        return; /* full: it is being woken already */
}

/* Whoever takes a sleeper's word that it sleeps is the one to wake it. */
static void wake_readers(xyl_shm_node_t *node, const uint32_t *readers,
                         uint32_t count)
{
    xyl_shm_node_line_t *lines = xyl_shm_node_lines(node);
    uint32_t i;

    for (i = 0; i < count; i++) {
        xyl_shm_node_peer_t *peer = peer_find(node, readers[i]);
        xyl_shm_node_line_t *line = &lines[peer - node->peers];
        if (atomic_load(&line->is_asleep) != 0 &&
            atomic_exchange(&line->is_asleep, 0) != 0)
            wake_peer(node, peer);
    }
}

static void node_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                     const uint32_t *readers, uint32_t count)
{
    xyl_shm_node_t *node = xyl_shm_node_of(shm);

    atomic_store(flag, value);
    if (atomic_load(&xyl_shm_node_header(node)->sleepers) != 0)
        wake_readers(node, readers, count);
}

/* Where nobody ever sleeps. */
static void node_set_only(xyl_shm_t *shm, _Atomic uint64_t *flag,
                          uint64_t value, const uint32_t *readers,
                          uint32_t count)
{
    (void)shm;
    (void)readers;
    (void)count;
    atomic_store_explicit(flag, value, memory_order_release);
}

static int node_swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                     uint64_t value)
{
    (void)shm;
    return atomic_compare_exchange_strong_explicit(
        word, expected, value, memory_order_seq_cst, memory_order_seq_cst);
}

/* A byte that comes after this ends the next sleep early, no more. */
static void drain(const xyl_shm_node_t *node)
{
    char bytes[64];
    unsigned i;

    for (i = 0; i < DRAINS_MAX; i++)
        if (read(node->wake[0], bytes, sizeof bytes) <= 0)
            return;
}

static void node_sleeps(xyl_shm_t *shm, int is_asleep)
{
    xyl_shm_node_t *node = xyl_shm_node_of(shm);
    xyl_shm_node_line_t *line = &xyl_shm_node_lines(node)[node->own];

    if (is_asleep) {
        atomic_store(&line->is_asleep, 1);
        atomic_fetch_add(&xyl_shm_node_header(node)->sleepers, 1);
        return;
    }
    atomic_store(&line->is_asleep, 0);
    atomic_fetch_sub(&xyl_shm_node_header(node)->sleepers, 1);
    drain(node);
}

/* ---- the heap ---- */

static void *node_heap_alloc(xyl_shm_t *shm, size_t bytes)
{
    return xyl_shm_node_heap_alloc(&xyl_shm_node_of(shm)->heap, bytes);
}

static void node_heap_free(xyl_shm_t *shm, void *memory)
{
    xyl_shm_node_heap_free(&xyl_shm_node_of(shm)->heap, memory);
}

/* A byte's name is its number and 1. */
static uint64_t node_share(xyl_shm_t *shm, const void *memory, size_t bytes)
{
    return xyl_shm_node_heap_number(&xyl_shm_node_of(shm)->heap, memory,
                                    bytes) +
           1;
}

static int memory_open(const xyl_shm_node_t *node,
                       const xyl_shm_member_t *member)
{
    int fd = xyl_shm_node_open(member->pid, member->memory_fd,
                               member->memory_inode, O_RDONLY);

    if (fd >= 0 && xyl_shm_node_is_alike(node, fd))
        return fd;
    if (fd >= 0)
        close(fd);
    xyl_log(XYL_LOG_INFO, "cannot look at the memory of rank %u", member->rank);
    return XYL_SHM_FD_FAILED;
}

static const void *node_view(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                             size_t bytes)
{
    xyl_shm_node_t *node = xyl_shm_node_of(shm);
    xyl_shm_node_peer_t *peer = peer_find(node, rank);

    if (name == 0)
        return NULL;
    if (peer == &node->peers[node->own])
        return xyl_shm_node_heap_place(&node->heap, name - 1, bytes);
    if (peer->memory_fd == XYL_SHM_FD_CLOSED)
        peer->memory_fd = memory_open(node, &peer->member);
    if (peer->memory_fd == XYL_SHM_FD_FAILED)
        return NULL;
    return xyl_shm_node_view(&peer->view, peer->memory_fd, node->layout.bytes,
                             name - 1, bytes);
}

#define OPS(set_function)                                                      \
    {                                                                          \
        .name = "node", .attach = node_attach, .detach = node_detach,          \
        .prepare = node_prepare, .set = (set_function), .swap = node_swap,     \
        .sleeps = node_sleeps, .heap_alloc = node_heap_alloc,                  \
        .heap_free = node_heap_free, .share = node_share, .view = node_view    \
    }

const xyl_shm_ops_t xyl_shm_node_ops = OPS(node_set);
const xyl_shm_ops_t xyl_shm_node_awake_ops = OPS(node_set_only);
