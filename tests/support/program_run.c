/* The run itself; which order things take is program_orders.c's. */
#include "tests/support/program_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/board/parcel.h"
#include "simulator/random.h"
#include "tests/support/program_inside.h"

enum { GARBAGE = 0xb5 };

void program_run_init(program_run_t *run, uint32_t seats)
{
    uint32_t seat;

    *run = (program_run_t){.seats = seats};
    run->all = program_array(seats, sizeof *run->all);
    for (seat = 0; seat < seats; seat++)
        xyl_node_program_init(&run->all[seat].program);
}

void program_run_fini(program_run_t *run)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++)
        xyl_node_program_fini(&run->all[seat].program);
    free(run->all);
}

/* ---- what can be said without running ---- */

/* Checks that the place of the form has room for the block. */
static int check_form(program_run_t *run, uint32_t seat, const xyl_step_t *step)
{
    uint64_t room = UINT64_MAX, cell = run->all[seat].program.cell;

    if (step->kind != XYL_STEP_HAND && step->kind != XYL_STEP_TAKE)
        return 1;
    if (step->transfer.form == XYL_FORM_INLINE)
        room = XYL_PARCEL_SHORT;
    else if (step->transfer.form == XYL_FORM_CELL)
        room = cell;
    else if (step->transfer.form == XYL_FORM_BETWEEN_CELL)
        room = cell - sizeof(xyl_parcel_head_t);
    return step->cut.total <= room ||
           program_mistake(run, "seat %u: no room for a block", seat);
}

static int check_step(program_run_t *run, uint32_t seat, const xyl_step_t *step)
{
    uint64_t element = run->all[seat].program.element_bytes;
    int reduces = step->kind == XYL_STEP_REDUCE || step->kind == XYL_STEP_CLAIM;

    if (reduces && (step->from.buffer == XYL_BUFFER_SEND ||
                    step->from.buffer == XYL_BUFFER_RECV))
        return program_mistake(run, "seat %u combines its own memory", seat);
    if ((reduces || step->kind == XYL_STEP_JOIN) &&
        (step->cut.bytes % element != 0 || step->cut.total % element != 0 ||
         step->sum.slice_bytes % element != 0))
        return program_mistake(run, "seat %u combines half an element", seat);
    if ((step->kind == XYL_STEP_CLAIM || program_sums_up(step)) &&
        step->cut.bytes > XYL_BOARD_WORDS * step->sum.slice_bytes)
        return program_mistake(run, "seat %u: too many slices", seat);
    if ((step->kind == XYL_STEP_COMBINE || step->kind == XYL_STEP_PAIR) &&
        (step->to.at != 0 ||
         xyl_board_whole_lines(step->cut.bytes) +
                 step->sum.spares *
                     xyl_board_whole_lines(step->sum.slice_bytes) >
             run->all[seat].program.board_bytes))
        return program_mistake(run, "seat %u: no room for spare sums", seat);
    return check_form(run, seat, step);
}

/* All must take the same pieces of the board. */
static int check_alike(program_run_t *run, uint32_t seat)
{
    const xyl_node_program_t *first = &run->all[0].program,
                             *own = &run->all[seat].program;
    uint64_t window = run->seats * own->input_bytes + own->board_bytes;
    uint64_t cells = run->seats * own->cells;

    if (own->pieces != first->pieces ||
        own->piece_bytes != first->piece_bytes ||
        own->input_bytes != first->input_bytes ||
        own->board_bytes != first->board_bytes || own->cells != first->cells ||
        own->cell != first->cell || own->segments != first->segments ||
        own->segment_bytes != first->segment_bytes)
        return program_mistake(run, "seat %u takes other pieces than seat 0",
                               seat);
    if (cells > window)
        window = cells;
    if (window > run->options->window_bytes)
        return program_mistake(run, "a window of %" PRIu64 " bytes", window);
    return 1;
}

