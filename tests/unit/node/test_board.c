/* Boards: the windows and numbers of pieces, who may begin when, and who is
 * woken, against a model that remembers every window there ever was. Seats
 * take, begin and retire pieces in random order, each at its own pace. */
#include "collectives/node/board.h"

#include <stdio.h>

#include "runtime/base/log.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/plain_shm.h"

enum {
    SEATS_MAX = 8,
    TAKES_MAX = 700,
    PIECES_MAX = 6000,
    UNDER_WAY_MAX = 12,
    RING_BYTES = 256 << 10,
    RUNS = 60,
    STEPS_MAX = 4000000
};

/* ---- seats on a board ---- */

typedef struct table {
    plain_node_t node;
    plain_shm_t shm[PLAIN_SHM_RANKS];
    xyl_board_t *board[PLAIN_SHM_RANKS];
    uint32_t seats;
} table_t;

/* Ranks of seats are not their numbers. */
static uint32_t rank_of(const table_t *table, uint32_t seat)
{
    return table->seats - 1 - seat;
}

static void table_init(table_t *table, uint32_t seats, size_t ring_bytes)
{
    uint32_t ranks[PLAIN_SHM_RANKS], seat;

    memset(table, 0, sizeof *table);
    table->seats = seats;
    for (seat = 0; seat < seats; seat++)
        ranks[seat] = rank_of(table, seat);
    for (seat = 0; seat < seats; seat++) {
        table->shm[seat] = (plain_shm_t){{&plain_ops, 0}, &table->node};
        CHECK_EQ(xyl_board_create(&table->shm[seat].shm, 5, ranks, seats, seat,
                                  ring_bytes, &table->board[seat]),
                 XYLEM_OK);
        CHECK_EQ(xyl_board_is_complete(table->board[0]), seat + 1 == seats);
    }
    CHECK_EQ(table->node.bytes, xyl_board_bytes(seats, ring_bytes));
}

static void table_fini(table_t *table)
{
    uint32_t seat;

    for (seat = 0; seat < table->seats; seat++)
        xyl_board_destroy(table->board[seat]);
    CHECK_EQ(table->node.users, 0);
}

/* ---- the model ---- */

typedef struct model_piece {
    uint32_t take, index;
    uint32_t ring;
    uint64_t at, bytes; /* absolute; 0 bytes: no window */
    uint32_t retired;   /* a bit per seat */
} model_piece_t;

typedef struct seat {
    uint32_t taken, begun;             /* takes, pieces */
    uint32_t under_way[UNDER_WAY_MAX]; /* pieces */
    uint32_t count;
    int waits;      /* the next piece was refused */
    uint32_t woken; /* then */
    int did_retire; /* itself, since then */
} seat_t;

typedef struct model {
    table_t table;
    uint64_t random;
    uint64_t ring_bytes; /* of all */
    uint64_t next[XYL_BOARD_RINGS];
    uint32_t takes, pieces;
    int takes_ahead; /* all at once, more than a board remembers */
    uint64_t take_pieces[TAKES_MAX], take_bytes[TAKES_MAX];
    uint32_t first[TAKES_MAX]; /* piece */
    xyl_board_extent_t extents[TAKES_MAX];
    model_piece_t all[PIECES_MAX];
    seat_t seat[SEATS_MAX];
    uint32_t done; /* pieces that all seats have retired, from the first on */
} model_t;

static uint64_t ring_bytes(const model_t *model, uint32_t ring)
{
    return model->table.board[0]->rings[ring].bytes;
}

static xyl_pace_t pace_of(uint32_t take)
{
    return take % 3 == 0 ? XYL_PACE_ABREAST : XYL_PACE_FREE;
}

/* The first ring that takes windows so large. */
static uint32_t ring_of(const model_t *model, uint32_t take, uint64_t bytes)
{
    uint32_t ring;

    for (ring = 0; ring + 1 < XYL_BOARD_RINGS; ring++)
        if (bytes <= ring_bytes(model, ring) / pace_of(take))
            break;
    return ring;
}

static void model_place(model_t *model, uint32_t take)
{
    uint64_t bytes = xyl_board_whole_lines(model->take_bytes[take]), i;
    uint32_t ring = ring_of(model, take, bytes);
    uint64_t whole = ring_bytes(model, ring), *at = &model->next[ring];

    model->first[take] = model->pieces;
    for (i = 0; i < model->take_pieces[take]; i++) {
        if (bytes != 0 && *at % whole + bytes > whole)
            *at = (*at / whole + 1) * whole;
        model->all[model->pieces++] =
            (model_piece_t){take, (uint32_t)i, ring, *at, bytes, 0};
        *at += bytes;
    }
}

