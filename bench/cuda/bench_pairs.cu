/* Copies between processes that share GPUs, as in figures 5.1 and 5.2 of
 * Faraji, "Improving Communication Performance in GPU-Accelerated HPC
 * Clusters", 2018: pairs of processes begin at the same time, and one of each
 * pair copies its buffer to the other's, either from GPU memory to GPU memory
 * (IPC), or through pinned memory that both share (host-staged), in chunks that
 * follow each other.
 *
 *   bench_pairs [PAIRS [SHARING]]    4 pairs
 *
 * Prints for each size, and for each number of pairs that go host-staged, the
 * microseconds until the last pair has its data, the median over rounds, and
 * how many bytes were wrong; as lines of gpu.csv (bench/gpu.sh). SHARING is
 * said in the first column. The processes are this one's children and take GPUs
 * in turn.
 */
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cuda_runtime.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vector>

enum : int { PAIRS_MAX = 16, WARMUP = 3, ROUNDS = 25 };
enum : size_t { BYTES_MAX = size_t(16) << 20, CHUNK = size_t(512) << 10 };
enum : int { CHUNKS_MAX = int(BYTES_MAX / CHUNK) };

static const size_t sizes[] = {4,         1 << 10,  4 << 10,  8 << 10,
                               16 << 10,  32 << 10, 64 << 10, 128 << 10,
                               256 << 10, 1 << 20,  4u << 20, BYTES_MAX};

struct alignas(128) place {
    std::atomic<uint64_t> filled; /* chunks, of all rounds */
    cudaIpcMemHandle_t handle;
    double begin_us, end_us;
    uint64_t wrong;
};

struct shared {
    alignas(128) std::atomic<uint64_t> arrived;
    std::atomic<int> is_over; /* somebody has failed */
    place of[2 * PAIRS_MAX];
};

struct process {
    shared *all;
    int number, processes;
    uint64_t barriers, chunks; /* chunks: of this pair, before this round */
    cudaStream_t stream;
    cudaEvent_t event[CHUNKS_MAX];
    char *own, *others, *pinned;
};

static void end_all(process *p, const char *what)
{
    fprintf(stderr, "process %d: %s\n", p->number, what);
    p->all->is_over = 1;
    _exit(EXIT_FAILURE);
}

#define CUDA(call)                                                             \
    do {                                                                       \
        cudaError_t cuda_error = (call);                                       \
        if (cuda_error != cudaSuccess)                                         \
            end_all(p, cudaGetErrorString(cuda_error));                        \
    } while (0)

