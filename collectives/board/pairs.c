#include "collectives/board/pairs.h"

#include <assert.h>

enum {
    RUN_AT = 16,   /* first bit of a word's run, above its cells' bits */
    CELLS_AT = 31, /* first bit of the piece's number, above the run */
    USED = 0xffff,
    NODE_AT = 24,  /* first bit of the piece's number, above a node's cells */
    RIGHT_AT = 12, /* first bit of a node's right cell */
    CELL_MASK = 0xfff,
    INPUTS = XYL_PAIRS_INPUTS,
    TOOK_INPUTS = 0xffe, /* in place of INPUTS that were taken */
    TOOK_CELL = 0xfff,   /* in place of a cell that was taken */
    BOTH = 0xffffff,     /* cells of a node */
    SECONDS_MAX = 4 /* full nodes that a seat leaves to other seats while it
                       still has input to contribute */
};

_Static_assert((int)INPUTS < (int)TOOK_INPUTS, "cells fit into a node");
_Static_assert((1 << XYL_PAIRS_CELLS_OF_WORD) - 1 == (int)USED &&
                   (int)RUN_AT == (int)XYL_PAIRS_CELLS_OF_WORD &&
                   (int)XYL_PAIRS_RUN_MAX == (1 << (CELLS_AT - RUN_AT)) - 1,
               "and their bits into a word");

/* ---- the tree ---- */

static uint32_t width_above(uint32_t width)
{
    return (width + 1) / 2;
}

static uint32_t nodes_of(uint32_t seats)
{
    uint32_t width, nodes = 0;

    for (width = seats; width > 1; width = width_above(width))
        nodes += width_above(width);
    return nodes;
}

size_t xyl_pairs_words_bytes(uint32_t seats)
{
    size_t bytes = sizeof(xyl_pairs_words_t) + (size_t)XYL_PAIRS_SEGMENTS *
                                                   nodes_of(seats) *
                                                   sizeof(uint64_t);

    return (bytes + 127) / 128 * 128;
}

uint32_t xyl_pairs_homes(uint32_t seats)
{
    return width_above(seats);
}

static uint32_t width_at(const xyl_pairs_piece_t *piece, uint32_t level)
{
    uint32_t width = piece->contributors;

    for (; level != 0; level--)
        width = width_above(width);
    return width;
}

/* Moves the partial up to a level where it has a partner, or to the top. */
static void rise(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    uint32_t width = width_at(piece, pairs->level);

    while (width > 1 && (pairs->index ^ 1) >= width) {
        pairs->level++;
        pairs->index /= 2;
        width = width_above(width);
    }
}

/* Moves the partial above the node in which it has met another. */
static void rise_above(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    pairs->level++;
    pairs->index /= 2;
    rise(piece, pairs);
}

/* The node in which the partial meets another. */
static _Atomic uint64_t *node_above(const xyl_pairs_piece_t *piece,
                                    const xyl_pairs_t *pairs)
{
    uint32_t width = width_above(piece->contributors), number = 0, level;

    for (level = 0; level < pairs->level; level++) {
        number += width;
        width = width_above(width);
    }
    number += pairs->segment * nodes_of(piece->contributors) + pairs->index / 2;
    return &piece->words->nodes[number];
}

static void keep_place(xyl_pairs_t *pairs)
{
    pairs->levels[pairs->segment] = (uint8_t)pairs->level;
    pairs->indexes[pairs->segment] = (uint16_t)pairs->index;
}

static int is_at_top(const xyl_pairs_piece_t *piece, const xyl_pairs_t *pairs)
{
    return width_at(piece, pairs->level) == 2;
}

void xyl_pairs_inputs(const xyl_pairs_piece_t *piece, const xyl_pairs_t *pairs,
                      int is_right, uint32_t *first_out, uint32_t *end_out)
{
    uint32_t index = (pairs->index & ~UINT32_C(1)) + (uint32_t)is_right;

    if (pairs->is_copy)
        index = pairs->index;
    *first_out = index << pairs->level;
    *end_out = (index + 1) << pairs->level;
    if (*end_out > piece->contributors)
        *end_out = piece->contributors;
}

