/* Makes rules of what long runs have learnt (XYLEM_TUNING_LEARN): each rank's
 * file has the times of calls by the library's choice and by other plans. */
#include <stdlib.h>
#include <string.h>

#include "bench/tune/tune.h"
#include "collectives/data/description.h"

/* Fewer calls of a plan, on any rank, say nothing. */
static const double calls_least = 16;
/* A plan is worth a rule if it takes less than this share of the time of the
 * library's choice. */
static const double worth_learning = 0.97;

/* The times of one plan, over all ranks. */
struct lesson {
    struct tune_time time; /* us: the sum */
    double calls_least;
    size_t ranks;
};

struct lessons {
    struct lesson *all;
    size_t count, files;
};

static int is_same_call(const struct tune_time *a, const struct tune_time *b)
{
    return a->coll == b->coll && a->bytes == b->bytes &&
           a->shape.nodes == b->shape.nodes &&
           a->shape.node_ranks == b->shape.node_ranks;
}

static int lesson_add(struct lessons *lessons, const struct tune_time *time)
{
    struct lesson *lesson = NULL;
    size_t i = 0;

    while (i < lessons->count &&
           !(is_same_call(&lessons->all[i].time, time) &&
             tune_plan_is_same(&lessons->all[i].time.plan, &time->plan)))
        i++;
    if (i < lessons->count) {
        lesson = &lessons->all[i];
    } else {
        lesson = realloc(lessons->all, (lessons->count + 1) * sizeof *lesson);
        if (lesson == NULL)
            return 0;
        lessons->all = lesson;
        lesson += lessons->count++;
        *lesson = (struct lesson){.time = *time, .calls_least = time->cost_s};
        lesson->time.us = 0;
    }
    lesson->time.us += time->us;
    lesson->ranks++;
    if (time->cost_s < lesson->calls_least)
        lesson->calls_least = time->cost_s;
    return 1;
}

static int file_read(struct lessons *lessons, const char *path,
                     const char *where)
{
    struct tune_journal journal;
    size_t i;
    int ok = tune_journal_read(&journal, path, where);

    for (i = 0; ok && i < journal.count; i++)
        ok = lesson_add(lessons, &journal.times[i]);
    tune_journal_close(&journal);
    lessons->files++;
    return ok;
}

/* For calls like `of`: the library's choice (is_own), or the fastest other
 * plan, by the mean over ranks. NULL: too little is known. */
static const struct lesson *lesson_find(const struct lessons *lessons,
                                        const struct tune_time *like,
                                        int is_own)
{
    const struct lesson *lesson = lessons->all, *found = NULL;
    const struct lesson *end = lesson + lessons->count;

    for (; lesson < end; lesson++)
        if (is_same_call(&lesson->time, like) &&
            (strcmp(lesson->time.plan.algorithm, "auto") == 0) == is_own &&
            lesson->calls_least >= calls_least &&
            (found == NULL || lesson->time.us < found->time.us))
            found = lesson;
    return found;
}

/* Makes a rule for sizes like the learnt one, if another plan gains. */
static int rule_learn(const struct tune_options *given,
                      struct tune_table *table, const struct lessons *lessons,
                      const struct lesson *own)
{
    const struct tune_time *time = &own->time;
    const struct lesson *best = lesson_find(lessons, time, 0);
    struct tune_options options = *given;
    struct tune_choice choice;
    double ranks = (double)own->ranks;

    if (best == NULL || best->ranks != own->ranks)
        return 1;
    if (!given->quiet)
        printf(
            "%s of %zu bytes on %u nodes of %u: %.2f us, by %s in segments of "
            "%zu bytes %.2f\n",
            xyl_coll_traits(time->coll)->name, time->bytes, time->shape.nodes,
            time->shape.node_ranks, time->us / ranks, best->time.plan.algorithm,
            best->time.plan.segment_bytes, best->time.us / ranks);
    if (best->time.us >= worth_learning * time->us)
        return 1;
    options.bytes_count = 1;
    options.bytes[0] = time->bytes;
    choice = (struct tune_choice){
        .plan = best->time.plan, .us = best->time.us / ranks, .is_known = 1};
    return tune_table_add_sizes(table, &options, time->coll, &time->shape,
                                &choice);
}

int tune_learn_main(const struct tune_options *options, const char *where)
{
    struct lessons lessons = {.count = 0};
    struct tune_table *table = tune_table_create(options);
    const struct lesson *lesson;
    char *const *path = options->words + 1;
    int ok = table != NULL && tune_table_may_write(options, options->output);
    size_t i;

    for (; ok && *path != NULL; path++)
        ok = file_read(&lessons, *path, where);
    for (i = 0; ok && i < lessons.count; i++) {
        lesson = lesson_find(&lessons, &lessons.all[i].time, 1);
        if (lesson == &lessons.all[i])
            ok = rule_learn(options, table, &lessons, lesson);
    }
    ok = ok && tune_table_join(table, options->output) &&
         tune_table_write(table, options->output);
    free(lessons.all);
    tune_table_destroy(table);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
