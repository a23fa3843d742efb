/* The context: everything the library knows in one process, or for one rank of
 * a simulation; see docs/architecture.md. context_create.c assembles it. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "progress/engine/driver.h"
#include "progress/engine/engine.h"
#include "progress/exec/exec.h"
#include "runtime/base/bits.h"
#include "runtime/base/config.h"
#include "runtime/base/memory.h"
#include "runtime/base/observer.h"
#include "runtime/core/heap.h"
#include "runtime/core/module.h"
#include "runtime/job/bootstrap.h"
#include "runtime/job/peers.h"

enum {
    XYL_CONTEXT_MAGIC = 0x78437478,
    XYL_TEAM_SLOTS = (1 << 14) - 2,     /* teams that a rank is in at once */
    XYL_SLOT_RECOVERY = XYL_TEAM_SLOTS, /* of survivors, for a shrink */
    XYL_SLOT_NOTICES,                   /* of faults/notice.h */
    XYL_SLOT_AT = 50,                   /* first bit in a tag */
    XYL_FAILURE_TEXT = 240              /* bytes, with the final 0 */
};

struct xyl_operation;

/* Bytes that suit the memory of this rank's node (context_shm.h). */
typedef struct xyl_context_sizes {
    uint64_t budget;      /* XYLEM_NOISE_BUDGET, or the library's choice */
    uint64_t window;      /* of a piece on a node, at most */
    uint64_t past_caches; /* an operation that writes so many bytes copies past
                             the caches */
    uint64_t reuse;       /* a window is best used again after the node's ranks
                             have written so many bytes; 0: at any time */
} xyl_context_sizes_t;

/* How the ranks have found one another (context_join.h). */
typedef struct xyl_context_job {
    xyl_bootstrap_t *bootstrap; /* NULL when made of parts */
    xyl_peers_t met;            /* from the ranks' first exchange */
    xyl_blobs_t reaches;        /* from the second: addresses */
} xyl_context_job_t;

/* Slots of teams that this rank has handed out. */
typedef struct xyl_context_slots {
    uint64_t used[(XYL_TEAM_SLOTS + 63) / 64]; /* bits */
    uint64_t next; /* the search begins here: slots are reused late */
} xyl_context_slots_t;

struct xylem_context {
    uint32_t magic;
    uint32_t rank;
    uint32_t ranks;
    xyl_config_t config;
    xyl_pool_t pool;
    xyl_engine_t engine;
    xyl_driver_t driver;
    xyl_net_t *net;
    xyl_context_sizes_t sizes;
    struct xyl_shm *shm; /* of the node; NULL: none, see progress/shm/shm.h */
    int all_nodes_share; /* 1, on all ranks alike: on every node with
                            several ranks they share memory */
    xyl_heap_t heap;     /* of xylem_alloc */
    xyl_execs_t execs;   /* one for each kind of memory */
    const xyl_observer_t *observer; /* NULL: none */
    xyl_context_job_t job;
    xyl_peer_t *peers; /* `job.met.all`, or those of the parts */
    xylem_team_t *world;
    pthread_mutex_t lock; /* for slots, lists, and modules' state */
    const xyl_modules_t *modules;
    xyl_context_slots_t slots;
    LIST_HEAD(, xylem_request) requests; /* all, guarded by `lock` */
    _Atomic uint32_t teams_made;
    LIST_HEAD(, xylem_team) teams; /* all, guarded by `lock` */
    /* The progressing thread's, but for the atomic members. */
    LIST_HEAD(, xyl_operation) operations; /* active, newest first */
    struct {
        uint64_t bytes;
        struct xyl_operation *deferred; /* waits for room; NULL: none */
        _Atomic uint32_t detached;      /* operations */
    } held;                             /* see detach.h */
    _Atomic uint32_t failures;          /* peers that have failed */
    _Atomic uint32_t failed_teams;
    void *attached[]; /* [modules->count], see module.h */
};

/* Team slots name teams in message tags; each rank hands out its own. Returns
 * XYL_TEAM_SLOTS if none is free. Any thread. */
uint32_t xyl_context_slot_acquire(xylem_context_t *context);
void xyl_context_slot_release(xylem_context_t *context, uint32_t slot);

/* Looks for kinds of memory that were absent so far. Called before a call is
 * planned, as its buffers may lie in one. */
void xyl_context_execs_look_again(xylem_context_t *context);
static inline void xyl_context_execs_look(xylem_context_t *context)
{
    if (atomic_load_explicit(&context->execs.absent, memory_order_relaxed) != 0)
        xyl_context_execs_look_again(context);
}

/* Runs run(arg) on the progressing thread and returns afterwards. Any thread;
 * in a callback, run(arg) is called at once. */
void xyl_context_do(xylem_context_t *context, void (*run)(void *arg),
                    void *arg);

void xyl_context_call_in_words(const xylem_context_t *context, uint64_t call,
                               char *text, size_t bytes);

/* How many nodes the job has; they are numbered from 0 without gaps. */
uint32_t xyl_context_nodes(const xylem_context_t *context);

xylem_status_t xyl_context_check(const xylem_context_t *context,
                                 const char *call);
/* XYLEM_OK outside of callbacks; else fails with a text that names `call`. */
xylem_status_t xyl_context_may_block(xylem_context_t *context,
                                     const char *call);
