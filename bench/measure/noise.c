/* Noise by a POSIX timer that is set for one burst after the other. The handler
 * touches only `noise`, whose members are either constant while the timer
 * lives, used by the handler alone, or lock-free atomics that the interrupted
 * thread reads. A signal handler takes no argument of ours, which is why this
 * state is the process's.
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
/* So late, bursts are left out, lest they follow each other without end. */
static const uint64_t late_ns = UINT64_C(100000000);

static struct {
    int running;
    timer_t timer;
    struct sigaction previous;
    sim_noise_cursor_t cursor;
    uint64_t origin_ns; /* of the bursts, by noise_now_ns */
    uint64_t length_ns; /* of the burst that the timer is set for */
    _Atomic uint64_t bursts;
    _Atomic uint64_t injected_ns;
} noise;

_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2,
               "the signal handler counts with 64-bit atomics");

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * ns_per_second + (uint64_t)now.tv_nsec;
}

uint64_t noise_now_ns(void)
{
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t noise_clock_ns(void)
{
    return clock_ns(CLOCK_REALTIME);
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

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / ns_per_second),
                             .tv_nsec = (long)(ns % ns_per_second)};
}

/* Sets the timer for the coming burst, with those that touch it, if there is
 * one. 1 unless there is no timer for it. */
static int burst_plan(void)
{
    uint64_t now_ns = noise_now_ns();
    struct itimerspec times = {.it_interval = {0, 0}};
    sim_time_t begin, end;

    if (now_ns > noise.origin_ns + late_ns)
        (void)sim_noise_clear(&noise.cursor,
                              (now_ns - noise.origin_ns - late_ns) * SIM_NS);
    begin = noise.cursor.burst.begin;
    if (begin == SIM_NEVER)
        return 1;
    end = sim_noise_clear(&noise.cursor, begin);
    (void)sim_noise_clear(&noise.cursor, end); /* on to the next */
    noise.length_ns = (end - begin) / SIM_NS;
    times.it_value = to_timespec(noise.origin_ns + begin / SIM_NS);
    return timer_settime(noise.timer, TIMER_ABSTIME, &times, NULL) == 0;
}

static void burst(int signal_number)
{
    int saved_errno = errno;
    uint64_t elapsed = wait_ns(noise.length_ns);

    (void)signal_number;
    atomic_fetch_add_explicit(&noise.bursts, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&noise.injected_ns, elapsed,
                              memory_order_relaxed);
    (void)burst_plan();
    errno = saved_errno;
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

static int timer_arm(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = signal_number()};
    int error;

    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &noise.timer) != 0)
        return errno;
    if (burst_plan())
        return 0;
    error = errno;
    timer_delete(noise.timer);
    return error;
}

int noise_start(const sim_noise_t *spec, uint32_t rank, uint64_t origin_ns)
{
    int error;

    if (noise.running)
        return EBUSY;
    atomic_store_explicit(&noise.bursts, 0, memory_order_relaxed);
    atomic_store_explicit(&noise.injected_ns, 0, memory_order_relaxed);
    noise.origin_ns = origin_ns + noise_now_ns() - noise_clock_ns();
    sim_noise_cursor_init(&noise.cursor, spec, rank);
    if (noise.cursor.burst.begin == SIM_NEVER)
        return 0;
    error = handler_install();
    if (error != 0)
        return error;
    error = timer_arm();
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
