/* xylem-tune: finds the fastest plans, and writes them as a table. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/text.h"
#include "bench/measure/noise.h"
#include "bench/tune/tune.h"
#include "runtime/job/topology.h"

enum { PATH_BYTES = 4096, MACHINE_BYTES = 128 };

/* All collectives on one team. */
static int shape_tune(struct tune_search *search, struct tune_table *table)
{
    const struct tune_options *options = search->options;
    struct tune_choice choices[TUNE_SIZES_MAX];
    size_t i, a;

    for (i = 0; i < options->colls_count; i++)
        for (a = 0; a < options->arrivals_count; a++) {
            memset(choices, 0, sizeof choices);
            if (!tune_search_run(search, options->colls[i],
                                 options->arrivals[a], choices) ||
                !tune_table_add(table, options->colls[i], options->arrivals[a],
                                &search->place->shape, choices))
                return 0;
        }
    return 1;
}

static void shape_expect(struct tune_search *search)
{
    const struct tune_options *options = search->options;
    size_t i, expected;

    for (i = 0; i < options->colls_count; i++) {
        expected = tune_search_expect(options, options->colls[i],
                                      &search->place->shape);
        search->expected += options->arrivals_count * expected;
        search->campaigns_left += options->arrivals_count;
    }
}

/* Does something on each team: one of this job, or several simulated ones. */
static int shapes_each(struct tune_search *search, struct tune_table *table,
                       int is_search)
{
    const struct tune_options *options = search->options;
    struct tune_shape *shape = &search->place->shape;
    int is_job = options->machine == NULL;
    size_t n, p;

    for (n = 0; n < (is_job ? 1 : options->nodes_count); n++)
        for (p = 0; p < (is_job ? 1 : options->node_ranks_count); p++) {
            if (!is_job)
                *shape = (struct tune_shape){
                    .nodes = (uint32_t)options->nodes[n],
                    .node_ranks = (uint32_t)options->node_ranks[p]};
            if (shape->nodes * shape->node_ranks <= 1)
                continue;
            if (!is_search)
                shape_expect(search);
            else if (!shape_tune(search, table))
                return 0;
        }
    return 1;
}

static void summary_print(const struct tune_search *search)
{
    double exhaustive_s = search->exhaustive_s + search->turns_s;

    if (!search->options->quiet)
        fputc('\n', stderr);
    printf("%zu time%s measured in %.1f s%s%s\n", search->done,
           text_plural(search->done),
           (double)(noise_now_ns() - search->begin_ns) / 1e9,
           search->is_over ? "; the time is over, the same command goes on"
                           : "",
           search->options->machine != NULL ? "; on that machine:" : ":");
    printf("the search cost %.4g s, %.1f %% of the %.4g s of an exhaustive "
           "one\n",
           search->cost_s,
           exhaustive_s > 0 ? 100 * search->cost_s / exhaustive_s : 0,
           exhaustive_s);
    printf("%zu of %zu size%s get a rule; against the rules that there are, "
           "calls take %.3f of the time (geometric mean)\n",
           search->gained, search->compared, text_plural(search->compared),
           search->compared > 0 ? exp(-search->gain / (double)search->compared)
                                : 1);
    if (search->checked > 0)
        printf("cross-check: of %zu middles between sizes %zu have a plan of "
               "the larger one that is within 5 %% of the smaller one's, the "
               "worst takes %.3f of its time; rules end about where "
               "both are as fast\n",
               search->checked, search->near_best, search->worst);
    if (search->by_tasks.count > 0 && search->by_calls.count > 0)
        printf("cross-check: plans in levels took %.1f %% more or less than "
               "by calls of few steps (%zu), %.1f %% than by tasks of their "
               "levels (%zu), on average\n",
               100 * search->by_calls.sum / (double)search->by_calls.count,
               search->by_calls.count,
               100 * search->by_tasks.sum / (double)search->by_tasks.count,
               search->by_tasks.count);
}

/* What a program would take without the table that is to be made. */
static int forget_tables(void)
{
    return setenv("XYLEM_TUNING", "none", 0) == 0;
}

static int csv_open(struct tune_search *search, struct results *csv)
{
    static const char *const titles[] = {"coll",     "nodes", "ppn",
                                         "bytes",    "plan",  "segment",
                                         "model_us", "us",    "tasks_us"};
    const struct tune_options *options = search->options;

    if (options->csv == NULL)
        return 1;
    if (!results_open(csv, options->program, options->csv, titles,
                      sizeof titles / sizeof *titles, RESULTS_ADD))
        return 0;
    search->csv = csv;
    return 1;
}

/* Where times are from: those of another place say nothing here. */
static void where_text(const struct tune_options *options,
                       enum tune_memory memory, char *text, size_t bytes)
{
    char machine[MACHINE_BYTES];

    xyl_machine_name(machine, sizeof machine);
    snprintf(text, bytes, "%s%s, xylem %s%s%s",
             options->machine != NULL ? "simulated " : "",
             options->machine != NULL ? options->machine : machine,
             xylem_version(), memory != TUNE_HOST ? ", on GPUs " : "",
             memory != TUNE_HOST ? tune_memory_text(memory) : "");
}

/* What the first rank writes; all learn whether it can. */
static int files_open(struct tune_search *search, struct results *csv)
{
    const struct tune_options *options = search->options;
    char path[PATH_BYTES], where[2 * MACHINE_BYTES];
    int ok = 1;

    if (search->place->is_first) {
        snprintf(path, sizeof path, "%s.times", options->output);
        where_text(options, search->place->shape.memory, where, sizeof where);
        ok = tune_table_may_write(options, options->output) &&
             tune_journal_open(search->journal, path, where) &&
             csv_open(search, csv);
    }
    return search->place->agree(search->place->state, &ok, sizeof ok) && ok;
}

static int tune(const struct tune_options *options, struct tune_place *place,
                struct tune_table *table)
{
    struct tune_journal journal = {.file = NULL};
    struct tune_search search = {.options = options,
                                 .place = place,
                                 .journal = &journal,
                                 .begin_ns = noise_now_ns()};
    struct results csv;
    int ok = files_open(&search, &csv);

    shapes_each(&search, table, 0);
    ok = ok && shapes_each(&search, table, 1);
    if (search.csv != NULL)
        ok &= results_close(&csv);
    if (ok && place->is_first) {
        ok = tune_table_join(table, options->output) &&
             tune_table_write(table, options->output);
        summary_print(&search);
    }
    tune_journal_close(&journal);
    return ok;
}

/* Who starts it by itself, or by a launcher that the library does not know,
 * would have an empty table of each process. */
static int is_several(const struct tune_options *options,
                      const struct tune_shape *shape)
{
    if (shape->nodes * shape->node_ranks > 1)
        return 1;
    cli_complain(options->program,
                 "this job has one rank, which has nothing to tune: start it "
                 "by xylem-run, srun or a mpirun that offers PMIx, or name a "
                 "machine (--simulate)");
    return 0;
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
        ok = is_job ? is_several(options, &place.shape) : 1;
        ok = ok && tune(options, &place, table);
        if (is_job)
            tune_job_close(&place);
        else
            tune_simulation_close(&place);
    }
    tune_table_destroy(table);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int words_main(const struct tune_options *options)
{
    char where[2 * MACHINE_BYTES];

    if (options->words == NULL || *options->words == NULL)
        return tune_main(options);
    if (strcmp(*options->words, "learn") != 0)
        return tune_files_main(options);
    where_text(options, TUNE_HOST, where, sizeof where);
    return tune_learn_main(options, where);
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
        code = words_main(&options);
        break;
    }
    free(words);
    return code;
}
