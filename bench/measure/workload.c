/* The measuring loops. One thread, which the noise interrupts. */
#include "bench/measure/workload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/coll.h"
#include "bench/measure/session.h"

enum {
    CALIBRATIONS = 2,
    CALIBRATION_CALLS = 3,
    ITERATIONS_MIN = 10,
    ITERATIONS_MAX = 10000,
    NOISY_ITERATIONS_MAX = 10000000,
    NOISY_TRIAL = 4,  /* of the time, to find out what calls take */
    RAW_CHUNK = 1024, /* calls that are gathered at once */
    RAW_NUMBERS = sizeof(struct raw_call) / sizeof(double),
    CHECKED_CALLS = 3, /* before and after a loop that cannot check all */
    GATHER_MAX = 4
};

/* Delays this rank by the time that the call's number decides. */
static void arrive(const struct session *session)
{
    sim_arrivals_t arrivals = session->work->arrivals;
    sim_time_t late;

    if (arrivals.pattern == SIM_ARRIVAL_TOGETHER)
        return;
    arrivals.seed += session->calls;
    late = sim_arrivals_time(&arrivals, session->rank, session->ranks);
    noise_delay_us((double)late / (double)SIM_US);
}

/* One call after a barrier, of which `delay_us` counts as a part. */
static xylem_status_t call_alone(struct session *session, double delay_us,
                                 double *us_out)
{
    xylem_status_t status;
    uint64_t begin_ns;

    session_input_write(session, CONTENT_ALL);
    status = session_barrier(session);
    if (status != XYLEM_OK)
        return status;
    arrive(session);
    begin_ns = noise_now_ns();
    noise_delay_us(delay_us);
    status = session_call(session);
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3;
    if (status == XYLEM_OK && session->work->check)
        session_result_check(session, CONTENT_ALL);
    return status;
}

/* The place in which a call is kept; NULL: it is not kept. */
static struct raw_call *kept_at(const struct session *session, uint64_t call)
{
    return session->kept != NULL &&
                   call - session->kept_first < session->kept_room
               ? &session->kept[call - session->kept_first]
               : NULL;
}

static void kept_begin(const struct session *session)
{
    struct raw_call *kept = kept_at(session, session->calls);

    if (kept != NULL)
        *kept = (struct raw_call){.begin_us = (double)noise_now_ns() / 1e3,
                                  .injected_us =
                                      (double)noise_read().injected_ns / 1e3};
}

/* Notes the end of the call that ended last. */
static void kept_end(const struct session *session)
{
    struct raw_call *kept = kept_at(session, session->finished - 1);

    if (kept == NULL)
        return;
    kept->time_us = (double)noise_now_ns() / 1e3 - kept->begin_us;
    kept->injected_us =
        (double)noise_read().injected_ns / 1e3 - kept->injected_us;
}

/* Makes the next call, or only starts it: several may be under way together. */
static xylem_status_t call_next(struct session *session)
{
    xylem_status_t status;

    session_input_write(session, CONTENT_ENDS);
    kept_begin(session);
    if (session->under_way > 1)
        return session_start(session);
    status = session_call(session);
    kept_end(session);
    return status;
}

/* Ends calls until at most `left` are under way. */
static xylem_status_t calls_end(struct session *session, unsigned left)
{
    xylem_status_t status = XYLEM_OK;

    while (session->calls - session->finished > left && status == XYLEM_OK) {
        status = session_finish(session);
        kept_end(session);
        if (status == XYLEM_OK && session->work->check)
            session_result_check(session, CONTENT_ENDS);
    }
    return status;
}

/* `count` calls back to back, with a barrier around them all. */
static xylem_status_t calls_back_to_back(struct session *session,
                                         unsigned count, double *us_out)
{
    xylem_status_t status = session_barrier(session);
    uint64_t begin_ns = noise_now_ns();
    unsigned i;

    for (i = 0; i < count && status == XYLEM_OK; i++) {
        status = calls_end(session, session->under_way - 1);
        if (status == XYLEM_OK)
            status = call_next(session);
        if (status == XYLEM_OK && session->under_way == 1 &&
            session->work->check)
            session_result_check(session, CONTENT_ENDS);
    }
    if (status == XYLEM_OK)
        status = calls_end(session, 0);
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3 / count;
    return status;
}

static xylem_status_t calls_checked(struct session *session, unsigned count)
{
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    for (i = 0; i < count && status == XYLEM_OK; i++) {
        double us;

        status = call_alone(session, 0, &us);
    }
    return status;
}

