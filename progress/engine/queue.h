/* The submission queue: any thread pushes, the consumer takes all there is at
 * once. A list with one exchange per push; its length is bounded by the objects
 * that exist, each of which carries its own link, so nothing is allocated and
 * nothing waits. */
#ifndef XYL_PROGRESS_ENGINE_QUEUE_H
#define XYL_PROGRESS_ENGINE_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct xyl_task xyl_task_t;
struct xyl_task {
    xyl_task_t *next;
    void (*run)(xyl_task_t *task);
};

typedef struct xyl_queue {
    _Atomic(xyl_task_t *) newest;
} xyl_queue_t;

/* Any thread. `task` is in no queue. */
static inline void xyl_queue_push(xyl_queue_t *queue, xyl_task_t *task)
{
    task->next = atomic_load_explicit(&queue->newest, memory_order_relaxed);
    /* Partner: the exchange in xyl_queue_take; sequentially consistent for the
     * load in xyl_queue_is_empty, see there. */
    while (!atomic_compare_exchange_weak(&queue->newest, &task->next, task))
        ;
}

/* Whether there is nothing; ordered after the consumer's earlier sequentially
 * consistent stores, so that going to sleep can be announced first and checked
 * then. */
static inline int xyl_queue_is_empty(xyl_queue_t *queue)
{
    return atomic_load(&queue->newest) == NULL;
}

/* The consumer: all tasks, linked by `next`, the oldest first. NULL: none. */
static inline xyl_task_t *xyl_queue_take(xyl_queue_t *queue)
{
    xyl_task_t *task, *older, *first = NULL;

    if (atomic_load_explicit(&queue->newest, memory_order_relaxed) == NULL)
        return NULL;
    /* Partner: the exchange in xyl_queue_push. */
    task = atomic_exchange_explicit(&queue->newest, NULL, memory_order_acquire);
    for (; task != NULL; task = older) {
        older = task->next;
        task->next = first;
        first = task;
    }
    return first;
}

/* The consumer: runs all tasks that there are, and returns how many. */
static inline unsigned xyl_queue_run(xyl_queue_t *queue)
{
    xyl_task_t *task = xyl_queue_take(queue), *next;
    unsigned done;

    for (done = 0; task != NULL; task = next, done++) {
        next = task->next;
        task->run(task); /* then it may be gone */
    }
    return done;
}

#endif
