/* The rounds of a campaign. One thread; one child at a time, so that nothing
 * else runs while it measures. */
#include "bench/noise/rounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/child.h"
#include "bench/common/impl_name.h"
#include "bench/common/results.h"
#include "bench/measure/noise.h"
#include "bench/measure/worker.h"
#include "bench/noise/manifest.h"
#include "bench/noise/rows.h"

enum { NAME_BYTES = 64, WHY_BYTES = 256, WHAT_BYTES = 128 };

/* Between two lines of progress if the output is no terminal. */
static const uint64_t progress_ns = UINT64_C(15000000000);

static void progress_clear(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

static void progress_show(struct campaign *campaign, const char *what)
{
    uint64_t now_ns = noise_now_ns();
    int is_terminal = isatty(STDERR_FILENO);
    double elapsed_s = (double)(now_ns - campaign->begin_ns) / 1e9;
    unsigned left = campaign->runs_planned - campaign->runs_done;

    if (!is_terminal && now_ns - campaign->shown_ns < progress_ns)
        return;
    campaign->shown_ns = now_ns;
    progress_clear();
    fprintf(stderr, "%s: run %u of %u", campaign->program,
            campaign->runs_done + 1, campaign->runs_planned);
    if (campaign->runs_done > campaign->runs_skipped)
        fprintf(stderr, ", about %.0f s left",
                elapsed_s / (campaign->runs_done - campaign->runs_skipped) *
                    left);
    fprintf(stderr, ": %s%s", what, is_terminal ? "" : "\n");
    fflush(stderr);
}

static void failure_report(struct campaign *campaign, const char *what,
                           const struct child *child)
{
    unsigned first = child->tail_next > CHILD_TAIL_LINES
                         ? child->tail_next - CHILD_TAIL_LINES
                         : 0;
    char why[WHY_BYTES];
    unsigned i;

    campaign->failures++;
    child_describe(child, why, sizeof why);
    progress_clear();
    fprintf(stderr, "%s: %s: %s %s\n", campaign->program, what, child->argv[0],
            why);
    for (i = first; i < child->tail_next; i++)
        fprintf(stderr, "    | %s\n", child->tail[i % CHILD_TAIL_LINES]);
}

/* The value of KEY=VALUE in a line of a rank. 1 when it is there. */
static int line_value(const char *line, const char *key, double *value_out)
{
    char mark[NAME_BYTES];
    const char *found;
    char *end;

    snprintf(mark, sizeof mark, " %s=", key);
    found = strstr(line, mark);
    if (found == NULL)
        return 0;
    *value_out = strtod(found + strlen(mark), &end);
    return end != found + strlen(mark);
}

static int is_result(const char *line, const char *kind)
{
    size_t length = strlen(WORKER_LINE_MARK);

    return strncmp(line, WORKER_LINE_MARK, length) == 0 &&
           line[length] == ' ' &&
           strncmp(line + length + 1, kind, strlen(kind)) == 0;
}

/* The text of KEY=TEXT. */
static int line_text(const char *line, const char *key, char *text,
                     size_t bytes)
{
    char mark[NAME_BYTES];
    const char *found;
    size_t length;

    snprintf(mark, sizeof mark, " %s=", key);
    found = strstr(line, mark);
    if (found == NULL)
        return 0;
    found += strlen(mark);
    length = strcspn(found, " ");
    if (length >= bytes)
        return 0;
    memcpy(text, found, length);
    text[length] = '\0';
    return 1;
}

/* Which case a line is about; the number of cases: of none. */
static size_t line_case(const struct noise_options *options, const char *line)
{
    char name[NAME_BYTES];
    double bytes;

    return line_text(line, "coll", name, sizeof name) &&
                   line_value(line, "bytes", &bytes)
               ? noise_case_find(options, name, (size_t)bytes)
               : options->cases_count;
}

static size_t line_level(const struct noise_options *options, const char *line)
{
    char name[LEVEL_NAME_BYTES];

    return line_text(line, "noise", name, sizeof name)
               ? noise_level_find(options, name)
               : options->levels.count;
}

/* One run: its cases, and the results of its lines. */
struct run {
    struct campaign *campaign;
    size_t contender;
    unsigned round;
    struct launch_experiment experiment;
    unsigned results, expected;
};

/* Takes the times of single calls, if they are kept. */
static void call_times_take(struct campaign_cell *cell, const char *line)
{
    double p50_us, p99_us, most_us;

    if (!line_value(line, "p50_us", &p50_us) ||
        !line_value(line, "p99_us", &p99_us) ||
        !line_value(line, "most_us", &most_us))
        return;
    campaign_add(&cell->p50_us, p50_us);
    campaign_add(&cell->p99_us, p99_us);
    campaign_add(&cell->most_us, most_us);
}

static void level_line(struct run *run, const char *line)
{
    const struct noise_options *options = run->campaign->options;
    size_t which = line_case(options, line), level = line_level(options, line);
    struct campaign_cell *cell;
    double us, injected = 0;

    if (which == options->cases_count || level == options->levels.count ||
        !line_value(line, "avg_us", &us))
        return;
    run->results++;
    cell = campaign_cell(run->campaign, run->contender, which, level);
    if (cell->us.count > run->round)
        return; /* known from before */
    (void)line_value(line, "injected_percent", &injected);
    (void)line_value(line, "room_bytes", &cell->room_bytes);
    campaign_add(&cell->us, us);
    campaign_add(&cell->injected, injected);
    call_times_take(cell, line);
}

static void delay_line(struct run *run, const char *line)
{
    const struct noise_options *options = run->campaign->options;
    size_t which = line_case(options, line);
    struct campaign_rank *numbers;
    double rank, plain_us, delayed_us;

    if (which == options->cases_count || !line_value(line, "rank", &rank) ||
        !line_value(line, "plain_us", &plain_us) ||
        !line_value(line, "delayed_us", &delayed_us) || rank < 0 ||
        rank >= options->ranks)
        return;
    run->results++;
    numbers =
        campaign_rank(run->campaign, run->contender, which, (unsigned)rank);
    if (numbers->plain_us.count > run->round)
        return;
    campaign_add(&numbers->plain_us, plain_us);
    campaign_add(&numbers->delayed_us, delayed_us);
}

static void rank_line(struct run *run, const char *line)
{
    struct campaign_place *place;
    double rank;

    if (!line_value(line, "rank", &rank) || rank < 0 ||
        rank >= run->campaign->options->ranks)
        return;
    place = &run->campaign->places[(unsigned)rank];
    (void)line_text(line, "host", place->host, sizeof place->host);
    (void)line_text(line, "cores", place->cores, sizeof place->cores);
    (void)line_value(line, "clock_ahead_us", &place->clock_ahead_us);
    (void)line_value(line, "clock_error_us", &place->clock_error_us);
    (void)line_value(line, "clock_drift_us", &place->clock_drift_us);
}

static void run_line(void *arg, const char *line)
{
    struct run *run = arg;

    if (is_result(line, "noise"))
        level_line(run, line);
    else if (is_result(line, "delay"))
        delay_line(run, line);
    else if (is_result(line, "rank"))
        rank_line(run, line);
}

/* Cells that a run has left without a result are not tried again, nor are those
 * without a base. */
static void failures_note(struct run *run)
{
    const struct noise_options *options = run->campaign->options;
    const struct launch_experiment *experiment = &run->experiment;
    size_t i, level;

    for (i = 0; i < options->cases_count; i++) {
        if (!experiment->cases[i])
            continue;
        if (experiment->is_delay)
            run->campaign->contenders[run->contender].delay_failed[i] |=
                campaign_rank(run->campaign, run->contender, i,
                              options->ranks - 1)
                    ->plain_us.count <= run->round;
        for (level = 0; !experiment->is_delay && level < options->levels.count;
             level++) {
            struct campaign_cell *cell =
                campaign_cell(run->campaign, run->contender, i, level);

            cell->failed |= cell->us.count <= run->round;
        }
    }
}

/* 0 when it was interrupted. */
static int run_one(struct run *run)
{
    struct campaign *campaign = run->campaign;
    const struct launch *launch = &campaign->contenders[run->contender].launch;
    struct launch_command command;
    struct child child = {.argv = command.argv,
                          .limit_s = campaign->options->limit_s,
                          .on_line = run_line,
                          .arg = run};
    char what[WHAT_BYTES];

    snprintf(what, sizeof what, "%s %s", launch->name,
             run->experiment.is_delay ? "with one rank delayed"
                                      : "under noise");
    progress_show(campaign, what);
    launch_command_build(launch, campaign->options, &run->experiment, &command);
    if (!child_run(&child) || run->results != run->expected) {
        if (campaign->options->raw != NULL)
            results_parts_sweep(campaign->options->raw);
        if (child.end == CHILD_INTERRUPTED)
            return 0;
        failure_report(campaign, what, &child);
        failures_note(run);
    }
    campaign->runs_done++;
    if (campaign->manifest != NULL &&
        !manifest_write(campaign->manifest, campaign))
        return 0;
    return campaign->rows == NULL || rows_add(campaign->rows, campaign);
}

/* 1: the case still lacks this round. */
static int is_wanted(const struct run *run, size_t which)
{
    const struct noise_options *options = run->campaign->options;
    const struct campaign_contender *contender =
        &run->campaign->contenders[run->contender];
    size_t level;
    unsigned rank;

    for (rank = 0; run->experiment.is_delay && rank < options->ranks; rank++)
        if (campaign_rank(run->campaign, run->contender, which, rank)
                ->plain_us.count <= run->round)
            return !contender->delay_failed[which];
    if (run->experiment.is_delay)
        return 0;
    for (level = 0; level < options->levels.count; level++) {
        const struct campaign_cell *cell =
            campaign_cell(run->campaign, run->contender, which, level);

        if (!cell->failed && cell->us.count <= run->round)
            return !campaign_cell(run->campaign, run->contender, which, 0)
                        ->failed;
    }
    return 0;
}

/* The time of the library's call without noise, which is the length of local's
 * calls with and without noise. 0: not known yet. */
static double xylem_us(const struct campaign *campaign, size_t which)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        if (strcmp(campaign->contenders[i].launch.name, IMPL_XYLEM) == 0)
            return campaign_median(&campaign_cell(campaign, i, which, 0)->us);
    return 0;
}