/* Small rings, most of them, so that windows are used again soon; those for
 * small windows are there only if there is room. */
static uint64_t draw_ring_bytes(uint64_t *random)
{
    uint64_t bytes = random_below(random, 3) == 0
                         ? random_between(random, 30 << 10, 400 << 10)
                         : random_between(random, 1, 40) * (uint64_t)128;

    return bytes +
           (random_below(random, 4) == 0 ? random_below(random, 128) : 0);
}

static uint64_t draw_bytes(const model_t *model, uint64_t *random,
                           uint32_t kind)
{
    uint32_t ring = random_below(random, XYL_BOARD_RINGS);
    uint64_t most = ring_bytes(model, ring);

    if (ring + 1 < XYL_BOARD_RINGS)
        most /= XYL_PACE_FREE;
    if (most == 0)
        most = ring_bytes(model, XYL_BOARD_RINGS - 1);
    if (kind != 0)
        most /= 4 * (uint64_t)kind;
    if (random_below(random, 5) == 0)
        return 0;
    return random_below(random, (uint32_t)(most / 128 * 128) + 1);
}

/* Draws what all seats take, and places it one window after the other. */
static void model_init(model_t *model, uint64_t seed)
{
    uint64_t *random = &model->random;
    uint32_t kind, pieces;

    memset(model, 0, sizeof *model);
    *random = random_mix(seed);
    model->ring_bytes = draw_ring_bytes(random);
    table_init(&model->table, random_between(random, 1, SEATS_MAX),
               model->ring_bytes);
    kind = random_below(random, 3);
    model->takes_ahead = random_below(random, 4) == 0;
    while (model->takes < TAKES_MAX) {
        pieces = random_below(random, 3) == 0 ? random_between(random, 1, 40)
                                              : random_between(random, 1, 3);
        if (model->pieces + pieces > PIECES_MAX)
            break;
        model->take_pieces[model->takes] = pieces;
        model->take_bytes[model->takes] = draw_bytes(model, random, kind);
        model_place(model, model->takes++);
    }
}

static int retired_by_all(const model_t *model, uint32_t piece)
{
    return model->all[piece].retired == (1U << model->table.seats) - 1;
}

/* Whether both would use the same slot or the same bytes. */
static int clashes(const model_t *model, uint32_t a, uint32_t b)
{
    const model_piece_t *x = &model->all[a], *y = &model->all[b];
    uint64_t x_at, y_at;

    if ((a + 1) % XYL_BOARD_SLOTS == (b + 1) % XYL_BOARD_SLOTS)
        return 1;
    if (x->ring != y->ring || x->bytes == 0 || y->bytes == 0)
        return 0;
    x_at = x->at % ring_bytes(model, x->ring);
    y_at = y->at % ring_bytes(model, y->ring);
    return x_at < y_at + y->bytes && y_at < x_at + x->bytes;
}

/* Up to which piece all must be done: that of the slot before, and those whose
 * windows begin where this one's ends, a ring further back. */
static uint32_t model_needs(const model_t *model, uint32_t piece)
{
    const model_piece_t *own = &model->all[piece];
    uint32_t needed = piece < XYL_BOARD_SLOTS ? 0 : piece - XYL_BOARD_SLOTS + 1;
    uint32_t i;

    for (i = needed; i < piece && own->bytes != 0; i++)
        if (model->all[i].bytes != 0 && model->all[i].ring == own->ring &&
            model->all[i].at + ring_bytes(model, own->ring) <
                own->at + own->bytes)
            needed = i + 1;
    return needed;
}

/* ---- steps of a seat ---- */

static void seat_take(model_t *model, uint32_t number)
{
    seat_t *seat = &model->seat[number];
    uint32_t take = seat->taken++;
    xyl_board_extent_t extent =
        xyl_board_take(model->table.board[number], model->take_pieces[take],
                       model->take_bytes[take], pace_of(take));
    uint64_t i;

    CHECK_EQ(extent.number, model->first[take] + 1);
    CHECK_EQ(extent.pieces, model->take_pieces[take]);
    for (i = 0; i < extent.pieces; i++) {
        const model_piece_t *piece = &model->all[model->first[take] + i];
        uint64_t at = xyl_board_at(model->table.board[number], &extent, i);
        CHECK_EQ(extent.bytes, piece->bytes);
        CHECK(xyl_board_window(model->table.board[number], extent.ring, at) !=
              NULL); /* there is a place for none at all, too */
        if (piece->bytes == 0)
            continue;
        CHECK_EQ(extent.ring, piece->ring);
        CHECK_EQ(at, piece->at);
        CHECK(at % ring_bytes(model, extent.ring) + piece->bytes <=
              ring_bytes(model, extent.ring));
    }
    model->extents[take] = extent;
}

