/* What the benchmarks measure: one table per implementation of the same two
 * collectives. The measuring loop knows nothing else, so that every
 * implementation is measured by the same code.
 *
 * A function that fails says why on standard error before it returns; the
 * caller only stops. All are called by the thread that called open.
 */
#ifndef XYL_BENCH_IMPL_H
#define XYL_BENCH_IMPL_H

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

/* How a collective is to be run; 0 leaves a choice to the implementation. One
 * that has no such choice ignores it. Equal on every rank. */
struct bench_tuning {
    xylem_tree_t tree;
    uint32_t radix;
    size_t segment_bytes;
    uint32_t send_window;
    uint32_t recv_window;
};

struct bench_impl {
    const char *name;
    /* Joins the job; `tuning` is borrowed during the call. The state is owned
     * by the caller (free with close). */
    xylem_status_t (*open)(const struct bench_tuning *tuning, void **state_out);
    /* Collective over the job. */
    void (*close)(void *state);
    uint32_t (*rank)(void *state);
    uint32_t (*size)(void *state);
    /* Blocking, over all ranks. */
    xylem_status_t (*bcast)(void *state, void *buf, size_t bytes,
                            uint32_t root);
    /* Sums 32-bit floats; `bytes` is a multiple of 4; `recv` matters at the
     * root only. */
    xylem_status_t (*reduce)(void *state, const void *send, void *recv,
                             size_t bytes, uint32_t root);
    xylem_status_t (*barrier)(void *state);
    /* Moves data that is under way; does not block. */
    void (*progress)(void *state);
    /* Gathers `count` doubles of every rank, in rank order, into `all` of
     * rank 0 (size * count doubles). */
    xylem_status_t (*gather)(void *state, const double *mine, size_t count,
                             double *all);
};

/* The library through its public interface. */
const struct bench_impl *impl_event(void);

/* The same trees and the same network, driven the other two ways: nonblocking
 * transfers with a wait for all children per segment, and blocking transfers
 * child by child. */
const struct bench_impl *rival_waitall(void);
const struct bench_impl *rival_blocking(void);

#endif
