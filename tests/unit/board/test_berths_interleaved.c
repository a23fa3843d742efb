/* Tags that take berths, in random turns: each seat makes the calls of all tags
 * in an order of its own, and leaves a tag at any time, to come back for the
 * next call or not. Every call is on one berth for all seats, and a berth has
 * the same calls, in the same order, for all. */
#include "collectives/board/berths.h"
#include "tests/support/check.h"
#include "tests/support/turning_shm.h"

enum {
    SEATS_MAX = 4,
    TAGS = 5,
    CALLS = 4, /* with each */
    FREE_MAX = 3,
    SCHEDULES = 400
};

typedef struct seat {
    xyl_berth_seat_t tags[TAGS];
    uint32_t calls[TAGS];
    uint32_t had[FREE_MAX + 1]; /* pieces, by berth */
} seat_t;

static uint32_t seats, berths;
static xyl_berth_words_t words;
static plain_node_t node;
static seat_t all[SEATS_MAX];
/* The berth of each call, as the first seat has found it. */
static uint32_t berth_of_call[TAGS][CALLS];
static uint32_t history[FREE_MAX + 1][TAGS * CALLS];
static uint32_t without; /* calls that found no berth */

static void call_make(seat_t *seat, uint32_t tag)
{
    uint32_t call = seat->calls[tag]++, berth = seat->tags[tag].berth;
    uint32_t label = 1 + tag * CALLS + call, *piece;

    if (berth_of_call[tag][call] == 0)
        berth_of_call[tag][call] = berth;
    CHECK_EQ(berth, berth_of_call[tag][call]);
    if (berth == XYL_BERTH_NONE) {
        without++;
        return;
    }
    CHECK(berth >= 1 && berth <= berths);
    piece = &history[berth][seat->had[berth]++];
    if (*piece == 0)
        *piece = label;
    CHECK_EQ(label, *piece);
}

static void act(uint32_t self)
{
    plain_shm_t shm = {{.ops = &turning_ops}, &node};
    const xyl_seats_t own = {.shm = &shm.shm, .count = seats, .own = self};
    seat_t *seat = &all[self];
    uint32_t left = TAGS * CALLS;

    while (left != 0) {
        uint32_t tag = turns_below(TAGS);
        if (seat->calls[tag] == CALLS)
            continue;
        if (seat->tags[tag].berth == 0)
            xyl_berth_join(&own, &words, tag, &seat->tags[tag],
                           turns_below(16) != 0);
        call_make(seat, tag);
        left--;
        if (seat->calls[tag] == CALLS || turns_below(2) == 0)
            xyl_berth_leave(&own, &words, tag, &seat->tags[tag],
                            seat->calls[tag]);
    }
}

static uint64_t taken_by_others(uint32_t i)
{
    return i == 0 ? ~((UINT64_C(1) << berths) - 1) : UINT64_MAX;
}

static void schedule_run(uint64_t seed)
{
    uint32_t i;

    seats = 2 + (uint32_t)(seed % (SEATS_MAX - 1));
    berths = 1 + (uint32_t)(seed / 3 % FREE_MAX);
    memset(all, 0, sizeof all);
    memset(berth_of_call, 0, sizeof berth_of_call);
    memset(history, 0, sizeof history);
    for (i = 0; i < XYL_BERTHS / 64; i++)
        atomic_init(&words.taken[i], taken_by_others(i));
    for (i = 0; i < TAGS; i++)
        atomic_init(&words.tags[i], 0);
    turns_run(seats, seed, act);
    for (i = 0; i < XYL_BERTHS / 64; i++)
        CHECK_EQ(atomic_load(&words.taken[i]), taken_by_others(i));
}

static void test_any_order(void)
{
    uint64_t seed, schedules = check_cases(SCHEDULES);

    without = 0;
    for (seed = 0; seed < schedules && check_failures() == 0; seed++)
        schedule_run(seed);
    CHECK(without != 0);
}

/* A seat that has left after as many calls as the others, and comes back before
 * they have left, is not counted twice. */
static void test_back(void)
{
    plain_shm_t shm = {{.ops = &plain_ops}, &node};
    const xyl_seats_t own = {.shm = &shm.shm, .count = 2};
    xyl_berth_seat_t mine[2] = {{0}};

    memset(&words, 0, sizeof words);
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[0], 1), 1);
    xyl_berth_leave(&own, &words, 7, &mine[0], 1);
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[0], 1), 1);
    xyl_berth_leave(&own, &words, 7, &mine[0], 1);
    CHECK_EQ(atomic_load(&words.taken[0]), 1);
    /* The other has made a call more, so that this one will come back. */
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[1], 1), 1);
    xyl_berth_leave(&own, &words, 7, &mine[1], 2);
    CHECK_EQ(atomic_load(&words.taken[0]), 1);
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[0], 1), 1);
    xyl_berth_leave(&own, &words, 7, &mine[0], 2);
    CHECK_EQ(atomic_load(&words.taken[0]), 0);
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[0], 0), XYL_BERTH_NONE);
    CHECK_EQ(xyl_berth_join(&own, &words, 7, &mine[1], 1), XYL_BERTH_NONE);
}

static const check_case_t cases[] = {
    {"berths: calls in any order, in turns", test_any_order},
    {"berths: back before the others have left", test_back},
};

CHECK_MAIN(cases)
