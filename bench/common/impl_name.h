/* Names of implementations, as options, tables, files and pictures have them.
 * Pure but for printing; any thread. */
#ifndef XYL_BENCH_COMMON_IMPL_NAME_H
#define XYL_BENCH_COMMON_IMPL_NAME_H

#include <stddef.h>
#include <stdio.h>

/* The library itself. */
#define IMPL_XYLEM "xylem"

/* Whether the first `length` bytes of `text` name the implementation `name`.
 * "event" names the library, too: older files and commands call it so. */
int impl_name_is(const char *name, const char *text, size_t length);

/* Writes today's name over the library's older one, which is as long, at the
 * begin of `text`, if its first `length` bytes are that name. */
void impl_name_renew(char *text, size_t length);

/* The name of an implementation in a picture: "waitall (own design)". */
const char *impl_label(const char *name);

/* Prints a line that says which of the names are xylem's own designs of what
 * others do; none if none is. */
void impl_note(FILE *out, const char *const *names, size_t count);

#endif
