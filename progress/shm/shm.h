/* Memory that the ranks of a node share. Stages lay their own structures out in
 * this memory, copy as runtime/base/observer.h says, and signal each other by
 * flags. A flag is a word with one writer, and its values only grow. If such a
 * stage polls its flags from an engine source, it also runs in the simulator,
 * on ordinary memory; the simulator charges the time of copies and flags.
 *
 * Ranks here are ranks of the job. The progressing thread calls all functions,
 * except attach and detach (any thread, one at a time), and heap_alloc and
 * heap_free (any thread). */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct xyl_shm xyl_shm_t;

typedef uint64_t (*xyl_shm_get_fn)(xyl_shm_t *shm,
                                   const _Atomic uint64_t *flag);

typedef struct xyl_shm_ops {
    const char *name;
    /* `bytes` of memory, cleared at first: the same memory for all ranks of the
     * node that ask with the same key and size. NULL: there is none. */
    void *(*attach)(xyl_shm_t *shm, uint64_t key, size_t bytes);
    /* The last rank to detach frees the memory. */
    void (*detach)(xyl_shm_t *shm, uint64_t key);
    /* Takes the page faults of this memory now, all together, which is cheaper.
     * NULL: the memory has no faults. */
    void (*prepare)(xyl_shm_t *shm, void *memory, size_t bytes);
    /* A rank that sees `value` by `get` sees all that was written before it.
     * Wakes each of the `count` readers that sleeps. */
    void (*set)(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                const uint32_t *readers, uint32_t count);
    /* NULL: a load; see xyl_shm_get. */
    xyl_shm_get_fn get;
    /* For the few words that several ranks write. If the word is *expected,
     * stores `value` and returns 1; else sets *expected to the word and returns
     * 0. Sequentially consistent: a rank that marks a word and then looks sees
     * a flag set before, or the setter sees the mark. Wakes no rank. */
    int (*swap)(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                uint64_t value);
    /* Adds 1 to a word, ordered as swap; returns the sum. NULL: use swap. */
    uint64_t (*add)(xyl_shm_t *shm, _Atomic uint64_t *word);
    /* 1: from now on `set` wakes this rank, which looks at its flags after this
     * call. 0: no longer. NULL: ranks never sleep. */
    void (*sleeps)(xyl_shm_t *shm, int is_asleep);
    /* The heap: memory of this rank that the other ranks of the node read in
     * place. heap_alloc: aligned to 64 bytes; returns NULL if there is no
     * memory. NULL: there is no heap. */
    void *(*heap_alloc)(xyl_shm_t *shm, size_t bytes);
    void (*heap_free)(xyl_shm_t *shm, void *memory);
    /* The name by which other ranks find memory of this rank's heap; 0: not all
     * bytes are in the heap. */
    uint64_t (*share)(xyl_shm_t *shm, const void *memory, size_t bytes);
    /* The address in this process of the memory that `rank` has named `name`;
     * NULL: this process cannot map it. */
    const void *(*view)(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                        size_t bytes);
    /* Copies bytes from address `from` of the process of `rank`, in any of its
     * memory, to `to`. 0: the system refuses, or the memory is gone. NULL: no
     * rank can. */
    int (*pull)(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                size_t bytes);
} xyl_shm_ops_t;

struct xyl_shm {
    const xyl_shm_ops_t *ops;
    /* A rank with at most so many keys attached at once has room for each,
     * whatever the other ranks attach. */
    uint32_t keys_max;
    /* Work that any of several ranks can do has an order of turns. A rank looks
     * so often, per rank before it, whether the work is done; 0: never. */
    uint32_t patience;
};

/* Called between two looks at a word that another rank is about to write. */
static inline void xyl_shm_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ __volatile__("yield");
#endif
}

static inline uint64_t xyl_shm_get_by(xyl_shm_get_fn get, xyl_shm_t *shm,
                                      const _Atomic uint64_t *flag)
{
    /* A rank that is about to sleep needs the load to be sequentially
     * consistent; that costs no more than an acquire. */
    return get == NULL ? atomic_load(flag) : get(shm, flag);
}

static inline uint64_t xyl_shm_get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    return xyl_shm_get_by(shm->ops->get, shm, flag);
}
