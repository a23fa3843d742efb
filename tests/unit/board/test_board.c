/* Boards: numbers and windows of pieces, when a seat may begin, and which seats
 * are woken. Teams with boards of their own share a pool; seats take, begin and
 * retire pieces in random order, each at its own pace. No two pieces that are
 * under way may have memory in common, all seats of a piece must have the same,
 * and the oldest piece of a board must be able to begin whatever others do. */
#include "collectives/board/board.h"

#include <stdio.h>

#include "runtime/base/log.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/plain_shm.h"

enum {
    SEATS_MAX = 8,
    TEAMS_MAX = 3,
    TAKES_MAX = 400,
    PIECES_MAX = 3000,
    UNDER_WAY_MAX = 12,
    LONGEST = 96 << 10,
    SHORTEST = 24 << 10, /* longest windows, so that slots have some */
    RUNS = 60,
    STEPS_MAX = 4000000
};

/* ---- seats on a board ---- */

/* All seats see the pool at one address; each attaches it by itself. */
typedef struct pool {
    plain_node_t node;
    plain_shm_t shm;
    xyl_shm_pool_t seats[PLAIN_SHM_RANKS];
} pool_t;

typedef struct table {
    plain_node_t node;
    plain_shm_t shm[PLAIN_SHM_RANKS];
    xyl_board_t *board[PLAIN_SHM_RANKS];
    uint32_t seats;
} table_t;

static void pool_init(pool_t *pool, uint32_t seats, size_t bytes)
{
    uint32_t seat;

    memset(pool, 0, sizeof *pool);
    pool->shm = (plain_shm_t){{&plain_ops, 0, 0}, &pool->node};
    for (seat = 0; seat < seats; seat++)
        CHECK(xyl_shm_pool_attach(&pool->seats[seat], &pool->shm.shm, 1, bytes,
                                  0));
}

static void pool_fini(pool_t *pool, uint32_t seats)
{
    uint32_t seat, bank;

    for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++)
        CHECK_EQ(*(uint64_t *)(void *)(pool->seats[0].memory +
                                       (size_t)bank * XYL_BOARD_LINE_BYTES),
                 0);
    for (seat = 0; seat < seats; seat++)
        xyl_shm_pool_detach(&pool->seats[seat]);
    CHECK_EQ(pool->node.users, 0);
}

/* Ranks of seats are not their numbers. */
static uint32_t rank_of(const table_t *table, uint32_t seat)
{
    return table->seats - 1 - seat;
}

static void table_init(table_t *table, pool_t *pool, uint32_t seats,
                       size_t longest)
{
    uint32_t ranks[PLAIN_SHM_RANKS], seat;

    memset(table, 0, sizeof *table);
    table->seats = seats;
    for (seat = 0; seat < seats; seat++)
        ranks[seat] = rank_of(table, seat);
    for (seat = 0; seat < seats; seat++) {
        table->shm[seat] = (plain_shm_t){{&plain_ops, 0, 0}, &table->node};
        CHECK_EQ(xyl_board_create(&table->shm[seat].shm, &pool->seats[seat], 5,
                                  ranks, seats, seat, longest,
                                  &table->board[seat]),
                 XYLEM_OK);
        CHECK_EQ(xyl_board_is_complete(table->board[0]), seat + 1 == seats);
    }
    CHECK_EQ(table->node.bytes, xyl_board_bytes(seats, longest));
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
    const char *window;    /* once a seat has begun the piece; NULL: none */
    uint32_t begun, ended; /* a bit per seat */
} model_piece_t;

typedef struct seat {
    uint32_t taken, begun;             /* takes, pieces */
    uint32_t under_way[UNDER_WAY_MAX]; /* pieces */
    uint32_t count;
} seat_t;

