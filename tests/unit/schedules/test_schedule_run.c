/* The interpreter of schedules finds mistakes: each case is a schedule with one
 * mistake, beside the same one without it. */
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/schedule_run.h"

enum { COUNT = 4, ELEMENT_BYTES = 8, MEMORY_COUNT = 2 * COUNT };

static const xyl_position_t from = {XYL_BUFFER_SEND, 0, 0};
static const xyl_position_t to = {XYL_BUFFER_RECV, 0, 0};

/* Two ranks, each with a SEND and a RECV of COUNT elements. */
typedef struct pair {
    schedule_run_t run;
    xyl_schedule_t *schedules[2];
} pair_t;

static void pair_init(pair_t *pair)
{
    uint32_t i;

    schedule_run_init(&pair->run, 2, ELEMENT_BYTES);
    for (i = 0; i < 2; i++) {
        schedule_run_place(&pair->run, i, MEMORY_COUNT);
        schedule_run_buffer(&pair->run, i, XYL_BUFFER_SEND, 0, COUNT);
        schedule_run_buffer(&pair->run, i, XYL_BUFFER_RECV, COUNT, COUNT);
        pair->schedules[i] = &pair->run.all[i].schedule;
    }
}

static int pair_go(pair_t *pair, unsigned rendezvous_percent)
{
    schedule_run_options_t options = {.seed = 1,
                                      .rendezvous_percent = rendezvous_percent,
                                      .late_rank = SCHEDULE_RUN_NOBODY};

    return schedule_run_check(&pair->run) &&
           schedule_run_go(&pair->run, &options);
}

/* `mistake` NULL: there is none. */
static void pair_expect(pair_t *pair, const char *mistake)
{
    int is_good = pair_go(pair, 100);

    CHECK_EQ(is_good, mistake == NULL);
    CHECK(strstr(pair->run.mistake, mistake == NULL ? "" : mistake) != NULL);
    if (strstr(pair->run.mistake, mistake == NULL ? "" : mistake) == NULL)
        check_failed(__FILE__, __LINE__, pair->run.mistake);
    schedule_run_fini(&pair->run);
}

static void exchanges(void)
{
    pair_t pair;
    uint32_t i;
    int round;

    pair_init(&pair);
    for (i = 0; i < 2; i++) {
        xyl_schedule_send(pair.schedules[i], 1 - i, 0, from, COUNT,
                          XYL_ACTION_NONE);
        xyl_schedule_recv(pair.schedules[i], 1 - i, 0, to, COUNT,
                          XYL_ACTION_NONE);
        memset(pair.run.all[i].memory, (int)i + 1,
               COUNT * (size_t)ELEMENT_BYTES);
    }
    CHECK(pair_go(&pair, 100));
    for (i = 0; i < 2; i++)
        for (round = 0; round < COUNT * ELEMENT_BYTES; round++)
            CHECK_EQ(pair.run.all[i].base[XYL_BUFFER_RECV][round], 2 - i);
    CHECK_EQ(pair.run.messages_done, 2);
    CHECK_EQ(pair.run.elements_done, 2 * COUNT);
    schedule_run_fini(&pair.run);
}

/* Each sends before it receives: good only for sends that need no receiver. */
static void rendezvous(void)
{
    unsigned percent;
    xyl_action_t send;
    pair_t pair;
    uint32_t i;

    for (percent = 0; percent <= 100; percent += 100) {
        pair_init(&pair);
        for (i = 0; i < 2; i++) {
            send = xyl_schedule_send(pair.schedules[i], 1 - i, 0, from, COUNT,
                                     XYL_ACTION_NONE);
            xyl_schedule_recv(pair.schedules[i], 1 - i, 0, to, COUNT, send);
        }
        CHECK_EQ(pair_go(&pair, percent), percent == 0);
        if (percent != 0)
            CHECK(strstr(pair.run.mistake, "never finish") != NULL);
        schedule_run_fini(&pair.run);
    }
}

/* One rank posts its two receives in the other order than its partner sends,
 * one at a time. */
static void limits(void)
{
    pair_t pair;
    uint32_t i, k;

    for (k = 0; k < 2; k++) {
        pair_init(&pair);
        for (i = 0; i < 2; i++) {
            xyl_schedule_send(pair.schedules[0], 1, i, from, 1,
                              XYL_ACTION_NONE);
            xyl_schedule_recv(pair.schedules[1], 0, i ^ k,
                              xyl_position_plus(to, i), 1, XYL_ACTION_NONE);
        }
        pair.schedules[0]->flight_max = pair.schedules[1]->flight_max = 1;
        pair_expect(&pair, k == 0 ? NULL : "never finish");
    }
}

