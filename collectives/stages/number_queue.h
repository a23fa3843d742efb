/* A queue through which each of the numbers below some count passes at most
 * once in a run: actions of a schedule, segments of a lane. */
#pragma once

#include <stdint.h>

typedef struct xyl_number_queue {
    uint32_t *numbers; /* with room for all, of the queue's owner */
    uint32_t first, end;
} xyl_number_queue_t;

static inline void xyl_number_queue_reset(xyl_number_queue_t *queue)
{
    queue->first = queue->end = 0;
}

static inline void xyl_number_queue_push(xyl_number_queue_t *queue,
                                         uint32_t number)
{
    queue->numbers[queue->end++] = number;
}

static inline int xyl_number_queue_is_empty(const xyl_number_queue_t *queue)
{
    return queue->first == queue->end;
}

static inline uint32_t xyl_number_queue_pop(xyl_number_queue_t *queue)
{
    return queue->numbers[queue->first++];
}