typedef struct team {
    table_t table;
    uint32_t takes, pieces;
    uint64_t take_pieces[TAKES_MAX], take_bytes[TAKES_MAX];
    uint32_t first[TAKES_MAX]; /* piece */
    xyl_board_extent_t extents[TAKES_MAX];
    model_piece_t all[PIECES_MAX];
    seat_t seat[SEATS_MAX];
    uint32_t done; /* pieces that all seats have retired, from the first on */
} team_t;

typedef struct model {
    uint64_t random;
    pool_t pool;
    team_t team[TEAMS_MAX];
    uint32_t teams;
} model_t;

static uint64_t draw_bytes(uint64_t *random, uint32_t longest, uint32_t kind)
{
    static const uint32_t parts[] = {1, 8, 400};

    if (random_below(random, 5) == 0)
        return 0;
    return 1 + random_below(random, longest / parts[kind]);
}

/* Draws the pieces that all seats of a team take. */
static void team_init(team_t *team, model_t *model, uint32_t longest)
{
    uint64_t *random = &model->random;
    uint32_t kind = random_below(random, 3), pieces;

    table_init(&team->table, &model->pool, random_between(random, 1, SEATS_MAX),
               longest);
    for (; team->takes < TAKES_MAX; team->takes++) {
        pieces = random_below(random, 3) == 0 ? random_between(random, 1, 40)
                                              : random_between(random, 1, 3);
        if (team->pieces + pieces > PIECES_MAX)
            break;
        team->take_pieces[team->takes] = pieces;
        team->take_bytes[team->takes] = draw_bytes(random, longest, kind);
        team->first[team->takes] = team->pieces;
        for (; pieces != 0; pieces--)
            team->all[team->pieces++] = (model_piece_t){
                .take = team->takes,
                .index = (uint32_t)team->take_pieces[team->takes] - pieces};
    }
}

/* Pools of no window at all, of a few, and of many. */
static void model_init(model_t *model, uint64_t seed)
{
    uint32_t longest, i;

    memset(model, 0, sizeof *model);
    model->random = random_mix(seed);
    longest = random_between(&model->random, SHORTEST, LONGEST);
    pool_init(&model->pool, SEATS_MAX,
              random_below(&model->random, 4) * (size_t)longest);
    model->teams = random_between(&model->random, 1, TEAMS_MAX);
    for (i = 0; i < model->teams; i++)
        team_init(&model->team[i], model, longest);
}

static int is_under_way(const team_t *team, const model_piece_t *piece)
{
    return piece->begun != 0 && piece->ended != (1U << team->table.seats) - 1;
}

/* ---- steps of a seat ---- */

static void seat_take(team_t *team, uint32_t number)
{
    uint32_t take = team->seat[number].taken++;
    xyl_board_extent_t extent;

    xyl_board_take(team->table.board[number], team->take_pieces[take],
                   team->take_bytes[take], take % 2 != 0, &extent);
    CHECK_EQ(extent.pieces, team->take_pieces[take]);
    if (team->extents[take].number != 0)
        CHECK_EQ(extent.number, team->extents[take].number);
    else
        team->extents[take] = extent;
}

/* Nothing that is under way has any of the piece's memory, nor its slot. */
static void check_alone(const model_t *model, const team_t *own,
                        const model_piece_t *piece)
{
    uint64_t bytes = own->take_bytes[piece->take], i, k;
    const xyl_board_extent_t *extent = &own->extents[piece->take];
    uint64_t number = xyl_board_number(extent, piece->index);

    for (i = 0; i < model->teams; i++)
        for (k = model->team[i].done; k < model->team[i].pieces; k++) {
            const team_t *team = &model->team[i];
            const model_piece_t *other = &team->all[k];
            if (other == piece || !is_under_way(team, other))
                continue;
            CHECK(piece->window == NULL || other->window == NULL ||
                  piece->window + bytes <= other->window ||
                  other->window + team->take_bytes[other->take] <=
                      piece->window);
            CHECK(
                team != own ||
                number % XYL_BOARD_SLOTS !=
                    xyl_board_number(&own->extents[other->take], other->index) %
                        XYL_BOARD_SLOTS);
        }
}

