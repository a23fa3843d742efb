/* Times that have been measured, a line each. A line that cannot be read is
 * passed over: it was cut off, or is of another version. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/tune/tune.h"
#include "collectives/data/description.h"

const char *const tune_arrivals_name[TUNE_ARRIVALS] = {
    [TUNE_SYNCHRONISED] = "synchronised",
    [TUNE_RANDOM] = "random",
    [TUNE_LATE] = "late",
};

static const char head[] = "# xylem-tune 2, times of ";

static int is_same_plan(const struct tune_time *a, const struct tune_time *b)
{
    return tune_plan_is_same(&a->plan, &b->plan);
}

static int is_same(const struct tune_time *a, const struct tune_time *b)
{
    return a->coll == b->coll && a->bytes == b->bytes &&
           a->arrivals == b->arrivals && a->shape.nodes == b->shape.nodes &&
           a->shape.node_ranks == b->shape.node_ranks && is_same_plan(a, b);
}

struct tune_time *tune_journal_find(const struct tune_journal *journal,
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
    const size_t bytes = time->leaders * sizeof *time->leader_us;
    double *leader_us = bytes > 0 ? malloc(bytes) : NULL;

    if (bytes > 0 && leader_us == NULL)
        return 0;
    if (bytes > 0)
        memcpy(leader_us, time->leader_us, bytes);
    if (journal->count == journal->room) {
        size_t room = 2 * journal->room + 64;
        struct tune_time *times = realloc(journal->times, room * sizeof *times);
        if (times == NULL) {
            free(leader_us);
            return 0;
        }
        journal->times = times;
        journal->room = room;
    }
    journal->times[journal->count] = *time;
    journal->times[journal->count++].leader_us = leader_us;
    return 1;
}

int tune_journal_add(struct tune_journal *journal, const struct tune_time *time)
{
    uint32_t i;

    if (journal->file != NULL) {
        fprintf(journal->file,
                "%s %" PRIu32 " %" PRIu32 " %zu %s %zu %" PRIu32 " %" PRIu32
                " %.17g %.9g %s",
                xyl_coll_traits(time->coll)->name, time->shape.nodes,
                time->shape.node_ranks, time->bytes, time->plan.algorithm,
                time->plan.segment_bytes, time->plan.send_window,
                time->plan.recv_window, time->us, time->cost_s,
                tune_arrivals_name[time->arrivals]);
        for (i = 0; i < time->leaders; i++)
            fprintf(journal->file, " %.3f", time->leader_us[i]);
        fputc('\n', journal->file);
        fflush(journal->file);
    }
    return keep(journal, time);
}

static int arrivals_read(const char *text, enum tune_arrivals *arrivals)
{
    int i = 0;

    while (i < TUNE_ARRIVALS && strcmp(text, tune_arrivals_name[i]) != 0)
        i++;
    *arrivals = (enum tune_arrivals)i;
    return i < TUNE_ARRIVALS;
}

/* *rest_out: the text behind the arrivals. */
static int line_read(const char *line, struct tune_time *time,
                     const char **rest_out)
{
    char coll[32], arrivals[16];
    int length = 0;

    *time = (struct tune_time){.us = 0};
    if (sscanf(line,
               "%31s %" SCNu32 " %" SCNu32 " %zu %127s %zu %" SCNu32 " %" SCNu32
               " %lf %lf %15s%n",
               coll, &time->shape.nodes, &time->shape.node_ranks, &time->bytes,
               time->plan.algorithm, &time->plan.segment_bytes,
               &time->plan.send_window, &time->plan.recv_window, &time->us,
               &time->cost_s, arrivals, &length) != 11)
        return 0;
    *rest_out = line + length;
    return coll_parse(coll, &time->coll) &&
           arrivals_read(arrivals, &time->arrivals) && time->us > 0 &&
           isfinite(time->us) && isfinite(time->cost_s);
}

/* Reads numbers up to the end of the line, and returns how many; 0 if something
 * else is there, or the line was cut off. */
