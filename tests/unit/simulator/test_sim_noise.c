/* Noise of the simulator: a cursor's answers against a list of all bursts, the
 * distribution of bursts, records that wrap around, and equal sequences by
 * equal seeds. Everything is seeded, so results are the same in each run. */
#include "simulator/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"

static const sim_burst_t record_bursts[] = {
    {0, 2 * SIM_US},
    {5 * SIM_US, 1 * SIM_US},
    {6 * SIM_US, 3 * SIM_US}, /* touches the last one */
    {20 * SIM_US, 0},
    {31 * SIM_US, 7},
    {48500 * SIM_NS, 1500 * SIM_NS}, /* and this one the next repetition */
};
static const sim_noise_trace_t record = {
    .bursts = (sim_burst_t *)record_bursts, /* never written to */
    .count = sizeof record_bursts / sizeof record_bursts[0],
    .length = 50 * SIM_US,
};

/* One of each kind that repeats, then one burst. */
static const sim_noise_t noises[] = {
    {.kind = SIM_NOISE_UNIFORM, .mhz = 10000, .max = 20 * SIM_MS},
    {.kind = SIM_NOISE_UNIFORM, .mhz = 70000, .max = 14285714285},
    {.kind = SIM_NOISE_PERIODIC, .mhz = 100000, .max = 50 * SIM_US},
    {.kind = SIM_NOISE_PERIODIC, .mhz = 333333, .max = 2 * SIM_MS},
    {.kind = SIM_NOISE_SYNCHRONOUS, .mhz = 1000000, .max = 300 * SIM_US},
    {.kind = SIM_NOISE_POISSON, .mhz = 10000, .max = 1 * SIM_MS},
    {.kind = SIM_NOISE_POISSON, .mhz = 1000000000, .max = 2 * SIM_US},
    {.kind = SIM_NOISE_TRACE, .trace = &record},
    {.kind = SIM_NOISE_ONCE, .max = 3 * SIM_US, .at = 8 * SIM_US},
};
enum {
    NOISES = sizeof noises / sizeof noises[0],
    REPEATING = NOISES - 1,
    UNIFORM = 0,
    POISSON = 5
};

static sim_noise_t noise_of(int index, uint64_t seed)
{
    sim_noise_t noise = noises[index];

    noise.last = UINT32_MAX;
    noise.seed = seed;
    return noise;
}

/* The first `count` bursts, one by one; returns how many there are. */
static size_t list(const sim_noise_t *noise, uint32_t rank, sim_burst_t *bursts,
                   size_t count)
{
    sim_noise_cursor_t cursor;
    size_t i;

    sim_noise_cursor_init(&cursor, noise, rank);
    for (i = 0; i < count && cursor.burst.begin != SIM_NEVER; i++) {
        bursts[i] = cursor.burst;
        sim_noise_clear(&cursor, bursts[i].begin + bursts[i].length);
    }
    return i;
}

/* ---- answers ---- */

enum { LISTED = 400, QUERIES = 500 };

/* The answer of sim_noise_advance, from a list. */
static sim_time_t advance(const sim_burst_t *bursts, size_t count,
                          sim_time_t time, sim_time_t work)
{
    size_t i;

    for (i = 0; i < count; i++) {
        sim_time_t end = bursts[i].begin + bursts[i].length;
        if (end <= time)
            continue;
        if (time < bursts[i].begin) {
            sim_time_t free = bursts[i].begin - time;
            if (work <= free)
                break;
            work -= free;
        }
        time = end;
    }
    return time + work;
}

/* 0 ... limit, small values as often as large ones. */
static uint64_t call_size(uint64_t *random, uint64_t limit)
{
    return (random_next(random) >> random_below(random, 64)) % (limit + 1);
}

