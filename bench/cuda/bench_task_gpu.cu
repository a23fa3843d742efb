/* A remote task that is a kernel, beside one that is a function: from the call
 * until the sender knows that it has run, and from the call until the kernel
 * runs, which writes to memory that the sender's processor reads, too (rank 1
 * sends to rank 0, whose GPU it is; both on one machine); and by a kernel that
 * stays. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/cuda/common.cuh"

enum { ROUNDS = 2000, FUNCTION = 0, KERNEL = 1, ARGS_MAX = 1024 };

/* args: the address of a word, and what to write there. */
__global__ void task_kernel(const __grid_constant__ xylem_device_task_t task)
{
    const uint64_t *args = reinterpret_cast<const uint64_t *>(task.args);

    xylem_device_store_sys_(reinterpret_cast<uint64_t *>(args[0]), args[1]);
}

__global__ void empty_kernel(uint64_t *word, uint64_t value)
{
    xylem_device_store_sys_(word, value);
}

/* The same, in a kernel that stays. */
__device__ int task_in_resident(const xylem_device_task_t *task)
{
    const uint64_t *args = reinterpret_cast<const uint64_t *>(task->args);

    if (threadIdx.x == 0)
        xylem_device_store_sys_(reinterpret_cast<uint64_t *>(args[0]), args[1]);
    return XYLEM_OK;
}

__device__ xylem_device_task_fn const resident_functions[] = {task_in_resident};

__global__ void resident_kernel(xylem_device_resident_t queue, int *status)
{
    int got =
        xylem_device_serve(&queue, blockIdx.x, resident_functions, 1, TRIES);

    if (threadIdx.x == 0)
        status[blockIdx.x] = got;
}

static xylem_status_t task_function(void *, const xylem_task_t *task)
{
    const uint64_t *args = static_cast<const uint64_t *>(task->args);

    __atomic_store_n(reinterpret_cast<uint64_t *>(args[0]), args[1],
                     __ATOMIC_RELEASE);
    return XYLEM_OK;
}

/* Memory of both ranks. */
static uint64_t *board(const job &j)
{
    char name[64];
    int file;
    void *memory;

    snprintf(name, sizeof name, "/bench_task_gpu.%u", unsigned(getuid()));
    file = shm_open(name, O_CREAT | O_RDWR, 0600);
    if (file < 0 || ftruncate(file, 4096) != 0)
        exit(EXIT_FAILURE);
    memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (j.rank == 0)
        CUDA(cudaHostRegister(memory, 4096, cudaHostRegisterPortable));
    MUST(xylem_barrier(j.world));
    shm_unlink(name);
    return static_cast<uint64_t *>(memory);
}

static void time_tasks(const job &j, xylem_tasks_t *tasks, uint64_t *word,
                       uint64_t address, uint32_t index, size_t bytes,
                       const char *name)
{
    static uint64_t run_number;
    std::vector<double> run, ended;

    run_number += 1000000;

    for (uint64_t r = 1; r <= ROUNDS; r++) {
        uint64_t args[ARGS_MAX / 8] = {address, r + run_number};
        xylem_task_args_t task = XYLEM_TASK_ARGS_INIT;
        xylem_request_t *request;
        double begin = now_us(), ran = 0;

        task.rank = 0;
        task.index = index;
        task.flags = XYLEM_FLAG_RAN;
        task.args = args;
        task.args_bytes = bytes;
        MUST(xylem_task_start(tasks, &task, &request));
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != args[1])
            ;
        ran = now_us();
        MUST(xylem_request_wait(request));
        ended.push_back(now_us() - begin);
        run.push_back(ran - begin);
        MUST(xylem_request_free(request));
    }
    printf("%-34s %8.2f %8.2f %8.2f\n", name, at(run, 0.5), at(ended, 0.5),
           at(ended, 0.99));
    (void)j;
}

/* What a launch costs here, and until its kernel's end is known. */
static void time_launch(uint64_t *word)
{
    std::vector<double> call, run, all;
    cudaStream_t stream;

    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int r = 0; r < ROUNDS; r++) {
        double begin = now_us();
        empty_kernel<<<1, 1, 0, stream>>>(word, uint64_t(r) + 1);
        call.push_back(now_us() - begin);
        while (__atomic_load_n(word, __ATOMIC_ACQUIRE) != uint64_t(r) + 1)
            ;
        run.push_back(now_us() - begin);
        CUDA(cudaStreamSynchronize(stream));
        all.push_back(now_us() - begin);
    }
    printf("%-34s %8.2f %8.2f %8.2f   (the call %.2f)\n",
           "a launch on the receiver", at(run, 0.5), at(all, 0.5),
           at(all, 0.99), at(call, 0.5));
    fflush(stdout);
}

