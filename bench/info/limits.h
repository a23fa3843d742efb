/* A part of xylem-info. */
#ifndef BENCH_INFO_LIMITS_H
#define BENCH_INFO_LIMITS_H

void print_limits(void);

#endif
