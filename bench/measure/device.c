#include "bench/measure/device.h"

#include <stdio.h>
#include <stdlib.h>

#include "progress/exec/cuda/cuda.h"

struct bench_device {
    const xyl_cuda_library_t *library;
    int number;
    xyl_cuda_stream_t *stream;
};

static xylem_status_t reported(const struct bench_device *device, int error,
                               const char *what)
{
    if (error == 0)
        return XYLEM_OK;
    fprintf(stderr, "GPU %d: %s: %s\n", device->number, what,
            device->library->error_text(error));
    return XYLEM_ERR_UNSUPPORTED;
}

xylem_status_t device_open(uint32_t rank, struct bench_device **device_out)
{
    struct bench_device *device = calloc(1, sizeof *device);
    const char *why = "no memory";
    xylem_status_t status;
    int count = 0;

    if (device != NULL)
        device->library =
            xyl_cuda_library_open(getenv("XYLEM_CUDA_LIBRARY"), &why);
    if (device == NULL || device->library == NULL) {
        fprintf(stderr, "no memory of GPUs: %s\n", why);
        free(device);
        return XYLEM_ERR_UNSUPPORTED;
    }
    status = reported(device, device->library->devices(&count), "devices");
    if (status == XYLEM_OK && count == 0) {
        fputs("there is no GPU\n", stderr);
        status = XYLEM_ERR_UNSUPPORTED;
    }
    if (status == XYLEM_OK) {
        device->number = (int)(rank % (uint32_t)count);
        status = reported(
            device,
            device->library->stream_create(device->number, &device->stream),
            "a stream");
    }
    if (status == XYLEM_OK)
        *device_out = device;
    else
        free(device);
    return status;
}

void device_use(struct bench_device *device)
{
    device->library->use(device->number);
}

void *device_stream(struct bench_device *device)
{
    return device->library->stream_of_runtime(device->stream);
}

xylem_status_t device_wait(struct bench_device *device)
{
    return reported(device, device->library->stream_wait(device->stream),
                    "wait");
}

void device_close(struct bench_device *device)
{
    if (device == NULL)
        return;
    device->library->stream_destroy(device->stream);
    free(device);
}

xylem_status_t device_take(struct bench_device *device, size_t bytes,
                           void **memory_out)
{
    return reported(
        device, device->library->device_take(device->number, bytes, memory_out),
        "memory");
}

void device_give(struct bench_device *device, void *memory)
{
    device->library->device_give(device->number, memory);
}

xylem_status_t device_copy(struct bench_device *device, void *to,
                           const void *from, size_t bytes)
{
    int error = device->library->copy(device->stream, to, from, bytes);

    if (error == 0)
        error = device->library->stream_wait(device->stream);
    return reported(device, error, "copy");
}
