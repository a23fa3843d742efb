/* The words by which seats of a node pass a late leader, in random turns. For
 * each piece the leader of a relay writes segments from the net into the
 * window, publishes them, beats, and lets go. A seat that stands by does the
 * same beside it if it has heard no beat; a third seat only reads. Slots are
 * used twice, so that words of older pieces are there. */
#include "collectives/node/stage_inside.h"
#include "tests/support/check.h"
#include "tests/support/plain_shm.h"
#include "tests/support/turns.h"

enum {
    LEADER,
    STANDS_BY,
    READER,
    SEATS,
    SCHEDULES = 120,
    PIECES = 3, /* and then as many in the same slots */
    ROUNDS = 2,
    SEGMENTS = 4,
    SEGMENT_BYTES = 16,
    WINDOW_BYTES = SEGMENTS * SEGMENT_BYTES,
    LOOKS_MAX = 100000,
    BOARD_KEY = 5
};

/* The events so far, beside the words. */
typedef struct told {
    uint64_t beats;
    int is_let_go;
    uint32_t retired; /* seats */
} told_t;

static plain_node_t pool_node, board_node;
static xyl_board_t *boards[SEATS];
static told_t told[ROUNDS * PIECES];
static _Thread_local int is_quick; /* no other actor needs a turn */
static uint32_t helped;

static uint64_t get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    if (!is_quick)
        (void)turns_pass();
    return plain_get(shm, flag);
}

static void set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                const uint32_t *readers, uint32_t count)
{
    if (!is_quick)
        (void)turns_pass();
    plain_set(shm, flag, value, readers, count);
}

static int swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                uint64_t value)
{
    if (!is_quick)
        (void)turns_pass();
    return plain_swap(shm, word, expected, value);
}

/* ---- what all do ---- */

/* The members of a stage that the words need, with one piece under way. */
typedef struct seat {
    uint32_t self;
    xyl_node_stage_t node;
    xyl_board_extent_t extent;
    uint32_t played; /* pieces before this round */
    uint32_t piece;
} seat_t;

static xyl_stage_t *stage_of(seat_t *seat)
{
    return &seat->node.stage;
}

static told_t *told_of(const seat_t *seat)
{
    return &told[seat->played + seat->piece];
}

static uint64_t first_of(const seat_t *seat)
{
    return (uint64_t)seat->piece * SEGMENTS;
}

static char content(const seat_t *seat, uint64_t index)
{
    return (char)(1 + (seat->played + seat->piece) * SEGMENTS + index);
}

static void piece_begin(seat_t *seat, uint32_t piece)
{
    xyl_node_piece_t *active = &seat->node.active[0];
    char *window;

    seat->piece = piece;
    while (!xyl_board_begin(boards[seat->self], &seat->extent, piece, &window))
        (void)turns_pass();
    *active = (xyl_node_piece_t){
        .piece = piece,
        .number = xyl_board_number(&seat->extent, piece),
        .window = window,
        .strands_left = 1,
    };
    active->slot = xyl_board_slot(boards[seat->self], active->number);
    active->mark = xyl_board_mark(active->number, 0);
}

static void piece_end(seat_t *seat)
{
    told_of(seat)->retired++;
    seat->node.active[0].strands_left = 0;
    xyl_board_retire(boards[seat->self], &seat->extent, seat->piece);
}

/* Writes a segment from the net, one half at a time. */
static void segment_write(seat_t *seat, uint64_t index)
{
    char *place = xyl_node_stage_place(stage_of(seat), index);
    int value = content(seat, index - first_of(seat));

    CHECK(told_of(seat)->retired < SEATS);
    memset(place, value, SEGMENT_BYTES / 2);
    (void)turns_pass();
    memset(place + SEGMENT_BYTES / 2, value, SEGMENT_BYTES / 2);
    if (!xyl_node_stage_is_published(stage_of(seat), index))
        xyl_node_stage_publish(stage_of(seat), index);
}

static void segment_check(seat_t *seat, uint64_t index)
{
    const char *place = xyl_node_stage_place(stage_of(seat), index);
    uint32_t i, wrong = 0;

    for (i = 0; i < SEGMENT_BYTES; i++)
        wrong += place[i] != content(seat, index - first_of(seat));
    CHECK_EQ(wrong, 0);
}

static void segments_check(seat_t *seat)
{
    uint64_t i;

    for (i = 0; i < SEGMENTS; i++)
        segment_check(seat, first_of(seat) + i);
}

/* ---- the actors ---- */

static void be_held_up(void)
{
    uint32_t turns = turns_below(2) * turns_below(80);

    while (turns-- != 0)
        (void)turns_pass();
}

static void leader_beat(seat_t *seat)
{
    told_of(seat)->beats++;
    xyl_node_stage_beat(stage_of(seat), first_of(seat));
}

static void lead(seat_t *seat)
{
    uint64_t first = turns_below(SEGMENTS), i;

    for (i = 0; i < SEGMENTS; i++) {
        be_held_up();
        leader_beat(seat);
        segment_write(seat, first_of(seat) + (first + i) % SEGMENTS);
    }
    be_held_up(); /* the children get it */
    segments_check(seat);
    told_of(seat)->is_let_go = 1;
    xyl_node_stage_let_go(stage_of(seat), seat->piece);
    /* Sends that end late. */
    xyl_node_stage_beat(stage_of(seat), first_of(seat));
    CHECK(xyl_node_stage_is_let_go(stage_of(seat), seat->piece));
}

