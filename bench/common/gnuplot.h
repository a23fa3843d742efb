/* gnuplot behind a pipe: it reads commands and data and draws a PNG file. */
#ifndef XYL_BENCH_COMMON_GNUPLOT_H
#define XYL_BENCH_COMMON_GNUPLOT_H

#include <stdio.h>

/* Says what is missing in the name of `program` and returns NULL, or a pipe
 * that has been told where and how large to draw. From then on a gnuplot that
 * ends early does not end this process. */
FILE *gnuplot_open(const char *program, const char *path);
/* Text in quotes. */
void gnuplot_text(FILE *pipe, const char *text);
/* 1 when it was drawn; else it has said why. */
int gnuplot_close(FILE *pipe, const char *program, const char *path);

#endif