int program_check(program_run_t *run)
{
    uint32_t seat, step;

    for (seat = 0; seat < run->seats; seat++) {
        const xyl_node_program_t *program = &run->all[seat].program;
        if (program->status != XYLEM_OK || !check_alike(run, seat))
            return program_mistake(run, "seat %u has no program", seat);
        for (step = 0; step < program->count; step++)
            if (!check_step(run, seat, &program->steps[step]))
                return 0;
    }
    return 1;
}

/* ---- memory of a run ---- */

static void region_init(region_t *region, uint64_t bytes, int is_shared)
{
    region->bytes = bytes;
    region->memory = program_array(bytes, 1);
    if (is_shared)
        region->written = program_array(bytes, 1);
}

static void region_fini(region_t *region)
{
    free(region->memory);
    free(region->written);
    free(region->touches);
}

/* Spoils input that has not come yet, so that it cannot be right. */
static void state_init(program_run_seat_t *seat, unsigned char *memory)
{
    program_run_state_t *state = program_array(1, sizeof *state);
    const xyl_node_program_t *program = &seat->program;

    seat->state = state;
    if (program->segments != 0)
        state->segments =
            (seat->total + program->segment_bytes - 1) / program->segment_bytes;
    state->has_come = program_array(state->segments, 1);
    state->is_told = program_array(state->segments, 1);
    state->takes_segments = program->segments != 0 && seat->has_input;
    if (seat->memory_bytes != 0)
        memcpy(memory, seat->initial, seat->memory_bytes);
    if (state->takes_segments)
        memset(memory + seat->at[seat->input], GARBAGE, seat->total);
}

static void state_fini(program_run_seat_t *seat)
{
    free(seat->state->has_come);
    free(seat->state->is_told);
    free(seat->state);
}

void program_begin(program_run_t *run)
{
    program_run_piece_t *piece = program_array(1, sizeof *piece);
    const xyl_node_program_t *program = &run->all[0].program;
    uint32_t seat;

    run->piece = piece;
    piece->regions =
        program_array(3 * (uint64_t)run->seats + 1, sizeof *piece->regions);
    piece->counts = program_array(run->seats, sizeof *piece->counts);
    piece->parcels = program_array((uint64_t)run->seats * (run->seats + 1),
                                   sizeof *piece->parcels);
    region_init(program_region(run, PROGRAM_BOARD, 0), program->board_bytes, 1);
    for (seat = 0; seat < run->seats; seat++) {
        region_t *own = program_region(run, PROGRAM_OWN, seat);
        region_init(program_region(run, PROGRAM_LINE, seat),
                    XYL_BOARD_INLINE_BYTES, 1);
        region_init(program_region(run, PROGRAM_INPUT, seat),
                    program->cells > program->input_bytes
                        ? program->cells
                        : program->input_bytes,
                    1);
        region_init(
            own,
            run->all[seat].memory_bytes + run->all[seat].program.temp_bytes, 0);
        state_init(&run->all[seat], own->memory);
        piece->strands += run->all[seat].program.strands;
    }
    piece->strand = program_array(piece->strands, sizeof *piece->strand);
    piece->clocks = program_array((uint64_t)piece->strands * piece->strands,
                                  sizeof *piece->clocks);
    piece->may = program_array((uint64_t)piece->strands + run->seats,
                               sizeof *piece->may);
}

static void posts_free(program_run_t *run)
{
    program_run_piece_t *piece = run->piece;
    uint32_t seat, i;

    for (seat = 0; seat < run->seats; seat++) {
        for (i = 0; i < piece->counts[seat].count; i++)
            free(piece->counts[seat].posts[i].clock);
        piece->counts[seat].count = 0;
    }
    for (i = 0; i < run->seats * (run->seats + 1); i++) {
        free(piece->parcels[i].post.clock);
        free(piece->parcels[i].bytes);
        piece->parcels[i] = (parcel_t){.length = 0};
    }
    for (i = 0; i < XYL_BOARD_WORDS; i++) {
        free(piece->words[i].clock);
        piece->words[i].clock = NULL;
    }
    program_sums_free(run);
}