/* The answer for a piece, which must be right. */
static int ask(model_t *model, uint32_t number, uint32_t piece)
{
    const model_piece_t *p = &model->all[piece];
    uint32_t needed = model_needs(model, piece), i;
    int is_free = xyl_board_is_free(model->table.board[number],
                                    &model->extents[p->take], p->index);

    for (i = model->done; is_free && i < piece; i++)
        CHECK(retired_by_all(model, i) || !clashes(model, i, piece));
    if (is_free)
        return 1;
    CHECK(model->done < piece); /* the oldest of all can go on */
    if (model->done < needed)
        return 0;
    /* It only says so when it does not remember so far back. */
    CHECK(model->table.board[number]->rings[p->ring].logged > XYL_BOARD_LOG);
    CHECK(model->all[needed].take + XYL_BOARD_LOG <= model->seat[number].taken);
    return 0;
}

static uint32_t woken(const model_t *model, uint32_t number)
{
    return model->table.node.woken[rank_of(&model->table, number)];
}

/* Begins the next piece, if it may. */
static int seat_begin(model_t *model, uint32_t number)
{
    seat_t *seat = &model->seat[number];

    if (!ask(model, number, seat->begun)) {
        if (!seat->waits) {
            seat->woken = woken(model, number);
            seat->did_retire = 0;
        }
        seat->waits = 1;
        return 0;
    }
    /* A seat that was told to wait has heard of it. */
    if (seat->waits)
        CHECK(seat->did_retire || woken(model, number) != seat->woken);
    seat->waits = 0;
    seat->under_way[seat->count++] = seat->begun++;
    return 1;
}

static void seat_retire(model_t *model, uint32_t number)
{
    seat_t *seat = &model->seat[number];
    uint32_t which = random_below(&model->random, seat->count), other;
    uint32_t piece = seat->under_way[which], before[SEATS_MAX];

    for (other = 0; other < model->table.seats; other++)
        before[other] = woken(model, other);
    seat->under_way[which] = seat->under_way[--seat->count];
    seat->did_retire = 1;
    model->all[piece].retired |= 1U << number;
    xyl_board_retire(model->table.board[number], piece + 1);
    for (other = 0; other < model->table.seats; other++)
        if (other == number || !model->seat[other].waits)
            CHECK_EQ(woken(model, other), before[other]);
    while (model->done < model->pieces && retired_by_all(model, model->done))
        model->done++;
}

/* One step of a seat; 0: it can do nothing, or does not want to. */
static int seat_step(model_t *model, uint32_t number)
{
    seat_t *seat = &model->seat[number];
    uint32_t choice = random_below(&model->random, 4);
    uint32_t known =
        seat->taken == model->takes ? model->pieces : model->first[seat->taken];

    if ((choice == 0 || model->takes_ahead) && seat->taken < model->takes) {
        seat_take(model, number);
        return 1;
    }
    if (choice == 1 && seat->begun < known && seat->count < UNDER_WAY_MAX)
        return seat_begin(model, number);
    if (choice >= 2 && seat->count != 0) {
        seat_retire(model, number);
        return 1;
    }
    return 0;
}

/* One run's seats differ in how far they run ahead. */
static void one_run(uint64_t seed)
{
    static model_t model;
    uint32_t steps, number;

    model_init(&model, seed);
    for (steps = 0; steps < STEPS_MAX && model.done < model.pieces; steps++) {
        number = random_below(&model.random, model.table.seats);
        if (random_below(&model.random,
                         1 + (uint32_t)(steps >> 10) % 3 * number) < 2)
            (void)seat_step(&model, number);
    }
    CHECK_EQ(model.done, model.pieces);
    if (model.done != model.pieces)
        printf("# seed %llu\n", (unsigned long long)seed);
    table_fini(&model.table);
}

