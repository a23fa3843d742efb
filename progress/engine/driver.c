#include "progress/engine/driver.h"

#include <assert.h>
#include <event2/event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "progress/shm/shm.h"
#include "runtime/base/descriptors.h"
#include "runtime/base/holder.h"
#include "runtime/base/status.h"

enum {
    SLEEP_NS_MAX = 200 * 1000 * 1000, /* the longest single sleep */
    WAIT_NS_MAX = 1000 * 1000, /* one wait for another thread's progress */
    SPIN_SHARE = 16,           /* divides spin_ns in a wait with a time limit */
    TURNS_PER_OWNING = 16, /* a waiting thread then gives up ownership once */
    YIELD_AFTER_TURNS = 2, /* idle turns; then a rank that shares its core
                              yields the core in each turn */
    /* Libevent ends the process if it lacks these free descriptors. */
    LIBEVENT_DESCRIPTORS = 8
};

/* ---- sleeping ---- */

static void wake_readable(int fd, short what, void *arg)
{
    uint64_t count;

    (void)what;
    (void)arg;
    if (read(fd, &count, sizeof count) < 0)
        return; /* an earlier turn has read the count */
}

static void driver_woken(int fd, short what, void *arg)
{
    (void)fd;
    (void)what;
    (void)arg;
}

/* Any thread; the engine's wake function. */
static void driver_wake(void *arg)
{
    xyl_driver_t *driver = arg;
    uint64_t one = 1;

    if (write(driver->wake_fd, &one, sizeof one) < 0)
        return; /* the counter is full: the sleeper is being woken already */
}

static void sleep_until_event(xyl_driver_t *driver, uint64_t limit_at_ns)
{
    uint64_t now = xyl_clock_now(driver->engine->clock);
    uint64_t at = xyl_timers_next_ns(&driver->engine->timers);
    uint64_t ns;
    struct timeval limit;

    if (at > limit_at_ns)
        at = limit_at_ns;
    ns = at <= now ? 0 : at - now;
    if (ns > SLEEP_NS_MAX)
        ns = SLEEP_NS_MAX;
    limit.tv_sec = (time_t)(ns / 1000000000u);
    limit.tv_usec = (suseconds_t)(ns % 1000000000u / 1000u);
    event_add(driver->sleep_event, &limit);
    event_base_loop(driver->base, EVLOOP_ONCE);
    event_del(driver->sleep_event);
    driver->engine->turns_to_timers = 1;
}

static void announce_sleep(xyl_engine_t *engine, int is_asleep)
{
    xyl_shm_t *shm = engine->shm;

    atomic_store(&engine->sleeping, is_asleep);
    if (shm != NULL && shm->ops->sleeps != NULL)
        shm->ops->sleeps(shm, is_asleep);
}

/* The owner has been idle. It announces its sleep, looks for work once more,
 * then sleeps. This look finds each task or flag from before the announcement;
 * a later task or flag ends the sleep. */
static void sleep_owned(xyl_driver_t *driver, uint64_t limit_at_ns)
{
    xyl_engine_t *engine = driver->engine;

    if (engine->restless != 0)
        return;
    announce_sleep(engine, 1);
    if ((engine->shm == NULL || xyl_engine_poll(engine) == 0) &&
        xyl_engine_is_idle(engine) &&
        (engine->net->ops->arm == NULL ||
         engine->net->ops->arm(engine->net) == XYLEM_OK))
        sleep_until_event(driver, limit_at_ns);
    announce_sleep(engine, 0);
}

/* ---- one thread's way of progressing ---- */

typedef struct idler {
    unsigned turns;       /* idle ones since the last work or sleep */
    uint64_t since_ns;    /* end of the first of them */
    uint64_t last_ns;     /* end of the last of them */
    uint64_t spin_ns;     /* the thread sleeps after so much idle time */
    uint64_t limit_at_ns; /* each sleep ends by then */
} idler_t;

/* The owner: one turn, then rest as the mode allows. */
static void turn_and_rest(xyl_driver_t *driver, idler_t *idler)
{
    uint64_t now;
    int is_crowded;

    if (xyl_engine_turn(driver->engine) != 0) {
        idler->turns = 0;
        return;
    }
    idler->turns++;
    if (driver->params.shares_cores && idler->turns > YIELD_AFTER_TURNS)
        sched_yield(); /* the awaited rank may need this core */
    if (driver->params.mode == XYL_DRIVER_CALLER)
        return;
    now = xyl_clock_now(driver->engine->clock);
    if (idler->turns == 1) {
        idler->since_ns = now;
        is_crowded = xyl_crowd_is_there(&driver->crowd, now);
    } else {
        is_crowded =
            xyl_crowd_see_turn(&driver->crowd, now, now - idler->last_ns);
    }
    idler->last_ns = now;
    if (is_crowded || now - idler->since_ns >= idler->spin_ns) {
        sleep_owned(driver, idler->limit_at_ns);
        idler->turns = 0;
    }
}

