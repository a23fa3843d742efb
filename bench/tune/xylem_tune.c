/* xylem-tune: finds the fastest plans, and writes them as a table. */
#include <math.h>
#include <stdlib.h>

#include "bench/measure/noise.h"
#include "bench/tune/tune.h"
#include "collectives/data/description.h"

enum { PATH_BYTES = 4096 };

/* All collectives on one team. */
static int shape_tune(struct tune_search *search, struct tune_table *table)
{
    const struct tune_options *options = search->options;
    struct tune_choice choices[TUNE_SIZES_MAX];
    size_t i;

    for (i = 0; i < options->colls_count; i++)
        if (!tune_search_run(search, options->colls[i], choices) ||
            !tune_table_add(table, options->colls[i], &search->place->shape,
                            choices))
            return 0;
    return 1;
}

static int shapes_tune(struct tune_search *search, struct tune_table *table)
{
    const struct tune_options *options = search->options;
    struct tune_shape *shape = &search->place->shape;
    size_t n, p;

    if (options->machine == NULL)
        return shape_tune(search, table);
    for (n = 0; n < options->nodes_count; n++)
        for (p = 0; p < options->node_ranks_count; p++) {
            *shape = (struct tune_shape){(uint32_t)options->nodes[n],
                                         (uint32_t)options->node_ranks[p]};
            if (shape->nodes * shape->node_ranks > 1 &&
                !shape_tune(search, table))
                return 0;
        }
    return 1;
}

static void summary_print(const struct tune_search *search)
{
    if (!search->options->quiet)
        fputc('\n', stderr);
    printf("%zu times measured in %.1f s%s%s\n", search->done,
           (double)(noise_now_ns() - search->begin_ns) / 1e9,
           search->is_over ? "; the time is over, the same command goes on"
                           : "",
           search->options->machine != NULL ? "; on that machine:" : ":");
    printf("the search cost %.4g s, %.1f %% of the %.4g s of an exhaustive "
           "one\n",
           search->cost_s,
           search->exhaustive_s > 0
               ? 100 * search->cost_s / search->exhaustive_s
               : 0,
           search->exhaustive_s);
    printf("%zu of %zu sizes get a rule; against the rules that there are, "
           "calls take %.3f of the time (geometric mean)\n",
           search->gained, search->compared,
           search->compared > 0 ? exp(-search->gain / (double)search->compared)
                                : 1);
}

/* What a program would take without the table that is to be made. */
static int forget_tables(void)
{
    return setenv("XYLEM_TUNING", "none", 0) == 0;
}

static int csv_open(struct tune_search *search, struct table *csv)
{
    static const char *const titles[] = {"coll", "nodes",   "ppn",      "bytes",
                                         "plan", "segment", "model_us", "us"};
    const struct tune_options *options = search->options;

    if (options->csv == NULL)
        return 1;
    if (!table_file_open(csv, options->program, options->csv, titles,
                         sizeof titles / sizeof *titles))
        return 0;
    search->csv = csv;
    return 1;
}

static int tune(const struct tune_options *options, struct tune_place *place,
                struct tune_table *table)
{
    struct tune_journal journal = {.file = NULL};
    struct tune_search search = {.options = options,
                                 .place = place,
                                 .journal = &journal,
                                 .begin_ns = noise_now_ns()};
    char path[PATH_BYTES];
    struct table csv;
    int ok;

    snprintf(path, sizeof path, "%s.times", options->output);
    ok = !place->is_first ||
         (tune_journal_open(&journal, path) && csv_open(&search, &csv));
    ok = ok && shapes_tune(&search, table);
    if (search.csv != NULL)
        ok &= table_file_close(&csv, options->program, options->csv);
    if (ok && place->is_first) {
        ok = tune_table_write(table, options->output);
        summary_print(&search);
    }
    tune_journal_close(&journal);
    return ok;
}

static int tune_main(const struct tune_options *options)
{
    struct tune_table *table = tune_table_create(options);
    int is_job = options->machine == NULL, ok = 0;
    struct tune_place place;

    if (table == NULL || !forget_tables())
        return EXIT_FAILURE;
    if (is_job ? tune_job_open(options, &place)
               : tune_simulation_open(options, &place)) {
        ok = tune(options, &place, table);
        if (is_job)
            tune_job_close(&place);
        else
            tune_simulation_close(&place);
    }
    tune_table_destroy(table);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct tune_options options;
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int code = CLI_EXIT_USAGE;

    if (words == NULL)
        return EXIT_FAILURE;
    switch (tune_options_parse(argc, argv, words, &options)) {
    case CLI_HELP:
        code = EXIT_SUCCESS;
        break;
    case CLI_BAD:
        break;
    case CLI_RUN:
        code = options.words != NULL && *options.words != NULL
                   ? tune_files_main(&options)
                   : tune_main(&options);
        break;
    }
    free(words);
    return code;
}
