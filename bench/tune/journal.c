/* Times that have been measured, a line each. A line that cannot be read is
 * passed over: it was cut off, or is of another version. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/tune.h"
#include "collectives/data/description.h"

static int is_same_plan(const struct tune_time *a, const struct tune_time *b)
{
    return tune_plan_is_same(&a->plan, &b->plan);
}

static int is_same(const struct tune_time *a, const struct tune_time *b)
{
    return a->coll == b->coll && a->bytes == b->bytes &&
           a->shape.nodes == b->shape.nodes &&
           a->shape.node_ranks == b->shape.node_ranks && is_same_plan(a, b);
}

const struct tune_time *tune_journal_find(const struct tune_journal *journal,
                                          const struct tune_time *like)
{
    size_t i;

    for (i = journal->count; i-- > 0;)
        if (is_same(&journal->times[i], like))
            return &journal->times[i];
    return NULL;
}

static int keep(struct tune_journal *journal, const struct tune_time *time)
{
    if (journal->count == journal->room) {
        size_t room = 2 * journal->room + 64;
        struct tune_time *times = realloc(journal->times, room * sizeof *times);
        if (times == NULL)
            return 0;
        journal->times = times;
        journal->room = room;
    }
    journal->times[journal->count++] = *time;
    return 1;
}

int tune_journal_add(struct tune_journal *journal, const struct tune_time *time)
{
    if (journal->file != NULL) {
        fprintf(journal->file,
                "%s %" PRIu32 " %" PRIu32 " %zu %s %zu %" PRIu32 " %" PRIu32
                " %.9g %.9g\n",
                xyl_coll_traits(time->coll)->name, time->shape.nodes,
                time->shape.node_ranks, time->bytes, time->plan.algorithm,
                time->plan.segment_bytes, time->plan.send_window,
                time->plan.recv_window, time->us, time->cost_s);
        fflush(journal->file);
    }
    return keep(journal, time);
}

static int line_read(const char *line, struct tune_time *time)
{
    char coll[32];

    *time = (struct tune_time){.us = 0};
    return sscanf(line,
                  "%31s %" SCNu32 " %" SCNu32 " %zu %63s %zu %" SCNu32
                  " %" SCNu32 " %lf %lf\n",
                  coll, &time->shape.nodes, &time->shape.node_ranks,
                  &time->bytes, time->plan.algorithm, &time->plan.segment_bytes,
                  &time->plan.send_window, &time->plan.recv_window, &time->us,
                  &time->cost_s) == 10 &&
           coll_parse(coll, &time->coll) && time->us > 0;
}

int tune_journal_open(struct tune_journal *journal, const char *path)
{
    char line[256];
    struct tune_time time;

    *journal = (struct tune_journal){.file = fopen(path, "a+")};
    if (journal->file == NULL) {
        perror(path);
        return 0;
    }
    rewind(journal->file);
    while (fgets(line, sizeof line, journal->file) != NULL)
        if (line_read(line, &time) && !keep(journal, &time))
            return 0;
    return 1;
}

void tune_journal_close(struct tune_journal *journal)
{
    if (journal->file != NULL)
        fclose(journal->file);
    free(journal->times);
}
