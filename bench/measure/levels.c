/* Levels of noise. One thread. */
#include "bench/measure/levels.h"

#include <stdio.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/common/text.h"

enum { WHY_BYTES = 256 };

/* A level's name identifies its results. */
static int is_named(const struct levels *levels, const char *text,
                    size_t length)
{
    size_t i;

    for (i = 0; i < levels->count; i++)
        if (strncmp(levels->list[i].name, text, length) == 0 &&
            levels->list[i].name[length] == '\0')
            return 1;
    return 0;
}

static int level_add(const char *program, const char *option, const char *text,
                     size_t length, struct levels *levels)
{
    struct level *level = &levels->list[levels->count];
    char why[WHY_BYTES] = "there are too many, or one is too long";

    if (is_named(levels, text, length))
        return 1;
    if (levels->count < LEVELS_MAX && length < sizeof level->name) {
        memcpy(level->name, text, length);
        level->name[length] = '\0';
        if (sim_noise_parse(level->name, 1, &level->noise, &level->trace, why,
                            sizeof why) == XYLEM_OK) {
            levels->count++;
            return 1;
        }
    }
    cli_complain(program, "%s %.*s: %s", option, (int)length, text, why);
    return 0;
}

static int uniform_add(const char *program, const char *list, double hz,
                       struct levels *levels)
{
    double max_ms[LEVELS_MAX];
    size_t i, count = text_times_ms(list, max_ms, LEVELS_MAX);
    char text[LEVEL_NAME_BYTES];

    for (i = 0; i < count; i++) {
        if (!(max_ms[i] >= 0) || max_ms[i] * hz > 1000)
            break;
        snprintf(text, sizeof text, "uniform:%gHz,0-%gms", hz, max_ms[i]);
        if (max_ms[i] == 0)
            snprintf(text, sizeof text, "none");
        if (!level_add(program, "--max-ms", text, strlen(text), levels))
            return 0;
    }
    if (count > 0 && i == count)
        return 1;
    cli_complain(program,
                 "--max-ms %s at %g Hz: expected 1 ... %d numbers of 0 ... %g, "
                 "shorter than the time from burst to burst",
                 list, hz, LEVELS_MAX, 1000 / hz);
    return 0;
}

int levels_parse(const char *program, const char *max_ms, double hz,
                 const char *specs, struct levels *levels_out)
{
    *levels_out = (struct levels){.count = 0};
    if (max_ms != NULL)
        return uniform_add(program, max_ms, hz, levels_out);
    while (specs != NULL) {
        size_t length = strcspn(specs, ";");

        if (!level_add(program, "--noise", specs, length, levels_out))
            return 0;
        specs = specs[length] == '\0' ? NULL : specs + length + 1;
    }
    return 1;
}

void levels_free(struct levels *levels)
{
    size_t i;

    for (i = 0; i < levels->count; i++)
        sim_noise_trace_free(&levels->list[i].trace);
    levels->count = 0;
}

sim_noise_t level_noise(const struct level *level, uint64_t seed)
{
    sim_noise_t noise = level->noise;

    noise.seed = seed;
    if (noise.kind == SIM_NOISE_TRACE)
        noise.trace = &level->trace;
    return noise;
}
