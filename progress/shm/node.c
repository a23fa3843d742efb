#include "progress/shm/node.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "progress/shm/layout.h"
#include "runtime/base/log.h"

enum {
    MAGIC = 0x786e6f64,
    VERSION = 2,
    UNIT = 2 << 20,       /* ranges begin at multiples; a common large page */
    LOOKS_PER_RANK = 4,   /* some hundred nanoseconds */
    REGIONS_MAX = 1 << 14 /* a quarter of the mappings that Linux allows */
};
#define REGION_BYTES_MAX (UINT64_C(1) << 44)

static uint64_t layout_round_up(uint64_t bytes)
{
    return (bytes + UNIT - 1) / UNIT * UNIT;
}

const char *xyl_shm_trouble_text(xyl_shm_trouble_t trouble)
{
    static const char *const texts[XYL_SHM_TROUBLES] = {
        [XYL_SHM_FINE] = "nothing is wrong",
        [XYL_SHM_NO_MEMORY] = "it has no memory left",
        [XYL_SHM_NO_FILE] = "it may not make a file of memory (memfd_create)",
        [XYL_SHM_FILE_SIZE] =
            "its limit of file sizes is too small (ulimit -f)",
        [XYL_SHM_NO_PIPE] = "it has no descriptors left (ulimit -n)",
        [XYL_SHM_NO_PROC] =
            "it may not open another rank's memory in /proc, or has no /proc",
        [XYL_SHM_NO_MAP] = "it cannot map the memory (ulimit -v)",
        [XYL_SHM_LAYOUT] = "it found memory of another version",
    };

    assert(trouble >= XYL_SHM_FINE && trouble < XYL_SHM_TROUBLES);
    return texts[trouble];
}

/* ---- creating ---- */

static xyl_shm_node_layout_t layout_for(const xyl_shm_node_params_t *params)
{
    uint64_t region_bytes = params->region_bytes_max;
    xyl_shm_node_layout_t layout;

    if (region_bytes > REGION_BYTES_MAX)
        region_bytes = REGION_BYTES_MAX;
    layout.stride = layout_round_up(region_bytes == 0 ? 1 : region_bytes);
    layout.directory = sizeof(xyl_shm_node_header_t) +
                       (uint64_t)params->ranks * sizeof(xyl_shm_node_line_t);
    layout.ranges =
        layout_round_up(layout.directory + (uint64_t)XYL_SHM_NODE_ENTRIES *
                                               sizeof(xyl_shm_node_entry_t));
    layout.bytes = layout.ranges + XYL_SHM_NODE_ENTRIES * layout.stride;
    return layout;
}

static xyl_shm_trouble_t check_limit(uint64_t bytes)
{
    struct rlimit limit;

    /* The system ends a process that exceeds this limit. */
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < bytes)
        return XYL_SHM_FILE_SIZE;
    return XYL_SHM_FINE;
}

/* Any process may turn out to be the first member, so each writes a header
 * before others can read its file. */
static xyl_shm_trouble_t create_file(xyl_shm_node_t *node)
{
    xyl_shm_node_header_t header = {.magic = MAGIC,
                                    .version = VERSION,
                                    .stride = node->layout.stride,
                                    .entries = XYL_SHM_NODE_ENTRIES,
                                    .members_max = node->params.ranks};
    xyl_shm_trouble_t trouble = check_limit(node->layout.bytes);
    struct stat found;

    if (trouble != XYL_SHM_FINE)
        return trouble;
    node->own_fd = memfd_create("xylem", MFD_CLOEXEC);
    if (node->own_fd < 0 ||
        ftruncate(node->own_fd, (off_t)node->layout.bytes) != 0 ||
        pwrite(node->own_fd, &header, sizeof header, 0) !=
            (ssize_t)sizeof header ||
        fstat(node->own_fd, &found) != 0) {
        xyl_log(XYL_LOG_INFO, "no file of memory: %s", strerror(errno));
        return XYL_SHM_NO_FILE;
    }
    node->offer.memory_fd = node->own_fd;
    node->offer.memory_inode = found.st_ino;
    return XYL_SHM_FINE;
}

static xyl_shm_trouble_t create_pipe(xyl_shm_node_t *node)
{
    struct stat found;

    if (pipe2(node->wake, O_NONBLOCK | O_CLOEXEC) != 0) {
        node->wake[0] = node->wake[1] = XYL_SHM_FD_CLOSED;
        return XYL_SHM_NO_PIPE;
    }
    if (fstat(node->wake[1], &found) != 0)
        return XYL_SHM_NO_PIPE;
    node->offer.wake_fd = node->wake[1];
    node->offer.wake_inode = found.st_ino;
    return XYL_SHM_FINE;
}

