/* Where the window of a piece is: seats of two boards that share a pool begin
 * and retire pieces, one of them runs at a time, and before each access to
 * memory that all share chance decides which. Windows that are in use at once
 * have nothing in common, and all come back. */
#include <pthread.h>

#include "collectives/node/board.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/plain_shm.h"

enum {
    BOARDS = 2,
    SEATS = 2,
    ACTORS = BOARDS * SEATS,
    SCHEDULES = 600,
    PIECES = 5,
    BYTES = 1024, /* of a window */
    LONGEST = 2048
};

/* Whose turn it is; all else is touched by whoever has it. */
typedef struct stage {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn;
    uint32_t present; /* bits */
    uint64_t random;
    plain_node_t pool_node, nodes[BOARDS];
    xyl_shm_pool_t pools[ACTORS];
    xyl_board_t *boards[ACTORS];
    char *windows[BOARDS][PIECES]; /* that somebody has begun */
    uint32_t users[BOARDS][PIECES], begun[BOARDS][PIECES];
} stage_t;

static stage_t the_stage = {.lock = PTHREAD_MUTEX_INITIALIZER,
                            .changed = PTHREAD_COND_INITIALIZER};
static stage_t *const stage = &the_stage;
static _Thread_local uint32_t self = UINT32_MAX; /* no actor: free to go */

static void hand_over(void)
{
    uint32_t next;

    do
        next = random_below(&stage->random, ACTORS);
    while ((stage->present >> next & 1) == 0);
    stage->turn = next;
    pthread_cond_broadcast(&stage->changed);
}

static void await_turn(void)
{
    while (stage->turn != self)
        pthread_cond_wait(&stage->changed, &stage->lock);
}

static void interleave(void)
{
    if (self == UINT32_MAX)
        return;
    hand_over();
    await_turn();
}

static uint64_t get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    interleave();
    return plain_get(shm, flag);
}

static void set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                const uint32_t *readers, uint32_t count)
{
    interleave();
    plain_set(shm, flag, value, readers, count);
}

static int swap(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                uint64_t value)
{
    interleave();
    return plain_swap(shm, word, expected, value);
}

/* ---- an actor ---- */

static void check_alone(const char *window, uint32_t board, uint32_t piece)
{
    uint32_t b, p;

    for (b = 0; b < BOARDS; b++)
        for (p = 0; p < PIECES; p++) {
            const char *other = stage->windows[b][p];
            if ((b == board && p == piece) || stage->users[b][p] == 0)
                continue;
            if (window < other + BYTES && other < window + BYTES)
                check_failed(__FILE__, __LINE__, "a window has two pieces");
        }
}

static void begin(uint32_t board, const xyl_board_extent_t *extent,
                  uint32_t piece)
{
    char *window;

    while (!xyl_board_begin(stage->boards[self], extent, piece, &window))
        interleave();
    if (stage->begun[board][piece]++ == 0) {
        stage->windows[board][piece] = window;
        /* Until the last is about to leave. */
        stage->users[board][piece] = SEATS;
        check_alone(window, board, piece);
    }
    if (window != stage->windows[board][piece])
        check_failed(__FILE__, __LINE__, "a piece has two windows");
}

static void *act(void *arg)
{
    xyl_board_extent_t extent;
    uint32_t board, i, ahead;

    self = (uint32_t)(uintptr_t)arg;
    board = self / SEATS;
    pthread_mutex_lock(&stage->lock);
    await_turn();
    xyl_board_take(stage->boards[self], PIECES, BYTES, &extent);
    /* The first seat of a board runs ahead as far as it may. */
    ahead = self % SEATS == 0 ? 2 : 0;
    for (i = 0; i < PIECES; i++) {
        if (ahead == 0 || i == 0 || random_below(&stage->random, 2) == 0)
            interleave();
        begin(board, &extent, i);
        stage->users[board][i]--;
        xyl_board_retire(stage->boards[self], &extent, i);
    }
    stage->present &= ~(1u << self);
    if (stage->present != 0)
        hand_over();
    pthread_mutex_unlock(&stage->lock);
    return NULL;
}

/* ---- schedules ---- */

/* A pool of no window at all, of one, and of three. */
static void run(uint64_t seed)
{
    static const uint32_t ranks[SEATS] = {0, 1};
    xyl_shm_ops_t ops = plain_ops;
    plain_shm_t pool_shm = {{&ops, 0, 0}, &stage->pool_node};
    plain_shm_t shm[BOARDS];
    pthread_t threads[ACTORS];
    uint32_t i, bank;

    ops.get = get;
    ops.set = set;
    ops.swap = swap;
    stage->random = random_mix(seed);
    stage->present = (1u << ACTORS) - 1;
    stage->turn = 0;
    memset(stage->users, 0, sizeof stage->users);
    memset(stage->begun, 0, sizeof stage->begun);
    for (i = 0; i < ACTORS; i++) {
        shm[i / SEATS] = (plain_shm_t){{&ops, 0, 0}, &stage->nodes[i / SEATS]};
        CHECK(xyl_shm_pool_attach(&stage->pools[i], &pool_shm.shm, 1, 4096, 0));
        for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++)
            stage->pools[i].banks[bank].grain =
                bank == 5 && seed % 3 != 0 ? 128 : 0;
        CHECK_EQ(xyl_board_create(&shm[i / SEATS].shm, &stage->pools[i], 5,
                                  ranks, SEATS, i % SEATS, LONGEST,
                                  &stage->boards[i]),
                 XYLEM_OK);
    }
    /* All but one or three windows are somebody's. */
    *(uint64_t *)(void *)(stage->pools[0].memory +
                          (size_t)5 * XYL_BOARD_LINE_BYTES) =
        UINT64_MAX << (seed % 3 == 1 ? 8 : 24);
    for (i = 0; i < ACTORS; i++)
        if (pthread_create(&threads[i], NULL, act, (void *)(uintptr_t)i) != 0)
            abort();
    for (i = 0; i < ACTORS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(*(uint64_t *)(void *)(stage->pools[0].memory +
                                   (size_t)5 * XYL_BOARD_LINE_BYTES),
             UINT64_MAX << (seed % 3 == 1 ? 8 : 24));
    for (i = 0; i < ACTORS; i++) {
        xyl_board_destroy(stage->boards[i]);
        xyl_shm_pool_detach(&stage->pools[i]);
    }
}

static void test_schedules(void)
{
    uint64_t seed;

    for (seed = 1; seed <= SCHEDULES && check_failures() == 0; seed++)
        run(seed);
}

static const check_case_t cases[] = {{"schedules", test_schedules}};
CHECK_MAIN(cases)
