/* The simulated world for tests that act from outside of it: ranks of one
 * process, the net between them, and a loop that lets a bounded number of
 * events happen, asks whether the test's condition holds, and lets the test act
 * meanwhile.
 *
 * The net keeps the contract of progress/net/net.h and uses its freedom:
 * messages with different tags overtake each other, completions come late and
 * in any order, inside the call or after it. The seed also draws the machine:
 * the transports and protocols, how many messages wait at a rank, whether ranks
 * share cores, and the costs. So a run can be repeated.
 *
 * Everything is watched: a sent buffer must not change before its event, a
 * receive buffer is filled with garbage between the arrival of its message and
 * the event, an event must not be posted twice, and all memory must come back.
 * An error fails the running case, with the seed and the label.
 */
#pragma once

#include "runtime/core/context.h"
#include "simulator/world.h"

typedef struct fabric fabric_t;

typedef struct fabric_options {
    uint64_t seed;
    /* Messages up to this long are eager; 0: all are rendezvous, SIZE_MAX: all
     * are eager. */
    size_t eager_bytes_max;
    /* Microseconds by which a message, completion or wake-up may be late. */
    uint32_t delay_max;
    /* The same of work on bytes: nothing is done in the call. 0: all is. */
    uint32_t work_late_max;
    uint32_t timer_tick; /* microseconds: timers fire at its multiples */
    int has_mirrors;     /* of buffers, see simulator/world.h */
    /* 0: nothing is left to chance; messages take delay_max microseconds, all
     * else is free of charge. */
    int reorder;
    int tells_failures; /* ranks to each other, beside their operations */
    const xylem_place_t *places; /* [ranks]; NULL: four ranks to a node */
    int shares_memory;           /* the ranks of a node; NULL places: all */
    int sees_memory;             /* and reads others' input in their memory */
    const sim_noise_t *noise;    /* borrowed until the end; may be NULL */
    const char *const *settings; /* after LOG=none; may be NULL */
    /* Fails this allocation (1: the first) of all that the contexts make;
     * 0: none. */
    uint64_t fail_allocation;
    /* Reserved when the fabric is made, so that the net itself allocates
     * nothing until more is needed. */
    uint32_t store_messages;
    size_t store_payload_bytes; /* of the largest message */
} fabric_options_t;

/* NULL: a context could not be made, and nothing is left. */
fabric_t *fabric_create(uint32_t ranks, const fabric_options_t *options);
/* All requests are freed. Fails the running case when a context cannot be
 * destroyed or memory is not given back. NULL is allowed. */
void fabric_destroy(fabric_t *fabric);

/* The world, for times, the program of a rank, faults and counts
 * (simulator/world.h). */
sim_world_t *fabric_sim(fabric_t *fabric);
xylem_context_t *fabric_context(fabric_t *fabric, uint32_t rank);
xylem_team_t *fabric_world(fabric_t *fabric, uint32_t rank);

/* The machine that the seed has drawn. */
const sim_machine_t *fabric_machine(const fabric_t *fabric);

/* Lets time pass, with all events meanwhile. */
void fabric_advance(fabric_t *fabric, sim_time_t time);

/* Names the test in the text of failures. Copied. */
void fabric_label(fabric_t *fabric, const char *label);

/* The condition that a run waits for, and the test's own actions meanwhile. */
typedef struct fabric_script {
    int (*is_done)(void *arg);
    unsigned (*act)(void *arg); /* returns the things done; may be NULL */
    void *arg;
} fabric_script_t;

/* Lets events happen, a few at a time, until script->is_done. 0: no event is
 * left before that; the running case fails, with a dump of which rank waits for
 * what. */
int fabric_run_until(fabric_t *fabric, const fabric_script_t *script);
/* Until nothing is left to happen. */
void fabric_run_dry(fabric_t *fabric);

/* `rank` dies: it does nothing any more, messages to or from it may get lost,
 * and within `notice_max` microseconds each of the others is told. */
void fabric_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max);
/* Brings a dead rank back to an empty world, where its operations fail and can
 * be freed. */
void fabric_isolate(fabric_t *fabric, uint32_t rank);
int fabric_is_dead(const fabric_t *fabric, uint32_t rank);

/* The `nth` allocation from now on fails; 0: none. */
void fabric_fail_allocation(fabric_t *fabric, uint64_t nth);
/* 1 when the allocation that was to fail did. */
int fabric_allocation_failed(const fabric_t *fabric);

/* Stands for everything that has happened so far, in order. */
uint64_t fabric_trace(const fabric_t *fabric);
