#include "collectives/node/sums.h"

#include <string.h>

#include "collectives/data/binned.h"

enum { SUMS = 11, ROOMS_BYTES = 24 << 10 };

/* ---- places ---- */

static uint32_t segments_of(const xyl_node_sum_t *sum)
{
    uint64_t each = sum->step->sum.slice_bytes;

    return (uint32_t)((sum->bytes + each - 1) / each);
}

static uint64_t bytes_of(const xyl_node_sum_t *sum, uint32_t segment)
{
    uint64_t each = sum->step->sum.slice_bytes,
             left = sum->bytes - segment * each;

    return left < each ? left : each;
}

static char *spare_address(const xyl_node_sum_t *sum, uint32_t number)
{
    return sum->cells + xyl_board_whole_lines(sum->step->cut.bytes) +
           number * xyl_board_whole_lines(sum->step->sum.slice_bytes);
}

static char *cell_address(const xyl_node_sum_t *sum, uint32_t cell,
                          uint32_t segment)
{
    uint64_t each = sum->step->sum.slice_bytes;

    if (cell == XYL_COMBINE_HOME)
        return sum->cells + segment * each;
    return spare_address(sum, cell - XYL_COMBINE_FIRST_SPARE);
}

/* The address of this seat's contribution to byte `at` of the sums. */
static const char *own_address(const xyl_node_sum_t *sum, uint64_t at)
{
    return sum->own + (sum->own_has_numbers
                           ? xyl_binned_elements(sum->combiner->binned, at)
                           : at);
}

/* ---- work ---- */

/* A part of a segment: to = left op right. */
typedef struct sum_part {
    const xyl_combiner_t *combiner; /* NULL: to = left */
    char *to;
    const char *left, *right;
} sum_part_t;

static uint64_t sum_part_bytes(const xyl_node_sum_t *sum, uint64_t left)
{
    uint64_t most = sum->turn / sum->element_bytes * sum->element_bytes;

    if (most == 0)
        most = sum->element_bytes;
    return left < most ? left : most;
}

/* Works on the segment from at->done on; 1: it is done to its end. */
static int work_on(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                   uint32_t segment, const sum_part_t *part)
{
    uint64_t all = bytes_of(sum, segment),
             bytes = sum_part_bytes(sum, all - at->done);
    int is_done = 1;

    sum->worked += bytes;
    if (at->done < all && part->combiner == NULL)
        is_done = xyl_exec_copy(
            sum->exec, sum->work, part->to, part->left,
            (size_t)(sum->own_has_numbers
                         ? xyl_binned_elements(sum->combiner->binned, bytes)
                         : bytes));
    else if (at->done < all)
        is_done = xyl_exec_reduce(sum->exec, sum->work, part->combiner,
                                  part->to, part->left, part->right,
                                  (size_t)(bytes / sum->element_bytes));
    if (!is_done) {
        at->pending = bytes;
        return 0;
    }
    at->done += bytes;
    if (at->done < all)
        return 0;
    at->done = 0;
    return 1;
}

/* The words that tell the readers of the result which segments are full. */
static xyl_sum_flags_t flags_of(const xyl_node_sum_t *sum)
{
    const xyl_seats_t *seats = &sum->board->seats;
    uint32_t root = sum->step->post.seat;
    int is_for_all = root == XYL_BOARD_ALL;

    return (xyl_sum_flags_t){.flags = xyl_board_word(sum->board, sum->slot, 0),
                             .value = sum->full,
                             .readers = is_for_all ? seats->ranks
                                                   : &seats->ranks[root],
                             .count = is_for_all ? seats->count : 1};
}

/* ---- in the order of arrival ---- */

static xyl_combine_piece_t combine_piece_of(const xyl_node_sum_t *sum)
{
    const xyl_seats_t *seats = &sum->board->seats;
    uint32_t segments = segments_of(sum);

    return (xyl_combine_piece_t){
        .seats = seats,
        .words = xyl_board_sums(sum->board, sum->slot),
        .number = sum->number,
        .segments = segments,
        .spares = sum->step->sum.spares,
        .contributors =
            seats->count - (uint32_t)(sum->step->post.seat != XYL_BOARD_ALL),
        /* Seats that come together begin at different segments. */
        .first = (uint32_t)((uint64_t)seats->own * segments / seats->count),
        .full = flags_of(sum)};
}

/* 1: this work completes the sum in the cell, and leaves numbers there. */
static int ends_sum(const xyl_node_sum_t *sum, const xyl_combine_t *combine)
{
    uint32_t count = combine->count;

    count += combine->work == XYL_COMBINE_MERGE ? combine->other_count : 1;
    return sum->gives_numbers && sum->step->post.seat == XYL_BOARD_ALL &&
           count == sum->board->seats.count;
}

