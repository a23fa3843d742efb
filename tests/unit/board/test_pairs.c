/* Sums over a tree of pairs: every order of the accesses of a few seats to
 * shared words, with few cells and with many, with and without a seat that
 * stops for ever while it works; and random orders of more seats. In every
 * order the same operands are combined. */
#include "collectives/board/pairs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/orders.h"

enum {
    SEATS = 7,
    SEGMENTS = 3,
    NODES = 8,
    EXTRAS = 16, /* cells that are anybody's: beyond the homes */
    NEAR = XYL_PAIRS_CELLS_OF_WORD + EXTRAS,
    RUNS = 2, /* of cells that do not lie in the window, at most */
    CELLS = NEAR + RUNS * XYL_PAIRS_CELLS_OF_WORD,
    CELL_WORDS = CELLS / XYL_PAIRS_CELLS_OF_WORD,
    NUMBER = 77,
    CHANCES = 6000
};

/* The whole state; scenes are compared by their bytes. */
typedef struct scene {
    orders_scene_t of; /* first */
    uint64_t nodes[SEGMENTS][NODES], full[SEGMENTS], cells[CELL_WORDS], waiting;
    uint64_t runs; /* bits of free runs */
    xyl_pairs_t seats[SEATS];
    uint8_t holds[CELLS]; /* bits of the seats in a cell */
    uint8_t owner[CELLS]; /* its segment, and 1 */
    uint8_t results[SEGMENTS];
    uint8_t stays[SEATS]; /* it helps, though it waits for no result */
    uint8_t pad[8 - (2 * CELLS + SEGMENTS + SEATS) % 8];
} scene_t;

_Static_assert(sizeof(scene_t) % 8 == 0, "a scene is whole words");

typedef struct extent {
    uint32_t seats, segments, extras;
    int is_for_all;
    int may_stop; /* one of them, while it works */
    int is_simulated;
    int stay;          /* all, until there is nothing to do */
    int root_is_apart; /* the result is for none of them */
    int come_singly;   /* segments, to every other seat */
    uint32_t runs;     /* cells beyond the window are whole words then */
    uint32_t lie;      /* bits of seats whose input is read where it lies */
    int hasty;         /* seats stay only until they have added; 2: or until
                          they have added something */
} extent_t;

typedef struct play {
    orders_t orders; /* first */
    extent_t size;
    xyl_seats_t seats; /* as the stepping seat sees them */
    xyl_pairs_words_t *words;
    _Atomic uint64_t full[SEGMENTS];
    scene_t now;
} play_t;

static play_t *play_of(orders_t *orders)
{
    return (play_t *)(void *)orders;
}

static void wrong(play_t *play, const char *what)
{
    orders_wrong(&play->orders, what);
}

/* ---- scenes and words ---- */

static uint32_t nodes_of(const play_t *play)
{
    uint32_t width, nodes = 0;

    for (width = play->size.seats; width > 1; width = (width + 1) / 2)
        nodes += (width + 1) / 2;
    return nodes;
}

static void words_move(play_t *play, int loads)
{
    uint32_t i, k, nodes = nodes_of(play);
#define MOVE(word, value)                                                      \
    if (loads)                                                                 \
        atomic_store(word, value);                                             \
    else                                                                       \
        (value) = atomic_load(word)

    for (i = 0; i < play->size.segments; i++) {
        for (k = 0; k < nodes; k++)
            MOVE(&play->words->nodes[i * nodes + k], play->now.nodes[i][k]);
        MOVE(&play->full[i], play->now.full[i]);
    }
    for (i = 0; i < CELL_WORDS; i++)
        MOVE(&play->words->cells[i], play->now.cells[i]);
    MOVE(&play->words->waiting[0], play->now.waiting);
#undef MOVE
}

/* 1: the seat waits for the result: all do, or only the root. */
static int waits(const play_t *play, uint32_t seat)
{
    return play->size.is_for_all || (seat == 0 && !play->size.root_is_apart);
}

static int lies(const play_t *play, uint32_t seat)
{
    return (int)(play->size.lie >> seat & 1);
}

/* If segments come singly, the last ones come when this seat has added those
 * before. */
