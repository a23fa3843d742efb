/* The steps COMBINE, PAIR and COLLECT in one piece of a node program. COMBINE
 * adds in the order of arrival (combine.h), PAIR in a fixed order (pairs.h).
 * These protocols say where to work; this file moves the bytes. */
#pragma once

#include "collectives/board/board.h"
#include "collectives/node/program.h"
#include "collectives/stages/collective.h"

/* The longest element, in bytes, of contributions that other seats read where
 * they lie, because sums of these lie on the stack. */
enum { XYL_NODE_LIES_ELEMENT_MAX = 2048 };

/* How far a strand is with such a step; cleared to begin with. */
typedef struct xyl_node_combine {
    xyl_combine_t combine; /* COMBINE */
    uint64_t collected;    /* COLLECT: bits of segments */
    uint64_t kept; /* COLLECT: segments whose own part is in the result */
    uint32_t segment, is_busy, is_keeping;
    uint64_t done;    /* bytes of the segment; of all three steps */
    uint64_t pending; /* bytes on which an executor works, of all three steps;
                         the caller adds them to `done` later */
} xyl_node_combine_t;

/* A step and the memory that it works on. */
typedef struct xyl_node_sum {
    const xyl_board_t *board;
    const xyl_step_t *step;
    uint64_t number; /* of the piece */
    char *slot;
    char *cells;     /* the sums, then spares and other cells */
    const char *own; /* contribution to the piece */
    int lies;        /* PAIR: other seats read it where it lies */
    /* PAIR: bytes from `at` on of a seat's contribution that lies so; NULL:
     * this seat cannot see them, and the operation fails. */
    const char *(*input)(void *arg, uint32_t seat, uint64_t at, size_t bytes);
    void *input_arg;
    char *result;   /* of the piece; COLLECT */
    uint64_t bytes; /* of the piece */
    uint64_t full;  /* value of the word of a full segment */
    uint64_t ready; /* bits of segments that are there in `own` */
    const xyl_combiner_t *combiner;
    /* In the reproducible order: `own` has the user's numbers, not sums; and
     * the result has numbers, on all seats or on none. The numbers of a result
     * for all seats begin where the sums of their segment began. */
    int own_has_numbers, gives_numbers;
    size_t element_bytes;
    xyl_exec_t *exec;
    xyl_work_t *work; /* NULL: none is needed */
    uint64_t turn;    /* bytes to work on between looks at the net */
    int keeps; /* COLLECT: `own` is copied to the result while sums are not
                  full, so that the step needs `own` no more */
    int stays; /* PAIR: this seat still helps others, and others may read its
                  input where it lies */
    uint64_t finished; /* output: bits of segments, COLLECT */
    uint64_t worked;   /* output: bytes */
} xyl_node_sum_t;

/* Works on at most one part of one segment per call, so the net has its turn
 * before the seat puts the cell. 1: the step is done. `*did` counts work. */
int xyl_node_combine_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did);
int xyl_node_pairs_run(xyl_node_sum_t *sum, xyl_pairs_t *pairs,
                       xyl_node_combine_t *at, unsigned *did);
/* For PAIR. 1: no seat waits for this one. */
int xyl_node_pairs_has_added(xyl_node_sum_t *sum, const xyl_pairs_t *pairs);
int xyl_node_collect_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did);
/* 1: a COLLECT that is not done needs `own` no more. */
int xyl_node_collect_has_kept(const xyl_node_combine_t *at, uint32_t segments);
