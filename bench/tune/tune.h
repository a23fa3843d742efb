/* The tuner. It times whole plans of a collective for some sizes, on the ranks
 * of a job or on simulated ones, and writes the fastest as rules of the table
 * that decides (collectives/choose). All ranks of a job run the same search:
 * the first rank tells the others all that only one rank can know, such as
 * times, before they use it. One thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "bench/common/results.h"
#include "bench/tune/model.h"
#include "bench/tune/options.h"
#include "bench/tune/plans.h"

/* A timing: a plan for a call, and how its ranks come to it. */
struct tune_time {
    xylem_coll_t coll;
    struct tune_shape shape;
    size_t bytes;
    struct tune_plan plan;
    enum tune_arrivals arrivals;
    /* Two times are of the same call if all members above are equal. */
    double us, cost_s;
    double spread_us; /* by which ranks come late at most */
    int is_counted;   /* 1: the cost of this search has cost_s in it */
    /* Each leader's time lasts until it has ended, or until the last rank of
     * its node has, if all ranks of the node take part. */
    uint32_t leaders;        /* 0: not asked for, or not known */
    const double *leader_us; /* [leaders], of the journal that has the time */
};

/* The place where plans are timed. Functions that return int return 1, or 0
 * after a message that says what is wrong. */
struct tune_place {
    struct tune_shape shape;
    void *state;
    /* The time of a call in us: until its last rank has ended if all come
     * together, else the average time of ranks in the call. If what->shape has
     * fewer ranks than the place, the call is one of all ranks of a node, or of
     * one rank of each node. Fills leader_us[what->leaders], alike on all ranks
     * of the job: none, or as many as the place has nodes, of a call to which
     * all come together. */
    int (*time)(void *state, const struct tune_time *what, double *us_out,
                double *leader_us);
    /* All ranks get the first rank's bytes. */
    int (*agree)(void *state, void *data, size_t bytes);
    /* Messages of up to so many bytes lie in caches; tasks are timed for these.
     * 0: all messages are alike. */
    size_t near_bytes;
    int shares_memory; /* the ranks of each node */
    int nodes_alike;   /* a call of one node is timed on one, for all */
    int is_first;      /* rank: reports and writes */
};

/* The ranks of this job; all return, with a place of their own. */
int tune_job_open(const struct tune_options *options, struct tune_place *place);
void tune_job_close(struct tune_place *place);
/* Simulated ones; the shape says how many. */
int tune_simulation_open(const struct tune_options *options,
                         struct tune_place *place);
void tune_simulation_close(struct tune_place *place);

/* ---- what is known ---- */

/* Measured times. A file beside the output has them, too, so that a search that
 * was broken off can go on. Its first line says from where they are; times from
 * elsewhere are not used. */
struct tune_journal {
    struct tune_time *times;
    size_t count, room;
    FILE *file; /* NULL: none */
};

int tune_journal_open(struct tune_journal *journal, const char *path,
                      const char *where);
/* The same for a file that is only read; 0: a message says why not. */
int tune_journal_read(struct tune_journal *journal, const char *path,
                      const char *where);
void tune_journal_close(struct tune_journal *journal);
/* NULL: not known. */
struct tune_time *tune_journal_find(const struct tune_journal *journal,
                                    const struct tune_time *like);
/* Copies the time, with those of its leaders. */
int tune_journal_add(struct tune_journal *journal,
                     const struct tune_time *time);

/* ---- the search ---- */

/* The fastest plan of a size. */
struct tune_choice {
    struct tune_plan plan;
    double us;
    int is_known; /* else the time ran out before */
    size_t end; /* the next size's plan is faster from here on; 0: from halfway,
                   in log space */
};

/* The error of a model, expected over measured time less one: the sum of
 * magnitudes, and how many these are. */
struct tune_error {
    double sum;
    size_t count;
};

struct tune_search {
    const struct tune_options *options;
    struct tune_place *place;
    struct tune_journal *journal;
    struct results *csv; /* NULL: none */
    uint64_t begin_ns, shown_ns;
    double measuring_s;      /* the time of all measurements */
    size_t campaigns_left;   /* which share the time that is left */
    size_t expected, seen;   /* times that the search needs, about; it has */
    size_t done;             /* measurements */
    double cost_s;           /* the same, on simulated ranks in their time */
    size_t turns;            /* of these the ones of the fastest, in turns, */
    double turns_s;          /* which an exhaustive search has as well */
    double exhaustive_s;     /* the further cost of measuring everything */
    size_t compared, gained; /* sizes, and those that get a rule */
    double gain;             /* sum of logarithms of the gains */
    size_t checked;   /* middles between two sizes with different plans */
    size_t near_best; /* of these, where the larger size's plan is within
                         5 % of the smaller one's */
    double worst;     /* the most that the larger size's takes of it */
    int is_over;      /* no time is left */
    struct tune_error by_calls, by_tasks; /* of the times expected of plans in
                                             levels */
};

/* About how many times a search takes; 0: there is nothing to choose. */
size_t tune_search_expect(const struct tune_options *options, xylem_coll_t coll,
                          const struct tune_shape *shape);
/* Fills choices[options->bytes_count]. */
int tune_search_run(struct tune_search *search, xylem_coll_t coll,
                    enum tune_arrivals arrivals, struct tune_choice *choices);

/* ---- the table ---- */

/* The memory as rules spell it. */
const char *tune_memory_text(enum tune_memory memory);

struct tune_table;
struct tune_table *tune_table_create(const struct tune_options *options);
void tune_table_destroy(struct tune_table *table);
int tune_table_add(struct tune_table *table, xylem_coll_t coll,
                   enum tune_arrivals arrivals, const struct tune_shape *shape,
                   const struct tune_choice *choices);
/* Adds one learnt size, options->bytes[0]: the rule is for messages of half to
 * twice its length. */
int tune_table_add_sizes(struct tune_table *table,
                         const struct tune_options *options, xylem_coll_t coll,
                         const struct tune_shape *shape,
                         const struct tune_choice *choice);
/* Adds the rules of a file behind the others, if the file exists. */
int tune_table_join(struct tune_table *table, const char *path);
/* Whether what is at `path` can be joined and written: nothing, or a table of
 * this machine, or of simulated ones where the options name one. 0: it has said
 * why not. */
int tune_table_may_write(const struct tune_options *options, const char *path);
int tune_table_write(const struct tune_table *table, const char *path);

/* ---- rules.c ---- */

/* A table, owned; NULL: the file has none, and `program` has printed why. */
json_t *tune_table_load(const char *program, const char *path);
/* Writes a table for people, each rule on a line. */
void tune_json_write(json_t *table, FILE *out);
/* The rule of the same place among `rules`; NULL: there is none. */
json_t *tune_rule_counterpart(json_t *rule, const json_t *rules);
/* 1: both rules, wherever they hold, run the same. */
int tune_rules_run_alike(json_t *a, json_t *b);

/* ---- work on files: show, diff, merge, check, plot, learn ---- */

int tune_learn_main(const struct tune_options *options, const char *where);

/* Returns the exit code. */
int tune_files_main(const struct tune_options *options);
