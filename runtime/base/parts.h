/* Cutting elements into parts of nearly equal size. */
#pragma once

#include <stdint.h>

/* The first element of part `part`, with `count` elements cut into `parts` that
 * differ by at most one element; part = parts gives `count`. */
static inline uint64_t xyl_part_at(uint64_t count, uint32_t parts,
                                   uint32_t part)
{
    uint64_t each = count / parts, more = count % parts;

    return each * part + (part < more ? part : more);
}

/* The part that holds element `at`. */
static inline uint32_t xyl_part_of(uint64_t count, uint32_t parts, uint64_t at)
{
    uint64_t each = count / parts, more = count % parts;

    if (at < more * (each + 1))
        return (uint32_t)(at / (each + 1));
    return (uint32_t)(more + (at - more * (each + 1)) / each);
}
