/* Ranks that sleep and are woken by flags in shared memory: processes, and the
 * driver. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "progress/engine/driver.h"
#include "progress/shm/node.h"
#include "tests/support/check.h"
#include "tests/support/shm_nodes.h"
#include "tests/support/shm_pair.h"

enum {
    WAIT_MS = 100000, /* for events that come at once, on a busy machine */
    OTHER_USER = 65534
};

/* ---- processes ---- */

static void pair_set(pair_t *pair, uint64_t value)
{
    pair->shm->ops->set(pair->shm, &pair->flags[pair->rank * 16], value,
                        &pair->other, 1);
}

static int pair_sees(pair_t *pair, uint64_t value)
{
    return xyl_shm_get(pair->shm, &pair->flags[pair->other * 16]) >= value;
}

/* Until the other's flag is there; sleeps as a rank without work does. */
static void pair_sleep(pair_t *pair, uint64_t value)
{
    struct pollfd end = {xyl_shm_node_wake_fd(pair->node), POLLIN, 0};

    while (!pair_sees(pair, value)) {
        pair->shm->ops->sleeps(pair->shm, 1);
        if (!pair_sees(pair, value) && poll(&end, 1, WAIT_MS) != 1) {
            check_failed(__FILE__, __LINE__, "nobody wakes a sleeper");
            value = 0;
        }
        pair->shm->ops->sleeps(pair->shm, 0);
    }
}

/* In turns; the one that waits sleeps. */
static void pair_play(pair_t *pair, uint64_t turns)
{
    uint64_t turn;

    for (turn = 1; turn <= turns; turn++) {
        if (turn % 2 == pair->rank)
            pair_set(pair, turn);
        else
            pair_sleep(pair, turn);
        if (turn % 50 == 0 && turn % 2 == pair->rank)
            usleep(2000); /* the other one is asleep for sure */
    }
}

static void test_processes_wake(void)
{
    pair_t pair;

    pair_begin(&pair);
    pair_play(&pair, 300);
    CHECK_EQ(pair_end(&pair), 0);
}

/* A process that has become another user may not look into others, nor into
 * itself. */
static void test_another_user_wakes(void)
{
    pair_t pair;

    if (getuid() != 0) {
        check_skip("no right to be another user");
        return;
    }
    pair_begin(&pair);
    xyl_shm_node_allow_sleep(pair.node);
    xyl_shm_node_settle(pair.node);
    must(seteuid(OTHER_USER) == 0);
    pair_play(&pair, 50);
    must(seteuid(0) == 0);
    CHECK_EQ(pair_end(&pair), 0);
}

/* Asleep in any case; the byte that wakes it does not stay. */
static void pair_sleep_once(pair_t *pair)
{
    struct pollfd end = {xyl_shm_node_wake_fd(pair->node), POLLIN, 0};

    pair->shm->ops->sleeps(pair->shm, 1);
    pair_set(pair, 4); /* the other is awake */
    CHECK_EQ(poll(&end, 1, WAIT_MS), 1);
    pair->shm->ops->sleeps(pair->shm, 0);
    CHECK_EQ(poll(&end, 1, 0), 0);
}

static void pair_await(pair_t *pair, uint64_t value)
{
    while (!pair_sees(pair, value))
        sched_yield();
}

/* A rank is killed in its sleep: waking it does no harm, whether its pipe was
 * opened before or not. */
static void killed_asleep(int is_known)
{
    pair_t pair;

    pair_begin(&pair);
    if (pair.rank == 1) {
        if (is_known)
            pair_sleep_once(&pair);
        pair.shm->ops->sleeps(pair.shm, 1);
        pair_set(&pair, check_failures() == 0 ? 5 : 6);
        kill(getpid(), SIGKILL);
    }
    if (is_known) {
        pair_await(&pair, 4);
        pair_set(&pair, 1);
    }
    pair_await(&pair, 5);
    CHECK(!pair_sees(&pair, 6));
    must(waitpid(pair.child, NULL, 0) == pair.child);
    pair_set(&pair, 2);
    pair_set(&pair, 3);
    pair.shm->ops->sleeps(pair.shm, 1);
    pair.shm->ops->sleeps(pair.shm, 0);
    xyl_shm_node_destroy(pair.node);
    close(pair.socket);
}

static void test_killed_asleep(void)
{
    killed_asleep(1);
    killed_asleep(0);
}

/* ---- the driver's sleep ---- */

enum { SLEEPS = 40 };

static xylem_status_t net_arm(xyl_net_t *net)
{
    (void)net;
    return XYLEM_OK;
}

static unsigned net_progress(xyl_net_t *net)
{
    (void)net;
    return 0;
}

static int net_wakeup_fd(xyl_net_t *net)
{
    (void)net;
    return -1;
}

static const xyl_net_ops_t net_ops = {
    .progress = net_progress, .arm = net_arm, .wakeup_fd = net_wakeup_fd};

typedef struct sleeper {
    xyl_engine_t engine;
    xyl_driver_t driver;
    xyl_shm_t *shm;
    _Atomic uint64_t *flag;
    uint64_t seen;
    uint64_t wanted;
    unsigned wakes;
} sleeper_t;

static unsigned look(void *arg)
{
    sleeper_t *sleeper = arg;
    uint64_t seen = xyl_shm_get(sleeper->shm, sleeper->flag);

    if (seen == sleeper->seen)
        return 0;
    sleeper->seen = seen;
    return 1;
}

static void count_wake(int fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    ((sleeper_t *)arg)->wakes++;
}

static int has_seen(void *arg)
{
    sleeper_t *sleeper = arg;

    return sleeper->seen >= sleeper->wanted;
}

