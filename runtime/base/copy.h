/* Copies that leave the caches alone. */
#ifndef XYL_BASE_COPY_H
#define XYL_BASE_COPY_H

#include <stddef.h>

/* memcpy with stores that go past the caches: for what is more than they hold,
 * since an ordinary store reads from memory what it is to overwrite. */
void xyl_copy_past(void *to, const void *from, size_t bytes);

#endif
