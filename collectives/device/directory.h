/* The directory: words by which a node's ranks gather contributions in the GPU
 * of one rank, the leader, and get the result from there. Two mechanisms copy
 * at once: between memories of GPUs (IPC), and through memory of the processor
 * (host-staged, HS). After Faraji, "Improving Communication Performance in
 * GPU-Accelerated HPC Clusters", 2018, sections 5.3.1 (Static) and 5.3.2
 * (Dynamic), whose names are kept.
 *
 *   gather      IPC: a rank copies its contribution into the leader's GPU
 *               shared buffer. HS: a rank copies it, chunk by chunk, into its
 *               ring of the CPU shared buffer; the leader drains the ring
 *   kernel      the leader combines all, and sets the Completion Flag
 *   broadcast   IPC: a rank copies the result from the GPU shared buffer. HS:
 *               it copies from a ring that the leader fills for all ranks
 *
 * Each rank has a Copy Status Flag, with eight states in either step:
 *
 *   INIT --> RTS --> IPC_ASGN --> IPC_INIT --> IPC_CMP
 *               \--> HS_ASGN ---> HS_INIT ---> HS_CMP
 *
 * Static: all ranks know the mechanism of each rank. Dynamic: a rank says that
 * it is Ready To Send, and the leader assigns a mechanism to it. When a copy
 * ends, the leader allows its mechanism one further copy, or, if the mechanism
 * has ended more copies than the other, two to the power of the difference. If
 * one contribution is missing, and only the other mechanism has ended copies so
 * far, the leader assigns the other one (Final Copy Completion). Host-staged
 * chunks that have not begun are then left out. A copy between GPUs cannot be
 * recalled: both copies write the same bytes, and the first to end sets the
 * flag, by one swap.
 *
 * This module knows only words in memory that the ranks of a node share. The
 * caller begins the copies and reports their ends, in any order. The result
 * goes round in its ring: a rank that joins late takes the next chunk first,
 * and the earlier chunks in the next round.
 *
 * The directory runs one collective at a time: the next one begins when the
 * leader of the last has set `over`. The progressing thread. */
#pragma once

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

/* Copies and kernels that a rank begins and whose ends it hears of later. */
typedef enum xyl_copy_kind {
    XYL_COPY_OWN_IN,  /* the leader's contribution to its place */
    XYL_COPY_KERNEL,  /* the leader combines all contributions */
    XYL_COPY_OWN_OUT, /* the result to the leader's buffer */
    XYL_COPY_IPC_IN,  /* a rank's contribution to its place at the leader */
    XYL_COPY_IPC_OUT, /* the result from the leader to a rank's buffer */
    XYL_COPY_FILL,    /* a chunk of the contribution into the rank's ring */
    XYL_COPY_TAKE,    /* a chunk of the result out of its ring, by a rank */
    XYL_COPY_PUBLISH, /* a chunk of the result into its ring, by the leader */
    XYL_COPY_DRAIN,   /* a chunk of a rank's ring to its place, by the leader */
    XYL_COPY_KINDS
} xyl_copy_kind_t;

typedef struct xyl_copy {
    xyl_copy_kind_t kind;
    uint32_t rank, slot; /* of a chunk: whose ring, and which place there */
    uint64_t at, bytes;  /* which part of the contribution, or of the result */
    char *staged;        /* the chunk's place in a ring */
} xyl_copy_t;

/* Words in shared memory for one rank: the rank and the leader write the first,
 * the rank the next three, and the leader the others. */
typedef struct xyl_directory_line {
    _Alignas(128) _Atomic uint64_t status; /* the Copy Status Flag */
    _Alignas(128) _Atomic uint64_t filled; /* chunks put into the rank's ring */
    _Atomic uint64_t taken; /* where the rank is in the result's ring */
    _Atomic uint64_t bell;  /* wakes the leader */
    _Alignas(128) _Atomic uint64_t drained; /* chunks of the rank's ring */
    _Atomic uint64_t joins; /* the rank's first chunk in the result's ring */
    _Atomic uint64_t rung;  /* wakes the rank */
} xyl_directory_line_t;