static void counterparts(void)
{
    static const char *const mistakes[] = {"nobody receives", "nothing comes",
                                           "two sends", "two receives",
                                           "are awaited"};
    pair_t pair;
    uint32_t i;

    for (i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
        pair_init(&pair);
        if (i != 1)
            xyl_schedule_send(pair.schedules[0], 1, 0, from, COUNT,
                              XYL_ACTION_NONE);
        if (i == 2)
            xyl_schedule_send(pair.schedules[0], 1, 0, from, COUNT,
                              XYL_ACTION_NONE);
        if (i != 0)
            xyl_schedule_recv(pair.schedules[1], 0, 0, to,
                              i == 4 ? COUNT - 1 : COUNT, XYL_ACTION_NONE);
        if (i == 3)
            xyl_schedule_recv(pair.schedules[1], 0, 0,
                              xyl_schedule_temp(pair.schedules[1], COUNT),
                              COUNT, XYL_ACTION_NONE);
        pair_expect(&pair, mistakes[i]);
    }
}

static void pieces(void)
{
    pair_t pair;

    pair_init(&pair);
    xyl_schedule_copy(pair.schedules[0], xyl_position_plus(to, 1), from, COUNT,
                      XYL_ACTION_NONE);
    pair_expect(&pair, "touches RECV");
    pair_init(&pair);
    xyl_schedule_copy(pair.schedules[1], from, to, 1, XYL_ACTION_NONE);
    pair_expect(&pair, "writes to SEND");
    pair_init(&pair);
    xyl_schedule_copy(pair.schedules[1], to, xyl_position_plus(to, 1), 2,
                      XYL_ACTION_NONE);
    pair_expect(&pair, "overlap");
}

/* Writes one after the other, then a read: actions that are ordered only
 * through others are ordered. */
static void hazards(void)
{
    xyl_action_t first, second, read;
    pair_t pair;
    int k;

    for (k = 0; k < 3; k++) {
        pair_init(&pair);
        first =
            xyl_schedule_copy(pair.schedules[0], to, from, 2, XYL_ACTION_NONE);
        second = xyl_schedule_copy(pair.schedules[0], xyl_position_plus(to, 1),
                                   from, 2, k == 1 ? XYL_ACTION_NONE : first);
        read = xyl_schedule_send(pair.schedules[0], 1, 0, to, COUNT,
                                 k == 2 ? first : second);
        CHECK(read != XYL_ACTION_NONE);
        xyl_schedule_recv(pair.schedules[1], 0, 0, to, COUNT, XYL_ACTION_NONE);
        pair_expect(&pair, k == 0 ? NULL : "hazard");
    }
}

/* Two copies to places beside each other, or to the same; the second waits for
 * the first, directly or through one that does nothing. */
static void waits(void)
{
    xyl_action_t first;
    pair_t pair;
    uint32_t k;

    for (k = 0; k < 4; k++) {
        pair_init(&pair);
        first =
            xyl_schedule_copy(pair.schedules[0], to, from, 2, XYL_ACTION_NONE);
        if (k / 2 != 0)
            first = xyl_schedule_nothing(pair.schedules[0], first);
        xyl_schedule_copy(pair.schedules[0], xyl_position_plus(to, k % 2 + 1),
                          from, 2, first);
        CHECK(schedule_run_check(&pair.run));
        CHECK_EQ(schedule_run_check_waits(&pair.run), k % 2 == 0);
        schedule_run_fini(&pair.run);
    }
}

/* Without the other's message the early one is done, with it, not. */
static void latecomers(void)
{
    schedule_run_options_t options = {.rendezvous_percent = 0, .late_rank = 1};
    pair_t pair;
    uint32_t k;

    for (k = 0; k < 2; k++) {
        pair_init(&pair);
        xyl_schedule_send(pair.schedules[k], 1 - k, 0, from, COUNT,
                          XYL_ACTION_NONE);
        xyl_schedule_recv(pair.schedules[1 - k], k, 0, to, COUNT,
                          XYL_ACTION_NONE);
        CHECK(schedule_run_check(&pair.run));
        CHECK(schedule_run_go(&pair.run, &options));
        CHECK_EQ(pair.run.early_ranks, 1 - k);
        schedule_run_fini(&pair.run);
    }
}

static const check_case_t cases[] = {
    {"exchanges", exchanges}, {"rendezvous", rendezvous},
    {"limits", limits},       {"counterparts", counterparts},
    {"pieces", pieces},       {"hazards", hazards},
    {"waits", waits},         {"latecomers", latecomers},
};

CHECK_MAIN(cases)
