/* One rank of a job that has buffers on GPUs for one allreduce each, and then
 * frees them: device_churn ROUNDS BUFFERS; 1, or 2, in each call. What others
 * had opened of it is closed soon, since a driver keeps memory for as long as
 * any process has it open. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "progress/exec/cuda/cuda.h"
#include "tests/proc/device_count.h"
#include "tests/proc/job.h"

enum { COUNT = 4096, PAGE = 4096, OPEN_FEW = 9 };

static job_t job;
static struct bench_device *device;
static const xyl_cuda_library_t *library;

/* Where another one has been there is no room for the next, which is longer. */
static void *memory_take(uint32_t round)
{
    void *memory, *between;

    MUST(device_take(device, COUNT * sizeof(int32_t) + (size_t)round * PAGE,
                     &memory));
    MUST(device_take(device, 1, &between)); /* it stays */
    return memory;
}

static void buffers_once(uint32_t round, int in_place)
{
    void *recv = memory_take(round);
    void *send = in_place ? NULL : memory_take(round);

    MUST(xylem_allreduce(job.world, in_place ? XYLEM_IN_PLACE : send, recv,
                         COUNT, XYLEM_INT32, XYLEM_MAX));
    MUST(xylem_barrier(job.world)); /* nobody works on it any more */
    if (send != NULL)
        device_give(device, send);
    device_give(device, recv);
}

int main(int argc, char **argv)
{
    const char *why = "";
    uint32_t rounds, i;
    int in_place;

    job_begin(&job);
    REQUIRE(argc == 3, "usage: device_churn ROUNDS BUFFERS");
    in_place = strcmp(argv[2], "1") == 0;
    rounds = (uint32_t)strtoul(argv[1], NULL, 10);
    MUST(device_open(job.rank, &device));
    library = xyl_cuda_library_open(getenv("XYLEM_CUDA_LIBRARY"), &why);
    REQUIRE(library != NULL, "%s", why);
    for (i = 0; i < rounds; i++)
        buffers_once(i, in_place);
    REQUIRE(device_count(library, 1) <= OPEN_FEW,
            "%u allocations of others are open after %u "
            "rounds",
            device_count(library, 1), rounds);
    job_end(&job);
    device_close(device);
    return 0;
}
