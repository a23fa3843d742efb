/* Noise: holds up the thread that starts it, as an operating system would.
 * Bursts equal those of the simulator for the same noise, seed and rank. Either
 * a timer's signal has a handler that busy-waits for
 * the length of a burst (Luo, PhD thesis, University of Tennessee, 2020,
 * 3.4.2), or another thread takes the core away, by preemption.
 *
 * A process has one source of noise. It hits the thread that called
 * noise_start and no other: helper threads of a communication library keep
 * running, as they would on a core of their own.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "simulator/noise/noise.h"

enum noise_way { NOISE_BY_SIGNAL, NOISE_BY_THREAD };
#define NOISE_WAYS "signal|thread"

/* Noise since noise_start. */
struct noise_total {
    uint64_t bursts;
    uint64_t asked_ns;    /* of the lengths of these bursts */
    uint64_t injected_ns; /* by signal: the time that passed, with the cost of
                             the signal; by thread: the time that it ran */
    uint64_t others_ns;   /* by signal: time by which other programs, which had
                             the core when bursts were to end, made them longer
                           */
};

/* A burst as it was injected. */
struct noise_burst {
    uint64_t begin_ns; /* after noise_start */
    uint64_t length_ns;
};

/* Bursts begin at their times after `origin_ns` of noise_now_ns, which may lie
 * before its 0 (modulo 2^64). Bursts that are over by far when the thread comes
 * to them are left out. The noise, and its record if it has one, are borrowed
 * until noise_stop. A thread runs in real time (SCHED_FIFO) if the process may
 * do that; otherwise it shares the core, and bursts last longer. 0, or an errno
 * value. */
int noise_start(const sim_noise_t *noise, uint32_t rank, uint64_t origin_ns,
                enum noise_way way);
struct noise_total noise_read(void);
/* "signal", "thread-fifo" (in real time) or "thread". */
const char *noise_way_text(void);

/* Before noise_start: keeps the first `room` bursts. 0: there is no memory. */
int noise_log_keep(size_t room);
/* The kept bursts, after noise_stop; they belong to the noise. */
const struct noise_burst *noise_log(size_t *count_out);

/* Ends the noise; does nothing when there is none. No burst runs afterwards. */
void noise_stop(void);

/* Busy-waits once. Async-signal-safe. */
void noise_delay_us(double us);

/* Monotonic time. Async-signal-safe. */
uint64_t noise_now_ns(void);
