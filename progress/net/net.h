/* The net: tagged messages between the ranks of a job. Collectives know only
 * this interface; UCX and simulated networks implement it. A net is a folder
 * beside this file and a line in meson.build here.
 *
 * Contract, for every backend and tested for each:
 * - send and recv never block, never call a handler and never fail in the
 *   call: the outcome, good or bad, arrives as exactly one push of `event`
 *   into the engine's ready fifo, possibly before the call returns.
 * - A message is matched by (destination, tag). Messages with equal tags are
 *   matched in the order in which they were sent and received. Messages with
 *   different tags may overtake each other.
 * - A send may complete before its receive is posted (eager) or only after
 *   (rendezvous); callers may rely on neither.
 * - If a peer's death ends a message, the net calls peer_failed before it
 *   pushes the event. XYLEM_ERR_CANCELED is the status of canceled receives
 *   and, while the net is destroyed, of messages that it gives up.
 * - A message longer than its buffer completes the receive with
 *   XYLEM_ERR_TRUNCATED and writes nothing beyond it; a shorter one, with
 *   XYLEM_ERR_MISMATCH. The contents of the buffer are then undefined. If the
 *   event has takes_shorter set, a shorter message is no error, and net_bytes
 *   is its length.
 * - The buffer of a send belongs to the net from the call until the event; the
 *   buffer of a receive, from when its message is sent. Before, the net leaves
 *   the buffer alone: an in-place allreduce still sends its contents. The net
 *   writes only the message's bytes there: if the buffer holds equal bytes
 *   already, the caller may read these meanwhile.
 * All functions are called by the progressing thread, except where noted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "progress/event.h"

typedef struct xyl_net xyl_net_t;

/* Capabilities of a net. */
enum {
    XYL_NET_REACHES_OTHERS = 1 /* without it: for jobs of one rank */
};

typedef struct xyl_net_params {
    uint32_t rank, ranks;
    int are_together;  /* all ranks on one machine, with the same view of it */
    int can_sleep;     /* wakeup_fd and arm will be called */
    xyl_fifo_t *ready; /* events are pushed here: the engine's fifo */
    void *arg;         /* the argument given with the net's table */
    /* A message that the network gives up by itself waits this long for the
     * reason, the death of its peer; then it ends with XYLEM_ERR_NET. 0: some
     * seconds. */
    uint64_t reason_ns;
} xyl_net_params_t;

typedef struct xyl_net_ops {
    const char *name; /* at most XYL_REACH_NET_BYTES characters */
    unsigned capabilities;
    /* Returns owned (free with destroy). A failure leaves a text. */
    xylem_status_t (*create)(const xyl_net_params_t *params,
                             xyl_net_t **net_out);
    /* The address by which other ranks reach this one; belongs to the net. NULL
     * for a net without addresses; `connect` is NULL then, too. */
    const void *(*address)(xyl_net_t *net, size_t *bytes_out);
    /* Called once, before any send. addresses[peer] is borrowed until destroy.
     * is_local[peer], read in the call only: the peer's process runs on this
     * machine, so that its death is seen without the net. The call connects
     * with the peer `first` alone (`peers`: with none), and fails, with a text,
     * if that is impossible. */
    xylem_status_t (*connect)(xyl_net_t *net, uint32_t peers,
                              const void *const *addresses,
                              const uint8_t *is_local, uint32_t first);
    void (*send)(xyl_net_t *net, uint32_t peer, uint64_t tag, const void *buf,
                 size_t bytes, xyl_event_t *event);
    void (*recv)(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                 xyl_event_t *event);
    /* Gives up a receive. Its event comes all the same, with
     * XYLEM_ERR_CANCELED or, if the message has come before, as usual. */
    void (*cancel)(xyl_net_t *net, xyl_event_t *event);
    /* Takes and drops the messages that have arrived with tags equal to `tag`
     * in the bits of `mask`, which no receive will take, so that their senders
     * do not wait. NULL: senders of this net never wait. */
    void (*drop)(xyl_net_t *net, uint64_t tag, uint64_t mask);
    /* Moves data; returns the number of things done. */
    unsigned (*progress)(xyl_net_t *net);
    /* Called before a sleep on the descriptor of `wakeup_fd`. XYLEM_OK: an
     * event after this call will make the descriptor readable. XYLEM_ERR_BUSY:
     * call `progress` first. NULL for a net without descriptor, as is
     * wakeup_fd. */
    xylem_status_t (*arm)(xyl_net_t *net);
    int (*wakeup_fd)(xyl_net_t *net); /* -1: there is none */
    /* 1 when this process holds no bytes of any message that it has sent. */
    int (*is_flushed)(xyl_net_t *net);
    void (*destroy)(xyl_net_t *net);
} xyl_net_ops_t;

struct xyl_net {
    const xyl_net_ops_t *ops;
    xyl_fifo_t *ready;
    /* Called when the net finds a peer dead. The function only notes the death
     * and completes no operation. */
    void (*peer_failed)(void *arg, uint32_t peer);
    /* 0: the process of this local peer is known to have ended. Slow: asked for
     * the first message to a peer only. */
    int (*peer_lives)(void *arg, uint32_t peer);
    void *peer_arg; /* the first argument of both */
};

/* The status of a receive for `expected` bytes whose message has `arrived`. */
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
