/* Names of implementations in options, tables, files and pictures. Pure, except
 * for printing; any thread. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* The library itself. */
#define IMPL_XYLEM "xylem"

/* 1: the first `length` bytes of `text` name the implementation `name`. "event"
 * names the library, too, as in older files and commands. */
int impl_name_is(const char *name, const char *text, size_t length);

/* Writes today's name over the library's older one, which is as long, at the
 * begin of `text`, if its first `length` bytes are that name. */
void impl_name_renew(char *text, size_t length);

/* The name of an implementation in a picture: "waitall (own design)". */
const char *impl_label(const char *name);

/* Prints a line with the names that are xylem's own designs of what others do;
 * no line if none is. */
void impl_note(FILE *out, const char *const *names, size_t count);
