#include "tests/support/check.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAILURES_SHOWN_MAX = 20 };

/* Of the running case; atomic because cases start threads. */
static _Atomic unsigned failures;
static const char *skip_reason;

uint32_t check_cases(uint32_t cases)
{
    const char *slow = getenv("CHECK_SLOW"), *depth = getenv("CHECK_DEPTH");
    uint32_t part = CHECK_IS_SLOW || slow != NULL ? 3 : 1;

    if (depth != NULL)
        cases *= (uint32_t)strtoul(depth, NULL, 10);
    else if (slow != NULL)
        part = (uint32_t)strtoul(slow, NULL, 10);
    return cases / part + (cases % part != 0);
}

unsigned check_failures(void)
{
    return atomic_load(&failures);
}

void check_failed(const char *file, int line, const char *what)
{
    unsigned nth = atomic_fetch_add(&failures, 1);

    if (nth < FAILURES_SHOWN_MAX)
        printf("# %s:%d: failed: %s\n", file, line, what);
}

void check_equal(const char *file, int line, const char *what, int64_t got,
                 int64_t wanted)
{
    if (got == wanted)
        return;
    if (atomic_fetch_add(&failures, 1) < FAILURES_SHOWN_MAX)
        printf("# %s:%d: failed: %s (%" PRId64 ", wanted %" PRId64 ")\n", file,
               line, what, got, wanted);
}

void check_skip(const char *reason)
{
    skip_reason = reason;
}

static int case_run(const check_case_t *test, size_t number)
{
    atomic_store(&failures, 0);
    skip_reason = NULL;
    test->run();
    if (atomic_load(&failures) != 0)
        printf("not ok %zu - %s\n", number, test->name);
    else if (skip_reason != NULL)
        printf("ok %zu - %s # SKIP %s\n", number, test->name, skip_reason);
    else
        printf("ok %zu - %s\n", number, test->name);
    return atomic_load(&failures) != 0;
}

int check_run(const check_case_t *cases, size_t count, int argc, char **argv)
{
    const char *filter = argc > 1 ? argv[1] : "";
    size_t i, number = 0;
    int failed = 0;

    /* So that a case's output is there, in order, if the case dies. */
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (i = 0; i < count; i++)
        number += strstr(cases[i].name, filter) != NULL;
    printf("1..%zu\n", number);
    number = 0;
    for (i = 0; i < count; i++)
        if (strstr(cases[i].name, filter) != NULL)
            failed |= case_run(&cases[i], ++number);
    return failed;
}