/* A later time: by any distance, or where a burst begins or ends. */
static sim_time_t later(uint64_t *random, const sim_burst_t *bursts,
                        size_t count, sim_time_t time, sim_time_t step)
{
    const sim_burst_t *burst = &bursts[random_below(random, (uint32_t)count)];
    sim_time_t edge = burst->begin;

    if (random_below(random, 2) == 0)
        edge += burst->length;
    if (random_below(random, 4) == 0 && edge >= time && edge - time < step)
        return edge;
    return time + call_size(random, step);
}

static void check_answers(const sim_noise_t *noise, uint32_t rank)
{
    sim_burst_t bursts[LISTED];
    size_t count = list(noise, rank, bursts, LISTED), query;
    uint64_t random = noise->seed * 1000 + rank;
    sim_time_t end = bursts[count - 1].begin, time = 0, latest = 0;
    sim_noise_cursor_t cursor;

    sim_noise_cursor_init(&cursor, noise, rank);
    for (query = 0; query < QUERIES; query++) {
        sim_time_t work = call_size(&random, end / 20), wanted, got;
        time = later(&random, bursts, count, time, end / 50);
        wanted = advance(bursts, count, time, work);
        if (noise->kind != SIM_NOISE_ONCE && wanted >= end)
            break; /* the list ends here */
        got = sim_noise_advance(&cursor, time, work);
        CHECK_EQ(got, wanted);
        CHECK(got >= time + work);
        CHECK_EQ(sim_noise_advance(&cursor, time, 0),
                 advance(bursts, count, time, 0));
        /* Earlier questions do not matter. */
        got = sim_noise_clear(&cursor, time);
        CHECK_EQ(got, advance(bursts, count, time, 0));
        CHECK(got >= latest);
        latest = got;
    }
    CHECK(query > 20);
}

static void test_answers(void)
{
    uint64_t seed;
    uint32_t rank;
    int i;

    for (i = 0; i < NOISES; i++)
        for (seed = 1; seed <= 10; seed++)
            for (rank = 0; rank < 5; rank++) {
                sim_noise_t noise = noise_of(i, seed);
                check_answers(&noise, rank);
            }
}

static void test_order(void)
{
    sim_burst_t bursts[LISTED];
    uint32_t rank;
    size_t i, count;
    int kind;

    for (kind = 0; kind < REPEATING; kind++)
        for (rank = 0; rank < 20; rank++) {
            sim_noise_t noise = noise_of(kind, 4);
            count = list(&noise, rank, bursts, LISTED);
            CHECK_EQ(count, LISTED);
            for (i = 1; i < count; i++)
                CHECK(bursts[i].begin >=
                      bursts[i - 1].begin + bursts[i - 1].length);
        }
}

/* Work in two pieces takes as long as in one. */
static void test_pieces(void)
{
    uint64_t random = 11;
    int i, round;

    for (i = 0; i < NOISES; i++)
        for (round = 0; round < 200; round++) {
            sim_noise_t noise = noise_of(i, (uint64_t)round);
            sim_time_t time = call_size(&random, 10 * SIM_MS);
            sim_time_t first = call_size(&random, SIM_MS);
            sim_time_t second = 1 + call_size(&random, SIM_MS), whole;
            sim_noise_cursor_t cursor;
            sim_noise_cursor_init(&cursor, &noise, 3);
            whole = sim_noise_advance(&cursor, time, first + second);
            time = sim_noise_advance(&cursor, time, first);
            CHECK_EQ(sim_noise_advance(&cursor, time, second), whole);
        }
}

/* A far jump costs nothing if periods can be counted. */
static void test_far(void)
{
    const sim_time_t far = 1000000 * SIM_S;
    int kind;

    for (kind = 0; kind < REPEATING; kind++) {
        sim_noise_t noise = noise_of(kind, 9);
        sim_noise_cursor_t cursor;
        sim_time_t first, period;
        if (noise.kind == SIM_NOISE_POISSON)
            continue;
        sim_noise_cursor_init(&cursor, &noise, 1);
        sim_noise_clear(&cursor, cursor.burst.begin + cursor.burst.length);
        first = cursor.burst.begin;
        period = noise.kind == SIM_NOISE_TRACE ? noise.trace->length
                                               : 1000 * SIM_S / noise.mhz;
        sim_noise_clear(&cursor, far);
        CHECK(cursor.burst.begin + cursor.burst.length > far);
        CHECK(cursor.burst.begin < far + 2 * period);
        if (noise.kind != SIM_NOISE_TRACE)
            CHECK_EQ((cursor.burst.begin - first) % period, 0);
    }
}

