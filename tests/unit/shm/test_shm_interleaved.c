/* The directory of a node's shared memory when several enter and leave one key:
 * they take turns by chance. Two claims that cross each other are rare
 * otherwise. */
#include <stdatomic.h>
#include <stdlib.h>

#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/turns.h"

enum { ACTORS = 3, SCHEDULES = 400, TURNS = 2, KEY = 5, OLD_KEYS = 3 };

static uint32_t inside[ACTORS]; /* the entry, or UINT32_MAX */
static struct xyl_shm_node_entry *directory;

#undef atomic_load
#undef atomic_store
#undef atomic_compare_exchange_strong
#define atomic_load(object)                                                    \
    (turns_pass(), atomic_load_explicit(object, memory_order_seq_cst))
#define atomic_store(object, value)                                            \
    (turns_pass(), atomic_store_explicit(object, value, memory_order_seq_cst))
#define atomic_compare_exchange_strong(object, expected, value)                \
    (turns_pass(),                                                             \
     atomic_compare_exchange_strong_explicit(                                  \
         object, expected, value, memory_order_seq_cst, memory_order_seq_cst))
#include "progress/shm/directory.c"

static void check_alone(uint32_t index)
{
    uint32_t actor;

    CHECK(index < XYL_SHM_NODE_ENTRIES);
    for (actor = 0; actor < ACTORS; actor++)
        if (inside[actor] != UINT32_MAX && inside[actor] != index)
            check_failed(__FILE__, __LINE__, "a key has two entries");
}

static void act(uint32_t self)
{
    uint32_t turn, index;

    for (turn = 0; turn < TURNS; turn++) {
        index = xyl_shm_node_enter(directory, KEY);
        check_alone(index);
        inside[self] = index;
        (void)turns_pass();
        inside[self] = UINT32_MAX;
        if (xyl_shm_node_leave(directory, index))
            xyl_shm_node_release(directory, index);
    }
}

/* Entries that were used, and some that are, where the key has its own. */
static void prepare(uint32_t schedule)
{
    uint64_t chance = random_mix(schedule);
    uint32_t home = home_of(KEY), i;

    for (i = 0; i < OLD_KEYS; i++) {
        xyl_shm_node_entry_t *entry = &directory[place(home, i)];
        state_t state = random_below(&chance, 2) ? STATE_FREE : STATE_LIVE;
        uint64_t key = random_below(&chance, 2) ? KEY : KEY + 1 + i;

        if (schedule % 2 == 0)
            return; /* never used */
        if (state == STATE_LIVE && key == KEY)
            state = STATE_ENDING; /* of a killed process */
        atomic_init(&entry->key, key);
        atomic_init(&entry->word, next(7, state, state == STATE_LIVE));
    }
}

static void run_schedule(uint32_t schedule)
{
    uint32_t i;

    directory = calloc(XYL_SHM_NODE_ENTRIES, sizeof *directory);
    if (directory == NULL)
        abort();
    prepare(schedule);
    for (i = 0; i < ACTORS; i++)
        inside[i] = UINT32_MAX;
    turns_run(ACTORS, schedule, act);
    for (i = 0; i < XYL_SHM_NODE_ENTRIES; i++) {
        uint64_t word = atomic_load(&directory[i].word);
        if (state_of(word) != STATE_FREE && state_of(word) != STATE_ENDING)
            CHECK(directory[i].key != KEY);
    }
    free(directory);
}

static void test_schedules(void)
{
    uint32_t schedule;

    for (schedule = 0;
         schedule < check_cases(SCHEDULES) && check_failures() == 0; schedule++)
        run_schedule(schedule);
}

static const check_case_t cases[] = {
    {"schedules", test_schedules},
};
CHECK_MAIN(cases)
