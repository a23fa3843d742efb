/* Noise by a POSIX timer. The handler touches only `noise`, whose members are
 * either constant while the timer lives, used by the handler alone, or lock-
 * free atomics that the interrupted thread reads. A signal handler takes no
 * argument of ours, which is why this state is the process's.
 */
#include "bench/measure/noise.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { SIGNAL_ABOVE_RTMIN = 5 };

static const uint64_t ns_per_second = UINT64_C(1000000000);

static struct {
    int running;
    timer_t timer;
    struct sigaction previous;
    uint64_t max_ns;
    uint64_t random; /* state of the generator */
    _Atomic uint64_t bursts;
    _Atomic uint64_t injected_ns;
} noise;

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2,
               "the signal handler counts with 64-bit atomics");

uint64_t noise_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * ns_per_second + (uint64_t)now.tv_nsec;
}

static uint64_t wait_ns(uint64_t ns)
{
    uint64_t begin = noise_now_ns();
    uint64_t elapsed = 0;

    while (elapsed < ns)
        elapsed = noise_now_ns() - begin;
    return elapsed;
}

void noise_delay_us(double us)
{
    if (us > 0)
        (void)wait_ns((uint64_t)(us * 1e3));
}

/* SplitMix64: one addition and a mixing function, equally good from any
 * state. */
static uint64_t random_next(void)
{
    uint64_t mixed;

    noise.random += UINT64_C(0x9e3779b97f4a7c15);
    mixed = noise.random;
    mixed = (mixed ^ (mixed >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    mixed = (mixed ^ (mixed >> 27)) * UINT64_C(0x94d049bb133111eb);
    return mixed ^ (mixed >> 31);
}

/* Uniform in [0, limit). */
static uint64_t random_below(uint64_t limit)
{
    double unit = (double)(random_next() >> 11) / 9007199254740992.0;

    return (uint64_t)(unit * (double)limit);
}

static void burst(int signal_number)
{
    int saved_errno = errno;
    uint64_t elapsed = wait_ns(random_below(noise.max_ns));

    (void)signal_number;
    atomic_fetch_add_explicit(&noise.bursts, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&noise.injected_ns, elapsed,
                              memory_order_relaxed);
    errno = saved_errno;
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / ns_per_second),
                             .tv_nsec = (long)(ns % ns_per_second)};
}

static int signal_number(void)
{
    return SIGRTMIN + SIGNAL_ABOVE_RTMIN;
}

static int handler_install(void)
{
    struct sigaction action = {.sa_handler = burst, .sa_flags = SA_RESTART};
    sigset_t set;

    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number(), &action, &noise.previous) != 0)
        return errno;
    sigemptyset(&set);
    sigaddset(&set, signal_number());
    return pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static int timer_arm(double hz)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = signal_number()};
    uint64_t period_ns = (uint64_t)((double)ns_per_second / hz);
    struct itimerspec times = {.it_interval = to_timespec(period_ns)};
    int error;

    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &noise.timer) != 0)
        return errno;
    /* Ranks start together; their noise must not. 0 would disarm. */
    times.it_value = to_timespec(1 + random_below(period_ns));
    if (timer_settime(noise.timer, 0, &times, NULL) == 0)
        return 0;
    error = errno;
    timer_delete(noise.timer);
    return error;
}

int noise_start(const struct noise_spec *spec)
{
    int error;

    if (noise.running)
        return EBUSY;
    atomic_store_explicit(&noise.bursts, 0, memory_order_relaxed);
    atomic_store_explicit(&noise.injected_ns, 0, memory_order_relaxed);
    if (spec->hz <= 0 || spec->max_ms <= 0)
        return 0;
    noise.max_ns = (uint64_t)(spec->max_ms * 1e6);
    noise.random = spec->seed ^ ((uint64_t)(spec->rank + 1) << 32);
    (void)random_next();
    error = handler_install();
    if (error != 0)
        return error;
    error = timer_arm(spec->hz);
    if (error != 0) {
        sigaction(signal_number(), &noise.previous, NULL);
        return error;
    }
    noise.running = 1;
    return 0;
}

struct noise_total noise_read(void)
{
    return (struct noise_total){
        .bursts = atomic_load_explicit(&noise.bursts, memory_order_relaxed),
        .injected_ns =
            atomic_load_explicit(&noise.injected_ns, memory_order_relaxed)};
}

void noise_stop(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    if (!noise.running)
        return;
    timer_delete(noise.timer);
    /* Ignoring the signal drops one that is pending; restoring the previous
     * action first would let it kill the process. */
    sigaction(signal_number(), &ignore, NULL);
    sigaction(signal_number(), &noise.previous, NULL);
    noise.running = 0;
}
