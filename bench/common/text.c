/* Values as users write them. No state; any thread. */
#include "bench/common/text.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/quantity.h"

int text_bytes(const char *text, size_t *bytes_out)
{
    uint64_t bytes;

    if (!xyl_bytes_read(text, &bytes) || bytes > SIZE_MAX)
        return 0;
    *bytes_out = (size_t)bytes;
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

const char *text_plural(uint64_t count)
{
    return count == 1 ? "" : "s";
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

int text_time(const char *text, uint64_t unit_ns, double *value_out)
{
    uint64_t ns;

    if (text_real(text, value_out))
        return 1;
    if (!xyl_time_read(text, unit_ns, &ns))
        return 0;
    *value_out = (double)ns / (double)unit_ns;
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

static int take_ms(void *values, size_t index, const char *part)
{
    return text_time(part, XYL_MS, (double *)values + index);
}

size_t text_times_ms(const char *text, double *values, size_t capacity)
{
    return text_list(text, take_ms, values, capacity);
}

static int take_size(void *values, size_t index, const char *part)
{
    return text_bytes(part, (size_t *)values + index);
}

size_t text_sizes(const char *text, size_t *values, size_t capacity)
{
    return text_list(text, take_size, values, capacity);
}
