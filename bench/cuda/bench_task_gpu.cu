/* A remote task that is a kernel, beside one that is a function: from the call
 * until the sender knows that it has run, and from the call until the kernel
 * runs, which writes to memory that the sender's processor reads, too (rank 1
 * sends to rank 0, whose GPU it is; both on one machine). */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bench/cuda/common.cuh"

enum { ROUNDS = 2000, FUNCTION = 0, KERNEL = 1 };

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
                       uint64_t address, uint32_t index, const char *name)
{
    std::vector<double> run, ended;

    for (uint64_t r = 1; r <= ROUNDS; r++) {
        uint64_t args[2] = {address, r + index * 1000000};
        xylem_task_args_t task = XYLEM_TASK_ARGS_INIT;
        xylem_request_t *request;
        double begin = now_us(), ran = 0;

        task.rank = 0;
        task.index = index;
        task.flags = XYLEM_FLAG_RAN;
        task.args = args;
        task.args_bytes = sizeof args;
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
        time_tasks(j, tasks, word, address, FUNCTION, "a task, by a function");
        time_tasks(j, tasks, word, address, KERNEL, "a task, by a kernel");
        fflush(stdout);
    }
    MUST(xylem_tasks_close(tasks));
    MUST(xylem_kernel_destroy(kernel));
    job_end(j);
}
