/* Values as users write them. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* "8", "64K", "4MiB", as settings of the library are read
 * (runtime/base/quantity.h). 1 when `text` is such a size. */
int text_bytes(const char *text, size_t *bytes_out);

/* "4 MiB", in the largest unit of which the value is a whole number. */
void text_of_bytes(size_t value, char *text, size_t bytes);

/* The end of a noun behind the number, "s" or "": "1 round", "2 rounds". */
const char *text_plural(uint64_t count);

/* 1 when `text` is a finite number, and nothing else. */
int text_real(const char *text, double *value_out);

/* A number of `unit_ns`, or a time with its unit, as "20ms": 1 when `text` is
 * one; the value counts `unit_ns`. */
int text_time(const char *text, uint64_t unit_ns, double *value_out);

/* A list such as "0,10,20", whose parts have fewer than TEXT_PART_BYTES bytes.
 * `take` writes each part to `values`, and returns 0 if the part is wrong. The
 * count, or 0 if `text` is no list of 1 ... `capacity` parts. */
enum { TEXT_PART_BYTES = 64 };
typedef int (*text_take_fn)(void *values, size_t index, const char *part);
size_t text_list(const char *text, text_take_fn take, void *values,
                 size_t capacity);

/* Lists of numbers, of times in ms, and of sizes. */
size_t text_reals(const char *text, double *values, size_t capacity);
size_t text_times_ms(const char *text, double *values, size_t capacity);
size_t text_sizes(const char *text, size_t *values, size_t capacity);
