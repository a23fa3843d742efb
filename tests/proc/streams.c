/* What streams and kernels of GPUs have the library do, where a library takes
 * the place of CUDA's (fake_cuda.c): triggers that streams count up, remote
 * tasks that are kernels, memory of peers. Two ranks or more. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bench/measure/device.h"
#include "include/xylem_device.h"
#include "tests/proc/job.h"

enum { STREAMS = 3, COUNTS = 500, TASKS = 300, LONG = 5000, KERNELS = 2 };

static xylem_status_t status_of_count(xylem_trigger_t *trigger, void *stream)
{
    return xylem_stream_trigger(trigger, 0, 1, stream);
}

/* A barrier for each of COUNTS rounds, begun by a stream of every rank. */
static void run_stream_triggers(const job_t *job)
{
    static uint64_t streams[STREAMS]; /* their addresses name them */
    xylem_coll_args_t args = {.struct_bytes = sizeof args,
                              .coll = XYLEM_COLL_BARRIER};
    xylem_trigger_args_t trigger_args = {.struct_bytes = sizeof trigger_args,
                                         .action = XYLEM_TRIGGER_START,
                                         .threshold = STREAMS};
    _Alignas(8) uint64_t word = 0;
    xylem_trigger_t *trigger;
    xylem_request_t *request;
    uint32_t i, s;

    MUST(xylem_coll_init(job->world, &args, &request));
    trigger_args.request = request;
    trigger_args.word = &word;
    MUST(xylem_trigger_create(job->context, &trigger_args, &trigger));
    REQUIRE(status_of_count(trigger, (char *)&streams[0] + 1) ==
                XYLEM_ERR_INVALID_ARG,
            "a stream that is captured is taken");
    for (i = 0; i < COUNTS; i++)
        for (s = 0; s < STREAMS; s++)
            MUST(status_of_count(trigger, &streams[(s + i) % STREAMS]));
    while (xylem_device_wait(&word, COUNTS, 0) == XYLEM_ERR_TIMED_OUT)
        (void)xylem_progress(job->context);
    REQUIRE(word == (uint64_t)COUNTS << 8, "the word is %llx",
            (unsigned long long)word);
    MUST(xylem_trigger_destroy(trigger));
    MUST(xylem_request_free(request));
}

/* ---- kernels ---- */

static _Atomic uint64_t ran[KERNELS], bytes_seen;

/* Adds up; arguments say how long the payload is and what is in it. */
static void count_task(const xylem_device_task_t *task, uint32_t kernel)
{
    uint64_t expected[2], i;

    REQUIRE(task->args_bytes == sizeof expected, "%llu bytes of arguments",
            (unsigned long long)task->args_bytes);
    memcpy(expected, task->args, sizeof expected);
    REQUIRE(task->payload_bytes == expected[0] && task->index == kernel,
            "a task is another one");
    for (i = 0; i < task->payload_bytes; i++)
        REQUIRE(((const unsigned char *)task->payload)[i] ==
                    (unsigned char)(expected[1] + i),
                "byte %llu is wrong", (unsigned long long)i);
    atomic_fetch_add(&ran[kernel], 1);
    atomic_fetch_add(&bytes_seen, task->payload_bytes);
}

static void kernel_0(void *parameter)
{
    count_task(parameter, 0);
}

static void kernel_1(void *parameter)
{
    count_task(parameter, 1);
}

static void send_tasks(const job_t *job, xylem_tasks_t *tasks)
{
    unsigned char payload[LONG];
    uint64_t args[2], random = 1 + job->rank, i, k;
    uint32_t to = (job->rank + 1) % job->ranks;

    for (i = 0; i < TASKS; i++) {
        args[0] = job_random(&random) % 3 == 0 ? LONG : i % 100;
        args[1] = i;
        for (k = 0; k < args[0]; k++)
            payload[k] = (unsigned char)(i + k);
        MUST(xylem_task_call(tasks, to, (uint32_t)(i % KERNELS), args,
                             sizeof args, payload, args[0]));
    }
    REQUIRE(xylem_task_call(tasks, to, KERNELS, args, sizeof args, NULL, 0) ==
                XYLEM_ERR_INVALID_ARG,
            "a kernel runs that was not registered");
}

static void run_kernels(const job_t *job)
{
    void (*const functions[KERNELS])(void *) = {kernel_0, kernel_1};
    xylem_task_entry_t entries[KERNELS];
    xylem_kernel_t *kernels[KERNELS];
    xylem_tasks_params_t params = {.struct_bytes = sizeof params,
                                   .entries = entries,
                                   .entry_count = KERNELS};
    xylem_tasks_t *tasks;
    uint32_t k;

    for (k = 0; k < KERNELS; k++) {
        xylem_kernel_args_t args = {.struct_bytes = sizeof args,
                                    .streams = 1 + k};
        memcpy(&args.function, &functions[k], sizeof args.function);
        MUST(xylem_kernel_create(job->context, &args, &kernels[k]));
        entries[k] = (xylem_task_entry_t)XYLEM_TASK_ENTRY_INIT;
        entries[k].args_max = 64;
        entries[k].payload_max = LONG;
        MUST(xylem_kernel_entry(kernels[k], &entries[k]));
    }
    MUST(xylem_tasks_open(job->world, &params, &tasks));
    send_tasks(job, tasks);
    MUST(xylem_tasks_close(tasks));
    for (k = 0; k < KERNELS; k++) {
        REQUIRE(atomic_load(&ran[k]) == TASKS / KERNELS,
                "kernel %u ran %llu times", k,
                (unsigned long long)atomic_load(&ran[k]));
        MUST(xylem_kernel_destroy(kernels[k]));
    }
}

/* ---- peers ---- */

static void run_peers(const job_t *job)
{
    xylem_device_peers_t peers = {.struct_bytes = sizeof peers};
    struct bench_device *device;
    uint64_t here[8];
    void *memory;
    uint32_t r;

    REQUIRE(xylem_peers_open(job->world, here, sizeof here, &peers) ==
                XYLEM_ERR_UNSUPPORTED,
            "memory of the host is a GPU's");
    MUST(device_open(job->rank, &device));
    MUST(device_take(device, 1 << 16, &memory));
    MUST(xylem_peers_open(job->world, (char *)memory + 4096, 4096, &peers));
    REQUIRE(peers.rank == job->rank && peers.ranks == job->ranks &&
                peers.memory[job->rank] == (char *)memory + 4096,
            "the peers are others");
    for (r = 0; r < job->ranks; r++)
        REQUIRE(peers.memory[r] != NULL &&
                    (uintptr_t)peers.memory[r] % 4096 == 0,
                "peer %u is nowhere", r);
    MUST(xylem_peers_close(job->world, &peers));
    device_give(device, memory);
    device_close(device);
}

int main(void)
{
    job_t job;

    job_begin(&job);
    run_stream_triggers(&job);
    run_kernels(&job);
    run_peers(&job);
    job_end(&job);
    return 0;
}
