/* The injector: the counted length of a burst on a core that others use, too.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "bench/measure/noise.h"
#include "tests/support/check.h"

enum { BURSTS = 12, ROOM = 4096 };

static const uint64_t burst_ns = UINT64_C(4000000);
static const uint64_t look_ns = UINT64_C(2000); /* as in the injector */
static const uint64_t limit_ns = UINT64_C(20000000000);

static atomic_int is_over;

/* Wants the core that the victim is on, all the time. */
static void *rival(void *arg)
{
    (void)arg;
    while (!atomic_load_explicit(&is_over, memory_order_relaxed))
        ;
    return NULL;
}

/* Everything on the core of this thread. */
static void cores_become_one(void)
{
    int core = sched_getcpu();
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)(core < 0 ? 0 : core), &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* The first one may have begun before the noise. */
static void check_log(void)
{
    size_t count, i;
    const struct noise_burst *log = noise_log(&count);

    for (i = 1; i < count; i++)
        CHECK(log[i].length_ns >= burst_ns &&
              log[i].length_ns <= burst_ns + look_ns);
}

static void test_shared_core(void)
{
    sim_noise_t spec;
    sim_noise_trace_t trace;
    struct noise_total total;
    char why[256];
    uint64_t begin_ns = noise_now_ns();
    pthread_t thread;

    CHECK_EQ(
        sim_noise_parse("periodic:50Hz,4ms", 1, &spec, &trace, why, sizeof why),
        XYLEM_OK);
    spec.seed = 1;
    cores_become_one();
    CHECK(noise_log_keep(ROOM));
    CHECK_EQ(pthread_create(&thread, NULL, rival, NULL), 0);
    CHECK_EQ(noise_start(&spec, 0, begin_ns, NOISE_BY_SIGNAL), 0);
    while (noise_read().bursts < BURSTS && noise_now_ns() - begin_ns < limit_ns)
        ;
    noise_stop();
    atomic_store(&is_over, 1);
    pthread_join(thread, NULL);
    total = noise_read();
    CHECK(total.injected_ns >= total.asked_ns);
    CHECK(total.injected_ns <= total.asked_ns + total.bursts * look_ns);
    check_log();
}

static const check_case_t cases[] = {
    {"what others take is not the burst's", test_shared_core},
};

CHECK_MAIN(cases)
