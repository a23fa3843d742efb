/* Places of ranks. One thread. */
#include "bench/measure/places.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure/worker.h"

enum { TEXT_BYTES = 64 };

/* A rank's place, gathered as numbers; some of its bytes are texts. */
struct place {
    char host[TEXT_BYTES], cores[TEXT_BYTES];
    double ahead_us, error_us, drift_us;
};

enum { PLACE_NUMBERS = sizeof(struct place) / sizeof(double) };

_Static_assert(sizeof(struct place) % sizeof(double) == 0, "whole numbers");

/* "0-3,8"; as much as there is room for. */
static void cores_text(char *text, size_t bytes)
{
    size_t used = 0, first, last;
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return;
    for (first = 0; first < CPU_SETSIZE && used < bytes; first = last + 1) {
        last = first;
        if (!CPU_ISSET(first, &set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &set))
            last++;
        used += (size_t)snprintf(text + used, bytes - used,
                                 first == last ? "%s%zu" : "%s%zu-%zu",
                                 used > 0 ? "," : "", first, last);
    }
}

xylem_status_t places_print(const struct bench_impl *impl, void *state,
                            const struct clock_offset *before,
                            const struct clock_offset *after)
{
    struct place mine = {.ahead_us = before->ahead_ns / 1e3,
                         .error_us = before->error_ns / 1e3,
                         .drift_us =
                             (after->ahead_ns - before->ahead_ns) / 1e3};
    uint32_t ranks = impl->size(state), i;
    struct place *all = calloc(ranks, sizeof *all);
    double numbers[PLACE_NUMBERS];
    xylem_status_t status;

    if (all == NULL) {
        fputs("no memory for the places\n", stderr);
        return XYLEM_ERR_NO_MEMORY;
    }
    gethostname(mine.host, sizeof mine.host - 1);
    cores_text(mine.cores, sizeof mine.cores);
    memcpy(numbers, &mine, sizeof mine);
    status = impl->gather(state, numbers, PLACE_NUMBERS, (double *)all);
    for (i = 0; status == XYLEM_OK && impl->rank(state) == 0 && i < ranks; i++)
        printf("%s rank rank=%u host=%s cores=%s clock_ahead_us=%.3f "
               "clock_error_us=%.3f clock_drift_us=%.3f\n",
               WORKER_LINE_MARK, i, all[i].host, all[i].cores, all[i].ahead_us,
               all[i].error_us, all[i].drift_us);
    fflush(stdout);
    free(all);
    return status;
}
