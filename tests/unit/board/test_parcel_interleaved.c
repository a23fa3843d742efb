/* Blocks that go in parts from two seats to a third, in random turns, with room
 * in the pool for none, some, or all of the parts: the taken bytes equal the
 * sent ones, runs that are in use at once have nothing in common, all come
 * back, and all seats get to the end. Lines and runs are used again and again.
 * Some blocks are first offered in their sender's memory; bytes read there
 * count if the sender has not taken the block back. When it is done it writes
 * other bytes there. */
#include <string.h>

#include "collectives/board/parcel.h"
#include "tests/support/check.h"
#include "tests/support/turning_shm.h"

enum {
    SEATS = 3,
    SCHEDULES = 400,
    PIECES = 3,
    CELL = 128,
    PART = 128,
    MOST = 512,
    LONGEST = 3000,
    WINDOWS = 1024
};

typedef struct scene {
    plain_node_t pool_node, node;
    xyl_shm_pool_t pools[SEATS];
    xyl_board_t *boards[SEATS];
    uint64_t seed;
    char lie[SEATS][LONGEST + 1];
    unsigned read, kept, refused; /* how many of the offered blocks were */
} scene_t;

static scene_t the_scene;
static scene_t *const scene = &the_scene;

/* The length of a seat's parcel in a piece. */
static uint64_t length_of(uint32_t seat, uint32_t piece)
{
    return 1 + (scene->seed * 977 + seat * 1009 + piece * 353) % LONGEST;
}

static char byte_of(uint32_t seat, uint32_t piece, uint64_t at)
{
    return (char)(at * 7 + at / 256 + seat * 101 + piece * 31 + scene->seed);
}

static xyl_parcel_way_t way_from(xyl_board_t *board, uint32_t seat,
                                 uint32_t piece, uint64_t number, char *window)
{
    return (xyl_parcel_way_t){.board = board,
                              .number = number,
                              .line = xyl_parcel_line(board, number, seat),
                              .cell = window + (size_t)seat * CELL,
                              .cell_bytes = CELL,
                              .bytes = length_of(seat, piece),
                              .other = board->seats.own == 0 ? seat : 0};
}

static _Atomic uint64_t *count_of(xyl_board_t *board, uint64_t number,
                                  uint32_t seat)
{
    return &xyl_parcel_line(board, number, seat)->count;
}

/* The offer of the block: its address; 0: it is not offered. */
static uint64_t offered(uint32_t seat, uint32_t piece)
{
    uint64_t at;

    if (turns_below(4) == 0)
        return 0;
    for (at = 0; at < length_of(seat, piece); at++)
        scene->lie[seat][at] = byte_of(seat, piece, at);
    return (uint64_t)(uintptr_t)scene->lie[seat];
}

/* Waits, but not for ever. 1: the receiver has read the block. */
static int is_read_there(const xyl_parcel_way_t *way, uint32_t seat)
{
    xyl_parcel_claim_t claim = xyl_parcel_claimed(way);

    while (claim == XYL_PARCEL_OFFERED || claim == XYL_PARCEL_TAKEN) {
        if (turns_below(50) == 0 && xyl_parcel_keep(way))
            scene->kept++;
        (void)turns_pass();
        claim = xyl_parcel_claimed(way);
    }
    memset(scene->lie[seat], 0, sizeof scene->lie[seat]);
    return claim == XYL_PARCEL_READ;
}

static void send_all(const xyl_parcel_way_t *way, uint32_t seat, uint32_t piece)
{
    xyl_parcel_t parcel = {0};
    uint64_t at;

    xyl_parcel_prepare(way, offered(seat, piece));
    xyl_board_set(way->board, count_of(way->board, way->number, seat),
                  xyl_board_value(way->number, 1), 0);
    if (is_read_there(way, seat))
        return;
    while (parcel.begin < way->bytes) {
        if (!xyl_parcel_send_next(way, PART, MOST, &parcel)) {
            (void)turns_pass();
            continue;
        }
        for (at = parcel.begin; at < parcel.end; at++) {
            parcel.memory[at - parcel.begin] = byte_of(seat, piece, at);
            if (at % 100 == 0)
                (void)turns_pass();
        }
        xyl_parcel_sent(way, &parcel);
    }
}

/* 1: it was there until the sender was told. */
static int read_there(const xyl_parcel_way_t *way, uint32_t seat,
                      uint32_t piece)
{
    static char got[LONGEST + 1];
    uint64_t at, lies;

    if (turns_below(5) == 0) {
        xyl_parcel_refuse(way);
        scene->refused += xyl_parcel_claimed(way) == XYL_PARCEL_REFUSED;
        return 0;
    }
    if (!xyl_parcel_claim(way, &lies))
        return 0;
    CHECK_EQ(lies, (uint64_t)(uintptr_t)scene->lie[seat]);
    for (at = 0; at < way->bytes; at++) {
        got[at] = scene->lie[seat][at];
        if (at % 100 == 0)
            (void)turns_pass();
    }
    if (!xyl_parcel_was_read(way))
        return 0;
    scene->read++;
    for (at = 0; at < way->bytes; at++)
        if (got[at] != byte_of(seat, piece, at))
            check_failed(__FILE__, __LINE__, "another byte than lay there");
    return 1;
}

