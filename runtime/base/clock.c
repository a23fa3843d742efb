#include "runtime/base/clock.h"

#include <stddef.h>
#include <time.h>

static uint64_t system_now_ns(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

const xyl_clock_t *xyl_clock_system(void)
{
    static const xyl_clock_t clock = {system_now_ns, NULL};

    return &clock;
}
