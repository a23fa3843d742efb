/* Sums in the order of arrival are made here as if a seat's addition were one
 * access; that they are right when additions overlap is combine.h's. */
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/program_inside.h"

static xyl_position_t further(xyl_position_t spot, uint64_t by)
{
    spot.at += by;
    return spot;
}

/* A seat's operand in a reduction. */
static const unsigned char *operand(program_run_t *run, const strand_t *strand,
                                    const xyl_step_t *step, uint32_t seat,
                                    uint64_t at, uint64_t bytes)
{
    xyl_position_t spot = step->from;

    spot.seat = seat;
    if (step->takes_send && seat == strand->seat)
        spot = xyl_position_of(XYL_BUFFER_SEND, 0, step->cut.within);
    return program_touch(run, strand, further(spot, at), bytes, 0);
}

int program_reduce(program_run_t *run, strand_t *strand, const xyl_step_t *step,
                   uint64_t at, uint64_t bytes)
{
    const unsigned char *from, *left = NULL;
    unsigned char *to;
    uint32_t i, seats = step->end_seat - step->first_seat;

    if (bytes == 0 || seats == 0)
        return 1;
    to = program_touch(run, strand, further(step->to, at), bytes, 1);
    for (i = 0; i < seats; i++) {
        from = operand(run, strand, step,
                       step->first_seat + (step->turn + i) % seats, at, bytes);
        if (to == NULL || from == NULL)
            return 0;
        /* Combined at once, so that the first may be gone by the third. */
        if (left == NULL)
            left = from;
        else {
            run->options->combine(to, left, from, bytes);
            left = to;
        }
    }
    if (left != to)
        memcpy(to, left, bytes);
    return 1;
}

int program_join(program_run_t *run, strand_t *strand, const xyl_step_t *step,
                 uint64_t bytes)
{
    const unsigned char *left, *right;
    unsigned char *to;

    if (bytes == 0)
        return 1;
    left = program_touch(run, strand, step->to, bytes, 0);
    right = program_touch(run, strand, step->from, bytes, 0);
    to = program_touch(run, strand, step->to, bytes, 1);
    if (left == NULL || right == NULL || to == NULL)
        return 0;
    run->options->combine(to, left, right, bytes);
    return 1;
}

/* ---- in the order of arrival ---- */

static uint32_t slices_of(const program_run_t *run, const strand_t *strand,
                          const xyl_step_t *step)
{
    uint64_t bytes = program_step_bytes(run, strand, step);

    return (uint32_t)((bytes + step->sum.slice_bytes - 1) /
                      step->sum.slice_bytes);
}

void program_sums_free(program_run_t *run)
{
    uint32_t i;

    for (i = 0; i < XYL_BOARD_WORDS; i++) {
        free(run->piece->sums[i].clock);
        free(run->piece->parts[i]);
        run->piece->parts[i] = NULL;
        run->piece->sums[i] = (post_t){0};
    }
}

static int may_take(const program_run_t *run, const strand_t *strand,
                    const xyl_step_t *step, uint32_t slice)
{
    return (strand->added >> slice & 1) == 0 &&
           program_has_segment(run, strand->seat, slice) &&
           (step->kind != XYL_STEP_COLLECT ||
            run->piece->words[slice].clock != NULL);
}

int program_sum_may(const program_run_t *run, const strand_t *strand,
                    const xyl_step_t *step)
{
    uint32_t slice;

    for (slice = 0; slice < slices_of(run, strand, step); slice++)
        if (may_take(run, strand, step, slice))
            return 1;
    return 0;
}

/* Keeps a seat's contribution until all have come, and then combines them in
 * their order; pairs.h has the real pairs. */
static void pair(program_run_t *run, const strand_t *strand,
                 const xyl_step_t *step, uint32_t slice, unsigned char *to,
                 const unsigned char *own, uint64_t bytes)
{
    unsigned char *parts = run->piece->parts[slice];
    uint32_t left_out =
        step->end_seat == run->seats ? XYL_BOARD_ALL : step->post.seat;
    uint32_t first = left_out == 0, seat;

    if (parts == NULL)
        parts = run->piece->parts[slice] = program_array(run->seats, bytes);
    memcpy(parts + strand->seat * bytes, own, bytes);
    if (run->piece->sums[slice].value + 1 < step->end_seat)
        return;
    memcpy(to, parts + first * bytes, bytes);
    for (seat = first + 1; seat < run->seats; seat++)
        if (seat != left_out)
            run->options->combine(to, to, parts + seat * bytes, bytes);
}

/* A seat that adds has the sum alone, after all seats that had it before. */
static int add(program_run_t *run, strand_t *strand, const xyl_step_t *step,
               uint32_t slice, uint64_t bytes)
{
    post_t *sum = &run->piece->sums[slice];
    uint64_t at = slice * step->sum.slice_bytes;
    int lacks_root =
        step->post.seat != XYL_BOARD_ALL &&
        (step->kind == XYL_STEP_COMBINE || step->end_seat != run->seats);
    const unsigned char *own;
    unsigned char *cell;

    if (sum->clock == NULL)
        sum->clock = program_array(run->piece->strands, sizeof *sum->clock);
    sum->seat = XYL_BOARD_ALL;
    if (!program_see(run, strand, sum))
        return 0;
    own = program_touch(run, strand, further(step->from, at), bytes, 0);
    cell = program_touch(run, strand, further(step->to, at), bytes, 1);
    if (own == NULL || cell == NULL)
        return 0;
    if (step->kind == XYL_STEP_PAIR)
        pair(run, strand, step, slice, cell, own, bytes);
    else if (sum->value == 0)
        memcpy(cell, own, bytes);
    else
        run->options->combine(cell, cell, own, bytes);
    sum->value++;
    memcpy(sum->clock, strand->clock, run->piece->strands * sizeof *sum->clock);
    strand->clock[strand->number]++;
    if (sum->value + (uint32_t)lacks_root < run->seats)
        return 1;
    return program_post_word(run, strand, slice, step->post.seat);
}

static int collect(program_run_t *run, strand_t *strand, const xyl_step_t *step,
                   uint32_t slice, uint64_t bytes)
{
    const xyl_position_t sums = {XYL_BUFFER_BOARD, 0, 0};
    uint64_t at = slice * step->sum.slice_bytes;
    const unsigned char *own, *sum;
    unsigned char *to;

    if (!program_see(run, strand, &run->piece->words[slice]))
        return 0;
    own = program_touch(run, strand, further(step->from, at), bytes, 0);
    sum = program_touch(run, strand, further(sums, at), bytes, 0);
    to = program_touch(run, strand, further(step->to, at), bytes, 1);
    if (own == NULL || sum == NULL || to == NULL)
        return 0;
    run->options->combine(to, own, sum, bytes);
    return program_tell(run, strand, slice);
}

int program_sum_do(program_run_t *run, strand_t *strand, const xyl_step_t *step)
{
    uint64_t all = program_step_bytes(run, strand, step), left;
    uint32_t slices = slices_of(run, strand, step);
    uint32_t slice =
        run->options->orders_max != 0 ? 0 : random_below(&run->random, slices);

    while (!may_take(run, strand, step, slice))
        slice = (slice + 1) % slices;
    left = all - slice * step->sum.slice_bytes;
    if (left > step->sum.slice_bytes)
        left = step->sum.slice_bytes;
    if (step->kind != XYL_STEP_COLLECT)
        (void)add(run, strand, step, slice, left);
    else
        (void)collect(run, strand, step, slice, left);
    strand->added |= UINT64_C(1) << slice;
    return strand->added == UINT64_MAX >> (64 - slices);
}