/* ---- words ---- */

static uint64_t bit_of(uint32_t segment)
{
    return UINT64_C(1) << segment;
}

/* The word of a node: the low bits of the piece's number, and the two cells.
 * The same low bits come back after so many pieces (2^40; in words of cells
 * 2^33) that no seat takes an old word for one of this piece. */
static uint64_t node_value(const xyl_pairs_piece_t *piece, uint64_t cells)
{
    return piece->number << NODE_AT | cells;
}

static int pairs_is_of(const xyl_pairs_piece_t *piece, uint64_t node)
{
    return node >> NODE_AT == node_value(piece, 0) >> NODE_AT;
}

static uint32_t left_in(uint64_t node)
{
    return (uint32_t)node & CELL_MASK;
}

static uint32_t right_in(uint64_t node)
{
    return (uint32_t)(node >> RIGHT_AT) & CELL_MASK;
}

/* The left or the right cell of the node; 0: there is none. */
static uint32_t side_in(const xyl_pairs_piece_t *piece, uint64_t node,
                        uint32_t is_right)
{
    if (!pairs_is_of(piece, node))
        return 0;
    return is_right != 0 ? right_in(node) : left_in(node);
}

static uint64_t taken_side(uint32_t cell)
{
    return cell == INPUTS ? TOOK_INPUTS : TOOK_CELL;
}

/* The node's word when a seat has taken what `node` has. */
static uint64_t taken_value(const xyl_pairs_piece_t *piece, uint64_t node)
{
    return node_value(piece, taken_side(left_in(node)) |
                                 taken_side(right_in(node)) << RIGHT_AT);
}

/* ---- cells ---- */

/* The run and the cells' bits in the word; 0: the word is of an earlier piece.
 * See node_value on numbers. */
static uint64_t cells_seen(const xyl_pairs_piece_t *piece, uint64_t word)
{
    uint64_t base = piece->number << CELLS_AT;

    return word >> CELLS_AT == base >> CELLS_AT ? word - base : 0;
}

static uint32_t run_in(uint64_t cells)
{
    return (uint32_t)(cells >> RUN_AT) & XYL_PAIRS_RUN_MAX;
}

static uint32_t words_for(uint32_t cells)
{
    return (cells + XYL_PAIRS_CELLS_OF_WORD - 1) / XYL_PAIRS_CELLS_OF_WORD;
}

uint32_t xyl_pairs_run_of(const xyl_pairs_piece_t *piece, uint32_t cell)
{
    if (cell <= piece->near)
        return 0;
    return run_in(cells_seen(
        piece,
        xyl_seats_get(
            piece->seats,
            &piece->words->cells[(cell - 1) / XYL_PAIRS_CELLS_OF_WORD])));
}

/* Takes a free cell of word `number`, one of those whose bits are in `wanted`.
 * 0: none is free, or the word's cells have no memory, because they are outside
 * the window and the word has no run. */
static uint32_t cell_take_of(const xyl_pairs_piece_t *piece, uint32_t number,
                             uint64_t wanted)
{
    _Atomic uint64_t *word = &piece->words->cells[number];
    uint64_t base = piece->number << CELLS_AT,
             seen = xyl_seats_get(piece->seats, word);
    int is_near = number < words_for(piece->near);
    uint64_t cells, bits;

    do {
        cells = cells_seen(piece, seen);
        bits = is_near || run_in(cells) != 0 ? wanted & ~cells : 0;
        if (bits == 0)
            return 0;
        bits &= ~bits + 1;
    } while (!xyl_seats_swap(piece->seats, word, &seen, base | cells | bits));
    return number * XYL_PAIRS_CELLS_OF_WORD + (uint32_t)__builtin_ctzll(bits) +
           1;
}

