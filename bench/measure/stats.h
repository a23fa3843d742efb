/* Numbers for reports: medians and ranges, sizes as users write them, and
 * tables that are printed aligned or as CSV by the same calls. */
#ifndef XYL_BENCH_MEASURE_STATS_H
#define XYL_BENCH_MEASURE_STATS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The median of `count` values, which it sorts; 0 when there are none. */
double stats_median(double *values, size_t count);

struct stats_range {
    double min, avg, max;
};
/* Over values[0], values[stride], ..., `count` of them. */
struct stats_range stats_range(const double *values, size_t count,
                               size_t stride);

/* "8", "64K", "4M", "1G". 1 when `text` is such a size. */
int stats_parse_bytes(const char *text, size_t *bytes_out);

/* Writes up to `capacity` numbers of "0,10,20". The count, or 0 when `text` is
 * no such list or too long a one. */
size_t stats_parse_reals(const char *text, double *values, size_t capacity);

enum { TABLE_COLUMNS_MAX = 32 };

enum table_format {
    TABLE_ALIGNED, /* the first column to the left, the others to the right */
    TABLE_CSV
};

/* A table is written cell by cell, row by row; a full row ends itself and is
 * flushed, so that long measurements show what they have. */
struct table {
    FILE *out;
    enum table_format format;
    unsigned columns;
    unsigned column; /* of the next cell */
    int widths[TABLE_COLUMNS_MAX];
};

/* Prints the titles. `first_width` is the least width of the first column. */
void table_begin(struct table *table, FILE *out, enum table_format format,
                 const char *const *titles, unsigned columns, int first_width);
void table_text(struct table *table, const char *text);
void table_count(struct table *table, uint64_t value);
/* `digits` after the point. */
void table_real(struct table *table, double value, int digits);
/* With a sign, as differences are written. */
void table_signed(struct table *table, double value, int digits,
                  const char *unit);

#endif
