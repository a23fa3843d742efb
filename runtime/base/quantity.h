/* Amounts as users write them: numbers of bytes, and times, with or without a
 * unit. Settings, rules and the command lines of all programs are read by these
 * functions, which ignore the locale and its decimal point. */
#pragma once

#include <stdint.h>

/* Units of time in ns, for xyl_time_read. */
#define XYL_NS  UINT64_C(1)
#define XYL_US  UINT64_C(1000)
#define XYL_MS  UINT64_C(1000000)
#define XYL_S   UINT64_C(1000000000)
#define XYL_MIN (60 * XYL_S)

/* Reads "8", "64K", "4MiB", "1.5 gb": K, M, G and T, in any case, alone or
 * before B or iB, are powers of 1024. A fraction of a byte is dropped. 0:
 * `text` is no number of bytes below 2^63, and *bytes_out has not changed. */
int xyl_bytes_read(const char *text, uint64_t *bytes_out);

/* Reads "20", "20ms", "1.5 s": a time in ns, us, ms, s, min or h, in any case,
 * or without a unit in `unit_ns`. 0: `text` is no time below 2^63 ns, and
 * *ns_out has not changed. */
int xyl_time_read(const char *text, uint64_t unit_ns, uint64_t *ns_out);
