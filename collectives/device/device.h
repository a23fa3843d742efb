/* Collectives of ranks whose buffers lie in memory of GPUs: what ranks of a
 * node tell one another of them, and how one rank's GPU comes to another's. */
#ifndef XYL_COLLECTIVES_DEVICE_DEVICE_H
#define XYL_COLLECTIVES_DEVICE_DEVICE_H

#include "collectives/data/modules.h"
#include "collectives/data/problem.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/core/team.h"

/* State of the team, see way.h. */
struct xyl_device_team *xyl_device_of_team(const xylem_team_t *team);

/* Fills in what a call's problem says of memory of GPUs, alike on all ranks;
 * the rest is there. */
void xyl_device_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                        xyl_memory_t memory, xyl_problem_t *problem);

/* A buffer as other processes of the machine find it. Travels between ranks. */
typedef struct xyl_device_name {
    uint64_t base, bytes; /* of the allocation, in its owner's memory */
    uint64_t buffer;      /* the allocation's number, there */
    uint64_t offset;      /* of the buffer */
    uint8_t handle[XYL_CUDA_HANDLE_BYTES];
} xyl_device_name_t;

/* Where a device is on the machine: the same for all processes that use it, or
 * that this process cannot ask. */
#define XYL_DEVICE_GPU_UNKNOWN UINT64_MAX
uint64_t xyl_device_gpu(xylem_context_t *context,
                        const xyl_cuda_library_t *library, int device);

/* Names what is at `address`, of an allocation that can be exported. 0, or an
 * error of the library. The progressing thread, as all that follow. */
int xyl_device_name(xylem_context_t *context, const xyl_cuda_library_t *library,
                    const void *address, const xyl_cuda_place_t *place,
                    xyl_device_name_t *name_out);

/* An allocation that others may still have open of a rank, though it has been
 * freed since it was named. Travels between ranks. */
typedef struct xyl_device_freed {
    uint64_t base, buffer; /* buffer 0: none */
} xyl_device_freed_t;

/* A call names two allocations at most, and so more can be told than named. */
enum { XYL_DEVICE_FREED_MAX = 3 };

/* Those that have been found in this call; each is told once. */
void xyl_device_find_freed(xylem_context_t *context,
                           const xyl_cuda_library_t *library,
                           xyl_device_freed_t freed_out[XYL_DEVICE_FREED_MAX]);
/* Rank `owner` of the job says so: it is closed, as soon as no work uses it. */
void xyl_device_forget(xylem_context_t *context, uint32_t owner,
                       const xyl_device_freed_t *freed);

/* Where the calling process has what rank `owner` of the job has named, for the
 * works on `device` that `exec` begins next. NULL: it cannot be opened, which
 * has been said. It stays open until others need its place, or the owner has
 * another allocation there, but at least until these works have ended. */
void *xyl_device_open(xylem_context_t *context,
                      const xyl_cuda_library_t *library, uint32_t owner,
                      int device, const xyl_device_name_t *name,
                      xyl_exec_t *exec);

/* Whether it can be opened. Nothing is said and nothing stays open; 0:
 * *why_out is why not. */
int xyl_device_opens(xylem_context_t *context,
                     const xyl_cuda_library_t *library, uint32_t owner,
                     int device, const xyl_device_name_t *name,
                     xyl_exec_t *exec, const char **why_out);

/* Which GPUs this rank's have been seen to reach, see reach.h. */
struct xyl_device_reach *xyl_device_reach_of(const xylem_context_t *context);

/* Memory of a device that others can open, for as long as a call needs it.
 * NULL: none. */
void *xyl_device_room_take(xylem_context_t *context,
                           const xyl_cuda_library_t *library, int device,
                           size_t bytes);
void xyl_device_room_give(xylem_context_t *context, void *memory);
/* The same of a call that has failed: works of other ranks, which have not
 * heard yet, may still read and write there, so that nobody here gets it again.
 * It goes back to the driver, which keeps it while others have it open. */
void xyl_device_room_drop(xylem_context_t *context, void *memory);

extern const xyl_module_t xyl_device_module;

#endif