static double now_us()
{
    return std::chrono::duration<double, std::micro>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

static void wait_for(process *p, const std::atomic<uint64_t> &word,
                     uint64_t value)
{
    int looks = 0;

    while (word.load(std::memory_order_acquire) < value) {
        if (p->all->is_over != 0)
            _exit(EXIT_FAILURE);
        if (++looks % 1000 == 0)
            sched_yield();
    }
}

static void barrier(process *p)
{
    p->all->arrived.fetch_add(1);
    wait_for(p, p->all->arrived, ++p->barriers * uint64_t(p->processes));
}

static bool sends(const process *p)
{
    return p->number % 2 == 0;
}

static void open(process *p)
{
    int gpus;

    CUDA(cudaGetDeviceCount(&gpus));
    CUDA(cudaSetDevice(p->number / 2 % gpus));
    CUDA(cudaStreamCreateWithFlags(&p->stream, cudaStreamNonBlocking));
    for (cudaEvent_t &event : p->event)
        CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    CUDA(cudaMalloc(reinterpret_cast<void **>(&p->own), BYTES_MAX));
    CUDA(cudaHostRegister(p->pinned, BYTES_MAX, cudaHostRegisterDefault));
    CUDA(cudaIpcGetMemHandle(&p->all->of[p->number].handle, p->own));
    barrier(p);
    if (sends(p))
        CUDA(cudaIpcOpenMemHandle(reinterpret_cast<void **>(&p->others),
                                  p->all->of[p->number + 1].handle,
                                  cudaIpcMemLazyEnablePeerAccess));
}

/* Through pinned memory: who sends. */
static void fill(process *p, size_t bytes, int chunks)
{
    place *mine = &p->all->of[p->number];
    int i;

    for (i = 0; i < chunks; i++) {
        size_t at = size_t(i) * CHUNK;

        CUDA(cudaMemcpyAsync(p->pinned + at, p->own + at,
                             std::min<size_t>(CHUNK, bytes - at),
                             cudaMemcpyDeviceToHost, p->stream));
        CUDA(cudaEventRecord(p->event[i], p->stream));
    }
    for (i = 0; i < chunks; i++) {
        CUDA(cudaEventSynchronize(p->event[i]));
        mine->filled.store(p->chunks + uint64_t(i) + 1,
                           std::memory_order_release);
    }
}

static void drain(process *p, size_t bytes, int chunks)
{
    const place *theirs = &p->all->of[p->number - 1];
    int i;

    for (i = 0; i < chunks; i++) {
        size_t at = size_t(i) * CHUNK;

        wait_for(p, theirs->filled, p->chunks + uint64_t(i) + 1);
        CUDA(cudaMemcpyAsync(p->own + at, p->pinned + at,
                             std::min<size_t>(CHUNK, bytes - at),
                             cudaMemcpyHostToDevice, p->stream));
    }
    CUDA(cudaStreamSynchronize(p->stream));
}

static void play_round(process *p, size_t bytes, bool is_staged)
{
    place *mine = &p->all->of[p->number];
    int chunks = int((bytes + CHUNK - 1) / CHUNK);

    barrier(p);
    mine->begin_us = now_us();
    if (is_staged && sends(p)) {
        fill(p, bytes, chunks);
    } else if (is_staged) {
        drain(p, bytes, chunks);
    } else if (sends(p)) {
        CUDA(cudaMemcpyAsync(p->others, p->own, bytes, cudaMemcpyDeviceToDevice,
                             p->stream));
        CUDA(cudaStreamSynchronize(p->stream));
    }
    mine->end_us = now_us();
    p->chunks += is_staged ? uint64_t(chunks) : 0;
    barrier(p);
}

static double round_us(const process *p)
{
    double begin = 0, end = 0;
    int i;

    for (i = 0; i < p->processes; i++) {
        begin = std::max(begin, p->all->of[i].begin_us);
        end = std::max(end, p->all->of[i].end_us);
    }
    return end - begin;
}

static void write_all(process *p, size_t bytes, int byte)
{
    CUDA(cudaMemsetAsync(p->own, byte, bytes, p->stream));
    CUDA(cudaStreamSynchronize(p->stream));
    barrier(p);
}

static uint64_t wrong_bytes(process *p, size_t bytes, int byte)
{
    std::vector<unsigned char> seen(bytes);

    CUDA(cudaMemcpyAsync(seen.data(), p->own, bytes, cudaMemcpyDeviceToHost,
                         p->stream));
    CUDA(cudaStreamSynchronize(p->stream));
    return bytes - uint64_t(std::count(seen.begin(), seen.end(), byte));
}

static void measure(process *p, size_t bytes, int staged, const char *sharing)
{
    bool is_staged = p->number / 2 < staged;
    int pairs = p->processes / 2, byte = 1 + p->number / 2 + 16 * (staged % 8);
    std::vector<double> us;
    uint64_t wrong = 0;
    int i;

    write_all(p, bytes, sends(p) ? byte : 0);
    for (i = 0; i < WARMUP + ROUNDS; i++) {
        play_round(p, bytes, is_staged);
        if (i >= WARMUP)
            us.push_back(round_us(p));
        barrier(p); /* times are written again */
    }
    p->all->of[p->number].wrong = sends(p) ? 0 : wrong_bytes(p, bytes, byte);
    barrier(p);
    for (i = 0; i < p->processes; i++)
        wrong += p->all->of[i].wrong;
    std::sort(us.begin(), us.end());
    if (p->number == 0) {
        printf("%s,pairs,%d,staged:%d,later,%zu,%.2f,%llu\n", sharing,
               2 * pairs, staged, bytes, us[us.size() / 2],
               static_cast<unsigned long long>(wrong));
        fflush(stdout);
    }
    barrier(p);
}

static void run(process *p, const char *sharing)
{
    open(p);
    for (size_t bytes : sizes) {
        for (int staged = 0; staged <= p->processes / 2; staged++)
            measure(p, bytes, staged, sharing);
    }
    if (p->others != nullptr)
        CUDA(cudaIpcCloseMemHandle(p->others));
    barrier(p); /* nobody frees what another has open */
    CUDA(cudaHostUnregister(p->pinned));
    CUDA(cudaFree(p->own));
}

static void *take_shared(size_t bytes)
{
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("memory");
        exit(EXIT_FAILURE);
    }
    return memory;
}

int main(int argc, char **argv)
{
    int pairs = argc > 1 ? atoi(argv[1]) : 4, i, code, failed = 0;
    const char *sharing = argc > 2 ? argv[2] : "turns";

    if (pairs < 1 || pairs > PAIRS_MAX) {
        fprintf(stderr, "bench_pairs: 1 to %d pairs\n", PAIRS_MAX);
        return 2;
    }
    shared *all = new (take_shared(sizeof *all)) shared();
    char *pinned = static_cast<char *>(take_shared(size_t(pairs) * BYTES_MAX));
    for (i = 0; i < 2 * pairs; i++) {
        if (fork() == 0) {
            process p = {};

            p.all = all;
            p.number = i;
            p.processes = 2 * pairs;
            p.pinned = pinned + size_t(i / 2) * BYTES_MAX;
            run(&p, sharing);
            _exit(EXIT_SUCCESS);
        }
    }
    while (wait(&code) > 0) {
        failed |= code != 0;
        all->is_over = failed;
    }
    return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
