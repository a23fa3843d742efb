/* A plain test runner in the Test Anything Protocol. A test program lists its
 * cases and calls check_run(). A failed CHECK prints its place and condition,
 * and the case goes on. A case that is impossible here calls check_skip(). */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* 1 if everything takes ten times as long; see check_cases. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CHECK_IS_SLOW 1
#endif
#endif
#ifndef CHECK_IS_SLOW
#define CHECK_IS_SLOW 0
#endif

typedef struct check_case {
    const char *name;
    void (*run)(void);
} check_case_t;

/* Runs all cases, or those whose names contain argv[1]; returns the exit
 * status. */
int check_run(const check_case_t *cases, size_t count, int argc, char **argv);

/* How many cases to draw if `cases` are the rule: a third under sanitizers;
 * under valgrind, which sees all that a case reads and keeps, one of
 * CHECK_SLOW. The nightly tests set CHECK_DEPTH: then so many times `cases`,
 * and a third of these under both. At least one. */
uint32_t check_cases(uint32_t cases);

/* Marks the running case as skipped. */
void check_skip(const char *reason);
/* The failures of the running case, so far. */
unsigned check_failures(void);
void check_failed(const char *file, int line, const char *what);
void check_equal(const char *file, int line, const char *what, int64_t got,
                 int64_t wanted);

#define CHECK(condition)                                                       \
    do {                                                                       \
        if (!(condition))                                                      \
            check_failed(__FILE__, __LINE__, #condition);                      \
    } while (0)
/* Integers; prints both. */
#define CHECK_EQ(got, wanted)                                                  \
    check_equal(__FILE__, __LINE__, #got " == " #wanted, (int64_t)(got),       \
                (int64_t)(wanted))

#define CHECK_MAIN(cases)                                                      \
    int main(int argc, char **argv)                                            \
    {                                                                          \
        return check_run(cases, sizeof(cases) / sizeof((cases)[0]), argc,      \
                         argv);                                                \
    }
