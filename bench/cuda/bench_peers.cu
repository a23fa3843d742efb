/* Kernels of several GPUs that talk to each other without the host, and by the
 * proxy: a rank for each GPU.
 *
 *   signal      a word counted up in the other GPU's memory, and back; half
 *   data        256 bytes and a signal, and back; half
 *   put         a message of N bytes whose words carry their round, and back;
 *               half; by one block, and by 128 that do so at the same time
 *   barrier     of all, inside the kernel; by the proxy: record, barrier, word
 *   sum         of N floats of all ranks, inside the kernel, verified; by the
 *               proxy: an allreduce from pinned memory
 *
 * Medians in microseconds, by the clock of rank 0's GPU. With an argument
 * `dies`, the last rank ends in the midst, and the others' kernels must, too.
 */
#include <signal.h>
#include <unistd.h>

#include "bench/cuda/common.cuh"

enum {
    ROUNDS = 2000,
    WORDS = 32,
    FLOATS_MAX = 4096,
    BLOCKS_MAX = 128,
    MESSAGE_MAX = 4096,
    SLOTS = 2,
    MAIL_WORDS = 64 /* of a block of ping_pong */
};

struct place {
    xylem_device_peers_t peers;
    uint32_t *cycles;
    uint64_t *scale; /* ns, cycles */
    int *status;
    uint64_t *wrong;
};

__device__ uint64_t clock_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

struct timing {
    uint64_t ns;
    long long cycles;
};

__device__ timing timing_begin()
{
    return {clock_ns(), clock64()};
}

__device__ void timing_end(const place &p, timing t)
{
    p.scale[0] = clock_ns() - t.ns;
    p.scale[1] = uint64_t(clock64() - t.cycles);
}

/* Of one thread of each block. */
__device__ void ended(const place &p, timing t, int status)
{
    if (status != XYLEM_OK)
        *p.status = status;
    if (blockIdx.x == 0)
        timing_end(p, t);
}

/* Data, and then a signal; all threads of a warp. */
__device__ void send(uint64_t *to, int words, uint32_t round)
{
    if (int(threadIdx.x) < words)
        to[16 + threadIdx.x] = round;
    __syncwarp();
    if (threadIdx.x == 0)
        xylem_device_signal(to, 1);
}

/* Between ranks 0 and 1, by warps. Words and data behind those of the barrier.
 */
__global__ void ping_pong(place p, int words, uint32_t rounds)
{
    uint32_t me = p.peers.rank, other = 1 - me;
    uint64_t *mine = static_cast<uint64_t *>(p.peers.memory[me]) +
                     MAIL_WORDS * (1 + blockIdx.x);
    uint64_t *its = static_cast<uint64_t *>(p.peers.memory[other]) +
                    MAIL_WORDS * (1 + blockIdx.x);
    timing t = timing_begin();
    int status = XYLEM_OK;

    for (uint32_t r = 1; r <= rounds && status == XYLEM_OK; r++) {
        long long begin = clock64();
        if (me == 0)
            send(its, words, r);
        if (threadIdx.x == 0)
            status = xylem_device_wait(mine, r, TRIES);
        status = __shfl_sync(~0u, status, 0);
        if (int(threadIdx.x) < words &&
            *static_cast<volatile uint64_t *>(&mine[16 + threadIdx.x]) != r)
            atomicAdd(reinterpret_cast<unsigned long long *>(p.wrong), 1ull);
        if (me == 1)
            send(its, words, r);
        if (threadIdx.x == 0)
            p.cycles[blockIdx.x * ROUNDS + r - 1] = uint32_t(clock64() - begin);
    }
    if (threadIdx.x == 0)
        ended(p, t, status);
}

__device__ uint64_t written(uint32_t round, uint32_t i)
{
    return round * 1000003ull + blockIdx.x * 512 + i;
}