static void test_end_of_time(void)
{
    int kind;

    for (kind = 0; kind < NOISES; kind++) {
        sim_noise_t noise = noise_of(kind, 9);
        sim_noise_cursor_t cursor;
        sim_noise_cursor_init(&cursor, &noise, 1);
        CHECK(sim_noise_advance(&cursor, 5, SIM_NEVER) == SIM_NEVER);
        CHECK(sim_noise_clear(&cursor, SIM_NEVER) == SIM_NEVER);
        if (noise.kind == SIM_NOISE_POISSON)
            continue;
        sim_noise_cursor_init(&cursor, &noise, 1);
        CHECK(sim_noise_advance(&cursor, SIM_NEVER - 9, 10) == SIM_NEVER);
        CHECK(sim_noise_clear(&cursor, SIM_NEVER - 1) >= SIM_NEVER - 1);
        CHECK(sim_noise_clear(&cursor, SIM_NEVER) == SIM_NEVER);
    }
}

static void check_quiet(const sim_noise_t *noise, uint32_t rank)
{
    sim_noise_cursor_t cursor;

    sim_noise_cursor_init(&cursor, noise, rank);
    CHECK(cursor.burst.begin == SIM_NEVER);
    CHECK_EQ(sim_noise_clear(&cursor, 7), 7);
    CHECK_EQ(sim_noise_advance(&cursor, 7, 5 * SIM_S), 7 + 5 * SIM_S);
    CHECK(sim_noise_advance(&cursor, 7, SIM_NEVER) == SIM_NEVER);
    CHECK(sim_noise_clear(&cursor, SIM_NEVER) == SIM_NEVER);
}

static void test_quiet(void)
{
    sim_noise_trace_t empty = {.length = SIM_S};
    sim_noise_cursor_t cursor;
    sim_noise_t noise;
    int kind;

    check_quiet(NULL, 0);
    noise = (sim_noise_t){.kind = SIM_NOISE_NONE, .last = UINT32_MAX};
    check_quiet(&noise, 0);
    noise = (sim_noise_t){.kind = SIM_NOISE_TRACE, .trace = &empty, .last = 9};
    check_quiet(&noise, 0);
    CHECK_EQ(sim_noise_share_ppm(&noise), 0);
    for (kind = 0; kind < NOISES; kind++) {
        noise = noise_of(kind, 2);
        noise.first = 5;
        noise.last = 6;
        check_quiet(&noise, 4);
        check_quiet(&noise, 7);
        sim_noise_cursor_init(&cursor, &noise, 5);
        CHECK(cursor.burst.begin != SIM_NEVER);
        sim_noise_cursor_init(&cursor, &noise, 6);
        CHECK(cursor.burst.begin != SIM_NEVER);
        noise.max = 0;
        if (noise.kind != SIM_NOISE_TRACE)
            check_quiet(&noise, 5);
    }
    noise = noise_of(UNIFORM, 2);
    noise.mhz = 0;
    check_quiet(&noise, 5);
    CHECK_EQ(sim_noise_share_ppm(&noise), 0);
}

