/* gnuplot behind a pipe: it reads commands and data and draws a PNG file. All
 * pictures of the programs are one of two kinds. */
#ifndef XYL_BENCH_COMMON_GNUPLOT_H
#define XYL_BENCH_COMMON_GNUPLOT_H

#include <stddef.h>

/* Groups of bars: times, one bar of each series in each group. Of a first
 * series the time is written on the bar, of others how much slower they are.
 * The axis ends where most values do; what is beyond is cut off and has its
 * value written on it. */
struct gnuplot_bars {
    const char *title;
    const char *const *groups;
    size_t groups_count;
    const char *const *series;
    size_t series_count;
    const double *us; /* of each group its series; 0: there is none */
    int is_log;       /* an axis of powers, where nothing is cut off */
};

/* Rows of thin bars below each other on equal axes, a bar for each rank. */
struct gnuplot_rows {
    const char *title;
    const char *ylabel;
    const char *const *rows;
    size_t rows_count;
    size_t ranks;
    const double *values; /* of each row its ranks */
    double end;           /* of the axis; what is beyond is cut off */
    size_t marked;        /* a rank in another colour; `ranks`: none */
};

/* Whether gnuplot is there, and no file that is not a picture of these programs
 * has that name: to be asked before the work. 0: `program` has said why not. */
int gnuplot_may_draw(const char *program, const char *path);

/* 1 when it was drawn; else it has said why, in the name of `program`. */
int gnuplot_bars(const char *program, const char *path,
                 const struct gnuplot_bars *bars);
int gnuplot_rows(const char *program, const char *path,
                 const struct gnuplot_rows *rows);

/* Where an axis ends that `count` values need: at the largest, unless that is
 * far beyond what three quarters of them need. */
double gnuplot_axis_end(const double *values, size_t count);

#endif
