/* The inside of the simulated world, for the files that make it up:
 *
 *   world.c     ranks, cores: which rank works when
 *   net.c       the net's functions as the library calls them, and a rank's
 *               inbox as its core works it off
 *   wire.c      the way of messages: protocols, interfaces, matching
 *   shm.c       memory that ranks share
 *   exec.c      work on bytes that ends late
 *   faults.c    deaths, failing calls, delays
 *   events.c    the library's events; complaints
 *   cost.c      the cost of work for a rank
 *   timeline.c  when things happen: entries of the calendar, wake-ups
 *   objects.c   memory for messages, receives and items
 */
#pragma once

#include "progress/net/net.h"
#include "progress/shm/shm.h"
#include "runtime/core/context.h"
#include "simulator/calendar.h"
#include "simulator/match.h"
#include "simulator/space.h"
#include "simulator/world.h"
#include "trees/topology_tree.h"

typedef struct sim_message sim_message_t;
typedef struct sim_receive sim_receive_t;
typedef struct sim_rank sim_rank_t;

/* The steps of items in a rank's inbox and in the calendar. */
typedef enum sim_step {
    SIM_STEP_CALL,   /* the program's */
    SIM_STEP_NOTICE, /* a peer is dead */
    SIM_STEP_DONE,   /* a completion that was held up */
    SIM_STEP_FLAG,   /* a flag in shared memory has changed: look around */
    /* Of a message, at its destination: */
    SIM_STEP_EAGER, /* it has come */
    SIM_STEP_OFFER, /* a rendezvous is asked for */
    SIM_STEP_DATA,  /* the bytes of a rendezvous have come */
    /* and at its source: */
    SIM_STEP_SLOT,   /* the destination's queue has a place for it */
    SIM_STEP_ACCEPT, /* the destination is ready for a pipeline */
    SIM_STEP_FINISH, /* the destination has the bytes */
    SIM_STEP_WORK,   /* an executor is done; behind the others, whose numbers
                        are in fingerprints */
    SIM_STEP_COUNT
} sim_step_t;

/* Kinds of entries of the calendar. An item has a step, too. */
typedef enum sim_kind {
    SIM_KIND_ITEM, /* reaches the inbox of its rank */
    SIM_KIND_WAKE,
    SIM_KIND_TIMER,  /* a wake-up for a timer of the library's */
    SIM_KIND_INJECT, /* a message at its source's interface */
    SIM_KIND_EJECT,  /* and at its destination's */
    SIM_KIND_STORE,  /* a flag becomes visible */
    SIM_KIND_KILL
} sim_kind_t;

typedef struct sim_item {
    struct sim_item *next; /* in an inbox, or free */
    sim_step_t step;
    uint32_t peer;          /* NOTICE */
    sim_message_t *message; /* of its steps; NULL: none */
    sim_receive_t *receive; /* DONE, of a receive */
    xyl_event_t *event;     /* DONE, WORK */
    xylem_status_t status;  /* DONE */
    sim_call_fn fn;         /* CALL */
    void *arg;              /* CALL; WORK: the executor */
} sim_item_t;

/* A message lives until both of its ends are through with it. */
struct sim_message {
    sim_match_t match; /* first: in the table of the ordered, then of the
                          unexpected */
    uint32_t source;
    uint8_t ends; /* that still need it */
    uint8_t is_eager;
    uint8_t is_data;  /* what the interfaces now carry is a rendezvous' data */
    uint8_t has_slot; /* takes a place in the destination's queue */
    uint8_t is_ordered; /* on its way; later ones with its tag stay behind */
    uint8_t level;
    size_t bytes;
    uint64_t id;
    sim_time_t sent;
    sim_time_t arrives;     /* is_ordered */
    sim_time_t ready_by;    /* DATA of a pipeline: its last piece */
    sim_time_t late;        /* held up by a fault */
    const char *buf;        /* the sender's */
    xyl_event_t *event;     /* the sender's; NULL: completed */
    sim_receive_t *receive; /* matched */
    sim_item_t to_destination, to_source;
    char *payload;
    size_t payload_bytes;
};

struct sim_receive {
    sim_match_t match; /* first: in the table of the posted */
    char *buf;
    size_t bytes;
    xyl_event_t *event;
    sim_message_t *message; /* matched */
};

typedef struct sim_inbox {
    sim_item_t *head;
    sim_item_t **tail;
} sim_inbox_t;

