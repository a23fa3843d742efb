/* Command lines over getopt_long. One thread. */
#include "bench/common/cli.h"

#include <assert.h>
#include <getopt.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/stats.h"

/* Values of getopt_long beyond all letters: the option's index is added. */
enum { CODE_BASE = 256, CODE_HELP = CODE_BASE + CLI_OPTIONS_MAX };

struct getopt_tables {
    struct option longs[CLI_OPTIONS_MAX + 2];
    char shorts[2 * CLI_OPTIONS_MAX + 3];
};

/* Every launcher names the rank in the environment, each in its own way. */
static int is_first_rank(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK",
                                        "PMI_RANK"};
    size_t i;

    for (i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

void cli_complain(const char *program, const char *format, ...)
{
    va_list args;

    if (!is_first_rank())
        return;
    fprintf(stderr, "%s: ", program);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
}

static void help(const struct cli *cli)
{
    int has_bytes = 0;
    size_t i;

    printf("usage: %s %s\n\n%s\n\noptions:\n", cli->program, cli->usage,
           cli->summary);
    for (i = 0; i < cli->options_count; i++) {
        const struct cli_option *option = &cli->options[i];
        char name[64];

        has_bytes |= option->kind == CLI_BYTES;
        snprintf(name, sizeof name, "--%s%s%s", option->name,
                 option->kind == CLI_FLAG ? "" : " ",
                 option->kind == CLI_FLAG ? "" : option->arg);
        if (option->letter != 0)
            printf("  -%c, %-22s %s\n", option->letter, name, option->help);
        else
            printf("      %-22s %s\n", name, option->help);
    }
    printf("  -h, %-22s %s\n", "--help", "this text");
    if (has_bytes)
        puts("\nBYTES may end in K, M or G (1024, 1024^2, 1024^3).");
}

static void tables_build(const struct cli *cli, struct getopt_tables *tables)
{
    size_t letters = 0;
    size_t i;

    assert(cli->options_count <= CLI_OPTIONS_MAX);
    memset(tables, 0, sizeof *tables);
    tables->shorts[letters++] = ':'; /* tell a missing value by ':' */
    for (i = 0; i < cli->options_count; i++) {
        const struct cli_option *option = &cli->options[i];

        tables->longs[i] = (struct option){.name = option->name,
                                           .has_arg = option->kind == CLI_FLAG
                                                          ? no_argument
                                                          : required_argument,
                                           .val = CODE_BASE + (int)i};
        if (option->letter == 0)
            continue;
        tables->shorts[letters++] = option->letter;
        if (option->kind != CLI_FLAG)
            tables->shorts[letters++] = ':';
    }
    tables->shorts[letters] = 'h';
    tables->longs[i] = (struct option){.name = "help", .val = CODE_HELP};
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
    return NULL;
}

static int is_inside(const struct cli_option *option, double value)
{
    return value >= option->min && value <= option->max;
}

static int real_parse(const char *text, double *value_out)
{
    char *end;
    double value = strtod(text, &end);

    if (end == text || *end != '\0' || !isfinite(value))
        return 0;
    *value_out = value;
    return 1;
}

/* 1 when the value is one of the option's. */
static int value_store(const struct cli_option *option, const char *text,
                       void *settings)
{
    char *field = (char *)settings + option->offset;
    double real;
    size_t bytes;

    switch (option->kind) {
    case CLI_FLAG:
        *(unsigned *)(void *)field = 1;
        return 1;
    case CLI_COUNT:
        if (!real_parse(text, &real) || !is_inside(option, real) || real < 0 ||
            real != floor(real))
            return 0;
        *(unsigned *)(void *)field = (unsigned)real;
        return 1;
    case CLI_BYTES:
        if (!stats_parse_bytes(text, &bytes) ||
            !is_inside(option, (double)bytes))
            return 0;
        *(size_t *)(void *)field = bytes;
        return 1;
    case CLI_REAL:
        if (!real_parse(text, &real) || !is_inside(option, real))
            return 0;
        *(double *)(void *)field = real;
        return 1;
    case CLI_TEXT:
        *(const char **)(void *)field = text;
        return 1;
    }
    return 0;
}

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

static void value_complain(const struct cli *cli,
                           const struct cli_option *option, const char *text)
{
    cli_complain(cli->program, "--%s %s: expected %s between %.15g and %.15g",
                 option->name, text,
                 option->kind == CLI_BYTES   ? "a number of bytes"
                 : option->kind == CLI_COUNT ? "a whole number"
                                             : "a number",
                 option->min, option->max);
}

enum cli_result cli_parse(const struct cli *cli, int argc, char **argv,
                          void *settings)
{
    struct getopt_tables tables;
    int code;

    tables_build(cli, &tables);
    opterr = 0;
    optind = 1;
    while ((code = getopt_long(argc, argv, tables.shorts, tables.longs,
                               NULL)) != -1) {
        const struct cli_option *option;

        if (code == 'h' || code == CODE_HELP) {
            help(cli);
            return CLI_HELP;
        }
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
    if (optind < argc) {
        cli_complain(cli->program, "unexpected argument %s; see --help",
                     argv[optind]);
        return CLI_BAD;
    }
    return CLI_RUN;
}
