/* Command lines over getopt_long. One thread. */
#include "bench/common/cli.h"

#include <assert.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/begin.h"
#include "bench/common/text.h"
#include "runtime/base/launched.h"
#include "runtime/base/quantity.h"

/* Values of getopt_long beyond all letters: the option's index is added. */
enum {
    CODE_BASE = 256,
    CODE_HELP = CODE_BASE + CLI_OPTIONS_MAX,
    CODE_VERSION,
    CODE_COMPLETION,
    ALIASES_MAX = 8,
    WORDS_BYTES = 120,
    LONGS_MAX = CLI_OPTIONS_MAX + ALIASES_MAX + 4
};

struct getopt_tables {
    struct option longs[LONGS_MAX];
    size_t longs_count;
    char shorts[2 * (CLI_OPTIONS_MAX + ALIASES_MAX) + 4];
    size_t letters;
};

enum cli_result cli_complain(const char *program, const char *format, ...)
{
    va_list args;

    if (xyl_launched_rank() > 0)
        return CLI_BAD;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return CLI_BAD;
}

/* ---- the tables of getopt_long ---- */

static void long_add(struct getopt_tables *tables, const char *name,
                     int has_value, int code)
{
    assert(tables->longs_count < LONGS_MAX - 1); /* zeros end it */
    tables->longs[tables->longs_count++] =
        (struct option){.name = name,
                        .has_arg = has_value ? required_argument : no_argument,
                        .val = code};
}

static void letter_add(struct getopt_tables *tables, char letter, int has_value)
{
    tables->shorts[tables->letters++] = letter;
    if (has_value)
        tables->shorts[tables->letters++] = ':';
}

static size_t index_of(const struct cli *cli, const char *name)
{
    size_t i = 0;

    while (strcmp(cli->options[i].name, name) != 0) {
        i++;
        assert(i < cli->options_count);
    }
    return i;
}

static void aliases_add(const struct cli *cli, struct getopt_tables *tables)
{
    size_t i;

    assert(cli->aliases_count <= ALIASES_MAX);
    for (i = 0; i < cli->aliases_count; i++) {
        const struct cli_alias *alias = &cli->aliases[i];
        size_t index = index_of(cli, alias->name);
        int has_value = cli->options[index].kind != CLI_FLAG;

        if (alias->old[1] == '\0')
            letter_add(tables, alias->old[0], has_value);
        else
            long_add(tables, alias->old, has_value, CODE_BASE + (int)index);
    }
}

static int takes_rest(const struct cli *cli)
{
    size_t i;

    for (i = 0; i < cli->options_count; i++) {
        if (cli->options[i].kind == CLI_REST)
            return 1;
    }
    return 0;
}

static void tables_build(const struct cli *cli, struct getopt_tables *tables)
{
    size_t i;

    assert(cli->options_count <= CLI_OPTIONS_MAX);
    memset(tables, 0, sizeof *tables);
    if (takes_rest(cli))
        letter_add(tables, '+', 0); /* options end at the first other word */
    letter_add(tables, ':', 0);     /* getopt_long: ':' if a value is missing */
    for (i = 0; i < cli->options_count; i++) {
        const struct cli_option *option = &cli->options[i];
        int has_value = option->kind != CLI_FLAG;

        if (option->kind == CLI_REST)
            continue;
        long_add(tables, option->name, has_value, CODE_BASE + (int)i);
        if (option->letter != 0)
            letter_add(tables, option->letter, has_value);
    }
    aliases_add(cli, tables);
    letter_add(tables, 'h', 0);
    long_add(tables, "help", 0, CODE_HELP);
    long_add(tables, "version", 0, CODE_VERSION);
    long_add(tables, "completion", 0, CODE_COMPLETION);
}

/* The option of a letter that it had before. */
static const struct cli_option *alias_find(const struct cli *cli, char letter)
{
    size_t i;

    for (i = 0; i < cli->aliases_count; i++) {
        const struct cli_alias *alias = &cli->aliases[i];

        if (alias->old[0] != letter || alias->old[1] != '\0')
            continue;
        cli_complain(cli->program,
                     "note: -%c is an older spelling of --%s, and other "
                     "programs mean something else by it",
                     letter, alias->name);
        return &cli->options[index_of(cli, alias->name)];
    }
    return NULL;
}

static const struct cli_option *option_of(const struct cli *cli, int code)
{
    size_t i;

    if (code >= CODE_BASE)
        return &cli->options[code - CODE_BASE];
    for (i = 0; i < cli->options_count; i++) {
        if (cli->options[i].letter == (char)code)
            return &cli->options[i];
    }
    return alias_find(cli, (char)code);
}

/* ---- values ---- */

static int is_inside(const struct cli_option *option, double value)
{
    return value >= option->min && value <= option->max;
}

/* Finds `text` among `words`, which bars separate. */
static int word_parse(const char *words, const char *text, unsigned *index_out)
{
    size_t length = strlen(text);
    unsigned i;

    for (i = 0;; i++) {
        size_t end = strcspn(words, "|");

        if (end == length && strncmp(words, text, length) == 0) {
            *index_out = i;
            return 1;
        }
        if (words[end] == '\0')
            return 0;
        words += end + 1;
    }
}

static void list_add(char **list, char *text)
{
    while (*list != NULL)
        list++;
    *list = text;
}

static int count_parse(const struct cli_option *option, const char *text,
                       unsigned *count_out)
{
    double real;

    if (!text_real(text, &real) || !is_inside(option, real) || real < 0 ||
        real != floor(real))
        return 0;
    *count_out = (unsigned)real;
    return 1;
}

