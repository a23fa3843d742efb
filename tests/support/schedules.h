/* The schedules of the registry, one for each collective that they write. */
#pragma once

#include "collectives/choose/registry.h"

enum { SCHEDULES_MAX = 256 };

typedef struct schedule_entry {
    const xyl_algorithm_t *algorithm;
    xylem_coll_t coll;
} schedule_entry_t;

/* Fills in [SCHEDULES_MAX] entries, returns how many there are. */
static inline size_t schedules_find(schedule_entry_t *entries)
{
    const xyl_algorithm_t *const *all;
    size_t count, i, found = 0;
    xylem_coll_t coll;

    all = xyl_algorithms(&count);
    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (i = 0; i < count && found < SCHEDULES_MAX; i++)
            if (all[i]->kind == XYL_ALGORITHM_SCHEDULE &&
                xyl_algorithm_does(all[i], coll))
                entries[found++] = (schedule_entry_t){all[i], coll};
    return found;
}

/* 1: there is more than one algorithm, so rules decide. */
static inline int schedules_leave_choice(xylem_coll_t coll)
{
    const xyl_algorithm_t *const *all;
    size_t count, i, found = 0;

    all = xyl_algorithms(&count);
    for (i = 0; i < count; i++)
        found += (size_t)xyl_algorithm_does(all[i], coll);
    return found > 1;
}
