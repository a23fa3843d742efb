/* Boards and their pool take memory as it is used: a team with few calls costs
 * little, one whose ranks are in step has the same windows again and again, and
 * all memory that a seat may touch was made before, except for trees and the
 * other seats' parts of a window of the pool. */
#include "collectives/board/board.h"

#include "tests/support/check.h"
#include "tests/support/plain_shm.h"

enum {
    SEATS = 4,
    POOL_BYTES = 64 << 20,
    WINDOW_BYTES = POOL_BYTES / 8 * 3,
    PAGE_BYTES = 4096,
    PAGES_MAX = (POOL_BYTES + (8 << 20)) / PAGE_BYTES,
    LITTLE_BYTES = 64 << 10,
    MESSAGE_BYTES = 320 << 10
};

static plain_node_t node, pool_node;
static unsigned char is_made[PAGES_MAX], is_pool_made[PAGES_MAX];

/* The page of the board, or of the pool. */
static unsigned char *page_of(const void *memory)
{
    const char *at = memory, *begin = node.memory;

    if (at >= begin && at < begin + node.bytes)
        return &is_made[(at - begin) / PAGE_BYTES];
    return &is_pool_made[(at - (const char *)pool_node.memory) / PAGE_BYTES];
}

static void note(xyl_shm_t *shm, void *memory, size_t bytes)
{
    (void)shm;
    if (bytes != 0)
        memset(page_of(memory), 1,
               (size_t)(page_of((char *)memory + bytes - 1) - page_of(memory)) +
                   1);
}

static size_t bytes_made(const unsigned char *made)
{
    size_t page, pages = 0;

    for (page = 0; page < PAGES_MAX; page++)
        pages += made[page];
    return pages * PAGE_BYTES;
}

static int was_made(const void *memory, size_t bytes)
{
    const char *last = (const char *)memory + bytes - 1;

    return memchr(page_of(memory), 0,
                  (size_t)(page_of(last) - page_of(memory)) + 1) == NULL;
}

/* Begins a message. */
static void say_one(xyl_board_t *board, uint64_t bytes,
                    xyl_board_extent_t *extent)
{
    char *window;

    xyl_board_take(board, 1, bytes, 0, extent);
    CHECK(xyl_board_begin(board, extent, 0, &window));
    CHECK(was_made(xyl_board_slot(board, extent->number),
                   board->layout.slot_bytes));
    if (extent->is_pooled) /* its own part, and the needed bytes of others' */
        CHECK(was_made(window + board->seats.own * (bytes / SEATS),
                       (size_t)(bytes / SEATS)));
    else
        CHECK(bytes == 0 || was_made(window, (size_t)bytes));
}

/* `count` messages with windows of `bytes`, of which `ahead` are under way. */
static void say(xyl_board_t **boards, uint32_t count, uint64_t bytes,
                uint32_t ahead)
{
    xyl_board_extent_t extents[SEATS][16];
    uint32_t i, seat;

    for (i = 0; i < count + ahead; i++)
        for (seat = 0; seat < SEATS; seat++) {
            if (i < count)
                say_one(boards[seat], bytes, &extents[seat][i % 16]);
            if (i >= ahead)
                xyl_board_retire(boards[seat], &extents[seat][(i - ahead) % 16],
                                 0);
        }
}

typedef struct fixture {
    xyl_shm_ops_t ops;
    plain_shm_t shm, pool_shm;
    xyl_shm_pool_t pools[SEATS];
    xyl_board_t *boards[SEATS];
} fixture_t;

static void fixture_begin(fixture_t *fixture, size_t reuse_bytes)
{
    const uint32_t ranks[SEATS] = {0, 1, 2, 3};
    uint32_t seat;

    CHECK(xyl_board_bytes(SEATS, WINDOW_BYTES) <= sizeof is_made * PAGE_BYTES);
    memset(is_made, 0, sizeof is_made);
    memset(is_pool_made, 0, sizeof is_pool_made);
    fixture->ops = plain_ops;
    fixture->ops.prepare = note;
    fixture->shm = (plain_shm_t){{&fixture->ops, 0, 0}, &node};
    fixture->pool_shm = (plain_shm_t){{&fixture->ops, 0, 0}, &pool_node};
    for (seat = 0; seat < SEATS; seat++) {
        CHECK(xyl_shm_pool_attach(&fixture->pools[seat], &fixture->pool_shm.shm,
                                  1, POOL_BYTES, reuse_bytes));
        CHECK_EQ(xyl_board_create(&fixture->shm.shm, &fixture->pools[seat], 5,
                                  ranks, SEATS, seat, WINDOW_BYTES,
                                  &fixture->boards[seat]),
                 XYLEM_OK);
    }
}

static void fixture_end(fixture_t *fixture)
{
    uint32_t seat;

    for (seat = 0; seat < SEATS; seat++) {
        xyl_board_destroy(fixture->boards[seat]);
        xyl_shm_pool_detach(&fixture->pools[seat]);
    }
}

static void test_as_used(void)
{
    fixture_t fixture;
    xyl_board_t **boards = fixture.boards;
    size_t little;

    fixture_begin(&fixture, 0);
    say(boards, 10, 0, 0);
    CHECK(bytes_made(is_made) <= LITTLE_BYTES);
    say(boards, 1, 500, 0);
    CHECK(bytes_made(is_made) <= LITTLE_BYTES + (32 << 10));
    little = bytes_made(is_made);
    say(boards, 5, MESSAGE_BYTES, 0); /* round the first bank that has room */
    CHECK(bytes_made(is_made) <= little + LITTLE_BYTES / 2); /* slots */
    CHECK(bytes_made(is_pool_made) <=
          POOL_BYTES / 16 + MESSAGE_BYTES + 2 * PAGE_BYTES);
    say(boards, 100, MESSAGE_BYTES, 4);
    CHECK(bytes_made(is_pool_made) <=
          POOL_BYTES / 16 + 5 * (size_t)(MESSAGE_BYTES + 2 * PAGE_BYTES));
    say(boards, 2 * XYL_BOARD_SLOTS, 0, 0);
    CHECK(bytes_made(is_made) < 2 << 20);
    fixture_end(&fixture);
}

/* A team's first long messages rotate through few windows, however many short
 * ones came before, since new windows cost every rank faults. */
static void test_words_make_no_windows(void)
{
    const uint64_t bytes = 256 << 10;
    fixture_t fixture;

    fixture_begin(&fixture, POOL_BYTES);
    say(fixture.boards, 10000, 8, 0);
    CHECK_EQ(bytes_made(is_pool_made), 0);
    say(fixture.boards, 50, bytes, 0);
    CHECK(bytes_made(is_pool_made) <= (16 + 50 / 16 + 1) * bytes);
    fixture_end(&fixture);
}

static const check_case_t cases[] = {
    {"as_used", test_as_used},
    {"words_make_no_windows", test_words_make_no_windows}};
CHECK_MAIN(cases)
