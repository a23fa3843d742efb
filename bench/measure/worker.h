/* A rank of a benchmark: reads the options, joins the job by one of the
 * implementations its program has, measures, and lets rank 0 report. All
 * programs that run as ranks are this function with different implementations,
 * so that they take the same options and print the same lines.
 *
 * Lines for programs begin with WORKER_LINE_MARK and a kind; words KEY=VALUE
 * follow.
 */
#pragma once

#include <stdio.h>

#include "bench/measure/impl.h"

#define WORKER_LINE_MARK "xylem-result"

struct worker_options;

struct worker_program {
    const char *name;
    const char *summary;
    const struct bench_impl *const *impls; /* the first one is the default */
    size_t impls_count;
    /* Prints the algorithms of a collective, or of all (XYLEM_COLL_COUNT), for
     * --algorithm list. NULL: there are none to choose from. */
    void (*algorithms_print)(FILE *out, xylem_coll_t coll);
    /* For --tasks; returns the exit code. NULL: it has none. */
    int (*tasks)(const char *program, const struct worker_options *options);
};

/* Returns the exit code: 0, 1 when a measurement failed or a result was wrong,
 * CLI_EXIT_USAGE. */
int worker_main(const struct worker_program *program, int argc, char **argv);
