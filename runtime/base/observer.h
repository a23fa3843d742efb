/* Whoever looks on: a simulator charges the time that copies take, and leaves
 * them out where buffers are addresses without memory behind them; a record of
 * a run shows which segments stages are through with. */
#ifndef XYL_BASE_OBSERVER_H
#define XYL_BASE_OBSERVER_H

#include <stddef.h>
#include <stdint.h>

typedef enum xyl_lasted {
    XYL_LASTED_OPERATION, /* several may last at once */
    XYL_LASTED_WAIT       /* of the thread that tells */
} xyl_lasted_t;

typedef struct xyl_observer {
    /* `bytes` of users' data are about to be copied, packed or unpacked within
     * the rank. 0: leave it out. */
    int (*copies)(void *arg, size_t bytes);
    /* What `stage` makes of `segment` is final on this rank. `sequence` tells
     * stages of one name apart: it is that of their messages. NULL: nobody
     * records. */
    void (*emitted)(void *arg, const char *stage, uint32_t sequence,
                    uint64_t segment);
    /* Now, in a unit of its own, and what has lasted from such a time until
     * now. NULL: nobody measures, or asks what has lasted. Any thread. */
    uint64_t (*time)(void *arg);
    void (*lasted)(void *arg, xyl_lasted_t what, const char *name,
                   uint64_t begin, uint64_t bytes);
    /* An operation with a subject has ended, which began at such a time. NULL:
     * nobody asks. */
    void (*ran)(void *arg, void *subject, uint64_t begin);
    /* Of calls that end without waiting it is told the first, and then one of
     * so many, the same ones on all ranks; 0: all. */
    uint64_t every;
    void *arg;
} xyl_observer_t;

/* 1 when the bytes are to be moved. NULL: nobody looks on. */
static inline int xyl_observer_copies(const xyl_observer_t *observer,
                                      size_t bytes)
{
    return observer == NULL || observer->copies(observer->arg, bytes);
}

static inline int xyl_observer_records(const xyl_observer_t *observer)
{
    return observer != NULL && observer->emitted != NULL;
}

static inline int xyl_observer_measures(const xyl_observer_t *observer)
{
    return __builtin_expect(observer != NULL && observer->time != NULL, 0) != 0;
}

#endif
