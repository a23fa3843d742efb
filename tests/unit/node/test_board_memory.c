/* A board takes memory as it is used: a team that has said little costs little,
 * and whatever a seat may touch was made before, but for trees. */
#include "collectives/node/board.h"

#include "tests/support/check.h"
#include "tests/support/plain_shm.h"

enum {
    SEATS = 4,
    RING_BYTES = 64 << 20,
    PAGE_BYTES = 4096,
    PAGES_MAX = (RING_BYTES + (8 << 20)) / PAGE_BYTES,
    LITTLE_BYTES = 64 << 10,
    MESSAGE_BYTES = 320 << 10
};

static plain_node_t node;
static unsigned char is_made[PAGES_MAX];

static void note(xyl_shm_t *shm, void *memory, size_t bytes)
{
    size_t at = (size_t)((char *)memory - (char *)plain_node_of(shm)->memory);
    size_t page;

    for (page = at / PAGE_BYTES; page <= (at + bytes - 1) / PAGE_BYTES; page++)
        is_made[page] = 1;
}

static size_t bytes_made(void)
{
    size_t page, pages = 0;

    for (page = 0; page < PAGES_MAX; page++)
        pages += is_made[page];
    return pages * PAGE_BYTES;
}

static int was_made(const void *memory, size_t bytes)
{
    size_t at = (size_t)((const char *)memory - (char *)node.memory), page;

    for (page = at / PAGE_BYTES; page <= (at + bytes - 1) / PAGE_BYTES; page++)
        if (!is_made[page])
            return 0;
    return 1;
}

/* `count` messages with windows of `bytes`. */
static void say(xyl_board_t *board, uint32_t count, uint64_t bytes)
{
    xyl_board_extent_t extent;
    uint32_t i;

    for (i = 0; i < count; i++) {
        extent = xyl_board_take(board, 1, bytes, XYL_PACE_FREE);
        CHECK(
            was_made(xyl_board_slot(board, extent.number), board->slot_bytes));
        if (bytes == 0)
            continue;
        xyl_board_prepare(board, &extent);
        CHECK(was_made(xyl_board_window(board, extent.ring, extent.at),
                       (size_t)bytes));
    }
}

static void test_as_used(void)
{
    const uint32_t ranks[SEATS] = {0, 1, 2, 3};
    xyl_shm_ops_t ops = plain_ops;
    plain_shm_t shm = {{&ops, 0}, &node};
    xyl_board_t *board;

    ops.prepare = note;
    CHECK(xyl_board_bytes(SEATS, RING_BYTES) <= sizeof is_made * PAGE_BYTES);
    CHECK_EQ(xyl_board_create(&shm.shm, 5, ranks, SEATS, 0, RING_BYTES, &board),
             XYLEM_OK);
    say(board, 10, 0);
    CHECK(bytes_made() <= LITTLE_BYTES);
    say(board, 1, MESSAGE_BYTES);
    CHECK(bytes_made() <= LITTLE_BYTES + MESSAGE_BYTES + 2 * PAGE_BYTES);
    say(board, 2 * XYL_BOARD_SLOTS, 0);
    CHECK(bytes_made() < 2 << 20);
    say(board, 2 * RING_BYTES / MESSAGE_BYTES, MESSAGE_BYTES);
    CHECK(bytes_made() < (64 << 20));
    xyl_board_destroy(board);
}

static const check_case_t cases[] = {{"as_used", test_as_used}};
CHECK_MAIN(cases)