/* Begins the next piece, if it may. */
static void seat_begin(model_t *model, team_t *team, uint32_t number)
{
    seat_t *seat = &team->seat[number];
    model_piece_t *piece = &team->all[seat->begun];
    char *window;

    if (!xyl_board_begin(team->table.board[number], &team->extents[piece->take],
                         piece->index, &window)) {
        CHECK(team->done < seat->begun); /* the oldest can go on */
        return;
    }
    CHECK_EQ(window != NULL, team->take_bytes[piece->take] != 0);
    if (piece->begun == 0) {
        piece->window = window;
        check_alone(model, team, piece);
    }
    CHECK(window == piece->window);
    if (window != NULL) /* of the pool or the board: tools see what is not */
        memset(window, (int)number, team->take_bytes[piece->take]);
    piece->begun |= 1U << number;
    seat->under_way[seat->count++] = seat->begun++;
}

static void seat_retire(model_t *model, team_t *team, uint32_t number)
{
    seat_t *seat = &team->seat[number];
    uint32_t which = random_below(&model->random, seat->count);
    model_piece_t *piece = &team->all[seat->under_way[which]];

    seat->under_way[which] = seat->under_way[--seat->count];
    piece->ended |= 1U << number;
    xyl_board_retire(team->table.board[number], &team->extents[piece->take],
                     piece->index);
    while (team->done < team->pieces &&
           team->all[team->done].ended == (1U << team->table.seats) - 1)
        team->done++;
}

static void seat_step(model_t *model, team_t *team, uint32_t number)
{
    seat_t *seat = &team->seat[number];
    uint32_t choice = random_below(&model->random, 4);
    uint32_t known =
        seat->taken == team->takes ? team->pieces : team->first[seat->taken];

    if (choice == 0 && seat->taken < team->takes)
        seat_take(team, number);
    else if (choice == 1 && seat->begun < known && seat->count < UNDER_WAY_MAX)
        seat_begin(model, team, number);
    else if (choice >= 2 && seat->count != 0)
        seat_retire(model, team, number);
}

/* Seats of a run differ in how far they run ahead. */
static void one_run(uint64_t seed)
{
    static model_t model;
    uint32_t steps, number, i, done = 0;
    team_t *team;

    model_init(&model, seed);
    for (steps = 0; steps < STEPS_MAX && done < model.teams; steps++) {
        team = &model.team[random_below(&model.random, model.teams)];
        number = random_below(&model.random, team->table.seats);
        if (random_below(&model.random,
                         1 + (uint32_t)(steps >> 10) % 3 * number) < 2)
            seat_step(&model, team, number);
        for (i = done = 0; i < model.teams && steps % 256 == 0; i++)
            done += model.team[i].done == model.team[i].pieces;
    }
    CHECK_EQ(done, model.teams);
    if (done != model.teams)
        printf("# seed %llu\n", (unsigned long long)seed);
    for (i = 0; i < model.teams; i++)
        table_fini(&model.team[i].table);
    pool_fini(&model.pool, SEATS_MAX);
}

static void test_windows(void)
{
    uint64_t seed;

    for (seed = 1; seed <= check_cases(RUNS) && check_failures() == 0; seed++)
        one_run(seed);
}

/* ---- cases of their own ---- */

/* Two pieces with windows that only the reserve has room for. */
typedef struct pair {
    pool_t pool;
    table_t table;
    xyl_board_extent_t extent;
} pair_t;

static void pair_init(pair_t *pair, uint32_t seats)
{
    uint32_t seat;
    char *window;

    pool_init(&pair->pool, seats, 0);
    table_init(&pair->table, &pair->pool, seats, LONGEST);
    for (seat = 0; seat < seats; seat++)
        xyl_board_take(pair->table.board[seat], 2, LONGEST, 0, &pair->extent);
    for (seat = 0; seat < seats; seat++)
        CHECK(xyl_board_begin(pair->table.board[seat], &pair->extent, 0,
                              &window));
    pair->table.node.arg = pair;
}

