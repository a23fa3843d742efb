#include "progress/shm/pool.h"

#include <assert.h>

enum {
    LINE_BYTES = 128,
    FEW_BANKS = 4,         /* banks of small grains; the others follow */
    FIRST_BYTES = 1 << 20, /* of the rotation at first */
    TURNS_OF_NEW = 8,      /* windows taken per new one in the rotation */
    LEAST_ROUND = 4,       /* windows in the rotation, at least */
    WASTE = 8, /* large grains may waste one part in so many of a window */
    PARTS = XYL_SHM_POOL_GRAINS, /* of a grain */
    GRAINS_ALL = XYL_SHM_POOL_BANKS * XYL_SHM_POOL_GRAINS,
    FIRST_PART = 1 + GRAINS_ALL /* the name of the first part */
};

/* The banks' words lie first, in a line each. */
static _Atomic uint64_t *bank_word(const xyl_shm_pool_t *pool, uint32_t bank)
{
    return (_Atomic uint64_t *)(void *)(pool->memory +
                                        (size_t)bank * LINE_BYTES);
}

/* The grains' words follow those of the banks. */
static _Atomic uint64_t *grain_word(const xyl_shm_pool_t *pool, uint32_t bank,
                                    uint32_t grain)
{
    return bank_word(pool, XYL_SHM_POOL_BANKS) +
           (size_t)bank * XYL_SHM_POOL_GRAINS + grain;
}

/* The banks of small grains have a quarter of the pool; each of the last two
 * banks has room for any window. Returns the bytes of all. */
static size_t banks_lay_out(xyl_shm_pool_t *pool, size_t bytes)
{
    const size_t large = bytes / 8 * 3 / XYL_SHM_POOL_GRAINS + 1;
    size_t at = (size_t)XYL_SHM_POOL_BANKS * LINE_BYTES +
                (size_t)GRAINS_ALL * sizeof(uint64_t);
    uint32_t i;

    for (i = 0; i < XYL_SHM_POOL_BANKS; i++) {
        size_t grain = i < FEW_BANKS ? bytes / 16 / XYL_SHM_POOL_GRAINS
                                     : large + LINE_BYTES - 1;
        grain = grain / LINE_BYTES * LINE_BYTES;
        pool->banks[i] = (xyl_shm_bank_t){.at = at, .grain = grain};
        at += grain * XYL_SHM_POOL_GRAINS;
    }
    return at;
}

