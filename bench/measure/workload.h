/* The measuring loops, the same for every implementation.
 *
 * latency: time per call on each rank, with a barrier before each call or back
 *          to back.
 * noise:   back-to-back calls while noise hits every rank; the mean over ranks
 *          of the time per call.
 * delay:   one rank is held up just before its call; how much later does each
 *          rank finish?
 *
 * All are collective over the implementation's ranks, and rank 0 gets the
 * results. On failure the reason has been printed; the other ranks may be
 * stuck, so that the process should end.
 */
#pragma once

#include "bench/measure/clocks.h"
#include "bench/measure/device.h"
#include "bench/measure/impl.h"
#include "bench/measure/noise.h"
#include "bench/measure/raw.h"
#include "bench/measure/stats.h"

struct workload {
    const struct bench_impl *impl;
    void *state;
    xylem_coll_t coll;
    uint32_t root;    /* of the first call */
    int rotate_roots; /* each call has the next rank as its root */
    size_t bytes;
    unsigned warmup;
    unsigned iterations;      /* 0: as many as fit into `seconds` */
    unsigned iterations_most; /* at most; 0: 10,000 */
    double seconds;
    unsigned buffers; /* rotated; 0: by the size of the cache */
    int own_memory;   /* buffers of the implementation's own */
    enum bench_memory memory;
    struct bench_device *device; /* NULL: the host's memory */
    int check;                   /* verify the results */
    int back_to_back;            /* latency without barriers */
    unsigned under_way;          /* of calls that follow each other: at most */
    int osu;     /* one buffer that no rank writes, means, no gate */
    int consume; /* results are read, as a part of the call */
    sim_noise_t noise;
    enum noise_way noise_way;
    double clock_ahead_ns;   /* of rank 0's */
    sim_arrivals_t arrivals; /* of latency's calls, behind the barrier; a time
                                begins with a rank's own */
    uint32_t delay_rank;
    double delay_us;
    struct workload_raw *raw; /* under noise; NULL: calls are not kept */
};

/* The file of every call of every rank. */
struct workload_raw {
    struct clock_offset clock; /* this rank's */
    struct raw_file file;      /* rank 0's */
    const char *noise;         /* its name there */
    struct raw_times times;    /* rank 0's: of all calls of one loop */
};

struct workload_result {
    struct stats_range us; /* over ranks */
    double own_us;         /* this rank's; of latency, and on all ranks */
    unsigned iterations;
    uint64_t wrong;          /* elements, over all ranks and checked calls */
    double injected_percent; /* share of the time that was noise */
    double bursts;           /* per rank */
    double p50_us, p99_us, most_us; /* of calls, if they are kept */
};

/* Each rank's time is its median, or its mean when back to back or as OSU's. */
xylem_status_t workload_latency(const struct workload *workload,
                                struct workload_result *result_out);

xylem_status_t workload_noise(const struct workload *workload,
                              struct workload_result *result_out);

/* Each rank's medians without and with the delay. */
struct workload_finish {
    double plain_us;
    double delayed_us;
};
/* `finish_out` has room for all ranks and matters at rank 0 only. */
xylem_status_t workload_delay(const struct workload *workload,
                              struct workload_finish *finish_out,
                              struct workload_result *result_out);
