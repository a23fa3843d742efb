/* Copies that leave the caches alone. */
#ifndef XYL_BASE_COPY_H
#define XYL_BASE_COPY_H

#include <stddef.h>

/* memcpy with stores that bypass the caches, for more bytes than these hold: an
 * ordinary store first reads the line that it overwrites from memory. */
void xyl_copy_past(void *to, const void *from, size_t bytes);

/* Moves bytes that another core is about to read from this core's own caches to
 * the cache that both share, where the other core finds them sooner. A hint:
 * processors without CLDEMOTE (Intel's have it from Sapphire Rapids on) do
 * nothing. */
static inline void xyl_copy_hand_over(const void *memory, size_t bytes)
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

#endif
