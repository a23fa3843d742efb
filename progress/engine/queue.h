/* The submission queue: any thread pushes a task, the consumer takes all tasks
 * at once. The queue is a list, and a push is one exchange. Each task carries
 * its own link, so a push neither allocates nor waits. */
#pragma once

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

/* Ordered after the consumer's earlier sequentially consistent stores: a
 * consumer announces its sleep first and then looks at the queue. */
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

/* The consumer: runs all tasks, and returns their number. */
static inline unsigned xyl_queue_run(xyl_queue_t *queue)
{
    xyl_task_t *task = xyl_queue_take(queue), *next;
    unsigned done;

    for (done = 0; task != NULL; task = next, done++) {
        next = task->next;
        task->run(task); /* may free the task */
    }
    return done;
}
