/* Whether ranks ask each other in a call where their buffers lie. */
#ifndef XYL_COLLECTIVES_DEVICE_WAY_H
#define XYL_COLLECTIVES_DEVICE_WAY_H

#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "include/xylem.h"
#include "runtime/base/config.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

/* Of the flags of a call, beside the user's: they do. */
#define XYL_FLAG_ASKS 0x80000000u

/* Of a team, by its calls. */
typedef struct xyl_device_team {
    uint64_t calls;                     /* that may ask, so far */
    uint64_t reserved;                  /* up to which none does */
    uint64_t asks_from;                 /* 0: that is not known */
    struct xyl_device_staging *staging; /* NULL: not needed yet */
    struct xyl_device_turn *turns;      /* of who may use it, in order */
} xyl_device_team_t;

uint32_t xyl_device_way_find(xylem_team_t *team, const xylem_coll_args_t *args);
void xyl_device_way_back(xylem_team_t *team, const xylem_coll_args_t *args);

/* That for no call like this one, whatever its buffers, there is anything to
 * ask, to be numbered or to be taken back. `args` have packed types.
 */
int xyl_device_never_asks(const xylem_team_t *team,
                          const xylem_coll_args_t *args);

/* A call in which ranks never ask, whatever type they name: most short calls
 * are told by their count alone, so that they pay a few instructions. */
static inline int xyl_device_way_is_short(const xylem_team_t *team,
                                          const xylem_coll_args_t *args)
{
    enum { TYPE_BYTES_MAX = 32 };

    return args->coll < XYLEM_COLL_COUNT && !xyl_coll_varies(args->coll) &&
           args->type < XYLEM_TYPE_COUNT && /* a block is of any length */
           args->count <
               xyl_limits_of(team->context)->device_asks / TYPE_BYTES_MAX;
}

/* XYL_FLAG_ASKS, or 0. Once for each call, in their order, also where there is
 * to be no GPU (XYLEM_CUDA=off), as others may have one; `args` name no type of
 * the user's, and need not have been checked. */
static inline uint32_t xyl_device_way(xylem_team_t *team,
                                      const xylem_coll_args_t *args)
{
    const xyl_config_t *config = &team->context->config;

    if (!team->is_one_node || config->cuda_direct == XYL_DIRECT_OFF ||
        (config->cuda_direct == XYL_DIRECT_AUTO &&
         xyl_device_way_is_short(team, args)))
        return 0;
    return xyl_device_way_find(team, args);
}

/* That call has been refused. */
static inline void xyl_device_way_undo(xylem_team_t *team,
                                       const xylem_coll_args_t *args)
{
    const xyl_config_t *config = &team->context->config;

    if (team->is_one_node && config->cuda_direct != XYL_DIRECT_OFF)
        xyl_device_way_back(team, args);
}

/* 0: ranks would ask in a call like this one, but for its tag; equal on all of
 * them for one tag, whatever their buffers. `args` have packed types.
 * Any thread. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args);

/* The team, which has made no call, goes on where an earlier one of its ranks
 * has left the node's word for it (node.h), as all ranks know. */
void xyl_device_way_goes_on(xylem_team_t *team, uint64_t word);

#endif