/* Numbers of the user, or sums of them (data/binned.h). */
typedef struct operand {
    int has_numbers;
    const char *at;
} operand_t;

/* The content of a cell from byte `done` of its sums on. If no seat brings
 * sums, a cell with a single contribution has numbers, at its end. The seat
 * that makes sums of these writes from the cell's beginning on, and overwrites
 * no number before it has read that number. */
static operand_t partial_of(const xyl_node_sum_t *sum, uint32_t segment,
                            uint32_t cell, uint32_t count, uint64_t done)
{
    const xyl_binned_t *binned = sum->combiner->binned;
    const char *home = cell_address(sum, cell, segment);
    uint64_t bytes = bytes_of(sum, segment);

    if (count > 1 || !sum->gives_numbers)
        return (operand_t){0, home + done};
    return (operand_t){1, home + bytes - xyl_binned_elements(binned, bytes) +
                              xyl_binned_elements(binned, done)};
}

/* to = left + right, each of them sums or numbers. */
static sum_part_t numbers_added(const xyl_node_sum_t *sum, char *to,
                                int to_numbers, operand_t left, operand_t right)
{
    const xyl_binned_t *binned = sum->combiner->binned;
    const xyl_combiner_t *combiner =
        to_numbers ? &binned->total : &binned->merge;

    if (left.has_numbers && right.has_numbers)
        combiner = to_numbers ? &binned->collect_two : &binned->add_two;
    else if (left.has_numbers || right.has_numbers)
        combiner = to_numbers ? &binned->collect : &binned->add;
    if (left.has_numbers != right.has_numbers && left.has_numbers != to_numbers)
        return (sum_part_t){combiner, to, right.at, left.at};
    return (sum_part_t){combiner, to, left.at, right.at};
}

/* combine_part for a seat that contributes numbers. */
static sum_part_t numbers_part(const xyl_node_sum_t *sum,
                               const xyl_node_combine_t *at)
{
    const xyl_combine_t *combine = &at->combine;
    const xyl_binned_t *binned = sum->combiner->binned;
    uint32_t segment = combine->segment;
    char *home = cell_address(sum, combine->cell, segment);
    operand_t left =
        partial_of(sum, segment, combine->cell, combine->count, at->done);
    operand_t right = {
        1, own_address(sum, segment * sum->step->sum.slice_bytes + at->done)};
    int ends = ends_sum(sum, combine);

    if (combine->work == XYL_COMBINE_COPY)
        return (sum_part_t){left.has_numbers ? NULL : &binned->deposit,
                            home + (left.at - home), right.at, right.at};
    if (combine->work == XYL_COMBINE_MERGE)
        right = partial_of(sum, segment, combine->other, combine->other_count,
                           at->done);
    return numbers_added(
        sum, home + (ends ? xyl_binned_elements(binned, at->done) : at->done),
        ends, left, right);
}

/* The next work on the cell that this seat has taken. */
static sum_part_t combine_part(const xyl_node_sum_t *sum,
                               const xyl_node_combine_t *at)
{
    const xyl_combine_t *combine = &at->combine;
    uint32_t segment = combine->segment;
    char *cell = cell_address(sum, combine->cell, segment) + at->done;
    sum_part_t part = {sum->combiner, cell, cell, NULL};

    if (sum->own_has_numbers)
        return numbers_part(sum, at);
    part.right =
        combine->work == XYL_COMBINE_MERGE
            ? cell_address(sum, combine->other, segment) + at->done
            : own_address(sum, segment * sum->step->sum.slice_bytes + at->done);
    if (combine->work == XYL_COMBINE_COPY)
        part = (sum_part_t){NULL, cell, part.right, NULL};
    return part;
}

int xyl_node_combine_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did)
{
    xyl_combine_piece_t piece = combine_piece_of(sum);
    xyl_sum_next_t next;
    sum_part_t part;

    /* A seat that only looks for a cell does no work. */
    *did += at->combine.state != XYL_COMBINE_PASS;
    do /* ends when a cell is taken, or none can be */
        next = xyl_combine_step(&piece, sum->ready, &at->combine);
    while (next == XYL_SUM_STEP);
    if (next == XYL_SUM_WORK) {
        part = combine_part(sum, at);
        if (work_on(sum, at, at->combine.segment, &part))
            xyl_combine_worked(&at->combine);
        ++*did;
    }
    return next == XYL_SUM_NONE;
}

