/* The schedules of all ranks for one problem, run in plain memory without the
 * library's engine, in a random order of everything that may happen.
 *
 * Mistakes of single schedules are found without running them: pieces outside
 * their buffer, a send buffer that is written to, messages without or with more
 * than one counterpart or of another length, and hazards (two actions of a rank
 * that touch the same bytes, one of them writing, while neither waits for the
 * other, directly or through others). Mistakes of the schedules together show
 * in the run: ranks that wait for each other for ever, and wrong data. Receives
 * spoil their place when they are started and fill it when they finish.
 *
 * One thread. */
#pragma once

#include "collectives/data/schedule.h"

#define SCHEDULE_RUN_NOBODY UINT32_MAX

typedef void (*schedule_run_combine_fn)(void *to, const void *left,
                                        const void *right, uint64_t count);

typedef struct schedule_run_options {
    uint64_t seed;                   /* of the order of events */
    schedule_run_combine_fn combine; /* NULL: there are no reductions */
    unsigned rendezvous_percent;     /* of messages: the send does not finish
                                        before the receive has been started */
    uint32_t late_rank;              /* begins when the others can do no more;
                                        SCHEDULE_RUN_NOBODY: all begin at once */
} schedule_run_options_t;

/* The user's memory is one array of elements; SEND and RECV are pieces of it,
 * which in place overlap. The caller knows what all of it must hold in the
 * end. */
typedef struct schedule_run_rank {
    xyl_schedule_t schedule; /* initialised; written by the caller */
    unsigned char *memory;
    uint64_t memory_count;
    uint64_t at[XYL_BUFFER_PRIVATE_COUNT], count[XYL_BUFFER_PRIVATE_COUNT];
    /* The run. */
    unsigned char *base[XYL_BUFFER_PRIVATE_COUNT];
    unsigned char *temp;  /* with guards */
    uint32_t *message_of; /* [actions] */
    uint32_t *waits;      /* [actions] */
    uint32_t left;
    uint32_t in_flight[2]; /* receives, sends */
    xyl_action_t *held[2];
    uint32_t held_first[2], held_end[2];
} schedule_run_rank_t;

typedef struct schedule_run {
    uint32_t ranks;
    size_t element_bytes;
    schedule_run_rank_t *all;
    char mistake[200];    /* the first; empty: none */
    uint32_t early_ranks; /* that were done before the late one began */
    uint64_t messages_done, elements_done; /* sent */
    struct schedule_run_message *messages;
    uint32_t message_count;
    struct schedule_run_step *steps; /* that may happen now */
    uint32_t step_count;
    struct schedule_run_ready *ready;
    uint32_t ready_first, ready_end;
    unsigned char *payload;
    uint64_t random;
    const schedule_run_options_t *options;
} schedule_run_t;

void schedule_run_init(schedule_run_t *run, uint32_t ranks,
                       size_t element_bytes);
void schedule_run_fini(schedule_run_t *run);

/* Gives a rank its memory, which the caller fills before each run. */
void schedule_run_place(schedule_run_t *run, uint32_t rank,
                        uint64_t memory_count);
/* Finds SEND or RECV in that memory. */
void schedule_run_buffer(schedule_run_t *run, uint32_t rank,
                         xyl_buffer_t buffer, uint64_t at, uint64_t count);

/* Looks through the schedules; before any run. 0: `mistake` says what is
 * wrong. */
int schedule_run_check(schedule_run_t *run);
/* Looks for waits that the data do not demand: an action waits, directly or
 * through others that do nothing, for an action with which it shares no byte
 * that either writes. Not for barriers, which only wait. 0: the same. */
int schedule_run_check_waits(schedule_run_t *run);
/* Runs them; any number of times. 0: the same. */
int schedule_run_go(schedule_run_t *run, const schedule_run_options_t *options);
