/* Noise: holds up the thread that starts it, as an operating system would, by
 * a timer whose signal handler busy-waits for a random time.
 *
 * A process has one source of noise. It hits the thread that called
 * noise_start and no other: helper threads of a communication library keep
 * running, as they would on a core of their own. Equal seeds give equal
 * sequences of burst lengths.
 */
#ifndef XYL_BENCH_MEASURE_NOISE_H
#define XYL_BENCH_MEASURE_NOISE_H

#include <stdint.h>

struct noise_spec {
    double hz;     /* bursts per second */
    double max_ms; /* a burst takes a uniform random time in [0, max_ms) */
    uint64_t seed;
    uint32_t rank; /* ranks with one seed differ in sequence and phase */
};

/* What has been injected since noise_start. */
struct noise_total {
    uint64_t bursts;
    uint64_t injected_ns;
};

/* 0, or an errno value. A spec with hz or max_ms of 0 is silent. */
int noise_start(const struct noise_spec *spec);
struct noise_total noise_read(void);
/* Ends the noise; does nothing when there is none. No burst runs afterwards. */
void noise_stop(void);

/* Busy-waits once. Async-signal-safe. */
void noise_delay_us(double us);

/* Monotonic time. Async-signal-safe. */
uint64_t noise_now_ns(void);

#endif
