/* A search probes entries one by one, from a hash of the key to the first entry
 * that was never used.
 *
 *        reserve          announce          commit          last leaves
 *   FREE ------> RESERVED -------> CLAIMED -------> LIVE <-> ------> ENDING
 *    ^            key is written      |          users change          |
 *    |                                | given up, or put aside         |
 *    `--------------------------------+--------------------------------'
 *
 * Two ranks that enter a new key at once may claim two free entries; only one
 * entry may live. A rank that has announced its claim searches all entries of
 * the key. If it finds a live entry it gives its claim up and joins that entry.
 * If it finds another claim, the claim with the lower index wins: the rank
 * gives up its own claim or puts the other aside. The later announced of two
 * claims sees the earlier one, so at most one commits.
 *
 * The search reaches every such entry. Suppose a rival's entry lies beyond the
 * place where this search ended. The rival claimed it after that place had been
 * taken, so after this search and this claim; the rival's own search finds this
 * claim.
 *
 * A rank cannot join an entry that ends. If the rank enters the same key
 * meanwhile it takes another entry, with another range, which is already clear.
 * So no rank waits for a range to be cleared, or maps one that is being
 * cleared.
 *
 * The generation changes with each change of state, but not with the users. So
 * if the word has not changed, a key read after it was the entry's key.
 * All operations are sequentially consistent: claims and searches of all ranks
 * have one order. They happen in planning, not on the data path. */
#include "progress/shm/directory.h"

#include <assert.h>
#include <sched.h>

typedef enum state {
    STATE_FREE, /* all zeros: never used */
    STATE_RESERVED,
    STATE_CLAIMED,
    STATE_LIVE,
    STATE_ENDING
} state_t;

enum {
    STATE_BITS = 3,
    USER_BITS = 21,
    GENERATION_SHIFT = STATE_BITS + USER_BITS,
    TRIES_MAX = 100000,
    TRIES_PATIENT = 1000 /* then a claim with a lower index counts as that of a
                            killed rank */
};

#define USER (UINT64_C(1) << STATE_BITS)

static state_t state_of(uint64_t word)
{
    return (state_t)(word & ((1u << STATE_BITS) - 1));
}

static uint64_t users_of(uint64_t word)
{
    return word >> STATE_BITS & ((UINT64_C(1) << USER_BITS) - 1);
}

/* The word that follows `word` with another state. */
static uint64_t next(uint64_t word, state_t state, uint64_t users)
{
    uint64_t generation = (word >> GENERATION_SHIFT) + 1;

    return generation << GENERATION_SHIFT | users << STATE_BITS | state;
}

static uint32_t home_of(uint64_t key)
{
    return (uint32_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) %
           XYL_SHM_NODE_ENTRIES;
}

static uint32_t place(uint32_t home, uint32_t step)
{
    return (home + step) % XYL_SHM_NODE_ENTRIES;
}

/* ---- joining a live entry ---- */

static int join(xyl_shm_node_entry_t *entry, uint64_t key)
{
    uint64_t word = atomic_load(&entry->word);

    /* A round fails only if another rank has succeeded, so this ends. */
    while (state_of(word) == STATE_LIVE && atomic_load(&entry->key) == key) {
        assert(users_of(word) < (1u << USER_BITS) - 1);
        if (atomic_compare_exchange_strong(&entry->word, &word, word + USER))
            return 1;
    }
    return 0;
}

/* Joins the entry of `key` and returns it; XYL_SHM_NODE_ENTRIES: the key has
 * none, and *free_out is the first free entry, or XYL_SHM_NODE_ENTRIES. */
static uint32_t find(xyl_shm_node_entry_t *entries, uint64_t key,
                     uint32_t *free_out)
{
    uint32_t home = home_of(key), step;

    *free_out = XYL_SHM_NODE_ENTRIES;
    for (step = 0; step < XYL_SHM_NODE_ENTRIES; step++) {
        uint32_t index = place(home, step);
        uint64_t word = atomic_load(&entries[index].word);

        if (join(&entries[index], key))
            return index;
        if (state_of(word) == STATE_FREE && *free_out == XYL_SHM_NODE_ENTRIES)
            *free_out = index;
        if (word == 0)
            break;
    }
    return XYL_SHM_NODE_ENTRIES;
}