static void test_once(void)
{
    sim_noise_t noise = noise_of(REPEATING, 1);
    sim_noise_cursor_t cursor;

    CHECK_EQ(sim_noise_share_ppm(&noise), 0);
    sim_noise_cursor_init(&cursor, &noise, 0);
    CHECK_EQ(sim_noise_advance(&cursor, 0, 8 * SIM_US), 8 * SIM_US);
    CHECK_EQ(sim_noise_advance(&cursor, 0, 8 * SIM_US + 1), 11 * SIM_US + 1);
    CHECK_EQ(sim_noise_clear(&cursor, 8 * SIM_US - 1), 8 * SIM_US - 1);
    CHECK_EQ(sim_noise_clear(&cursor, 8 * SIM_US), 11 * SIM_US);
    CHECK_EQ(sim_noise_clear(&cursor, 9 * SIM_US), 11 * SIM_US);
    CHECK_EQ(sim_noise_clear(&cursor, 11 * SIM_US), 11 * SIM_US);
    CHECK_EQ(sim_noise_advance(&cursor, 12 * SIM_US, SIM_S),
             12 * SIM_US + SIM_S);
}

/* ---- distributions ---- */

enum { SEEDS = 8, RANKS = 64, SEQUENCES = SEEDS * RANKS };

/* The time that noise takes in the first `span` of a rank's time. */
static sim_time_t taken(const sim_noise_t *noise, uint32_t rank,
                        sim_time_t span)
{
    sim_noise_cursor_t cursor;
    sim_time_t sum = 0;

    sim_noise_cursor_init(&cursor, noise, rank);
    while (cursor.burst.begin < span) {
        sim_time_t end = cursor.burst.begin + cursor.burst.length;
        sum += (end < span ? end : span) - cursor.burst.begin;
        sim_noise_clear(&cursor, end);
    }
    return sum;
}

static void test_share(void)
{
    uint64_t seed;
    uint32_t rank;
    int kind;

    for (kind = 0; kind < REPEATING; kind++) {
        sim_noise_t noise = noise_of(kind, 0);
        double share = (double)sim_noise_share_ppm(&noise) / 1e6, sum = 0;
        sim_time_t span = 20 * SIM_S;
        if (kind == POISSON + 1 || noise.kind == SIM_NOISE_TRACE)
            span = SIM_MS;
        for (seed = 0; seed < SEEDS; seed++)
            for (rank = 0; rank < RANKS; rank++) {
                noise.seed = seed;
                sum += (double)taken(&noise, rank, span) / (double)span;
            }
        CHECK(share > 0.001);
        CHECK(fabs(sum / SEQUENCES - share) < 0.02 * share);
    }
}

static void test_share_numbers(void)
{
    static const uint64_t wanted[NOISES] = {
        100000, 500000, 5000, 666666, 300000, 9900, 666666, 150000, 0};
    sim_noise_t noise;
    int i;

    for (i = 0; i < NOISES; i++) {
        noise = noise_of(i, 0);
        CHECK(llabs((long long)sim_noise_share_ppm(&noise) -
                    (long long)wanted[i]) <= 1);
    }
    noise = (sim_noise_t){
        .kind = SIM_NOISE_PERIODIC, .mhz = 1, .max = 500000 * SIM_MS};
    CHECK_EQ(sim_noise_share_ppm(&noise), 500000); /* large numbers */
}

/* Noise has begun before time 0: ranks are busy then as often as at any time,
 * and the rest of the burst is uniform. */
static void test_at_begin(void)
{
    static const int kinds[] = {1, 3, 6, 7};
    size_t i;

    for (i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        sim_noise_t noise = noise_of(kinds[i], 77);
        double share = (double)sim_noise_share_ppm(&noise) / 1e6;
        uint32_t rank, busy = 0;
        for (rank = 0; rank < 10000; rank++) {
            sim_noise_cursor_t cursor;
            sim_noise_cursor_init(&cursor, &noise, rank);
            busy += sim_noise_clear(&cursor, 0) != 0;
        }
        CHECK(fabs(busy / 10000.0 - share) < 0.015);
    }
}

static void check_even(const uint32_t *parts, uint32_t count, double tolerance)
{
    uint32_t i, sum = 0;

    for (i = 0; i < count; i++)
        sum += parts[i];
    for (i = 0; i < count; i++)
        CHECK(fabs((double)parts[i] * count / sum - 1) < tolerance);
}