int xyl_shm_pool_attach(xyl_shm_pool_t *pool, xyl_shm_t *shm, uint64_t key,
                        size_t bytes, size_t reuse_bytes)
{
    size_t all = banks_lay_out(pool, bytes);

    pool->shm = shm;
    pool->reuse_bytes = reuse_bytes;
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

/* The grains for `bytes`; above XYL_SHM_POOL_GRAINS if they do not fit. */
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

/* The first of `grains` free grains in a row; GRAINS: there are none. */
static uint32_t find_run(uint64_t taken, uint64_t grains)
{
    uint64_t begins = ~taken, has = 1, more;

    for (; has < grains; has += more) { /* a bit begins `has` free grains */
        more = grains - has < has ? grains - has : has;
        begins &= begins >> more;
    }
    return begins == 0 ? (uint32_t)XYL_SHM_POOL_GRAINS
                       : (uint32_t)__builtin_ctzll(begins);
}

/* Takes the first free run of a word's bits from bit `before` on, or else the
 * first of all. `is_split`: the word is that of a grain, which may no longer be
 * split (0). GRAINS: there is no room. */
static inline uint32_t run_take(const xyl_shm_pool_t *pool,
                                _Atomic uint64_t *word, uint64_t length,
                                uint64_t before, int is_split)
{
    uint64_t taken = xyl_shm_get(pool->shm, word), first;

    /* A swap fails only if another rank's swap has succeeded. */
    do {
        if (is_split && taken == 0)
            return XYL_SHM_POOL_GRAINS;
        first = find_run(taken | ((UINT64_C(1) << before) - 1), length);
        if (first == XYL_SHM_POOL_GRAINS)
            first = find_run(taken, length);
        if (first == XYL_SHM_POOL_GRAINS)
            return XYL_SHM_POOL_GRAINS;
    } while (!pool->shm->ops->swap(pool->shm, word, &taken,
                                   taken | run_of((uint32_t)first, length)));
    return (uint32_t)first;
}

/* How many windows the rotation of a quiet program has, in the banks of one
 * size from `bank` on. New memory costs every rank faults, so the rotation
 * begins with few windows and grows by one in TURNS_OF_NEW. */
static uint64_t windows_round(const xyl_shm_pool_t *pool, uint32_t bank,
                              uint64_t runs, size_t bytes, uint64_t before)
{
    uint64_t banks = bank < FEW_BANKS ? (uint64_t)FEW_BANKS - bank
                                      : (uint64_t)XYL_SHM_POOL_BANKS - bank;
    uint64_t wanted = pool->reuse_bytes / bytes;
    uint64_t known = (FIRST_BYTES + before / TURNS_OF_NEW) / bytes;

    if (wanted > known)
        wanted = known;
    if (wanted > banks * runs)
        wanted = banks * runs;
    return wanted < LEAST_ROUND ? (uint64_t)LEAST_ROUND : wanted;
}

/* The first bank of the size to try first: large grains for a window that fills
 * them, which leaves the small grains to short windows. BANKS: the window fits
 * into none. */
static uint32_t first_bank(const xyl_shm_pool_t *pool, size_t bytes)
{
    const xyl_shm_bank_t *large = &pool->banks[FEW_BANKS];
    uint64_t grains = grains_for(large, bytes);

    if (grains > XYL_SHM_POOL_GRAINS)
        return XYL_SHM_POOL_BANKS;
    if (grains_for(&pool->banks[0], bytes) > XYL_SHM_POOL_GRAINS ||
        (grains > 1 && (grains * large->grain - bytes) * WASTE <= bytes))
        return FEW_BANKS;
    return 0;
}

uint32_t xyl_shm_pool_take(const xyl_shm_pool_t *pool, size_t bytes,
                           uint64_t before)
{
    uint32_t first = first_bank(pool, bytes), i, round, bank, at;
    uint64_t grains, runs, place;

    if (first == XYL_SHM_POOL_BANKS)
        return 0;
    runs = XYL_SHM_POOL_GRAINS / grains_for(&pool->banks[first], bytes);
    place = before / bytes % windows_round(pool, first, runs, bytes, before);
    round = (uint32_t)(place / runs);
    for (i = 0; i < XYL_SHM_POOL_BANKS; i++) {
        /* The bank whose turn it is, the banks before it, the banks behind it,
         * the banks of the other size. */
        bank = (first + (i <= round ? round - i : i)) % XYL_SHM_POOL_BANKS;
        grains = grains_for(&pool->banks[bank], bytes);
        if (grains > XYL_SHM_POOL_GRAINS)
            continue;
        assert(grains != 0);
        at = run_take(pool, bank_word(pool, bank), grains,
                      place % (XYL_SHM_POOL_GRAINS / grains) * grains, 0);
        if (at != XYL_SHM_POOL_GRAINS)
            return 1 + bank * XYL_SHM_POOL_GRAINS + at;
    }
    return 0;
}

/* Frees the run. Returns the word as it was before. */
static uint64_t run_free(const xyl_shm_pool_t *pool, _Atomic uint64_t *word,
                         uint64_t run)
{
    uint64_t taken = xyl_shm_get(pool->shm, word);

    do
        assert((taken & run) == run);
    while (!pool->shm->ops->swap(pool->shm, word, &taken, taken & ~run));
    return taken;
}

/* ---- parts of grains ---- */

static size_t part_bytes(const xyl_shm_bank_t *bank)
{
    return bank->grain / PARTS / LINE_BYTES * LINE_BYTES;
}

/* The parts for `bytes`; above PARTS if a grain has no room for them. */
static uint64_t parts_for(const xyl_shm_bank_t *bank, size_t bytes)
{
    size_t part = part_bytes(bank);

    return part == 0 ? UINT64_MAX : (bytes + part - 1) / part;
}

/* 1: a split grain has room for two such windows, so splitting pays. */
static int is_split_for(const xyl_shm_bank_t *bank, size_t bytes)
{
    return parts_for(bank, bytes) <= PARTS / 2;
}

/* The bytes of a bank that a window costs. */
static size_t part_costs(const xyl_shm_bank_t *bank, size_t bytes)
{
    uint64_t grains = grains_for(bank, bytes);

    if (is_split_for(bank, bytes))
        return bank->grain / (PARTS / parts_for(bank, bytes));
    return grains > XYL_SHM_POOL_GRAINS ? SIZE_MAX : grains * bank->grain;
}

static uint32_t part_name(uint32_t bank, uint32_t grain, uint32_t part)
{
    return FIRST_PART + (bank * XYL_SHM_POOL_GRAINS + grain) * PARTS + part;
}

/* Takes parts of a grain that is split already. 0: there is no room. */
static uint32_t take_of_split(const xyl_shm_pool_t *pool, uint32_t bank,
                              size_t bytes)
{
    uint64_t parts = parts_for(&pool->banks[bank], bytes), grains;
    uint32_t grain, first;

    if (!is_split_for(&pool->banks[bank], bytes))
        return 0;
    grains = xyl_shm_get(pool->shm, bank_word(pool, bank));
    for (; grains != 0; grains &= grains - 1) {
        grain = (uint32_t)__builtin_ctzll(grains);
        first = run_take(pool, grain_word(pool, bank, grain), parts, 0, 1);
        if (first != PARTS)
            return part_name(bank, grain, first);
    }
    return 0;
}

/* Takes and splits a grain, or takes a window of whole grains. 0: there is no
 * room. */
static uint32_t take_new(const xyl_shm_pool_t *pool, uint32_t bank,
                         size_t bytes)
{
    int splits = is_split_for(&pool->banks[bank], bytes);
    uint64_t grains = grains_for(&pool->banks[bank], bytes), none = 0;
    uint32_t grain;

    if (grains > XYL_SHM_POOL_GRAINS)
        return 0;
    grain = run_take(pool, bank_word(pool, bank), grains, 0, 0);
    if (grain == XYL_SHM_POOL_GRAINS)
        return 0;
    if (!splits)
        return 1 + bank * XYL_SHM_POOL_GRAINS + grain;
    while (
        !pool->shm->ops->swap(pool->shm, grain_word(pool, bank, grain), &none,
                              run_of(0, parts_for(&pool->banks[bank], bytes))))
        assert(none == 0); /* no other rank may write the word */
    return part_name(bank, grain, 0);
}

uint32_t xyl_shm_pool_take_part(const xyl_shm_pool_t *pool, size_t bytes)
{
    const uint32_t banks = XYL_SHM_POOL_BANKS;
    uint32_t first, i, part = 0;

    first = part_costs(&pool->banks[FEW_BANKS], bytes) <
                    part_costs(&pool->banks[0], bytes)
                ? FEW_BANKS
                : 0;
    for (i = 0; i < banks && part == 0; i++)
        part = take_of_split(pool, (first + i) % banks, bytes);
    for (i = 0; i < banks && part == 0; i++)
        part = take_new(pool, (first + i) % banks, bytes);
    return part;
}

/* Freeing the last part of a grain frees the grain. */
static void part_free(const xyl_shm_pool_t *pool, uint32_t part, size_t bytes)
{
    uint32_t at = (part - FIRST_PART) / PARTS, bank = at / XYL_SHM_POOL_GRAINS,
             grain = at % XYL_SHM_POOL_GRAINS;
    uint64_t run = run_of((part - FIRST_PART) % PARTS,
                          parts_for(&pool->banks[bank], bytes));

    if (run_free(pool, grain_word(pool, bank, grain), run) == run)
        (void)run_free(pool, bank_word(pool, bank), run_of(grain, 1));
}

static char *part_address(xyl_shm_pool_t *pool, uint32_t part, size_t bytes,
                          int *is_new)
{
    uint32_t at = (part - FIRST_PART) / PARTS, grain = at % XYL_SHM_POOL_GRAINS;
    uint32_t first = (part - FIRST_PART) % PARTS;
    xyl_shm_bank_t *bank = &pool->banks[at / XYL_SHM_POOL_GRAINS];
    uint64_t run = run_of(first, parts_for(bank, bytes));

    *is_new = (run & ~bank->parts_seen[grain]) != 0;
    bank->parts_seen[grain] |= run;
    return pool->memory + bank->at + grain * bank->grain +
           first * part_bytes(bank);
}

/* ---- windows and parts ---- */

void xyl_shm_pool_free(const xyl_shm_pool_t *pool, uint32_t window,
                       size_t bytes)
{
    uint32_t bank = (window - 1) / XYL_SHM_POOL_GRAINS;

    if (window >= FIRST_PART)
        part_free(pool, window, bytes);
    else
        (void)run_free(pool, bank_word(pool, bank),
                       run_of((window - 1) % XYL_SHM_POOL_GRAINS,
                              grains_for(&pool->banks[bank], bytes)));
}

int xyl_shm_pool_has(const xyl_shm_pool_t *pool, uint32_t window, size_t bytes)
{
    uint32_t bank = (window - 1) / XYL_SHM_POOL_GRAINS;
    uint32_t first = (window - 1) % XYL_SHM_POOL_GRAINS;

    return window != 0 && bank < XYL_SHM_POOL_BANKS && bytes != 0 &&
           grains_for(&pool->banks[bank], bytes) <= XYL_SHM_POOL_GRAINS - first;
}

char *xyl_shm_pool_address(xyl_shm_pool_t *pool, uint32_t window, size_t bytes,
                           int *is_new)
{
    uint32_t first = (window - 1) % XYL_SHM_POOL_GRAINS;
    xyl_shm_bank_t *bank;
    uint64_t run;

    if (window >= FIRST_PART)
        return part_address(pool, window, bytes, is_new);
    bank = &pool->banks[(window - 1) / XYL_SHM_POOL_GRAINS];
    run = run_of(first, grains_for(bank, bytes));
    *is_new = (run & ~bank->seen) != 0;
    bank->seen |= run;
    return pool->memory + bank->at + first * bank->grain;
}
