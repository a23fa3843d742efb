/* The members of a node: finds the member with a rank, and opens a file that a
 * member has offered. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "progress/shm/layout.h"

enum { PATH_BYTES = 64 };

xyl_shm_node_peer_t *xyl_shm_node_find(const xyl_shm_node_t *node,
                                       uint32_t rank)
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

int xyl_shm_node_open(int32_t pid, int32_t fd, uint64_t inode, int flags)
{
    char path[PATH_BYTES];
    struct stat found;
    int place, opened = -1;

    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, (int)fd);
    place = open(path, O_PATH | O_CLOEXEC); /* has no effect on the file */
    if (place < 0)
        return -1;
    if (fstat(place, &found) == 0 && found.st_ino == inode) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", place);
        opened = open(path, flags | O_CLOEXEC);
    } else {
        errno = ENOENT;
    }
    fd = errno;
    close(place);
    errno = fd;
    return opened;
}
