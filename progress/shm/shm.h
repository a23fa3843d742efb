/* Memory that the ranks of a node share. Stages lay their own structures out in
 * it, copy as runtime/base/observer.h says, and tell each other by flags: words
 * with one writer, which only grow. A stage that does so and polls its flags
 * from an engine source also runs in the simulator, on ordinary memory and with
 * the time charged that copies and flags take.
 *
 * Ranks here are ranks of the job. All functions are called by the progressing
 * thread, but for attach and detach, which are called by any, one at a time,
 * and xylem_alloc's, which any thread calls.
 */
#ifndef XYL_PROGRESS_SHM_SHM_H
#define XYL_PROGRESS_SHM_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct xyl_shm xyl_shm_t;

typedef uint64_t (*xyl_shm_get_fn)(xyl_shm_t *shm,
                                   const _Atomic uint64_t *flag);

typedef struct xyl_shm_ops {
    const char *name;
    /* `bytes` of memory, cleared: the same for all ranks of the node that ask
     * with the same key and size. NULL: there is none. */
    void *(*attach)(xyl_shm_t *shm, uint64_t key, size_t bytes);
    /* The last one to detach gives it back. */
    void (*detach)(xyl_shm_t *shm, uint64_t key);
    /* This rank will soon need all of this: faults are cheaper together. NULL:
     * there are none. */
    void (*prepare)(xyl_shm_t *shm, void *memory, size_t bytes);
    /* Everything written before is there for whoever sees `value` by `get`.
     * Those of the `count` readers that sleep are woken. */
    void (*set)(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                const uint32_t *readers, uint32_t count);
    /* NULL: a load does; see xyl_shm_get. */
    xyl_shm_get_fn get;
    /* For the few words that several ranks write: stores `value` where
     * *expected is, 1; or sets *expected to what is there, 0. Sequentially
     * consistent, so that whoever marks a word and then looks sees what was set
     * before, or is seen; wakes nobody. */
    int (*swap)(xyl_shm_t *shm, _Atomic uint64_t *word, uint64_t *expected,
                uint64_t value);
    /* Adds 1 to a word, as by swap; returns the sum. NULL: by swap. */
    uint64_t (*add)(xyl_shm_t *shm, _Atomic uint64_t *word);
    /* From 1 on, `set` wakes this rank; looks at flags come after it. From 0 on
     * it does not. NULL: nobody sleeps. */
    void (*sleeps)(xyl_shm_t *shm, int is_asleep);
    /* A rank's memory that the others of the node read where it lies.
     * heap_alloc: 64-byte aligned; NULL: no memory. NULL: there is no heap. */
    void *(*heap_alloc)(xyl_shm_t *shm, size_t bytes);
    void (*heap_free)(xyl_shm_t *shm, void *memory);
    /* The name for the other ranks of memory inside this rank's heap; 0: it is
     * not all inside. */
    uint64_t (*share)(xyl_shm_t *shm, const void *memory, size_t bytes);
    /* Where the memory that `rank` calls `name` is here; NULL: cannot see it.
     */
    const void *(*view)(xyl_shm_t *shm, uint32_t rank, uint64_t name,
                        size_t bytes);
    /* Copies what lies at `from` in the memory of `rank`, any of it, to `to`.
     * 0: this rank may not, or it is not there any more. NULL: nobody can. */
    int (*pull)(xyl_shm_t *shm, uint32_t rank, void *to, uint64_t from,
                size_t bytes);
} xyl_shm_ops_t;

struct xyl_shm {
    const xyl_shm_ops_t *ops;
    /* One that has no more than so many attached at once finds room for each,
     * whatever the others do. */
    uint32_t keys_max;
    /* How often to look again before doing what another rank may be about to
     * do, for each rank that is asked before this one; 0: not at all. */
    uint32_t patience;
};

/* Between two looks at a word that another rank is about to write. */
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
    /* Sequentially consistent for those who are about to sleep; it costs no
     * more than an acquiring load. */
    return get == NULL ? atomic_load(flag) : get(shm, flag);
}

static inline uint64_t xyl_shm_get(xyl_shm_t *shm, const _Atomic uint64_t *flag)
{
    return xyl_shm_get_by(shm->ops->get, shm, flag);
}

#endif
