/* The directory of a node's ranks that gather in one rank's GPU, and get the
 * result from there, by two mechanisms at once: copies between GPUs' memories
 * (IPC), and copies through memory of the processor (host-staged, HS). After
 * Faraji, "Improving Communication Performance in GPU-Accelerated HPC
 * Clusters", 2018, sections 5.3.1 (Static) and 5.3.2 (Dynamic), whose names are
 * kept.
 *
 *   gather      every rank but the leader copies its contribution into the
 *               leader's GPU shared buffer; or into its ring in the CPU shared
 *               buffer, chunk by chunk, from which the leader takes it
 *   kernel      the leader combines them all, and sets the Completion Flag
 *   broadcast   the ranks copy the result from the GPU shared buffer; or from a
 *               ring of the CPU shared buffer, into which the leader puts it
 *
 * Each rank has a Copy Status Flag, of eight states in either step:
 *
 *   INIT --> RTS --> IPC_ASGN --> IPC_INIT --> IPC_CMP
 *               \--> HS_ASGN ---> HS_INIT ---> HS_CMP
 *
 * Static: all ranks know the mechanism of each, and no rank asks. Dynamic: a
 * rank is Ready To Send, and the leader assigns it a mechanism. For each copy
 * that a mechanism ends it may have another one if it is the slower one, and
 * two to the power of its lead if it is the faster one. If all contributions
 * but one have come, and the mechanism of that one has ended none yet, the
 * leader assigns the other mechanism to it (Final Copy Completion). Then
 * host-staged chunks that are not under way are left out; a copy between GPUs
 * cannot be recalled, so both go on and write the same bytes, and the first to
 * end says so, by one swap.
 *
 * This code knows words in memory that the ranks of a node share. A function of
 * the caller begins copies, and the caller tells their ends in any order. The
 * ring of the result goes round: a rank that joins late begins at the next
 * chunk, and takes the chunks before in the next round.
 *
 * One collective at a time: the next one begins when the leader of the one
 * before has said that it is over. The progressing thread. */
#ifndef XYL_COLLECTIVES_DEVICE_DIRECTORY_H
#define XYL_COLLECTIVES_DEVICE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "progress/shm/shm.h"

enum {
    XYL_DIRECTORY_SLOTS = 4, /* chunks of a ring */
    XYL_DIRECTORY_RANKS_MAX = 64
};

/* Copy Status Flags. */
typedef enum xyl_copy_state {
    XYL_COPY_INIT,
    XYL_COPY_RTS,
    XYL_COPY_IPC_ASGN,
    XYL_COPY_HS_ASGN,
    XYL_COPY_IPC_INIT,
    XYL_COPY_HS_INIT,
    XYL_COPY_IPC_CMP,
    XYL_COPY_HS_CMP
} xyl_copy_state_t;

typedef enum xyl_copy_mechanism {
    XYL_COPY_IPC,
    XYL_COPY_HS,
    XYL_COPY_MECHANISMS
} xyl_copy_mechanism_t;

typedef enum xyl_copy_step {
    XYL_COPY_GATHER,
    XYL_COPY_BROADCAST,
    XYL_COPY_LEFT /* the rank has nothing under way any more */
} xyl_copy_step_t;

/* Copies, and the kernel, which begin and end later. */
typedef enum xyl_copy_kind {
    XYL_COPY_OWN_IN,  /* the leader's contribution to its place */
    XYL_COPY_KERNEL,  /* the leader's, of all contributions */
    XYL_COPY_OWN_OUT, /* the leader's, of the result */
    XYL_COPY_IPC_IN,  /* a rank's contribution to its place at the leader's */
    XYL_COPY_IPC_OUT, /* the result from there */
    XYL_COPY_FILL,    /* a chunk of the contribution into the rank's ring */
    XYL_COPY_TAKE,    /* a chunk of the result out of the ring */
    XYL_COPY_PUBLISH, /* a chunk of the result into the ring, by the leader */
    XYL_COPY_DRAIN,   /* the leader's: a chunk of a rank's ring to its place */
    XYL_COPY_KINDS
} xyl_copy_kind_t;

typedef struct xyl_copy {
    xyl_copy_kind_t kind;
    uint32_t rank, slot; /* DRAIN: the ring's; within a ring */
    uint64_t at, bytes;  /* of the contribution, or the result */
    char *staged;        /* the chunk's place in a ring */
} xyl_copy_t;

/* A line in shared memory for each rank ... */
typedef struct xyl_directory_line {
    _Alignas(128) _Atomic uint64_t status; /* by a rank and the leader */
    _Alignas(128) _Atomic uint64_t filled; /* by the rank: chunks, as is: */
    _Atomic uint64_t taken;
    _Atomic uint64_t bell;                  /* which wakes the leader */
    _Alignas(128) _Atomic uint64_t drained; /* by the leader: chunks */
    _Atomic uint64_t joins; /* the rank takes the result from there on */
    _Atomic uint64_t rung;  /* which wakes the rank */
} xyl_directory_line_t;

