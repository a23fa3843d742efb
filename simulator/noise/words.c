/* Noise in words. */
#include <stdio.h>
#include <string.h>

#include "simulator/noise/noise.h"

enum { TIME_BYTES = 32 };

/* "1.5 ms" */
static void time_words(sim_time_t time, char text[TIME_BYTES])
{
    static const struct {
        sim_time_t unit;
        const char *name;
    } units[] = {{SIM_S, "s"}, {SIM_MS, "ms"}, {SIM_US, "us"}, {SIM_NS, "ns"}};
    enum { LAST = sizeof units / sizeof units[0] - 1 };
    size_t i = 0;

    while (i < LAST && time < units[i].unit)
        i++;
    snprintf(text, TIME_BYTES, "%.4g %s", (double)time / (double)units[i].unit,
             units[i].name);
}

/* ", rank 6": the ranks that it hits, if not all. */
static void ranks_words(const sim_noise_t *noise, char *text, size_t bytes)
{
    if (noise->first == noise->last)
        snprintf(text, bytes, ", rank %u", noise->first);
    else if (noise->first > 0 || noise->last < UINT32_MAX)
        snprintf(text, bytes, ", ranks %u to %u", noise->first, noise->last);
    else
        snprintf(text, bytes, "%s", "");
}

void sim_noise_words(const sim_noise_t *noise, const char *name, char *text,
                     size_t bytes)
{
    const char *slash = strrchr(name, '/'), *colon = strchr(name, ':');
    char length[TIME_BYTES], ranks[64];
    double rate = (double)noise->mhz / 1e3;

    time_words(noise->max, length);
    ranks_words(noise, ranks, sizeof ranks);
    switch (noise->kind) {
    case SIM_NOISE_NONE:
        snprintf(text, bytes, "no noise");
        return;
    case SIM_NOISE_UNIFORM:
        snprintf(text, bytes, "0 to %s, %g per second%s", length, rate, ranks);
        return;
    case SIM_NOISE_PERIODIC:
        snprintf(text, bytes, "%s, %g per second%s", length, rate, ranks);
        return;
    case SIM_NOISE_SYNCHRONOUS:
        snprintf(text, bytes, "%s at once, %g per second%s", length, rate,
                 ranks);
        return;
    case SIM_NOISE_POISSON:
        snprintf(text, bytes, "%s, %g per second by chance%s", length, rate,
                 ranks);
        return;
    case SIM_NOISE_ONCE:
        snprintf(text, bytes, "once %s%s", length, ranks);
        return;
    case SIM_NOISE_TRACE:
        snprintf(text, bytes, "record %s",
                 slash != NULL   ? slash + 1
                 : colon != NULL ? colon + 1
                                 : name);
        return;
    }
}