/* 1: one list of collectives and one of sizes name all cases. */
static int is_one_launch(const struct run *run)
{
    const struct noise_options *options = run->campaign->options;
    size_t i;

    if (strcmp(run->campaign->contenders[run->contender].launch.name,
               "local") == 0)
        return 0; /* calls of one length */
    for (i = 0; i < options->cases_count; i++)
        if (!run->experiment.cases[i] &&
            launch_has(&run->campaign->contenders[run->contender].launch,
                       options->cases[i].coll))
            return 0;
    return 1;
}

static unsigned results_of_case(const struct run *run)
{
    const struct noise_options *options = run->campaign->options;

    return run->experiment.is_delay ? options->ranks
                                    : (unsigned)options->levels.count;
}

static unsigned runs_of(const struct campaign *campaign, size_t contender)
{
    const struct noise_options *options = campaign->options;
    int is_local =
        strcmp(campaign->contenders[contender].launch.name, "local") == 0;

    return is_local ? (unsigned)options->cases_count : 1;
}

/* The cases of one contender in one round, in one launch or in one for each. 0
 * when it was interrupted. */
static int run_cases(struct campaign *campaign, size_t contender,
                     unsigned round, int is_delay)
{
    const struct noise_options *options = campaign->options;
    struct run all = {.campaign = campaign,
                      .contender = contender,
                      .round = round,
                      .experiment = {.is_delay = is_delay, .round = round}};
    int ok = 1;
    size_t i;

    for (i = 0; i < options->cases_count; i++) {
        all.experiment.cases[i] =
            launch_has(&campaign->contenders[contender].launch,
                       options->cases[i].coll) &&
            is_wanted(&all, i);
        if (all.experiment.cases[i])
            all.expected += results_of_case(&all);
    }
    if (all.expected == 0) {
        campaign->runs_done += runs_of(campaign, contender);
        campaign->runs_skipped += runs_of(campaign, contender);
        return 1;
    }
    if (is_one_launch(&all))
        return run_one(&all);
    for (i = 0; i < options->cases_count && ok; i++) {
        struct run one = all;

        if (!all.experiment.cases[i])
            continue;
        memset(one.experiment.cases, 0, sizeof one.experiment.cases);
        one.experiment.cases[i] = 1;
        one.experiment.call_us = xylem_us(campaign, i);
        one.expected = results_of_case(&one);
        ok = run_one(&one);
    }
    return ok;
}

int rounds_run(struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    unsigned experiments =
        (options->levels.count > 0) + (unsigned)options->has_delay;
    unsigned round;
    size_t i;

    campaign->begin_ns = noise_now_ns();
    campaign->shown_ns = campaign->begin_ns;
    for (i = 0; i < campaign->contenders_count; i++)
        campaign->runs_planned +=
            runs_of(campaign, i) * experiments * options->rounds;
    for (round = 0; round < options->rounds; round++) {
        for (i = 0; i < campaign->contenders_count; i++) {
            if ((options->levels.count > 0 &&
                 !run_cases(campaign, i, round, 0)) ||
                (options->has_delay && !run_cases(campaign, i, round, 1)))
                return 0;
        }
    }
    progress_clear();
    return 1;
}
