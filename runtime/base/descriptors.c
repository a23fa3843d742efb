#include "runtime/base/descriptors.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { AT_ONCE = 32 };

/* Opens that many like `fd`, and while they are open those after them. */
static int descriptors_open(int fd, unsigned wanted)
{
    unsigned here = wanted < AT_ONCE ? wanted : (unsigned)AT_ONCE, opened = 0;
    int fds[AT_ONCE], are_left;

    while (opened < here && (fds[opened] = fcntl(fd, F_DUPFD_CLOEXEC, 0)) >= 0)
        opened++;
    are_left = opened == here &&
               (wanted == here || descriptors_open(fd, wanted - here));
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
