/* The memory of a call: whether its ranks ask each other where their buffers
 * lie. */
#ifndef XYL_COLLECTIVES_DEVICE_WAY_H
#define XYL_COLLECTIVES_DEVICE_WAY_H

#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/data/problem.h"
#include "include/xylem.h"
#include "runtime/base/config.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* Of a team, by its calls. */
typedef struct xyl_device_team {
    uint64_t calls;     /* that may ask, so far */
    uint64_t reserved;  /* up to which none does */
    uint64_t asks_from; /* 0: that is not known */
    int side_by_side;   /* the word says so, whose ranks ask: problem.h */
    struct xyl_device_staging *staging; /* NULL: not needed yet */
    struct xyl_device_turn *turns;      /* of who may use it, in order */
} xyl_device_team_t;

xyl_memory_t xyl_device_memory_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args);
void xyl_device_memory_back(xylem_team_t *team, const xylem_coll_args_t *args);

/* That for no call like this one, whatever its buffers, there is anything to
 * ask, to be numbered or to be taken back. `args` have packed types.
 */
int xyl_device_never_asks(const xylem_team_t *team,
                          const xylem_coll_args_t *args);

/* A call in which ranks never ask, whatever type they name: most short calls
 * are told by their count alone, so that they pay a few instructions. */
static inline int xyl_device_is_short(const xylem_team_t *team,
                                      const xylem_coll_args_t *args)
{
    enum { TYPE_BYTES_MAX = 32 };

    return args->coll < XYLEM_COLL_COUNT && !xyl_coll_varies(args->coll) &&
           args->type < XYLEM_TYPE_COUNT && /* a block is of any length */
           args->count < xyl_tuned_of(team->context)->gpus_from[args->coll] /
                             TYPE_BYTES_MAX;
}

/* Once for each call, in their order, also where there is to be no GPU
 * (XYLEM_CUDA=off), as others may have one; `args` name no type of the user's,
 * and need not have been checked. */
static inline xyl_memory_t xyl_device_memory(xylem_team_t *team,
                                             const xylem_coll_args_t *args)
{
    const xyl_config_t *config = &team->context->config;

    if (!team->is_one_node || config->cuda_direct == XYL_DIRECT_OFF ||
        (config->cuda_direct == XYL_DIRECT_AUTO &&
         xyl_device_is_short(team, args)))
        return XYL_MEMORY_HOST;
    return xyl_device_memory_find(team, args);
}

/* That call has been refused. */
static inline void xyl_device_memory_undo(xylem_team_t *team,
                                          const xylem_coll_args_t *args)
{
    const xyl_config_t *config = &team->context->config;

    if (team->is_one_node && config->cuda_direct != XYL_DIRECT_OFF)
        xyl_device_memory_back(team, args);
}

/* 0: ranks would ask in a call like this one, but for its tag; equal on all of
 * them for one tag, whatever their buffers. `args` have packed types.
 * Any thread. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args);

/* The team, which has made no call, goes on where an earlier one of its ranks
 * has left the node's word for it (node.h), as all ranks know. */
void xyl_device_memory_goes_on(xylem_team_t *team, uint64_t word);

#endif