struct sim_rank {
    xyl_net_t net; /* first: the library holds its address */
    xyl_shm_t shm;
    sim_world_t *world;
    xylem_context_t *context;
    sim_time_t now; /* the rank's own clock */
    sim_inbox_t inbox;
    sim_inbox_t blocked; /* messages that wait for a place in the queue here */
    sim_noise_cursor_t noise;
    uint32_t rank, node;
    uint32_t queued;       /* eager messages in the queue here */
    uint32_t granted;      /* own messages that have a place and are not sent */
    sim_time_t granted_by; /* when it hears of the last place */
    uint8_t is_dead;
    uint8_t is_isolated;
    sim_time_t woken_at; /* its wake-up in the calendar; SIM_NEVER: none */
    sim_time_t timer_at; /* the same for its timers */
    uint64_t steps_to_death;
    sim_time_t notice_max;
    xyl_clock_t clock;
    xyl_observer_t observer;
    xyl_peer_t *peers;
};

enum {
    SIM_BUCKETS = 256 /* of a node's memory, a ring */
};
#define SIM_BUCKET_TIME (4 * SIM_US)

/* One core that several ranks share. */
typedef struct sim_core {
    sim_time_t free;
    uint32_t rank; /* that used it last */
} sim_core_t;

typedef struct sim_bucket {
    uint64_t number; /* which part of time it stands for now */
    sim_time_t used;
} sim_bucket_t;

typedef struct sim_node {
    sim_time_t injection_free, ejection_free; /* the interface's two sides */
    uint32_t ranks;                           /* that live here */
    sim_core_t *cores;          /* NULL: each rank has one of its own */
    sim_bucket_t *memory;       /* NULL: without bound */
    struct sim_region *regions; /* of shared memory, see shm.c */
} sim_node_t;

struct sim_world {
    sim_machine_t machine;
    sim_options_t options;
    uint32_t ranks, nodes, node_ranks_max;
    uint64_t random;
    sim_time_t now;
    sim_calendar_t calendar;
    sim_rank_t *all;
    sim_node_t *all_nodes;
    xyl_peer_t *peers; /* shared, unless ranks may die */
    xyl_topology_map_t map;
    uint32_t *map_memory;
    sim_space_t space, nowhere;
    sim_rate_t copy_rate, reduce_rate;
    int is_far; /* messages do not fit into the caches */
    /* Tables of matching; free objects; the memory of all objects. */
    sim_match_table_t posted, unexpected, ordered;
    sim_match_t *free_messages, *free_receives;
    sim_item_t *free_items;
    struct sim_chunk *chunks;
    sim_counts_t counts;
    uint64_t message_ids;
    size_t timers_waiting; /* entries of the calendar that keep no run going */
    sim_rank_t *running;   /* does a piece of work; NULL: none */
    /* Faults. */
    uint64_t sends_to_failure, recvs_to_failure, messages_to_delay;
    xylem_status_t failure;
    sim_time_t message_delay;
    uint32_t failed_rank;
};

static inline sim_rank_t *sim_rank_of(xyl_net_t *net)
{
    return (sim_rank_t *)(void *)net;
}

static inline void sim_inbox_init(sim_inbox_t *inbox)
{
    inbox->head = NULL;
    inbox->tail = &inbox->head;
}

static inline void sim_inbox_push(sim_inbox_t *inbox, sim_item_t *item)
{
    item->next = NULL;
    *inbox->tail = item;
    inbox->tail = &item->next;
}

static inline sim_item_t *sim_inbox_pop(sim_inbox_t *inbox)
{
    sim_item_t *item = inbox->head;

    if (item != NULL) {
        inbox->head = item->next;
        if (inbox->head == NULL)
            inbox->tail = &inbox->head;
    }
    return item;
}

/* 1: the bytes of a message are moved. The bytes of a message of one word
 * always are, as ranks may tell each other something by them. */
static inline int sim_moves(const sim_world_t *world, size_t bytes)
{
    enum { WORD_BYTES = 8 };

    return world->options.payload != SIM_PAYLOAD_NONE || bytes <= WORD_BYTES;
}

/* ---- timeline.c ---- */

void sim_add(sim_world_t *world, sim_kind_t kind, sim_time_t time,
             uint32_t rank, void *what);
/* The item reaches the inbox of `rank` at `time`. */
void sim_deliver(sim_world_t *world, sim_time_t time, uint32_t rank,
                 sim_item_t *item);
