/* Command lines: one table per program has the options, their bounds, the
 * places of their values and the help text. It makes --help, man pages and
 * bash's completion, so that these never disagree. Needs no xylem library; the
 * launcher uses it, too. */
#pragma once

#include <stddef.h>

enum cli_kind {
    CLI_FLAG,  /* unsigned: 1 when given */
    CLI_COUNT, /* unsigned, min ... max */
    CLI_BYTES, /* size_t, with a unit or without, min ... max */
    CLI_REAL,  /* double, min ... max */
    CLI_NS, /* double, min ... max: a time with a unit, or in ns; it counts */
    CLI_US, /* ns. The others likewise */
    CLI_MS,
    CLI_S,
    CLI_MIN,
    CLI_TEXT, /* const char *, borrowed from argv */
    CLI_WORD, /* unsigned: which of `arg`, as in "block|cyclic" */
    CLI_LIST, /* char **: to be given several times. The field points to room
                 for argc texts and a NULL, and is filled from argv */
    CLI_REST  /* char **: argv from the first argument on that is no option,
                 ended by NULL. Without such an entry there may be none */
};

struct cli_option {
    const char *name;
    char letter; /* 0: none */
    enum cli_kind kind;
    size_t offset; /* in the program's settings */
    double min, max;
    const char *arg; /* the value's name in the help */
    const char *help;
};

/* An older name or letter of an option. The use of the letter prints a note, as
 * it means something else in other programs. */
struct cli_alias {
    const char *old;
    const char *name;
};

struct cli {
    const char *program;
    const char *usage;   /* lines after "Usage: PROGRAM " */
    const char *summary; /* lines that say what the program does */
    const struct cli_option *options;
    size_t options_count;
    const struct cli_alias *aliases;
    size_t aliases_count;
    const char *notes; /* lines behind the options; NULL: none */
};

enum { CLI_EXIT_USAGE = 2, CLI_OPTIONS_MAX = 40 };

enum cli_result {
    CLI_RUN,
    CLI_HELP, /* printed: the program ends with 0 */
    CLI_BAD   /* an error was printed: it ends with CLI_EXIT_USAGE */
};

/* Calls program_begin (begin.h), as every program must first, and fills the
 * settings from the command line. Adds --help, --version, and --completion,
 * which prints code for bash. */
enum cli_result cli_parse(const struct cli *cli, int argc, char **argv,
                          void *settings);

/* The same for a program that takes neither options nor arguments. */
enum cli_result cli_parse_none(const char *program, const char *summary,
                               int argc, char **argv);

/* The exit code of a program that is not to run. */
int cli_exit_code(enum cli_result result);

/* Prints one line "program: ..." on standard error, in a job on the first rank
 * only. Returns CLI_BAD. */
enum cli_result cli_complain(const char *program, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Print the texts of --help and --completion. */
void cli_help_print(const struct cli *cli);
void cli_completion_print(const struct cli *cli);