static void test_uniform(void)
{
    const sim_time_t period = 100 * SIM_MS;
    uint32_t phases[10] = {0}, lengths[10] = {0}, rank;
    sim_burst_t bursts[30];
    sim_time_t longest = 0;

    for (rank = 0; rank < 4000; rank++) {
        sim_noise_t noise = noise_of(UNIFORM, 5);
        size_t i, count = list(&noise, rank, bursts, 30);
        phases[bursts[1].begin % period * 10 / period]++;
        for (i = 1; i < count; i++) {
            CHECK_EQ((bursts[i].begin - bursts[1].begin) % period, 0);
            CHECK(bursts[i].length < noise.max);
            lengths[bursts[i].length * 10 / noise.max]++;
            longest = bursts[i].length > longest ? bursts[i].length : longest;
        }
    }
    check_even(phases, 10, 0.15);
    check_even(lengths, 10, 0.03);
    CHECK(longest > 19990 * SIM_US);
}

static void test_periodic(void)
{
    sim_noise_t noise = noise_of(3, 6), together = noise_of(4, 6);
    sim_time_t period = 1000 * SIM_S / noise.mhz;
    sim_burst_t bursts[50], others[50];
    uint32_t phases[10] = {0}, rank;
    size_t i;

    for (rank = 0; rank < 4000; rank++) {
        list(&noise, rank, bursts, 50);
        phases[bursts[1].begin % period * 10 / period]++;
        for (i = 2; i < 50; i++) {
            CHECK_EQ(bursts[i].begin - bursts[i - 1].begin, period);
            CHECK_EQ(bursts[i].length, noise.max);
        }
    }
    check_even(phases, 10, 0.15);
    list(&together, 0, bursts, 50);
    for (rank = 1; rank < 10; rank++) {
        list(&together, rank, others, 50);
        CHECK(memcmp(bursts, others, sizeof bursts) == 0);
    }
    together.seed++;
    list(&together, 0, others, 50);
    CHECK(bursts[1].begin != others[1].begin);
}

static void test_poisson(void)
{
    sim_noise_t noise = noise_of(POISSON, 8);
    const sim_time_t mean = 100 * SIM_MS;
    uint32_t longer[6] = {0}, rank, gaps = 0, i;
    double sum = 0, squares = 0;
    sim_burst_t bursts[200];

    for (rank = 0; rank < 500; rank++) {
        size_t n, count = list(&noise, rank, bursts, 200);
        for (n = 1; n < count; n++, gaps++) {
            sim_time_t gap =
                bursts[n].begin - bursts[n - 1].begin - bursts[n - 1].length;
            double ratio = (double)gap / (double)mean;
            for (i = 0; i < 6; i++)
                longer[i] += gap > mean * i / 2;
            sum += ratio;
            squares += ratio * ratio;
            CHECK_EQ(bursts[n].length, noise.max);
        }
    }
    CHECK(fabs(sum / gaps - 1) < 0.02);
    CHECK(fabs(squares / gaps - 2) < 0.06);
    for (i = 0; i < 6; i++)
        CHECK(fabs((double)longer[i] / gaps - exp(-(double)i / 2)) < 0.005);
}

static void test_logarithm(void)
{
    static const uint64_t some[] = {1,
                                    2,
                                    3,
                                    UINT64_C(1) << 32,
                                    UINT64_C(1) << 63,
                                    (UINT64_C(1) << 63) - 1,
                                    (UINT64_C(1) << 63) + 1,
                                    UINT64_MAX};
    uint64_t random = 21, i;

    for (i = 0; i < 100000; i++) {
        uint64_t u = random_next(&random) >> random_below(&random, 64);
        double got;
        if (i < sizeof some / sizeof some[0])
            u = some[i];
        u += u == 0;
        got = ldexp((double)sim_noise_minus_ln(u), -57);
        CHECK(fabs(got + log(ldexp((double)u, -64))) < 1e-11);
    }
    CHECK(sim_noise_minus_ln(UINT64_MAX) != 0);
    CHECK(sim_noise_minus_ln(1) > sim_noise_minus_ln(2));
}

