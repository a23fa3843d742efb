/* Files of results. Measurements cost time: no program takes away rows that a
 * file has from before, and a file that is written whole replaces only a file
 * of its own kind. One thread. */
#ifndef XYL_BENCH_COMMON_RESULTS_H
#define XYL_BENCH_COMMON_RESULTS_H

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
    int has_failed; /* rows are lost, which has been said */
    char *text;     /* the rows that were there, each ended by a zero byte */
    char **rows;    /* in their order */
    char **sorted;  /* the same, to find one */
    size_t rows_count;
    char *batch; /* since the last commit */
    size_t batch_bytes;
};

/* Opens the file, or makes it. A last row that was cut off in the middle goes.
 * Until results_close no other process can open it so. 0: it is left as it is,
 * and `program` has said why. `path` may be no regular file, such as
 * /dev/stdout, which has no rows from before. */
int results_open(struct results *results, const char *program, const char *path,
                 const char *const *titles, unsigned columns,
                 enum results_way way);

/* Calls `take` with the cells of each row that was there. In a column "impl"
 * the library's older name reads as today's (impl_name.h), here and in
 * results_read and where results_commit looks for rows. */
typedef void (*results_take_fn)(void *arg, char *const *cells);
void results_each(const struct results *results, results_take_fn take,
                  void *arg);

/* Adds the rows that have been written since the last commit. `once`: rows that
 * the file had in the same words are left out. 0: they could not be written,
 * and the program has said so once. */
int results_commit(struct results *results, int once);

/* Commits, and closes the file; does nothing when none is open. 0: some rows
 * could not be written. */
int results_close(struct results *results);

/* Calls `take` with each row of a file, its cells in the order of `names`, ""
 * where the file has no such column; the first `needed` must be there. The file
 * stays as it is. 0: it is another, or cannot be read, and `why` says so. */
int results_read(const char *path, const char *const *names, unsigned count,
                 unsigned needed, results_take_fn take, void *arg,
                 const char **why);

/* ---- parameters ---- */

/* The settings of the library and of UCX in the environment, "A=1 B=2" in the
 * order of the names; what has no room is left out at a name. */
void results_settings(char text[RESULTS_SETTINGS_BYTES]);

/* ---- files that are written whole ---- */

/* Whether a program may write `path`: nothing is there, or an empty file, or
 * one that holds `mark`, as all of its own do (NULL: none is its own). To be
 * asked before the work. 0: it may not, and `program` has said why. */
int results_may_replace(const char *program, const char *path,
                        const char *mark);

/* The name under which a file is written, until it is whole. The next process
 * writes over a part that a killed process has left. */
void results_part(const char *path, char part[RESULTS_PATH_BYTES]);
/* Gives a whole file its name, in place of what had it. 0: it could not, the
 * part is gone, and `program` has said so. */
int results_place(const char *program, const char *part, const char *path);

/* Opens a part of this process alone, "PATH.1234.part", for writing: processes
 * that outlive their launcher may write the same file. NULL: the part cannot be
 * written, and `program` has said why. */
FILE *results_part_open(const char *program, const char *path,
                        char part[RESULTS_PATH_BYTES]);
/* Removes such parts from a folder, but for those that a process is writing. */
void results_parts_sweep(const char *folder);

#endif