static uint64_t ready_of(const play_t *play, uint32_t seat)
{
    uint64_t added = play->now.seats[seat].added;

    return play->size.come_singly && seat % 2 == 0 ? added << 1 | 1
                                                   : UINT64_MAX;
}

static uint32_t run_take(void *arg)
{
    play_t *play = arg;
    uint64_t bit = play->now.runs & -play->now.runs;

    play->now.runs &= ~bit;
    return bit == 0 ? 0 : (uint32_t)__builtin_ctzll(bit) + 1;
}

static void run_give(void *arg, uint32_t run)
{
    play_t *play = arg;

    if (run == 0 || run > play->size.runs ||
        (play->now.runs >> (run - 1) & 1) != 0)
        wrong(play, "a run is given back twice");
    play->now.runs |= UINT64_C(1) << (run - 1);
}

/* The cells of the window: whole words, if there are more cells. */
static uint32_t near_of(const play_t *play)
{
    if (play->size.extras != 0 && play->size.runs != 0)
        return NEAR;
    if (play->size.extras != 0 || play->size.runs != 0)
        return XYL_PAIRS_CELLS_OF_WORD + play->size.extras;
    return xyl_pairs_homes(play->size.seats);
}

static xyl_pairs_piece_t piece_of(play_t *play, uint32_t seat)
{
    uint32_t near = near_of(play);

    play->seats = orders_seats(&play->orders, seat);
    return (xyl_pairs_piece_t){
        .seats = &play->seats,
        .words = play->words,
        .number = NUMBER,
        .contributors = play->size.seats,
        .place = seat,
        .segments = play->size.segments,
        .ready = ready_of(play, seat),
        .near = near,
        .cells = near + play->size.runs * XYL_PAIRS_CELLS_OF_WORD,
        .runs = {play, run_take, run_give},
        .lies = lies(play, seat),
        .leaves =
            lies(play, seat) && !waits(play, seat) && !play->now.stays[seat],
        .waits = waits(play, seat) || play->now.stays[seat],
        .follows = play->size.is_for_all || play->now.stays[seat],
        .full = {.flags = play->full,
                 .value = NUMBER << 16 | 1,
                 .readers = play->orders.ranks,
                 .count = play->size.is_for_all ? play->size.seats : 1}};
}

/* ---- work ---- */

/* Checks that the cell has memory. */
static void check_memory(play_t *play, uint32_t seat, uint32_t cell)
{
    xyl_pairs_piece_t piece = piece_of(play, seat);
    uint32_t run;

    words_move(play, 1);
    run = xyl_pairs_run_of(&piece, cell);
    if ((run == 0) != (cell <= piece.near) ||
        (run != 0 && (play->now.runs >> (run - 1) & 1) != 0))
        wrong(play, "a cell lies nowhere");
}

/* Bits of the seats whose inputs are an operand. */
static uint8_t inputs_of(play_t *play, uint32_t seat, int is_right)
{
    xyl_pairs_piece_t piece = piece_of(play, seat);
    uint32_t first, end, bits, i;

    xyl_pairs_inputs(&piece, &play->now.seats[seat], is_right, &first, &end);
    bits = (1u << end) - (1u << first);
    if ((play->size.lie & bits) != bits)
        wrong(play, "an input is read that does not lie open");
    for (i = first; i < end; i++)
        if (play->now.seats[i].state == XYL_PAIRS_DONE)
            wrong(play, "an input is read whose seat has gone");
    return (uint8_t)bits;
}

/* Bits of the seats in an operand. */
static uint8_t operand(play_t *play, uint32_t seat, int is_right)
{
    const xyl_pairs_t *p = &play->now.seats[seat];
    uint32_t from = is_right ? p->right : p->left;

    if (from == XYL_PAIRS_OWN)
        return (uint8_t)(1 << seat);
    if (from == XYL_PAIRS_INPUTS)
        return inputs_of(play, seat, is_right);
    if (play->now.owner[from - 1] != p->segment + 1)
        wrong(play, "a cell is another segment's");
    check_memory(play, seat, from);
    return play->now.holds[from - 1];
}