/* The same by channels, of blocks or of their first threads. */
__global__ void messages(place p, size_t at, uint32_t bytes, int alone,
                         uint32_t rounds)
{
    __shared__ uint64_t out[MESSAGE_MAX / 8], in[MESSAGE_MAX / 8];
    uint32_t me = p.peers.rank;
    xylem_device_channel_t channel = xylem_device_channel_to(
        &p.peers, 1 - me,
        at + blockIdx.x * xylem_device_channel_bytes(bytes, SLOTS), bytes,
        SLOTS);
    timing t = timing_begin();
    int status = XYLEM_OK;

    for (uint32_t r = 1; r <= rounds && status == XYLEM_OK; r++) {
        for (uint32_t i = threadIdx.x; i < bytes / 8; i += blockDim.x)
            out[i] = written(r, i);
        __syncthreads();
        long long begin = clock64();
        for (uint32_t step = 0; step < 2 && status == XYLEM_OK; step++)
            if (step == me)
                status = alone ? xylem_device_channel_put(&channel, out, bytes,
                                                          r, TRIES)
                               : xylem_device_channel_block_put(
                                     &channel, out, bytes, r, TRIES);
            else
                status = alone ? xylem_device_channel_get(&channel, in, bytes,
                                                          r, TRIES)
                               : xylem_device_channel_block_get(
                                     &channel, in, bytes, r, TRIES);
        if (threadIdx.x == 0)
            p.cycles[blockIdx.x * ROUNDS + r - 1] = uint32_t(clock64() - begin);
        for (uint32_t i = threadIdx.x; i < bytes / 8; i += blockDim.x)
            if (in[i] != written(r, i))
                atomicAdd(reinterpret_cast<unsigned long long *>(p.wrong),
                          1ull);
    }
    if (threadIdx.x == 0)
        ended(p, t, status);
}

__global__ void barriers(place p, uint32_t rounds)
{
    timing t = timing_begin();
    int status = XYLEM_OK;

    for (uint32_t r = 1; r <= rounds && status == XYLEM_OK; r++) {
        long long begin = clock64();
        status = xylem_device_peers_barrier(&p.peers, r, TRIES);
        p.cycles[r - 1] = uint32_t(clock64() - begin);
    }
    *p.status = status;
    timing_end(p, t);
}

__global__ void sums(place p, uint32_t elements, uint32_t rounds)
{
    __shared__ int failed;
    timing t = timing_begin();
    uint32_t n = p.peers.ranks;

    if (threadIdx.x == 0)
        failed = 0;
    __syncthreads();
    for (uint32_t r = 1; r <= rounds && failed == 0; r++) {
        long long begin = clock64();
        for (uint32_t i = threadIdx.x; i < elements; i += blockDim.x) {
            float value = float(i % 100 + r % 50 + p.peers.rank);
            float sum = float(n * (i % 100 + r % 50) + n * (n - 1) / 2);
            if (xylem_device_peers_sum(&p.peers, &value, i, elements, r,
                                       TRIES) != XYLEM_OK)
                failed = 1;
            else if (value != sum)
                atomicAdd(reinterpret_cast<unsigned long long *>(p.wrong),
                          1ull);
        }
        __syncthreads();
        if (threadIdx.x == 0)
            p.cycles[r - 1] = uint32_t(clock64() - begin);
    }
    if (threadIdx.x == 0) {
        *p.status = failed ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
        timing_end(p, t);
    }
}

/* Record, operation, word. */
__global__ void by_proxy(place p, xylem_device_queue_t queue, uint32_t tag,
                         const uint64_t *word, uint32_t rounds)
{
    timing t = timing_begin();
    int status = XYLEM_OK;

    for (uint32_t r = 1; r <= rounds && status == XYLEM_OK; r++) {
        long long begin = clock64();
        status = xylem_device_run(&queue, tag, word, r, TRIES);
        p.cycles[r - 1] = uint32_t(clock64() - begin);
    }
    *p.status = status;
    timing_end(p, t);
}

struct bench {
    job j;
    place p;
    cudaStream_t stream;
};

static void report(bench &b, const char *name, double part, int blocks = 1)
{
    std::vector<double> us;
    double ns = double(b.p.scale[0]) / double(b.p.scale[1]);

    progress_until(b.j, b.stream);
    if (*b.p.status != XYLEM_OK || *b.p.wrong != 0) {
        printf("rank %u, %s: %s, %llu wrong\n", b.j.rank, name,
               xylem_status_name(xylem_status_t(*b.p.status)),
               (unsigned long long)*b.p.wrong);
        fflush(stdout);
        _Exit(EXIT_FAILURE);
    }
    ns = double(b.p.scale[0]) / double(b.p.scale[1]);
    for (int block = 0; block < blocks; block++)
        for (int r = ROUNDS / 10; r < ROUNDS; r++)
            us.push_back(b.p.cycles[block * ROUNDS + r] * ns / 1000 * part);
    if (b.j.rank == 0)
        printf("%-34s %8.2f %8.2f\n", name, at(us, 0.5), at(us, 0.99));
    fflush(stdout);
    MUST(xylem_barrier(b.j.world));
}

static void fresh(bench &b)
{
    CUDA(cudaMemset(b.p.peers.memory[b.j.rank], 0, b.p.peers.bytes));
    CUDA(cudaDeviceSynchronize());
    MUST(xylem_barrier(b.j.world));
}

