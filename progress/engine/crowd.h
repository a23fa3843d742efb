/* Whether a thread that spins shares its core with others, which the driver
 * finds from the times of its idle turns alone: from one to the next there are
 * a few microseconds, unless the system has run another thread in between. A
 * thread that spins then waits for its core again, for milliseconds, when what
 * it has looked for comes; one that sleeps is given the core at once.
 *
 *   idle turns   ...............|      |....|         |...|    |
 *   gaps                        1           2             3: crowded
 *
 * GAPS_MAX gaps, none of them QUIET_NS of idle turns after the one before, make
 * the core a crowded one for `hold_ns`. Then one more gap is enough, and
 * doubles that time, until there was no gap for QUIET_NS. So a single
 * interruption, as there are on any machine, changes nothing. */
#ifndef XYL_PROGRESS_ENGINE_CROWD_H
#define XYL_PROGRESS_ENGINE_CROWD_H

#include <stdint.h>

enum {
    XYL_CROWD_GAP_NS = 500 * 1000, /* less than a time slice */
    XYL_CROWD_GAPS_MAX = 3,
    XYL_CROWD_QUIET_NS = 20 * 1000 * 1000,
    XYL_CROWD_HOLD_NS_MIN = 50 * 1000 * 1000,
    XYL_CROWD_HOLD_NS_MAX = 1600 * 1000 * 1000
};

/* Of a driver, all 0 at first; the engine's owner. */
typedef struct xyl_crowd {
    unsigned gaps;
    uint64_t quiet_ns; /* of idle turns since the last gap */
    uint64_t hold_ns;  /* of the last time; 0: there was none for long */
    uint64_t until_ns; /* it is crowded so long */
} xyl_crowd_t;

static inline int xyl_crowd_is_there(const xyl_crowd_t *crowd, uint64_t now_ns)
{
    return now_ns < crowd->until_ns;
}

/* 1: it makes the core a crowded one. */
static inline int xyl_crowd_see_gap(xyl_crowd_t *crowd, uint64_t now_ns)
{
    if (crowd->quiet_ns >= XYL_CROWD_QUIET_NS)
        crowd->gaps = 0;
    if (crowd->gaps == 0)
        crowd->hold_ns = 0;
    crowd->quiet_ns = 0;
    if (++crowd->gaps < XYL_CROWD_GAPS_MAX)
        return 0;
    crowd->gaps = XYL_CROWD_GAPS_MAX - 1;
    if (crowd->hold_ns == 0)
        crowd->hold_ns = XYL_CROWD_HOLD_NS_MIN;
    else if (crowd->hold_ns < XYL_CROWD_HOLD_NS_MAX)
        crowd->hold_ns *= 2;
    crowd->until_ns = now_ns + crowd->hold_ns;
    return 1;
}

/* An idle turn ends at `now_ns`, so long after the one before. 1: the core is a
 * crowded one from now on. */
static inline int xyl_crowd_see_turn(xyl_crowd_t *crowd, uint64_t now_ns,
                                     uint64_t gap_ns)
{
    if (__builtin_expect(gap_ns >= XYL_CROWD_GAP_NS, 0))
        return xyl_crowd_see_gap(crowd, now_ns);
    crowd->quiet_ns += gap_ns;
    return 0;
}

#endif
