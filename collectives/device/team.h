/* The state that the module of GPUs keeps of a team. */
#pragma once

#include <stdint.h>

#include "collectives/data/modules.h"
#include "runtime/core/team.h"

/* The state of a team. Numbers are those of its calls. */
typedef struct xyl_device_team {
    uint64_t calls;          /* so far, in which ranks may ask */
    uint64_t reserved;       /* number up to which no rank asks */
    uint64_t asks_from;      /* number from which all ranks ask; 0: unknown */
    uint64_t gpu;            /* this rank's, as it has told; 0: not yet */
    int is_mps;              /* processes share that GPU through MPS */
    int devices;             /* that this process sees */
    uint64_t apart_reserved; /* as `reserved`, for the word about GPUs */
    uint64_t apart_from;     /* number from which that word holds; 0: unknown */
    int is_apart;            /* as it says: kernels run side by side */
    uint32_t seats; /* the team's ranks on this node; 0: not counted yet */
    struct xyl_device_staging *staging; /* NULL: not needed yet */
    struct xyl_device_turn *turns; /* of operations that may use the staging */
} xyl_device_team_t;

static inline xyl_device_team_t *xyl_gpus_of_team(const xylem_team_t *team)
{
    return team->attached[XYL_MODULE_DEVICE];
}
