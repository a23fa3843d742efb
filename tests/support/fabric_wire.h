/* The inside of the fabric: messages and what is to happen to them. */
#ifndef XYL_TESTS_FABRIC_WIRE_H
#define XYL_TESTS_FABRIC_WIRE_H

#include "tests/support/fabric.h"

typedef struct message message_t;
typedef struct receive receive_t;

struct message {
    message_t *next; /* free, or come and not matched */
    uint32_t source, destination;
    uint64_t tag;
    size_t bytes;
    int is_eager;
    const char *buf;         /* the sender's; its own copy lies in `payload` */
    xyl_event_t *send_event; /* NULL once it is on its way back */
    char *payload;
    size_t payload_bytes;
    receive_t *receive; /* what it was matched with */
};

struct receive {
    receive_t *next; /* free, or posted and not matched */
    uint64_t tag;
    char *buf;
    size_t bytes;
    xyl_event_t *event;
    message_t *message; /* what it was matched with */
};

typedef enum happening_kind {
    HAPPENS_ARRIVAL,    /* a message reaches its destination */
    HAPPENS_MOVE,       /* the data of a matched message */
    HAPPENS_COMPLETION, /* an event reaches its rank */
    HAPPENS_NOTICE      /* a rank learns of a death */
} happening_kind_t;

typedef struct happening {
    uint64_t due;
    uint64_t order; /* equal times: as decided */
    happening_kind_t kind;
    uint32_t rank;
    uint32_t peer; /* HAPPENS_NOTICE */
    xylem_status_t status;
    message_t *message;
    xyl_event_t *event;
} happening_t;

/* One rank. The net comes first: the engine holds its address. */
typedef struct rank_net {
    xyl_net_t net;
    fabric_t *fabric;
    uint32_t rank;
    int is_dead;
    int is_isolated;
    xylem_context_t *context;
    xyl_peer_t *peers;
    receive_t *posted; /* in order */
    receive_t **posted_end;
    message_t *unexpected; /* in order */
    message_t **unexpected_end;
    xyl_event_t *back; /* events that the next progress pushes */
    uint8_t *notices;  /* [ranks] deaths that the next progress tells */
    int has_notices;
} rank_net_t;

struct fabric {
    fabric_options_t options;
    uint64_t random;
    uint64_t now; /* turns of ranks so far */
    uint64_t decided;
    uint64_t trace;
    uint64_t sends;
    uint32_t ranks;
    rank_net_t *nets;
    uint32_t *turn_order;
    char label[256];
    /* What is to happen: a heap by (due, order). */
    happening_t *heap;
    size_t heap_count, heap_capacity;
    /* All messages and receives there are, and the free ones. */
    message_t *free_messages, **messages;
    size_t message_count, message_capacity;
    receive_t *free_receives, **receives;
    size_t receive_count, receive_capacity;
    /* Faults. */
    uint64_t calls_left[2]; /* to the one that fails; 0: none */
    xylem_status_t call_status;
    uint32_t failed_rank;
    uint64_t allocations_left;
    int allocation_failed;
    uint64_t blocks_live;
    xyl_allocator_t allocator;
    xyl_clock_t clock;
};

void fabric_wire_init(fabric_t *fabric);
void fabric_wire_fini(fabric_t *fabric);
xyl_net_t *fabric_net_create(void *fabric, uint32_t rank, xyl_fifo_t *ready);

/* Everything that is due at fabric->now. */
void fabric_wire_advance(fabric_t *fabric);
/* 1 and the time when something is still to happen. */
int fabric_wire_next(const fabric_t *fabric, uint64_t *due_out);
void fabric_wire_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max);

#endif
