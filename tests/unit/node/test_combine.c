/* Sums that seats add to as they come: every order of the accesses of a few
 * seats to what they share, with and without one that stops for ever while it
 * adds; and orders by chance of more seats. */
#include "collectives/node/combine.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/scenes.h"

enum {
    SEATS = 8, /* that add; the reader comes behind them */
    SEGMENTS = 4,
    CELLS = SEGMENTS + XYL_COMBINE_SPARES_MAX,
    NUMBER = 77,
    NOBODY = 255,
    CHANCES = 4000,
    STEPS_MAX = 100000
};

/* ---- a few seats in plain memory ---- */

/* How a seat comes to rest that can do nothing: in real jobs it says that it
 * sleeps, looks once more, and then whoever wakes it ends its sleep. In the
 * simulator it rests at once, and is given later whatever was set meanwhile. */
typedef enum rest { AWAKE, NEWS, ANNOUNCED, ASLEEP } rest_t;

/* All there is; compared by its bytes. */
typedef struct scene {
    uint64_t segments[SEGMENTS], full[SEGMENTS], spares, waiting;
    xyl_combine_t seats[SEATS];
    uint8_t rest[SEATS + 1];
    uint8_t holds[CELLS]; /* bits of the seats in the sum */
    uint8_t stopped;      /* NOBODY: none */
    uint8_t collected, look, has_found;
} scene_t;

typedef struct size {
    uint32_t seats, segments, spares;
    int may_stop; /* one of them, while it works */
    int is_simulated;
} extent_t;

typedef struct play {
    xyl_shm_t shm; /* first */
    extent_t size;
    xyl_combine_words_t words;
    _Atomic uint64_t full[SEGMENTS];
    uint32_t ranks[SEATS + 1], readers[SEATS + 1];
    scene_t now;
    const char *mistake;
} play_t;

static void play_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                     const uint32_t *readers, uint32_t count)
{
    play_t *play = (play_t *)(void *)shm;
    uint32_t i;

    atomic_store(flag, value);
    for (i = 0; i < count; i++)
        play->now.rest[readers[i]] = play->size.is_simulated ? NEWS : AWAKE;
}

static int plain_swap(xyl_shm_t *shm, _Atomic uint64_t *word,
                      uint64_t *expected, uint64_t value)
{
    (void)shm;
    return atomic_compare_exchange_strong(word, expected, value);
}

static const xyl_shm_ops_t play_ops = {.set = play_set, .swap = plain_swap};

static void wrong(play_t *play, const char *what)
{
    if (play->mistake == NULL)
        play->mistake = what;
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
    return (xyl_combine_piece_t){.shm = &play->shm,
                                 .words = &play->words,
                                 .number = NUMBER,
                                 .segments = play->size.segments,
                                 .spares = play->size.spares,
                                 .contributors = play->size.seats,
                                 .first = seat * play->size.segments /
                                          (play->size.seats + 1),
                                 .seat = seat,
                                 .seats = play->size.seats + 1,
                                 .ranks = play->ranks,
                                 .readers = play->readers,
                                 .full = play->full,
                                 .full_value = NUMBER << 16 | 1,
                                 .full_readers = &play->ranks[play->size.seats],
                                 .full_count = 1};
}

static void play_init(play_t *play, const extent_t *size)
{
    uint32_t i;

    memset(play, 0, sizeof *play);
    play->shm.ops = &play_ops;
    play->size = *size;
    play->now.stopped = NOBODY;
    for (i = 0; i <= SEATS; i++)
        play->ranks[i] = i;
    /* What another piece has left. */
    play->now.spares = (NUMBER - 1) << 16 | 3;
    for (i = 0; i < SEGMENTS; i++)
        play->now.segments[i] = (NUMBER - 1) << 16 | 1 << 12 | 2;
}

/* ---- work ---- */

static uint8_t *cell_of(play_t *play, const xyl_combine_t *c, uint32_t cell)
{
    return &play->now.holds[cell == XYL_COMBINE_HOME
                                ? c->segment
                                : SEGMENTS + cell - XYL_COMBINE_FIRST_SPARE];
}

/* Counts and what is in the cells must agree whenever somebody looks. */
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

static void come_to_rest(play_t *play, uint32_t seat)
{
    uint8_t *rest = &play->now.rest[seat];

    if (*rest == NEWS)
        *rest = AWAKE;
    else if (play->size.is_simulated || *rest == ANNOUNCED)
        *rest = ASLEEP;
    else
        *rest = ANNOUNCED;
}

/* Up to and with one access to what is shared. */
static void seat_step(play_t *play, uint32_t seat)
{
    xyl_combine_piece_t piece = piece_of(play, seat);
    xyl_combine_t *c = &play->now.seats[seat];
    xyl_combine_next_t next;

    if (c->state == XYL_COMBINE_WORK) {
        work(play, seat);
        return;
    }
    words_load(play);
    next = XYL_COMBINE_NEXT_STEP;
    if (c->state == XYL_COMBINE_FRESH || c->state == XYL_COMBINE_PASS)
        next = xyl_combine_step(&piece, UINT64_MAX, c);
    if (next == XYL_COMBINE_NEXT_STEP)
        next = xyl_combine_step(&piece, UINT64_MAX, c);
    words_store(play);
    if (c->state == XYL_COMBINE_WORK) {
        check_taken(play, c);
        if (play->now.rest[seat] == ANNOUNCED)
            play->now.rest[seat] = AWAKE;
    }
    if (next == XYL_COMBINE_NEXT_WAIT)
        come_to_rest(play, seat);
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
        come_to_rest(play, play->size.seats);
    else if (now->rest[play->size.seats] == ANNOUNCED)
        now->rest[play->size.seats] = AWAKE;
    now->has_found = 0;
}

