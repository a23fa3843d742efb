/* The driver: when a thread without work goes to sleep, on a core of its own
 * and on one that others want, too. The test has its own clock and says how
 * long a turn takes. */
#include "progress/engine/driver.h"

#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

enum {
    TURN_NS = 1000,
    SPIN_NS = 1000 * 1000,
    TURNS_TO_SLEEP = SPIN_NS / TURN_NS + 1,
    GAP_NS = 3 * 1000 * 1000, /* a time slice of another thread */
    HOLD_TURNS = XYL_CROWD_HOLD_NS_MIN / TURN_NS,
    QUIET_TURNS = XYL_CROWD_QUIET_NS / TURN_NS
};

typedef struct scene {
    xyl_engine_t engine;
    xyl_driver_t driver;
    xyl_net_t net;
    uint64_t now, turns, turns_end;
    uint64_t gap_every; /* turns; 0: never */
    uint64_t sleeps;    /* that it would have begun */
} scene_t;

static scene_t *scene;

static uint64_t now_ns(void *arg)
{
    (void)arg;
    return scene->now;
}

static const xyl_clock_t test_clock = {now_ns, NULL};

static unsigned net_progress(xyl_net_t *net)
{
    (void)net;
    scene->turns++;
    scene->now += scene->gap_every != 0 && scene->turns % scene->gap_every == 0
                      ? GAP_NS
                      : TURN_NS;
    return 0;
}

/* The driver asks this before each sleep; the answer always delays the sleep.
 */
static xylem_status_t net_arm(xyl_net_t *net)
{
    (void)net;
    scene->sleeps++;
    return XYLEM_ERR_BUSY;
}

static int net_wakeup_fd(xyl_net_t *net)
{
    (void)net;
    return -1;
}

static const xyl_net_ops_t net_ops = {.name = "none",
                                      .progress = net_progress,
                                      .arm = net_arm,
                                      .wakeup_fd = net_wakeup_fd};

static void scene_begin(xyl_driver_mode_t mode, uint64_t spin_ns)
{
    const xyl_driver_params_t params = {
        .mode = mode, .spin_ns = spin_ns, .core = -1};

    scene = aligned_alloc(128, (sizeof *scene + 127) / 128 * 128);
    memset(scene, 0, sizeof *scene);
    xyl_engine_init(&scene->engine, &test_clock);
    scene->net.ops = &net_ops;
    scene->engine.net = &scene->net;
    CHECK_EQ(xyl_driver_start(&scene->driver, &scene->engine, &params),
             XYLEM_OK);
}

static void scene_end(void)
{
    xyl_driver_stop(&scene->driver);
    free(scene);
}

static int turns_are_over(void *arg)
{
    (void)arg;
    return scene->turns >= scene->turns_end;
}

/* Waits for so many turns without work; returns how often it would have
 * slept. */
static uint64_t wait_turns(uint64_t turns, uint64_t gap_every)
{
    scene->gap_every = gap_every;
    scene->turns_end = scene->turns + turns;
    scene->sleeps = 0;
    CHECK_EQ(xyl_driver_wait(&scene->driver, turns_are_over, NULL, UINT64_MAX),
             XYLEM_OK);
    return scene->sleeps;
}

static void test_quiet(void)
{
    enum { TURNS = 200 * TURNS_TO_SLEEP };

    scene_begin(XYL_DRIVER_BLOCKING, SPIN_NS);
    CHECK_EQ(wait_turns(TURNS, 0), TURNS / TURNS_TO_SLEEP);
    scene_end();
    scene_begin(XYL_DRIVER_CALLER, SPIN_NS);
    CHECK_EQ(wait_turns(TURNS, 300), 0);
    scene_end();
    scene_begin(XYL_DRIVER_BLOCKING, 0);
    CHECK_EQ(wait_turns(TURNS, 300), TURNS);
    scene_end();
}

/* Each ends one wait early, and no other. */
static void test_single_interruptions(void)
{
    enum { TURNS = 400 * TURNS_TO_SLEEP, EVERY = QUIET_TURNS + 3000 };

    scene_begin(XYL_DRIVER_BLOCKING, SPIN_NS);
    CHECK(wait_turns(TURNS, EVERY) <=
          TURNS / TURNS_TO_SLEEP + TURNS / EVERY + 1);
    scene_end();
}

static void test_crowded(void)
{
    enum { TURNS = 200000, EVERY = 300 };

    scene_begin(XYL_DRIVER_BLOCKING, SPIN_NS);
    CHECK(wait_turns((XYL_CROWD_GAPS_MAX - 1) * EVERY, EVERY) <=
          XYL_CROWD_GAPS_MAX - 1);
    CHECK(wait_turns(TURNS, EVERY) > TURNS / 10 * 9);
    scene_end();
}

/* When the others have gone it spins again, as before they came. */
static void test_quiet_again(void)
{
    enum { EVERY = 300, TURNS = 100 * TURNS_TO_SLEEP };

    scene_begin(XYL_DRIVER_BLOCKING, SPIN_NS);
    (void)wait_turns(XYL_CROWD_GAPS_MAX * EVERY, EVERY);
    CHECK(wait_turns(HOLD_TURNS - 1, 0) >= HOLD_TURNS - 2);
    (void)wait_turns(2, 0);
    CHECK_EQ(wait_turns(TURNS, 0), TURNS / TURNS_TO_SLEEP);
    CHECK(wait_turns((XYL_CROWD_GAPS_MAX - 1) * EVERY, EVERY) <=
          XYL_CROWD_GAPS_MAX - 1);
    scene_end();
}

/* A core that is crowded at each try is tried less often. */
static void test_tries_less_often(void)
{
    enum { EVERY = 300 };
    uint64_t hold = 0, i;

    scene_begin(XYL_DRIVER_BLOCKING, SPIN_NS);
    (void)wait_turns(XYL_CROWD_GAPS_MAX * EVERY, EVERY);
    for (i = 0; i < 10; i++) {
        CHECK(scene->driver.crowd.hold_ns >= hold);
        hold = scene->driver.crowd.hold_ns;
        CHECK(xyl_crowd_is_there(&scene->driver.crowd, scene->now));
        scene->now = scene->driver.crowd.until_ns;
        (void)wait_turns(EVERY, EVERY);
    }
    CHECK_EQ(hold, XYL_CROWD_HOLD_NS_MAX);
    scene_end();
}

static const check_case_t cases[] = {
    {"driver: a core of its own", test_quiet},
    {"driver: single interruptions", test_single_interruptions},
    {"driver: others want its core", test_crowded},
    {"driver: the others have gone", test_quiet_again},
    {"driver: others stay", test_tries_less_often},
};

CHECK_MAIN(cases)
