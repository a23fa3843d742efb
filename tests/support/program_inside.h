/* The inside of program_run, for the files that make it up:
 *
 *   program_orders.c  the order of steps, and the check at the end
 *   program_run.c     the steps that may happen, and their effects
 *   program_watch.c   which seat touches which bytes, and in what order
 */
#pragma once

#include "collectives/board/board.h"
#include "tests/support/program_run.h"

/* A strand of any seat, in the piece. Its clock says up to which post it knows
 * of each other strand; its own entry counts its posts, from 1. */
typedef struct strand {
    uint32_t seat, number;
    uint32_t step, end;
    int has_waited;
    int has_slice;
    uint32_t slice;
    uint64_t added;    /* COMBINE, COLLECT: bits of slices */
    uint32_t *clock;   /* [strands] */
    uint32_t priority; /* if strands are not equal */
} strand_t;

/* Bytes of a region that a strand has touched. */
typedef struct touch {
    uint64_t piece, begin, end;
    uint32_t strand, when; /* by its own clock */
    int writes;
    int is_prompt; /* when the piece begins, at the latest */
} touch_t;

/* A seat's line, its input, the board behind, or a seat's own memory. */
typedef struct region {
    unsigned char *memory, *written; /* of what is shared: in this piece */
    uint64_t bytes;
    touch_t *touches;
    uint32_t count, capacity;
} region_t;

typedef struct post {
    uint32_t value, seat; /* its receiver */
    uint32_t *clock;
} post_t;

/* The counts of one seat, in the piece. */
typedef struct counts {
    post_t *posts;
    uint32_t count, capacity;
    uint32_t strand; /* that posts them */
} counts_t;

/* The parcel in one seat's line. */
typedef struct parcel {
    post_t post; /* no clock: it is not there */
    unsigned char *bytes;
    uint64_t length;
} parcel_t;

/* The state of one seat, in the whole run. */
typedef struct program_run_state {
    uint64_t segments;
    int takes_segments;
    unsigned char *has_come, *is_told; /* [segments] */
} program_run_state_t;

typedef struct choice {
    uint32_t choice, of;
} choice_t;

typedef struct program_run_piece {
    uint64_t number;
    int is_first; /* of a program that is cut late: the one before the others */
    strand_t *strand;
    uint32_t strands;
    uint32_t *clocks;
    region_t *regions; /* see program_region */
    counts_t *counts;  /* [seats] */
    parcel_t *parcels; /* [seats], and of each seat to others [seats][seats] */
    post_t words[XYL_BOARD_WORDS];
    post_t sums[XYL_BOARD_WORDS];          /* `value` seats have added */
    unsigned char *parts[XYL_BOARD_WORDS]; /* what they have, for PAIR */
    uint64_t claimed;                      /* bits of slices */
    /* May happen now: strands, and behind them seats' segments. */
    uint32_t *may;
    uint32_t may_count;
    int by_priority;
    /* Every order. */
    choice_t *choices;
    uint32_t depth, choice_count, choice_capacity;
    uint64_t *seen; /* hashes of states, 0: none */
    uint32_t seen_count, seen_capacity;
} program_run_piece_t;

void *program_array(uint64_t count, size_t bytes);
/* The array, moved if `count` fills it. */
void *program_grow(void *array, uint32_t count, uint32_t *capacity,
                   size_t bytes);
/* Keeps the first; 0. */
int program_mistake(program_run_t *run, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

enum { PROGRAM_LINE, PROGRAM_INPUT, PROGRAM_OWN, PROGRAM_BOARD };
region_t *program_region(const program_run_t *run, int kind, uint32_t seat);

/* The first step that publishes input that others read in this seat's memory;
 * NULL: the seat has none, or its input is copied. */
const xyl_step_t *program_shared(const program_run_t *run, uint32_t seat);

/* The bytes of a spot, which the strand reads or writes now; NULL: it must
 * not. */
unsigned char *program_touch(program_run_t *run, const strand_t *strand,
                             xyl_position_t spot, uint64_t bytes, int writes);

/* The strand posts as its step says, a claim its slice's word. */
int program_post_count(program_run_t *run, strand_t *strand, uint32_t value,
                       uint32_t seat);
int program_post_word(program_run_t *run, strand_t *strand, uint32_t word,
                      uint32_t seat);
/* 1: the receiver waits for HAND's post, not for a count of the sender. */
static inline int program_has_own_post(xyl_form_t form)
{
    return xyl_form_is_by_line(form) || form == XYL_FORM_TOLD_PEER;
}
/* OFFER, HAND and TAKE. */
int program_offer(program_run_t *run, strand_t *strand, const xyl_step_t *step);
int program_hand(program_run_t *run, strand_t *strand, const xyl_step_t *step);
int program_take(program_run_t *run, strand_t *strand, const xyl_step_t *step);
/* The post by which a seat's count reached the value; NULL: it has not. */
const post_t *program_count(const program_run_t *run, uint32_t seat,
                            uint32_t value);
/* The strand has seen the post. */
int program_see(program_run_t *run, strand_t *strand, const post_t *post);

/* 1: the step is only for a seat that shares its input, and left out here. */
int program_is_left_out(const program_run_t *run, const strand_t *strand,
                        const xyl_step_t *step);
/* The seat's other strands are at their end; and the strand has seen it. */
int program_others_end(const program_run_t *run, const strand_t *strand);
void program_see_others(const program_run_t *run, strand_t *strand);

uint64_t program_step_bytes(const program_run_t *run, const strand_t *strand,
                            const xyl_step_t *step);
int program_has_segment(const program_run_t *run, uint32_t seat,
                        uint32_t segment);
int program_tell(program_run_t *run, const strand_t *strand, uint32_t segment);
/* REDUCE of some of the step's bytes. */
int program_reduce(program_run_t *run, strand_t *strand, const xyl_step_t *step,
                   uint64_t at, uint64_t bytes);
int program_join(program_run_t *run, strand_t *strand, const xyl_step_t *step,
                 uint64_t bytes);
static inline int program_sums_up(const xyl_step_t *step)
{
    return step->kind == XYL_STEP_COMBINE || step->kind == XYL_STEP_COLLECT ||
           step->kind == XYL_STEP_PAIR;
}

/* COMBINE, COLLECT and PAIR, of one slice; 1: it was the last. */
int program_sum_may(const program_run_t *run, const strand_t *strand,
                    const xyl_step_t *step);
int program_sum_do(program_run_t *run, strand_t *strand,
                   const xyl_step_t *step);
/* At the end of a piece. */
void program_sums_free(program_run_t *run);

/* Finds mistakes of the programs before they run. */
int program_check(program_run_t *run);
void program_begin(program_run_t *run);
void program_end(program_run_t *run);
/* PROGRAM_FIRST: the one before those that are cut. */
#define PROGRAM_FIRST UINT64_MAX
void program_piece_begin(program_run_t *run, uint64_t number);
/* All seats have ended the first piece. */
void program_first_end(program_run_t *run);
/* Finds the steps that may happen now; 0: there is none, or a mistake. */
int program_may_go_on(program_run_t *run);
/* Draws one of these steps, and does it. */
uint32_t program_draw(program_run_t *run);
void program_do(program_run_t *run, uint32_t which);
/* Checks that all have read the input that the seat shares, and it knows. */
int program_check_shared(program_run_t *run, uint32_t seat);
/* Checks that all seats have come to their ends. */
int program_check_ends(program_run_t *run);
