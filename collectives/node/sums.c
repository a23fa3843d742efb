#include "collectives/node/sums.h"

#include "collectives/data/binned.h"

enum { PART_BYTES = 64 << 10 /* of a sum, between looks at the net */ };

/* ---- places ---- */

static uint32_t segments_of(const xyl_node_sum_t *sum)
{
    uint64_t each = sum->step->slice_bytes;

    return (uint32_t)((sum->bytes + each - 1) / each);
}

static uint64_t bytes_of(const xyl_node_sum_t *sum, uint32_t segment)
{
    uint64_t each = sum->step->slice_bytes, left = sum->bytes - segment * each;

    return left < each ? left : each;
}

static char *spare_address(const xyl_node_sum_t *sum, uint32_t number)
{
    return sum->cells + xyl_board_whole_lines(sum->step->bytes) +
           number * xyl_board_whole_lines(sum->step->slice_bytes);
}

static char *cell_address(const xyl_node_sum_t *sum, uint32_t cell,
                          uint32_t segment)
{
    uint64_t each = sum->step->slice_bytes;

    if (cell == XYL_COMBINE_HOME)
        return sum->cells + segment * each;
    return spare_address(sum, cell - XYL_COMBINE_FIRST_SPARE);
}

static uint64_t part_of(const xyl_node_sum_t *sum, uint64_t left)
{
    uint64_t most = PART_BYTES / sum->element_bytes * sum->element_bytes;

    if (most == 0)
        most = sum->element_bytes;
    return left < most ? left : most;
}

/* ---- those who add ---- */

static xyl_combine_piece_t piece_of(const xyl_node_sum_t *sum)
{
    const xyl_board_t *board = sum->board;
    uint32_t segments = segments_of(sum), root = sum->step->post_seat;
    int is_for_all = root == XYL_BOARD_ALL;

    return (xyl_combine_piece_t){
        .shm = board->shm,
        .words = xyl_board_sums(board, sum->slot),
        .number = sum->number,
        .segments = segments,
        .spares = sum->step->spares,
        .contributors = board->seats - (uint32_t)!is_for_all,
        /* Seats that come together begin apart. */
        .first = (uint32_t)((uint64_t)board->seat * segments / board->seats),
        .seat = board->seat,
        .seats = board->seats,
        .ranks = board->ranks,
        .readers = board->readers,
        .full = xyl_board_word(board, sum->slot, 0),
        .full_value = xyl_board_value(sum->number, 1),
        .full_readers = is_for_all ? board->ranks : &board->ranks[root],
        .full_count = is_for_all ? board->seats : 1};
}

/* Of byte `at` of sums. */
static const char *own_address(const xyl_node_sum_t *sum, uint64_t at)
{
    return sum->own + (sum->own_has_numbers
                           ? xyl_binned_elements(sum->combiner->binned, at)
                           : at);
}

/* With this work all contributions are in the cell, and numbers are to lie
 * there. */
static int ends_sum(const xyl_node_sum_t *sum, const xyl_combine_t *combine)
{
    uint32_t count = combine->count;

    count += combine->work == XYL_COMBINE_MERGE ? combine->other_count : 1;
    return sum->gives_numbers && sum->step->post_seat == XYL_BOARD_ALL &&
           count == sum->board->seats;
}

/* With this seat's numbers as they are; 1 done, 0 under way. */
static int numbers_part(const xyl_node_sum_t *sum, const xyl_node_combine_t *at,
                        size_t count)
{
    const xyl_combine_t *combine = &at->combine;
    const xyl_binned_t *binned = sum->combiner->binned;
    char *home = cell_address(sum, combine->cell, combine->segment);
    char *to = home + at->done;
    const char *left = to;
    const char *right =
        own_address(sum, combine->segment * sum->step->slice_bytes + at->done);
    const xyl_combiner_t *combiner = &binned->add;
    int ends = ends_sum(sum, combine);

    if (ends)
        to = home + xyl_binned_elements(binned, at->done);
    if (combine->work == XYL_COMBINE_MERGE) {
        combiner = ends ? &binned->total : &binned->merge;
        right = cell_address(sum, combine->other, combine->segment) + at->done;
    } else if (combine->work == XYL_COMBINE_COPY) {
        combiner = &binned->deposit;
        left = right;
    } else if (ends) {
        combiner = &binned->collect;
        left = right;
        right = home + at->done;
    }
    return xyl_exec_reduce(sum->exec, sum->work, combiner, to, left, right,
                           count);
}

