#include "progress/engine/queue.h"

void xyl_queue_init(xyl_queue_t *queue)
{
    atomic_init(&queue->stub.next, NULL);
    atomic_init(&queue->tail, &queue->stub);
    queue->head = &queue->stub;
}

void xyl_queue_push(xyl_queue_t *queue, xyl_task_t *task)
{
    xyl_task_t *older;

    atomic_store_explicit(&task->next, NULL, memory_order_relaxed);
    /* Sequentially consistent: its partner is the load of `tail` in
     * xyl_queue_is_empty, see there. */
    older = atomic_exchange(&queue->tail, task);
    /* Partner: the loads of `next` in xyl_queue_pop. */
    atomic_store_explicit(&older->next, task, memory_order_release);
}

xyl_task_t *xyl_queue_pop(xyl_queue_t *queue)
{
    xyl_task_t *head = queue->head;
    /* Partner: the store of `next` in xyl_queue_push. */
    xyl_task_t *next = atomic_load_explicit(&head->next, memory_order_acquire);

    if (head == &queue->stub) {
        if (next == NULL)
            return NULL;
        queue->head = next;
        head = next;
        next = atomic_load_explicit(&next->next, memory_order_acquire);
    }
    if (next != NULL) {
        queue->head = next;
        return head;
    }
    if (head != atomic_load_explicit(&queue->tail, memory_order_acquire))
        return NULL; /* a producer will link its task in a moment */
    xyl_queue_push(queue, &queue->stub);
    next = atomic_load_explicit(&head->next, memory_order_acquire);
    if (next == NULL)
        return NULL;
    queue->head = next;
    return head;
}

int xyl_queue_is_empty(xyl_queue_t *queue)
{
    return queue->head == &queue->stub &&
           atomic_load(&queue->tail) == &queue->stub;
}
