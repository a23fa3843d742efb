/* The directory of a node's shared memory when several enter and leave one key:
 * one of them runs at a time, and before each access to memory that all share
 * chance decides which. Two claims that cross each other are rare otherwise. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "simulator/random.h"
#include "tests/support/check.h"

enum { ACTORS = 3, SCHEDULES = 400, TURNS = 2, KEY = 5, OLD_KEYS = 3 };

/* Whose turn it is; all else is touched by whoever has it. */
typedef struct stage {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t turn;
    uint32_t present; /* bits */
    uint64_t random;
    uint32_t inside[ACTORS]; /* the entry, or UINT32_MAX */
    struct xyl_shm_node_entry *entries;
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

static int interleave(void)
{
    if (self == UINT32_MAX)
        return 0;
    hand_over();
    await_turn();
    return 0;
}

#undef atomic_load
#undef atomic_store
#undef atomic_compare_exchange_strong
#define atomic_load(object)                                                    \
    (interleave(), atomic_load_explicit(object, memory_order_seq_cst))
#define atomic_store(object, value)                                            \
    (interleave(), atomic_store_explicit(object, value, memory_order_seq_cst))
#define atomic_compare_exchange_strong(object, expected, value)                \
    (interleave(),                                                             \
     atomic_compare_exchange_strong_explicit(                                  \
         object, expected, value, memory_order_seq_cst, memory_order_seq_cst))
#include "progress/shm/directory.c"

static void check_alone(uint32_t index)
{
    uint32_t actor;

    CHECK(index < XYL_SHM_NODE_ENTRIES);
    for (actor = 0; actor < ACTORS; actor++)
        if (stage->inside[actor] != UINT32_MAX && stage->inside[actor] != index)
            check_failed(__FILE__, __LINE__, "a key has two entries");
}

static void *act(void *arg)
{
    uint32_t turn, index;

    self = (uint32_t)(uintptr_t)arg;
    pthread_mutex_lock(&stage->lock);
    await_turn();
    for (turn = 0; turn < TURNS; turn++) {
        index = xyl_shm_node_enter(stage->entries, KEY);
        check_alone(index);
        stage->inside[self] = index;
        interleave();
        stage->inside[self] = UINT32_MAX;
        if (xyl_shm_node_leave(stage->entries, index))
            xyl_shm_node_release(stage->entries, index);
    }
    stage->present &= ~(1u << self);
    if (stage->present != 0)
        hand_over();
    pthread_mutex_unlock(&stage->lock);
    return NULL;
}

/* Entries that were used, and some that are, where the key has its own. */
static void prepare(uint32_t schedule)
{
    uint32_t home = home_of(KEY), i;

    for (i = 0; i < OLD_KEYS; i++) {
        xyl_shm_node_entry_t *entry = &stage->entries[place(home, i)];
        state_t state =
            random_below(&stage->random, 2) ? STATE_FREE : STATE_LIVE;
        uint64_t key = random_below(&stage->random, 2) ? KEY : KEY + 1 + i;

        if (schedule % 2 == 0)
            return; /* never used */
        if (state == STATE_LIVE && key == KEY)
            state = STATE_ENDING; /* of one who was killed */
        atomic_init(&entry->key, key);
        atomic_init(&entry->word, next(7, state, state == STATE_LIVE));
    }
}

static void run_schedule(uint32_t schedule)
{
    pthread_t actors[ACTORS];
    uint32_t i;

    stage->random = schedule;
    stage->present = (1u << ACTORS) - 1;
    stage->turn = random_below(&stage->random, ACTORS);
    stage->entries = calloc(XYL_SHM_NODE_ENTRIES, sizeof *stage->entries);
    if (stage->entries == NULL)
        abort();
    prepare(schedule);
    for (i = 0; i < ACTORS; i++) {
        stage->inside[i] = UINT32_MAX;
        if (pthread_create(&actors[i], NULL, act, (void *)(uintptr_t)i) != 0)
            abort();
    }
    for (i = 0; i < ACTORS; i++)
        pthread_join(actors[i], NULL);
    for (i = 0; i < XYL_SHM_NODE_ENTRIES; i++) {
        uint64_t word = atomic_load(&stage->entries[i].word);
        if (state_of(word) != STATE_FREE && state_of(word) != STATE_ENDING)
            CHECK(stage->entries[i].key != KEY);
    }
    free(stage->entries);
}

static void test_schedules(void)
{
    uint32_t schedule;

    for (schedule = 0; schedule < SCHEDULES && check_failures() == 0;
         schedule++)
        run_schedule(schedule);
}

static const check_case_t cases[] = {
    {"schedules", test_schedules},
};
CHECK_MAIN(cases)
