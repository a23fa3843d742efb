/* Sequences of bursts, one burst at a time.
 *
 * A cursor holds the first burst that ends after all times it was asked for;
 * its other fields say how later bursts follow. So work that spans several
 * bursts is measured on a copy, and the cursor stays behind. A burst's length
 * and place depend on the number of its draw alone, so bursts between two
 * distant times are skipped, not played.
 *
 * Integers only. A cursor belongs to one thread; the noise that it reads is
 * constant. */
#include "simulator/noise/noise.h"

#include <assert.h>

#include "simulator/random.h"

enum { LN_BITS = 40 }; /* of a logarithm to base 2, after the point */

static const uint64_t ln_2 = UINT64_C(0xb17217f7d1cf79ab); /* times 2^64 */
static const uint64_t ppm = 1000000;

/* ---- numbers ---- */

__extension__ typedef unsigned __int128 product_t;

/* The upper half of a product: `limit` times the fraction `part` / 2^64. */
static uint64_t multiply_high(uint64_t part, uint64_t limit)
{
    return (uint64_t)((product_t)part * limit >> 64);
}

static sim_time_t add_times(sim_time_t first, sim_time_t second)
{
    return first > SIM_NEVER - second ? SIM_NEVER : first + second;
}

static uint64_t ratio_ppm(uint64_t part, uint64_t whole)
{
    if (part >= whole)
        return ppm;
    while (whole > UINT64_MAX / ppm) {
        part >>= 1;
        whole >>= 1;
    }
    return part * ppm / whole;
}

/* With u / 2^64 = m / 2^(zeros + 1) and 1 <= m < 2, the bits of log2(m) after
 * the point come one by one: squaring m doubles its logarithm, and where the
 * square is 2 or more, the bit is 1 and the square is halved. An error of m
 * doubles with each squaring, but the bits' weight halves: the error by
 * rounding stays below the last bit. */
uint64_t sim_noise_minus_ln(uint64_t u)
{
    unsigned zeros, bit;
    uint64_t log2;

    assert(u != 0);
    zeros = (unsigned)__builtin_clzll(u);
    log2 = (uint64_t)(zeros + 1) << 57;
    u <<= zeros; /* m times 2^63 */
    for (bit = 1; bit <= LN_BITS; bit++) {
        uint64_t is_two;

        u = multiply_high(u, u); /* the square, times 2^62 */
        is_two = u >> 63;
        log2 -= is_two << (57 - bit); /* no branch: chance would take it */
        u <<= 1 - is_two;
    }
    return multiply_high(log2, ln_2);
}

/* ---- sequences ---- */

/* The begin of a rank's draws. */
static uint64_t stream(uint64_t seed, uint32_t rank)
{
    return random_mix(seed + random_mix(rank));
}

static uint64_t draw(sim_noise_cursor_t *cursor)
{
    return random_mix(cursor->random++);
}

static sim_time_t period_of(const sim_noise_t *noise)
{
    assert(noise->mhz > 0 && noise->mhz <= 1000 * ppm);
    return 1000 * SIM_S / noise->mhz;
}

static void burst_set(sim_noise_cursor_t *cursor, sim_time_t begin,
                      sim_time_t length)
{
    if (begin == SIM_NEVER || length > SIM_NEVER - begin)
        cursor->burst = (sim_burst_t){SIM_NEVER, 0};
    else
        cursor->burst = (sim_burst_t){begin, length};
}

static sim_time_t burst_end(const sim_noise_cursor_t *cursor)
{
    return cursor->burst.begin + cursor->burst.length;
}

/* One draw per period, or none: periods can be skipped. */
static sim_time_t periodic_length(sim_noise_cursor_t *cursor)
{
    const sim_noise_t *noise = cursor->noise;

    if (noise->kind == SIM_NOISE_UNIFORM)
        return multiply_high(draw(cursor), noise->max);
    return noise->max;
}

static void periodic_next(sim_noise_cursor_t *cursor, sim_time_t time)
{
    sim_time_t period = period_of(cursor->noise), begin;

    /* A burst ends within its period: those before the one that `time` lies in
     * have passed. */
    if (time > cursor->next_period) {
        uint64_t passed = (time - cursor->next_period) / period;
        cursor->next_period += passed * period;
        cursor->random += passed;
    }
    begin = cursor->next_period;
    cursor->next_period = add_times(begin, period);
    burst_set(cursor, begin, periodic_length(cursor));
}