void program_end(program_run_t *run)
{
    program_run_piece_t *piece = run->piece;
    uint32_t i;

    posts_free(run);
    for (i = 0; i < 3 * run->seats + 1; i++)
        region_fini(&piece->regions[i]);
    for (i = 0; i < run->seats; i++) {
        free(piece->counts[i].posts);
        state_fini(&run->all[i]);
    }
    free(piece->regions);
    free(piece->counts);
    free(piece->parcels);
    free(piece->strand);
    free(piece->clocks);
    free(piece->may);
    free(piece->choices);
    free(piece->seen);
    free(piece);
    run->piece = NULL;
}

/* ---- a piece begins ---- */

static void strands_begin(program_run_t *run, uint32_t seat, uint32_t *next)
{
    const xyl_node_program_t *program = &run->all[seat].program;
    program_run_piece_t *piece = run->piece;
    uint32_t i = 0, end = program->strands, first = 0, number;

    if (piece->is_first) {
        end = program->first_strands;
    } else {
        i = program->first_strands;
        first = program->first_steps;
    }
    for (; i < end; i++) {
        number = (*next)++;
        piece->strand[number] =
            (strand_t){.seat = seat,
                       .number = number,
                       .step = first,
                       .end = program->strand_ends[i],
                       .clock = &piece->clocks[(size_t)number * piece->strands],
                       .priority = (uint32_t)random_next(&run->random)};
        piece->strand[number].clock[number] = 1;
        first = program->strand_ends[i];
    }
}

void program_piece_begin(program_run_t *run, uint64_t number)
{
    program_run_piece_t *piece = run->piece;
    uint32_t i, next = 0;

    piece->is_first = number == PROGRAM_FIRST;
    piece->number = piece->is_first ? 0 : number;
    piece->strands = 0;
    for (i = 0; i < run->seats; i++)
        piece->strands += piece->is_first
                              ? run->all[i].program.first_strands
                              : run->all[i].program.strands -
                                    run->all[i].program.first_strands;
    piece->claimed = 0;
    piece->by_priority =
        run->options->orders_max == 0 && random_below(&run->random, 2) == 0;
    posts_free(run);
    memset(piece->clocks, 0,
           (size_t)piece->strands * piece->strands * sizeof *piece->clocks);
    for (i = 0; i < 3 * run->seats + 1; i++) {
        region_t *region = &piece->regions[i];
        if (region->written == NULL)
            continue;
        memset(region->memory, GARBAGE, region->bytes);
        memset(region->written, 0, region->bytes);
        region->count = 0;
    }
    for (i = 0; i < run->seats; i++)
        strands_begin(run, i, &next);
}

void program_first_end(program_run_t *run)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++)
        program_region(run, PROGRAM_OWN, seat)->count = 0;
}

/* ---- waiting ---- */

static const xyl_step_t *step_of(const program_run_t *run,
                                 const strand_t *strand)
{
    return &run->all[strand->seat].program.steps[strand->step];
}

/* `but`: the seat whose count does not matter. */
static int all_have(const program_run_t *run, uint32_t value, uint32_t but)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++)
        if (seat != but && program_count(run, seat, value) == NULL)
            return 0;
    return 1;
}

static uint64_t segment_index(const program_run_t *run, uint32_t seat,
                              uint32_t segment)
{
    return run->piece->number * run->all[seat].program.segments + segment;
}

/* A seat need not wait for itself. */
static int others_have(const program_run_t *run, uint32_t own, uint32_t value)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++)
        if (seat != own && program_count(run, seat, value) == NULL)
            return 0;
    return 1;
}

int program_has_segment(const program_run_t *run, uint32_t seat,
                        uint32_t segment)
{
    uint64_t index = segment_index(run, seat, segment);
    const program_run_state_t *state = run->all[seat].state;

    return index >= state->segments || state->has_come[index];
}

/* A slice that all have published and no seat has taken, the seat's own share
 * first; the number of slices: there is none. */
