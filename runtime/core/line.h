/* What is to happen when the work that a stream of a GPU's has got so far has
 * ended, without a thread that waits: behind that work the stream writes a
 * number to a word of pinned memory, the *line's*, and the progressing thread
 * looks at the word as long as a number is awaited. The numbers of a stream
 * come in their order, so a line needs one word, and a ring of what they stand
 * for. */
#ifndef XYL_RUNTIME_CORE_LINE_H
#define XYL_RUNTIME_CORE_LINE_H

#include <pthread.h>

#include "include/xylem.h"

enum { XYL_LINES_MAX = 256 };

struct xyl_exec;
struct xyl_cuda_library;

/* Called by the progressing thread, as a source of the engine. */
typedef struct xyl_line_step {
    void (*reached)(void *arg, uint64_t a, uint64_t b);
    void *arg;
    uint64_t a, b;
} xyl_line_step_t;

typedef struct xyl_line xyl_line_t;

/* Of a context. */
typedef struct xyl_lines {
    pthread_mutex_t lock; /* of adding, and of rings */
    _Atomic uint32_t count;
    xyl_line_t *all[XYL_LINES_MAX]; /* one per stream */
    _Atomic uint64_t awaited;       /* steps, of all lines */
    int is_armed;                   /* the progressing thread's */
    void *words;                    /* pinned; NULL: no line yet */
    struct xyl_exec *exec;          /* whose memory that is */
} xyl_lines_t;

void xyl_lines_init(xylem_context_t *context);
/* What streams have not come to is forgotten. Before the executors end. */
void xyl_lines_fini(xylem_context_t *context);

/* The executor of GPUs, and its library's table. XYLEM_ERR_UNSUPPORTED: none is
 * there; in words that name `call`. */
xylem_status_t xyl_lines_gpu(xylem_context_t *context, const char *call,
                             struct xyl_exec **exec_out,
                             const struct xyl_cuda_library **library_out);

/* Any thread, also in callbacks: `step` is called once, when `stream` (as
 * CUDA's runtime has it) has ended what it has now. Fails in words that name
 * `call`, and nothing will happen. May wait for the progressing thread's turn.
 */
xylem_status_t xyl_line_add(xylem_context_t *context, const char *call,
                            void *stream, const xyl_line_step_t *step);

#endif
