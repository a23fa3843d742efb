/* The net: tagged messages between the ranks of a job. Collectives know only
 * this interface; UCX and simulated networks stand behind it. A net is a folder
 * beside this file and a line in nets.c.
 *
 * Contract, for every backend and tested for each:
 * - send and recv never block, never call a handler and never fail in the
 *   call: the outcome, good or bad, arrives as exactly one push of `event`
 *   into the engine's ready fifo, possibly before the call returns.
 * - A message is matched by (destination, tag). Messages with equal tags are
 *   matched in the order in which they were sent and received. Messages with
 *   different tags may overtake each other.
 * - A send may complete only after its receive has been posted (rendezvous) or
 *   before (eager); nobody may rely on either.
 * - A message that ends because a peer has died does so after peer_failed. With
 *   XYLEM_ERR_CANCELED end receives that are given up, and no others.
 * - A message longer than its buffer completes the receive with
 *   XYLEM_ERR_TRUNCATED and writes nothing beyond it; a shorter one, with
 *   XYLEM_ERR_MISMATCH. What is in the buffer then is undefined. Where the
 *   event says takes_shorter, a shorter message is as good, and net_bytes says
 *   how long it was.
 * - The buffer belongs to the net from the call until the event; that of a
 *   receive only from when its message is sent: before, the net leaves it
 *   alone, and an in-place allreduce still sends what lies there. It writes
 *   nothing there but the message's bytes: if they are there already, they may
 *   be read meanwhile.
 * All functions are called by the progressing thread, except where noted.
 */
#ifndef XYL_PROGRESS_NET_NET_H
#define XYL_PROGRESS_NET_NET_H

#include <stddef.h>
#include <stdint.h>

#include "progress/event.h"

typedef struct xyl_net xyl_net_t;

/* What nets differ in. */
enum {
    XYL_NET_REACHES_OTHERS = 1 /* else it is for jobs of one rank */
};

typedef struct xyl_net_params {
    uint32_t rank, ranks;
    int are_together;  /* all on one machine, where they see the same */
    int can_sleep;     /* wakeup_fd and arm will be needed */
    xyl_fifo_t *ready; /* where events go: the engine's */
    void *arg;         /* of whoever has made the parts of the context */
    /* A message that the net gives up by itself waits so long for the reason,
     * the death of its peer, and fails by the net then; 0: some seconds. */
    uint64_t reason_ns;
} xyl_net_params_t;

typedef struct xyl_net_ops {
    const char *name; /* at most XYL_PEERS_NET_BYTES characters */
    unsigned capabilities;
    /* Returns owned (free with destroy). Fails with a text. */
    xylem_status_t (*create)(const xyl_net_params_t *params,
                             xyl_net_t **net_out);
    /* What the other ranks need to reach this one; belongs to the net. NULL,
     * as `connect` then is: nothing. */
    const void *(*address)(xyl_net_t *net, size_t *bytes_out);
    /* Once, before anything is sent: addresses[peer] is borrowed until destroy;
     * is_local[peer] (only looked at): the peer's process runs on this machine,
     * so that its death is seen without the net. Of all peers `first` alone is
     * connected with at once (`peers`: none), and the call fails, with a text,
     * if that cannot be done. */
    xylem_status_t (*connect)(xyl_net_t *net, uint32_t peers,
                              const void *const *addresses,
                              const uint8_t *is_local, uint32_t first);
    void (*send)(xyl_net_t *net, uint32_t peer, uint64_t tag, const void *buf,
                 size_t bytes, xyl_event_t *event);
    void (*recv)(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                 xyl_event_t *event);
    /* Asks that a receive be given up; its event comes all the same, with
     * XYLEM_ERR_CANCELED or, when it was too late, as usual. */
    void (*cancel)(xyl_net_t *net, xyl_event_t *event);
    /* Takes what has come under tags that are like `tag` in the bits of `mask`,
     * where nothing is to be received any more, and drops it, so that no sender
     * waits for it. NULL: none does. */
    void (*drop)(xyl_net_t *net, uint64_t tag, uint64_t mask);
    /* Moves data; returns the number of things done. */
    unsigned (*progress)(xyl_net_t *net);
    /* Before sleeping on the descriptor of `wakeup_fd`: XYLEM_OK when an
     * event after this call will make it readable, XYLEM_ERR_BUSY when there
     * is something to progress first. */
    xylem_status_t (*arm)(xyl_net_t *net);
    int (*wakeup_fd)(xyl_net_t *net); /* -1: cannot sleep */
    /* 1 when nothing that was sent is still held by this process. */
    int (*is_flushed)(xyl_net_t *net);
    void (*destroy)(xyl_net_t *net);
} xyl_net_ops_t;

struct xyl_net {
    const xyl_net_ops_t *ops;
    xyl_fifo_t *ready;
    /* Called when a peer is found dead; only hands over, never completes. */
    void (*peer_failed)(void *arg, uint32_t peer);
    /* 0: the process of this peer, which is local, has ended, and whoever
     * answers knows. May take a moment: for first messages. */
    int (*peer_lives)(void *arg, uint32_t peer);
    void *peer_arg; /* of both */
};

/* A message of so many bytes has arrived where so many were expected. */
static inline xylem_status_t
xyl_net_length_status(xyl_event_t *event, size_t arrived, size_t expected)
{
    if (arrived > expected)
        return XYLEM_ERR_TRUNCATED;
    if (arrived < expected && !event->takes_shorter)
        return XYLEM_ERR_MISMATCH;
    event->net_bytes = arrived;
    return XYLEM_OK;
}

static inline void xyl_net_complete(xyl_net_t *net, xyl_event_t *event,
                                    xylem_status_t status)
{
    event->status = status;
    xyl_fifo_push(net->ready, event);
}

#endif