static uint32_t slice_to_claim(const program_run_t *run, const strand_t *strand,
                               const xyl_step_t *step)
{
    uint32_t first =
        (uint32_t)((uint64_t)strand->seat * step->sum.slices / run->seats);
    uint32_t i, slice;

    for (i = 0; i < step->sum.slices; i++) {
        slice = (first + i) % step->sum.slices;
        if ((run->piece->claimed >> slice & 1) == 0 &&
            all_have(run, slice + 1, run->seats))
            return slice;
    }
    return step->sum.slices;
}

static int may_go(const program_run_t *run, const strand_t *strand)
{
    const xyl_step_t *step;

    if (strand->step == strand->end)
        return 0;
    step = step_of(run, strand);
    if (program_is_left_out(run, strand, step))
        return 1;
    if (step->kind == XYL_STEP_CLAIM)
        return strand->has_slice ||
               slice_to_claim(run, strand, step) < step->sum.slices ||
               all_have(run, step->sum.slices, run->seats);
    if (program_sums_up(step))
        return program_sum_may(run, strand, step);
    if (step->kind == XYL_STEP_HAND)
        return !xyl_form_has_offer(step->transfer.form) ||
               program_count(run, strand->seat, 1) != NULL;
    if (step->kind == XYL_STEP_TAKE)
        return step->from.seat < run->seats &&
               (program_has_own_post(step->transfer.form)
                    ? run->piece->parcels[step->from.seat].post.clock != NULL
                    : program_count(run, step->from.seat, 1) != NULL);
    if (step->kind == XYL_STEP_HEAR)
        return others_have(run, strand->seat, 1);
    switch (step->wait.kind) {
    case XYL_WAIT_NOTHING:
        return 1;
    case XYL_WAIT_COUNT:
        return program_count(run, step->wait.seat, step->wait.value) != NULL;
    case XYL_WAIT_ALL_COUNTS:
    case XYL_WAIT_READERS:
        return others_have(run, strand->seat, step->wait.value);
    case XYL_WAIT_WORD:
        return program_step_bytes(run, strand, step) == 0 ||
               run->piece->words[step->wait.value].clock != NULL;
    case XYL_WAIT_STRANDS:
        return program_others_end(run, strand);
    case XYL_WAIT_SEGMENT:
        return program_has_segment(run, strand->seat, step->wait.value);
    }
    return 0;
}

static int see_all(program_run_t *run, strand_t *strand, uint32_t value,
                   uint32_t but)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++)
        if (seat != but &&
            !program_see(run, strand, program_count(run, seat, value)))
            return 0;
    return 1;
}

static int see(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    if (step->wait.kind == XYL_WAIT_COUNT)
        return program_see(
            run, strand, program_count(run, step->wait.seat, step->wait.value));
    if (step->wait.kind == XYL_WAIT_ALL_COUNTS ||
        step->wait.kind == XYL_WAIT_READERS)
        return see_all(run, strand, step->wait.value, strand->seat);
    if (step->wait.kind == XYL_WAIT_STRANDS)
        program_see_others(run, strand);
    if (step->wait.kind == XYL_WAIT_WORD &&
        program_step_bytes(run, strand, step))
        return program_see(run, strand, &run->piece->words[step->wait.value]);
    return 1;
}

/* ---- moving and combining ---- */

uint64_t program_step_bytes(const program_run_t *run, const strand_t *strand,
                            const xyl_step_t *step)
{
    uint64_t before =
        run->piece->number * run->all[strand->seat].program.piece_bytes +
        step->cut.within;

    if (step->cut.total <= before)
        return 0;
    return step->cut.total - before < step->cut.bytes ? step->cut.total - before
                                                      : step->cut.bytes;
}

static int do_copy(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    uint64_t bytes = program_step_bytes(run, strand, step);
    const unsigned char *from;
    unsigned char *to;

    if (bytes == 0 || (step->kind == XYL_STEP_PUBLISH &&
                       program_shared(run, strand->seat) != NULL))
        return 1;
    from = program_touch(run, strand, step->from, bytes, 0);
    to = program_touch(run, strand, step->to, bytes, 1);
    if (from == NULL || to == NULL)
        return 0;
    if (from < to + bytes && to < from + bytes)
        return program_mistake(run, "seat %u copies onto itself", strand->seat);
    memcpy(to, from, bytes);
    return 1;
}

