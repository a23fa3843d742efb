/* Values as users write them. */
#ifndef XYL_BENCH_COMMON_TEXT_H
#define XYL_BENCH_COMMON_TEXT_H

#include <stddef.h>

/* "8", "64K", "4M", "1G". 1 when `text` is such a size. */
int text_bytes(const char *text, size_t *bytes_out);

/* 1 when `text` is a finite number, and nothing else. */
int text_real(const char *text, double *value_out);

/* Writes up to `capacity` numbers of "0,10,20". The count, or 0 when `text` is
 * no such list or too long a one. */
size_t text_reals(const char *text, double *values, size_t capacity);

#endif
