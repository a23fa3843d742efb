/* Messages of a channel whose words carry their round. Of two sides that send
 * to each other one runs at a time; before each access to shared memory chance
 * decides which. No word of another round is taken, and no slot is written
 * before it has been read. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/turns.h"

#define XYLEM_DEVICE_STEP_() ((void)turns_pass())
#include "include/xylem_device.h"

enum { SIDES = 2, LINES = 5, BYTES = 8 * LINES, ROUNDS = 9, SCHEDULES = 400 };

static _Alignas(16) char memory[SIDES][16 * (1 + 4 * LINES)];
static uint32_t slots;

static uint64_t word_of(uint32_t side, uint32_t round, uint32_t i)
{
    return (uint64_t)side << 60 | (uint64_t)round << 36 | (uint64_t)i << 16 |
           round;
}

/* A side of its own sends, the other gets, as far as chance has it. */
static void act(uint32_t self)
{
    uint32_t side = self % SIDES, is_sender = self < SIDES, round, i;
    xylem_device_peers_t peers = {.rank = side, .ranks = SIDES};
    xylem_device_channel_t channel;
    uint64_t words[LINES];
    int status;

    peers.memory[0] = memory[0];
    peers.memory[1] = memory[1];
    channel = xylem_device_channel_to(&peers, 1 - side, 0, BYTES, slots);
    for (round = 1; round <= ROUNDS; round++) {
        uint32_t bytes = BYTES - 8 * (round % 3);
        for (i = 0; i < LINES; i++)
            words[i] = word_of(side, round, i);
        do
            status = is_sender
                         ? xylem_device_channel_put(&channel, words, bytes,
                                                    round, turns_below(3))
                         : xylem_device_channel_get(&channel, words, bytes,
                                                    round, turns_below(3));
        while (status == XYLEM_ERR_TIMED_OUT);
        CHECK_EQ(status, XYLEM_OK);
        for (i = 0; i < bytes / 8 && !is_sender; i++)
            CHECK_EQ(words[i], word_of(1 - side, round, i));
    }
}

static void test_schedules(void)
{
    uint32_t schedule;

    for (schedule = 0; schedule < check_cases(SCHEDULES); schedule++) {
        slots = 1u << schedule % 3;
        CHECK(xylem_device_channel_bytes(BYTES, slots) <= sizeof memory[0]);
        memset(memory, 0, sizeof memory);
        turns_run(2 * SIDES, schedule, act);
    }
}

static void test_bounded(void)
{
    xylem_device_peers_t peers = {.ranks = SIDES};
    xylem_device_channel_t channel;
    uint64_t word = 7;

    memset(memory, 0, sizeof memory);
    peers.memory[0] = memory[0];
    peers.memory[1] = memory[1];
    channel = xylem_device_channel_to(&peers, 1, 0, 8, 2);
    CHECK_EQ(xylem_device_channel_put(&channel, &word, 8, 1, 0), XYLEM_OK);
    CHECK_EQ(xylem_device_channel_put(&channel, &word, 8, 2, 0), XYLEM_OK);
    CHECK_EQ(xylem_device_channel_put(&channel, &word, 8, 3, 5),
             XYLEM_ERR_TIMED_OUT);
    CHECK_EQ(xylem_device_channel_get(&channel, &word, 8, 1, 5),
             XYLEM_ERR_TIMED_OUT);
}

static void test_no_slots(void)
{
    xylem_device_peers_t peers = {.ranks = SIDES};
    xylem_device_channel_t channel;
    uint64_t word = 7;

    memset(memory, 0, sizeof memory);
    peers.memory[0] = memory[0];
    peers.memory[1] = memory[1];
    channel = xylem_device_channel_to(&peers, 1, 0, 8, 0);
    CHECK_EQ(xylem_device_channel_put(&channel, &word, 8, 1, 5),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_device_channel_block_put(&channel, &word, 8, 1, 5),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_device_channel_get(&channel, &word, 8, 1, 5),
             XYLEM_ERR_INVALID_ARG);
    CHECK_EQ(xylem_device_channel_block_get(&channel, &word, 8, 1, 5),
             XYLEM_ERR_INVALID_ARG);
}

static const check_case_t cases[] = {{"schedules", test_schedules},
                                     {"bounded", test_bounded},
                                     {"no slots", test_no_slots}};

CHECK_MAIN(cases)