/* 1: the parcel is over. */
static int take_some(const xyl_parcel_way_t *way, uint32_t seat, uint32_t piece,
                     xyl_parcel_t *parcel)
{
    uint64_t at;

    if (parcel->begin == way->bytes)
        return 1;
    if (xyl_board_get(way->board, count_of(way->board, way->number, seat)) <
        xyl_board_value(way->number, 1))
        return 0;
    if (!parcel->has_begun) {
        parcel->has_begun = 1;
        if (read_there(way, seat, piece)) {
            parcel->begin = way->bytes;
            return 1;
        }
    }
    if (!xyl_parcel_take_next(way, parcel))
        return 0;
    for (at = parcel->begin; at < parcel->end; at++) {
        if (parcel->memory[at - parcel->begin] != byte_of(seat, piece, at))
            check_failed(__FILE__, __LINE__, "another byte than was sent");
        if (at % 100 == 0)
            (void)turns_pass();
    }
    xyl_parcel_taken(way, parcel);
    return parcel->begin == way->bytes;
}

static void take_all(xyl_board_t *board, uint32_t piece, uint64_t number,
                     char *window)
{
    xyl_parcel_t parcels[SEATS];
    xyl_parcel_way_t way;
    uint32_t seat, left;

    memset(parcels, 0, sizeof parcels);
    do {
        left = SEATS - 1;
        for (seat = 1; seat < SEATS; seat++) {
            way = way_from(board, seat, piece, number, window);
            left -= (uint32_t)take_some(&way, seat, piece, &parcels[seat]);
        }
        (void)turns_pass();
    } while (left != 0);
}

static void act(uint32_t self)
{
    xyl_board_t *board = scene->boards[self];
    xyl_board_extent_t extent;
    xyl_parcel_way_t way;
    uint32_t piece;
    char *window;

    xyl_board_take(board, PIECES, (uint64_t)SEATS * CELL, 0, &extent);
    for (piece = 0; piece < PIECES; piece++) {
        uint64_t number = xyl_board_number(&extent, piece);
        while (!xyl_board_begin(board, &extent, piece, &window))
            (void)turns_pass();
        if (self == 0) {
            take_all(board, piece, number, window);
        } else {
            way = way_from(board, self, piece, number, window);
            send_all(&way, self, piece);
        }
        xyl_board_retire(board, &extent, piece);
    }
}

/* Grains of the one bank that others have taken. */
static uint64_t taken_before(uint64_t seed)
{
    static const uint64_t free_grains[] = {0, 1, 5, 24, 64};
    uint64_t grains = free_grains[seed % 5];

    return grains == 64 ? 0 : UINT64_MAX << grains;
}

static void run(uint64_t seed)
{
    static const uint32_t ranks[SEATS] = {0, 1, 2};
    plain_shm_t pool_shm = {{&turning_ops, 0, 0}, &scene->pool_node};
    plain_shm_t shm = {{&turning_ops, 0, 0}, &scene->node};
    uint64_t *word;
    uint32_t i, bank;

    scene->seed = seed;
    for (i = 0; i < SEATS; i++) {
        CHECK(
            xyl_shm_pool_attach(&scene->pools[i], &pool_shm.shm, 1, 65536, 0));
        for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++)
            scene->pools[i].banks[bank].grain = bank == 5 ? 128 : 0;
        CHECK_EQ(xyl_board_create(&shm.shm, &scene->pools[i], 5, ranks, SEATS,
                                  i, (size_t)WINDOWS * 1536, &scene->boards[i]),
                 XYLEM_OK);
    }
    word = (uint64_t *)(void *)(scene->pools[0].memory +
                                (size_t)5 * XYL_BOARD_LINE_BYTES);
    *word = taken_before(seed);
    turns_run(SEATS, seed, act);
    CHECK_EQ(*word, taken_before(seed));
    for (i = 0; i < SEATS; i++) {
        xyl_board_destroy(scene->boards[i]);
        xyl_shm_pool_detach(&scene->pools[i]);
    }
}

static void test_schedules(void)
{
    uint32_t schedules = check_cases(SCHEDULES);
    uint64_t seed;

    for (seed = 1; seed <= schedules && check_failures() == 0; seed++)
        run(seed);
    CHECK(scene->read > schedules / 4);
    CHECK(scene->kept > schedules / 4);
    CHECK(scene->refused > schedules / 4);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};
CHECK_MAIN(cases)
