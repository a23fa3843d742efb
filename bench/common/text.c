/* Values as users write them. No state; any thread. */
#include "bench/common/text.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned unit_shift(char unit)
{
    switch (toupper((unsigned char)unit)) {
    case 'K':
        return 10;
    case 'M':
        return 20;
    case 'G':
        return 30;
    default:
        return 0;
    }
}

int text_bytes(const char *text, size_t *bytes_out)
{
    unsigned long long value;
    unsigned shift;
    char *end;

    if (!isdigit((unsigned char)text[0]))
        return 0;
    value = strtoull(text, &end, 10);
    shift = unit_shift(*end);
    if (shift != 0)
        end++;
    /* ULLONG_MAX also stands for overflow; no buffer is that long. */
    if (*end != '\0' || value > (SIZE_MAX >> 1 >> shift))
        return 0;
    *bytes_out = (size_t)value << shift;
    return 1;
}

void text_of_bytes(size_t value, char *text, size_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
    unsigned unit = 0;

    while (value >= 1024 && value % 1024 == 0 && unit < 3) {
        value /= 1024;
        unit++;
    }
    snprintf(text, bytes, "%zu %s", value, units[unit]);
}

int text_real(const char *text, double *value_out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return 0;
    *value_out = value;
    return 1;
}

size_t text_list(const char *text, text_take_fn take, void *values,
                 size_t capacity)
{
    size_t count;

    for (count = 0; count < capacity; count++) {
        size_t length = strcspn(text, ",");
        char part[TEXT_PART_BYTES];

        if (length >= sizeof part)
            return 0;
        memcpy(part, text, length);
        part[length] = '\0';
        if (!take(values, count, part))
            return 0;
        if (text[length] == '\0')
            return count + 1;
        text += length + 1;
    }
    return 0;
}

static int take_real(void *values, size_t index, const char *part)
{
    return text_real(part, (double *)values + index);
}

size_t text_reals(const char *text, double *values, size_t capacity)
{
    return text_list(text, take_real, values, capacity);
}

static int take_size(void *values, size_t index, const char *part)
{
    return text_bytes(part, (size_t *)values + index);
}

size_t text_sizes(const char *text, size_t *values, size_t capacity)
{
    return text_list(text, take_size, values, capacity);
}
