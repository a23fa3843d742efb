/* What the ranks of a team on one node share for designs that copy by two
 * mechanisms: the directory, and the CPU shared buffer, which is pinned. Made
 * by the first call that needs it. */
#ifndef XYL_COLLECTIVES_DEVICE_STAGING_H
#define XYL_COLLECTIVES_DEVICE_STAGING_H

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

/* NULL: there is no memory for it. The progressing thread, as is _use. */
xyl_device_staging_t *xyl_device_staging_of(xylem_team_t *team,
                                            const xyl_cuda_library_t *library,
                                            int device);
/* When nothing of the team is under way; any thread. */
void xyl_device_staging_end(xylem_team_t *team, xyl_device_staging_t *staging);

/* Begins `call`, whose number is filled in. 0: the one before is not over yet
 * on other ranks. */
int xyl_device_staging_use(xyl_device_staging_t *staging,
                           xyl_directory_call_t *call,
                           xyl_directory_run_t *run);

/* The operations of a team that may use it do so in the order of their starts,
 * on all ranks alike, though one behind may have come further. The progressing
 * thread. */
typedef struct xyl_device_turn {
    struct xyl_device_turn *next;
    int is_waiting;
} xyl_device_turn_t;

void xyl_device_turn_wait(xylem_team_t *team, xyl_device_turn_t *turn);
int xyl_device_turn_is(xylem_team_t *team, const xyl_device_turn_t *turn);
/* It is over, or given up, or not needed; again, too. */
void xyl_device_turn_leave(xylem_team_t *team, xyl_device_turn_t *turn);

#endif
