/* The memory that ranks of a team on one node share for designs that copy by
 * two mechanisms: the directory, and the CPU shared buffer, which is pinned.
 * The first call that needs this memory makes it. */
#pragma once

#include "collectives/device/directory.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/core/team.h"

typedef struct xyl_device_staging {
    xyl_directory_t directory;
    const xyl_cuda_library_t *library; /* NULL: it is not pinned */
    void *memory;
    uint32_t *world; /* [ranks] of the job */
    uint64_t number; /* of the last collective that has begun */
} xyl_device_staging_t;

/* The team's staging; NULL: no memory. The progressing thread. */
xyl_device_staging_t *xyl_device_staging_of(xylem_team_t *team,
                                            const xyl_cuda_library_t *library,
                                            int device);
/* Called when nothing of the team is under way; any thread. */
void xyl_device_staging_end(xylem_team_t *team, xyl_device_staging_t *staging);

/* Begins `call`, and fills in its number. 0: the collective before is not over
 * yet on other ranks. The progressing thread. */
int xyl_device_staging_use(xyl_device_staging_t *staging,
                           xyl_directory_call_t *call,
                           xyl_directory_run_t *run);

/* The operations of a team use its staging in the order of their starts, on all
 * ranks alike, even if a later operation is ready first. The progressing
 * thread. */
typedef struct xyl_device_turn {
    struct xyl_device_turn *next;
    int is_waiting;
} xyl_device_turn_t;

void xyl_device_turn_wait(xylem_team_t *team, xyl_device_turn_t *turn);
int xyl_device_turn_is(xylem_team_t *team, const xyl_device_turn_t *turn);
/* The operation is over, given up, or needs no staging. May be called twice. */
void xyl_device_turn_leave(xylem_team_t *team, xyl_device_turn_t *turn);
