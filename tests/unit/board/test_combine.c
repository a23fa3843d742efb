/* Sums that seats add to as they come: every order of the accesses of a few
 * seats to shared words, with and without a seat that stops for ever while it
 * adds; and random orders of more seats. */
#include "collectives/board/combine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/orders.h"

enum {
    SEATS = 8, /* that add; the reader comes behind them */
    SEGMENTS = 4,
    CELLS = SEGMENTS + XYL_COMBINE_SPARES_MAX,
    NUMBER = 77,
    CHANCES = 4000
};

/* ---- a few seats in plain memory ---- */

/* The whole state; scenes are compared by their bytes. */
typedef struct scene {
    orders_scene_t of; /* first */
    uint64_t segments[SEGMENTS], full[SEGMENTS], spares, waiting;
    xyl_combine_t seats[SEATS];
    uint8_t holds[CELLS]; /* bits of the seats in the sum */
    uint8_t collected, look, has_found;
} scene_t;

typedef struct size {
    uint32_t seats, segments, spares;
    int may_stop; /* one of them, while it works */
    int is_simulated;
} extent_t;

typedef struct play {
    orders_t orders; /* first */
    extent_t size;
    xyl_seats_t seats; /* as the stepping seat sees them */
    xyl_combine_words_t words;
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

static void words_load(play_t *play)
{
    uint32_t i;

    for (i = 0; i < SEGMENTS; i++) {
        atomic_store(&play->words.segments[i], play->now.segments[i]);
        atomic_store(&play->full[i], play->now.full[i]);
    }
    atomic_store(&play->words.spares, play->now.spares);
    atomic_store(&play->words.waiting[0], play->now.waiting);
}

static void words_store(play_t *play)
{
    uint32_t i;

    for (i = 0; i < SEGMENTS; i++) {
        play->now.segments[i] = atomic_load(&play->words.segments[i]);
        play->now.full[i] = atomic_load(&play->full[i]);
    }
    play->now.spares = atomic_load(&play->words.spares);
    play->now.waiting = atomic_load(&play->words.waiting[0]);
}

static xyl_combine_piece_t piece_of(play_t *play, uint32_t seat)
{
    play->seats = orders_seats(&play->orders, seat);
    return (xyl_combine_piece_t){
        .seats = &play->seats,
        .words = &play->words,
        .number = NUMBER,
        .segments = play->size.segments,
        .spares = play->size.spares,
        .contributors = play->size.seats,
        .first = seat * play->size.segments / (play->size.seats + 1),
        .full = {.flags = play->full,
                 .value = NUMBER << 16 | 1,
                 .readers = &play->orders.ranks[play->size.seats],
                 .count = 1}};
}

/* ---- work ---- */

static uint8_t *cell_of(play_t *play, const xyl_combine_t *c, uint32_t cell)
{
    return &play->now.holds[cell == XYL_COMBINE_HOME
                                ? c->segment
                                : SEGMENTS + cell - XYL_COMBINE_FIRST_SPARE];
}

/* Counts and the contents of cells must agree whenever a seat looks. */
static void check_taken(play_t *play, const xyl_combine_t *c)
{
    uint8_t holds = *cell_of(play, c, c->cell);

    if (c->work == XYL_COMBINE_COPY && holds != 0)
        wrong(play, "a cell is given out twice");
    if ((uint32_t)__builtin_popcount(holds) != c->count)
        wrong(play, "a count is not that of the sum");
}

static void work(play_t *play, uint32_t seat)
{
    xyl_combine_t *c = &play->now.seats[seat];
    uint8_t *cell = cell_of(play, c, c->cell), *other, own;

    check_taken(play, c);
    own = (uint8_t)(1 << seat);
    if (c->work == XYL_COMBINE_MERGE) {
        other = cell_of(play, c, c->other);
        own = *other;
        *other = 0;
        if (other == cell || own == 0)
            wrong(play, "there is nothing to merge");
    }
    if ((*cell & own) != 0)
        wrong(play, "something is added twice");
    *cell |= own;
    xyl_combine_worked(c);
}

/* ---- steps ---- */

/* Runs a seat up to and with one access to a shared word. */
static void seat_step(play_t *play, uint32_t seat)
{
    xyl_combine_piece_t piece = piece_of(play, seat);
    xyl_combine_t *c = &play->now.seats[seat];
    xyl_sum_next_t next;

    if (c->state == XYL_COMBINE_WORK) {
        work(play, seat);
        return;
    }
    words_load(play);
    next = XYL_SUM_STEP;
    if (c->state == XYL_COMBINE_FRESH || c->state == XYL_COMBINE_PASS)
        next = xyl_combine_step(&piece, UINT64_MAX, c);
    if (next == XYL_SUM_STEP)
        next = xyl_combine_step(&piece, UINT64_MAX, c);
    words_store(play);
    if (c->state == XYL_COMBINE_WORK) {
        check_taken(play, c);
        orders_wake(&play->orders, seat);
    }
    if (next == XYL_SUM_WAIT)
        orders_rest(&play->orders, seat);
}

static void reader_step(play_t *play)
{
    scene_t *now = &play->now;
    uint8_t bit = (uint8_t)(1 << now->look), all;

    all = (uint8_t)((1 << play->size.seats) - 1);
    if ((now->collected & bit) == 0 && now->full[now->look] != 0) {
        now->collected |= bit;
        now->has_found = 1;
        if (now->holds[now->look] != all)
            wrong(play, "the home cell has not got all");
    }
    if (++now->look < play->size.segments)
        return;
    now->look = 0;
    if (!now->has_found)
        orders_rest(&play->orders, play->size.seats);
    else
        orders_wake(&play->orders, play->size.seats);
    now->has_found = 0;
}

static int is_done(const orders_t *orders, uint32_t seat)
{
    const play_t *play = (const void *)orders;

    if (seat == play->size.seats)
        return play->now.collected == (1 << play->size.segments) - 1;
    return play->now.seats[seat].state == XYL_COMBINE_DONE;
}

static int works(const orders_t *orders, uint32_t seat)
{
    const play_t *play = (const void *)orders;

    return seat < play->size.seats &&
           play->now.seats[seat].state == XYL_COMBINE_WORK;
}

static void step(orders_t *orders, uint32_t seat)
{
    if (seat == play_of(orders)->size.seats)
        reader_step(play_of(orders));
    else
        seat_step(play_of(orders), seat);
}

static void check_end(orders_t *orders)
{
    play_t *play = play_of(orders);
    uint32_t seat, stopped = play->now.of.stopped;
    uint32_t has_stopped = stopped != ORDERS_NOBODY;

    for (seat = 0; seat + has_stopped <= play->size.seats; seat++)
        if (!is_done(orders, seat) && seat != stopped)
            wrong(play, "somebody waits for ever");
    if (has_stopped)
        return;
    if (play->now.spares >> 16 == NUMBER && (play->now.spares & 0xffff) != 0)
        wrong(play, "spares are lost");
    if (play->now.waiting != 0)
        wrong(play, "a mark is left");
}

/* Clears members that no longer matter, so that they make no difference. */
static void forget_one(xyl_combine_t *c)
{
    int has_cell = c->state >= XYL_COMBINE_WORK && c->state <= XYL_COMBINE_PUT;

    if (c->state != XYL_COMBINE_WORK)
        c->work = 0;
    if (c->state != XYL_COMBINE_LOOK)
        c->left = 0;
    if (!has_cell)
        c->cell = c->count = 0;
    if (!(c->state == XYL_COMBINE_WORK && c->work == XYL_COMBINE_MERGE) &&
        c->state != XYL_COMBINE_FREE)
        c->other = c->other_count = 0;
}

static void forget(orders_t *orders)
{
    uint32_t i;

    for (i = 0; i < play_of(orders)->size.seats; i++)
        forget_one(&play_of(orders)->now.seats[i]);
}

static const orders_ops_t play_ops = {.step = step,
                                      .is_done = is_done,
                                      .works = works,
                                      .forget = forget,
                                      .check_end = check_end};

/* ---- plays ---- */

static play_t *play_create(void)
{
    play_t *play = aligned_alloc(128, (sizeof *play + 127) / 128 * 128);

    if (play == NULL)
        abort();
    return play;
}

static void play_init(play_t *play, const extent_t *size)
{
    uint32_t i;

    memset(play, 0, sizeof *play);
    play->size = *size;
    play->orders.now = &play->now.of;
    play->orders.scene_bytes = sizeof play->now;
    play->orders.seats = size->seats + 1;
    play->orders.may_stop = size->may_stop;
    play->orders.is_simulated = size->is_simulated;
    orders_init(&play->orders, &play_ops);
    /* Left by another piece. */
    play->now.spares = (NUMBER - 1) << 16 | 3;
    for (i = 0; i < SEGMENTS; i++)
        play->now.segments[i] = (NUMBER - 1) << 16 | 1 << 12 | 2;
}

static void every_order(const extent_t *size)
{
    play_t *play = play_create();
    uint64_t scenes;

    play_init(play, size);
    scenes = orders_every(&play->orders);
    printf("# %u seats, %u segments, %u spares%s: %" PRIu64 " scenes\n",
           size->seats, size->segments, size->spares,
           size->may_stop ? ", one stops" : "", scenes);
    free(play);
}

static void test_every_order(void)
{
    static const extent_t sizes[] = {
        {1, 1, 0, 0, 0}, {1, 2, 0, 0, 0}, {2, 1, 1, 0, 0}, {2, 1, 2, 0, 0},
        {2, 2, 1, 0, 0}, {2, 2, 1, 0, 1}, {2, 2, 2, 0, 0}, {3, 1, 1, 0, 0},
        {3, 1, 1, 0, 1}, {3, 1, 2, 0, 0}, {3, 1, 2, 0, 1}, {3, 2, 1, 0, 0}};
    size_t i;

    for (i = 0; i < sizeof sizes / sizeof *sizes; i++)
        every_order(&sizes[i]);
}

static void test_one_stops(void)
{
    static const extent_t sizes[] = {
        {2, 1, 1, 1, 0}, {2, 2, 1, 1, 0}, {2, 2, 1, 1, 1}, {2, 2, 2, 1, 0},
        {3, 1, 2, 1, 0}, {3, 1, 2, 1, 1}, {3, 2, 2, 1, 0}};
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
                         .may_stop = random_below(&random, 2) == 0,
                         .is_simulated = random_below(&random, 2) == 0};
        size.spares = random_between(&random, 1 + (uint32_t)size.may_stop,
                                     XYL_COMBINE_SPARES_MAX);
        play_init(play, &size);
        orders_by_chance(&play->orders, &random);
    }
    free(play);
}

static const check_case_t cases[] = {
    {"every_order", test_every_order},
    {"one_stops", test_one_stops},
    {"by_chance", test_by_chance},
};
CHECK_MAIN(cases)