/* 0: the option is no time. */
static uint64_t unit_of(const struct cli_option *option)
{
    static const uint64_t units[] = {[CLI_NS] = XYL_NS,
                                     [CLI_US] = XYL_US,
                                     [CLI_MS] = XYL_MS,
                                     [CLI_S] = XYL_S,
                                     [CLI_MIN] = XYL_MIN};

    return (size_t)option->kind < sizeof units / sizeof units[0]
               ? units[option->kind]
               : 0;
}

/* 1 when the value is one of the option's. */
static int value_store(const struct cli_option *option, char *text,
                       void *settings)
{
    void *field = (char *)settings + option->offset;
    double real;
    size_t bytes;

    switch (option->kind) {
    case CLI_FLAG:
        *(unsigned *)field = 1;
        return 1;
    case CLI_COUNT:
        return count_parse(option, text, field);
    case CLI_BYTES:
        if (!text_bytes(text, &bytes) || !is_inside(option, (double)bytes))
            return 0;
        *(size_t *)field = bytes;
        return 1;
    case CLI_REAL:
        if (!text_real(text, &real) || !is_inside(option, real))
            return 0;
        *(double *)field = real;
        return 1;
    case CLI_NS:
    case CLI_US:
    case CLI_MS:
    case CLI_S:
    case CLI_MIN:
        if (!text_time(text, unit_of(option), &real) ||
            !is_inside(option, real))
            return 0;
        *(double *)field = real;
        return 1;
    case CLI_TEXT:
        *(const char **)field = text;
        return 1;
    case CLI_WORD:
        return word_parse(option->arg, text, field);
    case CLI_LIST:
        list_add(*(char ***)field, text);
        return 1;
    case CLI_REST:
        break;
    }
    return 0;
}

/* ---- what is wrong ---- */

/* getopt_long leaves the letter in optopt, or 0 for an unknown long option. */
static void option_complain(const struct cli *cli, int code, char **argv)
{
    char letter[] = {'-', (char)optopt, '\0'};
    int is_letter = optopt > 0 && optopt < CODE_BASE;

    cli_complain(cli->program,
                 code == ':' ? "%s needs a value; see --help"
                             : "%s is no option, or takes no value; see --help",
                 is_letter ? letter : argv[optind - 1]);
}

/* "a|b|c" as "a, b or c". */
static void words_write(const char *words, char text[WORDS_BYTES])
{
    size_t used = 0;

    for (; *words != '\0' && used + 5 < WORDS_BYTES; words++) {
        const char *between = strchr(words + 1, '|') != NULL ? ", " : " or ";

        if (*words != '|')
            text[used++] = *words;
        else
            used += (size_t)snprintf(text + used, WORDS_BYTES - used, "%s",
                                     between);
    }
    text[used] = '\0';
}

static void value_complain(const struct cli *cli,
                           const struct cli_option *option, const char *text)
{
    char words[WORDS_BYTES];

    if (option->kind == CLI_WORD) {
        words_write(option->arg, words);
        cli_complain(cli->program, "--%s %s: expected %s", option->name, text,
                     words);
        return;
    }
    cli_complain(cli->program, "--%s %s: expected %s between %.15g and %.15g",
                 option->name, text,
                 option->kind == CLI_BYTES   ? "a number of bytes"
                 : option->kind == CLI_COUNT ? "a whole number"
                 : unit_of(option) != 0      ? "a time"
                                             : "a number",
                 option->min, option->max);
}

/* ---- a command line ---- */

/* 1 when there is nothing more to do. */
static int is_printed(const struct cli *cli, int code)
{
    if (code == 'h' || code == CODE_HELP)
        cli_help_print(cli);
    else if (code == CODE_VERSION)
        printf("%s %s\n", cli->program, CLI_VERSION);
    else if (code == CODE_COMPLETION)
        cli_completion_print(cli);
    else
        return 0;
    return 1;
}

/* Stores the arguments behind the options. */
static enum cli_result rest_store(const struct cli *cli, int argc, char **argv,
                                  void *settings)
{
    size_t i;

    for (i = 0; i < cli->options_count; i++) {
        const struct cli_option *option = &cli->options[i];

        if (option->kind != CLI_REST)
            continue;
        *(char ***)(void *)((char *)settings + option->offset) = argv + optind;
        return CLI_RUN;
    }
    if (optind == argc)
        return CLI_RUN;
    return cli_complain(cli->program, "unexpected argument %s; see --help",
                        argv[optind]);
}

enum cli_result cli_parse(const struct cli *cli, int argc, char **argv,
                          void *settings)
{
    struct getopt_tables tables;
    int code;

    program_begin();
    tables_build(cli, &tables);
    opterr = 0;
    optind = 0; /* resets getopt_long */
    while ((code = getopt_long(argc, argv, tables.shorts, tables.longs,
                               NULL)) != -1) {
        const struct cli_option *option;

        if (is_printed(cli, code))
            return CLI_HELP;
        if (code == ':' || code == '?') {
            option_complain(cli, code, argv);
            return CLI_BAD;
        }
        option = option_of(cli, code);
        if (!value_store(option, optarg, settings)) {
            value_complain(cli, option, optarg);
            return CLI_BAD;
        }
    }
    return rest_store(cli, argc, argv, settings);
}

enum cli_result cli_parse_none(const char *program, const char *summary,
                               int argc, char **argv)
{
    const struct cli cli = {
        .program = program, .usage = "[--help]", .summary = summary};

    return cli_parse(&cli, argc, argv, NULL);
}

int cli_exit_code(enum cli_result result)
{
    return result == CLI_BAD ? CLI_EXIT_USAGE : EXIT_SUCCESS;
}
