/* The windows of a node, for all of its teams: memory in which ranks run ahead
 * of each other. Any rank takes windows and gives them back, without a lock;
 * one that is held up, or killed, in the middle of it keeps nobody else from
 * doing so.
 *
 * The pool is cut into banks, and each bank into 64 grains, of which a word
 * says which are taken. A window is a run of grains of one bank, taken by one
 * swap and given back by one. Small grains come first, but for windows that
 * fill large ones, and a quiet program goes round in the first banks that fit,
 * as many of them as make up the bytes that had better be written before the
 * same lines are (few at first, since new memory costs faults): writing to
 * lines that another rank has just read takes several times as long as to those
 * that it has read some time ago.
 *
 * What is much shorter than a grain is a part of one, so that it does not take
 * the room of a window: a grain that is split has a word of its own, which says
 * which of its parts are taken.
 *
 *     free --> taken, its word 0 --> split, its word not 0
 *       ^        a window, or          parts are taken and given back
 *       |        about to be split           |
 *       '------- its word 0 <----------------' the last part
 *
 * A grain's word is written by whoever has taken the grain while it is 0, and
 * by anybody else only while it is not.
 *
 * The progressing thread, but for attach and detach, as shm.h's. */
#ifndef XYL_PROGRESS_SHM_POOL_H
#define XYL_PROGRESS_SHM_POOL_H

#include "progress/shm/shm.h"

enum {
    XYL_SHM_POOL_BANKS = 6,
    XYL_SHM_POOL_GRAINS = 64,
    XYL_SHM_POOL_NAME_MAX =
        (XYL_SHM_POOL_GRAINS + 1) * XYL_SHM_POOL_BANKS * XYL_SHM_POOL_GRAINS
};

typedef struct xyl_shm_bank {
    size_t at, grain; /* in the memory; bytes */
    uint64_t seen;    /* bits of grains that this rank has asked for before */
    uint64_t parts_seen[XYL_SHM_POOL_GRAINS]; /* and of their parts */
} xyl_shm_bank_t;

typedef struct xyl_shm_pool {
    xyl_shm_t *shm;
    uint64_t key;
    size_t reuse_bytes;
    char *memory; /* NULL: not attached */
    xyl_shm_bank_t banks[XYL_SHM_POOL_BANKS];
} xyl_shm_pool_t;

/* About that much, on all ranks of the node with the same key. The largest
 * window has three eighths of it. `reuse_bytes`, of this rank's choice, had
 * better be written before the same memory is. 0: the memory cannot be had. */
int xyl_shm_pool_attach(xyl_shm_pool_t *pool, xyl_shm_t *shm, uint64_t key,
                        size_t bytes, size_t reuse_bytes);
void xyl_shm_pool_detach(xyl_shm_pool_t *pool);

/* A window of at least `bytes`, not 0; its name, alike on all ranks and not
 * above BANKS * GRAINS. 0: none is free. `before` are the bytes of all
 * windows that the same team has asked for before: windows that follow each
 * other are neighbours, and a team that has moved much goes round in more. */
uint32_t xyl_shm_pool_take(const xyl_shm_pool_t *pool, size_t bytes,
                           uint64_t before);
/* The same of what is short, and need not be where the one before was; named up
 * to NAME_MAX. */
uint32_t xyl_shm_pool_take_part(const xyl_shm_pool_t *pool, size_t bytes);
/* Once, with the same bytes, by whichever rank. */
void xyl_shm_pool_free(const xyl_shm_pool_t *pool, uint32_t window,
                       size_t bytes);
/* 1: there can be a window of that name. */
int xyl_shm_pool_has(const xyl_shm_pool_t *pool, uint32_t window, size_t bytes);
/* Where it is. *is_new: this rank has not had all of it before. */
char *xyl_shm_pool_address(xyl_shm_pool_t *pool, uint32_t window, size_t bytes,
                           int *is_new);

#endif