/* ... and one for all, by the leader. */
typedef struct xyl_directory_head {
    _Alignas(128) _Atomic uint64_t completion; /* flag: of which collective */
    _Atomic uint64_t published;                /* chunks */
    _Atomic uint64_t over;                     /* the collective */
} xyl_directory_head_t;

typedef struct xyl_directory {
    xyl_shm_t *shm;
    xyl_directory_head_t *head;
    xyl_directory_line_t *line; /* [ranks] */
    char *rings;                /* [ranks + 1], the result's is the last */
    const uint32_t *world;      /* [ranks] of the job; borrowed */
    uint32_t ranks;
    uint64_t chunk; /* bytes */
} xyl_directory_t;

size_t xyl_directory_bytes(uint32_t ranks, uint64_t chunk);
/* Over memory that begins with nothing but zeros. */
void xyl_directory_init(xyl_directory_t *directory, xyl_shm_t *shm,
                        void *memory, const uint32_t *world, uint32_t ranks,
                        uint64_t chunk);

/* The arguments of a collective; equal on all ranks, but for `rank`. */
typedef struct xyl_directory_call {
    uint64_t number; /* of the directory's collectives, from 1 on */
    uint32_t rank, leader;
    uint64_t given, gotten; /* bytes of a contribution, of the result; 0: there
                               is no such step */
    int keeps_own;          /* the leader's contribution has a place, too */
    int combines;
    int takes_own; /* the leader copies the result out, too */
    int is_dynamic;
    uint32_t staged; /* else: how many ranks go host-staged */
    /* 1: the copy has ended, too; 0: xyl_directory_ended tells its end. */
    int (*begin)(void *arg, const xyl_copy_t *copy);
    void *arg;
} xyl_directory_call_t;

/* A ring as one side sees it, which puts chunks in, or takes them out, by
 * copies that end in any order. */
typedef struct xyl_directory_flow {
    uint64_t begun, ended; /* chunks; all before `ended` have ended */
    uint32_t late;         /* bits of slots beyond `ended` that have ended */
} xyl_directory_flow_t;

/* A rank as the leader knows it. */
typedef struct xyl_directory_member {
    xyl_copy_step_t step;
    xyl_copy_mechanism_t mechanism;
    int is_heard, is_assigned, is_complete; /* in the step */
    uint64_t joins;
    xyl_directory_flow_t drain;
} xyl_directory_member_t;

/* One rank's part in a collective. */
typedef struct xyl_directory_run {
    xyl_directory_call_t call;
    xyl_directory_t *directory;
    xyl_copy_step_t step;
    uint32_t under_way; /* copies */
    int is_over;
    int may_begin; /* a chunk: one in each look */
    /* Whether a rank's copies have begun and ended, by step, as a copy may
     * end in a later step. */
    uint8_t has_begun_ipc[XYL_COPY_LEFT], has_ended_ipc[XYL_COPY_LEFT];
    uint64_t joins;
    xyl_directory_flow_t fill, take;
    /* The leader's: */
    xyl_directory_member_t member[XYL_DIRECTORY_RANKS_MAX];
    uint32_t incomplete;                     /* ranks, in the step */
    uint32_t completed[XYL_COPY_MECHANISMS]; /* copies */
    uint32_t allowed[XYL_COPY_MECHANISMS];   /* that may be assigned */
    uint32_t waiting[XYL_DIRECTORY_RANKS_MAX];
    uint32_t waiting_first, waiting_end;
    int is_reassigned;
    int owes_own, owes_kernel; /* they have not ended */
    int has_begun_kernel;
    xyl_directory_flow_t publish;
    uint64_t publish_end;
} xyl_directory_run_t;

/* 1: the collective before is over, on all ranks. */
int xyl_directory_is_free(const xyl_directory_t *directory, uint64_t number);
void xyl_directory_begin(xyl_directory_run_t *run, xyl_directory_t *directory,
                         const xyl_directory_call_t *call);
/* Does all that can be done now; returns how much that was. run->is_over: this
 * rank has no further part. Begins one chunk at most: copies that begin
 * together are seen to end together, and would not follow one another. */
unsigned xyl_directory_go(xyl_directory_run_t *run);
/* A copy that the run has begun has ended. */
void xyl_directory_ended(xyl_directory_run_t *run, xyl_copy_kind_t kind,
                         uint32_t rank, uint32_t slot);

/* In words, for a report of a call that hangs: what this rank waits for. */
void xyl_directory_describe(const xyl_directory_run_t *run, char *text,
                            size_t bytes);

/* The mechanism of a rank in Static. */
xyl_copy_mechanism_t xyl_directory_static(const xyl_directory_t *directory,
                                          const xyl_directory_call_t *call,
                                          uint32_t rank);

#endif