static void cell_free(const xyl_pairs_piece_t *piece, uint32_t cell)
{
    uint32_t number = (cell - 1) / XYL_PAIRS_CELLS_OF_WORD;
    _Atomic uint64_t *word = &piece->words->cells[number];
    uint64_t bit = UINT64_C(1) << (cell - 1) % XYL_PAIRS_CELLS_OF_WORD;
    uint64_t seen = xyl_seats_get(piece->seats, word), cells, left;

    do {
        cells = cells_seen(piece, seen);
        assert((cells & bit) != 0);
        left = (cells & USED) == bit ? 0 : cells & ~bit;
    } while (!xyl_seats_swap(piece->seats, word, &seen,
                             piece->number << CELLS_AT | left));
    if (left == 0 && run_in(cells) != 0)
        piece->runs.give(piece->runs.arg, run_in(cells));
}

/* Takes a cell that any seat may use: one in the window, else one in a run. In
 * the window different pairs begin to look at different words. 0: no cell is
 * free. */
static uint32_t cell_take(const xyl_pairs_piece_t *piece)
{
    const uint32_t each = XYL_PAIRS_CELLS_OF_WORD;
    uint32_t home = piece->place / 2, cell = 0, i, word, left;
    uint32_t from = words_for(xyl_pairs_homes(piece->contributors));
    uint32_t near = words_for(piece->near);

    for (i = from; i < near && cell == 0; i++) {
        word = from + (i - from + home) % (near - from);
        left = piece->near - word * each;
        cell = cell_take_of(piece, word,
                            left < each ? bit_of(left) - 1 : bit_of(each) - 1);
    }
    for (i = near; i < words_for(piece->cells) && cell == 0; i++)
        cell = cell_take_of(piece, i, USED);
    return cell;
}

/* Takes the pair's home cell; 0: the cell is in use, or an earlier segment
 * still needs this seat's input. If this seat has put INPUTS there, the partner
 * may need the cell. */
static uint32_t home_take(const xyl_pairs_piece_t *piece,
                          const xyl_pairs_t *pairs)
{
    const uint32_t each = XYL_PAIRS_CELLS_OF_WORD;
    uint32_t home = piece->place / 2;
    uint64_t before = bit_of(pairs->segment) - 1;

    if ((pairs->added & ~pairs->lying & before) != before)
        return 0;
    return cell_take_of(piece, home / each, bit_of(home % each));
}

/* Gives the run to the first word without one, and takes its first cell; 0: all
 * words have a run. */
static uint32_t run_place(const xyl_pairs_piece_t *piece, uint32_t run)
{
    const uint64_t cells = (uint64_t)run << RUN_AT | 1;
    uint32_t i;

    for (i = words_for(piece->near); i < words_for(piece->cells); i++) {
        _Atomic uint64_t *word = &piece->words->cells[i];
        uint64_t seen = xyl_seats_get(piece->seats, word);
        while (cells_seen(piece, seen) == 0)
            if (xyl_seats_swap(piece->seats, word, &seen,
                               piece->number << CELLS_AT | cells))
                return i * XYL_PAIRS_CELLS_OF_WORD + 1;
    }
    return 0;
}

/* ---- passes ---- */

static uint64_t all_of(const xyl_pairs_piece_t *piece)
{
    return UINT64_MAX >> (XYL_PAIRS_SEGMENTS - piece->segments);
}

static void say(xyl_pairs_t *pairs, xyl_pairs_state_t then)
{
    pairs->state = XYL_PAIRS_SAY;
    pairs->then = then;
}

/* Chooses what the seat looks at next; MARK: this pass has nothing left. */
static void choose(xyl_pairs_t *pairs)
{
    if (pairs->tend != 0)
        pairs->state = XYL_PAIRS_TEND;
    else if (pairs->look != 0)
        pairs->state = XYL_PAIRS_LOOK;
    else
        pairs->state = XYL_PAIRS_MARK;
}

