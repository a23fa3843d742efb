/* One rank of a job whose teams fail again and again while calls on memory of
 * GPUs are under way: device_aborts ALGORITHM,... ROUNDS. In each round some
 * ranks, or all, start allreduces by one of the algorithms, go on for a
 * while, and abort; the calls end with an error, and the team goes. Nothing is
 * kept of them: each rank has few allocations on devices afterwards (of the
 * library that takes CUDA's place, fake_cuda.c), and allreduces by each
 * algorithm, several at once, have the right results. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "progress/exec/cuda/cuda.h"
#include "tests/proc/device_count.h"
#include "tests/proc/job.h"

enum {
    COUNT = 50000,
    FLIGHT = 5,
    ALGORITHMS_MAX = 8,
    TURNS_MAX = 40, /* in which a round's calls go on */
    ROOMS = 16      /* of calls that are under way at once, at most */
};

static job_t job;
static struct bench_device *device;
static const xyl_cuda_library_t *library;
static char *algorithms[ALGORITHMS_MAX];
static unsigned algorithm_count;

static xylem_request_t *start(xylem_team_t *team, const char *algorithm,
                              void *send, void *recv)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_request_t *request;

    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = send;
    args.recv = recv;
    args.count = COUNT;
    args.type = XYLEM_INT32;
    args.op = XYLEM_SUM;
    args.algorithm = algorithm;
    /* NULL: the team has failed by then. */
    return xylem_coll_start(team, &args, &request) == XYLEM_OK ? request : NULL;
}

static void aborted(uint32_t number, uint64_t *random, char *const memory[])
{
    const char *algorithm = algorithms[number % algorithm_count];
    uint32_t late = job_random(random) % (2 * job.ranks);
    uint32_t turns = job_random(random) % TURNS_MAX, i;
    xylem_request_t *request[FLIGHT] = {NULL};
    xylem_team_t *team;

    MUST(xylem_team_dup(job.world, &team));
    for (i = 0; i < FLIGHT && late != job.rank; i++)
        request[i] = start(team, algorithm, memory[2 * i], memory[2 * i + 1]);
    for (i = 0; i < turns; i++)
        xylem_progress(job.context);
    MUST(xylem_team_abort(team, "enough"));
    for (i = 0; i < FLIGHT; i++)
        if (request[i] != NULL) {
            (void)xylem_request_wait(request[i]);
            MUST(xylem_request_free(request[i]));
        }
    MUST(xylem_team_destroy(team));
    MUST(xylem_barrier(job.world));
}

static void fill(void *memory, uint32_t number, int32_t *numbers)
{
    uint32_t i;

    for (i = 0; i < COUNT; i++)
        numbers[i] = (int32_t)((job.rank + 1) * (i % 1000 + number));
    MUST(device_copy(device, memory, numbers, COUNT * sizeof *numbers));
}

static void check(void *memory, uint32_t number, const char *algorithm,
                  int32_t *numbers)
{
    uint32_t i, sum = job.ranks * (job.ranks + 1) / 2;

    MUST(device_copy(device, numbers, memory, COUNT * sizeof *numbers));
    for (i = 0; i < COUNT; i++)
        REQUIRE(numbers[i] == (int32_t)(sum * (i % 1000 + number)),
                "%s: wrong at %u", algorithm, i);
}

/* Nobody has kept what it needs. */
static void goes_well(const char *algorithm, char *const memory[])
{
    int32_t *numbers = job_memory(COUNT * sizeof *numbers);
    xylem_request_t *request[FLIGHT];
    uint32_t i;

    for (i = 0; i < FLIGHT; i++)
        fill(memory[2 * i], i, numbers);
    for (i = 0; i < FLIGHT; i++) {
        request[i] =
            start(job.world, algorithm, memory[2 * i], memory[2 * i + 1]);
        REQUIRE(request[i] != NULL, "%s: %s", algorithm, xylem_last_error());
    }
    for (i = 0; i < FLIGHT; i++) {
        MUST(xylem_request_wait(request[i]));
        MUST(xylem_request_free(request[i]));
        check(memory[2 * i + 1], i, algorithm, numbers);
    }
    free(numbers);
}

int main(int argc, char **argv)
{
    char *memory[2 * FLIGHT], *rest;
    const char *why = "";
    uint64_t random = 1;
    uint32_t rounds, i;

    job_begin(&job);
    REQUIRE(argc == 3, "usage: device_aborts ALGORITHM,... ROUNDS");
    for (rest = argv[1]; algorithm_count < ALGORITHMS_MAX;) {
        char *name = strtok_r(rest, ",", &rest);
        if (name == NULL)
            break;
        algorithms[algorithm_count++] = name;
    }
    rounds = (uint32_t)strtoul(argv[2], NULL, 10);
    MUST(device_open(job.rank, &device));
    library = xyl_cuda_library_open(getenv("XYLEM_CUDA_LIBRARY"), &why);
    REQUIRE(library != NULL, "%s", why);
    for (i = 0; i < 2 * FLIGHT; i++)
        MUST(device_take(device, COUNT * sizeof(int32_t),
                         (void **)(void *)&memory[i]));
    for (i = 0; i < rounds; i++)
        aborted(i, &random, memory);
    REQUIRE(device_count(library, 0) <= 2 * FLIGHT + ROOMS,
            "%u allocations on devices after %u rounds",
            device_count(library, 0), rounds);
    for (i = 0; i < algorithm_count; i++)
        goes_well(algorithms[i], memory);
    for (i = 0; i < 2 * FLIGHT; i++)
        device_give(device, memory[i]);
    job_end(&job);
    device_close(device);
    return 0;
}
