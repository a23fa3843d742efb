/* The windows of a node, for all of its teams: memory in which ranks run ahead
 * of each other. Any rank takes and frees windows, without a lock. So a rank
 * that is held up or killed while it does so blocks no other rank.
 *
 * The pool is cut into banks, and each bank into 64 grains; the bank's word has
 * a bit per taken grain. A window is a run of grains of one bank; one swap
 * takes a window, one swap frees it. Windows come from banks of small grains
 * first, unless they fill large grains.
 *
 * A write to lines that another rank has just read takes several times as long
 * as to lines read some time ago. So the windows of a quiet program rotate
 * through the first banks that fit, over `reuse_bytes` (less at first, since
 * new memory costs faults).
 *
 * A window much shorter than a grain is a part of a split grain, so that it
 * does not take up a whole one. A split grain has a word of its own, with a bit
 * per taken part.
 *
 *     free --> taken, its word 0 --> split, its word not 0
 *       ^        a window, or          parts are taken and freed
 *       |        about to be split           |
 *       '------- its word 0 <----------------' the last part
 *
 * While a grain's word is 0 only the rank that has taken the grain writes it;
 * while the word is not 0, any rank does.
 *
 * The progressing thread, except attach and detach, as in shm.h. */
#pragma once

#include "progress/shm/shm.h"

enum {
    XYL_SHM_POOL_BANKS = 6,
    XYL_SHM_POOL_GRAINS = 64,
    XYL_SHM_POOL_NAME_MAX =
        (XYL_SHM_POOL_GRAINS + 1) * XYL_SHM_POOL_BANKS * XYL_SHM_POOL_GRAINS
};

typedef struct xyl_shm_bank {
    size_t at, grain; /* offset in the memory; bytes of a grain */
    uint64_t seen;    /* a bit per grain that this rank has used before */
    uint64_t parts_seen[XYL_SHM_POOL_GRAINS]; /* a bit per part, likewise */
} xyl_shm_bank_t;

typedef struct xyl_shm_pool {
    xyl_shm_t *shm;
    uint64_t key;
    size_t reuse_bytes;
    char *memory; /* NULL: not attached */
    xyl_shm_bank_t banks[XYL_SHM_POOL_BANKS];
} xyl_shm_pool_t;

/* Attaches about `bytes`, shared by all ranks of the node with the same key.
 * The largest window has three eighths of them. This rank chooses
 * `reuse_bytes`, the bytes to write before it writes the same memory again. 0:
 * there is no memory. */
int xyl_shm_pool_attach(xyl_shm_pool_t *pool, xyl_shm_t *shm, uint64_t key,
                        size_t bytes, size_t reuse_bytes);
void xyl_shm_pool_detach(xyl_shm_pool_t *pool);

/* Takes a window of at least `bytes`, not 0; returns its name, equal on all
 * ranks and at most BANKS * GRAINS. 0: none is free. `before` is the sum of the
 * bytes that the same team has asked for before: successive windows are
 * neighbours, and the rotation covers more memory as the sum grows. */
uint32_t xyl_shm_pool_take(const xyl_shm_pool_t *pool, size_t bytes,
                           uint64_t before);
/* The same for a short window, in no particular place; names go up to
 * NAME_MAX. */
uint32_t xyl_shm_pool_take_part(const xyl_shm_pool_t *pool, size_t bytes);
/* Frees a window taken for as many bytes. Any rank may call this, once. */
void xyl_shm_pool_free(const xyl_shm_pool_t *pool, uint32_t window,
                       size_t bytes);
/* 1: a window of that name and size can exist. Not for parts of grains. */
int xyl_shm_pool_has(const xyl_shm_pool_t *pool, uint32_t window, size_t bytes);
/* A window's address. *is_new: 1 if some of it is new to this rank. */
char *xyl_shm_pool_address(xyl_shm_pool_t *pool, uint32_t window, size_t bytes,
                           int *is_new);
