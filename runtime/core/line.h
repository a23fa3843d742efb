/* Steps that run when a GPU stream has ended its work so far, without a thread
 * that waits: behind that work the stream writes a number to a word of pinned
 * memory, the *line's*, and the progressing thread polls the word while a
 * number is awaited. A stream's numbers come in order, so a line needs one
 * word, and a ring of the steps that the numbers stand for. */
#ifndef XYL_RUNTIME_CORE_LINE_H
#define XYL_RUNTIME_CORE_LINE_H

#include <pthread.h>

#include "include/xylem.h"

enum { XYL_LINES_MAX = 256 };

struct xyl_exec;
struct xyl_cuda_library;

/* The progressing thread calls `reached`, as a source of the engine. */
typedef struct xyl_line_step {
    void (*reached)(void *arg, uint64_t a, uint64_t b);
    void *arg;
    uint64_t a, b;
} xyl_line_step_t;

typedef struct xyl_line xyl_line_t;

/* Of a context. */
typedef struct xyl_lines {
    pthread_mutex_t lock; /* for adding, and for rings */
    _Atomic uint32_t count;
    xyl_line_t *all[XYL_LINES_MAX]; /* one per stream */
    _Atomic uint64_t awaited;       /* steps, of all lines */
    int is_armed;                   /* the progressing thread's */
    void *words;                    /* pinned; NULL: no line yet */
    struct xyl_exec *exec;          /* owns the words */
} xyl_lines_t;

void xyl_lines_init(xylem_context_t *context);
/* Drops the steps that streams have not reached. Before the executors end. */
void xyl_lines_fini(xylem_context_t *context);

/* The executor of GPUs, and its library's table. XYLEM_ERR_UNSUPPORTED, with a
 * text that names `call`: there is none. */
xylem_status_t xyl_lines_gpu(xylem_context_t *context, const char *call,
                             struct xyl_exec **exec_out,
                             const struct xyl_cuda_library **library_out);

/* Any thread, also in callbacks: `step` is called once, when `stream`, of
 * CUDA's runtime, has ended its present work; never if this fails, with a text
 * that names `call`. May wait for the progressing thread's turn. */
xylem_status_t xyl_line_add(xylem_context_t *context, const char *call,
                            void *stream, const xyl_line_step_t *step);

#endif