int xyl_pairs_has_added(const xyl_pairs_piece_t *piece,
                        const xyl_pairs_t *pairs)
{
    return pairs->added == all_of(piece) && pairs->second == 0;
}

/* 1: this seat may leave: no other seat waits for it or reads its input, and it
 * need not look after the first cells that it has put into nodes. */
static int pairs_lacks_nothing(const xyl_pairs_piece_t *piece,
                               const xyl_pairs_t *pairs)
{
    return xyl_pairs_has_added(piece, pairs) && pairs->lying == 0 &&
           (pairs->first == 0 || !piece->waits);
}

static void pairs_pass(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    pairs->look = all_of(piece) & piece->ready & ~pairs->added;
    pairs->has_swept = pairs->lacks_room = pairs->withdraws = 0;
    pairs->tend =
        pairs->look == 0 || (piece->follows &&
                             __builtin_popcountll(pairs->second) >= SECONDS_MAX)
            ? pairs->second
            : 0;
    if (pairs_lacks_nothing(piece, pairs))
        pairs->state = pairs->is_marked ? XYL_PAIRS_UNMARK : XYL_PAIRS_DONE;
    else
        choose(pairs);
}

/* Called at the end of a pass without work. The seat first looks at all cells
 * that it has put. If it still finds no work, it marks itself and makes one
 * more pass; then it waits. */
static xyl_sum_next_t rest(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    if (!pairs->has_swept) {
        pairs->has_swept = 1;
        pairs->tend = pairs->first | pairs->second;
        if (pairs->tend != 0) {
            pairs->state = XYL_PAIRS_TEND;
            return XYL_SUM_STEP;
        }
    }
    pairs->state = XYL_PAIRS_PASS;
    if (pairs_lacks_nothing(piece, pairs))
        return XYL_SUM_STEP;
    if (pairs->is_marked)
        return XYL_SUM_WAIT;
    xyl_seats_mark(piece->seats, piece->words->waiting, 1);
    pairs->is_marked = 1;
    return XYL_SUM_STEP;
}

/* ---- work ---- */

/* The operand's cell; 0: the operand is in no cell. */
static uint32_t cell_of(uint32_t operand)
{
    return operand == (uint32_t)INPUTS ? UINT32_C(0) : operand;
}

/* The sum goes into a cell of the operands; at the top of the tree, into the
 * result. If one of two cells is a home cell, that one is freed. */
static void combine(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs,
                    uint32_t left, uint32_t right)
{
    uint32_t homes = xyl_pairs_homes(piece->contributors);
    uint32_t one = cell_of(left), other = cell_of(right);

    pairs->left = left;
    pairs->right = right;
    pairs->is_copy = 0;
    pairs->is_top = (uint32_t)is_at_top(piece, pairs);
    pairs->reads_inputs = left == INPUTS || right == INPUTS;
    if (one == 0 || (one <= homes && other > homes)) {
        one = other;
        other = cell_of(left);
    }
    assert(one != 0 || pairs->is_top);
    pairs->cell = one;
    pairs->unused = other;
    pairs->to = pairs->is_top ? XYL_PAIRS_RESULT : one;
    pairs->state = XYL_PAIRS_WORK;
}

/* The segment at which this seat begins to look; each seat begins at another
 * one. */
static uint32_t own_share(const xyl_pairs_piece_t *piece)
{
    return (uint32_t)((uint64_t)piece->place * piece->segments /
                      piece->contributors);
}

/* Another seat has taken what this seat put into the node, and brings the sum,
 * or INPUTS, to the next node up the tree. This seat goes on to that node if it
 * follows its cells, or if others may read its input. */
static void follow(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs,
                   uint64_t bit)
{
    int was_second = (pairs->second & bit) != 0;
    int lies = (pairs->lying & bit) != 0;

    pairs->first &= ~bit;
    pairs->second &= ~bit;
    if ((piece->follows || lies) && !is_at_top(piece, pairs)) {
        rise_above(piece, pairs);
        keep_place(pairs);
        pairs->first |= bit;
        pairs->tend |= bit;
    } else if (lies) { /* another seat makes the result */
        pairs->first |= bit;
    }
    if (was_second)
        pairs->state = XYL_PAIRS_PASS; /* room for a further second cell */
    else
        choose(pairs);
}

