/* The library's algorithms, for `--algorithm`: prints them, and checks whether
 * one can do a measurement. Looks into the library. */
#pragma once

#include <stdio.h>

#include "bench/measure/impl.h"

/* Prints the algorithms of a collective, or of all (XYLEM_COLL_COUNT), with
 * their demands; trees included. */
void registry_print(FILE *out, xylem_coll_t coll);

/* The trees alone. */
void registry_print_trees(FILE *out);

/* 1 when "name[:radix]" is a tree. */
int registry_is_tree(const char *algorithm, xylem_coll_t coll);

/* Why calls like `call` on that many ranks cannot be run by "name[:radix]";
 * NULL: they can, as far as that is known before. The text is written to `why`.
 */
const char *registry_refusal(const char *algorithm,
                             const struct bench_call *call, uint32_t ranks,
                             int shares_memory, char *why, size_t bytes);
