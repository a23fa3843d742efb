/* The order of steps. To go through every order, a run of the piece repeats the
 * choices of the run before, except the last one that has an alternative, and
 * ends at a state that was seen before. The checks do not depend on the way to
 * a state. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/program_inside.h"

enum { STATES = 1 << 16 /* a power of two; half of them are used */ };

/* ---- one order ---- */

static int piece_once(program_run_t *run, uint64_t number)
{
    program_piece_begin(run, number);
    while (program_may_go_on(run))
        program_do(run, program_draw(run));
    run->orders++;
    return run->mistake[0] == '\0' && program_check_ends(run);
}

/* ---- states ---- */

static uint64_t mix_bytes(uint64_t hash, const unsigned char *bytes,
                          uint64_t count)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return random_mix(hash);
}

static uint64_t state_of(const program_run_t *run)
{
    const program_run_piece_t *piece = run->piece;
    uint64_t hash = random_mix(piece->claimed);
    uint32_t i;

    for (i = 0; i < piece->strands; i++) {
        const strand_t *strand = &piece->strand[i];
        hash = random_mix(hash ^ strand->step);
        hash = random_mix(hash ^ (uint64_t)strand->has_slice << 32 ^
                          strand->slice);
        hash = random_mix(hash ^ strand->added);
    }
    for (i = 0; i < 3 * run->seats + 1; i++)
        hash =
            mix_bytes(hash, piece->regions[i].memory, piece->regions[i].bytes);
    for (i = 0; i < run->seats; i++)
        hash = mix_bytes(hash, run->all[i].state->has_come,
                         run->all[i].state->segments);
    return hash == 0 ? 1 : hash;
}

/* 1: the state was seen before. If there is no room, all states are new. */
static int is_known(program_run_piece_t *piece, uint64_t state)
{
    uint32_t at = (uint32_t)state % STATES;

    if (piece->seen == NULL)
        piece->seen = program_array(STATES, sizeof *piece->seen);
    for (; piece->seen[at] != 0; at = (at + 1) % STATES)
        if (piece->seen[at] == state)
            return 1;
    if (piece->seen_count < STATES / 2) {
        piece->seen[at] = state;
        piece->seen_count++;
    }
    return 0;
}

/* ---- every order ---- */

/* The next choice of `of`; `of`: this state is known. */
static uint32_t choose(program_run_t *run, uint32_t of)
{
    program_run_piece_t *piece = run->piece;

    if (of == 1)
        return 0;
    if (piece->depth < piece->choice_count)
        return piece->choices[piece->depth++].choice;
    if (is_known(piece, state_of(run)))
        return of;
    piece->choices =
        program_grow(piece->choices, piece->choice_count,
                     &piece->choice_capacity, sizeof *piece->choices);
    piece->choices[piece->choice_count++] = (choice_t){0, of};
    piece->depth++;
    return 0;
}

/* 0: there are none that were not tried. */
static int next_choices(program_run_piece_t *piece)
{
    choice_t *last;

    while (piece->choice_count != 0) {
        last = &piece->choices[piece->choice_count - 1];
        if (++last->choice < last->of)
            return 1;
        piece->choice_count--;
    }
    return 0;
}

/* The state that a piece changes for good. */
typedef struct before {
    unsigned char *memory, *has_come, *is_told;
    uint32_t touches;
} before_t;

static unsigned char *copy_of(const unsigned char *bytes, uint64_t count)
{
    unsigned char *copy = program_array(count, 1);

    memcpy(copy, bytes, count);
    return copy;
}

static before_t *before_take(const program_run_t *run)
{
    before_t *all = program_array(run->seats, sizeof *all);
    uint32_t i;

    for (i = 0; i < run->seats; i++) {
        const region_t *own = program_region(run, PROGRAM_OWN, i);
        const program_run_state_t *state = run->all[i].state;
        all[i] =
            (before_t){copy_of(own->memory, own->bytes),
                       copy_of(state->has_come, state->segments),
                       copy_of(state->is_told, state->segments), own->count};
    }
    return all;
}

