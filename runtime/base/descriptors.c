#include "runtime/base/descriptors.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { COUNTED_MAX = 2048 };

/* Opens that many like `fd`, as long as there are any, and closes them. */
static int descriptors_open(int fd, unsigned wanted)
{
    int fds[COUNTED_MAX], are_left;
    unsigned opened = 0;

    if (wanted > COUNTED_MAX)
        wanted = COUNTED_MAX;
    while (opened < wanted &&
           (fds[opened] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
        opened++;
    are_left = opened == wanted;
    while (opened > 0)
        close(fds[--opened]);
    return are_left;
}

int xyl_descriptors_are_left(unsigned wanted)
{
    int fd = eventfd(0, EFD_CLOEXEC), are_left;

    if (fd < 0)
        return 0;
    are_left = descriptors_open(fd, wanted - 1);
    close(fd);
    return are_left;
}
