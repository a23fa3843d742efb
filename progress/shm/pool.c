#include "progress/shm/pool.h"

#include <assert.h>

enum {
    LINE_BYTES = 128,
    FEW_BANKS = 4,        /* of small grains */
    FIRST_BYTES = 8 << 20 /* of the first, or less */
};

/* The first lines are the banks' words. */
static _Atomic uint64_t *bank_word(const xyl_shm_pool_t *pool, uint32_t bank)
{
    return (_Atomic uint64_t *)(void *)(pool->memory +
                                        (size_t)bank * LINE_BYTES);
}

/* A quarter of the pool, or less, are banks of small grains; each of the last
 * two is large enough for any window. Returns all bytes. */
static size_t banks_lay_out(xyl_shm_pool_t *pool, size_t bytes)
{
    const size_t large = bytes / 8 * 3 / XYL_SHM_POOL_GRAINS + 1;
    size_t at = (size_t)XYL_SHM_POOL_BANKS * LINE_BYTES;
    uint32_t i;

    for (i = 0; i < XYL_SHM_POOL_BANKS; i++) {
        size_t grain = bytes / 16 / XYL_SHM_POOL_GRAINS;
        if (i >= FEW_BANKS)
            grain = large + LINE_BYTES - 1;
        else if (i == 0 && grain > FIRST_BYTES / XYL_SHM_POOL_GRAINS)
            grain = FIRST_BYTES / XYL_SHM_POOL_GRAINS;
        grain = grain / LINE_BYTES * LINE_BYTES;
        pool->banks[i] = (xyl_shm_bank_t){.at = at, .grain = grain};
        at += grain * XYL_SHM_POOL_GRAINS;
    }
    return at;
}

int xyl_shm_pool_attach(xyl_shm_pool_t *pool, xyl_shm_t *shm, uint64_t key,
                        size_t bytes)
{
    size_t all = banks_lay_out(pool, bytes);

    pool->shm = shm;
    pool->key = key;
    pool->memory = shm->ops->attach(shm, key, all);
    return pool->memory != NULL;
}

void xyl_shm_pool_detach(xyl_shm_pool_t *pool)
{
    if (pool->memory != NULL)
        pool->shm->ops->detach(pool->shm, pool->key);
    pool->memory = NULL;
}

/* ---- windows ---- */

/* Grains; more than a bank has: it does not fit. */
static uint64_t grains_for(const xyl_shm_bank_t *bank, size_t bytes)
{
    return bank->grain == 0 ? UINT64_MAX
                            : (bytes + bank->grain - 1) / bank->grain;
}

static uint64_t run_of(uint32_t first, uint64_t grains)
{
    assert(grains != 0 && grains <= XYL_SHM_POOL_GRAINS);
    return UINT64_MAX >> (XYL_SHM_POOL_GRAINS - grains) << first;
}

/* The first of so many free grains in a row; GRAINS: there are none. */
static uint32_t find_run(uint64_t taken, uint64_t grains)
{
    uint64_t begins = ~taken, has = 1, more;

    for (; has < grains; has += more) { /* `has` in a row begin there */
        more = grains - has < has ? grains - has : has;
        begins &= begins >> more;
    }
    return begins == 0 ? (uint32_t)XYL_SHM_POOL_GRAINS
                       : (uint32_t)__builtin_ctzll(begins);
}

/* GRAINS: it has no room. */
static uint32_t take_of(const xyl_shm_pool_t *pool, uint32_t bank,
                        uint64_t grains, uint64_t turn)
{
    _Atomic uint64_t *word = bank_word(pool, bank);
    uint64_t taken = xyl_shm_get(pool->shm, word);
    uint64_t before = turn % (XYL_SHM_POOL_GRAINS / grains) * grains, first;

    /* Where a swap fails another rank's has succeeded. */
    do {
        first = find_run(taken | ((UINT64_C(1) << before) - 1), grains);
        if (first == XYL_SHM_POOL_GRAINS)
            first = find_run(taken, grains);
        if (first == XYL_SHM_POOL_GRAINS)
            return XYL_SHM_POOL_GRAINS;
    } while (!pool->shm->ops->swap(pool->shm, word, &taken,
                                   taken | run_of((uint32_t)first, grains)));
    return (uint32_t)first;
}

uint32_t xyl_shm_pool_take(const xyl_shm_pool_t *pool, size_t bytes,
                           uint64_t turn)
{
    uint32_t bank, first;
    uint64_t grains;

    for (bank = 0; bank < XYL_SHM_POOL_BANKS; bank++) {
        grains = grains_for(&pool->banks[bank], bytes);
        if (grains > XYL_SHM_POOL_GRAINS)
            continue;
        first = take_of(pool, bank, grains, turn);
        if (first != XYL_SHM_POOL_GRAINS)
            return 1 + bank * XYL_SHM_POOL_GRAINS + first;
    }
    return 0;
}

void xyl_shm_pool_free(const xyl_shm_pool_t *pool, uint32_t window,
                       size_t bytes)
{
    uint32_t bank = (window - 1) / XYL_SHM_POOL_GRAINS;
    _Atomic uint64_t *word = bank_word(pool, bank);
    uint64_t run = run_of((window - 1) % XYL_SHM_POOL_GRAINS,
                          grains_for(&pool->banks[bank], bytes));
    uint64_t taken = xyl_shm_get(pool->shm, word);

    do
        assert((taken & run) == run);
    while (!pool->shm->ops->swap(pool->shm, word, &taken, taken & ~run));
}

char *xyl_shm_pool_address(xyl_shm_pool_t *pool, uint32_t window, size_t bytes,
                           int *is_new)
{
    xyl_shm_bank_t *bank = &pool->banks[(window - 1) / XYL_SHM_POOL_GRAINS];
    uint32_t first = (window - 1) % XYL_SHM_POOL_GRAINS;
    uint64_t run = run_of(first, grains_for(bank, bytes));

    *is_new = (run & ~bank->seen) != 0;
    bank->seen |= run;
    return pool->memory + bank->at + first * bank->grain;
}
