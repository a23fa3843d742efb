/* The memory of a call (xyl_memory_t): whether its ranks ask each other where
 * their buffers lie. On several nodes only the ranks of a node ask each other,
 * and only for collectives of which cuda_ipc does the levels within nodes: no
 * node then depends on the way that another one goes. */
#pragma once

#include "collectives/data/description.h"
#include "collectives/data/limits.h"
#include "collectives/data/problem.h"
#include "include/xylem.h"
#include "runtime/base/config.h"
#include "runtime/core/context.h"
#include "runtime/core/team.h"

xyl_memory_t xyl_device_memory_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args);
void xyl_device_memory_back(xylem_team_t *team, const xylem_coll_args_t *args);

/* 1: in calls like this one ranks do not ask, wherever their buffers lie, and
 * the calls have no numbers. `args` have packed types. */
int xyl_device_never_asks(xylem_team_t *team, const xylem_coll_args_t *args);

/* 1: the call is so short that ranks never ask in it. Its count alone shows
 * that, by a few instructions, for most short calls, whatever their type. */
static inline int xyl_device_is_short(const xylem_team_t *team,
                                      const xylem_coll_args_t *args)
{
    enum { TYPE_BYTES_MAX = 32 };

    return args->coll < XYLEM_COLL_COUNT && !xyl_coll_varies(args->coll) &&
           args->type < XYLEM_TYPE_COUNT && /* a block is of any length */
           args->count < xyl_tuned_of(team->context)->gpus_from[args->coll] /
                             TYPE_BYTES_MAX;
}

/* The call's memory. Called once for each call, in the order of calls, also
 * with XYLEM_CUDA=off, as other ranks may have a GPU. `args` name no type of
 * the user's, and may be unchecked. */
static inline xyl_memory_t xyl_device_memory(xylem_team_t *team,
                                             const xylem_coll_args_t *args)
{
    const xyl_config_t *config = &team->context->config;

    if (config->cuda_direct == XYL_DIRECT_OFF ||
        (config->cuda_direct == XYL_DIRECT_AUTO &&
         xyl_device_is_short(team, args)))
        return XYL_MEMORY_HOST;
    return xyl_device_memory_find(team, args);
}

/* Takes back the number of a call that has been refused. */
static inline void xyl_device_memory_undo(xylem_team_t *team,
                                          const xylem_coll_args_t *args)
{
    if (team->context->config.cuda_direct != XYL_DIRECT_OFF)
        xyl_device_memory_back(team, args);
}

/* Fills in the fields on memory of GPUs of a problem of this node's ranks, for
 * the levels within nodes of a call on several. Alike on all of them. */
void xyl_device_outline_level(xylem_team_t *team, const xylem_coll_args_t *args,
                              xyl_memory_t memory, xyl_problem_t *problem);

/* 0: without its tag, ranks would ask in a call like this one; equal on all
 * ranks for one tag, whatever their buffers. `args` have packed types. Any
 * thread. */
int xyl_device_tag_suits(xylem_team_t *team, const xylem_coll_args_t *args);

/* Lets a team that has made no call go on from `word`, which an earlier team of
 * the same ranks has left with the node (node.h); equal on all ranks. */
void xyl_device_memory_goes_on(xylem_team_t *team, uint64_t word);