/* 1 done, 0 under way. */
static int work_part(const xyl_node_sum_t *sum, const xyl_node_combine_t *at,
                     uint64_t bytes)
{
    const xyl_combine_t *combine = &at->combine;
    char *cell = cell_address(sum, combine->cell, combine->segment) + at->done;
    const char *from =
        sum->own + combine->segment * sum->step->slice_bytes + at->done;

    if (sum->own_has_numbers)
        return numbers_part(sum, at, (size_t)(bytes / sum->element_bytes));
    if (combine->work == XYL_COMBINE_COPY)
        return xyl_exec_copy(sum->exec, sum->work, cell, from, (size_t)bytes);
    if (combine->work == XYL_COMBINE_MERGE)
        from = cell_address(sum, combine->other, combine->segment) + at->done;
    return xyl_exec_reduce(sum->exec, sum->work, sum->combiner, cell, cell,
                           from, (size_t)(bytes / sum->element_bytes));
}

/* A part of what is to be done with the cell that this seat has. */
static void work(const xyl_node_sum_t *sum, xyl_node_combine_t *at)
{
    uint64_t all = bytes_of(sum, at->combine.segment);
    uint64_t bytes = part_of(sum, all - at->done);

    if (at->done < all && !work_part(sum, at, bytes)) {
        at->pending = bytes;
        return;
    }
    at->done += bytes;
    if (at->done < all)
        return;
    at->done = 0;
    xyl_combine_worked(&at->combine);
}

int xyl_node_combine_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did)
{
    xyl_combine_piece_t piece = piece_of(sum);
    xyl_combine_next_t next;

    /* Looking around in vain is nothing done. */
    *did += at->combine.state != XYL_COMBINE_PASS;
    do /* ends when a cell is taken, or none can be */
        next = xyl_combine_step(&piece, sum->ready, &at->combine);
    while (next == XYL_COMBINE_NEXT_STEP);
    if (next == XYL_COMBINE_NEXT_WORK) {
        work(sum, at);
        ++*did;
    }
    return next == XYL_COMBINE_NEXT_NONE;
}

/* ---- in a fixed order ---- */

static xyl_pairs_piece_t pairs_piece_of(const xyl_node_sum_t *sum)
{
    const xyl_board_t *board = sum->board;
    uint32_t root = sum->step->post_seat;
    int is_for_all = root == XYL_BOARD_ALL;

    return (xyl_pairs_piece_t){.shm = board->shm,
                               .words = xyl_board_tree(board, sum->number),
                               .number = sum->number,
                               .segments = segments_of(sum),
                               .cells = sum->step->spares,
                               .seat = board->seat,
                               .seats = board->seats,
                               .waits = is_for_all || root == board->seat,
                               .ranks = board->ranks,
                               .readers = board->readers,
                               .full = xyl_board_word(board, sum->slot, 0),
                               .full_value = xyl_board_value(sum->number, 1),
                               .full_readers = is_for_all ? board->ranks
                                                          : &board->ranks[root],
                               .full_count = is_for_all ? board->seats : 1};
}

static char *pairs_address(const xyl_node_sum_t *sum, uint32_t segment,
                           uint32_t operand)
{
    if (operand == XYL_PAIRS_RESULT)
        return sum->cells + segment * sum->step->slice_bytes;
    return spare_address(sum, operand - 1);
}

static const char *operand_of(const xyl_node_sum_t *sum, uint32_t segment,
                              uint32_t operand)
{
    if (operand == XYL_PAIRS_OWN)
        return sum->own + segment * sum->step->slice_bytes;
    return pairs_address(sum, segment, operand);
}