/* Words for all ranks; the leader writes them. */
typedef struct xyl_directory_head {
    _Alignas(128) _Atomic uint64_t completion; /* number of the collective */
    _Atomic uint64_t published; /* chunks put into the result's ring */
    _Atomic uint64_t over;      /* number of the last collective that is over */
} xyl_directory_head_t;

typedef struct xyl_directory {
    xyl_shm_t *shm;
    xyl_directory_head_t *head;
    xyl_directory_line_t *line; /* [ranks] */
    char *rings;                /* [ranks + 1]; the last is the result's */
    const uint32_t *world;      /* [ranks] their ranks in the job; borrowed */
    uint32_t ranks;
    uint64_t chunk; /* bytes */
} xyl_directory_t;

size_t xyl_directory_bytes(uint32_t ranks, uint64_t chunk);
/* `memory` was all zero before its first use. */
void xyl_directory_init(xyl_directory_t *directory, xyl_shm_t *shm,
                        void *memory, const uint32_t *world, uint32_t ranks,
                        uint64_t chunk);

/* The arguments of a collective; equal on all ranks, but for `rank`. */
typedef struct xyl_directory_call {
    uint64_t number; /* of the collective in this directory, from 1 on */
    uint32_t rank, leader;
    uint64_t given, gotten; /* bytes of a contribution, of the result; 0: that
                               step is left out */
    int keeps_own;          /* the leader copies its contribution in, too */
    int combines;           /* a kernel combines the contributions */
    int takes_own;          /* the leader copies the result out, too */
    int is_dynamic;
    uint32_t staged; /* in Static: how many ranks go host-staged */
    /* Begins a copy. 1: it has ended; 0: the caller reports its end later. */
    int (*begin)(void *arg, const xyl_copy_t *copy);
    void *arg;
} xyl_directory_call_t;

/* One rank's side of a ring: chunks that it puts in, or takes out. Its copies
 * may end in any order. */
typedef struct xyl_directory_flow {
    uint64_t begun, ended; /* chunks; all before `ended` have ended */
    uint32_t late; /* bits of slots: chunks behind `ended` that have ended */
} xyl_directory_flow_t;

/* The leader's record of a rank. */
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
    int may_begin; /* this xyl_directory_go has begun no chunk yet */
    /* This rank's copy between GPUs in each step; it may end in a later one. */
    uint8_t has_begun_ipc[XYL_COPY_LEFT], has_ended_ipc[XYL_COPY_LEFT];
    uint64_t joins;
    xyl_directory_flow_t fill, take;
    /* The leader's: */
    xyl_directory_member_t member[XYL_DIRECTORY_RANKS_MAX];
    uint32_t incomplete; /* ranks that are not done with the step */
    uint32_t completed[XYL_COPY_MECHANISMS];   /* copies that have ended */
    uint32_t allowed[XYL_COPY_MECHANISMS];     /* copies to be assigned */
    uint32_t waiting[XYL_DIRECTORY_RANKS_MAX]; /* ranks Ready To Send */
    uint32_t waiting_first, waiting_end;
    int is_reassigned;
    int owes_own, owes_kernel; /* its own copy, its kernel have not ended */
    int has_begun_kernel;
    xyl_directory_flow_t publish;
    uint64_t publish_end;
} xyl_directory_run_t;

/* 1: the collective before `number` is over on all ranks. */
int xyl_directory_is_free(const xyl_directory_t *directory, uint64_t number);
void xyl_directory_begin(xyl_directory_run_t *run, xyl_directory_t *directory,
                         const xyl_directory_call_t *call);
/* Does what can be done now; returns how much that was. Sets run->is_over when
 * this rank has no further part. Begins at most one chunk: chunks that begin
 * together are seen to end together, and would make no pipeline. */
unsigned xyl_directory_go(xyl_directory_run_t *run);
/* The caller reports the end of a copy that the run has begun. */
void xyl_directory_ended(xyl_directory_run_t *run, xyl_copy_kind_t kind,
                         uint32_t rank, uint32_t slot);

/* In words, for a report of a call that hangs: what this rank waits for. */
void xyl_directory_describe(const xyl_directory_run_t *run, char *text,
                            size_t bytes);
