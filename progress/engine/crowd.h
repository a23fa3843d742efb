/* Whether a spinning thread shares its core with other threads. The driver
 * tells this from the times of its idle turns alone: they are a few
 * microseconds apart, unless the system has run another thread in between. A
 * thread on a crowded core sleeps at once (docs/inside/runtime.md).
 *
 *   idle turns   ...............|      |....|         |...|    |
 *   gaps                        1           2             3: crowded
 *
 * GAPS_MAX gaps, each within QUIET_NS of idle turns after the gap before, make
 * the core crowded for `hold_ns`. After that a single further gap makes the
 * core crowded again and doubles that time. QUIET_NS without a gap end this.
 * A single interruption, as any machine has, changes nothing. */
#pragma once

#include <stdint.h>

enum {
    XYL_CROWD_GAP_NS = 500 * 1000, /* less than a time slice */
    XYL_CROWD_GAPS_MAX = 3,
    XYL_CROWD_QUIET_NS = 20 * 1000 * 1000,
    XYL_CROWD_HOLD_NS_MIN = 50 * 1000 * 1000,
    XYL_CROWD_HOLD_NS_MAX = 1600 * 1000 * 1000
};

/* Part of a driver; all 0 at first. The engine's owner. */
typedef struct xyl_crowd {
    unsigned gaps;
    uint64_t quiet_ns; /* of idle turns since the last gap */
    uint64_t hold_ns;  /* how long the core counted as crowded last; 0: never,
                          or a quiet time has passed since */
    uint64_t until_ns; /* the core counts as crowded until then */
} xyl_crowd_t;

static inline int xyl_crowd_is_there(const xyl_crowd_t *crowd, uint64_t now_ns)
{
    return now_ns < crowd->until_ns;
}

/* Counts a gap. 1: the gap makes the core crowded. */
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

/* Counts an idle turn that ends at `now_ns`, `gap_ns` after the turn before. 1:
 * the core is crowded from now on. */
static inline int xyl_crowd_see_turn(xyl_crowd_t *crowd, uint64_t now_ns,
                                     uint64_t gap_ns)
{
    if (__builtin_expect(gap_ns >= XYL_CROWD_GAP_NS, 0))
        return xyl_crowd_see_gap(crowd, now_ns);
    crowd->quiet_ns += gap_ns;
    return 0;
}