static uint64_t space_of_processes(void)
{
    struct stat space;

    return stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
}

static xyl_shm_member_t nothing_to_offer(void)
{
    return (xyl_shm_member_t){.pid = (int32_t)getpid(),
                              .space = space_of_processes(),
                              .memory_fd = XYL_SHM_FD_CLOSED,
                              .wake_fd = XYL_SHM_FD_CLOSED};
}

xyl_shm_node_t *xyl_shm_node_create(const xyl_shm_node_params_t *params)
{
    xyl_shm_node_t *node = calloc(1, sizeof *node);

    if (node == NULL)
        return NULL;
    node->params = *params;
    node->layout = layout_for(params);
    node->own_fd = node->fd = node->wake[0] = node->wake[1] = XYL_SHM_FD_CLOSED;
    node->offer = nothing_to_offer();
    node->trouble = create_file(node);
    xyl_shm_node_heap_init(&node->heap, node->own_fd, node->layout.bytes);
    if (node->trouble == XYL_SHM_FINE)
        node->trouble = create_pipe(node);
    return node;
}

void xyl_shm_node_offer(const xyl_shm_node_t *node,
                        xyl_shm_member_t *member_out)
{
    *member_out = node == NULL ? nothing_to_offer() : node->offer;
}

/* ---- the functions of progress/shm/shm.h; more in map.c and wake.c ---- */

static int node_swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                     uint64_t value)
{
    (void)shm;
    return atomic_compare_exchange_strong_explicit(
        word, expected, value, memory_order_seq_cst, memory_order_seq_cst);
}

static uint64_t node_add(xyl_shm_t *shm, _Atomic uint64_t *word)
{
    (void)shm;
    return atomic_fetch_add(word, 1) + 1;
}

static void *node_heap_alloc(xyl_shm_t *shm, size_t bytes)
{
    return xyl_shm_node_heap_alloc(&xyl_shm_node_of(shm)->heap, bytes);
}

static void node_heap_free(xyl_shm_t *shm, void *memory)
{
    xyl_shm_node_heap_free(&xyl_shm_node_of(shm)->heap, memory);
}

/* A byte's name is its number plus 1. */
static uint64_t node_share(xyl_shm_t *shm, const void *memory, size_t bytes)
{
    return xyl_shm_node_heap_number(&xyl_shm_node_of(shm)->heap, memory,
                                    bytes) +
           1;
}

/* 1: the file's header equals that of this process's own file. */
static int is_alike(const xyl_shm_node_t *node, int fd)
{
    xyl_shm_node_header_t header;

    return pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
           header.magic == MAGIC && header.version == VERSION &&
           header.stride == node->layout.stride &&
           header.entries == XYL_SHM_NODE_ENTRIES &&
           header.members_max == node->params.ranks;
}