/* Of rank 0: a kernel that stays, of so many blocks. */
struct resident {
    xylem_resident_t *handle;
    cudaStream_t stream;
    int *status;
};

static resident resident_begin(const job &j, int blocks,
                               xylem_task_entry_t *entry)
{
    xylem_resident_args_t args = XYLEM_RESIDENT_ARGS_INIT;
    xylem_device_resident_t queue = {};
    resident r = {};

    args.workers = uint32_t(blocks);
    args.functions = 1;
    args.memory = pinned<char>(xylem_resident_bytes(args.workers));
    MUST(xylem_resident_create(j.context, &args, &r.handle));
    MUST(xylem_resident_entry(r.handle, 0, entry));
    queue.struct_bytes = sizeof queue;
    MUST(xylem_resident_queue(r.handle, &queue));
    r.status = pinned<int>(args.workers);
    CUDA(cudaStreamCreateWithFlags(&r.stream, cudaStreamNonBlocking));
    resident_kernel<<<blocks, 128, 0, r.stream>>>(queue, r.status);
    CUDA(cudaGetLastError());
    return r;
}

static void resident_finish(const job &j, const resident &r)
{
    MUST(xylem_resident_end(r.handle, XYLEM_OK));
    progress_until(j, r.stream);
    if (*r.status != XYLEM_OK)
        printf("the kernel: %s\n",
               xylem_status_name(xylem_status_t(*r.status)));
    MUST(xylem_resident_destroy(r.handle));
}

static void with_resident(const job &j, uint64_t *word, uint64_t address,
                          int blocks)
{
    xylem_task_entry_t entry = XYLEM_TASK_ENTRY_INIT;
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    xylem_tasks_t *tasks;
    resident r = {};
    char name[64];

    if (j.rank == 0) {
        r = resident_begin(j, blocks, &entry);
        entry.args_max = ARGS_MAX;
        params.entries = &entry;
        params.entry_count = 1;
    }
    MUST(xylem_tasks_open(j.world, &params, &tasks));
    for (size_t bytes : {size_t(16), size_t(ARGS_MAX)})
        if (j.rank == 1) {
            snprintf(name, sizeof name, "a kernel that stays: %d, %zu bytes",
                     blocks, bytes);
            time_tasks(j, tasks, word, address, 0, bytes, name);
            fflush(stdout);
        }
    MUST(xylem_tasks_close(tasks));
    if (j.rank == 0)
        resident_finish(j, r);
    MUST(xylem_barrier(j.world));
}

int main()
{
    xylem_task_entry_t entries[2] = {XYLEM_TASK_ENTRY_INIT,
                                     XYLEM_TASK_ENTRY_INIT};
    xylem_kernel_args_t kernel_args = XYLEM_KERNEL_ARGS_INIT;
    xylem_tasks_params_t params = XYLEM_TASKS_PARAMS_INIT;
    xylem_kernel_t *kernel = NULL;
    xylem_tasks_t *tasks;
    uint64_t *word, address = 0;
    cudaFunction_t function;
    job j;

    job_begin(&j);
    word = board(j);
    if (j.rank == 0) {
        printf("%-34s %8s %8s %8s\n", "us, medians", "it runs", "ended", "p99");
        time_launch(word);
        address = uint64_t(uintptr_t(word));
        CUDA(cudaGetFuncBySymbol(&function,
                                 reinterpret_cast<const void *>(task_kernel)));
        kernel_args.function = function;
        MUST(xylem_kernel_create(j.context, &kernel_args, &kernel));
        MUST(xylem_kernel_entry(kernel, &entries[KERNEL]));
        entries[FUNCTION].run = task_function;
        entries[FUNCTION].args_max = entries[KERNEL].args_max = 64;
        params.entries = entries;
        params.entry_count = 2;
    }
    MUST(xylem_bcast(j.world, &address, 1, XYLEM_UINT64, 0));
    MUST(xylem_tasks_open(j.world, &params, &tasks));
    if (j.rank == 1) {
        time_tasks(j, tasks, word, address, FUNCTION, 16,
                   "a task, by a function");
        time_tasks(j, tasks, word, address, KERNEL, 16, "a task, by a kernel");
        fflush(stdout);
    }
    MUST(xylem_tasks_close(tasks));
    MUST(xylem_kernel_destroy(kernel));
    for (int blocks : {1, 16})
        with_resident(j, word, address, blocks);
    job_end(j);
}
