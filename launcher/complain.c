#include "launcher/launcher.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

size_t xyl_line_write(char line[XYL_LINE_BYTES], const char *format,
                      va_list args)
{
    const int prefix = snprintf(line, XYL_LINE_BYTES, "xylem-run: ");

    (void)vsnprintf(line + prefix, XYL_LINE_BYTES - 1 - (size_t)prefix, format,
                    args);
    const size_t bytes = strlen(line);
    line[bytes] = '\n';
    return bytes + 1;
}

int xyl_complain(const char *format, ...)
{
    char line[XYL_LINE_BYTES];
    va_list args;
    va_start(args, format);
    const size_t bytes = xyl_line_write(line, format, args);
    va_end(args);
    /* There is no other place for a message if this write fails. */
    const ssize_t written = write(STDERR_FILENO, line, bytes);
    (void)written;
    return XYL_EXIT_LAUNCHER;
}