/* ---- claiming ---- */

/* 1: this entry rules out a claim of `key` elsewhere. 0: the entry has another
 * key or state, or this call has put it aside. */
static int rivals(xyl_shm_node_entry_t *entry, uint64_t key, int gives_way)
{
    uint64_t word = atomic_load(&entry->word);

    for (;;) {
        state_t state = state_of(word);
        if ((state != STATE_CLAIMED && state != STATE_LIVE) ||
            atomic_load(&entry->key) != key)
            return 0;
        if (state == STATE_LIVE || gives_way)
            return 1;
        if (atomic_compare_exchange_strong(&entry->word, &word,
                                           next(word, STATE_FREE, 0)))
            return 0;
    }
}

static int has_rival(xyl_shm_node_entry_t *entries, uint64_t key, uint32_t own,
                     int is_patient)
{
    uint32_t home = home_of(key), step;

    for (step = 0; step < XYL_SHM_NODE_ENTRIES; step++) {
        uint32_t index = place(home, step);

        if (atomic_load(&entries[index].word) == 0)
            return 0;
        if (index != own &&
            rivals(&entries[index], key, is_patient && index < own))
            return 1;
    }
    return 0;
}

/* 1: the entry lives, with one user. */
static int entry_claim(xyl_shm_node_entry_t *entries, uint64_t key,
                       uint32_t own, int is_patient)
{
    xyl_shm_node_entry_t *entry = &entries[own];
    uint64_t word = atomic_load(&entry->word), reserved, claimed;
    state_t state = STATE_LIVE;

    reserved = next(word, STATE_RESERVED, 0);
    claimed = next(reserved, STATE_CLAIMED, 0);
    if (state_of(word) != STATE_FREE ||
        !atomic_compare_exchange_strong(&entry->word, &word, reserved))
        return 0;
    atomic_store(&entry->key, key);
    atomic_store(&entry->word, claimed); /* others leave reserved ones alone */
    if (has_rival(entries, key, own, is_patient))
        state = STATE_FREE;
    word = claimed; /* fails if a rival has put the claim aside */
    return atomic_compare_exchange_strong(
               &entry->word, &word,
               next(claimed, state, state == STATE_LIVE)) &&
           state == STATE_LIVE;
}

uint32_t xyl_shm_node_enter(xyl_shm_node_entry_t *entries, uint64_t key)
{
    uint32_t tries, index, own;

    for (tries = 0; tries < TRIES_MAX; tries++) {
        index = find(entries, key, &own);
        if (index != XYL_SHM_NODE_ENTRIES || own == XYL_SHM_NODE_ENTRIES)
            return index;
        if (entry_claim(entries, key, own, tries < TRIES_PATIENT))
            return own;
        sched_yield(); /* to the rival */
    }
    return XYL_SHM_NODE_ENTRIES;
}

/* ---- leaving ---- */

int xyl_shm_node_leave(xyl_shm_node_entry_t *entries, uint32_t index)
{
    _Atomic uint64_t *word = &entries[index].word;
    uint64_t now = atomic_load(word), then;

    do {
        assert(state_of(now) == STATE_LIVE && users_of(now) != 0);
        then = users_of(now) == 1 ? next(now, STATE_ENDING, 0) : now - USER;
    } while (!atomic_compare_exchange_strong(word, &now, then));
    return state_of(then) == STATE_ENDING;
}

void xyl_shm_node_release(xyl_shm_node_entry_t *entries, uint32_t index)
{
    uint64_t word = atomic_load(&entries[index].word);

    assert(state_of(word) == STATE_ENDING);
    atomic_store(&entries[index].word, next(word, STATE_FREE, 0));
}