/* Left and right are the two halves of a subtree. */
static void check_halves(play_t *play, uint32_t left, uint32_t right)
{
    uint32_t from = (uint32_t)__builtin_ctz(left | 256), size;

    size = (uint32_t)__builtin_popcount(left);
    if (left == 0 || right == 0 || (left & right) != 0)
        wrong(play, "something is combined with nothing, or twice");
    else if ((size & (size - 1)) != 0 || from % (2 * size) != 0 ||
             left >> from != (1u << size) - 1 ||
             (uint32_t)__builtin_ctz(right) != from + size ||
             right >> (from + size) != (1u << __builtin_popcount(right)) - 1)
        wrong(play, "the wrong ones are combined");
}

static void work(play_t *play, uint32_t seat)
{
    xyl_pairs_piece_t piece = piece_of(play, seat);
    xyl_pairs_t *p = &play->now.seats[seat];
    uint8_t left = operand(play, seat, 0), all = left;

    if (!p->is_copy) {
        uint8_t right = operand(play, seat, 1);
        check_halves(play, left, right);
        all = left | right;
    }
    if (p->to == XYL_PAIRS_RESULT) {
        play->now.results[p->segment] = all;
    } else {
        if (p->is_copy && play->now.owner[p->to - 1] != 0)
            wrong(play, "a cell is given out twice");
        check_memory(play, seat, p->to);
        play->now.holds[p->to - 1] = all;
        play->now.owner[p->to - 1] = (uint8_t)(p->segment + 1);
    }
    if (!p->is_copy && p->unused != XYL_PAIRS_OWN)
        play->now.owner[p->unused - 1] = play->now.holds[p->unused - 1] = 0;
    if (p->is_top && p->cell != 0)
        play->now.owner[p->cell - 1] = play->now.holds[p->cell - 1] = 0;
    xyl_pairs_worked(&piece, p);
}

/* ---- steps ---- */

static int has_stayed(const play_t *play, const xyl_pairs_piece_t *piece,
                      const xyl_pairs_t *p, xyl_sum_next_t next)
{
    if (play->size.hasty == 2 && p->state == XYL_PAIRS_PASS && p->added != 0)
        return 1;
    return (next == XYL_SUM_WAIT ||
            (play->size.hasty != 0 && p->state == XYL_PAIRS_PASS)) &&
           xyl_pairs_has_added(piece, p);
}

/* Runs a seat up to and with one access to a shared word. */
static void step(orders_t *orders, uint32_t seat)
{
    play_t *play = play_of(orders);
    xyl_pairs_piece_t piece = piece_of(play, seat);
    xyl_pairs_t *p = &play->now.seats[seat];
    xyl_sum_next_t next;

    if (p->state == XYL_PAIRS_WORK) {
        work(play, seat);
        return;
    }
    words_move(play, 1);
    next = XYL_SUM_STEP;
    if (p->state == XYL_PAIRS_FRESH || p->state == XYL_PAIRS_PASS)
        next = xyl_pairs_step(&piece, p);
    if (next == XYL_SUM_STEP)
        next = xyl_pairs_step(&piece, p);
    words_move(play, 0);
    if (p->state == XYL_PAIRS_WORK)
        orders_wake(orders, seat);
    if (play->now.stays[seat] && has_stayed(play, &piece, p, next))
        play->now.stays[seat] = 0; /* that was long enough */
    else if (next == XYL_SUM_WAIT)
        orders_rest(orders, seat);
}

static int is_done(const orders_t *orders, uint32_t seat)
{
    return ((const play_t *)(const void *)orders)->now.seats[seat].state ==
           XYL_PAIRS_DONE;
}

static int works(const orders_t *orders, uint32_t seat)
{
    return ((const play_t *)(const void *)orders)->now.seats[seat].state ==
           XYL_PAIRS_WORK;
}

static int reads_inputs(const play_t *play, uint32_t seat)
{
    const xyl_pairs_t *p = &play->now.seats[seat];

    return p->state == XYL_PAIRS_WORK &&
           (p->left == XYL_PAIRS_INPUTS || p->right == XYL_PAIRS_INPUTS);
}

