/* Copies that leave the caches alone. */
#pragma once

#include <stddef.h>

/* memcpy with stores that bypass the caches, for more bytes than these hold. An
 * ordinary store would first read from memory the line that it overwrites. */
void xyl_copy_past(void *to, const void *from, size_t bytes);

/* Moves bytes out of this core's own caches into the cache that it shares with
 * another core. The other core is about to read them, and finds them sooner
 * there. A hint: processors without CLDEMOTE (Intel's have it from Sapphire
 * Rapids on) do nothing. */
static inline void xyl_copy_leave_caches(const void *memory, size_t bytes)
{
#ifdef __x86_64__
    const char *line = memory, *end = line + bytes;

    for (; line < end; line += 64)
        __asm__ __volatile__("cldemote %0" : : "m"(*line));
#else
    (void)memory;
    (void)bytes;
#endif
}
