/* Values as users write them. No state; any thread. */
#include "bench/common/text.h"

#include <ctype.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

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

int text_real(const char *text, double *value_out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return 0;
    *value_out = value;
    return 1;
}

size_t text_reals(const char *text, double *values, size_t capacity)
{
    size_t count;

    for (count = 0; count < capacity; count++) {
        char *end;

        values[count] = strtod(text, &end);
        if (end == text || !isfinite(values[count]))
            return 0;
        if (*end == '\0')
            return count + 1;
        if (*end != ',')
            return 0;
        text = end + 1;
    }
    return 0;
}
