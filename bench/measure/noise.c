/* Noise, one burst after the other. By a signal: a POSIX timer is set for each
 * burst, and the signal's handler keeps the thread busy. By a thread: a second
 * thread sleeps until the burst begins, and then takes the core of the thread
 * that it holds up.
 *
 * The handler, or that thread, touches only `noise`. Members of `noise` are
 * constant while the noise lasts, or used by the handler or the thread alone,
 * or lock-free atomics that others read. The state is one per process, as a
 * signal handler takes no argument.
 */
#include "bench/measure/noise.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum {
    SIGNAL_ABOVE_RTMIN = 5,
    COST_TRIALS = 33,
    PATH_BYTES = 64,
    STAT_BYTES = 512,
    STAT_CPU = 39 /* the word of a thread's stat with its last core */
};

static const uint64_t ns_per_second = UINT64_C(1000000000);
/* So late, bursts are left out, lest they follow each other without end. */
static const uint64_t late_ns = UINT64_C(100000000);
/* Two looks at the clock lie no further apart unless something else has run. */
static const uint64_t look_ns = UINT64_C(2000);

static struct {
    int running;
    enum noise_way way;
    int is_real_time; /* the thread goes before all others of its core */
    sim_noise_cursor_t cursor;
    uint64_t origin_ns; /* of the bursts, by noise_now_ns */
    uint64_t begin_ns;  /* of the noise */
    uint64_t length_ns; /* of the coming burst */
    /* By signals. */
    timer_t timer;
    struct sigaction previous;
    uint64_t cost_ns; /* of a burst without length */
    /* By a thread. */
    pthread_t thread;
    pid_t victim;
    cpu_set_t cores; /* the victim's */
    sem_t stop;
    /* What has been injected. */
    _Atomic uint64_t bursts;
    _Atomic uint64_t asked_ns;
    _Atomic uint64_t injected_ns;
    _Atomic uint64_t others_ns;
    struct noise_burst *log; /* NULL: none is kept */
    size_t log_room;
    uint64_t logged_ns; /* the end of the last one in the log */
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

void noise_delay_us(double us)
{
    uint64_t begin_ns;

    if (us <= 0) /* nor does asking the clock take any time */
        return;
    begin_ns = noise_now_ns();
    while ((double)(noise_now_ns() - begin_ns) < us * 1e3)
        ;
}

static struct timespec to_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / ns_per_second),
                             .tv_nsec = (long)(ns % ns_per_second)};
}

/* ---- bursts ---- */

/* Goes on to the coming burst, joined with those that touch it. Returns when it
 * begins; 0: there is no further burst. */
static uint64_t burst_next(void)
{
    uint64_t past_ns = noise_now_ns() - noise.origin_ns; /* modulo 2^64 */
    sim_time_t begin, end;

    if ((int64_t)past_ns > (int64_t)late_ns)
        (void)sim_noise_clear(&noise.cursor, (past_ns - late_ns) * SIM_NS);
    begin = noise.cursor.burst.begin;
    if (begin == SIM_NEVER)
        return 0;
    end = sim_noise_clear(&noise.cursor, begin);
    (void)sim_noise_clear(&noise.cursor, end); /* on to the next */
    noise.length_ns = (end - begin) / SIM_NS;
    return noise.origin_ns + begin / SIM_NS;
}

static void burst_count(uint64_t asked_ns, uint64_t begin_ns, uint64_t taken_ns)
{
    uint64_t count =
        atomic_fetch_add_explicit(&noise.bursts, 1, memory_order_relaxed);

    atomic_fetch_add_explicit(&noise.asked_ns, asked_ns, memory_order_relaxed);
    atomic_fetch_add_explicit(&noise.injected_ns, taken_ns,
                              memory_order_relaxed);
    if (count >= noise.log_room)
        return;
    begin_ns -= noise.begin_ns;
    if (begin_ns < noise.logged_ns)
        begin_ns = noise.logged_ns; /* a guess at what went before it */
    noise.logged_ns = begin_ns + taken_ns;
    noise.log[count] = (struct noise_burst){begin_ns, taken_ns};
}

struct noise_total noise_read(void)
{
    return (struct noise_total){
        .bursts = atomic_load_explicit(&noise.bursts, memory_order_relaxed),
        .asked_ns = atomic_load_explicit(&noise.asked_ns, memory_order_relaxed),
        .injected_ns =
            atomic_load_explicit(&noise.injected_ns, memory_order_relaxed),
        .others_ns =
            atomic_load_explicit(&noise.others_ns, memory_order_relaxed)};
}

int noise_log_keep(size_t room)
{
    noise.log = calloc(room, sizeof *noise.log);
    noise.log_room = noise.log != NULL ? room : 0;
    return noise.log != NULL;
}