/* ---- in a fixed order ---- */

static uint64_t cell_bytes(const xyl_node_sum_t *sum)
{
    return xyl_board_whole_lines(sum->step->sum.slice_bytes);
}

_Static_assert((int)XYL_SHM_POOL_NAME_MAX <= (int)XYL_PAIRS_RUN_MAX,
               "names of runs fit into words of cells");

/* Takes a run of the node's pool, for cells that have no room in the window.
 * Few runs are used at any time, so the pool gives the first free one. */
static uint32_t run_take(void *arg)
{
    const xyl_node_sum_t *sum = arg;

    return xyl_shm_pool_take_part(sum->board->pool,
                                  XYL_PAIRS_CELLS_OF_WORD * cell_bytes(sum));
}

static void run_give(void *arg, uint32_t run)
{
    const xyl_node_sum_t *sum = arg;

    xyl_shm_pool_free(sum->board->pool, run,
                      XYL_PAIRS_CELLS_OF_WORD * cell_bytes(sum));
}

/* 1: the root has no place in the tree. */
static int root_is_apart(const xyl_node_sum_t *sum)
{
    return sum->step->end_seat != sum->board->seats.count;
}

/* The seat at a place in the tree. */
static uint32_t seat_at(const xyl_node_sum_t *sum, uint32_t place)
{
    return place +
           (uint32_t)(root_is_apart(sum) && place >= sum->step->post.seat);
}

static xyl_pairs_piece_t pairs_piece_of(xyl_node_sum_t *sum)
{
    const xyl_seats_t *seats = &sum->board->seats;
    uint32_t root = sum->step->post.seat;
    int gets_result = root == XYL_BOARD_ALL || root == seats->own;

    return (xyl_pairs_piece_t){
        .seats = seats,
        .words = xyl_board_tree(sum->board, sum->number),
        .number = sum->number,
        .contributors = sum->step->end_seat,
        .place =
            seats->own - (uint32_t)(root_is_apart(sum) && seats->own > root),
        .segments = segments_of(sum),
        .ready = sum->ready,
        .near = sum->step->sum.spares,
        .cells = sum->step->sum.cells,
        .runs = {sum, run_take, run_give},
        .lies = sum->lies,
        .leaves = sum->lies && !gets_result && !sum->stays,
        .waits = gets_result || sum->stays,
        /* The root copies the result while other seats combine. */
        .follows = root == XYL_BOARD_ALL || (root != seats->own && sum->stays),
        .full = flags_of(sum)};
}

static char *pairs_address(xyl_node_sum_t *sum, uint32_t segment,
                           uint32_t operand)
{
    xyl_pairs_piece_t piece = pairs_piece_of(sum);
    uint32_t run;

    if (operand == XYL_PAIRS_RESULT)
        return sum->cells + segment * sum->step->sum.slice_bytes;
    run = xyl_pairs_run_of(&piece, operand);
    if (run == 0)
        return spare_address(sum, operand - 1);
    return xyl_board_run(sum->board, run,
                         XYL_PAIRS_CELLS_OF_WORD * cell_bytes(sum)) +
           (operand - 1) % XYL_PAIRS_CELLS_OF_WORD * cell_bytes(sum);
}

static const char *pairs_operand(xyl_node_sum_t *sum, uint32_t segment,
                                 uint32_t operand)
{
    if (operand == XYL_PAIRS_OWN)
        return sum->own + segment * sum->step->sum.slice_bytes;
    return pairs_address(sum, segment, operand);
}

/* Sums that are not combined yet, each with the level of its subtree. A
 * combined sum lies in the room for its place on the stack; all rooms together
 * stay in the first cache. */
typedef struct sum_stack {
    size_t unit; /* bytes of a room */
    uint32_t count, levels[SUMS];
    const char *at[SUMS];
    _Alignas(64) char rooms[ROOMS_BYTES];
} sum_stack_t;

_Static_assert(XYL_PAIRS_SEATS_MAX <= 1 << (SUMS - 2),
               "a sum of each level, and a second operand");
_Static_assert((int)XYL_NODE_LIES_ELEMENT_MAX <= (int)ROOMS_BYTES / (SUMS - 1),
               "a room has a whole element");

/* The bytes of a room, in whole elements, if there is a room for each level. */
static size_t unit_of(const xyl_node_sum_t *sum)
{
    size_t rooms = 1;

    while (sum->step->end_seat > UINT32_C(1) << rooms)
        rooms++;
    return ROOMS_BYTES / rooms / sum->element_bytes * sum->element_bytes;
}