static void before_put(program_run_t *run, const before_t *all)
{
    uint32_t i;

    for (i = 0; i < run->seats; i++) {
        region_t *own = program_region(run, PROGRAM_OWN, i);
        program_run_state_t *state = run->all[i].state;
        memcpy(own->memory, all[i].memory, own->bytes);
        memcpy(state->has_come, all[i].has_come, state->segments);
        memcpy(state->is_told, all[i].is_told, state->segments);
        own->count = all[i].touches;
    }
}

static void before_free(const program_run_t *run, before_t *all)
{
    uint32_t i;

    for (i = 0; i < run->seats; i++) {
        free(all[i].memory);
        free(all[i].has_come);
        free(all[i].is_told);
    }
    free(all);
}

/* 1: to the end; 0: it came to a state that is known. */
static int piece_chosen(program_run_t *run, uint64_t number)
{
    uint32_t which, of;

    program_piece_begin(run, number);
    run->piece->depth = 0;
    while (program_may_go_on(run)) {
        of = run->piece->may_count;
        which = choose(run, of);
        if (which == of)
            return 0;
        program_do(run, which);
    }
    return 1;
}

static int piece_every_order(program_run_t *run, uint64_t number)
{
    program_run_piece_t *piece = run->piece;
    before_t *before = before_take(run);
    uint64_t orders = 0;
    int is_good = 1, has_ended = 0;

    piece->choice_count = 0;
    if (piece->seen != NULL)
        memset(piece->seen, 0, STATES * sizeof *piece->seen);
    piece->seen_count = 0;
    do {
        before_put(run, before);
        has_ended = piece_chosen(run, number);
        if (has_ended)
            is_good = run->mistake[0] == '\0' && program_check_ends(run);
    } while (is_good && ++orders < run->options->orders_max &&
             next_choices(piece));
    /* The next piece needs the state that this one leaves. */
    if (is_good && !has_ended) {
        before_put(run, before);
        is_good = piece_once(run, number);
    }
    before_free(run, before);
    run->orders += orders;
    return is_good;
}

/* ---- the whole ---- */

static int check_results(program_run_t *run)
{
    uint32_t seat;
    uint64_t i;

    for (seat = 0; seat < run->seats; seat++) {
        const program_run_seat_t *own = &run->all[seat];
        const unsigned char *memory =
            program_region(run, PROGRAM_OWN, seat)->memory;
        for (i = 0; i < own->memory_bytes; i++)
            if (memory[i] != own->expected[i])
                return program_mistake(
                    run, "seat %u: byte %" PRIu64 " of its memory is wrong",
                    seat, i);
    }
    return 1;
}

static int check_told(program_run_t *run)
{
    uint32_t seat, i;

    for (seat = 0; seat < run->seats; seat++) {
        const program_run_seat_t *own = &run->all[seat];
        for (i = 0; own->has_output && i < own->state->segments; i++)
            if (!own->state->is_told[i])
                return program_mistake(run, "seat %u is silent of segment %u",
                                       seat, i);
    }
    return 1;
}

int program_run_go(program_run_t *run, const program_run_options_t *options)
{
    uint64_t i;
    int is_good = 1;

    run->options = options;
    run->random = random_mix(options->seed);
    run->orders = 0;
    run->mistake[0] = '\0';
    if (!program_check(run))
        return 0;
    program_begin(run);
    if (run->all[0].program.is_cut_late) {
        is_good = options->orders_max == 0
                      ? piece_once(run, PROGRAM_FIRST)
                      : piece_every_order(run, PROGRAM_FIRST);
        program_first_end(run);
    }
    for (i = 0; i < run->all[0].program.pieces && is_good; i++)
        is_good = options->orders_max == 0 ? piece_once(run, i)
                                           : piece_every_order(run, i);
    is_good = is_good && check_results(run) && check_told(run);
    program_end(run);
    return is_good;
}