/* 1 done, 0 under way. */
static int pairs_work_part(const xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                           uint64_t from, uint64_t bytes)
{
    char *to = pairs_address(sum, pairs->segment, pairs->to) + from;
    const char *left = operand_of(sum, pairs->segment, pairs->left) + from;
    const char *right = operand_of(sum, pairs->segment, pairs->right) + from;

    if (pairs->is_copy)
        return xyl_exec_copy(sum->exec, sum->work, to, left, (size_t)bytes);
    return xyl_exec_reduce(sum->exec, sum->work, sum->combiner, to, left, right,
                           (size_t)(bytes / sum->element_bytes));
}

/* A part of what is to be done. 1: that was all. */
static int pairs_work(const xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                      xyl_node_combine_t *at)
{
    uint64_t all = bytes_of(sum, pairs->segment);
    uint64_t bytes = part_of(sum, all - at->done);

    if (at->done < all && !pairs_work_part(sum, pairs, at->done, bytes)) {
        at->pending = bytes;
        return 0;
    }
    at->done += bytes;
    if (at->done < all)
        return 0;
    at->done = 0;
    return 1;
}

int xyl_node_pairs_run(xyl_node_sum_t *sum, xyl_pairs_t *pairs,
                       xyl_node_combine_t *at, unsigned *did)
{
    xyl_pairs_piece_t piece = pairs_piece_of(sum);
    xyl_pairs_next_t next;

    *did += pairs->state != XYL_PAIRS_PASS;
    do /* ends when there is work, or nothing to do */
        next = xyl_pairs_step(&piece, pairs);
    while (next == XYL_PAIRS_NEXT_STEP);
    if (next == XYL_PAIRS_NEXT_WORK) {
        if (pairs_work(sum, pairs, at))
            xyl_pairs_worked(&piece, pairs);
        ++*did;
    }
    return next == XYL_PAIRS_NEXT_NONE;
}

/* ---- the one who has the result ---- */

/* The next segment that all others have added to. 0: there is none. */
static int find_full(const xyl_node_sum_t *sum, xyl_node_combine_t *at)
{
    uint64_t left = ~at->collected & UINT64_MAX >> (64 - segments_of(sum));

    for (left &= sum->ready; left != 0; left &= left - 1) {
        at->segment = (uint32_t)__builtin_ctzll(left);
        if (xyl_board_get(sum->board,
                          xyl_board_word(sum->board, sum->slot, at->segment)) >=
            xyl_board_value(sum->number, 1))
            return 1;
    }
    return 0;
}

/* result = own op sum, from byte `from` of sums on; 1 done, 0 under way. */
static int collect_part(const xyl_node_sum_t *sum, uint64_t from,
                        const char *cell, size_t count)
{
    const xyl_binned_t *binned = sum->combiner->binned;
    const xyl_combiner_t *combiner = sum->combiner;
    const char *left = own_address(sum, from), *right = cell;
    char *to = sum->result + from;

    if (sum->own_has_numbers && sum->gives_numbers) {
        combiner = &binned->collect;
        to = sum->result + xyl_binned_elements(binned, from);
    } else if (sum->own_has_numbers) {
        combiner = &binned->add;
        left = cell;
        right = own_address(sum, from);
    }
    return xyl_exec_reduce(sum->exec, sum->work, combiner, to, left, right,
                           count);
}

int xyl_node_collect_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did)
{
    uint64_t from, all, bytes;

    if (!at->is_busy && !find_full(sum, at))
        return 0;
    ++*did;
    all = bytes_of(sum, at->segment);
    bytes = part_of(sum, all - at->done);
    from = at->segment * sum->step->slice_bytes + at->done;
    at->is_busy = 1;
    if (at->done < all &&
        !collect_part(sum, from,
                      cell_address(sum, XYL_COMBINE_HOME, at->segment) +
                          at->done,
                      (size_t)(bytes / sum->element_bytes))) {
        at->pending = bytes;
        return 0;
    }
    at->done += bytes;
    at->is_busy = at->done < all;
    if (at->is_busy)
        return 0;
    at->done = 0;
    at->collected |= UINT64_C(1) << at->segment;
    sum->finished = UINT64_C(1) << at->segment;
    return at->collected == UINT64_MAX >> (64 - segments_of(sum));
}