static void stack_combine(const xyl_node_sum_t *sum, sum_stack_t *stack,
                          size_t bytes)
{
    uint32_t right = --stack->count, left = right - 1;
    char *room = stack->rooms + left * stack->unit;

    xyl_exec_combine(sum->combiner, room, stack->at[left], stack->at[right],
                     bytes / sum->element_bytes);
    stack->at[left] = room;
    stack->levels[left]++;
}

/* Leaves the sum of the inputs at places [first, end) on the stack, combined as
 * their subtree of pairs is. 0: this seat cannot see one of them. */
static int stack_add(const xyl_node_sum_t *sum, sum_stack_t *stack,
                     uint32_t first, uint32_t end, uint64_t at, size_t bytes)
{
    uint32_t bottom = stack->count, place, last;

    for (place = first; place < end; place++) {
        last = stack->count++;
        stack->levels[last] = 0;
        stack->at[last] =
            sum->input(sum->input_arg, seat_at(sum, place), at, bytes);
        if (stack->at[last] == NULL)
            return 0;
        while (stack->count - bottom > 1 && stack->levels[stack->count - 1] ==
                                                stack->levels[stack->count - 2])
            stack_combine(sum, stack, bytes);
    }
    while (stack->count - bottom > 1) /* the last seats have no partners */
        stack_combine(sum, stack, bytes);
    return 1;
}

/* Leaves an operand of the work on the stack, from byte `done` on. Returns the
 * number of inputs that it has; 0: this seat cannot see one of them. */
static uint32_t operand_add(xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                            int is_right, uint64_t done, size_t bytes,
                            sum_stack_t *stack)
{
    uint32_t operand = is_right ? pairs->right : pairs->left, first, end;
    uint64_t at = pairs->segment * sum->step->sum.slice_bytes + done;
    xyl_pairs_piece_t piece;

    if (operand != (uint32_t)XYL_PAIRS_INPUTS) {
        stack->at[stack->count++] =
            pairs_operand(sum, pairs->segment, operand) + done;
        return 1;
    }
    piece = pairs_piece_of(sum);
    xyl_pairs_inputs(&piece, pairs, is_right, &first, &end);
    return stack_add(sum, stack, first, end, at, bytes) ? end - first : 0;
}

/* Leaves the work's operands on the stack, from byte `done` on: one of a copy,
 * else two. Returns the number of their inputs; 0: this seat cannot see one of
 * them. */
static uint32_t operands_add(xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                             uint64_t done, size_t bytes, sum_stack_t *stack)
{
    uint32_t left = operand_add(sum, pairs, 0, done, bytes, stack), right;

    if (left == 0 || pairs->is_copy)
        return left;
    right = operand_add(sum, pairs, 1, done, bytes, stack);
    return right == 0 ? 0 : left + right;
}

/* Combines operands of which at least one consists of inputs in their seats'
 * memory. 1: the segment is done. */
static int inputs_work(xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                       xyl_node_combine_t *at)
{
    char *to = pairs_address(sum, pairs->segment, pairs->to);
    uint64_t all = bytes_of(sum, pairs->segment), read = 0;
    sum_stack_t stack;
    uint32_t inputs;
    size_t bytes;

    stack.unit = unit_of(sum);
    for (; at->done < all && read < sum->turn; at->done += bytes) {
        bytes = (size_t)(all - at->done);
        bytes = bytes < stack.unit ? bytes : stack.unit;
        stack.count = 0;
        inputs = operands_add(sum, pairs, at->done, bytes, &stack);
        if (inputs == 0)
            return 0;
        if (pairs->is_copy)
            memcpy(to + at->done, stack.at[0], bytes);
        else
            xyl_exec_combine(sum->combiner, to + at->done, stack.at[0],
                             stack.at[1], bytes / sum->element_bytes);
        read += (uint64_t)bytes * inputs;
    }
    sum->worked += read;
    if (at->done < all)
        return 0;
    at->done = 0;
    return 1;
}

/* 1: the work is done. */
static int pairs_work(xyl_node_sum_t *sum, const xyl_pairs_t *pairs,
                      xyl_node_combine_t *at)
{
    uint32_t segment = pairs->segment;
    sum_part_t part;

    if (pairs->left == (uint32_t)XYL_PAIRS_INPUTS ||
        pairs->right == (uint32_t)XYL_PAIRS_INPUTS)
        return inputs_work(sum, pairs, at);
    part = (sum_part_t){
        .combiner = pairs->is_copy ? NULL : sum->combiner,
        .to = pairs_address(sum, segment, pairs->to) + at->done,
        .left = pairs_operand(sum, segment, pairs->left) + at->done,
        .right = pairs_operand(sum, segment, pairs->right) + at->done};
    return work_on(sum, at, segment, &part);
}