/* If one seat has stopped, the others come to their ends only if they do not
 * wait for the result, if there are cells enough, and if the seat reads no
 * inputs of others. */
static void check_end(orders_t *orders)
{
    play_t *play = play_of(orders);
    const extent_t *size = &play->size;
    uint8_t all = (uint8_t)((1 << size->seats) - 1);
    int has_stopped = play->now.of.stopped != ORDERS_NOBODY;
    uint32_t i;

    for (i = 0; i < size->seats; i++)
        if (!is_done(orders, i) && i != play->now.of.stopped &&
            (!has_stopped ||
             (!waits(play, i) && (size->extras != 0 || size->runs != 0) &&
              !reads_inputs(play, play->now.of.stopped))))
            wrong(play, "somebody waits for ever");
    if (has_stopped)
        return;
    for (i = 0; i < size->segments; i++)
        if (play->now.results[i] != all || play->now.full[i] == 0)
            wrong(play, "a result is not there");
    for (i = 0; i < CELL_WORDS; i++)
        if (play->now.cells[i] >> 26 == NUMBER &&
            (play->now.cells[i] & 0x3ffffff) != 0)
            wrong(play, "cells are lost");
    if (play->now.runs != (UINT64_C(1) << size->runs) - 1)
        wrong(play, "a run is lost");
    if (play->now.waiting != 0)
        wrong(play, "a mark is left");
}

/* Clears members that no longer matter, so that they make no difference. */
static void forget_one(xyl_pairs_t *p)
{
    int has_cell = p->state >= XYL_PAIRS_WORK && p->state <= XYL_PAIRS_LET_GO;
    uint32_t i;

    p->works = 0;
    for (i = 0; i < XYL_PAIRS_SEGMENTS; i++)
        if (((p->first | p->second | p->lying) >> i & 1) == 0) {
            p->indexes[i] = 0;
            p->levels[i] = 0;
        }
    if (p->state != XYL_PAIRS_SAY)
        p->then = 0;
    if (p->state == XYL_PAIRS_PASS || p->state == XYL_PAIRS_DONE)
        p->look = p->tend = p->has_swept = p->lacks_room = 0;
    if (p->state == XYL_PAIRS_PASS || p->state == XYL_PAIRS_DONE ||
        (p->state == XYL_PAIRS_SAY && p->then == XYL_PAIRS_PASS))
        p->segment = p->level = p->index = 0;
    if (p->state != XYL_PAIRS_WORK && p->then != XYL_PAIRS_WORK)
        p->left = p->right = p->to = p->is_copy = 0;
    if (!has_cell || (p->state == XYL_PAIRS_SAY && p->then == XYL_PAIRS_PASS))
        p->cell = p->unused = p->is_top = 0;
}

static void forget(orders_t *orders)
{
    uint32_t i;

    for (i = 0; i < orders->seats; i++)
        forget_one(&play_of(orders)->now.seats[i]);
}

static const orders_ops_t play_ops = {.step = step,
                                      .is_done = is_done,
                                      .works = works,
                                      .forget = forget,
                                      .check_end = check_end};

/* ---- plays ---- */

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static play_t *play_create(void)
{
    play_t *play = must(calloc(1, sizeof *play));

    play->words = must(aligned_alloc(128, xyl_pairs_words_bytes(SEATS)));
    return play;
}

static void play_destroy(play_t *play)
{
    free(play->words);
    free(play);
}

static void play_init(play_t *play, const extent_t *size)
{
    xyl_pairs_words_t *words = play->words;
    uint32_t i, k;

    memset(play, 0, sizeof *play);
    memset(words, 0, xyl_pairs_words_bytes(SEATS));
    play->words = words;
    play->size = *size;
    play->orders.now = &play->now.of;
    play->orders.scene_bytes = sizeof play->now;
    play->orders.seats = size->seats;
    play->orders.may_stop = size->may_stop;
    play->orders.is_simulated = size->is_simulated;
    orders_init(&play->orders, &play_ops);
    /* The first is the root, if one is. */
    for (i = size->root_is_apart ? 0 : 1; i < size->seats; i++)
        play->now.stays[i] = size->stay && !size->is_for_all;
    /* Left by another piece. */
    for (i = 0; i < CELL_WORDS; i++)
        play->now.cells[i] = ((uint64_t)NUMBER - 1) << 26 | 1 << 16 | 5;
    play->now.runs = (UINT64_C(1) << size->runs) - 1;
    for (i = 0; i < size->segments; i++)
        for (k = 0; k < nodes_of(play); k++)
            play->now.nodes[i][k] = (NUMBER - 1) << 24 | 0xffffff;
}

