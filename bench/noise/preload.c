/* libxylem-noise.so: noise in any program that a launcher starts.
 *
 *   NOISE_SPEC='uniform:10Hz,0-20ms' mpirun -x NOISE_SPEC \
 *       -x LD_PRELOAD=libxylem-noise.so -n 4 ./program
 *
 * It holds up the main thread of each process that has a rank, from before
 * main to the end, by the bursts of xylem-noise and xylem-sim for that rank and
 * seed. In processes without a rank, such as the launcher, it does nothing. As
 * the program need not use the library, the settings are not the library's:
 *
 *   NOISE_SPEC    docs/noise.md; without it there is no noise
 *   NOISE_SEED    a number (default 1)
 *   NOISE_BY      signal (the default) or thread
 *   NOISE_REPORT  a file that gets a line per process: its injected noise
 *   NOISE_LOG     FILE.RANK gets each burst, as a record that can be replayed
 *
 * The main thread alone, before and after main. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bench/measure/noise.h"
#include "runtime/base/decimal.h"
#include "runtime/base/launched.h"

enum {
    WHY_BYTES = 256,
    LINE_BYTES = 512,
    PATH_BYTES = 4096,
    LOG_BURSTS = 1 << 20 /* memory that is only taken as bursts come */
};

/* All ranks count from the last full hour, so that noise of all at once is that
 * without a word between them. */
static const uint64_t hour_ns = UINT64_C(3600000000000);
static const uint64_t second_ns = UINT64_C(1000000000);

static struct {
    int runs;
    long rank;
    uint64_t begin_ns;
    sim_noise_t noise;
    sim_noise_trace_t trace;
} injected;

/* By the time of day, which other nodes have, too. */
static uint64_t day_ns(void)
{
    struct timespec day;

    clock_gettime(CLOCK_REALTIME, &day);
    return (uint64_t)day.tv_sec * second_ns + (uint64_t)day.tv_nsec;
}

static uint64_t origin_ns(const sim_noise_t *noise)
{
    uint64_t now_ns = noise_now_ns();

    if (noise->kind == SIM_NOISE_ONCE)
        return now_ns;
    return now_ns - day_ns() % hour_ns;
}

/* NULL: the variable is not set, or empty. */
static const char *variable(const char *name)
{
    const char *value = getenv(name);

    return value == NULL || *value == '\0' ? NULL : value;
}

static enum noise_way way(void)
{
    const char *by = variable("NOISE_BY");

    return by != NULL && strcmp(by, "thread") == 0 ? NOISE_BY_THREAD
                                                   : NOISE_BY_SIGNAL;
}

static void __attribute__((constructor)) begin(void)
{
    const char *spec = variable("NOISE_SPEC"), *seed = variable("NOISE_SEED");
    char why[WHY_BYTES] = "";
    int error;

    injected.rank = xyl_launched_rank();
    if (spec == NULL || injected.rank < 0 || injected.rank > UINT_MAX)
        return;
    if (sim_noise_parse(spec, 1, &injected.noise, &injected.trace, why,
                        sizeof why) != XYLEM_OK) {
        if (injected.rank == 0)
            fprintf(stderr, "libxylem-noise: NOISE_SPEC=%s: %s; no noise\n",
                    spec, why);
        return;
    }
    injected.noise.seed = seed != NULL ? strtoull(seed, NULL, 10) : 1;
    injected.begin_ns = noise_now_ns();
    if (variable("NOISE_LOG") != NULL)
        (void)noise_log_keep(LOG_BURSTS);
    error = noise_start(&injected.noise, (uint32_t)injected.rank,
                        origin_ns(&injected.noise), way());
    injected.runs = error == 0;
    if (error != 0 && injected.rank == 0)
        fprintf(stderr, "libxylem-noise: %s; no noise\n", strerror(error));
}

/* Writes a line at once, so that lines of several processes stay whole. */
static void report(const char *path, double seconds, struct noise_total total)
{
    char line[LINE_BYTES], host[HOST_NAME_MAX + 1] = "";
    double taken = (double)total.injected_ns / 1e9;
    int file, length;

    gethostname(host, sizeof host - 1);
    length =
        snprintf(line, sizeof line,
                 "rank=%ld host=%s pid=%d by=%s seconds=%.3f bursts=%llu "
                 "asked_s=%.6f injected_s=%.6f injected_percent=%.2f "
                 "others_s=%.6f\n",
                 injected.rank, host, (int)getpid(), noise_way_text(), seconds,
                 (unsigned long long)total.bursts, (double)total.asked_ns / 1e9,
                 taken, 100 * taken / seconds, (double)total.others_ns / 1e9);
    file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (file < 0 || length <= 0 ||
        write(file, line, (size_t)length) != (ssize_t)length)
        fprintf(stderr, "libxylem-noise: cannot write %s\n", path);
    if (file >= 0)
        close(file);
}

/* Writes a record of the bursts; its "length" is the time in which bursts were
 * possible. */
static void log_write(const char *name, double seconds)
{
    char path[PATH_BYTES], host[HOST_NAME_MAX + 1] = "";
    size_t count, i;
    const struct noise_burst *bursts = noise_log(&count);
    unsigned long long day = day_ns() - noise_now_ns() + injected.begin_ns;
    FILE *out;

    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s.%ld", name, injected.rank);
    out = fopen(path, "we");
    if (out != NULL)
        fprintf(out,
                "# bursts of rank %ld on %s from monotonic_ns %llu "
                "realtime_ns %llu\n",
                injected.rank, host, (unsigned long long)injected.begin_ns,
                day);
    for (i = 0; i < count && out != NULL; i++)
        fprintf(out, "%.3f %.3f\n", (double)bursts[i].begin_ns / 1e3,
                (double)bursts[i].length_ns / 1e3);
    if (out == NULL || fprintf(out, "length %.3f\n", seconds * 1e6) < 0 ||
        fclose(out) != 0)
        fprintf(stderr, "libxylem-noise: cannot write %s\n", path);
}

static void __attribute__((destructor)) end(void)
{
    const char *path = variable("NOISE_REPORT"), *log = variable("NOISE_LOG");
    struct noise_total total;
    locale_t before;
    double seconds;

    if (!injected.runs)
        return;
    noise_stop();
    total = noise_read();
    seconds = (double)(noise_now_ns() - injected.begin_ns) / 1e9;
    before = xyl_decimal_begin();
    if (path != NULL)
        report(path, seconds, total);
    if (log != NULL)
        log_write(log, seconds);
    xyl_decimal_end(before);
    sim_noise_trace_free(&injected.trace);
}