static void pair_fini(pair_t *pair)
{
    table_fini(&pair->table);
    pool_fini(&pair->pool, pair->table.seats);
}

static int pair_begin(pair_t *pair, uint32_t seat)
{
    char *window;

    return xyl_board_begin(pair->table.board[seat], &pair->extent, 1, &window);
}

static void pair_retire(pair_t *pair, uint32_t seat, uint32_t piece)
{
    xyl_board_retire(pair->table.board[seat], &pair->extent, piece);
}

static uint32_t woken(const pair_t *pair, uint32_t seat)
{
    return pair->table.node.woken[rank_of(&pair->table, seat)];
}

/* The number of seats goes beyond a word of the mask of those who wait. */
static void test_many_seats(void)
{
    static const uint32_t waiting[] = {0, 63, 64, 100, 129};
    static pair_t pair;
    uint32_t seat, i;

    pair_init(&pair, 130);
    for (i = 0; i < 5; i++)
        CHECK(!pair_begin(&pair, waiting[i]));
    for (seat = 0; seat < 130; seat++)
        pair_retire(&pair, seat, 0);
    for (seat = 0, i = 0; seat < 130; seat++) {
        int waits = i < 5 && waiting[i] == seat;
        CHECK_EQ(woken(&pair, seat), waits ? 129 : 0);
        CHECK(pair_begin(&pair, seat));
        i += (uint32_t)waits;
    }
    for (seat = 0; seat < 130; seat++) /* no seat waits any more */
        pair_retire(&pair, seat, 1);
    CHECK_EQ(woken(&pair, 0), 129);
    pair_fini(&pair);
}

/* ---- between two looks ---- */

static void between_init(pair_t *pair)
{
    pair_init(pair, 3);
    pair_retire(pair, 0, 0);
    pair_retire(pair, 1, 0);
}

static void last_retires(void *arg)
{
    pair_retire(arg, 2, 0);
}

/* Another seat marks itself as well, so that the word has changed. */
static void another_waits(void *arg)
{
    CHECK(!pair_begin(arg, 1));
}

static void end_both(pair_t *pair)
{
    uint32_t seat;

    for (seat = 0; seat < 3; seat++) {
        CHECK(seat == 0 || pair_begin(pair, seat));
        pair_retire(pair, seat, 1);
    }
    pair_fini(pair);
}

static void test_retired_meanwhile(void)
{
    static pair_t pair;

    between_init(&pair); /* before the seat has marked itself: it looks again */
    pair.table.node.before_swap = last_retires;
    CHECK(pair_begin(&pair, 0));
    CHECK_EQ(woken(&pair, 0), 0);
    end_both(&pair);
    between_init(&pair); /* after: woken as well */
    pair.table.node.after_swap = last_retires;
    CHECK(pair_begin(&pair, 0));
    CHECK_EQ(woken(&pair, 0), 1);
    end_both(&pair);
}

static void test_two_wait(void)
{
    static pair_t pair;

    between_init(&pair);
    pair.table.node.before_swap = another_waits;
    CHECK(!pair_begin(&pair, 0));
    last_retires(&pair);
    CHECK_EQ(woken(&pair, 0), 1);
    CHECK_EQ(woken(&pair, 1), 1);
    CHECK_EQ(woken(&pair, 2), 0);
    CHECK(pair_begin(&pair, 0));
    end_both(&pair);
}

static void test_no_memory(void)
{
    static const uint32_t ranks[] = {0, 1};
    plain_node_t node = {.is_empty = 1};
    plain_shm_t shm = {{&plain_ops, 0, 0}, &node};
    xyl_shm_pool_t pool;
    xyl_board_t *board = NULL;

    xyl_log_level_set(XYL_LOG_NONE);
    CHECK(!xyl_shm_pool_attach(&pool, &shm.shm, 1, 1024, 0));
    CHECK_EQ(xyl_board_create(&shm.shm, &pool, 1, ranks, 2, 0, 1024, &board),
             XYLEM_ERR_NO_MEMORY);
    xyl_log_level_set(XYL_LOG_WARN);
    CHECK(board == NULL);
}