/* Microseconds that one iteration of the experiment takes on this rank. */
static xylem_status_t iteration_time(struct session *session, int back_to_back,
                                     double *us_out)
{
    uint64_t begin_ns = noise_now_ns();
    xylem_status_t status;

    if (back_to_back)
        return calls_back_to_back(session, CALIBRATION_CALLS, us_out);
    status = calls_checked(session, CALIBRATION_CALLS);
    *us_out = (double)(noise_now_ns() - begin_ns) / 1e3 / CALIBRATION_CALLS;
    return status;
}

/* The least time of some attempts, so that a single delay of the machine does
 * not decide the number of iterations. */
static xylem_status_t iteration_expect(struct session *session,
                                       int back_to_back, double *us_out)
{
    xylem_status_t status = iteration_time(session, back_to_back, us_out);
    double us = *us_out;
    unsigned i;

    for (i = 1; i < CALIBRATIONS && status == XYLEM_OK; i++) {
        status = iteration_time(session, back_to_back, &us);
        *us_out = us < *us_out ? us : *us_out;
    }
    return status;
}

/* How many calls of that time fit into the time of the experiment. */
static uint32_t calls_fitting(const struct workload *work, double us,
                              uint32_t most)
{
    double fitting = work->seconds * 1e6 / (us + 0.001);

    return fitting >= most             ? most
           : fitting <= ITERATIONS_MIN ? ITERATIONS_MIN
                                       : (uint32_t)fitting;
}

/* Warms up and agrees on the number of iterations: what rank 0 expects to fit
 * into the time, unless the user chose. */
static xylem_status_t session_warm(struct session *session, int back_to_back,
                                   unsigned *iterations_out)
{
    const struct workload *work = session->work;
    xylem_status_t status = calls_checked(session, work->warmup);
    double us = 0;
    uint32_t iterations;

    *iterations_out = work->iterations;
    if (status != XYLEM_OK || work->iterations != 0)
        return status;
    status = iteration_expect(session, back_to_back, &us);
    iterations = calls_fitting(
        work, us,
        work->iterations_most != 0 ? work->iterations_most : ITERATIONS_MAX);
    if (status == XYLEM_OK)
        status =
            work->impl->bcast(work->state, &iterations, sizeof iterations, 0);
    *iterations_out = iterations;
    return status;
}

/* Gathers `count` numbers of every rank at rank 0, which frees *all_out; it is
 * NULL elsewhere. */
static xylem_status_t numbers_gather(const struct session *session,
                                     const double *mine, size_t count,
                                     double **all_out)
{
    const struct workload *work = session->work;
    double *all = NULL;
    xylem_status_t status;

    if (session->rank == 0) {
        all = calloc(session->ranks, count * sizeof *all);
        if (all == NULL) {
            fputs("no memory for the results\n", stderr);
            return XYLEM_ERR_NO_MEMORY;
        }
    }
    status = work->impl->gather(work->state, mine, count, all);
    if (status != XYLEM_OK) {
        free(all);
        return status;
    }
    *all_out = all;
    return XYLEM_OK;
}

/* Gathers {time, wrong, injected percent, bursts} of every rank. */
static xylem_status_t result_gather(const struct session *session,
                                    const double mine[GATHER_MAX],
                                    unsigned iterations,
                                    struct workload_result *result_out)
{
    double *all;
    xylem_status_t status = numbers_gather(session, mine, GATHER_MAX, &all);
    size_t n = session->ranks;

    if (status != XYLEM_OK || all == NULL)
        return status;
    *result_out = (struct workload_result){
        .us = stats_range(all, n, GATHER_MAX),
        .iterations = iterations,
        .wrong =
            (uint64_t)(stats_range(all + 1, n, GATHER_MAX).avg * (double)n +
                       0.5),
        .injected_percent = stats_range(all + 2, n, GATHER_MAX).avg,
        .bursts = stats_range(all + 3, n, GATHER_MAX).avg};
    free(all);
    return XYLEM_OK;
}

static double *samples_alloc(size_t count)
{
    double *samples = calloc(count, sizeof *samples);

    if (samples == NULL)
        fprintf(stderr, "no memory for %zu samples\n", count);
    return samples;
}

static xylem_status_t calls_separate(struct session *session,
                                     unsigned iterations, double *us_out)
{
    double *samples = samples_alloc(iterations);
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    if (samples == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < iterations && status == XYLEM_OK; i++)
        status = call_alone(session, 0, &samples[i]);
    *us_out = session->work->osu ? stats_range(samples, iterations, 1).avg
                                 : stats_median(samples, iterations);
    free(samples);
    return status;
}

xylem_status_t workload_latency(const struct workload *workload,
                                struct workload_result *result_out)
{
    double mine[GATHER_MAX] = {0};
    struct session session;
    unsigned iterations = 0;
    xylem_status_t status = session_begin(&session, workload);

