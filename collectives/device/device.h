/* Collectives of ranks whose buffers lie in memory of GPUs: how ranks of a node
 * name their buffers, and how a rank opens another's memory. */
#pragma once

#include "collectives/data/modules.h"
#include "collectives/data/problem.h"
#include "progress/exec/cuda/cuda.h"
#include "runtime/core/team.h"

/* Fills in the problem's fields on memory of GPUs, alike on all ranks; the
 * caller has filled in the others. */
void xyl_device_outline(const xylem_team_t *team, const xylem_coll_args_t *args,
                        xyl_memory_t memory, xyl_problem_t *problem);

/* A buffer as other processes of the machine find it. Travels between ranks. */
typedef struct xyl_device_name {
    uint64_t base, bytes; /* of the allocation, in its owner's memory */
    uint64_t buffer;      /* the allocation's number, there */
    uint64_t offset;      /* of the buffer, in the allocation */
    uint8_t handle[XYL_CUDA_HANDLE_BYTES];
} xyl_device_name_t;

/* The number of a device's GPU, the same in all processes that use the GPU, or
 * UNKNOWN: this process cannot ask for it. */
#define XYL_DEVICE_GPU_UNKNOWN UINT64_MAX
uint64_t xyl_device_gpu(xylem_context_t *context,
                        const xyl_cuda_library_t *library, int device);

/* Names the buffer at `address`, of an allocation that can be exported. 0, or
 * an error of the library. The progressing thread calls this function and all
 * that follow. */
int xyl_device_name(xylem_context_t *context, const xyl_cuda_library_t *library,
                    const void *address, const xyl_cuda_place_t *place,
                    xyl_device_name_t *name_out);

/* An allocation that its owner has named and then freed. Other ranks may still
 * have it open. Travels between ranks. */
typedef struct xyl_device_freed {
    uint64_t base, buffer; /* buffer 0: none */
} xyl_device_freed_t;

/* A call names two allocations at most, and can tell that more are freed. */
enum { XYL_DEVICE_FREED_MAX = 3 };

/* Finds freed allocations for this call's offer; each is told once. */
void xyl_device_find_freed(xylem_context_t *context,
                           const xyl_cuda_library_t *library,
                           xyl_device_freed_t freed_out[XYL_DEVICE_FREED_MAX]);
/* Closes the allocation that rank `owner` of the job has freed, as soon as no
 * work uses it. */
void xyl_device_forget(xylem_context_t *context, uint32_t owner,
                       const xyl_device_freed_t *freed);

/* A buffer that rank `owner` of the job has named, for the works on `device`
 * that `exec` begins next. */
typedef struct xyl_device_remote {
    uint32_t owner;
    const xyl_device_name_t *name;
    int device;
    xyl_exec_t *exec;
    const xyl_cuda_library_t *library;
} xyl_device_remote_t;

/* Opens the buffer. Returns its address; NULL: it cannot be opened, which is
 * logged. The allocation stays open until another one needs its place in the
 * table or lies at its address, but at least until these works have ended. */
void *xyl_device_open(xylem_context_t *context,
                      const xyl_device_remote_t *remote);

/* 1: the buffer can be opened; 0: *why_out says why not. Logs nothing, and
 * closes the memory again if no work has used it. */
int xyl_device_opens(xylem_context_t *context,
                     const xyl_device_remote_t *remote, const char **why_out);

/* The GPUs that this rank's GPUs have been seen to reach, see reach.h. */
struct xyl_device_reach *xyl_device_reach_of(const xylem_context_t *context);

/* Memory of a device that other ranks can open, for one call. NULL: none. */
void *xyl_device_room_take(xylem_context_t *context,
                           const xyl_cuda_library_t *library, int device,
                           size_t bytes);
/* Gives the memory back; that of a call that has failed, to the driver. Works
 * of ranks that have not heard of the failure may still use the memory, so no
 * call gets it again: the driver keeps it while others have it open. */
void xyl_device_room_give(xylem_context_t *context, void *memory,
                          int has_failed);

extern const xyl_module_t xyl_device_module;
