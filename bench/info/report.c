/* xylem-report: shows reports of the binding for MPI (XYLEM_MPI_REPORT), and
 * the changes between two of them. Puts the files of XYLEM_TRACE together. One
 * thread. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/cli.h"
#include "bench/info/traces.h"

enum { BAR_WIDTH = 24, NAME_WIDTH = 20 };

static const char program_name[] = "xylem-report";

struct settings {
    const char *trace;
    char **files;
};

static const struct cli_option options[] = {
    {"trace", 0, CLI_TEXT, offsetof(struct settings, trace), 0, 0, "OUT",
     "put records of XYLEM_TRACE and NOISE_LOG together in OUT"},
    {"FILE", 0, CLI_REST, offsetof(struct settings, files), 0, 0, NULL, NULL},
};

static const struct cli cli = {
    .program = program_name,
    .usage = "FILE [OTHER]\n  or:  xylem-report --trace OUT FILE...",
    .summary =
        "Shows a report of the binding for MPI (XYLEM_MPI_REPORT=FILE): what "
        "each\ncollective has cost, what was left to the MPI library, and why. "
        "With OTHER, a\nreport of the same program, also how much of OTHER's "
        "time each takes: with\nXYLEM_MPI_COLLECTIVES=none it is the MPI "
        "library's.\nWith --trace, makes one file for Perfetto of those that "
        "XYLEM_TRACE=FILE has made of\neach rank, and of bursts that "
        "NOISE_LOG has written.",
    .options = options,
    .options_count = sizeof options / sizeof options[0]};

static double number(const json_t *row, const char *name)
{
    return json_number_value(json_object_get(row, name));
}

static const char *text(const json_t *row, const char *name)
{
    const char *found = json_string_value(json_object_get(row, name));

    return found == NULL ? "" : found;
}

static json_t *report_read(const char *path)
{
    json_error_t error;
    json_t *report = json_load_file(path, 0, &error);

    if (report != NULL && json_is_array(json_object_get(report, "collectives")))
        return report;
    fprintf(stderr, "%s: %s: %s\n", program_name, path,
            report == NULL ? error.text : "this is no report");
    json_decref(report);
    return NULL;
}

/* Time in the calls, and outside of them under way. */
static double cost_of(const json_t *row)
{
    return number(row, "seconds") + number(row, "seconds_under_way");
}

static const json_t *row_named(const json_t *rows, const char *name)
{
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) if (strcmp(text(row, "collective"),
                                                name) == 0) return row;
    return NULL;
}

static void bar_print(double part)
{
    int width = (int)(part * BAR_WIDTH + 0.5), i;

    for (i = 0; i < width; i++)
        putchar('#');
}

/* `other` may be NULL. */
static void rows_print(const json_t *rows, const json_t *other)
{
    double highest = 0;
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) if (cost_of(row) > highest) highest =
        cost_of(row);
    printf("  %-*s %11s %12s %10s %10s %10s %6s\n", NAME_WIDTH, "collective",
           "calls", "MiB", "in calls", "waiting", "under way",
           other != NULL ? "/other" : "");
    json_array_foreach(rows, i, row)
    {
        const json_t *its = row_named(other, text(row, "collective"));
        printf("  %-*s %11.0f %12.3f %8.3f s %8.3f s %8.3f s", NAME_WIDTH,
               text(row, "collective"), number(row, "calls"),
               number(row, "bytes") / (1 << 20), number(row, "seconds"),
               number(row, "seconds_waiting"),
               number(row, "seconds_under_way"));
        if (its != NULL && number(its, "seconds") > 0)
            printf(" %6.2f", number(row, "seconds") / number(its, "seconds"));
        else
            printf(" %6s", "");
        putchar(' ');
        bar_print(highest > 0 ? cost_of(row) / highest : 0);
        putchar('\n');
    }
}

static void legend_print(int has_other)
{
    puts("  ####: time in calls and under way; the longest bar is the "
         "collective "
         "that took most");
    if (has_other)
        puts("  /other: time in calls, as a multiple of the other report's");
}

static void left_print(const json_t *rows)
{
    int is_something_left = 0;
    const char *reason;
    size_t i;
    json_t *row, *calls;

    json_array_foreach(rows, i, row)
        json_object_foreach(json_object_get(row, "left"), reason, calls)
    {
        printf("  %-*s %11.0f  %s\n", NAME_WIDTH, text(row, "collective"),
               json_number_value(calls), reason);
        is_something_left = 1;
    }
    if (!is_something_left)
        puts("  none: xylem took all calls");
}

static double total_of(const json_t *rows)
{
    double sum = 0;
    size_t i;
    json_t *row;

    json_array_foreach(rows, i, row) sum += number(row, "seconds");
    return sum;
}

static void report_print(const json_t *report, const json_t *other)
{
    const json_t *rows = json_object_get(report, "collectives");
    const json_t *groups = json_object_get(report, "communicators_of_rank_0");
    size_t i;
    json_t *group;

    printf("xylem %s, %s\n%.0f ranks, %.3f s from MPI_Init to MPI_Finalize, "
           "%.3f s in collectives",
           text(report, "xylem"), text(report, "library"),
           number(report, "ranks"), number(report, "seconds"), total_of(rows));
    if (other != NULL)
        printf("\nthe other: %s\n%.3f s, %.3f s in collectives; this takes "
               "%.2f of its time",
               text(other, "library"), number(other, "seconds"),
               total_of(json_object_get(other, "collectives")),
               number(report, "seconds") / number(other, "seconds"));
    puts("\n\nAll communicators, mean of the ranks:");
    rows_print(rows, json_object_get(other, "collectives"));
    if (json_array_size(rows) == 0)
        puts("  none: the program has called no collective");
    else
        legend_print(other != NULL);
    if (json_array_size(rows) != 0) {
        puts("\nLeft to the MPI library, calls of a rank:");
        left_print(rows);
    }
    json_array_foreach(groups, i, group)
    {
        printf("\nRank 0 on %s, %.0f ranks:\n",
               *text(group, "name") == '\0' ? "communicators without a name"
                                            : text(group, "name"),
               number(group, "ranks"));
        rows_print(json_object_get(group, "collectives"), NULL);
    }
}

int main(int argc, char **argv)
{
    struct settings settings = {NULL, NULL};
    json_t *report, *other = NULL;
    enum cli_result parsed;

    parsed = cli_parse(&cli, argc, argv, &settings);
    if (parsed != CLI_RUN)
        return cli_exit_code(parsed);
    if (settings.trace != NULL && settings.files != NULL &&
        settings.files[0] != NULL)
        return traces_merge(program_name, settings.trace, settings.files)
                   ? EXIT_SUCCESS
                   : EXIT_FAILURE;
    if (settings.files == NULL || settings.files[0] == NULL ||
        (settings.files[1] != NULL && settings.files[2] != NULL)) {
        cli_complain(program_name, "one file, or two; see --help");
        return CLI_EXIT_USAGE;
    }
    report = report_read(settings.files[0]);
    if (report != NULL && settings.files[1] != NULL)
        other = report_read(settings.files[1]);
    if (report != NULL && (settings.files[1] == NULL || other != NULL))
        report_print(report, other);
    argc = report == NULL || (settings.files[1] != NULL && other == NULL);
    json_decref(report);
    json_decref(other);
    return argc ? EXIT_FAILURE : EXIT_SUCCESS;
}