/* Looks at a node into which the seat has put a cell: takes both cells if both
 * are there, follows them if another seat has taken them. If a cell is, or was,
 * on this seat's side of the node, the cell has the seat's input, and no other
 * seat reads the input any more. */
static void tend(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    _Atomic uint64_t *word;
    uint64_t bit, seen;
    uint32_t own, other;

    pairs->segment = xyl_sum_first_from(
        pairs->tend, pairs->has_swept ? own_share(piece) : 0);
    bit = bit_of(pairs->segment);
    pairs->tend &= ~bit;
    pairs->level = pairs->levels[pairs->segment];
    pairs->index = pairs->indexes[pairs->segment];
    word = node_above(piece, pairs);
    seen = xyl_seats_get(piece->seats, word);
    own = side_in(piece, seen, pairs->index % 2);
    other = side_in(piece, seen, pairs->index % 2 ^ 1);
    if (own != 0 && own != INPUTS && own != TOOK_INPUTS)
        pairs->lying &= ~bit;
    if (own >= (uint32_t)TOOK_INPUTS) {
        follow(piece, pairs, bit);
    } else if (own != 0 && other != 0 &&
               xyl_seats_swap(piece->seats, word, &seen,
                              taken_value(piece, seen))) {
        pairs->first &= ~bit;
        pairs->second &= ~bit;
        combine(piece, pairs, left_in(seen), right_in(seen));
    } else if (own == INPUTS && other == 0 && piece->leaves) {
        pairs->withdraws = 1;
        pairs->state = XYL_PAIRS_CELL;
    } else {
        choose(pairs); /* cells just taken are seen in the next pass */
    }
}

/* The segment to contribute to. A seat that copies begins with another segment
 * than its partner; seats whose input is read where it lies begin at their own
 * shares. */
static uint32_t next_to_add(const xyl_pairs_piece_t *piece,
                            const xyl_pairs_t *pairs)
{
    uint32_t segment = (uint32_t)__builtin_ctzll(pairs->look);

    if (piece->lies && !piece->leaves)
        return xyl_sum_first_from(pairs->look, own_share(piece));
    if (piece->place % 2 != 0 && (pairs->look >> (segment ^ 1) & 1) != 0)
        segment ^= 1;
    return segment;
}

/* Takes the partner's cell, if it is there, to combine it with this seat's
 * input. */
static void pairs_look(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    _Atomic uint64_t *word;
    uint64_t seen;

    pairs->segment = next_to_add(piece, pairs);
    pairs->level = 0;
    pairs->index = piece->place;
    rise(piece, pairs);
    word = node_above(piece, pairs);
    seen = xyl_seats_get(piece->seats, word);
    if (!pairs_is_of(piece, seen) || seen == node_value(piece, 0) ||
        (left_in(seen) | right_in(seen)) == INPUTS) {
        pairs->state = XYL_PAIRS_CELL;
        if (piece->lies && !piece->leaves) {
            pairs->cell = INPUTS;
            pairs->added |= bit_of(pairs->segment);
            pairs->lying |= bit_of(pairs->segment);
            pairs->state = XYL_PAIRS_PUT;
        }
        return;
    }
    while (!xyl_seats_swap(piece->seats, word, &seen, taken_value(piece, seen)))
        assert(0); /* no other seat may take the cell */
    combine(piece, pairs, left_in(seen), right_in(seen));
}

/* Has OWN, or INPUTS of one subtree, copied to the cell. */
static void copy_from(xyl_pairs_t *pairs, uint32_t operand)
{
    pairs->is_copy = 1;
    pairs->is_top = pairs->reads_inputs = 0;
    pairs->left = pairs->right = operand;
    pairs->unused = 0;
    pairs->to = pairs->cell;
    pairs->state = XYL_PAIRS_WORK;
}

