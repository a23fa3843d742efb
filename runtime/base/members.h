/* Structures that callers fill in grow from release to release. Their first
 * member is their size in the caller's header. */
#pragma once

#include <stddef.h>

#include "include/xylem.h"

/* Bytes up to the end of a member. If that was the last member in the first
 * release, they are the structure's smallest size. */
#define XYL_BYTES_UP_TO(type, member)                                          \
    (offsetof(type, member) + sizeof(((type *)0)->member))

/* Reads `given`, which begins with its size, into `own`. Members that the
 * caller's header lacks become 0. Fails with a text that names `call` and
 * `what` if the size is impossible, or if the caller uses members that this
 * library lacks. */
xylem_status_t xyl_members_read(const char *call, const char *what,
                                const void *given, size_t first_bytes,
                                void *own, size_t own_bytes);
