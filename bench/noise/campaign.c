/* A campaign. One thread; one child at a time, so that nothing else runs while
 * it measures. */
#include "bench/noise/campaign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/common/child.h"
#include "bench/measure/noise.h"
#include "bench/measure/stats.h"
#include "bench/measure/worker.h"

enum { NAME_BYTES = 64, WHY_BYTES = 256, WHAT_BYTES = 128 };

/* Between two lines of progress when nobody watches a terminal. */
static const uint64_t progress_ns = UINT64_C(15000000000);

double campaign_median(const struct campaign_series *series)
{
    double sorted[NOISE_ROUNDS_MAX];

    memcpy(sorted, series->values, sizeof sorted);
    return stats_median(sorted, series->count);
}

static void series_add(struct campaign_series *series, double value)
{
    if (series->count < NOISE_ROUNDS_MAX)
        series->values[series->count++] = value;
}

/* Adds one implementation; what is missing is said. The exit code so far. */
static int contender_add(struct campaign *campaign, const char *name)
{
    struct campaign_contender *contender;
    char why[WHY_BYTES];

    if (campaign->contenders_count == CAMPAIGN_CONTENDERS_MAX) {
        cli_complain(campaign->program, "--impl names more than %d",
                     CAMPAIGN_CONTENDERS_MAX);
        return CLI_EXIT_USAGE;
    }
    contender = &campaign->contenders[campaign->contenders_count];
    if (!launch_find(name, campaign->options->coll, &contender->launch, why,
                     sizeof why)) {
        fprintf(stderr, "%s: %s is left out: %s\n", campaign->program, name,
                why);
        return EXIT_SUCCESS;
    }
    if (!launch_knows_tree(&contender->launch, campaign->options))
        fprintf(stderr, "%s: %s cannot be told to use %s; it chooses itself\n",
                campaign->program, name, campaign->options->algorithm);
    campaign->contenders_count++;
    if (!campaign->options->has_delay)
        return EXIT_SUCCESS;
    contender->ranks =
        calloc(campaign->options->ranks, sizeof *contender->ranks);
    if (contender->ranks != NULL)
        return EXIT_SUCCESS;
    fprintf(stderr, "%s: out of memory\n", campaign->program);
    return EXIT_FAILURE;
}

static const char *known_name(const char *name, size_t length)
{
    const char *known;
    size_t i;

    for (i = 0; (known = launch_name(i)) != NULL; i++) {
        if (strlen(known) == length && strncmp(known, name, length) == 0)
            return known;
    }
    return NULL;
}

/* Adds the implementations that the user lists. */
static int contenders_listed(struct campaign *campaign, const char *list)
{
    int code = EXIT_SUCCESS;

    while (code == EXIT_SUCCESS) {
        size_t length = strcspn(list, ",");
        const char *name = known_name(list, length);

        if (name == NULL) {
            cli_complain(campaign->program, "--impl %.*s: unknown; see --help",
                         (int)length, list);
            return CLI_EXIT_USAGE;
        }
        code = contender_add(campaign, name);
        if (list[length] == '\0')
            break;
        list += length + 1;
    }
    return code;
}

int campaign_create(struct campaign *campaign, const char *program,
                    const struct noise_options *options)
{
    int code = EXIT_SUCCESS;
    const char *name;
    size_t i;

    *campaign = (struct campaign){.program = program, .options = options};
    if (options->impls != NULL)
        code = contenders_listed(campaign, options->impls);
    for (i = 0; options->impls == NULL && code == EXIT_SUCCESS &&
                (name = launch_name(i)) != NULL;
         i++)
        if (launch_is_default(name))
            code = contender_add(campaign, name);
    if (code == EXIT_SUCCESS && campaign->contenders_count == 0) {
        fprintf(stderr, "%s: no implementation can be started\n", program);
        code = EXIT_FAILURE;
    }
    campaign->runs_planned =
        options->rounds * (unsigned)campaign->contenders_count *
        (unsigned)(options->levels_count + (size_t)options->has_delay);
    return code;
}

void campaign_destroy(struct campaign *campaign)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        free(campaign->contenders[i].ranks);
    campaign->contenders_count = 0;
}

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

    if (!is_terminal && now_ns - campaign->shown_ns < progress_ns)
        return;
    campaign->shown_ns = now_ns;
    progress_clear();
    fprintf(stderr, "%s: run %u of %u, %.0f s: %s%s", campaign->program,
            campaign->runs_done + 1, campaign->runs_planned, elapsed_s, what,
            is_terminal ? "" : "\n");
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