/* 1: no slice is left; the step is done. */
static int do_claim(program_run_t *run, strand_t *strand,
                    const xyl_step_t *step)
{
    uint64_t bytes = program_step_bytes(run, strand, step), at, end;

    if (!strand->has_slice) {
        strand->slice = slice_to_claim(run, strand, step);
        if (strand->slice == step->sum.slices)
            return 1;
        run->piece->claimed |= UINT64_C(1) << strand->slice;
        strand->has_slice = 1;
        return 0;
    }
    at = strand->slice * step->sum.slice_bytes;
    end =
        at + step->sum.slice_bytes < bytes ? at + step->sum.slice_bytes : bytes;
    if (see_all(run, strand, strand->slice + 1, run->seats) &&
        program_reduce(run, strand, step, at, at < end ? end - at : 0))
        (void)program_post_word(run, strand, strand->slice, step->post.seat);
    strand->has_slice = 0;
    return 0;
}

/* ---- what a step tells ---- */

static int check_output(program_run_t *run, uint32_t number, uint64_t segment)
{
    const program_run_seat_t *seat = &run->all[number];
    uint64_t at = segment * seat->program.segment_bytes;
    uint64_t bytes = seat->program.segment_bytes;

    if (seat->total - at < bytes)
        bytes = seat->total - at;
    at += seat->at[XYL_BUFFER_RECV];
    if (memcmp(program_region(run, PROGRAM_OWN, number)->memory + at,
               seat->expected + at, bytes) != 0)
        return program_mistake(run,
                               "seat %u: segment %" PRIu64 " is not there "
                               "when it is told of",
                               number, segment);
    return 1;
}

int program_tell(program_run_t *run, const strand_t *strand, uint32_t segment)
{
    program_run_state_t *state = run->all[strand->seat].state;
    uint64_t index = segment_index(run, strand->seat, segment);

    if (segment == XYL_NO_SEGMENT || index >= state->segments)
        return 1;
    if (state->is_told[index])
        return program_mistake(run, "seat %u tells twice of segment %" PRIu64,
                               strand->seat, index);
    state->is_told[index] = 1;
    return check_output(run, strand->seat, index);
}

static int do_post(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    if (step->post.kind == XYL_POST_COUNT)
        return program_post_count(run, strand, step->post.value,
                                  step->post.seat);
    if (step->post.kind == XYL_POST_WORD)
        return program_post_word(run, strand, step->post.value,
                                 step->post.seat);
    return 1;
}

static void strand_go(program_run_t *run, strand_t *strand)
{
    const xyl_step_t *step = step_of(run, strand);
    int is_done = 1;

    if (step->wait.kind != XYL_WAIT_NOTHING || step->kind >= XYL_STEP_CLAIM)
        strand->has_waited = 1;
    if (program_is_left_out(run, strand, step)) {
        strand->step++;
        return;
    }
    if (step->kind == XYL_STEP_CLAIM)
        is_done = do_claim(run, strand, step);
    else if (program_sums_up(step))
        is_done = program_sum_do(run, strand, step);
    else if (step->kind == XYL_STEP_OFFER)
        is_done = program_offer(run, strand, step);
    else if (step->kind == XYL_STEP_HAND)
        is_done = program_hand(run, strand, step);
    else if (step->kind == XYL_STEP_TAKE)
        is_done = program_take(run, strand, step);
    else if (step->kind == XYL_STEP_HEAR)
        is_done = see_all(run, strand, 1, strand->seat);
    else if (!see(run, strand, step))
        is_done = 0;
    else if (step->kind == XYL_STEP_REDUCE)
        is_done = program_reduce(run, strand, step, 0,
                                 program_step_bytes(run, strand, step));
    else if (step->kind == XYL_STEP_JOIN)
        is_done = program_join(run, strand, step,
                               program_step_bytes(run, strand, step));
    else if (step->kind == XYL_STEP_COPY || step->kind == XYL_STEP_PUBLISH)
        is_done = do_copy(run, strand, step);
    else if (step->kind != XYL_STEP_NOTHING && step->kind != XYL_STEP_TELL)
        is_done = program_mistake(run, "a step of an unknown kind");
    if (!is_done || !do_post(run, strand, step) ||
        !program_tell(run, strand, step->emits))
        return;
    strand->step++;
    strand->has_slice = 0;
    strand->added = 0;
}

