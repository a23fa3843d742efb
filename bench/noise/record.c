/* xylem-noise record: the time that an idle program loses on each core.
 *
 *   detour  a loop that only reads the clock; if two readings lie far apart,
 *           another program has run ("selfish detour": Beckman,
 *           Iskra, Yoshii, Coghlan, "The influence of operating systems on the
 *           performance of collective operations at extreme scale", Cluster
 *           2006; Hoefler, Schneider, Lumsdaine, "Characterizing the influence
 *           of system noise on large-scale applications by simulation", SC
 *           2010). This is the record that is replayed.
 *   fwq     how long a fixed quantum of work takes, again and again
 *   ftq     how much work is done in each of many equal quanta of time
 * (Sottile, Minnich, "Analysis of microbenchmarks for performance tuning of
 *           clusters", Cluster 2004)
 *
 * All cores are recorded at once, each by a thread that is bound to it. The
 * program's first thread records the first core, so that the record has what
 * holds up that thread. Threads share only the barrier before each method.
 */
#include "bench/noise/record.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/common/cli.h"
#include "bench/common/results.h"
#include "bench/common/text.h"
#include "bench/measure/noise.h"
#include "bench/noise/statistics.h"

enum {
    CORES_MAX = 1024,
    DETOURS_MAX = 1 << 20,
    PATH_BYTES = 4096,
    LEAST_READINGS = 100000, /* to find the time of reading the clock */
    DETOUR_LEASTS = 9,       /* a detour is longer than so many readings */
    WORK_UNIT = 64,          /* steps of work between two looks at the clock */
    FWQ_TRIALS = 20,
    NAME_WIDTH = 6
};

static const char program_name[] = "xylem-noise record";

struct settings {
    const char *cores;
    const char *folder;
    double seconds;
    double quantum_us;
    double threshold_ns;
};

#define AT(member) offsetof(struct settings, member)

static const struct cli_option table[] = {
    {"cores", 0, CLI_TEXT, AT(cores), 0, 0, "CORE,...",
     "which (default: all that the program may run on)"},
    {"seconds", 0, CLI_S, AT(seconds), 0.01, 3600, "S",
     "time of each of the three methods (default 10)"},
    {"quantum-us", 0, CLI_US, AT(quantum_us), 10, 1e6, "US",
     "quantum of time, and of work (default 1000)"},
    {"threshold-ns", 0, CLI_NS, AT(threshold_ns), 0, 1e9, "NS",
     "shortest detour (default 0: nine readings of the clock)"},
    {"out", 'o', CLI_TEXT, AT(folder), 0, 0, "DIR",
     "where the record goes (default noise-record)"},
};

static const struct cli cli = {
    .program = program_name,
    .usage = "[--cores 0,1] [--seconds S] [-o DIR]",
    .summary =
        "Records the noise of this machine while nothing else runs: detours of "
        "a loop that reads\nthe clock, times of equal pieces of work (FWQ), "
        "work done in equal times (FTQ).\nDIR/core-N.txt replays: --noise "
        "trace:DIR/core-N.txt in xylem-noise and xylem-sim.",
    .options = table,
    .options_count = sizeof table / sizeof table[0]};

/* The record of one core; a series has room for the most possible values. */
struct recorder {
    const struct settings *settings;
    pthread_barrier_t *barrier;
    pthread_t thread;
    int core;
    int error; /* errno; 0 */
    double threshold_us;
    double detour_us; /* of the measurement */
    uint64_t work;    /* of an FWQ quantum */
    size_t detours_count, fwq_count, ftq_count;
    struct noise_burst *detours;
    double *fwq_begin_us, *fwq_us; /* per quantum */
    double *ftq_work;              /* in steps of WORK_UNIT */
    uint64_t sink;
};

/* ---- the three methods ---- */

static uint64_t seconds_ns(const struct recorder *recorder)
{
    return (uint64_t)(recorder->settings->seconds * 1e9);
}

static uint64_t least_reading_ns(void)
{
    uint64_t least = UINT64_MAX, last = noise_now_ns(), i;

    for (i = 0; i < LEAST_READINGS; i++) {
        uint64_t now = noise_now_ns();

        if (now - last > 0 && now - last < least)
            least = now - last;
        last = now;
    }
    return least;
}