static void test_windows(void)
{
    uint64_t seed;

    for (seed = 1; seed <= RUNS && check_failures() == 0; seed++)
        one_run(seed);
}

/* ---- cases of their own ---- */

/* Many extents taken before the first is through: the board forgets some, and
 * goes on all the same. */
static void test_taken_far_ahead(void)
{
    table_t table;
    xyl_board_extent_t first, other;
    uint32_t seat, i, number;

    table_init(&table, 2, 1024);
    for (seat = 0; seat < 2; seat++) {
        first = xyl_board_take(table.board[seat], 3, 1024, XYL_PACE_FREE);
        for (i = 0; i < 2 * XYL_BOARD_LOG; i++)
            other = xyl_board_take(table.board[seat], 1, 1024, XYL_PACE_FREE);
    }
    for (number = 1; number <= 3; number++) {
        for (seat = 0; seat < 2; seat++)
            CHECK(xyl_board_is_free(table.board[seat], &first, number - 1));
        CHECK(!xyl_board_is_free(table.board[0], &other, 0));
        if (number < 3)
            CHECK(!xyl_board_is_free(table.board[0], &first, number));
        for (seat = 0; seat < 2; seat++)
            xyl_board_retire(table.board[seat], number);
    }
    table_fini(&table);
}

static void test_done_prefix(void)
{
    table_t table;
    xyl_board_extent_t extent;
    uint32_t seat, i;

    table_init(&table, 2, 1024);
    for (seat = 0; seat < 2; seat++)
        extent = xyl_board_take(table.board[seat], 8, 256, XYL_PACE_FREE);
    for (i = 0; i < 4; i++)
        CHECK(xyl_board_is_free(table.board[0], &extent, i));
    CHECK(!xyl_board_is_free(table.board[0], &extent, 4));
    for (i = 4; i > 1; i--) { /* the last first */
        xyl_board_retire(table.board[0], i);
        xyl_board_retire(table.board[1], i);
        CHECK(!xyl_board_is_free(table.board[0], &extent, 4));
    }
    CHECK_EQ(table.node.woken[rank_of(&table, 0)], 0);
    xyl_board_retire(table.board[0], 1);
    CHECK(!xyl_board_is_free(table.board[0], &extent, 4));
    xyl_board_retire(table.board[1], 1);
    CHECK_EQ(table.node.woken[rank_of(&table, 0)], 1);
    for (i = 4; i < 8; i++)
        CHECK(xyl_board_is_free(table.board[0], &extent, i));
    table_fini(&table);
}

/* The number of seats goes beyond a word of the mask of those who wait. */
static void test_many_seats(void)
{
    static const uint32_t waiting[] = {0, 63, 64, 100, 129};
    static table_t table;
    xyl_board_extent_t extent;
    uint32_t seat, i;

    table_init(&table, 130, 1024);
    for (seat = 0; seat < 130; seat++)
        extent = xyl_board_take(table.board[seat], 2, 1024, XYL_PACE_FREE);
    for (i = 0; i < 5; i++)
        CHECK(!xyl_board_is_free(table.board[waiting[i]], &extent, 1));
    for (seat = 0; seat < 130; seat++)
        xyl_board_retire(table.board[seat], 1);
    for (seat = 0, i = 0; seat < 130; seat++) {
        int waits = i < 5 && waiting[i] == seat;
        CHECK_EQ(table.node.woken[rank_of(&table, seat)], waits ? 129 : 0);
        CHECK(xyl_board_is_free(table.board[seat], &extent, 1));
        i += (uint32_t)waits;
    }
    for (seat = 0; seat < 130; seat++) /* nobody waits any more */
        xyl_board_retire(table.board[seat], 2);
    CHECK_EQ(table.node.woken[rank_of(&table, 0)], 129);
    table_fini(&table);
}

/* ---- between two looks ---- */

typedef struct between {
    table_t table;
    xyl_board_extent_t extent;
} between_t;

static void between_init(between_t *between)
{
    uint32_t seat;

    table_init(&between->table, 3, 1024);
    for (seat = 0; seat < 3; seat++)
        between->extent =
            xyl_board_take(between->table.board[seat], 2, 1024, XYL_PACE_FREE);
    between->table.node.arg = between;
    xyl_board_retire(between->table.board[0], 1);
    xyl_board_retire(between->table.board[1], 1);
}

static void last_retires(void *arg)
{
    between_t *between = arg;

    xyl_board_retire(between->table.board[2], 1);
}

