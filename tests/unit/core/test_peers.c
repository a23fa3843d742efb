/* Peers of xylem_device.h, with threads for GPUs: barriers, sums and messages
 * whose words carry their round, signals behind data; and a peer that does not
 * come. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "include/xylem_device.h"
#include "tests/support/check.h"

enum {
    RANKS = 3,
    ELEMENTS = 5,
    ROUNDS = 300,
    TRIES = 64,
    LETTER = 9, /* words of a message */
    SLOTS = 2
};

typedef struct peer {
    xylem_device_peers_t peers;
    pthread_t thread;
    uint64_t wrong;
} peer_t;

static uint64_t *memory[RANKS];
static uint64_t data[RANKS]; /* written before a barrier, read behind it */
/* Stands for GPUs' memory: a word, and the data that it announces. */
static struct {
    _Alignas(64) uint64_t word;
    uint64_t value;
} mail[RANKS];

static void meet(const peer_t *peer, uint64_t round)
{
    while (xylem_device_peers_barrier(&peer->peers, round, TRIES) ==
           XYLEM_ERR_TIMED_OUT)
        sched_yield();
}

static float sum_up(const peer_t *peer, float value, uint32_t i, uint32_t round)
{
    while (xylem_device_peers_sum(&peer->peers, &value, i, ELEMENTS, round,
                                  TRIES) == XYLEM_ERR_TIMED_OUT)
        sched_yield();
    return value;
}

static void pass_mail(peer_t *peer, uint64_t round)
{
    uint32_t me = peer->peers.rank, next = (me + 1) % RANKS;

    mail[next].value = round * 10 + me;
    xylem_device_signal(&mail[next].word, 1);
    while (xylem_device_wait(&mail[me].word, round, TRIES) ==
           XYLEM_ERR_TIMED_OUT)
        sched_yield();
    peer->wrong += mail[me].value != round * 10 + (me + RANKS - 1) % RANKS;
}

static xylem_device_channel_t channel_to(const peer_t *peer, uint32_t other)
{
    size_t each = xylem_device_channel_bytes(LETTER * 8, SLOTS);

    return xylem_device_channel_to(&peer->peers, other,
                                   xylem_device_peers_bytes(RANKS, ELEMENTS) +
                                       (peer->peers.rank + other) % RANKS *
                                           each,
                                   LETTER * 8, SLOTS);
}

/* Passes letters from the peer before to the next one, which it may be ahead of
 * by the number of slots. */
static void pass_letter(peer_t *peer, uint32_t round)
{
    uint32_t me = peer->peers.rank, i;
    xylem_device_channel_t next = channel_to(peer, (me + 1) % RANKS);
    xylem_device_channel_t before = channel_to(peer, (me + RANKS - 1) % RANKS);
    uint64_t letter[LETTER];

    for (i = 0; i < LETTER; i++)
        letter[i] = (uint64_t)round << 40 | me << 8 | i;
    while (xylem_device_channel_block_put(&next, letter, sizeof letter, round,
                                          TRIES) == XYLEM_ERR_TIMED_OUT)
        sched_yield();
    while (xylem_device_channel_block_get(&before, letter, sizeof letter, round,
                                          TRIES) == XYLEM_ERR_TIMED_OUT)
        sched_yield();
    for (i = 0; i < LETTER; i++)
        peer->wrong += letter[i] != ((uint64_t)round << 40 |
                                     (me + RANKS - 1) % RANKS << 8 | i);
}

static void *run(void *arg)
{
    peer_t *peer = arg;
    uint32_t me = peer->peers.rank, round, i;

    for (round = 1; round <= ROUNDS; round++) {
        data[me] = round;
        meet(peer, 2 * (uint64_t)round - 1);
        for (i = 0; i < RANKS; i++)
            peer->wrong += data[i] != round;
        for (i = 0; i < ELEMENTS; i++)
            peer->wrong += sum_up(peer, (float)(round + me + i), i, round) !=
                           (float)(RANKS * (round + i) + 3);
        pass_mail(peer, round);
        pass_letter(peer, 2 * round - 1);
        pass_letter(peer, 2 * round);
        meet(peer, 2 * (uint64_t)round);
    }
    return NULL;
}

static void peers_fill(peer_t *all)
{
    uint32_t me, r;

    for (r = 0; r < RANKS; r++)
        memory[r] = calloc(
            1, xylem_device_peers_bytes(RANKS, ELEMENTS) +
                   RANKS * xylem_device_channel_bytes(LETTER * 8, SLOTS));
    for (me = 0; me < RANKS; me++) {
        all[me] = (peer_t){.peers = {.struct_bytes = sizeof all[me].peers,
                                     .rank = me,
                                     .ranks = RANKS}};
        for (r = 0; r < RANKS; r++)
            all[me].peers.memory[r] = memory[r];
    }
}

static void test_rounds(void)
{
    peer_t all[RANKS];
    uint32_t r;

    peers_fill(all);
    for (r = 0; r < RANKS; r++)
        if (pthread_create(&all[r].thread, NULL, run, &all[r]) != 0)
            abort();
    for (r = 0; r < RANKS; r++) {
        pthread_join(all[r].thread, NULL);
        CHECK_EQ(all[r].wrong, 0);
    }
    for (r = 0; r < RANKS; r++)
        free(memory[r]);
}

static void test_nobody_comes(void)
{
    peer_t all[RANKS];
    float value = 7;
    uint32_t r;

    peers_fill(all);
    CHECK_EQ(xylem_device_peers_barrier(&all[0].peers, 1, 3),
             XYLEM_ERR_TIMED_OUT);
    CHECK_EQ(xylem_device_peers_sum(&all[0].peers, &value, 0, ELEMENTS, 1, 3),
             XYLEM_ERR_TIMED_OUT);
    CHECK(value == 7);
    for (r = 0; r < RANKS; r++)
        free(memory[r]);
}

static const check_case_t cases[] = {{"rounds", test_rounds},
                                     {"nobody comes", test_nobody_comes}};

CHECK_MAIN(cases)
