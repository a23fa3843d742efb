#include "tests/support/orders.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/scenes.h"

enum { STEPS_MAX = 100000 };

static void orders_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                       const uint32_t *readers, uint32_t count)
{
    orders_t *orders = (orders_t *)(void *)shm;
    uint32_t i;

    atomic_store(flag, value);
    for (i = 0; i < count; i++)
        orders->now->rest[readers[i]] = orders->is_simulated ? NEWS : AWAKE;
}

static int orders_swap(xyl_shm_t *shm, _Atomic uint64_t *word,
                       uint64_t *expected, uint64_t value)
{
    (void)shm;
    return atomic_compare_exchange_strong(word, expected, value);
}

static const xyl_shm_ops_t shm_ops = {.set = orders_set, .swap = orders_swap};

void orders_init(orders_t *orders, const orders_ops_t *ops)
{
    uint32_t i;

    orders->shm.ops = &shm_ops;
    orders->ops = ops;
    orders->mistake = NULL;
    orders->now->stopped = ORDERS_NOBODY;
    for (i = 0; i < ORDERS_SEATS_MAX; i++)
        orders->ranks[i] = i;
}

xyl_seats_t orders_seats(orders_t *orders, uint32_t seat)
{
    return (xyl_seats_t){&orders->shm, orders->seats, seat, orders->ranks,
                         orders->readers};
}

void orders_wrong(orders_t *orders, const char *what)
{
    if (orders->mistake == NULL)
        orders->mistake = what;
}

void orders_rest(orders_t *orders, uint32_t seat)
{
    uint8_t *rest = &orders->now->rest[seat];

    if (*rest == NEWS)
        *rest = AWAKE;
    else if (orders->is_simulated || *rest == ANNOUNCED)
        *rest = ASLEEP;
    else
        *rest = ANNOUNCED;
}

void orders_wake(orders_t *orders, uint32_t seat)
{
    if (orders->now->rest[seat] == ANNOUNCED)
        orders->now->rest[seat] = AWAKE;
}

int orders_may_step(const orders_t *orders, uint32_t seat)
{
    return !orders->ops->is_done(orders, seat) &&
           orders->now->rest[seat] != ASLEEP && orders->now->stopped != seat;
}

static int may_stop(const orders_t *orders, uint32_t seat)
{
    return orders->may_stop && orders->now->stopped == ORDERS_NOBODY &&
           orders->ops->works(orders, seat);
}

/* ---- every order ---- */

static void add(orders_t *orders, scenes_t *scenes)
{
    orders->ops->forget(orders);
    scenes_add(scenes, orders->now);
}

/* Finds all scenes that may follow `scene`. */
static void expand(orders_t *orders, const void *scene, scenes_t *scenes)
{
    uint32_t seat, moves = 0;

    for (seat = 0; seat < orders->seats; seat++) {
        memcpy(orders->now, scene, orders->scene_bytes);
        if (!orders_may_step(orders, seat))
            continue;
        moves++;
        if (may_stop(orders, seat)) {
            orders->now->stopped = (uint8_t)seat;
            add(orders, scenes);
            memcpy(orders->now, scene, orders->scene_bytes);
        }
        orders->ops->step(orders, seat);
        add(orders, scenes);
    }
    memcpy(orders->now, scene, orders->scene_bytes);
    if (moves == 0)
        orders->ops->check_end(orders);
}

uint64_t orders_every(orders_t *orders)
{
    void *scene = malloc(orders->scene_bytes);
    scenes_t scenes;
    uint64_t count;

    if (scene == NULL)
        abort();
    scenes_init(&scenes, orders->scene_bytes);
    add(orders, &scenes);
    while (orders->mistake == NULL && scenes_take(&scenes, scene))
        expand(orders, scene, &scenes);
    if (orders->mistake != NULL)
        check_failed(__FILE__, __LINE__, orders->mistake);
    count = scenes.count;
    scenes_fini(&scenes);
    free(scene);
    return count;
}

/* ---- orders by chance ---- */

static uint32_t draw(const orders_t *orders, uint64_t *random)
{
    uint32_t seat = random_below(random, orders->seats), tries;

    for (tries = 0; tries < orders->seats; tries++) {
        if (orders_may_step(orders, seat))
            return seat;
        seat = (seat + 1) % orders->seats;
    }
    return ORDERS_NOBODY;
}

void orders_by_chance(orders_t *orders, uint64_t *random)
{
    uint32_t seat, same = 0, steps = 0;

    for (seat = draw(orders, random);
         seat != ORDERS_NOBODY && steps < STEPS_MAX; steps++) {
        if (may_stop(orders, seat) && random_below(random, 16) == 0)
            orders->now->stopped = (uint8_t)seat;
        else
            orders->ops->step(orders, seat);
        if (same == 0 || !orders_may_step(orders, seat)) {
            seat = draw(orders, random);
            same = random_below(random, 12);
        } else {
            same--;
        }
    }
    if (steps == STEPS_MAX)
        orders_wrong(orders, "there is no end");
    orders->ops->check_end(orders);
    if (orders->mistake != NULL)
        check_failed(__FILE__, __LINE__, orders->mistake);
}
