/* Structures that callers fill in grow from release to release: their first
 * member is their size, as the caller's header knows it. */
#ifndef XYL_BASE_MEMBERS_H
#define XYL_BASE_MEMBERS_H

#include <stddef.h>

#include "include/xylem.h"

/* Bytes up to the end of a member: the size of a structure in the first
 * release, whose last member that was. */
#define XYL_BYTES_UP_TO(type, member)                                          \
    (offsetof(type, member) + sizeof(((type *)0)->member))

/* Reads `given`, which begins with its size, into `own`. Members that the
 * caller's header does not have become 0. Fails with a text that names `call`
 * and `what` when the size cannot be, or when the caller uses members that this
 * library does not have. */
xylem_status_t xyl_members_read(const char *call, const char *what,
                                const void *given, size_t first_bytes,
                                void *own, size_t own_bytes);

#endif