static uint32_t leaders_read(const char *text, double *us)
{
    uint32_t count = 0;
    char *end;

    for (;; text = end) {
        us[count] = strtod(text, &end);
        if (end == text || !isfinite(us[count]))
            break;
        count++;
    }
    return strcmp(text, "\n") == 0 ? count : 0;
}

/* Keeps the line's time, if it has one. 0: there is no memory. */
static int line_keep(struct tune_journal *journal, const char *line)
{
    struct tune_time time;
    const char *rest;
    double *us;
    int ok;

    if (!line_read(line, &time, &rest))
        return 1;
    us = malloc((strlen(rest) + 1) * sizeof *us); /* a blank before each */
    if (us == NULL)
        return 0;
    time.leaders = leaders_read(rest, us);
    time.leader_us = us;
    ok = keep(journal, &time);
    free(us);
    return ok;
}

/* 1: the line says from where the times behind it are. */
static int is_head(const char *line)
{
    return strncmp(line, "# xylem-tune ", strlen("# xylem-tune ")) == 0;
}

static int is_head_of(const char *line, const char *where)
{
    size_t length = strlen(head);

    return strncmp(line, head, length) == 0 &&
           strncmp(line + length, where, strlen(where)) == 0 &&
           strcmp(line + length + strlen(where), "\n") == 0;
}

/* A pass over all lines; it skips those of other places, which have heads of
 * their own. */
struct reading {
    int has_head, has_others; /* of this place, of others */
    int is_here;              /* the last ones */
    int is_whole;             /* the last line has an end */
};

static int lines_read(struct tune_journal *journal, const char *where,
                      struct reading *reading)
{
    char *line = NULL;
    size_t room = 0;
    int ok = 1;

    *reading = (struct reading){.is_whole = 1};
    while (ok && getline(&line, &room, journal->file) >= 0) {
        if (is_head(line)) {
            reading->is_here = is_head_of(line, where);
            reading->has_head |= reading->is_here;
            reading->has_others |= !reading->is_here;
        } else if (!reading->has_head && !reading->has_others) {
            ok = 0; /* no file of times */
        }
        reading->is_whole = strchr(line, '\n') != NULL;
        if (ok && reading->is_here)
            ok = line_keep(journal, line);
    }
    free(line);
    return ok;
}

int tune_journal_open(struct tune_journal *journal, const char *path,
                      const char *where)
{
    struct reading reading;
    int ok;

    *journal = (struct tune_journal){.file = fopen(path, "a+")};
    if (journal->file == NULL || fseek(journal->file, 0, SEEK_SET) != 0) {
        perror(path);
        return 0;
    }
    if (!lines_read(journal, where, &reading)) {
        fprintf(stderr,
                "%s is not a file of times, and is left as it is: name another "
                "(-o)\n",
                path);
        return 0;
    }
    if (reading.has_others && !reading.has_head)
        fprintf(stderr,
                "%s has times of another machine, version or memory, which "
                "stay: here they are measured anew\n",
                path);
    ok = fseek(journal->file, 0, SEEK_END) == 0 &&
         (reading.is_whole || fputc('\n', journal->file) != EOF) &&
         (reading.is_here ||
          fprintf(journal->file, "%s%s\n", head, where) > 0) &&
         fflush(journal->file) == 0;
    if (!ok)
        perror(path);
    return ok;
}

int tune_journal_read(struct tune_journal *journal, const char *path,
                      const char *where)
{
    struct reading reading;
    int ok;

    *journal = (struct tune_journal){.file = fopen(path, "r")};
    if (journal->file == NULL) {
        perror(path);
        return 0;
    }
    ok = lines_read(journal, where, &reading) && reading.has_head;
    if (!ok)
        fprintf(stderr, "%s has no times of this machine and version\n", path);
    return ok;
}

void tune_journal_close(struct tune_journal *journal)
{
    size_t i;

    if (journal->file != NULL)
        fclose(journal->file);
    for (i = 0; i < journal->count; i++)
        free((void *)journal->times[i].leader_us);
    free(journal->times);
}
