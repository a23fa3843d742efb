/* Sums that seats add to as they come, with threads for seats: their accesses
 * to the bytes have an order, and sums are right. */
#include "collectives/board/combine.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"

enum { SEGMENTS = 4, THREADS = 4, ROUNDS = 400, ELEMENTS = 200, SPARES = 2 };

typedef struct crowd {
    xyl_shm_t shm;
    xyl_combine_words_t words;
    _Atomic uint64_t full[SEGMENTS];
    uint64_t cells[SEGMENTS + SPARES][ELEMENTS];
    uint32_t ranks[THREADS + 1];
    pthread_barrier_t barrier;
} crowd_t;

typedef struct one {
    crowd_t *crowd;
    uint32_t seat;
    uint32_t readers[THREADS + 1];
} one_t;

static int crowd_swap(xyl_shm_t *shm, _Atomic uint64_t *word,
                      uint64_t *expected, uint64_t value)
{
    (void)shm;
    return atomic_compare_exchange_strong_explicit(
        word, expected, value, memory_order_acq_rel, memory_order_acquire);
}

static void crowd_set(xyl_shm_t *shm, _Atomic uint64_t *flag, uint64_t value,
                      const uint32_t *readers, uint32_t count)
{
    (void)shm;
    (void)readers;
    (void)count;
    atomic_store_explicit(flag, value, memory_order_release);
}

static const xyl_shm_ops_t crowd_ops = {.set = crowd_set, .swap = crowd_swap};

static uint64_t element(uint32_t seat, uint64_t round, uint32_t segment,
                        uint32_t i)
{
    return random_mix(round << 32 ^ (uint64_t)seat << 24 ^ segment << 16 ^ i);
}

static uint64_t *cell_of(crowd_t *crowd, uint32_t cell, uint32_t segment)
{
    return crowd->cells[cell == XYL_COMBINE_HOME
                            ? segment
                            : SEGMENTS + cell - XYL_COMBINE_FIRST_SPARE];
}

static void add(const one_t *one, uint64_t round, xyl_combine_t *c)
{
    uint64_t *cell = cell_of(one->crowd, c->cell, c->segment), own;
    uint32_t i;

    for (i = 0; i < ELEMENTS; i++) {
        own = c->work == XYL_COMBINE_MERGE
                  ? cell_of(one->crowd, c->other, c->segment)[i]
                  : element(one->seat, round, c->segment, i);
        cell[i] = c->work == XYL_COMBINE_COPY ? own : cell[i] + own;
        if (i == ELEMENTS / 2 && (round + one->seat) % 8 == 0)
            sched_yield(); /* in the middle of it */
    }
    xyl_combine_worked(c);
}

static void check_sum(const crowd_t *crowd, uint64_t round, uint32_t segment)
{
    uint32_t i, seat;

    for (i = 0; i < ELEMENTS; i++) {
        uint64_t sum = 0;
        for (seat = 0; seat < THREADS; seat++)
            sum += element(seat, round, segment, i);
        if (crowd->cells[segment][i] != sum) {
            check_failed(__FILE__, __LINE__, "a sum is wrong");
            return;
        }
    }
}

static void read_all(crowd_t *crowd, uint64_t round, uint32_t segments)
{
    uint32_t segment;

    for (segment = 0; segment < segments; segment++) {
        while (atomic_load(&crowd->full[segment]) != round)
            sched_yield();
        check_sum(crowd, round, segment);
    }
}

static void contribute(one_t *one, uint64_t round, uint32_t segments)
{
    crowd_t *crowd = one->crowd;
    const xyl_seats_t seats = {&crowd->shm, THREADS + 1, one->seat,
                               crowd->ranks, one->readers};
    xyl_combine_piece_t piece = {.seats = &seats,
                                 .words = &crowd->words,
                                 .number = round,
                                 .segments = segments,
                                 .spares = SPARES,
                                 .contributors = THREADS,
                                 .first = one->seat % segments,
                                 .full = {.flags = crowd->full,
                                          .value = round,
                                          .readers = &crowd->ranks[THREADS],
                                          .count = 1}};
    xyl_combine_t combine = {.state = XYL_COMBINE_FRESH};
    xyl_sum_next_t next;

    do {
        next = xyl_combine_step(&piece, UINT64_MAX, &combine);
        if (next == XYL_SUM_WORK)
            add(one, round, &combine);
        else if (next == XYL_SUM_WAIT)
            sched_yield();
    } while (next != XYL_SUM_NONE);
}

/* A slot is used again when all have retired its piece. */
static void *take_part(void *arg)
{
    one_t *one = arg;
    uint64_t round;

    for (round = 1; round <= ROUNDS; round++) {
        uint32_t segments = (uint32_t)(round % SEGMENTS) + 1;
        if (one->seat == THREADS)
            read_all(one->crowd, round, segments);
        else
            contribute(one, round, segments);
        pthread_barrier_wait(&one->crowd->barrier);
    }
    return NULL;
}

static void test_threads(void)
{
    crowd_t *crowd = aligned_alloc(128, (sizeof *crowd + 127) / 128 * 128);
    pthread_t threads[THREADS + 1];
    one_t ones[THREADS + 1];
    uint32_t i;

    if (crowd == NULL)
        abort();
    memset(crowd, 0, sizeof *crowd);
    crowd->shm.ops = &crowd_ops;
    pthread_barrier_init(&crowd->barrier, NULL, THREADS + 1);
    for (i = 0; i <= THREADS; i++) {
        crowd->ranks[i] = i;
        ones[i] = (one_t){.crowd = crowd, .seat = i};
        if (pthread_create(&threads[i], NULL, take_part, &ones[i]) != 0)
            abort();
    }
    for (i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&crowd->barrier);
    free(crowd);
}

static const check_case_t cases[] = {
    {"threads", test_threads},
};
CHECK_MAIN(cases)