/* What the lines of one run leave behind. */
struct collected {
    struct campaign *campaign;
    struct campaign_contender *contender;
    double us;
    unsigned results;
};

static void level_line(void *arg, const char *line)
{
    struct collected *collected = arg;

    if (is_result(line, "noise") && line_value(line, "avg_us", &collected->us))
        collected->results++;
}

static void delay_line(void *arg, const char *line)
{
    struct collected *collected = arg;
    double rank;
    double plain_us;
    double delayed_us;
    struct campaign_rank *numbers;

    if (!is_result(line, "delay") || !line_value(line, "rank", &rank) ||
        !line_value(line, "plain_us", &plain_us) ||
        !line_value(line, "delayed_us", &delayed_us) || rank < 0 ||
        rank >= collected->campaign->options->ranks)
        return;
    numbers = &collected->contender->ranks[(unsigned)rank];
    series_add(&numbers->plain_us, plain_us);
    series_add(&numbers->delayed_us, delayed_us);
    collected->results++;
}

/* One run. 1 when it ended well and gave `expected` results. */
static int run_one(struct collected *collected,
                   struct launch_experiment experiment, const char *what,
                   unsigned expected)
{
    struct campaign *campaign = collected->campaign;
    struct launch_command command;
    struct child child = {.argv = command.argv,
                          .limit_s = campaign->options->limit_s,
                          .on_line =
                              experiment.is_delay ? delay_line : level_line,
                          .arg = collected};
    int ok;

    progress_show(campaign, what);
    launch_command_build(&collected->contender->launch, campaign->options,
                         experiment, &command);
    ok = child_run(&child);
    campaign->runs_done++;
    if (child.end == CHILD_INTERRUPTED)
        return 0;
    if (!ok || collected->results != expected) {
        failure_report(campaign, what, &child);
        ok = 0;
    }
    return ok;
}

/* Without noise, the library's call: as long as those of local are to be, with
 * and without noise. 0: not known yet. */
static double event_us(const struct campaign *campaign)
{
    size_t i;

    for (i = 0; i < campaign->contenders_count; i++)
        if (strcmp(campaign->contenders[i].launch.name, "event") == 0)
            return campaign_median(&campaign->contenders[i].levels[0].us);
    return 0;
}

static void run_level(struct campaign *campaign,
                      struct campaign_contender *contender, size_t index)
{
    struct campaign_level *level = &contender->levels[index];
    struct launch_experiment experiment = {.max_ms =
                                               campaign->options->levels[index],
                                           .call_us = event_us(campaign)};
    struct collected collected = {.campaign = campaign, .contender = contender};
    char what[WHAT_BYTES];

    /* What failed once is not tried again, and nothing without a base. */
    if (level->failed || contender->levels[0].failed) {
        campaign->runs_planned--;
        return;
    }
    if (experiment.max_ms > 0)
        snprintf(what, sizeof what, "%s with bursts of up to %g ms",
                 contender->launch.name, experiment.max_ms);
    else
        snprintf(what, sizeof what, "%s without noise", contender->launch.name);
    if (run_one(&collected, experiment, what, 1))
        series_add(&level->us, collected.us);
    else
        level->failed = !child_is_interrupted();
}

static void run_delay(struct campaign *campaign,
                      struct campaign_contender *contender)
{
    struct launch_experiment experiment = {.is_delay = 1};
    struct collected collected = {.campaign = campaign, .contender = contender};
    char what[WHAT_BYTES];

    if (contender->delay_failed) {
        campaign->runs_planned--;
        return;
    }
    snprintf(what, sizeof what, "%s with rank %u delayed",
             contender->launch.name, campaign->options->delay_rank);
    if (!run_one(&collected, experiment, what, campaign->options->ranks))
        contender->delay_failed = !child_is_interrupted();
}

int campaign_run(struct campaign *campaign)
{
    const struct noise_options *options = campaign->options;
    unsigned round;
    size_t i;
    size_t k;

    campaign->begin_ns = noise_now_ns();
    campaign->shown_ns = campaign->begin_ns;
    for (round = 0; round < options->rounds; round++) {
        for (i = 0; i < campaign->contenders_count; i++) {
            struct campaign_contender *contender = &campaign->contenders[i];

            /* Each round begins with another level. */
            for (k = 0; k < options->levels_count; k++)
                run_level(campaign, contender,
                          (k + round) % options->levels_count);
            if (options->has_delay)
                run_delay(campaign, contender);
            if (child_is_interrupted())
                return 0;
        }
    }
    progress_clear();
    return 1;
}
