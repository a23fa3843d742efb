/* The submission queue: any thread pushes, the progressing thread pops. An
 * intrusive list with one exchange per push (D. Vyukov, "Intrusive MPSC
 * node-based queue", 2010). Its length is bounded by the objects that exist,
 * each of which carries its own node; nothing is allocated and nothing waits.
 *
 *      tail ──▶ newest                  producers exchange themselves in here
 *                 ▲ next
 *               older
 *                 ▲ next
 *      head ──▶ oldest                  the consumer takes them out here
 */
#ifndef XYL_PROGRESS_ENGINE_QUEUE_H
#define XYL_PROGRESS_ENGINE_QUEUE_H

#include <stdatomic.h>
#include <stddef.h>

typedef struct xyl_task xyl_task_t;
struct xyl_task {
    _Atomic(xyl_task_t *) next;
    void (*run)(xyl_task_t *task);
};

typedef struct xyl_queue {
    _Alignas(128) _Atomic(xyl_task_t *) tail; /* producers */
    _Alignas(128) xyl_task_t *head;           /* the consumer */
    xyl_task_t stub; /* keeps the list from being empty */
} xyl_queue_t;

void xyl_queue_init(xyl_queue_t *queue);
/* Any thread. `task` is in no queue. */
void xyl_queue_push(xyl_queue_t *queue, xyl_task_t *task);
/* The consumer. NULL: empty, or a producer is between its two steps. */
xyl_task_t *xyl_queue_pop(xyl_queue_t *queue);
/* The consumer. 0 also while a producer is between its two steps; ordered
 * after the consumer's earlier sequentially consistent stores, so that going
 * to sleep can be announced first and checked then. */
int xyl_queue_is_empty(xyl_queue_t *queue);

#endif
