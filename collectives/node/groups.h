/* Groups of seats that are near each other. Bytes that go from group to group
 * are dear if each group has a cache of its own. The function is pure. */
#pragma once

#include <stdint.h>

#include "include/xylem.h"

/* Writes for each seat the lowest seat of its group; returns the number of
 * groups. `setting` is that of XYLEM_NODE_GROUPS. If it is auto, the seats of a
 * group share the third-level cache, else memory, else the package. All seats
 * are one group if the place of a seat is not known, or if no two seats share
 * any of these. */
uint32_t xyl_node_groups_find(const xylem_place_t *places, uint32_t seats,
                              uint64_t setting, uint32_t *group_of_out);
