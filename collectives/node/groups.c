#include "collectives/node/groups.h"

#include <string.h>

#include "runtime/base/config.h"

enum { PARTS = 3 };

static uint32_t place_part(const xylem_place_t *place, uint32_t part)
{
    const uint32_t parts[PARTS] = {place->l3, place->numa, place->socket};

    return parts[part];
}

/* Groups seats by one part of their places; returns the number of groups. 0:
 * the place of a seat is not known. */
static uint32_t group_by(const xylem_place_t *places, uint32_t seats,
                         uint32_t part, uint32_t *group_of)
{
    uint32_t i, first, groups = 0;

    for (i = 0; i < seats; i++) {
        if (place_part(&places[i], part) == UINT32_MAX)
            return 0;
        for (first = 0;
             place_part(&places[first], part) != place_part(&places[i], part);)
            first++;
        group_of[i] = first;
        groups += first == i;
    }
    return groups;
}

static uint32_t group_near(const xylem_place_t *places, uint32_t seats,
                           uint32_t *group_of)
{
    uint32_t part, groups;

    for (part = 0; part < PARTS; part++) {
        groups = group_by(places, seats, part, group_of);
        if (groups != 0 && groups < seats)
            return groups;
    }
    return 0;
}

static uint32_t group_consecutive(uint32_t seats, uint64_t size,
                                  uint32_t *group_of)
{
    uint32_t i;

    if (size < 2 || size >= seats)
        return 0;
    for (i = 0; i < seats; i++)
        group_of[i] = i - i % (uint32_t)size;
    return (seats + (uint32_t)size - 1) / (uint32_t)size;
}

uint32_t xyl_node_groups_find(const xylem_place_t *places, uint32_t seats,
                              uint64_t setting, uint32_t *group_of_out)
{
    uint32_t groups = setting == XYL_CONFIG_GROUPS_AUTO
                          ? group_near(places, seats, group_of_out)
                          : group_consecutive(seats, setting, group_of_out);

    if (groups != 0)
        return groups;
    memset(group_of_out, 0, seats * sizeof *group_of_out);
    return 1;
}