static int is_done(const play_t *play, uint32_t seat)
{
    if (seat == play->size.seats)
        return play->now.collected == (1 << play->size.segments) - 1;
    return play->now.seats[seat].state == XYL_COMBINE_DONE;
}

static int may_step(const play_t *play, uint32_t seat)
{
    return !is_done(play, seat) && play->now.rest[seat] != ASLEEP &&
           play->now.stopped != seat;
}

static void step(play_t *play, uint32_t seat)
{
    if (seat == play->size.seats)
        reader_step(play);
    else
        seat_step(play, seat);
}

/* Nobody can go on. */
static void check_end(play_t *play)
{
    uint32_t seat, has_stopped = play->now.stopped != NOBODY;

    for (seat = 0; seat + has_stopped <= play->size.seats; seat++)
        if (!is_done(play, seat) && seat != play->now.stopped)
            wrong(play, "somebody waits for ever");
    if (has_stopped)
        return;
    if (play->now.spares >> 16 == NUMBER && (play->now.spares & 0xffff) != 0)
        wrong(play, "spares are lost");
    if (play->now.waiting != 0)
        wrong(play, "a mark is left");
}

/* ---- every order ---- */

/* What does not matter any more is no difference. */
static void forget(xyl_combine_t *c)
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

static void add(play_t *play, scenes_t *scenes)
{
    uint32_t i;

    for (i = 0; i < play->size.seats; i++)
        forget(&play->now.seats[i]);
    scenes_add(scenes, &play->now);
}

/* What may come after `scene`. */
static void expand(play_t *play, const scene_t *scene, scenes_t *scenes)
{
    uint32_t seat, moves = 0;

    for (seat = 0; seat <= play->size.seats; seat++) {
        play->now = *scene;
        if (!may_step(play, seat))
            continue;
        moves++;
        if (play->size.may_stop && scene->stopped == NOBODY &&
            seat < play->size.seats &&
            scene->seats[seat].state == XYL_COMBINE_WORK) {
            play->now.stopped = (uint8_t)seat;
            add(play, scenes);
            play->now = *scene;
        }
        step(play, seat);
        add(play, scenes);
    }
    play->now = *scene;
    if (moves == 0)
        check_end(play);
}

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

static void every_order(const extent_t *size)
{
    play_t *play = must(aligned_alloc(128, (sizeof *play + 127) / 128 * 128));
    scenes_t scenes;
    scene_t scene;

    scenes_init(&scenes, sizeof scene);
    play_init(play, size);
    add(play, &scenes);
    while (play->mistake == NULL && scenes_take(&scenes, &scene))
        expand(play, &scene, &scenes);
    if (play->mistake != NULL)
        check_failed(__FILE__, __LINE__, play->mistake);
    printf("# %u seats, %u segments, %u spares%s: %" PRIu64 " scenes\n",
           size->seats, size->segments, size->spares,
           size->may_stop ? ", one stops" : "", scenes.count);
    scenes_fini(&scenes);
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

/* ---- more seats, orders by chance ---- */

static uint32_t draw(const play_t *play, uint64_t *random)
{
    uint32_t seat = random_below(random, play->size.seats + 1), tries;

    for (tries = 0; tries <= play->size.seats; tries++) {
        if (may_step(play, seat))
            return seat;
        seat = (seat + 1) % (play->size.seats + 1);
    }
    return NOBODY;
}

static void some_order(play_t *play, const extent_t *size, uint64_t *random)
{
    uint32_t seat, same = 0, steps = 0;

    play_init(play, size);
    for (seat = draw(play, random); seat != NOBODY && steps < STEPS_MAX;
         steps++) {
        if (seat < size->seats && size->may_stop &&
            play->now.stopped == NOBODY &&
            play->now.seats[seat].state == XYL_COMBINE_WORK &&
            random_below(random, 16) == 0)
            play->now.stopped = (uint8_t)seat;
        else
            step(play, seat);
        if (same == 0 || !may_step(play, seat)) {
            seat = draw(play, random);
            same = random_below(random, 12);
        } else {
            same--;
        }
    }
    if (steps == STEPS_MAX)
        wrong(play, "there is no end");
    check_end(play);
}

static void test_by_chance(void)
{
    play_t *play = must(aligned_alloc(128, (sizeof *play + 127) / 128 * 128));
    uint64_t random = random_mix(5);
    uint32_t i;

    for (i = 0; i < CHANCES; i++) {
        extent_t size = {.seats = random_between(&random, 2, SEATS),
                         .segments = random_between(&random, 1, SEGMENTS),
                         .may_stop = random_below(&random, 2) == 0,
                         .is_simulated = random_below(&random, 2) == 0};
        size.spares = random_between(&random, 1 + (uint32_t)size.may_stop,
                                     XYL_COMBINE_SPARES_MAX);
        some_order(play, &size, &random);
        if (play->mistake == NULL)
            continue;
        printf("# number %u: %s\n", i, play->mistake);
        check_failed(__FILE__, __LINE__, play->mistake);
        break;
    }
    free(play);
}

static const check_case_t cases[] = {
    {"every_order", test_every_order},
    {"one_stops", test_one_stops},
    {"by_chance", test_by_chance},
};
CHECK_MAIN(cases)
