/* The executor for memory of CUDA's devices. It begins work on its own streams,
 * one per direction of a device, and looks for ended work in the engine's turns
 * while any is under way. */
#pragma once

#include "progress/exec/cuda/library/library.h"
#include "progress/exec/exec.h"

/* Opens the library for good and returns its table. NULL: the library is
 * missing, cannot be opened, or has another version; *why_out, valid until the
 * next call, says which. `path` NULL: look beside this code, then where the
 * system finds libraries. Benchmarks call this, too: it uses nothing else of
 * xylem. */
const xyl_cuda_library_t *xyl_cuda_library_open(const char *path,
                                                const char **why_out);

/* The table of an executor, for code that does more with memory of devices than
 * an executor. NULL: this is not the executor for CUDA. */
const xyl_cuda_library_t *xyl_cuda_library_of(const xyl_exec_t *exec);

/* The direction of work, seen from the device. Works of one direction begin in
 * the order of the requests; those of others go on beside them. */
typedef enum xyl_cuda_way {
    XYL_CUDA_IN,
    XYL_CUDA_OUT,
    XYL_CUDA_WITHIN,
    XYL_CUDA_WAYS
} xyl_cuda_way_t;

/* Begins a reduction, or moves of blocks, on a device. `combine` and `moves`
 * are borrowed until the work's event. The progressing thread. */
void xyl_cuda_combine_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                            xyl_cuda_way_t way,
                            const xyl_cuda_combine_t *combine);
void xyl_cuda_move_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                         const xyl_cuda_moves_t *moves);

/* The number of works begun so far. The first *ended_out of them have certainly
 * ended. The progressing thread. */
uint64_t xyl_cuda_works(const xyl_exec_t *exec, uint64_t *ended_out);
/* Waits until all works have ended and their events are pushed. */
void xyl_cuda_settle(xyl_exec_t *exec);
/* Sets the function to call whenever the last work under way ends; NULL: none.
 * The call comes from the executor's poll, or from where work is begun or given
 * up. `at_rest` itself begins no work. */
void xyl_cuda_at_rest(xyl_exec_t *exec, void (*at_rest)(void *arg), void *arg);

/* An executor over a table of the caller's, for tests; `arg` is the table. */
extern const xyl_exec_ops_t xyl_exec_cuda_of_table;
