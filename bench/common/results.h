/* Files of results. Measurements cost time: no program takes away rows that a
 * file has from before, and a file that is written whole replaces only a file
 * of its own kind. One thread. */
#pragma once

#include "bench/common/table.h"

enum { RESULTS_PATH_BYTES = 4096, RESULTS_SETTINGS_BYTES = 2048 };

/* ---- files of rows ---- */

/* Files that a program takes. */
enum results_way {
    RESULTS_NEW, /* files without rows: the program was not asked to go on */
    RESULTS_ADD  /* files with rows of these columns, too */
};

/* A file of comma-separated values with the titles of one program. Rows are
 * written by the calls of `table`, and reach the file together, at
 * results_commit: a process that is killed leaves those committed before. */
struct results {
    const char *program;
    char path[RESULTS_PATH_BYTES];
    struct table table;
    int file;       /* -1: none is open */
    int has_failed; /* rows are lost, and a message says so */
    char *text;     /* the rows that were there, each ended by a zero byte */
    char **rows;    /* in their order */
    char **sorted;  /* the same, to find one */
    size_t rows_count;
    char *batch; /* since the last commit */
    size_t batch_bytes;
};

/* Opens the file, or creates it. Removes a last row that was cut off. Until
 * results_close no other process can open the file by this function. 0: the
 * file stays as it is, and `program` has printed why. `path` may be no regular
 * file, such as /dev/stdout, which has no older rows. */
int results_open(struct results *results, const char *program, const char *path,
                 const char *const *titles, unsigned columns,
                 enum results_way way);

/* Calls `take` with the cells of each older row. In a column "impl" the
 * library's older name reads as today's (impl_name.h); so it does in
 * results_read, and when results_commit looks for equal rows. */
typedef void (*results_take_fn)(void *arg, char *const *cells);
void results_each(const struct results *results, results_take_fn take,
                  void *arg);

/* Adds the rows written since the last commit. `once`: leaves out rows that the
 * file already had, word for word. 0: they could not be written, and the
 * program has printed that once. */
int results_commit(struct results *results, int once);

/* Commits, and closes the file; does nothing when none is open. 0: some rows
 * could not be written. */
int results_close(struct results *results);

/* Calls `take` with each row of a file, its cells in the order of `names`. A
 * cell is "" if the file lacks the column; the first `needed` columns must
 * exist. The file stays as it is. 0: it is a file of another kind or cannot be
 * read, as `why` says. */
int results_read(const char *path, const char *const *names, unsigned count,
                 unsigned needed, results_take_fn take, void *arg,
                 const char **why);

/* ---- parameters ---- */

/* The settings of the library and of UCX in the environment, "A=1 B=2" in the
 * order of their names; whole settings are left out if there is no room. */
void results_settings(char text[RESULTS_SETTINGS_BYTES]);

/* ---- files that are written whole ---- */

/* 1: a program may write `path`: there is no file, or an empty one, or one that
 * contains `mark`, as all of the program's files do (NULL: it has none). 0: it
 * may not, and `program` has printed why. To be asked before the work. */
int results_may_replace(const char *program, const char *path,
                        const char *mark);

/* The name under which a file is written, until it is whole. The next process
 * writes over a part that a killed process has left. */
void results_part(const char *path, char part[RESULTS_PATH_BYTES]);
/* Gives a whole file its name, and so replaces an older file. 0: it could not,
 * has removed the part, and `program` has printed so. */
int results_place(const char *program, const char *part, const char *path);

/* Opens a part that only this process uses, "PATH.1234.part", for writing, as
 * processes that outlive their launcher may write the same file. NULL: it
 * cannot be written, and `program` has printed why. */
FILE *results_part_open(const char *program, const char *path,
                        char part[RESULTS_PATH_BYTES]);
/* Removes such parts from a folder, except those that a process is writing. */
void results_parts_sweep(const char *folder);
