/* An observer of a context. The simulator's observer charges the time that
 * copies take, and leaves out copies of buffers without memory behind their
 * addresses. The recorder of XYLEM_TRACE notes which segments each stage has
 * done. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef enum xyl_lasted {
    XYL_LASTED_OPERATION, /* several may be under way at once */
    XYL_LASTED_WORK,      /* of an executor; the same */
    XYL_LASTED_WAIT       /* of the calling thread */
} xyl_lasted_t;

typedef struct xyl_observer {
    /* The rank is about to copy, pack or unpack `bytes` of users' data. Returns
     * 0 to leave that out. */
    int (*copies)(void *arg, size_t bytes);
    /* The result of `stage` for `segment` is final on this rank. `sequence` is
     * that of the stage's messages and tells stages of one name apart. NULL:
     * not recorded. */
    void (*emitted)(void *arg, const char *stage, uint32_t sequence,
                    uint64_t segment);
    /* time: now, in the observer's own unit. lasted: `what` has lasted from
     * `begin` until now. NULL: not measured, or not recorded. Any thread. */
    uint64_t (*time)(void *arg);
    void (*lasted)(void *arg, xyl_lasted_t what, const char *name,
                   uint64_t begin, uint64_t bytes);
    /* An operation that began at `begin` has ended. `subject` is that of the
     * operation; an operation without one is not told of. NULL: not wanted. */
    void (*ran)(void *arg, void *subject, uint64_t begin);
    /* The observer sees a team's first calls that end without waiting, then one
     * in `every`, the same ones on all ranks; 0: all of them. */
    uint64_t every;
    void *arg;
} xyl_observer_t;

/* 1: the bytes must be moved. NULL: there is no observer. */
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