const struct noise_burst *noise_log(size_t *count_out)
{
    uint64_t count = noise_read().bursts;

    *count_out = count < noise.log_room ? count : noise.log_room;
    return noise.log;
}

const char *noise_way_text(void)
{
    return noise.way == NOISE_BY_SIGNAL ? "signal"
           : noise.is_real_time         ? "thread-fifo"
                                        : "thread";
}

/* ---- by signals ---- */

/* Sets the timer for the coming burst, if there is one. 1 unless there is no
 * timer for it. */
static int timer_set(void)
{
    struct itimerspec times = {.it_interval = {0, 0}};
    uint64_t begin_ns = burst_next();

    if (begin_ns == 0)
        return 1;
    times.it_value = to_timespec(begin_ns);
    return timer_settime(noise.timer, TIMER_ABSTIME, &times, NULL) == 0;
}

/* Leaves out the bursts that have begun by now: their time was others'. Else
 * the thread would go from one late burst to the next, and never on. */
static void bursts_pass(void)
{
    uint64_t past_ns = noise_now_ns() - noise.origin_ns; /* modulo 2^64 */

    if ((int64_t)past_ns > 0)
        (void)sim_noise_clear(&noise.cursor,
                              sim_noise_clear(&noise.cursor, past_ns * SIM_NS));
}

/* How much of a burst was injected that ended after `taken_ns`: where something
 * else ran beyond its end, which was less than that after `before_ns`, the rest
 * is the machine's own noise, which would have come without the burst, too. */
static uint64_t injected_of(uint64_t asked_ns, uint64_t before_ns,
                            uint64_t taken_ns)
{
    uint64_t least_ns = asked_ns > before_ns ? asked_ns : before_ns;

    return taken_ns - least_ns > look_ns ? least_ns : taken_ns;
}

/* All that the signal costs the thread is a part of the burst. */
static void burst(int signal_number)
{
    int saved_errno = errno;
    uint64_t begin_ns = noise_now_ns(), asked_ns = noise.length_ns;
    uint64_t taken_ns = noise.cost_ns, before_ns, injected_ns;

    (void)signal_number;
    do {
        before_ns = taken_ns;
        taken_ns = noise_now_ns() - begin_ns + noise.cost_ns;
    } while (taken_ns < asked_ns);
    injected_ns = injected_of(asked_ns, before_ns, taken_ns);
    if (injected_ns < taken_ns)
        bursts_pass();
    (void)timer_set();
    atomic_fetch_add_explicit(&noise.others_ns, taken_ns - injected_ns,
                              memory_order_relaxed);
    burst_count(asked_ns, begin_ns - noise.cost_ns, injected_ns);
    errno = saved_errno;
}

static void burst_empty(int signal_number)
{
    (void)signal_number;
}

static int signal_number(void)
{
    return SIGRTMIN + SIGNAL_ABOVE_RTMIN;
}

static int compare_times(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return (a > b) - (a < b);
}

/* The cost of a signal without its handler's work: the median of some. */
static uint64_t cost_measure(void)
{
    uint64_t times[COST_TRIALS];
    size_t i;

    for (i = 0; i < COST_TRIALS; i++) {
        times[i] = noise_now_ns();
        (void)raise(signal_number());
        times[i] = noise_now_ns() - times[i];
    }
    qsort(times, COST_TRIALS, sizeof *times, compare_times);
    return times[COST_TRIALS / 2];
}

static int handler_install(void)
{
    struct sigaction action = {.sa_handler = burst_empty,
                               .sa_flags = SA_RESTART};
    sigset_t set;
    int error;

    sigemptyset(&action.sa_mask);
    if (sigaction(signal_number(), &action, &noise.previous) != 0)
        return errno;
    sigemptyset(&set);
    sigaddset(&set, signal_number());
    error = pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (error != 0)
        return error;
    noise.cost_ns = cost_measure();
    action.sa_handler = burst;
    return sigaction(signal_number(), &action, NULL) == 0 ? 0 : errno;
}

static int timer_arm(void)
{
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID,
                             .sigev_signo = signal_number()};
    int error;

    event.sigev_notify_thread_id = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &noise.timer) != 0)
        return errno;
    if (timer_set())
        return 0;
    error = errno;
    timer_delete(noise.timer);
    return error;
}

static int signals_start(void)
{
    int error = handler_install();

    if (error != 0)
        return error;
    error = timer_arm();
    if (error != 0)
        sigaction(signal_number(), &noise.previous, NULL);
    return error;
}

