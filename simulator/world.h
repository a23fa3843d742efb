/* The simulated world: ranks with a context of the library each, cores that
 * run them, and the net between them, in one thread and on a virtual clock.
 * Events happen in the order of their times, events of equal times in the order
 * in which they were added; equal options give equal runs.
 *
 * A rank works in pieces: a turn of the library for a message that has come, or
 * a call by the program. A piece begins when its cause is there and its core is
 * free; its cost (overheads, copies, reductions) moves the rank's own clock on,
 * and noise stretches it.
 *
 *   sim_world_create           contexts; nothing has happened yet
 *   sim_world_at(..., start)   the first step of the ranks' program
 *   sim_world_run              until nothing is left to happen
 *
 * The program goes on in the callbacks of its requests.
 */
#pragma once

#include "progress/exec/exec.h"
#include "runtime/base/memory.h"
#include "runtime/base/trace_file.h"
#include "simulator/machine.h"
#include "simulator/noise/noise.h"

typedef struct sim_world sim_world_t;

typedef enum sim_payload {
    SIM_PAYLOAD_NONE, /* no byte is moved: buffers may be sim_world_nowhere */
    SIM_PAYLOAD_MOVED,
    SIM_PAYLOAD_WATCHED /* and misuse of buffers and events is reported */
} sim_payload_t;

typedef struct sim_options {
    const sim_machine_t *machine; /* borrowed during the call */
    uint32_t nodes;
    uint32_t ranks_per_node; /* in blocks: rank r lives on node r / this */
    /* [nodes * ranks_per_node] instead of blocks; may be NULL. Nodes are
     * numbered from 0. Borrowed during the call. */
    const xylem_place_t *places;
    int shares_memory; /* the ranks of a node do */
    int sees_memory;   /* and all their memory is as from xylem_alloc */
    uint64_t seed;
    sim_payload_t payload;
    size_t message_bytes;     /* of the program: beyond the cache or not */
    const sim_noise_t *noise; /* borrowed until the end; NULL: quiet */
    /* Disorder: each message, completion and wake-up may come late by a random
     * time up to this; 0: none. Messages with different tags overtake each
     * other then. */
    sim_time_t jitter_max;
    /* Timers of a rank that waits fire at its multiples; 0: in time. */
    sim_time_t timer_tick;
    /* Work on bytes takes a random time below this, and ends in any order; 0:
     * it is done in the call. */
    sim_time_t work_late_max;
    /* With work_late_max: buffers lie where the processor does not touch them,
     * so stages work on mirrors. */
    int has_mirrors;
    const char *const *settings; /* of the contexts; may be NULL */
    xyl_trace_t *trace;          /* borrowed until the end; may be NULL */
    /* Ranks may die: each then has its own view of the others. */
    int has_deaths;
    /* They tell each other of failures, by further messages. */
    int tells_failures;
    /* The source of the contexts' memory; NULL: the system, or for
     * SIM_PAYLOAD_NONE addresses without memory behind them until they are
     * touched. */
    const xyl_allocator_t *allocator;
    /* Told of misuse (SIM_PAYLOAD_WATCHED); NULL: it ends the process. */
    void (*complain)(void *arg, uint32_t rank, const char *text);
    void *complain_arg;
} sim_options_t;

xylem_status_t sim_world_create(const sim_options_t *options,
                                sim_world_t **world_out);
/* Called when all requests are freed. */
xylem_status_t sim_world_destroy(sim_world_t *world);

uint32_t sim_world_ranks(const sim_world_t *world);
xylem_context_t *sim_world_context(sim_world_t *world, uint32_t rank);

/* Addresses for buffers of SIM_PAYLOAD_NONE, never to be touched: the same for
 * every call. The first call says how many bytes there are. */
void *sim_world_nowhere(sim_world_t *world, size_t bytes);

/* Takes the memory that `messages` under way at once need, of up to `bytes`
 * each: later the simulation itself takes none until there are more. */
void sim_world_reserve(sim_world_t *world, uint32_t messages, size_t bytes);

/* The program. `fn` runs on the rank's core, from `time` on. */
typedef void (*sim_call_fn)(void *arg, uint32_t rank);
void sim_world_at(sim_world_t *world, uint32_t rank, sim_time_t time,
                  sim_call_fn fn, void *arg);
/* Within a call or callback of the rank's: its clock, and work of its own. */
sim_time_t sim_world_now(const sim_world_t *world, uint32_t rank);
void sim_world_compute(sim_world_t *world, uint32_t rank, sim_time_t work);
/* The same for work on bytes, at the machine's rates. A reduction's function
 * charges its work in this way. */
void sim_world_charge_copy(sim_world_t *world, uint32_t rank, size_t bytes);
void sim_world_charge_reduce(sim_world_t *world, uint32_t rank, size_t bytes);

/* Has the rank look around, after calls of its library from outside the run. */
void sim_world_wake(sim_world_t *world, uint32_t rank);

/* Runs all events, or those up to `until`, or `events_max` of them; SIM_NEVER
 * and UINT64_MAX: no bound. A run without bound ends when only timers of the
 * library are left. 1: nothing else is left. */
int sim_world_run(sim_world_t *world, sim_time_t until, uint64_t events_max);

/* The time up to which everything has happened. */
sim_time_t sim_world_time(const sim_world_t *world);

typedef struct sim_counts {
    uint64_t events;                /* messages' steps, wake-ups, completions */
    uint64_t completions;           /* that ranks were given */
    uint64_t works[XYL_WORK_KINDS]; /* that ended late */
    uint64_t messages[SIM_LEVEL_COUNT];
    uint64_t bytes[SIM_LEVEL_COUNT];
    uint64_t unexpected;   /* messages that came before their receive */
    uint64_t memory_bytes; /* that the simulation has taken */
    uint64_t fingerprint;  /* of all events, in order */
} sim_counts_t;
void sim_world_counts(const sim_world_t *world, sim_counts_t *counts_out);

/* ---- faults ---- */

/* The rank dies at `time`: it does nothing any more, and messages to or from it
 * are lost. Each other rank is told within `notice_max`. */
void sim_world_kill(sim_world_t *world, uint32_t rank, sim_time_t time,
                    sim_time_t notice_max);
/* The same when the rank posts its `step`th send or receive (1: the next). */
void sim_world_kill_at_step(sim_world_t *world, uint32_t rank, uint64_t step,
                            sim_time_t notice_max);
int sim_world_is_dead(const sim_world_t *world, uint32_t rank);
/* Brings a dead rank back to an empty world, where its operations fail and can
 * be freed. */
void sim_world_isolate(sim_world_t *world, uint32_t rank);
/* The `nth` send (or receive) from now on of any rank completes with `status`
 * and moves nothing. sim_world_failed_rank returns that rank; UINT32_MAX: none
 * yet. */
void sim_world_fail_send(sim_world_t *world, uint64_t nth,
                         xylem_status_t status);
void sim_world_fail_recv(sim_world_t *world, uint64_t nth,
                         xylem_status_t status);
uint32_t sim_world_failed_rank(const sim_world_t *world);
/* Holds up one message: the `nth` from now on arrives later by `delay`. */
void sim_world_delay_message(sim_world_t *world, uint64_t nth,
                             sim_time_t delay);

/* Prints which rank waits for what. */
void sim_world_dump(const sim_world_t *world, FILE *out);
