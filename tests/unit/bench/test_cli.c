/* Command lines and tables of the programs: every kind of option, older
 * spellings, refusals, and quotes in CSV. tests/proc/programs.sh tests the
 * output of the programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/common/table.h"
#include "tests/support/check.h"

enum { ARGS_MAX = 12 };

struct settings {
    unsigned flag, count, word;
    size_t bytes;
    double real, us, minutes;
    const char *text;
    char **list, **rest;
};

#define AT(member) offsetof(struct settings, member)

static const struct cli_option options[] = {
    {"flag", 'f', CLI_FLAG, AT(flag), 0, 0, NULL, ""},
    {"count", 'c', CLI_COUNT, AT(count), 2, 9, "N", ""},
    {"bytes", 'b', CLI_BYTES, AT(bytes), 1, 1 << 20, "BYTES", ""},
    {"real", 0, CLI_REAL, AT(real), -1, 1, "X", ""},
    {"us", 0, CLI_US, AT(us), 0, 1e6, "US", ""},
    {"minutes", 0, CLI_MIN, AT(minutes), 0.5, 60, "M", ""},
    {"text", 0, CLI_TEXT, AT(text), 0, 0, "TEXT", ""},
    {"word", 'w', CLI_WORD, AT(word), 0, 0, "red|green|blue", ""},
    {"list", 0, CLI_LIST, AT(list), 0, 0, "TEXT", ""},
    {"rest", 0, CLI_REST, AT(rest), 0, 0, NULL, NULL},
};

enum { COUNT = sizeof options / sizeof options[0] };

static const struct cli_alias aliases[] = {{"n", "count"}, {"size", "bytes"}};

/* Parses for a program that takes arguments behind its options, or does not. */
static enum cli_result parse(int takes_rest, const char *line,
                             struct settings *settings)
{
    static char words[256];
    static char *list[ARGS_MAX];
    static char *argv[ARGS_MAX + 1];
    const struct cli cli = {.program = "test",
                            .usage = "",
                            .summary = "",
                            .options = options,
                            .options_count = takes_rest ? COUNT : COUNT - 1,
                            .aliases = aliases,
                            .aliases_count = 2};
    static char name[] = "test";
    char *word, *rest = words;
    int argc = 1;

    memset(list, 0, sizeof list);
    memset(settings, 0, sizeof *settings);
    settings->list = list;
    snprintf(words, sizeof words, "%s", line);
    argv[0] = name;
    while ((word = strsep(&rest, " ")) != NULL && argc < ARGS_MAX)
        argv[argc++] = word;
    argv[argc] = NULL;
    return cli_parse(&cli, argc, argv, settings);
}

static void test_kinds(void)
{
    struct settings s;

    CHECK_EQ(
        parse(0, "-f -c 3 --bytes 64K --real -0.5 --text a --word blue", &s),
        CLI_RUN);
    CHECK_EQ(s.flag, 1);
    CHECK_EQ(s.count, 3);
    CHECK_EQ(s.bytes, 65536);
    CHECK(s.real == -0.5);
    CHECK(strcmp(s.text, "a") == 0);
    CHECK_EQ(s.word, 2);
    CHECK_EQ(parse(0, "-w red --list a --list b", &s), CLI_RUN);
    CHECK_EQ(s.word, 0);
    CHECK(strcmp(s.list[0], "a") == 0 && strcmp(s.list[1], "b") == 0);
    CHECK(s.list[2] == NULL);
}

/* Amounts as in settings. */
static void test_amounts(void)
{
    struct settings s;

    CHECK_EQ(parse(0, "-b 64KiB", &s), CLI_RUN);
    CHECK_EQ(s.bytes, 65536);
    CHECK_EQ(parse(0, "-b 0.5mb --us 20ms --minutes 30s", &s), CLI_RUN);
    CHECK_EQ(s.bytes, 1 << 19);
    CHECK(s.us == 20000);
    CHECK(s.minutes == 0.5);
    CHECK_EQ(parse(0, "--us 1e3 --minutes 1h", &s), CLI_RUN);
    CHECK(s.us == 1000);
    CHECK(s.minutes == 60);
    CHECK_EQ(parse(0, "--us 0.25", &s), CLI_RUN);
    CHECK(s.us == 0.25);
}

static void test_rest(void)
{
    struct settings s;

    CHECK_EQ(parse(1, "-c 4 program --flag -c 99", &s), CLI_RUN);
    CHECK_EQ(s.flag, 0);
    CHECK_EQ(s.count, 4);
    CHECK(strcmp(s.rest[0], "program") == 0 && strcmp(s.rest[3], "99") == 0);
    CHECK(s.rest[4] == NULL);
    CHECK_EQ(parse(1, "-f", &s), CLI_RUN);
    CHECK(s.rest[0] == NULL);
    CHECK_EQ(parse(0, "-c 4 program", &s), CLI_BAD);
}

static void test_older_spellings(void)
{
    struct settings s;

    CHECK_EQ(parse(0, "-n 5 --size 1K", &s), CLI_RUN);
    CHECK_EQ(s.count, 5);
    CHECK_EQ(s.bytes, 1024);
    CHECK_EQ(parse(0, "-n 50", &s), CLI_BAD);
}

static void test_refusals(void)
{
    static const char *const lines[] = {"-c 1",
                                        "-c 10",
                                        "-c 2.5",
                                        "-c two",
                                        "-c",
                                        "-b 0",
                                        "-b 2M",
                                        "-b 1X",
                                        "--real 2",
                                        "--real nan",
                                        "--real 1x",
                                        "--real 1ms",
                                        "--us 2s",
                                        "--us 1x",
                                        "--us -1",
                                        "--word gre",
                                        "--word red|green",
                                        "--word",
                                        "--fast",
                                        "-z",
                                        "--flag=1"};
    struct settings s;
    size_t i;

    for (i = 0; i < sizeof lines / sizeof lines[0]; i++) {
        CHECK_EQ(parse(0, lines[i], &s), CLI_BAD);
        if (check_failures() > 0)
            printf("# %s\n", lines[i]);
    }
}

static void test_csv(void)
{
    static const char *const titles[] = {"name", "a,b"};
    static const char wanted[] = "name,\"a,b\"\n"
                                 "plain,7\n"
                                 "\"say \"\"x\"\"\",-1.50\n"
                                 "\"two\nlines\",+2.0%\n";
    char text[256] = "";
    FILE *out = fmemopen(text, sizeof text, "w");
    struct table table;

    CHECK(out != NULL);
    if (out == NULL)
        return;
    table_begin(&table, out, TABLE_CSV, titles, 2, 0);
    table_text(&table, "plain");
    table_count(&table, 7);
    table_text(&table, "say \"x\"");
    table_real(&table, -1.5, 2);
    table_text(&table, "two\nlines");
    table_signed(&table, 2, 1, "%");
    fclose(out);
    CHECK(strcmp(text, wanted) == 0);
}

static const check_case_t cases[] = {
    {"kinds of options", test_kinds},
    {"bytes and times with units", test_amounts},
    {"what stands behind the options", test_rest},
    {"older spellings", test_older_spellings},
    {"what is refused", test_refusals},
    {"CSV", test_csv},
};

CHECK_MAIN(cases)
