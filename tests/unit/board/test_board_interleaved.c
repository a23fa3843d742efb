/* The places of windows: seats of two boards that share a pool begin and retire
 * pieces, in random turns. Windows that are in use at once have nothing in
 * common, and all come back. */
#include "collectives/board/board.h"
#include "tests/support/check.h"
#include "tests/support/turning_shm.h"

enum {
    BOARDS = 2,
    SEATS = 2,
    ACTORS = BOARDS * SEATS,
    SCHEDULES = 600,
    PIECES = 5,
    BYTES = 1024, /* of a window */
    LONGEST = 2048
};

typedef struct scene {
    plain_node_t pool_node, nodes[BOARDS];
    xyl_shm_pool_t pools[ACTORS];
    xyl_board_t *boards[ACTORS];
    char *windows[BOARDS][PIECES]; /* of pieces that some seat has begun */
    uint32_t users[BOARDS][PIECES], begun[BOARDS][PIECES];
} scene_t;

static scene_t the_scene;
static scene_t *const scene = &the_scene;

/* ---- an actor ---- */

static void check_alone(const char *window, uint32_t board, uint32_t piece)
{
    uint32_t b, p;

    for (b = 0; b < BOARDS; b++)
        for (p = 0; p < PIECES; p++) {
            const char *other = scene->windows[b][p];
            if ((b == board && p == piece) || scene->users[b][p] == 0)
                continue;
            if (window < other + BYTES && other < window + BYTES)
                check_failed(__FILE__, __LINE__, "a window has two pieces");
        }
}

static void begin(uint32_t self, uint32_t board,
                  const xyl_board_extent_t *extent, uint32_t piece)
{
    char *window;

    while (!xyl_board_begin(scene->boards[self], extent, piece, &window))
        (void)turns_pass();
    if (scene->begun[board][piece]++ == 0) {
        scene->windows[board][piece] = window;
        /* Until the last is about to leave. */
        scene->users[board][piece] = SEATS;
        check_alone(window, board, piece);
    }
    if (window != scene->windows[board][piece])
        check_failed(__FILE__, __LINE__, "a piece has two windows");
}

static void act(uint32_t self)
{
    xyl_board_extent_t extent;
    uint32_t board = self / SEATS, i, ahead;

    xyl_board_take(scene->boards[self], PIECES, BYTES, 0, &extent);
    /* The first seat of a board runs ahead as far as it may. */
    ahead = self % SEATS == 0 ? 2 : 0;
    for (i = 0; i < PIECES; i++) {
        if (ahead == 0 || i == 0 || turns_below(2) == 0)
            (void)turns_pass();
        begin(self, board, &extent, i);
        scene->users[board][i]--;
        xyl_board_retire(scene->boards[self], &extent, i);
    }
}

/* ---- schedules ---- */

/* A pool of no window at all, of one, and of three. */
static void run(uint64_t seed)
{
    static const uint32_t ranks[SEATS] = {0, 1};
    plain_shm_t pool_shm = {{&turning_ops, 0, 0}, &scene->pool_node};
    plain_shm_t shm[BOARDS];
    uint32_t i, bank;

    memset(scene->users, 0, sizeof scene->users);
    memset(scene->begun, 0, sizeof scene->begun);
    for (i = 0; i < ACTORS; i++) {
        shm[i / SEATS] =
            (plain_shm_t){{&turning_ops, 0, 0}, &scene->nodes[i / SEATS]};
        CHECK(xyl_shm_pool_attach(&scene->pools[i], &pool_shm.shm, 1, 4096, 0));
        for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++)
            scene->pools[i].banks[bank].grain =
                bank == 5 && seed % 3 != 0 ? 128 : 0;
        CHECK_EQ(xyl_board_create(&shm[i / SEATS].shm, &scene->pools[i], 5,
                                  ranks, SEATS, i % SEATS, LONGEST,
                                  &scene->boards[i]),
                 XYLEM_OK);
    }
    /* All windows except one or three are taken. */
    *(uint64_t *)(void *)(scene->pools[0].memory +
                          (size_t)5 * XYL_BOARD_LINE_BYTES) =
        UINT64_MAX << (seed % 3 == 1 ? 8 : 24);
    turns_run(ACTORS, seed, act);
    CHECK_EQ(*(uint64_t *)(void *)(scene->pools[0].memory +
                                   (size_t)5 * XYL_BOARD_LINE_BYTES),
             UINT64_MAX << (seed % 3 == 1 ? 8 : 24));
    for (i = 0; i < ACTORS; i++) {
        xyl_board_destroy(scene->boards[i]);
        xyl_shm_pool_detach(&scene->pools[i]);
    }
}

static void test_schedules(void)
{
    uint64_t seed;

    for (seed = 1; seed <= check_cases(SCHEDULES) && check_failures() == 0;
         seed++)
        run(seed);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};
CHECK_MAIN(cases)