static int memory_open(const xyl_shm_node_t *node,
                       const xyl_shm_member_t *member)
{
    int fd = xyl_shm_node_open(member->pid, member->memory_fd,
                               member->memory_inode, O_RDONLY);

    if (fd >= 0 && is_alike(node, fd))
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
    xyl_shm_node_peer_t *peer = xyl_shm_node_find(node, rank);

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

/* Fails if processes may not trace each other (yama, seccomp). The process
 * number alone names the peer here, without an inode as for files, so both must
 * be in one namespace of process numbers. */
static int node_pull(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                     size_t bytes)
{
    const xyl_shm_node_t *node = xyl_shm_node_of(shm);
    union {
        uintptr_t at;
        void *memory;
    } place = {(uintptr_t)from};
    struct iovec here = {to, bytes}, there = {place.memory, bytes};
    const xyl_shm_member_t *member = &xyl_shm_node_find(node, rank)->member;

    return member->space != 0 && member->space == node->offer.space &&
           process_vm_readv(member->pid, &here, 1, &there, 1, 0) ==
               (ssize_t)bytes;
}

#define OPS(set_function)                                                      \
    .name = "node", .attach = xyl_shm_node_attach,                             \
    .detach = xyl_shm_node_detach, .prepare = xyl_shm_node_prepare,            \
    .set = (set_function), .swap = node_swap, .add = node_add,                 \
    .sleeps = xyl_shm_node_sleeps, .heap_alloc = node_heap_alloc,              \
    .heap_free = node_heap_free, .share = node_share, .view = node_view,       \
    .pull = node_pull

static const xyl_shm_ops_t sleeping_ops = {OPS(xyl_shm_node_set)};
static const xyl_shm_ops_t awake_ops = {OPS(xyl_shm_node_set_only)};

/* ---- joining ---- */

static xyl_shm_trouble_t attach_first(xyl_shm_node_t *node,
                                      const xyl_shm_member_t *first)
{
    void *head;

    if (first->memory_fd < 0)
        return XYL_SHM_NO_FILE;
    node->fd = xyl_shm_node_open(first->pid, first->memory_fd,
                                 first->memory_inode, O_RDWR);
    if (node->fd < 0) {
        xyl_log(XYL_LOG_INFO, "cannot open the memory of rank %u: %s",
                first->rank, strerror(errno));
        return XYL_SHM_NO_PROC;
    }
    if (!is_alike(node, node->fd))
        return XYL_SHM_LAYOUT;
    head = mmap(NULL, node->layout.ranges, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_NORESERVE, node->fd, 0);
    if (head == MAP_FAILED)
        return XYL_SHM_NO_MAP;
    node->head = head;
    return XYL_SHM_FINE;
}

/* Teams map ranges when they need them. A process that cannot map so much must
 * say so now, while all members can still do without shared memory. */
static xyl_shm_trouble_t try_range(const xyl_shm_node_t *node)
{
    void *range =
        mmap(NULL, node->layout.stride, PROT_READ | PROT_WRITE,
             MAP_SHARED | MAP_NORESERVE, node->fd, (off_t)node->layout.ranges);

    if (range == MAP_FAILED)
        return XYL_SHM_NO_MAP;
    munmap(range, node->layout.stride);
    return XYL_SHM_FINE;
}

xyl_shm_trouble_t xyl_shm_node_join(xyl_shm_node_t *node,
                                    const xyl_shm_member_t *members,
                                    uint32_t count, uint32_t own_rank)
{
    xyl_shm_trouble_t trouble;
    uint32_t i;

    if (node == NULL)
        return XYL_SHM_NO_MEMORY;
    if (node->trouble != XYL_SHM_FINE)
        return node->trouble;
    assert(node->peers == NULL && count >= 1 && count <= node->params.ranks);
    node->peers = calloc(count, sizeof *node->peers);
    if (node->peers == NULL)
        return XYL_SHM_NO_MEMORY;
    trouble = attach_first(node, &members[0]);
    if (trouble == XYL_SHM_FINE)
        trouble = try_range(node);
    if (trouble != XYL_SHM_FINE)
        return trouble;
    for (i = 0; i < count; i++) {
        assert(i == 0 || members[i - 1].rank < members[i].rank);
        node->peers[i] = (xyl_shm_node_peer_t){members[i], XYL_SHM_FD_CLOSED,
                                               XYL_SHM_FD_CLOSED, NULL};
        if (members[i].rank == own_rank)
            node->own = i;
    }
    assert(members[node->own].rank == own_rank);
    node->count = count;
    node->shm.ops = &sleeping_ops;
    /* Each key of each member has an entry then, and a mapping. */
    node->shm.keys_max = XYL_SHM_NODE_ENTRIES / count;
    node->shm.patience = LOOKS_PER_RANK;
    if (node->shm.keys_max > REGIONS_MAX)
        node->shm.keys_max = REGIONS_MAX;
    return XYL_SHM_FINE;
}

void xyl_shm_node_allow_sleep(xyl_shm_node_t *node)
{
    atomic_store(&xyl_shm_node_header(node)->may_sleep, 1);
}

void xyl_shm_node_settle(xyl_shm_node_t *node)
{
    if (atomic_load(&xyl_shm_node_header(node)->may_sleep) == 0)
        node->shm.ops = &awake_ops;
    else
        xyl_shm_node_wakes_open(node);
}

xyl_shm_t *xyl_shm_node_shm(xyl_shm_node_t *node)
{
    assert(node->count != 0);
    return &node->shm;
}

int xyl_shm_node_wake_fd(const xyl_shm_node_t *node)
{
    return node->wake[0];
}

/* ---- the end ---- */

static void close_if_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void xyl_shm_node_destroy(xyl_shm_node_t *node)
{
    uint32_t i;

    if (node == NULL)
        return;
    xyl_shm_node_regions_fini(node);
    xyl_shm_node_heap_fini(&node->heap);
    for (i = 0; i < node->count; i++) {
        close_if_open(node->peers[i].wake_fd);
        close_if_open(node->peers[i].memory_fd);
        xyl_shm_node_view_fini(&node->peers[i].view);
    }
    if (node->head != NULL)
        munmap(node->head, node->layout.ranges);
    close_if_open(node->fd);
    close_if_open(node->wake[0]);
    close_if_open(node->wake[1]);
    close_if_open(node->own_fd);
    free(node->peers);
    free(node);
}
