/* Memory of a GPU for measured buffers, by libxylem-cuda: so neither a
 * benchmark nor a driver of an MPI needs CUDA to be built. Errors are printed
 * on standard error. One thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "include/xylem.h"

/* The memory of a measurement's buffers; the names of --mem, in this order. */
#define BENCH_MEMORIES "host|cuda|staged"
enum bench_memory {
    BENCH_MEMORY_HOST,
    BENCH_MEMORY_CUDA,  /* calls get addresses of a GPU's memory */
    BENCH_MEMORY_STAGED /* copied to the host before a call, and back, as by a
                           program whose library takes no such address */
};

struct bench_device;

/* The GPU of a rank: one after the other, as ranks count. */
xylem_status_t device_open(uint32_t rank, struct bench_device **device_out);
/* Makes it the calling thread's, for other libraries; and its stream, as CUDA's
 * runtime calls it. */
void device_use(struct bench_device *device);
void *device_stream(struct bench_device *device);
xylem_status_t device_wait(struct bench_device *device);
void device_close(struct bench_device *device);
xylem_status_t device_take(struct bench_device *device, size_t bytes,
                           void **memory_out);
void device_give(struct bench_device *device, void *memory);
/* Either address may be in the host's memory; returns when the copy is done. */
xylem_status_t device_copy(struct bench_device *device, void *to,
                           const void *from, size_t bytes);
