/* Executors work on bytes; each serves one kind of memory. Collectives have all
 * work on users' data done by executors: copying, reducing, packing, unpacking.
 *
 *   returns 1   the work was done inside the call
 *   returns 0   the work is under way; work->event comes once, at its end
 *
 * Works under way may end in any order. Until a work's event the caller leaves
 * its operands and its result alone, and starts dependent work in the event's
 * handler. The executor of host memory does all work in the call and pushes no
 * event; only other executors need a xyl_work_t.
 *
 * The progressing thread.
 */
#pragma once

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

/* A kernel: result[i] = left[i] op right[i]. `result` may be `left` or `right`;
 * they overlap in no other way. All three have the alignment of the element
 * type, no more. */
typedef void (*xyl_kernel_fn)(void *result, const void *left, const void *right,
                              size_t count);

/* Combines two contributions: a kernel, or the user's function. */
typedef struct xyl_combiner {
    xyl_kernel_fn kernel; /* NULL: fn */
    xylem_op_fn fn;
    void *fn_arg;
    int is_commutative;
    /* The operands are sums in bins (collectives/data/binned.h); NULL: they are
     * elements. */
    const struct xyl_binned *binned;
} xyl_combiner_t;

/* result = left op right; `result` may be either. */
static inline void xyl_exec_combine(const xyl_combiner_t *combiner,
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
    XYL_WORK_PACK,   /* to = the elements with gaps at `left`, packed, from byte
                        `left_at` on */
    XYL_WORK_UNPACK, /* the elements with gaps at `to`, from packed byte `to_at`
                        on, = left */
    XYL_WORK_REPACK, /* elements with gaps to elements with gaps */
    XYL_WORK_KINDS
} xyl_work_kind_t;

/* Lives in the object that waits for it. The executor holds it until its event
 * is handled. */
struct xyl_work {
    xyl_event_t event; /* first */
    const void *owner; /* the works of one owner are canceled together */
    xyl_work_kind_t kind;
    void *to;
    const void *left, *right;
    size_t bytes; /* packed; not for REDUCE */
    size_t count; /* REDUCE */
    uint64_t to_at, left_at;
    const xyl_combiner_t *combiner;                   /* REDUCE; borrowed */
    const struct xyl_layout *to_layout, *left_layout; /* borrowed */
    /* Describes a layout to an executor that moves bytes by itself; the blocks
     * belong to the layout. NULL: no operand has a layout. */
    void (*describe)(const struct xyl_layout *layout, xyl_pieces_t *pieces_out);
    /* Does the work on the processor, for executors that cannot do it
     * themselves. */
    void (*by_host)(const xyl_exec_t *exec, const xyl_work_t *work);
    xyl_work_t *next; /* the executor's */
};

typedef struct xyl_exec_ops {
    const char *name;
    size_t bytes; /* of its struct, which begins with xyl_exec_t */
    /* Both may be NULL. `arg` comes from the registration, or is the
     * settings. */
    xylem_status_t (*init)(xyl_exec_t *exec, void *arg);
    void (*fini)(xyl_exec_t *exec);
    /* 1: this executor serves the memory that `buffer` lies in. */
    int (*takes)(const xyl_exec_t *exec, const void *buffer);
    /* Begins work; pushes its event at its end. NULL: the processor does all
     * work inside the call. */
    void (*start)(xyl_exec_t *exec, xyl_work_t *work);
    /* Gives up the works under way of `owner`: no byte of their operands and
     * results is touched after this. Their events come all the same, with
     * XYLEM_ERR_CANCELED. NULL if `start` is NULL. */
    void (*cancel)(xyl_exec_t *exec, const void *owner);
    /* For memory that the processor does not touch. Stages then work on
     * *mirrors* of users' buffers, in memory that the processor and the device
     * both reach; works of kind COPY and REPACK, and no others, keep mirrors up
     * to date. Any thread. NULL: stages work on the buffers themselves. */
    void *(*mirror_take)(xyl_exec_t *exec, size_t bytes);
    void (*mirror_give)(xyl_exec_t *exec, void *mirror, size_t bytes);
    /* 0: no such memory can exist yet. NULL: it can exist at any time. */
    int (*is_needed)(const xyl_config_t *config);
    /* Finds works that have ended, in every turn of the engine; 0: no work is
     * under way. NULL: not needed. */
    unsigned (*poll)(xyl_exec_t *exec);
} xyl_exec_ops_t;

