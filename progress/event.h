/* Events: the completion of one piece of work. An event lives inside the object
 * that waits for the work (no allocation), and is in at most one fifo at a
 * time. The code that completes the work sets `status` and pushes the event;
 * the engine later calls `handle`, once. Only the progressing thread touches a
 * fifo. */
#pragma once

#include <stddef.h>

#include "include/xylem.h"

typedef struct xyl_event xyl_event_t;
typedef void (*xyl_event_fn)(xyl_event_t *event);

struct xyl_event {
    xyl_event_t *next;
    xyl_event_fn handle;
    struct xyl_net *net; /* the net that sends or receives the message */
    void *net_request;   /* the net's own, while the message is under way */
    size_t net_bytes;    /* to be received; see takes_shorter */
    xylem_status_t status;
    int takes_shorter; /* the receive accepts a message of fewer bytes too;
                          net_bytes is then the number that has arrived */
};

typedef struct xyl_fifo {
    xyl_event_t *head;
    xyl_event_t **tail; /* where the next event is linked in */
} xyl_fifo_t;

static inline void xyl_fifo_init(xyl_fifo_t *fifo)
{
    fifo->head = NULL;
    fifo->tail = &fifo->head;
}

static inline void xyl_fifo_push(xyl_fifo_t *fifo, xyl_event_t *event)
{
    event->next = NULL;
    *fifo->tail = event;
    fifo->tail = &event->next;
}

static inline xyl_event_t *xyl_fifo_pop(xyl_fifo_t *fifo)
{
    xyl_event_t *event = fifo->head;

    if (event != NULL) {
        fifo->head = event->next;
        if (fifo->head == NULL)
            fifo->tail = &fifo->head;
    }
    return event;
}

static inline void xyl_fifo_move(xyl_fifo_t *from, xyl_fifo_t *to)
{
    if (from->head == NULL)
        return;
    *to->tail = from->head;
    to->tail = from->tail;
    from->head = NULL;
    from->tail = &from->head;
}

static inline int xyl_fifo_is_empty(const xyl_fifo_t *fifo)
{
    return fifo->head == NULL;
}