static void poisson_next(sim_noise_cursor_t *cursor)
{
    const sim_noise_t *noise = cursor->noise;
    uint64_t ln = sim_noise_minus_ln(draw(cursor) | 1);
    sim_time_t gap = multiply_high(ln, period_of(noise) << 7);
    sim_time_t begin = add_times(cursor->next_period, gap);

    cursor->next_period = add_times(begin, noise->max);
    burst_set(cursor, begin, noise->max);
}

/* The first burst that ends after `time` of the record. */
static size_t trace_find(const sim_noise_trace_t *trace, sim_time_t time)
{
    size_t first = 0, end = trace->count;

    while (first < end) {
        size_t middle = first + (end - first) / 2;
        const sim_burst_t *burst = &trace->bursts[middle];
        if (burst->begin + burst->length > time)
            end = middle;
        else
            first = middle + 1;
    }
    return first;
}

/* The repetition that is played lies before next_period; the first began before
 * time 0, which the subtraction, modulo 2^64, gets right. */
static void trace_next(sim_noise_cursor_t *cursor, sim_time_t time)
{
    const sim_noise_trace_t *trace = cursor->noise->trace;
    const sim_burst_t *burst;

    if (time >= cursor->next_period) {
        uint64_t passed = (time - cursor->next_period) / trace->length;
        cursor->next_period += passed * trace->length;
        cursor->next_burst = trace_find(trace, time - cursor->next_period);
        cursor->next_period = add_times(cursor->next_period, trace->length);
    }
    if (cursor->next_burst == trace->count) {
        cursor->next_burst = 0;
        cursor->next_period = add_times(cursor->next_period, trace->length);
    }
    if (cursor->next_period == SIM_NEVER) {
        burst_set(cursor, SIM_NEVER, 0);
        return;
    }
    burst = &trace->bursts[cursor->next_burst++];
    burst_set(cursor, cursor->next_period - trace->length + burst->begin,
              burst->length);
}

/* The next burst, or a later one: none that ends after `time` is left out. */
static void burst_next(sim_noise_cursor_t *cursor, sim_time_t time)
{
    switch (cursor->noise->kind) {
    case SIM_NOISE_UNIFORM:
    case SIM_NOISE_PERIODIC:
    case SIM_NOISE_SYNCHRONOUS:
        periodic_next(cursor, time);
        break;
    case SIM_NOISE_POISSON:
        poisson_next(cursor);
        break;
    case SIM_NOISE_TRACE:
        trace_next(cursor, time);
        break;
    case SIM_NOISE_NONE:
    case SIM_NOISE_ONCE:
        burst_set(cursor, SIM_NEVER, 0);
        break;
    }
}

static void burst_find(sim_noise_cursor_t *cursor, sim_time_t time)
{
    while (cursor->burst.begin != SIM_NEVER && burst_end(cursor) <= time)
        burst_next(cursor, time);
}

/* ---- where a sequence begins ---- */

static void periodic_init(sim_noise_cursor_t *cursor)
{
    sim_time_t period = period_of(cursor->noise), before, length;

    assert(cursor->noise->max <= period);
    cursor->next_period = multiply_high(draw(cursor), period);
    before = period - cursor->next_period; /* since the last burst's begin */
    length = periodic_length(cursor);
    if (length > before)
        burst_set(cursor, 0, length - before);
    else
        periodic_next(cursor, 0);
}

/* Time 0 lies within a burst as often as any time does. */
static void poisson_init(sim_noise_cursor_t *cursor)
{
    const sim_noise_t *noise = cursor->noise;
    sim_time_t point =
        multiply_high(draw(cursor), noise->max + period_of(noise));

    cursor->next_period = 0;
    if (point < noise->max) {
        burst_set(cursor, 0, noise->max - point);
        cursor->next_period = burst_end(cursor);
    } else {
        poisson_next(cursor);
    }
}

static void trace_init(sim_noise_cursor_t *cursor)
{
    const sim_noise_trace_t *trace = cursor->noise->trace;
    sim_time_t point = multiply_high(draw(cursor), trace->length);
    const sim_burst_t *burst;

    cursor->next_period = trace->length - point;
    cursor->next_burst = trace_find(trace, point);
    burst = trace->bursts + cursor->next_burst;
    if (cursor->next_burst == trace->count || burst->begin >= point) {
        trace_next(cursor, 0);
        return;
    }
    cursor->next_burst++;
    burst_set(cursor, 0, burst->begin + burst->length - point);
}

static int is_quiet(const sim_noise_t *noise, uint32_t rank)
{
    if (noise == NULL || noise->kind == SIM_NOISE_NONE || rank < noise->first ||
        rank > noise->last)
        return 1;
    if (noise->kind == SIM_NOISE_TRACE)
        return noise->trace->count == 0;
    return noise->max == 0 ||
           (noise->kind != SIM_NOISE_ONCE && noise->mhz == 0);
}