    if (status != XYLEM_OK)
        return status;
    status = session_warm(&session, workload->back_to_back, &iterations);
    if (status == XYLEM_OK && workload->back_to_back)
        status = calls_back_to_back(&session, iterations, &mine[0]);
    else if (status == XYLEM_OK)
        status = calls_separate(&session, iterations, &mine[0]);
    mine[1] = (double)session.wrong;
    if (status == XYLEM_OK)
        status = result_gather(&session, mine, iterations, result_out);
    result_out->own_us = mine[0];
    session_end(&session);
    return status;
}

/* Starts the noise by rank 0's clock, so that noise of all ranks at once hits
 * them at once. */
static xylem_status_t noise_begin(const struct session *session)
{
    const struct workload *work = session->work;
    uint64_t origin_ns = noise_now_ns();
    xylem_status_t status =
        work->impl->bcast(work->state, &origin_ns, sizeof origin_ns, 0);
    int error;

    if (status != XYLEM_OK)
        return status;
    origin_ns = (uint64_t)((double)origin_ns + work->clock_ahead_ns);
    error =
        noise_start(&work->noise, session->rank, origin_ns, work->noise_way);
    if (error == 0)
        return XYLEM_OK;
    fprintf(stderr, "no noise: %s\n", strerror(error));
    return XYLEM_ERR_NO_RESOURCE;
}

/* The number of calls that fit into the time, unless the user chose. Only noise
 * itself tells how long a call takes under it. So the number doubles until the
 * calls have taken a part of the time, by rank 0's clock. */
static xylem_status_t noisy_iterations(struct session *session,
                                       unsigned *iterations_out)
{
    const struct workload *work = session->work;
    struct {
        uint32_t count, is_last;
    } next = {1, work->iterations != 0};
    xylem_status_t status = XYLEM_OK;

    while (!next.is_last && status == XYLEM_OK) {
        double us = 0;

        status = calls_back_to_back(session, next.count, &us);
        next.is_last = us * next.count * NOISY_TRIAL >= work->seconds * 1e6 ||
                       next.count > NOISY_ITERATIONS_MAX / 2;
        next.count = next.is_last
                         ? calls_fitting(work, us, NOISY_ITERATIONS_MAX)
                         : next.count * 2;
        if (status == XYLEM_OK)
            status = work->impl->bcast(work->state, &next, sizeof next, 0);
    }
    *iterations_out = work->iterations != 0 ? work->iterations : next.count;
    return status;
}

/* Makes room for the coming calls, if they are kept. */
static xylem_status_t kept_prepare(struct session *session, unsigned count)
{
    if (session->work->raw == NULL)
        return XYLEM_OK;
    session->kept_room = count < RAW_CALLS_MAX ? count : RAW_CALLS_MAX;
    session->kept_first = session->calls;
    session->kept = calloc(session->kept_room, sizeof *session->kept);
    if (session->kept != NULL)
        return XYLEM_OK;
    fputs("no memory for all calls\n", stderr);
    return XYLEM_ERR_NO_MEMORY;
}

/* Rank 0 writes a chunk of all ranks' kept calls; begins count from
 * `origin_us`. */
static void kept_write(const struct session *session,
                       const struct raw_call *calls, size_t count,
                       uint64_t first, double origin_us)
{
    struct workload_raw *raw = session->work->raw;
    const char *name = xyl_coll_traits(session->work->coll)->name;
    uint32_t rank;
    size_t i;

    for (rank = 0; rank < session->ranks; rank++) {
        for (i = 0; i < count; i++) {
            struct raw_call call = calls[rank * count + i];

            call.begin_us -= origin_us;
            raw_write(&raw->file, name, session->work->bytes, raw->noise, rank,
                      first + i, &call);
            raw_times_add(&raw->times, call.time_us);
        }
    }
}

/* Brings all kept calls to rank 0, with begins by rank 0's clock. */
static xylem_status_t kept_gather(struct session *session)
{
    struct workload_raw *raw = session->work->raw;
    xylem_status_t status = XYLEM_OK;
    double origin_us = 0, *all;
    uint64_t i, count;

    raw->times = (struct raw_times){.count = 0};
    for (i = 0; i < session->kept_room; i++)
        session->kept[i].begin_us -= raw->clock.ahead_ns / 1e3;
    for (i = 0; i < session->kept_room && status == XYLEM_OK; i += count) {
        count = session->kept_room - i;
        count = count < RAW_CHUNK ? count : RAW_CHUNK;
        all = NULL;
        status = numbers_gather(session, &session->kept[i].begin_us,
                                count * RAW_NUMBERS, &all);
        if (status != XYLEM_OK || all == NULL)
            continue;
        if (i == 0)
            origin_us = all[0];
        kept_write(session, (const struct raw_call *)all, count, i, origin_us);
        free(all);
    }
    return status;
}

/* The calls under noise: fully checked ones around the measured ones, of which
 * only the ends of results are checked. The noise lasts until every rank is
 * done. */