void sim_wake(sim_rank_t *rank, sim_time_t time);
void sim_note(sim_world_t *world, uint64_t what); /* into the fingerprint */
sim_time_t sim_jitter(sim_world_t *world);
/* Every function that a rank's library calls begins with it. */
void sim_enter(sim_rank_t *rank);

/* ---- cost.c ---- */

sim_level_t sim_level_of(const sim_world_t *world, uint32_t a, uint32_t b);
void sim_charge(sim_rank_t *rank, sim_time_t work);
void sim_charge_copy(sim_rank_t *rank, size_t bytes);
/* Charges the rank for a copy of its program's data. 1: bytes are moved. */
int sim_copy_announced(void *rank, size_t bytes);
/* Records that a stage of the rank is through with a segment. */
void sim_segment_emitted(void *rank, const char *stage, uint32_t sequence,
                         uint64_t segment);
/* Charges a copy that is no faster than `rate`. */
void sim_charge_copy_at(sim_rank_t *rank, sim_rate_t rate, size_t bytes);

/* ---- net.c ---- */

extern const xyl_net_ops_t sim_net_ops; /* its arg is the world */

/* ---- events.c ---- */

void sim_complain(sim_rank_t *rank, const char *text);
/* A send or receive is posted with the event. */
void sim_event_take(sim_rank_t *rank, xyl_event_t *event);
/* Complete an event of a rank. The first one does so at once, in a piece of
 * work of that rank; the second one now or, under jitter, somewhat later. */
void sim_complete_now(sim_rank_t *rank, xyl_event_t *event,
                      xylem_status_t status);
void sim_complete(sim_rank_t *rank, xyl_event_t *event, xylem_status_t status);

/* ---- exec.c ---- */

extern const xyl_exec_ops_t sim_exec_late, sim_exec_mirrored;
/* Does an item of work, unless that is canceled. Returns its status. */
xylem_status_t sim_exec_finish(sim_item_t *item);

/* ---- objects.c ---- */

sim_message_t *sim_message_take(sim_world_t *world);
/* Its payload has room for `bytes`. */
void sim_message_reserve(sim_message_t *message, size_t bytes);
/* One of the message's two ends no longer needs it. */
void sim_message_release(sim_world_t *world, sim_message_t *message);
sim_item_t *sim_item_take(sim_world_t *world);
void sim_item_free(sim_world_t *world, sim_item_t *item);
sim_receive_t *sim_receive_take(sim_world_t *world);
void sim_receive_free(sim_world_t *world, sim_receive_t *receive);
void sim_objects_fini(sim_world_t *world);

/* ---- wire.c ---- */

/* The rank's core, in its piece: */
void sim_wire_send(sim_rank_t *rank, uint32_t peer, uint64_t tag,
                   const void *buf, size_t bytes, xyl_event_t *event);
void sim_wire_recv(sim_rank_t *rank, sim_receive_t *receive);
void sim_wire_step(sim_rank_t *rank, sim_item_t *item);
/* Withdraws a receive; 0: it is too late. */
int sim_wire_withdraw(sim_rank_t *rank, sim_receive_t *receive);
/* The interfaces, by the calendar: */
void sim_wire_inject(sim_world_t *world, sim_message_t *message);
void sim_wire_eject(sim_world_t *world, sim_message_t *message);
/* Drops an item that has come to a dead rank, or was in its inbox. */
void sim_wire_drop(sim_rank_t *rank, sim_item_t *item);
/* No rank will receive the message: chance says if a waiting sender is told. */
void sim_wire_lose(sim_world_t *world, sim_message_t *message);
/* A delayed receive: moves the bytes and lets go of the message. */
void sim_wire_finish_receive(sim_rank_t *rank, sim_item_t *item);

/* ---- shm.c ---- */

xyl_shm_t *sim_shm_create(sim_rank_t *rank, int has_heap);
void sim_shm_fini(sim_world_t *world);
/* The calendar's entry of a flag: stores the flag, returns the item that tells
 * its reader. */
sim_item_t *sim_shm_store(void *what);

/* ---- faults.c ---- */

/* Counts a posting: may kill the rank. 1 when this send (or receive) fails;
 * its event then has been completed. */
int sim_faults_post(sim_rank_t *rank, int is_send, xyl_event_t *event);
void sim_faults_kill(sim_world_t *world, uint32_t rank, sim_time_t notice_max);