void sim_noise_cursor_init(sim_noise_cursor_t *cursor, const sim_noise_t *noise,
                           uint32_t rank)
{
    *cursor = (sim_noise_cursor_t){.burst = {SIM_NEVER, 0}};
    if (is_quiet(noise, rank))
        return;
    cursor->noise = noise;
    cursor->random =
        stream(noise->seed, noise->kind == SIM_NOISE_SYNCHRONOUS ? 0 : rank);
    /* A trace was checked before, which takes long. */
    assert(noise->kind == SIM_NOISE_TRACE ||
           sim_noise_share_ppm(noise) <= SIM_NOISE_SHARE_MAX_PPM);
    switch (noise->kind) {
    case SIM_NOISE_UNIFORM:
    case SIM_NOISE_PERIODIC:
    case SIM_NOISE_SYNCHRONOUS:
        periodic_init(cursor);
        break;
    case SIM_NOISE_POISSON:
        poisson_init(cursor);
        break;
    case SIM_NOISE_ONCE:
        burst_set(cursor, noise->at, noise->max);
        break;
    case SIM_NOISE_TRACE:
        trace_init(cursor);
        break;
    case SIM_NOISE_NONE:
        break;
    }
}

/* ---- questions to a cursor ---- */

sim_time_t sim_noise_stretch(sim_noise_cursor_t *cursor, sim_time_t time,
                             sim_time_t work)
{
    sim_noise_cursor_t ahead;

    if (cursor->noise == NULL || time == SIM_NEVER || work == SIM_NEVER)
        return add_times(time, work);
    burst_find(cursor, time);
    ahead = *cursor; /* the next time asked for may be little after this one */
    while (time >= ahead.burst.begin || work > ahead.burst.begin - time) {
        if (ahead.burst.begin == SIM_NEVER)
            return SIM_NEVER;
        if (time < ahead.burst.begin)
            work -= ahead.burst.begin - time;
        time = burst_end(&ahead);
        burst_find(&ahead, time);
    }
    return time + work;
}

static uint64_t trace_share_ppm(const sim_noise_trace_t *trace)
{
    sim_time_t taken = 0;
    size_t i;

    for (i = 0; i < trace->count; i++)
        taken += trace->bursts[i].length;
    return taken == 0 ? 0 : ratio_ppm(taken, trace->length);
}

uint64_t sim_noise_share_ppm(const sim_noise_t *noise)
{
    if (noise->kind == SIM_NOISE_TRACE)
        return trace_share_ppm(noise->trace);
    if (noise->max == 0 || noise->mhz == 0)
        return 0;
    switch (noise->kind) {
    case SIM_NOISE_UNIFORM:
        /* A length is max / 2 on average. */
        return ratio_ppm(noise->max / 2, period_of(noise));
    case SIM_NOISE_PERIODIC:
    case SIM_NOISE_SYNCHRONOUS:
        return ratio_ppm(noise->max, period_of(noise));
    case SIM_NOISE_POISSON:
        return ratio_ppm(noise->max, add_times(noise->max, period_of(noise)));
    case SIM_NOISE_NONE:
    case SIM_NOISE_ONCE:
    case SIM_NOISE_TRACE:
        break;
    }
    return 0;
}

/* ---- arrivals ---- */

static sim_time_t sorted_time(sim_time_t max, uint32_t rank, uint32_t ranks)
{
    uint64_t gaps = ranks - 1;

    if (gaps == 0)
        return 0;
    return max / gaps * rank + max % gaps * rank / gaps;
}

sim_time_t sim_arrivals_time(const sim_arrivals_t *arrivals, uint32_t rank,
                             uint32_t ranks)
{
    assert(rank < ranks && arrivals->max < SIM_NEVER);
    switch (arrivals->pattern) {
    case SIM_ARRIVAL_ONE_LATE:
        return rank == arrivals->rank ? arrivals->max : 0;
    case SIM_ARRIVAL_ALL_LATE_BUT:
        return rank == arrivals->rank ? 0 : arrivals->max;
    case SIM_ARRIVAL_SORTED:
        return sorted_time(arrivals->max, rank, ranks);
    case SIM_ARRIVAL_RANDOM:
        /* Not the draws of noise with the same seed. */
        return multiply_high(random_mix(stream(~arrivals->seed, rank)),
                             arrivals->max + 1);
    case SIM_ARRIVAL_TOGETHER:
        break;
    }
    return 0;
}