/* Another marks itself as well, so that the word is not what it was. */
static void another_waits(void *arg)
{
    between_t *between = arg;

    CHECK(!xyl_board_is_free(between->table.board[1], &between->extent, 1));
}

static void test_retired_meanwhile(void)
{
    between_t between;

    between_init(&between); /* before it has marked itself: it looks again */
    between.table.node.before_swap = last_retires;
    CHECK(xyl_board_is_free(between.table.board[0], &between.extent, 1));
    CHECK_EQ(between.table.node.woken[rank_of(&between.table, 0)], 0);
    table_fini(&between.table);
    between_init(&between); /* after: woken as well */
    between.table.node.after_swap = last_retires;
    CHECK(xyl_board_is_free(between.table.board[0], &between.extent, 1));
    CHECK_EQ(between.table.node.woken[rank_of(&between.table, 0)], 1);
    table_fini(&between.table);
}

static void test_two_wait(void)
{
    between_t between;
    uint32_t seat;

    between_init(&between);
    between.table.node.before_swap = another_waits;
    CHECK(!xyl_board_is_free(between.table.board[0], &between.extent, 1));
    last_retires(&between);
    for (seat = 0; seat < 3; seat++) {
        CHECK_EQ(between.table.node.woken[rank_of(&between.table, seat)],
                 seat < 2);
        CHECK(xyl_board_is_free(between.table.board[seat], &between.extent, 1));
    }
    table_fini(&between.table);
}

static void test_no_memory(void)
{
    static const uint32_t ranks[] = {0, 1};
    plain_node_t node = {.is_empty = 1};
    plain_shm_t shm = {{&plain_ops, 0}, &node};
    xyl_board_t *board = NULL;

    xyl_log_level_set(XYL_LOG_NONE);
    CHECK_EQ(xyl_board_create(&shm.shm, 1, ranks, 2, 0, 1024, &board),
             XYLEM_ERR_NO_MEMORY);
    xyl_log_level_set(XYL_LOG_WARN);
    CHECK(board == NULL);
}

/* What must not touch each other does not. */
static void test_layout(void)
{
    table_t table;
    const xyl_board_t *board;
    char *slot, *end;
    uint64_t number;
    uint32_t ring;

    table_init(&table, 3, RING_BYTES);
    board = table.board[1];
    end = xyl_board_slot(board, 0);
    CHECK(end >= board->memory + 4 * (size_t)XYL_BOARD_LINE_BYTES);
    for (number = 0; number < XYL_BOARD_SLOTS; number++) {
        slot = xyl_board_slot(board, number);
        CHECK(slot == end);
        CHECK_EQ((uintptr_t)slot % XYL_BOARD_LINE_BYTES, 0);
        CHECK((char *)xyl_board_ticket(board, slot) >=
              xyl_board_line(slot, 2)->bytes + XYL_BOARD_INLINE_BYTES);
        CHECK((char *)xyl_board_word(board, slot, 0) >
              (char *)xyl_board_ticket(board, slot));
        CHECK((char *)xyl_board_sums(board, slot) >=
              (char *)(xyl_board_word(board, slot, XYL_BOARD_WORDS - 1) + 1));
        end = (char *)(xyl_board_sums(board, slot) + 1);
    }
    for (ring = 0; ring < XYL_BOARD_RINGS; ring++) {
        const xyl_board_ring_t *r = &board->rings[ring];
        CHECK(xyl_board_window(board, ring, 0) >= end);
        CHECK(xyl_board_window(board, ring, r->bytes) ==
              xyl_board_window(board, ring, 0));
        CHECK_EQ(r->bytes % 128, 0);
        end = xyl_board_window(board, ring, r->bytes - 1) + 1;
    }
    CHECK(end <= board->memory + xyl_board_bytes(3, RING_BYTES));
    CHECK(end > board->memory + xyl_board_bytes(3, RING_BYTES) - 128);
    CHECK(xyl_board_slot(board, XYL_BOARD_SLOTS + 5) ==
          xyl_board_slot(board, 5));
    table_fini(&table);
}

static const check_case_t cases[] = {
    {"windows", test_windows},
    {"taken_far_ahead", test_taken_far_ahead},
    {"done_prefix", test_done_prefix},
    {"many_seats", test_many_seats},
    {"retired_meanwhile", test_retired_meanwhile},
    {"two_wait", test_two_wait},
    {"no_memory", test_no_memory},
    {"layout", test_layout},
};
CHECK_MAIN(cases)
