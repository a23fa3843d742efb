/* Tables that are printed aligned or as CSV by the same calls. */
#pragma once

#include <stdint.h>
#include <stdio.h>

enum { TABLE_COLUMNS_MAX = 80 };

enum table_format {
    TABLE_ALIGNED, /* the first column to the left, the others to the right */
    TABLE_CSV      /* RFC 4180: cells with a comma or a quote are quoted */
};

/* A table is written cell by cell, row by row; a full row ends itself and is
 * flushed, so that long measurements show their rows early. */
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

/* Takes a line of such a file apart, in place: quotes and the end of the line
 * go. How many cells there are; only the first `capacity` are in `cells`. */
unsigned table_row_split(char *line, char **cells, unsigned capacity);
