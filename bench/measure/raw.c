/* Samples and their files. One thread. */
#include "bench/measure/raw.h"

#include <math.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 20 };

static const double least_us = 0.01, step = 0.01; /* of the logarithm */

void raw_times_add(struct raw_times *times, double us)
{
    double at = us > least_us ? log(us / least_us) / step : 0;

    times->counts[at < RAW_CLASSES - 1 ? (size_t)at : RAW_CLASSES - 1]++;
    times->count++;
    times->max_us = fmax(times->max_us, us);
}

double raw_times_at(const struct raw_times *times, double part)
{
    double wanted = part * (double)times->count, seen = 0;
    size_t i;

    for (i = 0; i < RAW_CLASSES; i++) {
        seen += (double)times->counts[i];
        if (seen >= wanted && times->counts[i] > 0)
            return fmin(least_us * exp(step * ((double)i + 0.5)),
                        times->max_us);
    }
    return times->max_us;
}

int raw_open(struct raw_file *file, const char *program, const char *path)
{
    snprintf(file->path, sizeof file->path, "%s", path);
    if (!results_may_replace(program, path, NULL))
        return 0;
    file->out = results_part_open(program, path, file->part);
    if (file->out == NULL)
        return 0;
    setvbuf(file->out, NULL, _IOFBF, BUFFER_BYTES);
    fputs("coll,bytes,noise,rank,call,begin_us,time_us,injected_us\n",
          file->out);
    return 1;
}

/* The noise has commas, and no quotes. */
void raw_write(struct raw_file *file, const char *coll, uint64_t bytes,
               const char *noise, uint32_t rank, uint64_t number,
               const struct raw_call *call)
{
    fprintf(file->out, "%s,%llu,\"%s\",%u,%llu,%.3f,%.3f,%.3f\n", coll,
            (unsigned long long)bytes, noise, rank, (unsigned long long)number,
            call->begin_us, call->time_us, call->injected_us);
}

int raw_close(struct raw_file *file, const char *program)
{
    int ok;

    if (file->out == NULL)
        return 1;
    ok = ferror(file->out) == 0;
    ok &= fclose(file->out) == 0;
    file->out = NULL;
    if (ok)
        return results_place(program, file->part, file->path);
    unlink(file->part);
    fprintf(stderr, "%s: could not write all of %s\n", program, file->path);
    return 0;
}

void raw_discard(struct raw_file *file)
{
    if (file->out == NULL)
        return;
    fclose(file->out);
    file->out = NULL;
    unlink(file->part);
}
