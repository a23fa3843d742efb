#include "runtime/base/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/resource.h>
#include <unistd.h>

#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#else
#define __libc_single_threaded 0 /* not known before glibc 2.32 */
#endif

enum { TABLE_ROOM = 1024 };

static unsigned limit_get(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > INT32_MAX)
        return INT32_MAX;
    return (unsigned)limit.rlim_cur;
}

/* Grows the process's table of descriptors early. Linux begins with a table of
 * 64 and replaces a full one. A process with several threads then waits until
 * each core has passed through the scheduler: 18 to 28 ms with 16 ranks at
 * once, in the middle of a start. With one thread this takes microseconds. */
__attribute__((constructor)) static void table_grow(void)
{
    unsigned limit = limit_get();
    int fd = -1;

    if (__libc_single_threaded)
        fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC,
                   (int)(limit < TABLE_ROOM ? limit : TABLE_ROOM) - 1);
    if (fd >= 0)
        close(fd);
}

/* Counts free numbers: opening so many descriptors would grow the table. */
int xyl_descriptors_are_left(unsigned wanted)
{
    unsigned limit = limit_get(), fd, found = 0;

    for (fd = 0; fd < limit && found < wanted; fd++)
        found += fcntl((int)fd, F_GETFD) < 0 && errno == EBADF;
    return found == wanted;
}
