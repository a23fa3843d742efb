/* Noise: holds up the thread that starts it, as an operating system would, by
 * a timer whose signal handler busy-waits for the length of a burst. Bursts are
 * those that the simulator would have: equal noise, seeds and ranks give equal
 * ones.
 *
 * A process has one source of noise. It hits the thread that called
 * noise_start and no other: helper threads of a communication library keep
 * running, as they would on a core of their own.
 */
#ifndef XYL_BENCH_MEASURE_NOISE_H
#define XYL_BENCH_MEASURE_NOISE_H

#include <stdint.h>

#include "simulator/noise/noise.h"

/* What has been injected since noise_start. */
struct noise_total {
    uint64_t bursts;
    uint64_t injected_ns;
};

/* Bursts begin at their times after `origin_ns` of noise_clock_ns; those that
 * are over by far when the thread comes to them are left out. The noise, and a
 * record that it has, are borrowed until noise_stop. 0, or an errno value. */
int noise_start(const sim_noise_t *noise, uint32_t rank, uint64_t origin_ns);
struct noise_total noise_read(void);
/* Ends the noise; does nothing when there is none. No burst runs afterwards. */
void noise_stop(void);

/* Busy-waits once. Async-signal-safe. */
void noise_delay_us(double us);

/* Monotonic time. Async-signal-safe. */
uint64_t noise_now_ns(void);
/* Time of day, which other nodes have, too, as far as their clocks agree. */
uint64_t noise_clock_ns(void);

#endif
