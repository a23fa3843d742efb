/* The floor: a loop that takes as long as a call of the library's and asks
 * nothing of other ranks. Noise slows it down by its own share, which no
 * implementation of blocking calls can do without. Everything but the calls is
 * the library's. One thread. */
#include "bench/measure/impl_event.h"
#include "bench/measure/noise.h"

enum { WARMUP = 3, CALLS = 32, UNITS = 200000, ATTEMPTS = 5 };

/* Does `units` steps, each of which needs the step before. */
static void work(uint64_t units)
{
    uint64_t value = units;

    for (; units != 0; units--) {
        value = value * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(value));
    }
}

static double unit_us(void)
{
    double us, least = 0;
    int i;

    for (i = 0; i < ATTEMPTS; i++) {
        uint64_t begin_ns = noise_now_ns();
        work(UNITS);
        us = (double)(noise_now_ns() - begin_ns) / 1e3 / UNITS;
        least = i == 0 || us < least ? us : least;
    }
    return least;
}

/* Time of the library's call, until the last rank is done with it. */
static xylem_status_t call_us(struct event_state *state,
                              const struct bench_call *calls, unsigned count,
                              double *us_out)
{
    const struct bench_impl *event = impl_event();
    xylem_status_t status = XYLEM_OK;
    uint64_t begin_ns = 0;
    unsigned i;

    for (i = 0; i < WARMUP + CALLS && status == XYLEM_OK; i++) {
        if (i == WARMUP)
            status = event->barrier(state);
        if (i == WARMUP)
            begin_ns = noise_now_ns();
        if (status == XYLEM_OK)
            status = event->run(state, &calls[i % count]);
    }
    if (status == XYLEM_OK)
        status = event->barrier(state);
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3 / CALLS;
    return status;
}

static xylem_status_t local_prepare(void *arg, const struct bench_call *calls,
                                    unsigned count)
{
    const struct bench_impl *event = impl_event();
    struct event_state *state = arg;
    xylem_status_t status = event->prepare(arg, calls, count);
    double us = 0;

    if (state->tuning.call_us > 0)
        us = state->tuning.call_us;
    else if (status == XYLEM_OK)
        status = call_us(state, calls, count, &us);
    if (status == XYLEM_OK)
        status = event->bcast(arg, &us, sizeof us, 0);
    state->local_units = (uint64_t)(us / unit_us()) + 1;
    return status;
}

static xylem_status_t local_run(void *arg, const struct bench_call *call)
{
    const struct event_state *state = arg;

    (void)call;
    work(state->local_units);
    return XYLEM_OK;
}

const struct bench_impl *impl_local(struct bench_impl *impl_out)
{
    *impl_out = *impl_event();
    impl_out->name = "local";
    impl_out->prepare = local_prepare;
    impl_out->run = local_run;
    impl_out->start = NULL;
    impl_out->finish = NULL;
    return impl_out;
}
