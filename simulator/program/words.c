/* Words of options. Times are read in whole numbers all the way, so that they
 * are equal on every machine. Pure; any thread. */
#include "simulator/program/words.h"

#include <limits.h>
#include <string.h>

const char *word_next(const char *list, char separator, char word[WORD_BYTES])
{
    const char *end = strchr(list, separator);
    size_t length = end != NULL ? (size_t)(end - list) : strlen(list);

    if (length >= WORD_BYTES)
        length = 0;
    memcpy(word, list, length);
    word[length] = '\0';
    return end != NULL ? end + 1 : NULL;
}

const char *word_number(const char *text, unsigned *value_out)
{
    uint64_t value = 0;
    const char *c;

    for (c = text; *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        if (value > UINT_MAX)
            return NULL;
    }
    if (c == text)
        return NULL;
    *value_out = (unsigned)value;
    return c;
}

static sim_time_t unit_find(const char *text)
{
    static const struct {
        const char *name;
        sim_time_t time;
    } units[] = {{"s", SIM_S}, {"ms", SIM_MS}, {"us", SIM_US}, {"ns", SIM_NS}};
    size_t i;

    for (i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(units[i].name, text) == 0)
            return units[i].time;
    }
    return 0;
}

int word_time(const char *text, sim_time_t *time_out)
{
    unsigned whole;
    sim_time_t fraction = 0, unit, scale;
    const char *rest = word_number(text, &whole);
    const char *digits;

    if (rest == NULL)
        return 0;
    digits = rest;
    if (*rest == '.')
        rest += 1 + strspn(rest + 1, "0123456789");
    unit = unit_find(rest);
    if (unit == 0 || whole > 1000000)
        return 0;
    scale = unit;
    for (digits++; digits < rest; digits++) {
        scale /= 10;
        fraction += (sim_time_t)(*digits - '0') * scale;
    }
    *time_out = whole * unit + fraction;
    return 1;
}
