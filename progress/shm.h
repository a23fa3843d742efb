/* Memory that the ranks of a node share. Stages lay their own structures out in
 * it, copy through `copy`, and tell each other by flags: words with one writer,
 * which only grow. A stage that uses these three and polls its flags from an
 * engine source also runs in the simulator, on ordinary memory and with the
 * time charged that copies and flags take.
 *
 * All functions are called by the progressing thread.
 */
#ifndef XYL_PROGRESS_SHM_H
#define XYL_PROGRESS_SHM_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef struct xyl_shm xyl_shm_t;

typedef struct xyl_shm_ops {
    const char *name;
    /* `bytes` of memory, cleared: the same for all ranks of the node that ask
     * with the same key and size. NULL: there is none. */
    void *(*attach)(xyl_shm_t *shm, uint64_t key, size_t bytes);
    /* The last one to detach gives it back. */
    void (*detach)(xyl_shm_t *shm, uint64_t key);
    void (*copy)(xyl_shm_t *shm, void *to, const void *from, size_t bytes);
    /* Everything written before is there for whoever sees `value` by `get`.
     * `reader`, a rank of the job on this node, is woken if it sleeps. */
    void (*set)(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                uint32_t reader);
    uint64_t (*get)(xyl_shm_t *shm, const _Atomic uint64_t *flag);
} xyl_shm_ops_t;

struct xyl_shm {
    const xyl_shm_ops_t *ops;
};

#endif
