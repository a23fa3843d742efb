#include "runtime/base/standard.h"

#include <fcntl.h>
#include <unistd.h>

void xyl_standard_open(void)
{
    int fd, tries = 0;

    /* open(2) returns the lowest free number. */
    do {
        fd = open("/dev/null", O_RDWR);
    } while (fd >= 0 && fd <= STDERR_FILENO && ++tries <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        (void)close(fd);
}