/* Two of them have a third of all scenes, and sanitizers see nothing there that
 * is not in the others. */
static int takes_long(const extent_t *size)
{
    return size->seats == 3 && size->is_for_all && !size->may_stop &&
           (size->segments == 2 || size->runs != 0);
}

static void every_order(const extent_t *size)
{
    play_t *play;
    uint64_t scenes;

    if (CHECK_IS_SLOW && takes_long(size))
        return;
    play = play_create();
    play_init(play, size);
    scenes = orders_every(&play->orders);
    printf("# %u seats, %u segments, %u extras, %u runs, %#x lie%s%s%s: "
           "%" PRIu64 " scenes\n",
           size->seats, size->segments, size->extras, size->runs, size->lie,
           size->is_for_all ? ", for all" : "",
           size->may_stop ? ", one stops" : "", size->stay ? ", they stay" : "",
           scenes);
    play_destroy(play);
}

static void test_every_order(void)
{
    static const extent_t sizes[] = {{2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {2, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {2, 2, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0},
                                     {2, 2, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {2, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0},
                                     {2, 2, 2, 0, 0, 1, 1, 0, 0, 0, 0, 0},
                                     {3, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0},
                                     {3, 1, 2, 0, 0, 0, 0, 1, 0, 0, 0, 0},
                                     {3, 2, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0},
                                     {2, 2, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0},
                                     {3, 1, 2, 0, 0, 0, 1, 1, 0, 0, 0, 0},
                                     {2, 3, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0},
                                     {3, 2, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

static void test_one_stops(void)
{
    static const extent_t sizes[] = {{2, 1, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0},
                                     {2, 2, 4, 0, 1, 1, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 4, 0, 1, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 4, 1, 1, 0, 0, 0, 0, 0, 0, 0},
                                     {3, 1, 4, 0, 1, 0, 1, 0, 0, 0, 0, 0},
                                     {3, 1, 4, 0, 1, 0, 0, 1, 0, 0, 0, 0},
                                     {2, 2, 4, 0, 1, 0, 1, 1, 0, 0, 0, 0}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

/* Cells outside the window: taken and given back by the word, in every order;
 * there are enough for seats that wait for no result, even if one stops. */
static void test_runs(void)
{
    static const extent_t sizes[] = {
        {.seats = 2, .segments = 2, .runs = 1},
        {.seats = 2, .segments = 2, .runs = 2, .is_for_all = 1},
        {.seats = 2, .segments = 3, .runs = 1, .is_for_all = 1},
        {.seats = 2, .segments = 2, .runs = 2, .is_simulated = 1},
        {.seats = 2, .segments = 2, .runs = 2, .stay = 1},
        {.seats = 3, .segments = 1, .runs = 1, .is_for_all = 1},
        {.seats = 3, .segments = 1, .runs = 2},
        {.seats = 3, .segments = 1, .runs = 2, .root_is_apart = 1},
        {.seats = 2, .segments = 2, .runs = 1, .may_stop = 1},
        {.seats = 3, .segments = 1, .runs = 1, .may_stop = 1}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

/* Inputs that are read where they lie: all of them, or beside others that are
 * copied. */
static void test_lie(void)
{
    static const extent_t sizes[] = {
        {.seats = 2, .segments = 2, .is_for_all = 1, .lie = 3},
        {.seats = 2, .segments = 2, .is_for_all = 1, .lie = 1},
        {.seats = 2, .segments = 2, .is_for_all = 1, .lie = 2, .extras = 1},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 7},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 3},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 5},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 4},
        {.seats = 3, .segments = 2, .is_for_all = 1, .lie = 7},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 5, .runs = 1},
        {.seats = 2, .segments = 2, .is_for_all = 1, .lie = 3, .may_stop = 1},
        {.seats = 3, .segments = 1, .is_for_all = 1, .lie = 6, .may_stop = 1}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

/* The same in a reduce: seats that wait for no result withdraw their inputs
 * when they have waited, or at once. */
static void test_withdraw(void)
{
    static const extent_t sizes[] = {
        {.seats = 2, .segments = 2, .lie = 3, .stay = 1, .extras = 1},
        {.seats = 2, .segments = 2, .lie = 2, .stay = 1, .extras = 1},
        {.seats = 2, .segments = 1, .lie = 3, .stay = 1, .runs = 1},
        {.seats = 3, .segments = 1, .lie = 7, .stay = 1, .extras = 2},
        {.seats = 3, .segments = 1, .lie = 7, .stay = 1},
        {.seats = 3, .segments = 1, .lie = 3, .stay = 1, .extras = 2},
        {.seats = 3, .segments = 1, .lie = 6, .stay = 1, .extras = 1},
        {.seats = 3, .segments = 1, .lie = 7, .extras = 2},
        {.seats = 3,
         .segments = 1,
         .lie = 7,
         .stay = 1,
         .extras = 2,
         .hasty = 1},
        {.seats = 3,
         .segments = 1,
         .lie = 5,
         .stay = 1,
         .extras = 2,
         .hasty = 1},
        {.seats = 2,
         .segments = 2,
         .lie = 3,
         .stay = 1,
         .extras = 1,
         .hasty = 1,
         .root_is_apart = 1},
        {.seats = 3,
         .segments = 1,
         .lie = 7,
         .stay = 1,
         .extras = 2,
         .hasty = 1,
         .root_is_apart = 1},
        {.seats = 3, .segments = 1, .lie = 7, .stay = 1, .root_is_apart = 1},
        {.seats = 2,
         .segments = 3,
         .lie = 2,
         .stay = 1,
         .hasty = 2,
         .root_is_apart = 1},
        {.seats = 3,
         .segments = 2,
         .lie = 2,
         .stay = 1,
         .hasty = 2,
         .come_singly = 1,
         .root_is_apart = 1},
        {.seats = 2,
         .segments = 2,
         .lie = 3,
         .stay = 1,
         .extras = 4,
         .may_stop = 1,
         .hasty = 1},
        {.seats = 3,
         .segments = 1,
         .lie = 7,
         .stay = 1,
         .extras = 4,
         .may_stop = 1,
         .root_is_apart = 1}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

/* More seats. */
static void test_by_chance(void)
{
    play_t *play = play_create();
    uint64_t random = random_mix(5);
    uint32_t i;

    for (i = 0; i < check_cases(CHANCES) && check_failures() == 0; i++) {
        extent_t size = {.seats = random_between(&random, 2, SEATS),
                         .segments = random_between(&random, 1, SEGMENTS),
                         .extras = random_below(&random, EXTRAS + 1),
                         .is_for_all = random_below(&random, 2) == 0,
                         .may_stop = random_below(&random, 3) == 0,
                         .is_simulated = random_below(&random, 2) == 0,
                         .stay = random_below(&random, 2) == 0,
                         .root_is_apart = random_below(&random, 2) == 0,
                         .come_singly = random_below(&random, 3) == 0,
                         .runs = random_below(&random, RUNS + 1)};
        if (size.may_stop)
            size.extras = EXTRAS;
        if (random_below(&random, 3) != 0)
            size.lie = random_between(&random, 0, 1) != 0
                           ? (1u << size.seats) - 1
                           : random_below(&random, 1u << size.seats);
        size.hasty = (int)random_below(&random, 3);
        play_init(play, &size);
        orders_by_chance(&play->orders, &random);
    }
    play_destroy(play);
}

static const check_case_t cases[] = {
    {"every_order", test_every_order},
    {"one_stops", test_one_stops},
    {"runs", test_runs},
    {"lie", test_lie},
    {"withdraw", test_withdraw},
    {"by_chance", test_by_chance},
};
CHECK_MAIN(cases)
