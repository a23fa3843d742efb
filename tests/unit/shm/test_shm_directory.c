/* The directory of a node's shared memory by itself, in ordinary memory. */
#include "progress/shm/directory.h"

#include <stdlib.h>

#include "tests/support/check.h"
#include "tests/support/shm_nodes.h"

enum { STATE_CLAIMED = 2, GENERATION = 1 << 24, ROUNDS = 600 };

static xyl_shm_node_entry_t *directory_create(void)
{
    xyl_shm_node_entry_t *entries =
        calloc(XYL_SHM_NODE_ENTRIES, sizeof *entries);

    must(entries != NULL);
    return entries;
}

static void leave(xyl_shm_node_entry_t *entries, uint32_t index)
{
    if (xyl_shm_node_leave(entries, index))
        xyl_shm_node_release(entries, index);
}

/* A rank was killed between its claim and its use: others get by. */
static void test_abandoned_claim(void)
{
    xyl_shm_node_entry_t *entries = directory_create();
    uint32_t home = xyl_shm_node_enter(entries, 77), other;

    CHECK(xyl_shm_node_leave(entries, home));
    xyl_shm_node_release(entries, home);
    atomic_store(&entries[home].word, GENERATION * 9 + STATE_CLAIMED);
    other = xyl_shm_node_enter(entries, 77);
    CHECK(other != home && other < XYL_SHM_NODE_ENTRIES);
    CHECK_EQ(xyl_shm_node_enter(entries, 77), other);
    CHECK(!xyl_shm_node_leave(entries, other));
    /* The abandoned entry is of use again. */
    CHECK_EQ(xyl_shm_node_enter(entries, 77), other);
    CHECK(!xyl_shm_node_leave(entries, other));
    CHECK(xyl_shm_node_leave(entries, other));
    /* Ending: cannot be joined. */
    CHECK_EQ(xyl_shm_node_enter(entries, 77), home);
    xyl_shm_node_release(entries, other);
    free(entries);
}

/* All enter a key at once; in most rounds while others still leave it. */
static void *enter_and_leave(void *arg)
{
    one_t *one = arg;
    crowd_t *crowd = one->crowd;
    xyl_shm_node_entry_t *entries = crowd->shared;
    uint32_t round, i, index;

    for (round = 0; round < ROUNDS; round++) {
        index = xyl_shm_node_enter(entries, round / 20);
        crowd->index[one->number] = index;
        pthread_barrier_wait(&crowd->barrier);
        for (i = 0; i < NODES; i++)
            if (crowd->index[i] != index || index == XYL_SHM_NODE_ENTRIES)
                check_failed(__FILE__, __LINE__, "a key has two entries");
        pthread_barrier_wait(&crowd->barrier);
        leave(entries, index);
        if (round % 4 == 0)
            pthread_barrier_wait(&crowd->barrier);
    }
    return NULL;
}

static void test_entered_at_once(void)
{
    xyl_shm_node_entry_t *entries = directory_create();
    crowd_t crowd = {.shared = entries};
    uint32_t i, used = 0;

    crowd_run(&crowd, enter_and_leave);
    for (i = 0; i < XYL_SHM_NODE_ENTRIES; i++)
        used += atomic_load(&entries[i].word) % (1 << 24) != 0;
    CHECK_EQ(used, 0);
    free(entries);
}

static const check_case_t cases[] = {
    {"abandoned_claim", test_abandoned_claim},
    {"entered_at_once", test_entered_at_once},
};
CHECK_MAIN(cases)
