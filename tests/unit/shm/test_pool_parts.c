/* Parts of the grains of a node's pool: short memory does not take the room of
 * a window. Ranks take and give back parts and windows, in random turns: memory
 * that is in use at once has nothing in common, and all of it comes back. */
#include "progress/shm/pool.h"
#include "tests/support/check.h"
#include "tests/support/turning_shm.h"

enum {
    ACTORS = 3,
    SCHEDULES = 600,
    TURNS = 8,
    OWN_MAX = 3, /* that an actor has at once */
    BANK = XYL_SHM_POOL_BANKS - 1,
    POOL_BYTES = 2 << 20,
    LINE_BYTES = 128
};

static _Atomic uint64_t *bank_word(const xyl_shm_pool_t *pool)
{
    return (_Atomic uint64_t *)(void *)(pool->memory +
                                        (size_t)BANK * LINE_BYTES);
}

/* ---- how many fit ---- */

/* A run of 8 KiB stands for one of 512 KiB, in budgets of 256 MiB to 4 GiB. */
static void test_room(void)
{
    static const size_t pools[] = {4 << 20, 12 << 20, 16 << 20, 64 << 20};
    enum { PART_BYTES = 8 << 10, MOST = (64 << 20) / PART_BYTES };
    static uint32_t parts[MOST + 1];
    size_t i;

    for (i = 0; i < sizeof pools / sizeof *pools; i++) {
        plain_node_t node = {.memory = NULL};
        plain_shm_t shm = {{&plain_ops, 0, 0}, &node};
        xyl_shm_pool_t pool = {.memory = NULL};
        size_t count = 0, k;

        CHECK(xyl_shm_pool_attach(&pool, &shm.shm, 1, pools[i], 0));
        while (count < MOST && (parts[count] = xyl_shm_pool_take_part(
                                    &pool, PART_BYTES)) != 0) {
            CHECK(parts[count] <= XYL_SHM_POOL_NAME_MAX);
            count++;
        }
        CHECK(count * PART_BYTES >= pools[i] / 4 * 3);
        for (k = 0; k < count; k++)
            xyl_shm_pool_free(&pool, parts[k], PART_BYTES);
        /* Nothing is split any more. */
        CHECK(xyl_shm_pool_take(&pool, pools[i] / 8 * 3, 0) != 0);
        CHECK(xyl_shm_pool_take(&pool, pools[i] / 8 * 3, 0) != 0);
        xyl_shm_pool_detach(&pool);
    }
}

/* ---- in turns ---- */

typedef struct own {
    uint32_t name;
    size_t bytes;
    const char *at;
} own_t;

typedef struct scene {
    plain_node_t node;
    xyl_shm_pool_t pools[ACTORS];
    own_t own[ACTORS][OWN_MAX]; /* at NULL: none */
} scene_t;

static scene_t the_scene;
static scene_t *const scene = &the_scene;

static void check_alone(const own_t *own)
{
    uint32_t a, i;

    for (a = 0; a < ACTORS; a++)
        for (i = 0; i < OWN_MAX; i++) {
            const own_t *other = &scene->own[a][i];
            if (other != own && other->at != NULL &&
                own->at < other->at + other->bytes &&
                other->at < own->at + own->bytes)
                check_failed(__FILE__, __LINE__, "two have the same memory");
        }
}

static void take(uint32_t self, own_t *own)
{
    static const size_t bytes[] = {(size_t)8 * LINE_BYTES,
                                   (size_t)32 * LINE_BYTES,
                                   (size_t)64 * LINE_BYTES};
    uint32_t which = turns_below(3);
    xyl_shm_pool_t *pool = &scene->pools[self];
    int is_new;

    own->bytes = bytes[which];
    own->name = which == 2 ? xyl_shm_pool_take(pool, own->bytes, 0)
                           : xyl_shm_pool_take_part(pool, own->bytes);
    if (own->name == 0)
        return;
    own->at = xyl_shm_pool_address(pool, own->name, own->bytes, &is_new);
    check_alone(own);
}

static void give(uint32_t self, own_t *own)
{
    own->at = NULL;
    xyl_shm_pool_free(&scene->pools[self], own->name, own->bytes);
}

static void act(uint32_t self)
{
    uint32_t i;
    own_t *own;

    for (i = 0; i < TURNS; i++) {
        own = &scene->own[self][turns_below(OWN_MAX)];
        if (own->at == NULL)
            take(self, own);
        else
            give(self, own);
    }
    for (i = 0; i < OWN_MAX; i++)
        if (scene->own[self][i].at != NULL)
            give(self, &scene->own[self][i]);
}

/* A pool of two grains. */
static void run(uint64_t seed)
{
    const uint64_t others = UINT64_MAX << 2;
    plain_shm_t shm = {{&turning_ops, 0, 0}, &scene->node};
    uint32_t i, bank;

    memset(scene->own, 0, sizeof scene->own);
    memset(scene->pools, 0, sizeof scene->pools);
    for (i = 0; i < ACTORS; i++) {
        CHECK(
            xyl_shm_pool_attach(&scene->pools[i], &shm.shm, 1, POOL_BYTES, 0));
        for (bank = 0; bank < BANK; bank++)
            scene->pools[i].banks[bank].grain = 0;
    }
    *bank_word(&scene->pools[0]) = others;
    turns_run(ACTORS, seed, act);
    CHECK_EQ(*bank_word(&scene->pools[0]), others);
    for (i = 0; i < ACTORS; i++)
        xyl_shm_pool_detach(&scene->pools[i]);
}

static void test_turns(void)
{
    uint64_t seed;

    for (seed = 1; seed <= SCHEDULES && check_failures() == 0; seed++)
        run(seed);
}

static const check_case_t cases[] = {
    {"room", test_room},
    {"turns", test_turns},
};
CHECK_MAIN(cases)
