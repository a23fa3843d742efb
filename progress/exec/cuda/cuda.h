/* The executor of memory that CUDA's devices have. Work is begun on streams of
 * its own, one for each direction of a device, and is looked after in the
 * engine's turns while there is any. */
#ifndef XYL_PROGRESS_EXEC_CUDA_CUDA_H
#define XYL_PROGRESS_EXEC_CUDA_CUDA_H

#include "progress/exec/cuda/library/library.h"
#include "progress/exec/exec.h"

/* The library's table; NULL: it is not there, cannot be opened, or is of
 * another version, as *why_out says until the next call. `path`: of the
 * library; NULL: beside this code, or where the system finds libraries. It
 * stays open. Uses nothing else of xylem, so that benchmarks have it, too. */
const xyl_cuda_library_t *xyl_cuda_library_open(const char *path,
                                                const char **why_out);

/* The table that an executor has, for those who do more with memory of devices
 * than an executor does. NULL: it is another one. */
const xyl_cuda_library_t *xyl_cuda_library_of(const xyl_exec_t *exec);

/* Begins a reduction on a device, or moves of blocks, which are borrowed until
 * the work's event comes. The progressing thread. */
void xyl_cuda_combine_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                            const xyl_cuda_combine_t *combine);
void xyl_cuda_move_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                         const xyl_cuda_moves_t *moves);

/* How many works have been begun so far; *ended_out: so many of the first have
 * certainly ended. The progressing thread. */
uint64_t xyl_cuda_works(const xyl_exec_t *exec, uint64_t *ended_out);
/* Waits until all of them have ended; their events are there then. */
void xyl_cuda_settle(xyl_exec_t *exec);
/* Has `at_rest` called whenever all that has been begun has ended, from the
 * executor's poll, or where work is begun or given up; it begins none. NULL:
 * no more. */
void xyl_cuda_at_rest(xyl_exec_t *exec, void (*at_rest)(void *arg), void *arg);

/* An executor over any table, as tests have one; `arg` is the table. */
extern const xyl_exec_ops_t xyl_exec_cuda_of_table;

#endif