static void signals_stop(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};

    timer_delete(noise.timer);
    /* Ignoring the signal drops one that is pending; restoring the previous
     * action first would let it kill the process. */
    sigaction(signal_number(), &ignore, NULL);
    sigaction(signal_number(), &noise.previous, NULL);
}

/* ---- by a thread ---- */

/* The core on which the victim ran last; -1: the system does not tell. */
static int victim_core(void)
{
    char path[PATH_BYTES], text[STAT_BYTES];
    const char *word = NULL;
    FILE *file;
    int i;

    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)noise.victim);
    file = fopen(path, "re");
    if (file == NULL)
        return -1;
    if (fgets(text, sizeof text, file) != NULL)
        word = strrchr(text, ')'); /* ends the second word, a name */
    fclose(file);
    for (i = 2; i < STAT_CPU && word != NULL; i++)
        word = strchr(word + 1, ' ');
    return word != NULL ? (int)strtol(word, NULL, 10) : -1;
}

/* Goes to the core of a victim that may run on several. */
static void victim_follow(void)
{
    int core = victim_core();
    cpu_set_t set;

    if (core < 0 || core >= CPU_SETSIZE)
        return;
    CPU_ZERO(&set);
    CPU_SET((size_t)core, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* Takes the core for the length of the burst. Counts the time that the thread
 * has run, which is less than the time that has passed if others share the
 * core. */
static void burst_compete(uint64_t asked_ns)
{
    uint64_t begin_ns, first_ns, taken_ns = 0;

    if (CPU_COUNT(&noise.cores) > 1)
        victim_follow();
    begin_ns = noise_now_ns();
    first_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    while (taken_ns < asked_ns)
        taken_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - first_ns;
    burst_count(asked_ns, begin_ns, taken_ns);
}

static void *competitor(void *arg)
{
    uint64_t begin_ns;

    (void)arg;
    (void)sched_setaffinity(0, sizeof noise.cores, &noise.cores);
    while ((begin_ns = burst_next()) != 0) {
        struct timespec begin = to_timespec(begin_ns);
        int stopped;

        do
            stopped = sem_clockwait(&noise.stop, CLOCK_MONOTONIC, &begin) == 0;
        while (!stopped && errno == EINTR);
        if (stopped)
            break;
        burst_compete(noise.length_ns);
    }
    return NULL;
}

/* Starts the thread in real time, so that the victim does not run beside it; if
 * that is not allowed, as an ordinary thread. */
static int thread_start(void)
{
    struct sched_param first = {.sched_priority =
                                    sched_get_priority_min(SCHED_FIFO)};
    pthread_attr_t attributes;
    sigset_t all, before;
    int error;

    noise.victim = gettid();
    if (sched_getaffinity(0, sizeof noise.cores, &noise.cores) != 0 ||
        sem_init(&noise.stop, 0, 0) != 0)
        return errno;
    error = pthread_attr_init(&attributes);
    if (error != 0)
        return error;
    (void)sched_getparam(0, &first); /* 0 but where the victim is, too */
    first.sched_priority++;
    pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED);
    pthread_attr_setschedpolicy(&attributes, SCHED_FIFO);
    pthread_attr_setschedparam(&attributes, &first);
    sigfillset(&all); /* the program's signals are its own threads' */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&noise.thread, &attributes, competitor, NULL);
    noise.is_real_time = error == 0;
    if (error != 0)
        error = pthread_create(&noise.thread, NULL, competitor, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

static void thread_stop(void)
{
    sem_post(&noise.stop);
    pthread_join(noise.thread, NULL);
    sem_destroy(&noise.stop);
}

/* ---- both ---- */

int noise_start(const sim_noise_t *spec, uint32_t rank, uint64_t origin_ns,
                enum noise_way way)
{
    int error;

    if (noise.running)
        return EBUSY;
    atomic_store_explicit(&noise.bursts, 0, memory_order_relaxed);
    atomic_store_explicit(&noise.asked_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&noise.injected_ns, 0, memory_order_relaxed);
    atomic_store_explicit(&noise.others_ns, 0, memory_order_relaxed);
    noise.logged_ns = 0;
    noise.begin_ns = noise_now_ns();
    noise.origin_ns = origin_ns;
    noise.way = way;
    sim_noise_cursor_init(&noise.cursor, spec, rank);
    if (noise.cursor.burst.begin == SIM_NEVER)
        return 0;
    error = way == NOISE_BY_SIGNAL ? signals_start() : thread_start();
    noise.running = error == 0;
    return error;
}

void noise_stop(void)
{
    if (!noise.running)
        return;
    if (noise.way == NOISE_BY_SIGNAL)
        signals_stop();
    else
        thread_stop();
    noise.running = 0;
}
