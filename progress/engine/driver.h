/* The driver: who runs the engine's turns, and how a thread without work waits.
 *
 * caller    the waiting thread runs turns and never sleeps
 * blocking  the waiting thread runs turns, and after `spin_ns` without work
 *           sleeps in libevent on the net's descriptor; at once while others
 *           want its core (crowd.h)
 * thread    a thread of its own does what a waiting thread does in blocking
 *           mode; waiting threads sleep on a condition
 *
 * The driver also watches descriptors (processes of the node) from any mode.
 */
#ifndef XYL_PROGRESS_ENGINE_DRIVER_H
#define XYL_PROGRESS_ENGINE_DRIVER_H

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
    uint64_t watch_ns; /* between looks at watched descriptors; 0: never */
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
    int may_run;      /* the thread; guarded by the lock */
    _Atomic int stop; /* partner: the thread's load in its loop */
} xyl_driver_t;

/* After the net is attached to the engine. With XYL_DRIVER_THREAD the engine
 * is owned from here on, first by whoever prepares it, then by the thread. Has
 * to be stopped after a failure, too. */
xylem_status_t xyl_driver_start(xyl_driver_t *driver, xyl_engine_t *engine,
                                const xyl_driver_params_t *params);
/* Starts the progress thread, if the mode has one; it rests until it is let
 * go, so that only one thread knows the engine until then. */
xylem_status_t xyl_driver_thread_start(xyl_driver_t *driver);
void xyl_driver_thread_let_go(xyl_driver_t *driver);
/* Ends the thread and the sleeping: from here on callers spin. For the end of a
 * context, where other things than the net are waited for. */
void xyl_driver_leave_to_caller(xyl_driver_t *driver);
/* No turn may be run afterwards. */
void xyl_driver_stop(xyl_driver_t *driver);

/* Progresses, or waits for those who do, until is_done(arg) or the time is
 * up (UINT64_MAX: no limit): XYLEM_OK or XYLEM_ERR_TIMED_OUT. */
xylem_status_t xyl_driver_wait(xyl_driver_t *driver, int (*is_done)(void *arg),
                               void *arg, uint64_t limit_ns);

/* One turn, if no other thread is at it. */
unsigned xyl_driver_turn(xyl_driver_t *driver);

/* The owner: what is_done looks at has changed. */
void xyl_driver_notify(xyl_driver_t *driver);

/* Calls `readable` on the owner's thread, between turns, when `fd` is.
 * NULL when there is no memory. */
struct event *xyl_driver_watch(xyl_driver_t *driver, int fd,
                               void (*readable)(int fd, short what, void *arg),
                               void *arg);
void xyl_driver_unwatch(struct event *watch);

#endif