typedef struct setter {
    xyl_shm_node_t *node;
    sleeper_t *sleeper;
} setter_t;

static void *set_to_sleeping(void *arg)
{
    static const uint32_t reader = 10;
    setter_t *setter = arg;
    xyl_shm_t *shm = xyl_shm_node_shm(setter->node);
    _Atomic uint64_t *flag = (void *)attach(setter->node, 1, BYTES);
    uint64_t i;

    for (i = 1; i <= SLEEPS; i++) {
        while (atomic_load(&setter->sleeper->engine.sleeping) == 0)
            sched_yield();
        usleep(500);
        shm->ops->set(shm, flag, i, &reader, 1);
        while (xyl_shm_get(shm, &flag[1]) != i)
            sched_yield();
    }
    return NULL;
}

static void sleeper_run(sleeper_t *sleeper, xyl_shm_node_t *node)
{
    struct event *watch = xyl_driver_watch(
        &sleeper->driver, xyl_shm_node_wake_fd(node), count_wake, sleeper);

    must(watch != NULL);
    for (sleeper->wanted = 1; sleeper->wanted <= SLEEPS; sleeper->wanted++) {
        CHECK_EQ(
            xyl_driver_wait(&sleeper->driver, has_seen, sleeper, UINT64_MAX),
            XYLEM_OK);
        sleeper->shm->ops->set(sleeper->shm, &sleeper->flag[1], sleeper->wanted,
                               NULL, 0);
    }
    xyl_driver_unwatch(watch);
}

static void test_driver_sleeps(void)
{
    static const xyl_driver_params_t params = {
        .mode = XYL_DRIVER_BLOCKING, .core = -1, .watches = 1};
    xyl_net_t net = {.ops = &net_ops};
    xyl_shm_node_t *nodes[2];
    sleeper_t *sleeper = aligned_alloc(128, sizeof *sleeper);
    setter_t setter;
    pthread_t thread;

    must(sleeper != NULL);
    memset(sleeper, 0, sizeof *sleeper);
    join_all(nodes, 2);
    xyl_engine_init(&sleeper->engine, xyl_clock_system());
    sleeper->engine.net = &net;
    sleeper->shm = sleeper->engine.shm = xyl_shm_node_shm(nodes[0]);
    sleeper->flag = (void *)attach(nodes[0], 1, BYTES);
    CHECK_EQ(
        xyl_engine_source_add(&sleeper->engine, (xyl_source_t){look, sleeper}),
        XYLEM_OK);
    must(xyl_driver_start(&sleeper->driver, &sleeper->engine, &params) ==
         XYLEM_OK);
    setter = (setter_t){nodes[1], sleeper};
    must(pthread_create(&thread, NULL, set_to_sleeping, &setter) == 0);
    sleeper_run(sleeper, nodes[0]);
    pthread_join(thread, NULL);
    CHECK(sleeper->wakes > 0);
    xyl_driver_stop(&sleeper->driver);
    destroy_all(nodes, 2);
    free(sleeper);
}

/* A flag that is set while the driver says that it goes to sleep. */

typedef struct late {
    xyl_shm_t shm; /* first */
    xyl_engine_t engine;
    xyl_driver_t driver;
    xyl_net_t net;
    uint64_t flag;
    int has_seen;
    unsigned announced, arms;
} late_t;

static void late_sleeps(xyl_shm_t *shm, int is_asleep)
{
    late_t *late = (late_t *)(void *)shm;

    late->announced += (unsigned)is_asleep;
    late->flag = 1;
}

static unsigned late_look(void *arg)
{
    late_t *late = arg;
    unsigned is_new = late->flag == 1 && !late->has_seen;

    late->has_seen |= (int)is_new;
    return is_new;
}

static int late_has_seen(void *arg)
{
    return ((late_t *)arg)->has_seen;
}

static xylem_status_t late_arm(xyl_net_t *net)
{
    late_t *late = (late_t *)(void *)((char *)net - offsetof(late_t, net));

    late->arms++;
    return XYLEM_OK;
}

static void test_driver_looks_again(void)
{
    static const xyl_shm_ops_t late_ops = {.sleeps = late_sleeps};
    static const xyl_net_ops_t late_net_ops = {
        .progress = net_progress, .arm = late_arm, .wakeup_fd = net_wakeup_fd};
    static const xyl_driver_params_t params = {.mode = XYL_DRIVER_BLOCKING,
                                               .core = -1};
    late_t *late = aligned_alloc(128, sizeof *late);

    must(late != NULL);
    memset(late, 0, sizeof *late);
    xyl_engine_init(&late->engine, xyl_clock_system());
    late->shm.ops = &late_ops;
    late->net.ops = &late_net_ops;
    late->engine.net = &late->net;
    late->engine.shm = &late->shm;
    CHECK_EQ(
        xyl_engine_source_add(&late->engine, (xyl_source_t){late_look, late}),
        XYLEM_OK);
    must(xyl_driver_start(&late->driver, &late->engine, &params) == XYLEM_OK);
    CHECK_EQ(xyl_driver_wait(&late->driver, late_has_seen, late, UINT64_MAX),
             XYLEM_OK);
    CHECK_EQ(late->announced, 1);
    CHECK_EQ(late->arms, 0);
    xyl_driver_stop(&late->driver);
    free(late);
}

static const check_case_t cases[] = {
    {"processes_wake", test_processes_wake},
    {"another_user_wakes", test_another_user_wakes},
    {"killed_asleep", test_killed_asleep},
    {"driver_sleeps", test_driver_sleeps},
    {"driver_looks_again", test_driver_looks_again},
};
CHECK_MAIN(cases)