static xylem_status_t calls_noisy(struct session *session,
                                  unsigned *iterations_out,
                                  double mine[GATHER_MAX])
{
    unsigned checked = session->work->check ? CHECKED_CALLS : 0;
    xylem_status_t status = calls_checked(session, checked);
    struct noise_total before, after;
    uint64_t begin_ns;

    if (status == XYLEM_OK)
        status = noisy_iterations(session, iterations_out);
    if (status == XYLEM_OK)
        status = kept_prepare(session, *iterations_out);
    before = noise_read();
    begin_ns = noise_now_ns();
    if (status == XYLEM_OK)
        status = calls_back_to_back(session, *iterations_out, &mine[0]);
    after = noise_read();
    session->kept_room =
        session->calls - session->kept_first < session->kept_room
            ? session->calls - session->kept_first
            : session->kept_room;
    mine[2] = 100.0 * (double)(after.injected_ns - before.injected_ns) /
              (double)(noise_now_ns() - begin_ns);
    mine[3] = (double)(after.bursts - before.bursts);
    if (status == XYLEM_OK)
        status = calls_checked(session, checked);
    if (status == XYLEM_OK)
        status = session_barrier(session);
    return status;
}

xylem_status_t workload_noise(const struct workload *workload,
                              struct workload_result *result_out)
{
    double mine[GATHER_MAX] = {0};
    struct session session;
    unsigned iterations = 0;
    xylem_status_t status = session_begin(&session, workload);

    if (status != XYLEM_OK)
        return status;
    status = calls_checked(&session, workload->warmup);
    if (status == XYLEM_OK)
        status = noise_begin(&session);
    if (status == XYLEM_OK) {
        status = calls_noisy(&session, &iterations, mine);
        noise_stop();
    }
    mine[1] = (double)session.wrong;
    if (status == XYLEM_OK)
        status = result_gather(&session, mine, iterations, result_out);
    if (status == XYLEM_OK && session.kept != NULL) {
        status = kept_gather(&session);
        result_out->p50_us = raw_times_at(&workload->raw->times, 0.5);
        result_out->p99_us = raw_times_at(&workload->raw->times, 0.99);
        result_out->most_us = workload->raw->times.max_us;
    }
    free(session.kept);
    session_end(&session);
    return status;
}

/* Calls without and with the delay in turn, so that both see the same
 * machine. */
static xylem_status_t calls_delayed(struct session *session, unsigned count,
                                    struct workload_finish *mine)
{
    const struct workload *work = session->work;
    double delay_us = session->rank == work->delay_rank ? work->delay_us : 0;
    double *samples = samples_alloc((size_t)count * 2);
    xylem_status_t status = XYLEM_OK;
    unsigned i;

    if (samples == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < count && status == XYLEM_OK; i++) {
        status = call_alone(session, 0, &samples[i]);
        if (status == XYLEM_OK)
            status = call_alone(session, delay_us, &samples[count + i]);
    }
    mine->plain_us = stats_median(samples, count);
    mine->delayed_us = stats_median(samples + count, count);
    free(samples);
    return status;
}

static xylem_status_t finish_gather(const struct session *session,
                                    const struct workload_finish *mine,
                                    struct workload_finish *finish_out)
{
    double numbers[2] = {mine->plain_us, mine->delayed_us};
    double *all;
    xylem_status_t status = numbers_gather(session, numbers, 2, &all);
    uint32_t i;

    if (status != XYLEM_OK || all == NULL)
        return status;
    for (i = 0; i < session->ranks; i++)
        finish_out[i] =
            (struct workload_finish){.plain_us = all[(size_t)2 * i],
                                     .delayed_us = all[(size_t)2 * i + 1]};
    free(all);
    return XYLEM_OK;
}

xylem_status_t workload_delay(const struct workload *workload,
                              struct workload_finish *finish_out,
                              struct workload_result *result_out)
{
    double mine[GATHER_MAX] = {0};
    struct workload_finish finish;
    struct session session;
    unsigned count = 0;
    xylem_status_t status = session_begin(&session, workload);

    if (status != XYLEM_OK)
        return status;
    status = session_warm(&session, 0, &count);
    /* Every other call takes the delay, too. */
    if (workload->iterations == 0)
        count = calls_fitting(workload, workload->delay_us / 2, count);
    if (status == XYLEM_OK)
        status = calls_delayed(&session, count, &finish);
    if (status == XYLEM_OK)
        status = finish_gather(&session, &finish, finish_out);
    mine[0] = status == XYLEM_OK ? finish.plain_us : 0;
    mine[1] = (double)session.wrong;
    if (status == XYLEM_OK)
        status = result_gather(&session, mine, count, result_out);
    session_end(&session);
    return status;
}