/* Uses the cell for this seat's input, or for inputs that it withdraws. If
 * `cell` is 0, the segment waits for the next pass. */
static void copy_to(xyl_pairs_t *pairs, uint32_t cell)
{
    pairs->look &= ~bit_of(pairs->segment);
    if (cell == 0) {
        pairs->withdraws = 0;
        choose(pairs);
        return;
    }
    pairs->cell = cell;
    if (pairs->withdraws)
        pairs->state = XYL_PAIRS_WITHDRAW;
    else
        copy_from(pairs, XYL_PAIRS_OWN);
}

/* Takes INPUTS out of the node, if no seat has done so and nothing has met
 * them. While the cell is made, the seats of the subtree wait for it. */
static void withdraw(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    uint64_t bit = bit_of(pairs->segment);
    uint64_t seen =
        node_value(piece, (uint64_t)INPUTS << (pairs->index % 2 * RIGHT_AT));

    pairs->withdraws = 0;
    if (xyl_seats_swap(piece->seats, node_above(piece, pairs), &seen,
                       node_value(piece, 0))) {
        pairs->first &= ~bit;
        pairs->second &= ~bit;
        copy_from(pairs, INPUTS);
        return;
    }
    pairs->unused = pairs->cell;
    pairs->cell = pairs->is_top = 0;
    pairs->state = XYL_PAIRS_FREE;
}

/* The home cell, if this seat puts its own input. INPUTS that it withdraws get
 * no home cell: the partner may need that for its input. */
static uint32_t last_cell(const xyl_pairs_piece_t *piece,
                          const xyl_pairs_t *pairs)
{
    return pairs->withdraws ? 0 : home_take(piece, pairs);
}

static void copy(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    uint32_t cell = pairs->lacks_room ? 0 : cell_take(piece);

    if (cell == 0 && !pairs->lacks_room) {
        if (piece->cells > piece->near)
            pairs->run = piece->runs.take(piece->runs.arg);
        pairs->lacks_room = pairs->run == 0;
        if (pairs->run != 0) {
            pairs->state = XYL_PAIRS_RUN;
            return;
        }
    }
    copy_to(pairs, cell != 0 ? cell : last_cell(piece, pairs));
}

static void run_use(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    uint32_t cell = run_place(piece, pairs->run);

    if (cell == 0) {
        piece->runs.give(piece->runs.arg, pairs->run);
        pairs->lacks_room = 1; /* no word is without a run */
        cell = last_cell(piece, pairs);
    }
    pairs->run = 0;
    copy_to(pairs, cell);
    say(pairs, pairs->state); /* the run has cells for other seats */
}

/* Puts the partial into the node. INPUTS that meet INPUTS below the top go on
 * to the next node. */
static void pairs_put(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    _Atomic uint64_t *word = node_above(piece, pairs);
    uint64_t seen = xyl_seats_get(piece->seats, word),
             bit = bit_of(pairs->segment), cells;
    uint64_t own = (uint64_t)pairs->cell << (pairs->index % 2 * RIGHT_AT);
    int meets;

    do {
        cells = own | (pairs_is_of(piece, seen) ? seen & BOTH : 0);
        meets = left_in(cells) == INPUTS && right_in(cells) == INPUTS &&
                !is_at_top(piece, pairs);
        if (meets)
            cells = taken_value(piece, cells) & BOTH;
    } while (
        !xyl_seats_swap(piece->seats, word, &seen, node_value(piece, cells)));
    if (meets) {
        rise_above(piece, pairs);
        return;
    }
    if (cells == own)
        pairs->first |= bit;
    else
        pairs->second |= bit;
    keep_place(pairs);
    say(pairs, XYL_PAIRS_PASS);
}

/* Called when the result has been made of INPUTS: takes INPUTS out of the word
 * at the top, so that their seats see them free. */
