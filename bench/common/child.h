/* A child process with a limit of the time without a line of output. Its
 * standard output goes line by line to a callback; its last lines are kept for
 * a report of its failure. */
#pragma once

#include <stdint.h>

enum { CHILD_TAIL_LINES = 20, CHILD_LINE_BYTES = 512 };

enum child_end {
    CHILD_EXITED,      /* `code` is its exit code */
    CHILD_KILLED,      /* `code` is the signal */
    CHILD_TIMED_OUT,   /* and was ended */
    CHILD_INTERRUPTED, /* this process was told to end; the child was ended */
    CHILD_NOT_STARTED  /* `code` is an errno value */
};

typedef void (*child_line_fn)(void *arg, const char *line);

struct child {
    char *const *argv;     /* argv[0] is looked up in PATH */
    double limit_s;        /* the longest time from line to line */
    child_line_fn on_line; /* a line of standard output, without its end */
    void *arg;
    /* Filled by child_run. */
    enum child_end end;
    int code;
    char tail[CHILD_TAIL_LINES][CHILD_LINE_BYTES];
    uint64_t heard_ns;
    unsigned tail_next; /* lines so far; line i is at i % CHILD_TAIL_LINES */
};

/* Makes SIGINT and SIGTERM end the child that runs, and none start. */
void child_signals_install(void);
int child_is_interrupted(void);

/* Blocks. 1 when the child exited with code 0. */
int child_run(struct child *child);

/* Why child_run returned 0, in one line. */
void child_describe(const struct child *child, char *text, unsigned bytes);

/* 1, and the path in `path` (of `bytes` bytes), when PATH has the program. */
int child_find(const char *program, char *path, unsigned bytes);
