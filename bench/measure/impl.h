/* Implementations of the collectives that the benchmarks measure, a table each.
 * The measuring loop knows nothing else, so the same code measures every
 * implementation.
 *
 * A function that fails prints why on standard error before it returns; the
 * caller only stops. The thread that called `open` calls all functions.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

enum bench_mode {
    BENCH_BLOCKING,
    BENCH_NONBLOCKING, /* start and wait */
    BENCH_PERSISTENT   /* planned once for each of the rotated buffers */
};

/* How to run a collective; 0 leaves a choice to the implementation. An
 * implementation without that choice ignores it, except for the mode. Equal on
 * every rank. */
struct bench_tuning {
    enum bench_mode mode;
    const char *algorithm; /* by name; NULL: any */
    size_t segment_bytes;
    uint32_t send_window;
    uint32_t recv_window;
    double call_us; /* of impl_local's calls; 0: it measures the library's */
};

/* One collective. Data are moved as bytes; reductions sum 32-bit floats, and
 * `bytes` is a multiple of 4 for them. All blocks have the same size, in the
 * forms with counts of their own, too. */
struct bench_call {
    xylem_coll_t coll;
    const void *send; /* NULL: this rank has no such buffer */
    void *recv;       /* bcast: the buffer */
    size_t bytes;     /* of a block; of the message if there are no blocks */
    uint32_t root;
    unsigned slot; /* its index among the calls that were prepared */
};

struct bench_impl {
    const char *name;
    /* Joins the job; `tuning` is borrowed until close. The state is owned by
     * the caller (free with close). */
    xylem_status_t (*open)(const struct bench_tuning *tuning, void **state_out);
    /* Collective over the job. */
    void (*close)(void *state);
    uint32_t (*rank)(void *state);
    uint32_t (*size)(void *state);

    /* ---- what is measured ---- */

    /* Why calls like this one cannot be run as the tuning asks; NULL: they
     * can. The same on all ranks. Buffers and slot do not matter. The text
     * lasts until the next question. */
    const char *(*refusal)(void *state, const struct bench_call *call);
    /* Gets ready for `count` calls that differ in buffers and slots only; they
     * are borrowed until release. Collective over the job. NULL: there is
     * nothing to get ready, nor to release. */
    xylem_status_t (*prepare)(void *state, const struct bench_call *calls,
                              unsigned count);
    /* Runs one of the prepared calls, in the wanted mode; returns when it is
     * complete on this rank. */
    xylem_status_t (*run)(void *state, const struct bench_call *call);
    /* Start a prepared call, and wait for a started one; others may be under
     * way, each in a slot of its own. Not in the blocking mode. NULL: the
     * implementation has blocking calls only. */
    xylem_status_t (*start)(void *state, const struct bench_call *call);
    xylem_status_t (*finish)(void *state, const struct bench_call *call);
    /* Undoes prepare, if anything is prepared. */
    void (*release)(void *state);

    /* ---- what the measuring itself needs; blocking, over all ranks ---- */

    xylem_status_t (*bcast)(void *state, void *buf, size_t bytes,
                            uint32_t root);
    /* Sums 32-bit floats; `bytes` is a multiple of 4; `recv` matters at the
     * root only. */
    xylem_status_t (*reduce)(void *state, const void *send, void *recv,
                             size_t bytes, uint32_t root);
    xylem_status_t (*barrier)(void *state);
    /* Memory that suits the implementation (free with `give`). NULL: it has no
     * memory of its own. */
    xylem_status_t (*take)(void *state, size_t bytes, void **memory_out);
    void (*give)(void *state, void *memory);
    /* Memory of a GPU for buffers of calls; collective. NULL: any suits. */
    xylem_status_t (*device_take)(void *state, size_t bytes, void **memory_out);
    void (*device_give)(void *state, void *memory);
    /* Moves data that is under way; does not block. */
    void (*progress)(void *state);
    /* Bytes by which ranks may be ahead of each other. NULL: none are known. */
    uint64_t (*room)(void *state);
    /* Gathers `count` doubles of every rank, in rank order, into `all` of
     * rank 0 (size * count doubles). */
    xylem_status_t (*gather)(void *state, const double *mine, size_t count,
                             double *all);
};

/* The library through its public interface. */
const struct bench_impl *impl_event(void);

/* No collective, but a loop that takes as long as the library's call; filled
 * into *impl_out, which is returned. Results are not there to be checked. */
const struct bench_impl *impl_local(struct bench_impl *impl_out);

/* NCCL, for buffers in memory of GPUs; and NCCL with buffers in symmetric
 * windows, for which it has kernels of its own. */
const struct bench_impl *impl_nccl(void);
const struct bench_impl *impl_nccl_windows(void);

/* The same trees and the same network, driven the other two ways: nonblocking
 * transfers with a wait for all children per segment, and blocking transfers
 * child by child. Broadcast and reduce only. */
const struct bench_impl *rival_waitall(void);
const struct bench_impl *rival_blocking(void);