static void let_go(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    _Atomic uint64_t *word = node_above(piece, pairs);
    uint64_t seen = xyl_seats_get(piece->seats, word);

    while (!xyl_seats_swap(piece->seats, word, &seen, taken_value(piece, 0)))
        assert(0); /* the word was taken, and no other seat changes it */
    pairs->reads_inputs = 0;
    say(pairs, XYL_PAIRS_PASS);
}

/* ---- steps ---- */

xyl_sum_next_t xyl_pairs_step(const xyl_pairs_piece_t *piece,
                              xyl_pairs_t *pairs)
{
    switch (pairs->state) {
    case XYL_PAIRS_FRESH:
        assert(piece->segments != 0 && piece->segments <= XYL_PAIRS_SEGMENTS &&
               piece->contributors > 1);
        pairs_pass(piece, pairs);
        break;
    case XYL_PAIRS_PASS:
        pairs_pass(piece, pairs);
        break;
    case XYL_PAIRS_TEND:
        tend(piece, pairs);
        break;
    case XYL_PAIRS_LOOK:
        pairs_look(piece, pairs);
        break;
    case XYL_PAIRS_CELL:
        copy(piece, pairs);
        break;
    case XYL_PAIRS_RUN:
        run_use(piece, pairs);
        break;
    case XYL_PAIRS_WITHDRAW:
        withdraw(piece, pairs);
        break;
    case XYL_PAIRS_MARK:
        return rest(piece, pairs);
    case XYL_PAIRS_WORK:
        return XYL_SUM_WORK;
    case XYL_PAIRS_PUT:
        pairs_put(piece, pairs);
        break;
    case XYL_PAIRS_FREE: /* one of the two cells that were combined */
        cell_free(piece, pairs->unused);
        if (pairs->is_top)
            say(pairs, XYL_PAIRS_FREE_LAST);
        else /* no cell: it was for INPUTS that this seat could not withdraw */
            say(pairs, pairs->cell == 0 ? XYL_PAIRS_PASS : XYL_PAIRS_PUT);
        break;
    case XYL_PAIRS_FREE_LAST: /* at the top of the tree, the other one */
        cell_free(piece, pairs->cell);
        say(pairs, XYL_PAIRS_FULL);
        break;
    case XYL_PAIRS_SAY:
        xyl_seats_wake(piece->seats, piece->words->waiting,
                       &piece->words->knock, piece->number << CELLS_AT | 1);
        pairs->state = pairs->then;
        break;
    case XYL_PAIRS_FULL:
        xyl_sum_mark_full(piece->seats, &piece->full, pairs->segment);
        pairs->state = pairs->reads_inputs ? XYL_PAIRS_LET_GO : XYL_PAIRS_PASS;
        break;
    case XYL_PAIRS_LET_GO:
        let_go(piece, pairs);
        break;
    case XYL_PAIRS_UNMARK:
        xyl_seats_mark(piece->seats, piece->words->waiting, 0);
        pairs->is_marked = 0;
        pairs->state = XYL_PAIRS_DONE;
        break;
    case XYL_PAIRS_DONE:
        return XYL_SUM_NONE;
    }
    return XYL_SUM_STEP;
}

void xyl_pairs_worked(const xyl_pairs_piece_t *piece, xyl_pairs_t *pairs)
{
    assert(pairs->state == XYL_PAIRS_WORK);
    pairs->works++;
    if (pairs->left == XYL_PAIRS_OWN || pairs->right == XYL_PAIRS_OWN)
        pairs->added |= bit_of(pairs->segment);
    pairs->lying &= ~bit_of(pairs->segment);
    if (!pairs->is_copy && !pairs->is_top)
        rise_above(piece, pairs);
    if (pairs->unused != 0)
        pairs->state = XYL_PAIRS_FREE;
    else if (pairs->cell == 0)
        pairs->state = XYL_PAIRS_FULL;
    else
        pairs->state = pairs->is_top ? XYL_PAIRS_FREE_LAST : XYL_PAIRS_PUT;
}