/* The parts of a board do not overlap. */
static void test_layout(void)
{
    static pair_t pair;
    const xyl_board_t *board;
    char *slot, *end;
    uint64_t number;

    pair_init(&pair, 3);
    board = pair.table.board[1];
    end = xyl_board_slot(board, 0);
    CHECK(end >= board->memory + 4 * (size_t)XYL_BOARD_LINE_BYTES);
    for (number = 0; number < XYL_BOARD_SLOTS; number++) {
        slot = xyl_board_slot(board, number);
        CHECK(slot == end);
        CHECK_EQ((uintptr_t)slot % XYL_BOARD_LINE_BYTES, 0);
        CHECK((char *)&xyl_board_common(board, slot)->place >=
              xyl_board_line(slot, 2)->bytes + XYL_BOARD_INLINE_BYTES);
        CHECK((char *)xyl_board_word(board, slot, 0) >
              (char *)&xyl_board_common(board, slot)->left);
        CHECK((char *)xyl_board_sums(board, slot) >=
              (char *)(xyl_board_word(board, slot, XYL_BOARD_WORDS - 1) + 1));
        end = (char *)(xyl_board_sums(board, slot) + 1);
    }
    CHECK((char *)xyl_board_tree(board, 0) >= end);
    CHECK((char *)xyl_board_tree(board, XYL_BOARD_SLOTS - 1) +
              board->layout.tree_bytes <=
          board->memory + board->layout.windows_at);
    CHECK(board->layout.windows_at +
              (XYL_BOARD_SLOTS + XYL_BOARD_WINDOWS_MAX - 1) *
                  board->layout.window_bytes <=
          board->layout.reserve_at);
    CHECK(xyl_board_slot(board, XYL_BOARD_SLOTS + 5) ==
          xyl_board_slot(board, 5));
    for (number = 0; number < 3; number++)
        pair_retire(&pair, (uint32_t)number, 0);
    pair_fini(&pair);
}

/* The windows of a failed call, which one seat has not begun, one has retired a
 * piece of, and another none. The pool has all of them again in the end. */
static void test_windows_of_failed_calls(void)
{
    enum { SEATS = 3, PIECES = 4, RETIRED = 2 };
    static pool_t pool;
    static table_t table;
    xyl_board_extent_t extents[SEATS];
    char *windows[SEATS];
    uint32_t seat, piece;

    pool_init(&pool, SEATS, 64 << 20);
    table_init(&table, &pool, SEATS, 8 << 20);
    for (seat = 0; seat < SEATS; seat++)
        xyl_board_take(table.board[seat], PIECES, 1 << 20, 0, &extents[seat]);
    for (piece = 0; piece < PIECES; piece++) {
        for (seat = 0; seat < SEATS - (piece != 0); seat++)
            CHECK(xyl_board_begin(table.board[seat], &extents[seat], piece,
                                  &windows[seat]));
        CHECK(windows[0] == windows[1]);
    }
    for (seat = 0; seat < SEATS; seat++) /* the first one ends well */
        xyl_board_retire(table.board[seat], &extents[seat], 0);
    xyl_board_retire(table.board[1], &extents[1], RETIRED);
    table_fini(&table);
    pool_fini(&pool, SEATS);
}

static const check_case_t cases[] = {
    {"windows", test_windows},
    {"many_seats", test_many_seats},
    {"retired_meanwhile", test_retired_meanwhile},
    {"two_wait", test_two_wait},
    {"no_memory", test_no_memory},
    {"layout", test_layout},
    {"windows_of_failed_calls", test_windows_of_failed_calls},
};
CHECK_MAIN(cases)
