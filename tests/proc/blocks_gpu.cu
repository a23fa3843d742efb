/* Blocks are those of a GPU. */
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/blocks_inside.h"

enum { BLOCK_THREADS = 64 };

static cudaStream_t stream;

static void must(cudaError_t error)
{
    if (error == cudaSuccess)
        return;
    fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
    exit(EXIT_FAILURE);
}

__global__ void kernel(inside_t *inside)
{
    block_run(inside, blockIdx.x);
}

extern "C" void *blocks_memory(size_t bytes)
{
    void *memory;

    must(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable));
    return memset(memory, 0, bytes);
}

extern "C" void *blocks_places(void)
{
    void *memory;

    must(cudaMalloc(&memory, sizeof(xylem_device_places_t)));
    must(cudaMemset(memory, 0, sizeof(xylem_device_places_t)));
    return memory;
}

extern "C" void blocks_begin(inside_t *inside)
{
    must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    kernel<<<BLOCKS, BLOCK_THREADS, 0, stream>>>(inside);
    must(cudaGetLastError());
}

extern "C" int blocks_run(void)
{
    static unsigned calls;
    cudaError_t error;

    if (calls++ % 1024 != 0)
        return 1;
    error = cudaStreamQuery(stream);
    if (error == cudaErrorNotReady)
        return 1;
    must(error);
    return 0;
}

extern "C" void blocks_end(void)
{
    must(cudaStreamSynchronize(stream));
}
