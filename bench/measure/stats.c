/* Numbers for reports. No state; any thread. */
#include "bench/measure/stats.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_BYTES_MAX = 64, CELL_WIDTH_MIN = 10, CELL_GAP = 2 };

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left;
    double b = *(const double *)right;

    return (a > b) - (a < b);
}

double stats_median(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, compare_doubles);
    if (count % 2 == 1)
        return values[count / 2];
    return (values[count / 2 - 1] + values[count / 2]) / 2;
}

struct stats_range stats_range(const double *values, size_t count,
                               size_t stride)
{
    struct stats_range range = {0, 0, 0};
    size_t i;

    if (count == 0)
        return range;
    range.min = range.max = values[0];
    for (i = 0; i < count; i++) {
        double value = values[i * stride];

        range.min = fmin(range.min, value);
        range.max = fmax(range.max, value);
        range.avg += value / (double)count;
    }
    return range;
}

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

int stats_parse_bytes(const char *text, size_t *bytes_out)
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

size_t stats_parse_reals(const char *text, double *values, size_t capacity)
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

void table_begin(struct table *table, FILE *out, enum table_format format,
                 const char *const *titles, unsigned columns, int first_width)
{
    unsigned i;

    assert(columns > 0 && columns <= TABLE_COLUMNS_MAX);
    *table = (struct table){.out = out, .format = format, .columns = columns};
    for (i = 0; i < columns; i++) {
        int length = (int)strlen(titles[i]);
        int least = i == 0 ? first_width : CELL_WIDTH_MIN;

        table->widths[i] = length > least ? length : least;
    }
    for (i = 0; i < columns; i++)
        table_text(table, titles[i]);
}

void table_text(struct table *table, const char *text)
{
    unsigned column = table->column;

    if (table->format == TABLE_CSV)
        fprintf(table->out, column == 0 ? "%s" : ",%s", text);
    else if (column == 0)
        fprintf(table->out, "%-*s", table->widths[0], text);
    else
        fprintf(table->out, "%*s%*s", CELL_GAP, "", table->widths[column],
                text);
    table->column = column + 1;
    if (table->column < table->columns)
        return;
    table->column = 0;
    fputc('\n', table->out);
    fflush(table->out);
}

void table_count(struct table *table, uint64_t value)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    table_text(table, text);
}

void table_real(struct table *table, double value, int digits)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%.*f", digits, value);
    table_text(table, text);
}

void table_signed(struct table *table, double value, int digits,
                  const char *unit)
{
    char text[CELL_BYTES_MAX];

    snprintf(text, sizeof text, "%+.*f%s", digits, value, unit);
    table_text(table, text);
}
