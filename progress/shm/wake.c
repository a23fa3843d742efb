/* Flags, and waking the ranks that sleep while they wait for one:
 *
 * setter:  stores the flag,          then looks whether any rank sleeps
 * sleeper: announces its sleep,      then looks at its flags
 *
 * These four accesses are sequentially consistent, so one of the two sees the
 * other. Such a load costs no more than an acquire. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "progress/shm/layout.h"
#include "runtime/base/log.h"

enum { DRAINS_MAX = 64 };

/* Opens a pipe for reading and writing: if its owner has died, a write to a
 * pipe without a reader would end this process. -1: the system refuses. */
static int wake_open(const xyl_shm_member_t *member)
{
    return xyl_shm_node_open(member->pid, member->wake_fd, member->wake_inode,
                             O_RDWR | O_NONBLOCK);
}

void xyl_shm_node_wakes_open(xyl_shm_node_t *node)
{
    uint32_t i;

    for (i = 0; i < node->count; i++) {
        int fd = wake_open(&node->peers[i].member);
        if (fd >= 0)
            node->peers[i].wake_fd = fd;
    }
}

/* Opens a pipe that xyl_shm_node_wakes_open could not open, for example
 * for lack of descriptors. */
static int wake_open_late(xyl_shm_node_t *node, const xyl_shm_member_t *member)
{
    int fd = wake_open(member);

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
        peer->wake_fd = wake_open_late(node, &peer->member);
    if (peer->wake_fd != XYL_SHM_FD_FAILED &&
        write(peer->wake_fd, &byte, 1) < 0)
        return; /* the pipe is full: its owner is being woken already */
}

/* The rank that clears a sleeper's is_asleep wakes the sleeper. */
static void wake_readers(xyl_shm_node_t *node, const uint32_t *readers,
                         uint32_t count)
{
    xyl_shm_node_line_t *lines = xyl_shm_node_lines(node);
    uint32_t i;

    for (i = 0; i < count; i++) {
        xyl_shm_node_peer_t *peer = xyl_shm_node_find(node, readers[i]);
        xyl_shm_node_line_t *line = &lines[peer - node->peers];
        if (atomic_load(&line->is_asleep) != 0 &&
            atomic_exchange(&line->is_asleep, 0) != 0)
            wake_peer(node, peer);
    }
}

void xyl_shm_node_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                      const uint32_t *readers, uint32_t count)
{
    xyl_shm_node_t *node = xyl_shm_node_of(shm);

    atomic_store(flag, value);
    if (atomic_load(&xyl_shm_node_header(node)->sleepers) != 0)
        wake_readers(node, readers, count);
}

void xyl_shm_node_set_only(xyl_shm_t *shm, _Atomic uint64_t *flag,
                           uint64_t value, const uint32_t *readers,
                           uint32_t count)
{
    (void)shm;
    (void)readers;
    (void)count;
    atomic_store_explicit(flag, value, memory_order_release);
}

/* A byte that comes later does no harm: it ends the next sleep early. */
static void drain(const xyl_shm_node_t *node)
{
    char bytes[64];
    unsigned i;

    for (i = 0; i < DRAINS_MAX; i++)
        if (read(node->wake[0], bytes, sizeof bytes) <= 0)
            return;
}

void xyl_shm_node_sleeps(xyl_shm_t *shm, int is_asleep)
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