static void proxied(bench &b, const char *name, const xylem_coll_args_t &args)
{
    proxy q = proxy_make(b.j, 64, 1);
    uint64_t *word = pinned<uint64_t>(16);
    xylem_request_t *request = planned(b.j.world, args);

    MUST(xylem_proxy_bind(q.proxy, 0, start_trigger(b.j, request, word)));
    MUST(xylem_proxy_arm(q.proxy, 1));
    MUST(xylem_barrier(b.j.world));
    by_proxy<<<1, 1, 0, b.stream>>>(b.p, q.queue, 0, word, ROUNDS);
    report(b, name, 1);
    MUST(xylem_proxy_arm(q.proxy, 0));
}

/* The last rank's process ends; those of others must hear of it. */
static void die(bench &b)
{
    double begin;

    fresh(b);
    if (b.j.rank + 1 == b.j.ranks) {
        usleep(200000);
        kill(getpid(), SIGKILL);
    }
    begin = now_us();
    barriers<<<1, 1, 0, b.stream>>>(b.p, ROUNDS);
    while (cudaStreamQuery(b.stream) == cudaErrorNotReady)
        xylem_progress(b.j.context);
    printf("rank %u: a kernel that waits for one that died: %s after %.1f s "
           "(%s)\n",
           b.j.rank, xylem_status_name(xylem_status_t(*b.p.status)),
           (now_us() - begin) / 1e6, cudaGetErrorString(cudaGetLastError()));
    fflush(stdout);
    _Exit(EXIT_SUCCESS);
}

/* Ranks 0 and 1, one way. */
static void one_way(bench &b, int blocks, size_t at)
{
    char name[64];

    for (int words : {0, int(WORDS)}) {
        fresh(b);
        ping_pong<<<blocks, 32, 0, b.stream>>>(b.p, words, ROUNDS);
        snprintf(name, sizeof name, "%s, %d blocks",
                 words == 0 ? "signal" : "256 bytes, signal", blocks);
        report(b, name, 0.5, blocks);
    }
    fresh(b);
    messages<<<blocks, 1, 0, b.stream>>>(b.p, at, 8, 1, ROUNDS);
    snprintf(name, sizeof name, "put of 8 bytes, threads, %d", blocks);
    report(b, name, 0.5, blocks);
    for (uint32_t bytes : {8u, 64u, 256u, 1024u, 4096u}) {
        fresh(b);
        messages<<<blocks, std::max(32u, bytes / 8), 0, b.stream>>>(
            b.p, at, bytes, 0, ROUNDS);
        snprintf(name, sizeof name, "put of %u bytes, %d blocks", bytes,
                 blocks);
        report(b, name, 0.5, blocks);
    }
}

int main(int argc, char **)
{
    static bench b;
    size_t at = xylem_device_peers_bytes(XYLEM_PEERS_MAX, FLOATS_MAX);
    size_t bytes =
        at + BLOCKS_MAX * xylem_device_channel_bytes(MESSAGE_MAX, SLOTS);
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    char name[64];

    job_begin(&b.j);
    b.p.peers.struct_bytes = sizeof b.p.peers;
    MUST(xylem_peers_open(b.j.world, device<char>(bytes), bytes, &b.p.peers));
    b.p.cycles = pinned<uint32_t>(BLOCKS_MAX * ROUNDS);
    b.p.scale = pinned<uint64_t>(2);
    b.p.status = pinned<int>(1);
    b.p.wrong = pinned<uint64_t>(1);
    CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    if (argc > 1)
        die(b);
    if (b.j.rank == 0)
        printf("%-34s %8s %8s   %u ranks, %d GPUs\n", "us", "median", "p99",
               b.j.ranks, b.j.gpus);
    if (b.j.ranks == 2)
        for (int blocks : {1, 16, int(BLOCKS_MAX)})
            one_way(b, blocks, at);
    fresh(b);
    barriers<<<1, 1, 0, b.stream>>>(b.p, ROUNDS);
    report(b, "barrier inside", 1);
    for (uint32_t elements : {1u, 256u, 1024u, 4096u}) {
        snprintf(name, sizeof name, "sum of %u floats inside", elements);
        fresh(b);
        sums<<<1, std::min(elements, 1024u), 0, b.stream>>>(b.p, elements,
                                                            ROUNDS);
        report(b, name, 1);
    }
    args.coll = XYLEM_COLL_BARRIER;
    proxied(b, "barrier by the proxy", args);
    args.coll = XYLEM_COLL_ALLREDUCE;
    args.send = pinned<float>(FLOATS_MAX);
    args.recv = pinned<float>(FLOATS_MAX);
    args.type = XYLEM_FLOAT32;
    for (uint32_t elements : {1u, 1024u}) {
        args.count = elements;
        snprintf(name, sizeof name, "sum of %u floats by the proxy", elements);
        proxied(b, name, args);
    }
    MUST(xylem_peers_close(b.j.world, &b.p.peers));
    job_end(b.j);
}
