/* gnuplot behind a pipe: it reads commands and data and draws a PNG file. All
 * pictures of the programs are one of two kinds. */
#pragma once

#include <stddef.h>

/* Groups of bars, one bar per series in each group. Bars of the first series
 * show their time, bars of the others how much slower they are. The axis ends
 * where most values do; longer bars are cut off and show their value. */
struct gnuplot_bars {
    const char *title;
    const char *const *groups;
    size_t groups_count;
    const char *const *series;
    size_t series_count;
    const double *us; /* [group][series]; 0: there is none */
    int is_log;       /* an axis of powers; no bar is cut off */
};

/* Rows of thin bars below each other on equal axes, a bar for each rank. */
struct gnuplot_rows {
    const char *title;
    const char *ylabel;
    const char *const *rows;
    size_t rows_count;
    size_t ranks;
    const double *values; /* [row][rank] */
    double end;           /* of the axis; longer bars are cut off */
    size_t marked;        /* a rank in another colour; `ranks`: none */
};

/* 1: gnuplot is there, and `path` is free or a picture of these programs. 0:
 * `program` has printed why not. To be asked before the work. */
int gnuplot_may_draw(const char *program, const char *path);

/* 1: the picture was drawn. 0: `program` has printed why not. */
int gnuplot_bars(const char *program, const char *path,
                 const struct gnuplot_bars *bars);
int gnuplot_rows(const char *program, const char *path,
                 const struct gnuplot_rows *rows);

/* The end of an axis for `count` values: the largest, unless that is far beyond
 * three quarters of them. */
double gnuplot_axis_end(const double *values, size_t count);
