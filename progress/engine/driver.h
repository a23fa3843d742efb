/* The driver runs the engine's turns on a thread, and makes a thread without
 * work wait. It has three modes:
 *
 * caller    the waiting thread runs turns and never sleeps
 * blocking  the waiting thread runs turns, and after `spin_ns` without work
 *           sleeps in libevent on the net's descriptor; it sleeps at once on a
 *           crowded core (crowd.h)
 * thread    the progress thread does what a waiting thread does in blocking
 *           mode; waiting threads sleep on a condition
 *
 * In every mode the driver also watches descriptors (processes of the node). */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "progress/engine/crowd.h"
#include "progress/engine/engine.h"

struct event;
struct event_base;

typedef enum xyl_driver_mode {
    XYL_DRIVER_CALLER,
    XYL_DRIVER_BLOCKING,
    XYL_DRIVER_THREAD
} xyl_driver_mode_t;

typedef struct xyl_driver_params {
    xyl_driver_mode_t mode;
    uint64_t spin_ns;  /* without work before going to sleep */
    uint64_t watch_ns; /* from one look at descriptors to the next; 0: never */
    int core;          /* of the progress thread; -1: any */
    int shares_cores;  /* there are more ranks than cores */
    int watches;       /* xyl_driver_watch will be called */
} xyl_driver_params_t;

typedef struct xyl_driver {
    xyl_engine_t *engine;
    xyl_driver_params_t params;
    struct event_base *base;
    struct event *net_event;
    struct event *wake_event;
    struct event *sleep_event; /* ends a sleep in time for the next timer */
    int wake_fd;
    xyl_crowd_t crowd; /* the engine's owner */
    xyl_timer_t watch_timer;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something completed, or ownership is free */
    _Atomic unsigned waiters;
    pthread_t thread;
    int has_thread;
    int may_run;      /* the thread may begin; guarded by the lock */
    _Atomic int stop; /* partner: the thread's load in its loop */
} xyl_driver_t;

/* Called when the net is attached to the engine. With XYL_DRIVER_THREAD the
 * engine is owned from here on, by the calling thread until the progress thread
 * begins. A driver that has failed to start must be stopped, too. */
xylem_status_t xyl_driver_start(xyl_driver_t *driver, xyl_engine_t *engine,
                                const xyl_driver_params_t *params);
/* Starts the progress thread, if the mode has one. The thread touches nothing
 * of the engine before xyl_driver_thread_let_go. */
xylem_status_t xyl_driver_thread_start(xyl_driver_t *driver);
void xyl_driver_thread_let_go(xyl_driver_t *driver);
/* Ends the progress thread; from here on waiting threads spin and never sleep.
 * For the end of a context, where threads also wait for things that end no
 * sleep. */
void xyl_driver_leave_to_caller(xyl_driver_t *driver);
/* No thread may run a turn afterwards. */
void xyl_driver_stop(xyl_driver_t *driver);

/* Runs turns, or waits for the thread that runs them, until is_done(arg) or
 * the time is up (UINT64_MAX: no limit): XYLEM_OK or XYLEM_ERR_TIMED_OUT. */
xylem_status_t xyl_driver_wait(xyl_driver_t *driver, int (*is_done)(void *arg),
                               void *arg, uint64_t limit_ns);

/* Runs one turn if no other thread owns the engine; returns the number of
 * things done. */
unsigned xyl_driver_turn(xyl_driver_t *driver);

/* Wakes waiting threads, so that they call their is_done again. Any thread. */
void xyl_driver_notify(xyl_driver_t *driver);

/* Calls `readable` on the owner's thread, outside handlers of events, when `fd`
 * is readable; `readable` NULL: only ends a sleep. NULL: there is no memory. */
struct event *xyl_driver_watch(xyl_driver_t *driver, int fd,
                               void (*readable)(int fd, short what, void *arg),
                               void *arg);
void xyl_driver_unwatch(struct event *watch);