static uint64_t first_missing(seat_t *seat)
{
    uint64_t index = first_of(seat), end = index + SEGMENTS;

    while (index < end && xyl_node_stage_is_published(stage_of(seat), index)) {
        segment_check(seat, index);
        index++;
    }
    return index;
}

/* Beats of this piece alone, and no fewer than before. */
static uint64_t beats_look(seat_t *seat, uint64_t before)
{
    uint64_t beats = xyl_node_stage_beats(stage_of(seat), first_of(seat));

    CHECK(beats >= before);
    CHECK(beats <= told_of(seat)->beats || told_of(seat)->is_let_go);
    return beats;
}

static void stand_by(seat_t *seat)
{
    uint64_t end = first_of(seat) + SEGMENTS, missing, before, beats = 0;
    uint32_t looks = 0;

    while ((missing = first_missing(seat)) != end && looks++ < LOOKS_MAX) {
        before = beats;
        beats = beats_look(seat, before);
        if (beats == before && looks % 4 == 0) {
            segment_write(seat, missing);
            helped++;
        }
    }
    for (; !xyl_node_stage_is_let_go(stage_of(seat), seat->piece) &&
           looks < LOOKS_MAX;
         looks++)
        beats = beats_look(seat, beats);
    CHECK(looks < LOOKS_MAX);
    CHECK(told_of(seat)->is_let_go);
    segments_check(seat);
}

static void read_all(seat_t *seat)
{
    uint32_t looks = 0;

    while (first_missing(seat) != first_of(seat) + SEGMENTS &&
           looks++ < LOOKS_MAX)
        ;
    CHECK(looks < LOOKS_MAX);
    segments_check(seat);
}

static void play(seat_t *seat)
{
    static void (*const parts[SEATS])(seat_t *) = {lead, stand_by, read_all};
    uint32_t piece;

    xyl_board_take(boards[seat->self], PIECES, WINDOW_BYTES, 0, &seat->extent);
    for (piece = 0; piece < PIECES; piece++) {
        be_held_up();
        piece_begin(seat, piece);
        parts[seat->self](seat);
        piece_end(seat);
    }
    seat->played += PIECES;
}

/* Pieces in which nothing is done: up to the slots of before. */
static void skip(seat_t *seat)
{
    uint32_t piece;
    char *window;

    is_quick = 1;
    xyl_board_take(boards[seat->self], XYL_BOARD_SLOTS - PIECES, 0, 0,
                   &seat->extent);
    for (piece = 0; piece < XYL_BOARD_SLOTS - PIECES; piece++) {
        while (
            !xyl_board_begin(boards[seat->self], &seat->extent, piece, &window))
            (void)turns_pass();
        xyl_board_retire(boards[seat->self], &seat->extent, piece);
    }
    is_quick = 0;
}

static void act(uint32_t self)
{
    static seat_t seats[SEATS];
    seat_t *seat = &seats[self];
    uint32_t round;

    memset(seat, 0, sizeof *seat);
    seat->self = self;
    seat->node.board = boards[self];
    seat->node.program.segments = SEGMENTS;
    seat->node.program.segment_bytes = SEGMENT_BYTES;
    for (round = 0; round < ROUNDS; round++) {
        if (round != 0)
            skip(seat);
        play(seat);
    }
}

/* ---- schedules ---- */

static void run(uint64_t seed)
{
    static const uint32_t ranks[SEATS] = {0, 1, 2};
    xyl_shm_ops_t ops = plain_ops;
    plain_shm_t pool_shm = {{&ops, 0, 0}, &pool_node};
    plain_shm_t board_shm = {{&ops, 0, 0}, &board_node};
    xyl_shm_pool_t pools[SEATS];
    uint32_t i;

    ops.get = get;
    ops.set = set;
    ops.swap = swap;
    memset(told, 0, sizeof told);
    for (i = 0; i < SEATS; i++) {
        CHECK(xyl_shm_pool_attach(&pools[i], &pool_shm.shm, 1, 4096, 0));
        CHECK_EQ(xyl_board_create(&board_shm.shm, &pools[i], BOARD_KEY, ranks,
                                  SEATS, i, WINDOW_BYTES, &boards[i]),
                 XYLEM_OK);
    }
    turns_run(SEATS, seed, act);
    for (i = 0; i < ROUNDS * PIECES; i++) {
        CHECK_EQ(told[i].retired, SEATS);
        CHECK(told[i].is_let_go);
    }
    for (i = 0; i < SEATS; i++) {
        xyl_board_destroy(boards[i]);
        xyl_shm_pool_detach(&pools[i]);
    }
}

static void test_schedules(void)
{
    uint32_t schedules = check_cases(SCHEDULES);
    uint64_t seed;

    for (seed = 1; seed <= schedules && check_failures() == 0; seed++)
        run(seed);
    CHECK(helped >= schedules);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};
CHECK_MAIN(cases)