int xyl_node_pairs_has_added(xyl_node_sum_t *sum, const xyl_pairs_t *pairs)
{
    xyl_pairs_piece_t piece = pairs_piece_of(sum);

    return xyl_pairs_has_added(&piece, pairs);
}

int xyl_node_pairs_run(xyl_node_sum_t *sum, xyl_pairs_t *pairs,
                       xyl_node_combine_t *at, unsigned *did)
{
    xyl_pairs_piece_t piece = pairs_piece_of(sum);
    xyl_sum_next_t next;

    *did += pairs->state != XYL_PAIRS_PASS;
    do /* ends when there is work, or nothing to do */
        next = xyl_pairs_step(&piece, pairs);
    while (next == XYL_SUM_STEP);
    if (next == XYL_SUM_WORK) {
        if (pairs_work(sum, pairs, at))
            xyl_pairs_worked(&piece, pairs);
        ++*did;
    }
    return next == XYL_SUM_NONE;
}

/* ---- collecting ---- */

/* Finds the next segment that all others have added to. 0: there is none. */
static int find_full(const xyl_node_sum_t *sum, xyl_node_combine_t *at)
{
    uint64_t left = ~at->collected & UINT64_MAX >> (64 - segments_of(sum));

    for (left &= sum->ready; left != 0; left &= left - 1) {
        at->segment = (uint32_t)__builtin_ctzll(left);
        if (xyl_board_get(sum->board, xyl_board_word(sum->board, sum->slot,
                                                     at->segment)) == sum->full)
            return 1;
    }
    return 0;
}

/* result = own op sum. */
static sum_part_t collect_part(const xyl_node_sum_t *sum,
                               const xyl_node_combine_t *at)
{
    uint64_t from = at->segment * sum->step->sum.slice_bytes + at->done;
    operand_t own = {1, own_address(sum, from)};

    if ((at->kept >> at->segment & 1) != 0)
        own = (operand_t){0, sum->result + from};
    if (!sum->own_has_numbers)
        return (sum_part_t){sum->combiner, sum->result + from, own.at,
                            cell_address(sum, XYL_COMBINE_HOME, at->segment) +
                                at->done};
    if (sum->gives_numbers)
        from = xyl_binned_elements(sum->combiner->binned, from);
    return numbers_added(sum, sum->result + from, sum->gives_numbers, own,
                         partial_of(sum, at->segment, XYL_COMBINE_HOME,
                                    sum->board->seats.count - 1, at->done));
}

/* result = own, for the next segment that is neither collected nor kept. */
static void keep_own(xyl_node_sum_t *sum, xyl_node_combine_t *at, unsigned *did)
{
    uint64_t left = ~(at->collected | at->kept) & sum->ready &
                    UINT64_MAX >> (64 - segments_of(sum));
    sum_part_t part = {.combiner = sum->own_has_numbers
                                       ? &sum->combiner->binned->deposit
                                       : NULL};
    uint64_t from;

    if (!at->is_keeping && left == 0)
        return;
    if (!at->is_keeping)
        at->segment = (uint32_t)__builtin_ctzll(left);
    ++*did;
    from = at->segment * sum->step->sum.slice_bytes + at->done;
    part.to = sum->result + from;
    part.left = part.right = own_address(sum, from);
    at->is_keeping = !work_on(sum, at, at->segment, &part);
    if (!at->is_keeping)
        at->kept |= UINT64_C(1) << at->segment;
}

int xyl_node_collect_has_kept(const xyl_node_combine_t *at, uint32_t segments)
{
    return (at->collected | at->kept) == UINT64_MAX >> (64 - segments) &&
           !at->is_busy;
}

int xyl_node_collect_run(xyl_node_sum_t *sum, xyl_node_combine_t *at,
                         unsigned *did)
{
    sum_part_t part;

    if (at->is_keeping || (!at->is_busy && !find_full(sum, at))) {
        if (sum->keeps)
            keep_own(sum, at, did);
        return 0;
    }
    ++*did;
    part = collect_part(sum, at);
    at->is_busy = !work_on(sum, at, at->segment, &part);
    if (at->is_busy)
        return 0;
    at->collected |= UINT64_C(1) << at->segment;
    sum->finished = UINT64_C(1) << at->segment;
    return at->collected == UINT64_MAX >> (64 - segments_of(sum));
}
