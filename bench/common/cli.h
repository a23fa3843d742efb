/* Command lines: one table per program gives the options, their bounds, their
 * defaults' place and the help text, so that these never disagree. */
#ifndef XYL_BENCH_COMMON_CLI_H
#define XYL_BENCH_COMMON_CLI_H

#include <stddef.h>

enum cli_kind {
    CLI_FLAG,  /* unsigned: 1 when given */
    CLI_COUNT, /* unsigned, min ... max */
    CLI_BYTES, /* size_t, with K, M or G, min ... max */
    CLI_REAL,  /* double, min ... max */
    CLI_TEXT   /* const char *, borrowed from argv */
};

struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_kind kind;
    size_t offset; /* in the program's settings */
    double min, max;
    const char *arg; /* what the help calls the value */
    const char *help;
};

struct cli {
    const char *program;
    const char *usage;   /* lines after "usage: PROGRAM " */
    const char *summary; /* lines that say what the program does */
    const struct cli_option *options;
    size_t options_count;
};

enum { CLI_EXIT_USAGE = 2, CLI_OPTIONS_MAX = 32 };

enum cli_result {
    CLI_RUN,
    CLI_HELP, /* printed: the program ends with 0 */
    CLI_BAD   /* said what is wrong: the program ends with CLI_EXIT_USAGE */
};

/* Fills the settings from the command line. --help comes by itself. */
enum cli_result cli_parse(const struct cli *cli, int argc, char **argv,
                          void *settings);

/* One line "program: ..." on standard error; silent on all ranks of a job but
 * the first, which would only repeat it. */
void cli_complain(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
