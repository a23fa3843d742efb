/* The tuner. It times whole plans of a collective for some sizes, on the ranks
 * of a job or on simulated ones, and writes what is fastest as rules of the
 * table that decides (collectives/choose). All ranks of a job run the same
 * search: what one of them alone knows, such as times, the first tells the
 * others before it is used. One thread. */
#ifndef XYL_BENCH_TUNE_TUNE_H
#define XYL_BENCH_TUNE_TUNE_H

#include <jansson.h>
#include <stdio.h>

#include "bench/common/results.h"
#include "bench/tune/model.h"
#include "bench/tune/options.h"
#include "bench/tune/plans.h"

/* What is timed: a plan for a call, and how its ranks come to it. */
struct tune_time {
    xylem_coll_t coll;
    struct tune_shape shape;
    size_t bytes;
    struct tune_plan plan;
    enum tune_arrivals arrivals;
    /* Two times are of the same call if all members above are equal. */
    double us, cost_s;
    double spread_us; /* by so much ranks come late at most */
    int is_counted;   /* 1: the cost of this search has cost_s in it */
    /* Each leader's time lasts until it has ended, or until the last rank of
     * its node has, if all ranks of the node take part. */
    uint32_t leaders;        /* 0: not asked for, or not known */
    const double *leader_us; /* [leaders], of the journal that has the time */
};

/* Where plans are timed. Functions that return int return 1, or 0 when they
 * have said what is wrong. */
struct tune_place {
    struct tune_shape shape;
    void *state;
    /* The time of a call in us: until its last rank has ended where all come
     * together, else what ranks spend in it on average. Of fewer ranks than the
     * place has (what->shape) it is one of all ranks of a node, or of one rank
     * of each node. Fills leader_us[what->leaders], alike on all ranks of the
     * job: none, or as many as the place has nodes, of a call to which all come
     * together. */
    int (*time)(void *state, const struct tune_time *what, double *us_out,
                double *leader_us);
    /* The first rank's bytes become those of all. */
    int (*agree)(void *state, void *data, size_t bytes);
    /* Messages of up to so many bytes lie in caches, for which tasks are timed;
     * 0: all are alike. */
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

/* Times that have been measured: also in a file beside the output, from which a
 * search that was broken off goes on. Its first line says where they are from;
 * times from elsewhere are forgotten. */
struct tune_journal {
    struct tune_time *times;
    size_t count, room;
    FILE *file; /* NULL: none */
};

int tune_journal_open(struct tune_journal *journal, const char *path,
                      const char *where);
/* The same of a file that is not written to; 0: it has said why not. */
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
    size_t end;   /* where the next size's plan begins to be the faster one; 0:
                     halfway, in log space */
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
    double measuring_s;      /* that all measurements have taken */
    size_t campaigns_left;   /* which share the time that is left */
    size_t expected, seen;   /* times that are needed, about; that were */
    size_t done;             /* measurements */
    double cost_s;           /* of these; on simulated ranks in their time */
    size_t turns;            /* of these the ones of the fastest, in turns, */
    double turns_s;          /* which an exhaustive search has as well */
    double exhaustive_s;     /* what else measuring everything would cost */
    size_t compared, gained; /* sizes, and those that get a rule */
    double gain;             /* sum of logarithms of what is gained */
    size_t checked;   /* middles between two sizes with different plans */
    size_t near_best; /* of these, where the larger size's plan is within
                         5 % of the smaller one's */
    double worst;     /* of it, what the larger size's takes at most */
    int is_over;      /* no time is left */
    struct tune_error by_calls, by_tasks; /* of what was expected of plans in
                                             levels */
};

/* About how many times a search takes; 0: there is nothing to choose. */
size_t tune_search_expect(const struct tune_options *options, xylem_coll_t coll,
                          const struct tune_shape *shape);
/* Fills choices[options->bytes_count]. */
int tune_search_run(struct tune_search *search, xylem_coll_t coll,
                    enum tune_arrivals arrivals, struct tune_choice *choices);

/* ---- the table ---- */

/* As rules spell it. */
const char *tune_memory_text(enum tune_memory memory);

struct tune_table;
struct tune_table *tune_table_create(const struct tune_options *options);
void tune_table_destroy(struct tune_table *table);
int tune_table_add(struct tune_table *table, xylem_coll_t coll,
                   enum tune_arrivals arrivals, const struct tune_shape *shape,
                   const struct tune_choice *choices);
/* One size that was learnt, options->bytes[0]: the rule is for what is at most
 * twice as long or half as long. */
int tune_table_add_sizes(struct tune_table *table,
                         const struct tune_options *options, xylem_coll_t coll,
                         const struct tune_shape *shape,
                         const struct tune_choice *choice);
/* The rules of a file come behind; none where there is no file. */
int tune_table_join(struct tune_table *table, const char *path);
/* Whether what is at `path` can be joined and written: nothing, or a table of
 * this machine, or of simulated ones where the options name one. 0: it has said
 * why not. */
int tune_table_may_write(const struct tune_options *options, const char *path);
/* The rule of the same place among `rules`; NULL: there is none. */
json_t *tune_rule_counterpart(json_t *rule, const json_t *rules);
int tune_table_write(const struct tune_table *table, const char *path);

/* A table as a file for people. */
void tune_json_write(json_t *table, FILE *out);

/* ---- work on files: show, diff, merge, check, plot, learn ---- */

/* A table, owned; NULL: the file has none, and why has been said. */
json_t *tune_table_load(const char *program, const char *path);
int tune_learn_main(const struct tune_options *options, const char *where);

/* Returns the exit code. */
int tune_files_main(const struct tune_options *options);

#endif
