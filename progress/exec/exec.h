/* Executors: who works on bytes, by the kind of memory that these lie in. All
 * that a collective does to users' data it asks of an executor: to copy, to
 * reduce, to pack and to unpack.
 *
 *   returns 1   done, before the call returned
 *   returns 0   under way: work->event comes, once, when it is done
 *
 * Work that is under way may end in any order. Whoever asked for it leaves its
 * operands and its result alone until then, and starts what depends on it in
 * the event's handler. Host memory is worked on in the call, without an event;
 * only executors that do otherwise need a xyl_work_t, and the memory for it.
 *
 * The progressing thread.
 */
#ifndef XYL_PROGRESS_EXEC_EXEC_H
#define XYL_PROGRESS_EXEC_EXEC_H

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "progress/event.h"
#include "progress/exec/list.h"
#include "progress/exec/pieces.h"
#include "runtime/base/config.h"
#include "runtime/base/observer.h"

typedef struct xyl_exec xyl_exec_t;
typedef struct xyl_work xyl_work_t;

/* A kernel: result[i] = left[i] op right[i]; result may be left or right, no
 * other overlap. All three are aligned as the element type demands, not more.
 */
typedef void (*xyl_kernel_fn)(void *result, const void *left, const void *right,
                              size_t count);

/* What combines two contributions: a kernel, or the user's function. */
typedef struct xyl_combiner {
    xyl_kernel_fn kernel; /* NULL: fn */
    xylem_op_fn fn;
    void *fn_arg;
    int is_commutative;
    /* Operands are not elements but what is made of them; NULL: they are. */
    const struct xyl_binned *binned;
} xyl_combiner_t;

/* result = left op right; `result` may be either. */
static inline void xyl_combiner_apply(const xyl_combiner_t *combiner,
                                      void *result, const void *left,
                                      const void *right, size_t count)
{
    if (combiner->kernel != NULL)
        combiner->kernel(result, left, right, count);
    else
        combiner->fn(result, left, right, count, combiner->fn_arg);
}

typedef enum xyl_work_kind {
    XYL_WORK_COPY,   /* to = left */
    XYL_WORK_REDUCE, /* to = left op right, `count` elements */
    XYL_WORK_PACK,   /* to = packed bytes from `left_at` on of elements at left,
                        which have gaps */
    XYL_WORK_UNPACK, /* elements at `to`, packed bytes from `to_at` on, = left
                      */
    XYL_WORK_REPACK, /* both have gaps */
    XYL_WORK_KINDS
} xyl_work_kind_t;

/* Lives in the object that waits for it; free again when its event is
 * handled. */
struct xyl_work {
    xyl_event_t event; /* first */
    const void *owner; /* whose work is canceled together */
    xyl_work_kind_t kind;
    void *to;
    const void *left, *right;
    size_t bytes; /* packed; but of REDUCE */
    size_t count; /* REDUCE */
    uint64_t to_at, left_at;
    const xyl_combiner_t *combiner; /* REDUCE; borrowed, as are: */
    const struct xyl_layout *to_layout, *left_layout;
    /* What a layout says, for executors that move bytes by themselves; the
     * blocks are the layout's. NULL where there is none. */
    void (*describe)(const struct xyl_layout *layout, xyl_pieces_t *pieces_out);
    /* Does it with the processor's hands, for executors that have none of their
     * own. */
    void (*by_host)(const xyl_exec_t *exec, const xyl_work_t *work);
    xyl_work_t *next; /* the executor's */
};

typedef struct xyl_exec_ops {
    const char *name;
    size_t bytes; /* of its struct, which begins with xyl_exec_t */
    /* Both may be NULL. `arg` is that of its registration, or the settings. */
    xylem_status_t (*init)(xyl_exec_t *exec, void *arg);
    void (*fini)(xyl_exec_t *exec);
    /* 1 when it is for the memory that `buffer` lies in. */
    int (*takes)(const xyl_exec_t *exec, const void *buffer);
    /* Begins work; pushes its event when it is done. NULL: nothing is ever
     * under way, and the processor does it all. */
    void (*start)(xyl_exec_t *exec, xyl_work_t *work);
    /* Asks that what is under way for `owner` be given up: no byte of its
     * operands and results is touched after this. Events come all the same,
     * with XYLEM_ERR_CANCELED. NULL where start is. */
    void (*cancel)(xyl_exec_t *exec, const void *owner);
    /* For memory that the processor does not touch: stages work on *mirrors* of
     * users' buffers, memory of both, which work brings up to date (only COPY
     * and REPACK are asked for). Any thread. NULL: stages work on the buffers
     * themselves. */
    void *(*mirror_take)(xyl_exec_t *exec, size_t bytes);
    void (*mirror_give)(xyl_exec_t *exec, void *mirror, size_t bytes);
    /* 0: there can be no such memory yet. NULL: there can. */
    int (*is_needed)(const xyl_config_t *config);
    /* Has what is under way looked after, where nothing else does: 0 when
     * nothing is. In every turn. */
    unsigned (*poll)(xyl_exec_t *exec);
} xyl_exec_ops_t;

