/* The node programs of all seats for one problem, run in plain memory without
 * board, stage and engine, in a random order of everything that may happen, or
 * in every order.
 *
 * Pieces run one after the other, although a stage has several under way; so
 * the bytes that they touch are compared. While they run, the tests check that
 * no seat relies on luck:
 *
 *   - a step reads in shared memory only bytes that were written in this piece,
 *     and writes only its seat's input and line, or bytes behind all inputs;
 *   - two steps that touch the same bytes, one writing, have an order: one
 *     follows from the other by strands, posts and waits. This holds for the
 *     user's memory too, if strands and pieces of a seat share it;
 *   - counts grow, posted by one strand of each seat, words are posted once,
 *     and each is for the seat that waits for it;
 *   - input that others read in a seat's memory is not written meanwhile, and
 *     the seat ends only when it knows that all have read;
 *   - segments are taken when they have come, and emitted once, when their
 *     output is right;
 *   - all seats get to the end, with the right result.
 *
 * One thread. */
#pragma once

#include "collectives/node/program.h"

/* to = left op right */
typedef void (*program_run_combine_fn)(void *to, const void *left,
                                       const void *right, uint64_t bytes);

typedef struct program_run_options {
    uint64_t seed;
    program_run_combine_fn combine; /* NULL: there are no reductions */
    uint64_t window_bytes;          /* no piece has more */
    int is_barrier;      /* no seat leaves before it has heard of all */
    uint64_t orders_max; /* of a piece's steps that are tried; 0: one, drawn by
                            `seed`. run->orders says how many there were */
} program_run_options_t;

/* SEND and RECV lie in the user's memory at at[space], TEMP behind it. */
typedef struct program_run_seat {
    xyl_node_program_t program;        /* initialised; written by the caller */
    unsigned char *initial, *expected; /* [memory_bytes], the caller's */
    uint64_t memory_bytes;
    uint64_t at[2];
    /* If segments come and go singly: of the whole message. */
    int has_input, has_output; /* the former in `input`, the latter in RECV */
    xyl_buffer_t input;
    uint64_t total;
    int is_seen; /* others see its memory, and read what it publishes there */
    struct program_run_state *state;
} program_run_seat_t;

typedef struct program_run {
    uint32_t seats;
    program_run_seat_t *all;
    char mistake[240]; /* the first; empty: none */
    uint64_t orders;
    struct program_run_piece *piece;
    const program_run_options_t *options;
    uint64_t random;
} program_run_t;

void program_run_init(program_run_t *run, uint32_t seats);
void program_run_fini(program_run_t *run);
/* Runs the programs; any number of times. 0: `mistake` says what is wrong. */
int program_run_go(program_run_t *run, const program_run_options_t *options);
