/* A network of many ranks inside one thread. Every rank is a context made of
 * parts; between them lies a net that keeps the contract of progress/net.h and
 * uses all the freedom that it leaves: messages with different tags overtake
 * each other, completions come late and in any order, eager sends complete
 * inside the call or later, rendezvous sends only after their receive was
 * posted. All of it follows from one seed, so that a run can be repeated.
 *
 * The net also watches what it is given: a buffer that is sent must not change
 * before its event, a buffer that is received into is filled with garbage
 * between the arrival of its message and the event, an event must not be posted
 * twice.
 */
#ifndef XYL_TESTS_FABRIC_H
#define XYL_TESTS_FABRIC_H

#include "runtime/context.h"

typedef struct fabric fabric_t;

typedef struct fabric_options {
    uint64_t seed;
    /* Messages up to this long are eager; 0: all are rendezvous, SIZE_MAX: all
     * are eager. */
    size_t eager_bytes_max;
    uint32_t delay_max; /* of a message or completion, in turns of a rank */
    int reorder;        /* 0: everything takes delay_max turns */
    const xylem_place_t *places; /* [ranks]; NULL: four ranks to a node */
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

uint32_t fabric_ranks(const fabric_t *fabric);
xylem_context_t *fabric_context(fabric_t *fabric, uint32_t rank);
xylem_team_t *fabric_world(fabric_t *fabric, uint32_t rank);

/* Lets time pass on the ranks' clock. */
void fabric_advance(fabric_t *fabric, uint64_t ns);

/* What the test is about, for the text of failures. Copied. */
void fabric_label(fabric_t *fabric, const char *label);

/* What a run waits for, and what the test itself does meanwhile. */
typedef struct fabric_script {
    int (*is_done)(void *arg);
    unsigned (*act)(void *arg); /* returns the things done; may be NULL */
    void *arg;
} fabric_script_t;

/* Turns all ranks, in random order, until script->is_done. Returns 1; or 0 when
 * nobody has anything left to do and it is not: the running case then fails,
 * with a dump of who waits for what. */
int fabric_run_until(fabric_t *fabric, const fabric_script_t *script);
/* Turns all ranks until nobody has anything left to do. */
void fabric_run_dry(fabric_t *fabric);

/* `rank` dies: it does nothing any more, what is on its way to or from it may
 * get lost, and within `notice_max` turns each of the others is told. */
void fabric_kill(fabric_t *fabric, uint32_t rank, uint32_t notice_max);
/* Brings a dead rank back to an empty world, where its operations fail and can
 * be freed. */
void fabric_isolate(fabric_t *fabric, uint32_t rank);
int fabric_is_dead(const fabric_t *fabric, uint32_t rank);

typedef enum fabric_call { FABRIC_SEND, FABRIC_RECV } fabric_call_t;

/* The `nth` send or receive from now on (1: the next) of any rank completes
 * with `status` and moves nothing. */
void fabric_fail_call(fabric_t *fabric, fabric_call_t call, uint64_t nth,
                      xylem_status_t status);
/* The rank whose call failed; UINT32_MAX: none has. */
uint32_t fabric_failed_rank(const fabric_t *fabric);
/* The `nth` allocation from now on fails; 0: none. */
void fabric_fail_allocation(fabric_t *fabric, uint64_t nth);
/* 1 when the allocation that was to fail did. */
int fabric_allocation_failed(const fabric_t *fabric);

/* Stands for everything that has happened so far, in order. */
uint64_t fabric_trace(const fabric_t *fabric);
/* Messages sent so far. */
uint64_t fabric_sends(const fabric_t *fabric);

#endif