struct xyl_exec {
    const xyl_exec_ops_t *ops;
    int is_immediate;               /* ops->start is NULL */
    int is_plain;                   /* and nobody looks on */
    const xyl_observer_t *observer; /* of copies; NULL: nobody */
    xyl_fifo_t *ready;              /* where events go */
};

/* ---- which there are ---- */

enum { XYL_EXECS_MAX = 4 };

/* Beside those of list.c. */
typedef struct xyl_exec_registration {
    const xyl_exec_ops_t *ops; /* NULL: none */
    void *arg;
} xyl_exec_registration_t;

/* Those of a context: the first behind the processor that takes a buffer's
 * memory works on it, else the processor, all[0], which takes any. */
typedef struct xyl_execs {
    _Atomic uint32_t count;
    xyl_exec_t *all[XYL_EXECS_MAX];
    const xyl_observer_t *observer;
    xyl_fifo_t *ready;
    const xyl_config_t *config; /* NULL: only `extra` may be added */
    _Atomic uint32_t absent;    /* of the list, that are not needed yet; bits */
    uint64_t loads; /* of libraries, by the process, when that was found */
} xyl_execs_t;

#define XYL_EXEC_DECLARE(name) extern const xyl_exec_ops_t xyl_exec_##name;
XYL_EXEC_LIST(XYL_EXEC_DECLARE)
#undef XYL_EXEC_DECLARE

/* `extra` comes before those of the list, which are added by xyl_execs_look. */
xylem_status_t xyl_execs_init(xyl_execs_t *execs,
                              const xyl_exec_registration_t *extra,
                              const xyl_config_t *config,
                              const xyl_observer_t *observer,
                              xyl_fifo_t *ready);
/* Whether those that were not needed are by now; before a call is planned.
 * Under a lock of the caller's. */
void xyl_execs_look(xyl_execs_t *execs);
void xyl_execs_fini(xyl_execs_t *execs);
/* A source of the engine. */
unsigned xyl_execs_poll(void *execs);
/* Of all executors. */
void xyl_execs_cancel(const xyl_execs_t *execs, const void *owner);

/* The one question about the kind of a buffer's memory; once per buffer of a
 * call. */
xyl_exec_t *xyl_execs_ask(const xyl_execs_t *execs, const void *buffer);

static inline xyl_exec_t *xyl_exec_of(const xyl_execs_t *execs,
                                      const void *buffer)
{
    /* Relaxed: who has a buffer of another kind has made the call that found
     * its executor, or heard of it. */
    return atomic_load_explicit(&execs->count, memory_order_relaxed) == 1
               ? execs->all[0]
               : xyl_execs_ask(execs, buffer);
}

/* ---- work: 1 done, 0 under way; `work` is NULL where all is immediate ---- */

/* What is neither plain nor in the call. */
int xyl_exec_copy_watched(xyl_exec_t *exec, xyl_work_t *work, void *to,
                          const void *from, size_t bytes);
int xyl_exec_reduce_later(xyl_exec_t *exec, xyl_work_t *work,
                          const xyl_combiner_t *combiner, void *to,
                          const void *left, const void *right, size_t count);

static inline int xyl_exec_copy(xyl_exec_t *exec, xyl_work_t *work, void *to,
                                const void *from, size_t bytes)
{
    if (!exec->is_plain)
        return xyl_exec_copy_watched(exec, work, to, from, bytes);
    memcpy(to, from, bytes);
    return 1;
}

/* `to` may be `left` or `right`. */
static inline int xyl_exec_reduce(xyl_exec_t *exec, xyl_work_t *work,
                                  const xyl_combiner_t *combiner, void *to,
                                  const void *left, const void *right,
                                  size_t count)
{
    if (work != NULL)
        return xyl_exec_reduce_later(exec, work, combiner, to, left, right,
                                     count);
    xyl_combiner_apply(combiner, to, left, right, count);
    return 1;
}

/* Work whose kind, operands and by_host have been filled in: packing is for
 * those who know layouts. Done at once, or begun. */
int xyl_exec_do(xyl_exec_t *exec, xyl_work_t *work);

#endif