static void wait_for_owner(xyl_driver_t *driver, int (*is_done)(void *arg),
                           void *arg)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += WAIT_NS_MAX;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    pthread_mutex_lock(&driver->lock);
    /* Partner: the load in xyl_driver_notify. A notification that is missed
     * costs WAIT_NS_MAX at most. */
    atomic_fetch_add_explicit(&driver->waiters, 1, memory_order_acq_rel);
    if (!is_done(arg))
        pthread_cond_timedwait(&driver->changed, &driver->lock, &until);
    atomic_fetch_sub_explicit(&driver->waiters, 1, memory_order_acq_rel);
    pthread_mutex_unlock(&driver->lock);
}

void xyl_driver_notify(xyl_driver_t *driver)
{
    if (atomic_load_explicit(&driver->waiters, memory_order_acquire) == 0)
        return;
    pthread_mutex_lock(&driver->lock);
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
}

unsigned xyl_driver_turn(xyl_driver_t *driver)
{
    unsigned done;

    if (!xyl_engine_try_own(driver->engine))
        return 0;
    done = xyl_engine_turn(driver->engine);
    xyl_engine_disown(driver->engine);
    return done;
}

static xylem_status_t wait_until(xyl_driver_t *driver,
                                 int (*is_done)(void *arg), void *arg,
                                 uint64_t limit_ns)
{
    xyl_engine_t *engine = driver->engine;
    idler_t idler = {.spin_ns = driver->params.spin_ns,
                     .limit_at_ns = UINT64_MAX};
    unsigned turns;
    int owner;

    if (limit_ns != UINT64_MAX) {
        idler.limit_at_ns = xyl_clock_now(engine->clock) + limit_ns;
        if (limit_ns >= idler.spin_ns) /* a shorter wait may spin throughout */
            idler.spin_ns /= SPIN_SHARE;
    }
    while (!is_done(arg)) {
        if (limit_ns != UINT64_MAX &&
            xyl_clock_now(engine->clock) >= idler.limit_at_ns)
            return XYLEM_ERR_TIMED_OUT;
        owner = xyl_engine_try_own(engine);
        if (!owner) {
            wait_for_owner(driver, is_done, arg);
            continue;
        }
        for (turns = 0; turns < TURNS_PER_OWNING; turns++) {
            turn_and_rest(driver, &idler);
            if (is_done(arg))
                break;
        }
        xyl_engine_disown(engine);
    }
    return XYLEM_OK;
}

xylem_status_t xyl_driver_wait(xyl_driver_t *driver, int (*is_done)(void *arg),
                               void *arg, uint64_t limit_ns)
{
    xylem_status_t status = XYLEM_OK;
    int before;

    /* A cancelled thread must not end while it owns the engine. */
    if (!is_done(arg)) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        status = wait_until(driver, is_done, arg, limit_ns);
        pthread_setcancelstate(before, NULL);
    }
    if (status == XYLEM_OK)
        xyl_driver_notify(driver); /* another waiter can own the engine now */
    return status;
}

/* ---- the progress thread ---- */

static void *thread_main(void *arg)
{
    xyl_driver_t *driver = arg;
    idler_t idler = {.spin_ns = driver->params.spin_ns,
                     .limit_at_ns = UINT64_MAX};

    pthread_mutex_lock(&driver->lock);
    while (!driver->may_run)
        pthread_cond_wait(&driver->changed, &driver->lock);
    pthread_mutex_unlock(&driver->lock);
    /* This thread owns the engine, see xyl_driver_start. Partner: the store in
     * xyl_driver_leave_to_caller. */
    while (atomic_load_explicit(&driver->stop, memory_order_acquire) == 0)
        turn_and_rest(driver, &idler);
    xyl_engine_disown(driver->engine);
    return NULL;
}

xylem_status_t xyl_driver_thread_start(xyl_driver_t *driver)
{
    pthread_attr_t attributes;
    cpu_set_t cores;
    int error;

    if (driver->params.mode != XYL_DRIVER_THREAD)
        return XYLEM_OK;
    pthread_attr_init(&attributes);
    if (driver->params.core >= 0) {
        CPU_ZERO(&cores);
        CPU_SET((size_t)driver->params.core, &cores);
        pthread_attr_setaffinity_np(&attributes, sizeof cores, &cores);
    }
    error = pthread_create(&driver->thread, &attributes, thread_main, driver);
    pthread_attr_destroy(&attributes);
    if (error != 0)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "cannot start the progress thread%s",
                        driver->params.core >= 0
                            ? ": is XYLEM_PROGRESS_CORE a core of this machine?"
                            : "");
    driver->has_thread = 1;
    return XYLEM_OK;
}

void xyl_driver_thread_let_go(xyl_driver_t *driver)
{
    pthread_mutex_lock(&driver->lock);
    driver->may_run = 1;
    pthread_cond_broadcast(&driver->changed);
    pthread_mutex_unlock(&driver->lock);
}

/* ---- watched descriptors ---- */