struct xyl_exec {
    const xyl_exec_ops_t *ops;
    int is_immediate;               /* ops->start is NULL */
    int is_plain;                   /* is_immediate, and without observer */
    const xyl_observer_t *observer; /* of copies; NULL: none */
    xyl_fifo_t *ready;              /* events are pushed here */
    /* The observer that records works now. Either pointer may be NULL. */
    const xyl_observer_t *const *recorder;
};

/* ---- the executors of a context ---- */

enum { XYL_EXECS_MAX = 4 };

/* An executor that is not in the list (meson.build). */
typedef struct xyl_exec_registration {
    const xyl_exec_ops_t *ops; /* NULL: none */
    void *arg;
} xyl_exec_registration_t;

/* The executors of a context. From all[1] on, the first that takes a buffer's
 * memory serves the buffer; if none does, all[0], the processor. */
typedef struct xyl_execs {
    _Atomic uint32_t count;
    xyl_exec_t *all[XYL_EXECS_MAX];
    const xyl_observer_t *observer;
    const xyl_observer_t *recorder; /* of works; NULL: none */
    xyl_fifo_t *ready;
    const xyl_config_t *config; /* NULL: only `extra` may be added */
    _Atomic uint32_t absent;    /* bits: members of the list not needed yet */
    uint64_t loads; /* libraries that the process had loaded at the last look */
} xyl_execs_t;

#define XYL_EXEC_DECLARE(name) extern const xyl_exec_ops_t xyl_exec_##name;
XYL_EXEC_LIST(XYL_EXEC_DECLARE)
#undef XYL_EXEC_DECLARE

/* `extra` comes before the executors of the list, which xyl_execs_look adds. */
xylem_status_t xyl_execs_init(xyl_execs_t *execs,
                              const xyl_exec_registration_t *extra,
                              const xyl_config_t *config,
                              const xyl_observer_t *observer,
                              xyl_fifo_t *ready);
/* Adds the executors of the list that are needed by now. Called before a call
 * is planned, under a lock of the caller's. */
void xyl_execs_look(xyl_execs_t *execs);
void xyl_execs_fini(xyl_execs_t *execs);
/* A source of the engine. */
unsigned xyl_execs_poll(void *execs);
void xyl_execs_cancel(const xyl_execs_t *execs, const void *owner);

/* The executor for a buffer's memory; asked once per buffer of a call. */
xyl_exec_t *xyl_execs_ask(const xyl_execs_t *execs, const void *buffer);

static inline xyl_exec_t *xyl_exec_of(const xyl_execs_t *execs,
                                      const void *buffer)
{
    /* Relaxed: the thread with a buffer of another kind has added its executor
     * itself, or has learned of the buffer from the thread that has. */
    return atomic_load_explicit(&execs->count, memory_order_relaxed) == 1
               ? execs->all[0]
               : xyl_execs_ask(execs, buffer);
}

/* ---- work: 1 done, 0 under way; `work` is NULL where all is immediate ---- */

/* For copies that are observed or not immediate, and for reductions that are
 * not immediate. */
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
    xyl_exec_combine(combiner, to, left, right, count);
    return 1;
}

/* Does or begins work whose kind, operands and by_host the caller has filled
 * in. The callers know layouts, which this folder does not. */
int xyl_exec_do(xyl_exec_t *exec, xyl_work_t *work);