static void detours_record(struct recorder *recorder)
{
    uint64_t least = least_reading_ns(), limit = DETOUR_LEASTS * least;
    uint64_t first = noise_now_ns(), last = first, now;
    uint64_t end = first + seconds_ns(recorder);

    if (recorder->settings->threshold_ns > 0)
        limit = (uint64_t)recorder->settings->threshold_ns;
    while (last < end && recorder->detours_count < DETOURS_MAX) {
        now = noise_now_ns();
        if (now - last > limit)
            recorder->detours[recorder->detours_count++] =
                (struct noise_burst){last - first, now - last - least};
        last = now;
    }
    recorder->threshold_us = (double)limit / 1e3;
    recorder->detour_us = (double)(last - first) / 1e3;
}

/* Work that nothing but time can shorten: each step needs the one before. */
static uint64_t work_do(uint64_t value, uint64_t steps)
{
    uint64_t i;

    for (i = 0; i < steps; i++) {
        value = value * UINT64_C(6364136223846793005) + 1;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

/* The work that fits into a quantum, by the fastest of some trials. */
static uint64_t quantum_work(struct recorder *recorder)
{
    const uint64_t steps = UINT64_C(1) << 14;
    uint64_t least = UINT64_MAX, i;

    for (i = 0; i < FWQ_TRIALS; i++) {
        uint64_t begin = noise_now_ns(), taken;

        recorder->sink = work_do(recorder->sink, steps);
        taken = noise_now_ns() - begin;
        least = taken < least ? taken : least;
    }
    return (uint64_t)((double)steps * recorder->settings->quantum_us * 1e3 /
                      (double)least);
}

static size_t quanta(const struct settings *settings)
{
    return (size_t)(settings->seconds * 1e6 / settings->quantum_us) + 1;
}

static void fwq_record(struct recorder *recorder)
{
    size_t count = quanta(recorder->settings), i;
    uint64_t first = noise_now_ns(), last = first, now;

    for (i = 0; i < count && last - first < seconds_ns(recorder); i++) {
        recorder->sink = work_do(recorder->sink, recorder->work);
        now = noise_now_ns();
        recorder->fwq_begin_us[i] = (double)(last - first) / 1e3;
        recorder->fwq_us[i] = (double)(now - last) / 1e3;
        last = now;
    }
    recorder->fwq_count = i;
}

/* Quanta end at fixed times. */
static void ftq_record(struct recorder *recorder)
{
    double quantum_ns = recorder->settings->quantum_us * 1e3;
    size_t count = (size_t)((double)seconds_ns(recorder) / quantum_ns), i;
    uint64_t first = noise_now_ns();

    for (i = 0; i < count; i++) {
        uint64_t end = first + (uint64_t)((double)(i + 1) * quantum_ns);
        uint64_t steps = 0;

        while (noise_now_ns() < end) {
            recorder->sink = work_do(recorder->sink, WORK_UNIT);
            steps++;
        }
        recorder->ftq_work[i] = (double)steps;
    }
    recorder->ftq_count = count;
}

static void *record_core(void *arg)
{
    struct recorder *recorder = arg;
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET((size_t)recorder->core, &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
        recorder->error = errno;
    recorder->work = quantum_work(recorder);
    pthread_barrier_wait(recorder->barrier);
    detours_record(recorder);
    pthread_barrier_wait(recorder->barrier);
    fwq_record(recorder);
    pthread_barrier_wait(recorder->barrier);
    ftq_record(recorder);
    return NULL;
}

static int recorder_create(struct recorder *recorder,
                           const struct settings *settings,
                           pthread_barrier_t *barrier, int core)
{
    size_t count = quanta(settings);

    *recorder = (struct recorder){
        .settings = settings,
        .barrier = barrier,
        .core = core,
        .sink = 1,
        .detours = calloc(DETOURS_MAX, sizeof *recorder->detours),
        .fwq_begin_us = calloc(count, sizeof *recorder->fwq_begin_us),
        .fwq_us = calloc(count, sizeof *recorder->fwq_us),
        .ftq_work = calloc(count, sizeof *recorder->ftq_work)};
    return recorder->detours != NULL && recorder->fwq_begin_us != NULL &&
           recorder->fwq_us != NULL && recorder->ftq_work != NULL;
}

static void recorder_destroy(struct recorder *recorder)
{
    free(recorder->detours);
    free(recorder->fwq_begin_us);
    free(recorder->fwq_us);
    free(recorder->ftq_work);
}

/* Records all cores, the first one by this thread, which others may hold up. 0,
 * or an errno value. */
static int record_all(struct recorder *recorders, size_t count)
{
    size_t i, started = 1;
    int error = 0;

    for (; started < count && error == 0; started++)
        error = pthread_create(&recorders[started].thread, NULL, record_core,
                               &recorders[started]);
    if (error != 0)
        return error; /* the others wait at the barrier: the program ends */
    (void)record_core(&recorders[0]);
    for (i = 1; i < count; i++)
        pthread_join(recorders[i].thread, NULL);
    for (i = 0; i < count && error == 0; i++)
        error = recorders[i].error;
    return error;
}

/* ---- files ---- */

/* Writes the detours in the language of noise. */
static int trace_write(const struct recorder *recorder)
{
    char path[PATH_BYTES], host[256] = "", when[64];
    time_t now = time(NULL);
    struct tm utc;
    FILE *out;
    size_t i;

    snprintf(path, sizeof path, "%s/core-%d.txt", recorder->settings->folder,
             recorder->core);
    out = fopen(path, "we");
    if (out == NULL)
        return 0;
    gethostname(host, sizeof host - 1);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    fprintf(out,
            "# detours of core %d of %s, recorded until %s; longer than %.3f "
            "us\n# begin and length in microseconds\n",
            recorder->core, host, when, recorder->threshold_us);
    for (i = 0; i < recorder->detours_count; i++)
        fprintf(out, "%.3f %.3f\n", (double)recorder->detours[i].begin_ns / 1e3,
                (double)recorder->detours[i].length_ns / 1e3);
    fprintf(out, "length %.3f\n", recorder->detour_us);
    return fclose(out) == 0;
}

/* Both kinds of quanta of all cores. */
static int quanta_write(const struct recorder *recorders, size_t count)
{
    static const char *const titles[] = {"method", "core", "begin_us", "value"};
    const struct settings *settings = recorders->settings;
    char path[PATH_BYTES];
    struct results results;
    struct table *out = &results.table;
    size_t i, k;

    snprintf(path, sizeof path, "%s/quanta.csv", settings->folder);
    if (!results_open(&results, program_name, path, titles, 4, RESULTS_NEW))
        return 0;
    for (i = 0; i < count; i++) {
        const struct recorder *it = &recorders[i];

        for (k = 0; k < it->fwq_count; k++) {
            table_text(out, "fwq");
            table_count(out, (uint64_t)it->core);
            table_real(out, it->fwq_begin_us[k], 3);
            table_real(out, it->fwq_us[k], 3);
        }
        for (k = 0; k < it->ftq_count; k++) {
            table_text(out, "ftq");
            table_count(out, (uint64_t)it->core);
            table_real(out, (double)k * settings->quantum_us, 3);
            table_count(out, (uint64_t)it->ftq_work[k]);
        }
    }
    return results_close(&results);
}

enum { COLUMNS = 12 };
static const char *const titles[COLUMNS] = {
    "core",   "share %",  "per s",    "mean us",  "p50 us",   "p99 us",
    "max us", "fwq skew", "fwq kurt", "ftq skew", "ftq kurt", "fwq share %"};

static void statistics_row(struct table *out, const struct recorder *recorder)
{
    struct statistics lengths, fwq, ftq;
    double *values = calloc(recorder->detours_count + 1, sizeof *values);
    double sum_us = 0;
    size_t i;

    for (i = 0; values != NULL && i < recorder->detours_count; i++) {
        values[i] = (double)recorder->detours[i].length_ns / 1e3;
        sum_us += values[i];
    }
    lengths =
        statistics_of(values, values != NULL ? recorder->detours_count : 0);
    free(values);
    fwq = statistics_of(recorder->fwq_us, recorder->fwq_count);
    ftq = statistics_of(recorder->ftq_work, recorder->ftq_count);
    table_count(out, (uint64_t)recorder->core);
    table_real(out, 100 * sum_us / recorder->detour_us, 4);
    table_real(out, (double)recorder->detours_count / recorder->detour_us * 1e6,
               1);
    table_real(out, lengths.mean, 3);
    table_real(out, lengths.median, 3);
    table_real(out, lengths.p99, 3);
    table_real(out, lengths.max, 3);
    table_real(out, fwq.skewness, 3);
    table_real(out, fwq.kurtosis, 3);
    table_real(out, ftq.skewness, 3);
    table_real(out, ftq.kurtosis, 3);
    table_real(out, fwq.mean > 0 ? 100 * (1 - fwq.min / fwq.mean) : 0, 4);
}

static int files_write(struct recorder *recorders, size_t count)
{
    const struct settings *settings = recorders->settings;
    char path[PATH_BYTES];
    struct results csv;
    struct table shown;
    size_t i;

    if (!quanta_write(recorders, count))
        return 0;
    for (i = 0; i < count; i++)
        if (!trace_write(&recorders[i])) {
            fprintf(stderr, "%s: cannot write to %s: %s\n", program_name,
                    settings->folder, strerror(errno));
            return 0;
        }
    snprintf(path, sizeof path, "%s/statistics.csv", settings->folder);
    if (!results_open(&csv, program_name, path, titles, COLUMNS, RESULTS_NEW))
        return 0;
    table_begin(&shown, stdout, TABLE_ALIGNED, titles, COLUMNS, NAME_WIDTH);
    for (i = 0; i < count; i++) {
        statistics_row(&csv.table, &recorders[i]);
        statistics_row(&shown, &recorders[i]);
    }
    return results_close(&csv);
}

/* ---- the program ---- */

/* How many; 0: the list is none. */
static size_t cores_resolve(const struct settings *settings,
                            int cores[CORES_MAX])
{
    double listed[CORES_MAX];
    cpu_set_t set;
    size_t count = 0, i;

    if (settings->cores != NULL) {
        count = text_reals(settings->cores, listed, CORES_MAX);
        for (i = 0; i < count; i++) {
            if (!(listed[i] >= 0) || listed[i] >= CPU_SETSIZE)
                return 0;
            cores[i] = (int)listed[i];
        }
        return count;
    }
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        for (i = 0; i < CPU_SETSIZE && count < CORES_MAX; i++)
            if (CPU_ISSET(i, &set))
                cores[count++] = (int)i;
    return count;
}

/* 1: the folder has no older record. */
static int folder_may(const struct settings *settings, const int *cores,
                      size_t count)
{
    static const char *const names[] = {"quanta.csv", "statistics.csv"};
    char path[PATH_BYTES];
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0] + count; i++) {
        if (i < count)
            snprintf(path, sizeof path, "%s/core-%d.txt", settings->folder,
                     cores[i]);
        else
            snprintf(path, sizeof path, "%s/%s", settings->folder,
                     names[i - count]);
        if (!results_may_replace(program_name, path, NULL))
            return 0;
    }
    return 1;
}

static int record(const struct settings *settings, const int *cores,
                  size_t count)
{
    struct recorder *recorders = calloc(count, sizeof *recorders);
    pthread_barrier_t barrier;
    int ok = recorders != NULL, error;
    size_t i;

    for (i = 0; i < count && ok; i++)
        ok = recorder_create(&recorders[i], settings, &barrier, cores[i]);
    error = ok ? pthread_barrier_init(&barrier, NULL, (unsigned)count) : ENOMEM;
    if (error == 0)
        error = record_all(recorders, count);
    if (error == 0 && mkdir(settings->folder, 0777) != 0 && errno != EEXIST)
        error = errno;
    if (error != 0)
        fprintf(stderr, "%s: %s\n", program_name, strerror(error));
    ok = error == 0 && files_write(recorders, count);
    for (i = 0; recorders != NULL && i < count; i++)
        recorder_destroy(&recorders[i]);
    free(recorders);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int record_main(int argc, char **argv)
{
    struct settings settings = {
        .folder = "noise-record", .seconds = 10, .quantum_us = 1000};
    int cores[CORES_MAX];
    size_t count;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    count = cores_resolve(&settings, cores);
    if (count > 0)
        return folder_may(&settings, cores, count)
                   ? record(&settings, cores, count)
                   : EXIT_FAILURE;
    cli_complain(program_name, "--cores %s: expected numbers of cores",
                 settings.cores);
    return CLI_EXIT_USAGE;
}
