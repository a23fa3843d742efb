/* The memory of xylem_alloc, on memory of the system: several threads, and
 * blocks that are left to the context. */
#include "runtime/core/heap.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "include/xylem.h"
#include "simulator/random.h"
#include "simulator/world.h"
#include "tests/support/check.h"

enum { THREADS = 4, STEPS = 2000, HELD = 40, PIECE_MAX = 5000 };

typedef struct user {
    xylem_context_t *context;
    uint32_t number;
} user_t;

static void *use_heap(void *arg)
{
    const user_t *user = arg;
    uint64_t random = user->number;
    void *held[HELD] = {NULL};
    uint32_t step;

    for (step = 0; step < STEPS; step++) {
        void **at = &held[random_below(&random, HELD)];
        size_t bytes = 1 + random_below(&random, PIECE_MAX);
        if (*at != NULL) {
            CHECK_EQ(*(char *)*at, (char)user->number);
            CHECK_EQ(xylem_free(user->context, *at), XYLEM_OK);
            *at = NULL;
            continue;
        }
        CHECK_EQ(xylem_alloc(user->context, bytes, at), XYLEM_OK);
        CHECK_EQ((uintptr_t)*at % 64, 0);
        memset(*at, (int)user->number, bytes);
    }
    return NULL; /* held blocks are left to the context */
}

static void test_threads(void)
{
    sim_machine_t machine;
    sim_options_t options = {
        .machine = &machine, .nodes = 1, .ranks_per_node = 2};
    pthread_t threads[THREADS];
    user_t users[THREADS];
    sim_world_t *world;
    uint32_t i;

    sim_machine_ideal(2, &machine);
    CHECK_EQ(sim_world_create(&options, &world), XYLEM_OK);
    for (i = 0; i < THREADS; i++) {
        users[i] = (user_t){sim_world_context(world, 1), i};
        if (pthread_create(&threads[i], NULL, use_heap, &users[i]) != 0)
            abort();
    }
    for (i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ(sim_world_destroy(world), XYLEM_OK);
}

static const check_case_t cases[] = {
    {"threads", test_threads},
};
CHECK_MAIN(cases)
