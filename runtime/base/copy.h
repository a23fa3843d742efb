/* Copies that leave the caches alone. */
#ifndef XYL_BASE_COPY_H
#define XYL_BASE_COPY_H

#include <stddef.h>

/* memcpy with stores that go past the caches: for what is more than they hold,
 * since an ordinary store reads from memory what it is to overwrite. */
void xyl_copy_past(void *to, const void *from, size_t bytes);

/* What another core is about to read leaves this core's own caches for the one
 * that both share, where it is found sooner. A hint: processors that do not
 * know it (CLDEMOTE, Intel's from Sapphire Rapids on) do nothing. */
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