/* ---- records ---- */

/* The bursts are those of the record, from a point that the length of the
 * second one, which is whole, identifies: each has a length of its own. */
static void check_record(const sim_burst_t *bursts, size_t count,
                         uint32_t *points)
{
    const sim_time_t length = record.length;
    const sim_burst_t *last;
    sim_time_t point;
    size_t i, at = 0;

    while (at < record.count && record_bursts[at].length != bursts[1].length)
        at++;
    CHECK(at < record.count);
    if (at == record.count)
        return;
    point = (record_bursts[at].begin + 4 * length - bursts[1].begin) % length;
    points[point * 5 / length]++;
    for (i = 1; i < count; i++) {
        const sim_burst_t *wanted = &record_bursts[(at + i - 1) % record.count];
        CHECK_EQ(bursts[i].length, wanted->length);
        CHECK_EQ((bursts[i].begin + point) % length, wanted->begin);
    }
    /* The first ends where it should, and is cut off at time 0. */
    last = &record_bursts[(at + record.count - 1) % record.count];
    CHECK_EQ((bursts[0].begin + bursts[0].length + point) % length,
             (last->begin + last->length) % length);
    CHECK(bursts[0].length <= last->length);
    CHECK(bursts[0].begin == 0 || bursts[0].length == last->length);
}

static void test_record(void)
{
    uint32_t points[5] = {0}, rank;
    sim_burst_t bursts[40];

    for (rank = 0; rank < 3000; rank++) {
        sim_noise_t noise = noise_of(7, 12);
        CHECK_EQ(list(&noise, rank, bursts, 40), 40);
        check_record(bursts, 40, points);
    }
    check_even(points, 5, 0.15);
}

/* ---- equal everywhere ---- */

static void test_golden(void)
{
    uint64_t sum = 0;
    sim_burst_t bursts[100];
    uint32_t rank;
    size_t i;
    int kind;

    for (kind = 0; kind < NOISES; kind++)
        for (rank = 0; rank < 50; rank += 7) {
            sim_noise_t noise = noise_of(kind, 2020);
            size_t count = list(&noise, rank, bursts, 100);
            for (i = 0; i < count; i++)
                sum = random_mix(sum ^ random_mix(bursts[i].begin) ^
                                 bursts[i].length);
        }
    CHECK_EQ(sum, UINT64_C(0x42fb86d5809af271));
}

static void test_seeds(void)
{
    sim_burst_t first[20], second[20];
    int kind;

    for (kind = 0; kind < REPEATING; kind++) {
        sim_noise_t noise = noise_of(kind, 1), again = noise_of(kind, 1);
        list(&noise, 3, first, 20);
        list(&again, 3, second, 20);
        CHECK(memcmp(first, second, sizeof first) == 0);
        again.seed = 2;
        list(&again, 3, second, 20);
        CHECK(memcmp(first, second, sizeof first) != 0);
        list(&noise, 4, second, 20);
        CHECK((memcmp(first, second, sizeof first) == 0) ==
              (noise.kind == SIM_NOISE_SYNCHRONOUS));
    }
}

static const check_case_t cases[] = {
    {"answers as from a list of bursts", test_answers},
    {"bursts are in order and do not overlap", test_order},
    {"work in pieces", test_pieces},
    {"far jumps", test_far},
    {"the end of time", test_end_of_time},
    {"quiet ranks", test_quiet},
    {"one burst", test_once},
    {"the share of time that is taken", test_share},
    {"that share in numbers", test_share_numbers},
    {"time 0 is like any other", test_at_begin},
    {"uniform lengths and phases", test_uniform},
    {"periodic and synchronous", test_periodic},
    {"exponential gaps", test_poisson},
    {"the logarithm", test_logarithm},
    {"records wrap around, from a random point", test_record},
    {"the same bursts on every machine", test_golden},
    {"seeds and ranks", test_seeds},
};

CHECK_MAIN(cases)
