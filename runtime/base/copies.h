/* Copies of users' data within a rank are announced through a table, so that a
 * simulator can charge the time they take, and leave them out where buffers are
 * addresses without memory behind them. */
#ifndef XYL_BASE_COPIES_H
#define XYL_BASE_COPIES_H

#include <stddef.h>

typedef struct xyl_copies {
    /* `bytes` are about to be copied, packed or unpacked. 0: leave it out. */
    int (*announce)(void *arg, size_t bytes);
    void *arg;
} xyl_copies_t;

/* 1 when the bytes are to be moved. NULL: nobody wants to know. */
static inline int xyl_copies_begin(const xyl_copies_t *copies, size_t bytes)
{
    return copies == NULL || copies->announce(copies->arg, bytes);
}

/* memcpy with stores that go past the caches: for what is more than they hold,
 * since an ordinary store reads from memory what it is to overwrite. */
void xyl_copy_past(void *to, const void *from, size_t bytes);

#endif
