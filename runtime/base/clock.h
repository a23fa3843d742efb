/* The clock is a table of functions, so that the simulator and tests can
 * replace it. */
#pragma once

#include <stdint.h>

typedef struct xyl_clock {
    /* Monotonic nanoseconds from an arbitrary start. */
    uint64_t (*now_ns)(void *arg);
    void *arg;
} xyl_clock_t;

static inline uint64_t xyl_clock_now(const xyl_clock_t *clock)
{
    return clock->now_ns(clock->arg);
}

/* CLOCK_MONOTONIC. */
const xyl_clock_t *xyl_clock_system(void);