static void watch_fire(xyl_timer_t *timer, uint64_t now_ns)
{
    xyl_driver_t *driver = XYL_HOLDER(xyl_driver_t, watch_timer, timer);

    /* A single pass: the net's descriptor may stay readable. */
    event_base_loop(driver->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
    xyl_timer_start(&driver->engine->timers, timer,
                    now_ns + driver->params.watch_ns);
}

/* NULL: no memory. */
static struct event *
event_begin(struct event_base *base, int fd,
            void (*readable)(int fd, short what, void *arg), void *arg)
{
    struct event *event =
        event_new(base, fd, EV_READ | EV_PERSIST, readable, arg);

    if (event != NULL)
        event_add(event, NULL);
    return event;
}

struct event *xyl_driver_watch(xyl_driver_t *driver, int fd,
                               void (*readable)(int fd, short what, void *arg),
                               void *arg)
{
    struct event *watch = event_begin(
        driver->base, fd, readable != NULL ? readable : driver_woken, arg);

    if (watch != NULL && !driver->watch_timer.is_running &&
        driver->params.watch_ns != 0)
        xyl_timer_start(&driver->engine->timers, &driver->watch_timer,
                        xyl_clock_now(driver->engine->clock) +
                            driver->params.watch_ns);
    return watch;
}

void xyl_driver_unwatch(struct event *watch)
{
    if (watch != NULL)
        event_free(watch);
}

/* ---- start and stop ---- */

static xylem_status_t create_events(xyl_driver_t *driver)
{
    xyl_net_t *net = driver->engine->net;
    int net_fd = -1;

    if (driver->params.mode == XYL_DRIVER_CALLER && !driver->params.watches)
        return XYLEM_OK; /* the owner never sleeps: no descriptor is needed */
    if (driver->params.mode != XYL_DRIVER_CALLER && net->ops->wakeup_fd != NULL)
        net_fd = net->ops->wakeup_fd(net);
    if (!xyl_descriptors_are_left(LIBEVENT_DESCRIPTORS))
        return XYLEM_ERR_NO_RESOURCE;
    driver->base = event_base_new();
    driver->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (driver->base == NULL || driver->wake_fd < 0)
        return XYLEM_ERR_NO_RESOURCE;
    driver->wake_event =
        event_begin(driver->base, driver->wake_fd, wake_readable, NULL);
    driver->sleep_event = event_new(driver->base, -1, 0, driver_woken, NULL);
    if (net_fd >= 0)
        driver->net_event =
            event_begin(driver->base, net_fd, driver_woken, NULL);
    return driver->wake_event != NULL && driver->sleep_event != NULL &&
                   (net_fd < 0 || driver->net_event != NULL)
               ? XYLEM_OK
               : XYLEM_ERR_NO_MEMORY;
}

static void destroy_events(xyl_driver_t *driver)
{
    xyl_driver_unwatch(driver->net_event);
    xyl_driver_unwatch(driver->sleep_event);
    xyl_driver_unwatch(driver->wake_event);
    if (driver->base != NULL)
        event_base_free(driver->base);
    if (driver->wake_fd >= 0)
        close(driver->wake_fd);
    driver->base = NULL;
}

xylem_status_t xyl_driver_start(xyl_driver_t *driver, xyl_engine_t *engine,
                                const xyl_driver_params_t *params)
{
    pthread_condattr_t monotonic;
    xylem_status_t status;

    *driver =
        (xyl_driver_t){.engine = engine, .params = *params, .wake_fd = -1};
    driver->watch_timer.fire = watch_fire;
    pthread_mutex_init(&driver->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&driver->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    status = create_events(driver);
    if (status != XYLEM_OK)
        return xyl_fail(status, "cannot create the event loop%s",
                        status == XYLEM_ERR_NO_RESOURCE
                            ? ": too few descriptors (ulimit -n)"
                            : "");
    engine->wake = driver_wake;
    engine->wake_arg = driver;
    /* Take ownership before another thread can wait: that thread would keep the
     * engine until its wait is over. */
    if (params->mode == XYL_DRIVER_THREAD) {
        int owned = xyl_engine_try_own(engine);
        assert(owned);
        (void)owned;
    }
    return XYLEM_OK;
}

void xyl_driver_leave_to_caller(xyl_driver_t *driver)
{
    if (driver->has_thread) {
        atomic_store_explicit(&driver->stop, 1, memory_order_release);
        xyl_driver_thread_let_go(driver);
        driver_wake(driver);
        pthread_join(driver->thread, NULL);
        driver->has_thread = 0;
    } else if (driver->params.mode == XYL_DRIVER_THREAD) {
        xyl_engine_disown(driver->engine);
    }
    driver->params.mode = XYL_DRIVER_CALLER;
    driver->params.shares_cores = 1;
}

void xyl_driver_stop(xyl_driver_t *driver)
{
    xyl_driver_leave_to_caller(driver);
    xyl_timer_stop(&driver->engine->timers, &driver->watch_timer);
    destroy_events(driver);
    pthread_cond_destroy(&driver->changed);
    pthread_mutex_destroy(&driver->lock);
}
