#include "runtime/base/copy.h"

#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>

enum { LINE_BYTES = 64, WORDS = LINE_BYTES / sizeof(__m128i) };

/* Copies one line; its stores follow each other, so that the line leaves the
 * core as a whole. */
static void line_past(char *to, const char *from)
{
    const __m128i *source = (const void *)from;
    __m128i *target = (void *)to, words[WORDS];
    unsigned i;

    for (i = 0; i < WORDS; i++)
        words[i] = _mm_loadu_si128(source + i);
    for (i = 0; i < WORDS; i++)
        _mm_stream_si128(target + i, words[i]);
}

void xyl_copy_past(void *to, const void *from, size_t bytes)
{
    size_t head = (size_t)(-(uintptr_t)to % LINE_BYTES), at;

    if (bytes < head + LINE_BYTES) {
        memcpy(to, from, bytes);
        return;
    }
    memcpy(to, from, head);
    for (at = head; bytes - at >= LINE_BYTES; at += LINE_BYTES)
        line_past((char *)to + at, (const char *)from + at);
    memcpy((char *)to + at, (const char *)from + at, bytes - at);
    _mm_sfence(); /* orders these stores before a flag that is set next */
}
#else
void xyl_copy_past(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
}
#endif