/* ---- segments come ---- */

/* The next that has not come; `segments`: none. */
static uint64_t next_segment(const program_run_t *run, uint32_t number)
{
    const program_run_state_t *state = run->all[number].state;
    uint64_t end = (run->piece->number + 1) * run->all[number].program.segments;
    uint64_t i;

    if (!state->takes_segments)
        return state->segments;
    for (i = segment_index(run, number, 0); i < end && i < state->segments; i++)
        if (!state->has_come[i])
            return i;
    return state->segments;
}

static void segment_come(program_run_t *run, uint32_t number)
{
    const program_run_seat_t *seat = &run->all[number];
    uint64_t segment = next_segment(run, number), left, at;
    uint64_t bytes = seat->program.segment_bytes;

    left = seat->total - segment * bytes;
    at = seat->at[seat->input] + segment * bytes;
    memcpy(program_region(run, PROGRAM_OWN, number)->memory + at,
           seat->initial + at, left < bytes ? left : bytes);
    seat->state->has_come[segment] = 1;
}

/* ---- one order ---- */

static void find_what_may(program_run_t *run)
{
    program_run_piece_t *piece = run->piece;
    uint32_t i;

    piece->may_count = 0;
    for (i = 0; i < piece->strands; i++)
        if (may_go(run, &piece->strand[i]))
            piece->may[piece->may_count++] = i;
    for (i = 0; i < run->seats; i++)
        if (next_segment(run, i) != run->all[i].state->segments)
            piece->may[piece->may_count++] = piece->strands + i;
}

void program_do(program_run_t *run, uint32_t which)
{
    uint32_t number = run->piece->may[which];

    if (number < run->piece->strands)
        strand_go(run, &run->piece->strand[number]);
    else
        segment_come(run, number - run->piece->strands);
}

uint32_t program_draw(program_run_t *run)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i, best = 0;

    if (!piece->by_priority || piece->may[0] >= piece->strands ||
        random_below(&run->random, 16) == 0)
        return random_below(&run->random, piece->may_count);
    for (i = 1; i < piece->may_count && piece->may[i] < piece->strands; i++)
        if (piece->strand[piece->may[i]].priority >
            piece->strand[piece->may[best]].priority)
            best = i;
    return best;
}

/* 1: some strand of the seat knows of some strand of the other. */
static int has_heard(const program_run_t *run, uint32_t seat, uint32_t other)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i, j;

    for (i = 0; i < piece->strands; i++)
        for (j = 0; j < piece->strands && piece->strand[i].seat == seat; j++)
            if (piece->strand[j].seat == other && piece->strand[i].clock[j])
                return 1;
    return 0;
}

int program_check_ends(program_run_t *run)
{
    const program_run_piece_t *piece = run->piece;
    uint32_t i;

    for (i = 0; i < piece->strands; i++)
        if (piece->strand[i].step != piece->strand[i].end)
            return program_mistake(
                run, "piece %" PRIu64 ": seat %u waits at step %u for ever",
                piece->number, piece->strand[i].seat, piece->strand[i].step);
    for (i = 0; i < run->seats; i++)
        if (!program_check_shared(run, i))
            return 0;
    for (i = 0; run->options->is_barrier && i < run->seats * run->seats; i++)
        if (!has_heard(run, i / run->seats, i % run->seats))
            return program_mistake(run, "seat %u leaves before %u has come",
                                   i / run->seats, i % run->seats);
    return 1;
}

int program_may_go_on(program_run_t *run)
{
    find_what_may(run);
    return run->piece->may_count != 0 && run->mistake[0] == '\0';
}
