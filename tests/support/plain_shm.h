/* Shared memory for tests of one thread: ordinary memory, in which every seat
 * sees other seats' stores at once, and which counts wake-ups. A hook acts in
 * the middle of a call. */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "progress/shm/shm.h"

enum { PLAIN_SHM_RANKS = 160 };

typedef struct plain_node {
    void *memory;
    size_t bytes;
    uint64_t key;
    uint32_t users;
    int is_empty; /* nothing can be attached */
    /* [rank]: how often it was woken. */
    uint32_t woken[PLAIN_SHM_RANKS];
    /* Called once, before or after the next swap, if not NULL. */
    void (*before_swap)(void *arg);
    void (*after_swap)(void *arg);
    void *arg;
} plain_node_t;

typedef struct plain_shm {
    xyl_shm_t shm; /* first */
    plain_node_t *node;
} plain_shm_t;

static inline plain_node_t *plain_node_of(xyl_shm_t *shm)
{
    return ((plain_shm_t *)(void *)shm)->node;
}

static inline void *plain_attach(xyl_shm_t *shm, uint64_t key, size_t bytes)
{
    plain_node_t *node = plain_node_of(shm);

    if (node->is_empty || (node->users != 0 && node->key != key))
        return NULL;
    if (node->users++ == 0) {
        node->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
        if (node->memory == NULL)
            abort();
        memset(node->memory, 0, bytes);
        node->bytes = bytes;
        node->key = key;
    }
    return bytes == node->bytes ? node->memory : NULL;
}

static inline void plain_detach(xyl_shm_t *shm, uint64_t key)
{
    plain_node_t *node = plain_node_of(shm);

    if (node->key != key || node->users == 0)
        abort();
    if (--node->users == 0)
        free(node->memory);
}

static inline void plain_set(xyl_shm_t *shm, _Atomic uint64_t *flag,
                             uint64_t value, const uint32_t *readers,
                             uint32_t count)
{
    uint32_t i;

    atomic_store(flag, value);
    for (i = 0; i < count; i++)
        plain_node_of(shm)->woken[readers[i]]++;
}

static inline uint64_t plain_get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    (void)shm;
    return atomic_load(flag);
}

static inline void plain_hook(plain_node_t *node, void (**hook)(void *arg))
{
    void (*call)(void *arg) = *hook;

    *hook = NULL;
    if (call != NULL)
        call(node->arg);
}

static inline int plain_swap(xyl_shm_t *shm, _Atomic uint64_t *word,
                             uint64_t *expected, uint64_t value)
{
    plain_node_t *node = plain_node_of(shm);
    int did;

    plain_hook(node, &node->before_swap);
    did = atomic_compare_exchange_strong(word, expected, value);
    plain_hook(node, &node->after_swap);
    return did;
}

static const xyl_shm_ops_t plain_ops = {
    .name = "plain",
    .attach = plain_attach,
    .detach = plain_detach,
    .set = plain_set,
    .get = plain_get,
    .swap = plain_swap,
};
