#include "runtime/base/members.h"

#include <string.h>

#include "runtime/base/status.h"

/* No structure of any release is larger. A caller that gives a larger size has
 * not set it. */
enum { BYTES_MAX = 4096 };

static int has_more(const char *members, size_t from, size_t to)
{
    while (from < to && members[from] == 0)
        from++;
    return from < to;
}

xylem_status_t xyl_members_read(const char *call, const char *what,
                                const void *given, size_t first_bytes,
                                void *own, size_t own_bytes)
{
    size_t bytes = 0;

    if (given != NULL)
        memcpy(&bytes, given, sizeof bytes);
    if (given == NULL || bytes < first_bytes || bytes > BYTES_MAX)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "%s: %s is NULL or its struct_bytes is not set", call,
                        what);
    if (has_more(given, own_bytes, bytes))
        return xyl_fail(XYLEM_ERR_UNSUPPORTED,
                        "%s: %s has members set that this library, xylem %s, "
                        "does not have: the program was compiled for a newer "
                        "one",
                        call, what, xylem_version());
    memset(own, 0, own_bytes);
    memcpy(own, given, bytes < own_bytes ? bytes : own_bytes);
    memcpy(own, &own_bytes, sizeof own_bytes);
    return XYLEM_OK;
}
