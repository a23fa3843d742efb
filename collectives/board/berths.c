#include "collectives/board/berths.h"

#include <assert.h>

/* A tag's word, from its lowest bit on: the berth (0: none is taken yet), how
 * many seats have left the berth, after how many calls, and how many berths the
 * tag has had, so that no word comes twice. */
enum {
    BERTH_BITS = 16,
    LEAVERS_BITS = 12,
    LEAVERS_AT = BERTH_BITS,
    CALLS_AT = LEAVERS_AT + LEAVERS_BITS,
    GENERATION_AT = CALLS_AT + XYL_TAG_CALLS_BITS
};
#define FIELD(word, at, bits)                                                  \
    ((uint32_t)((word) >> (at)) & ((UINT32_C(1) << (bits)) - 1))
#define LEAVER (UINT64_C(1) << LEAVERS_AT)

static uint32_t berth_of(uint64_t word)
{
    return FIELD(word, 0, BERTH_BITS);
}

static uint32_t leavers_of(uint64_t word)
{
    return FIELD(word, LEAVERS_AT, LEAVERS_BITS);
}

static uint32_t calls_of(uint64_t word)
{
    return FIELD(word, CALLS_AT, XYL_TAG_CALLS_BITS);
}

static uint32_t generation_of(uint64_t word)
{
    return (uint32_t)(word >> GENERATION_AT);
}

static uint64_t word_of(uint32_t generation, uint32_t calls, uint32_t leavers,
                        uint32_t berth)
{
    return (uint64_t)generation << GENERATION_AT | (uint64_t)calls << CALLS_AT |
           (uint64_t)leavers << LEAVERS_AT | berth;
}

/* ---- berths ---- */

uint32_t xyl_berth_of(const xyl_seats_t *seats, const xyl_berth_words_t *words,
                      uint32_t tag)
{
    return berth_of(xyl_seats_get(seats, &words->tags[tag]));
}

uint32_t xyl_berth_free(const xyl_seats_t *seats,
                        const xyl_berth_words_t *words)
{
    uint32_t i;

    for (i = 0; i < XYL_BERTHS / 64; i++) {
        uint64_t seen = xyl_seats_get(seats, &words->taken[i]);
        if (~seen != 0)
            return 1 + i * 64 + (uint32_t)__builtin_ctzll(~seen);
    }
    return XYL_BERTH_NONE;
}

/* Takes the lowest free berth, to keep those in use few; XYL_BERTH_NONE:
 * none. */
static uint32_t berth_take(const xyl_seats_t *seats, xyl_berth_words_t *words)
{
    uint32_t i;

    for (i = 0; i < XYL_BERTHS / 64; i++) {
        uint64_t seen = xyl_seats_get(seats, &words->taken[i]);
        while (~seen != 0) {
            uint32_t bit = (uint32_t)__builtin_ctzll(~seen);
            if (xyl_seats_swap(seats, &words->taken[i], &seen,
                               seen | UINT64_C(1) << bit))
                return 1 + i * 64 + bit;
        }
    }
    return XYL_BERTH_NONE;
}

static void berth_give(const xyl_seats_t *seats, xyl_berth_words_t *words,
                       uint32_t berth)
{
    _Atomic uint64_t *word;
    uint64_t bit, seen;

    if (berth == XYL_BERTH_NONE)
        return;
    word = &words->taken[(berth - 1) / 64];
    bit = UINT64_C(1) << (berth - 1) % 64;
    seen = xyl_seats_get(seats, word);
    while (!xyl_seats_swap(seats, word, &seen, seen & ~bit))
        continue; /* another berth was taken or given */
}

/* ---- tags ---- */

/* 1: this seat is among the leavers that the word counts. */
static int is_counted(uint64_t word, const xyl_berth_seat_t *mine)
{
    return leavers_of(word) != 0 && mine->generation == generation_of(word) &&
           mine->calls == calls_of(word);
}

uint32_t xyl_berth_join(const xyl_seats_t *seats, xyl_berth_words_t *words,
                        uint32_t tag, xyl_berth_seat_t *mine, int may_take)
{
    _Atomic uint64_t *word = &words->tags[tag];
    uint64_t seen = xyl_seats_get(seats, word);
    uint32_t berth = 0;

    assert(mine->berth == 0);
    while (mine->berth == 0) {
        if (berth_of(seen) != 0) {
            if (!is_counted(seen, mine) ||
                xyl_seats_swap(seats, word, &seen, seen - LEAVER))
                mine->berth = berth_of(seen);
            continue;
        }
        if (berth == 0)
            berth = may_take ? berth_take(seats, words) : XYL_BERTH_NONE;
        if (xyl_seats_swap(seats, word, &seen,
                           word_of(generation_of(seen) + 1, 0, 0, berth))) {
            mine->berth = berth;
            berth = 0;
        }
    }
    if (berth != 0) /* another seat was faster */
        berth_give(seats, words, berth);
    return mine->berth;
}

/* The word with this seat as a leaver; unchanged if others ended more calls. */
static uint64_t with_leaver(uint64_t word, uint32_t calls)
{
    const uint32_t half = UINT32_C(1) << (XYL_TAG_CALLS_BITS - 1);
    uint32_t further = (calls - calls_of(word)) & (2 * half - 1);

    if (leavers_of(word) == 0 || (further != 0 && further < half))
        return word_of(generation_of(word), calls, 1, berth_of(word));
    return further == 0 ? word + LEAVER : word;
}

void xyl_berth_leave(const xyl_seats_t *seats, xyl_berth_words_t *words,
                     uint32_t tag, xyl_berth_seat_t *mine, uint32_t calls)
{
    _Atomic uint64_t *word = &words->tags[tag];
    uint64_t seen = xyl_seats_get(seats, word), next;
    int is_last;

    assert(mine->berth != 0 && berth_of(seen) == mine->berth);
    do {
        next = with_leaver(seen, calls);
        is_last = leavers_of(next) == seats->count;
        if (is_last)
            next = word_of(generation_of(next), 0, 0, 0);
    } while (next != seen && !xyl_seats_swap(seats, word, &seen, next));
    mine->generation = generation_of(seen);
    mine->calls = calls;
    if (is_last)
        berth_give(seats, words, mine->berth);
    mine->berth = 0;
}
