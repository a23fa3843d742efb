/* The state that the module of GPUs keeps of a team. */
#pragma once

#include <stdint.h>

#include "collectives/data/modules.h"
#include "runtime/core/team.h"

/* A team's state, by its calls. */
typedef struct xyl_device_team {
    uint64_t calls;     /* so far, in which ranks may ask */
    uint64_t reserved;  /* number up to which no rank asks */
    uint64_t asks_from; /* number from which all ranks ask; 0: unknown */
    int side_by_side;   /* as the word says: problem.h */
    uint32_t seats;     /* the team's ranks on this node; 0: not counted yet */
    struct xyl_device_staging *staging; /* NULL: not needed yet */
    struct xyl_device_turn *turns; /* of operations that may use the staging */
} xyl_device_team_t;

static inline xyl_device_team_t *xyl_gpus_of_team(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_DEVICE];
}
