/* A Jacobi relaxation of two dimensions, split by rows over the ranks:
 *
 *   bench_jacobi SIZE[,SIZE...] ITERATIONS [peer]
 *
 * SIZE: rows and columns of each rank's part. After each iteration every rank
 * sends its first row up and its last row down. Microseconds per iteration, of
 * the slowest rank, by
 *
 *   hdn       a kernel per iteration, the host waits, sends and receives
 *   ordered   a kernel per iteration, and a function of the host in the stream,
 *             which sends and receives; all enqueued ahead
 *   stream    a kernel per iteration; the stream counts triggers up, and waits
 *             for their words; all enqueued ahead
 *   inside    one kernel for all iterations, whose blocks count triggers up
 *   peer      the same with rows and signals written to the other GPU
 *
 * All do the same arithmetic, and their results are compared. */
#include <cuda.h>
#include <dlfcn.h>

#include "bench/cuda/common.cuh"

enum { THREADS = 256, BLOCKS_MAX = 128, UP = 0, DOWN = 1, AHEAD = 32 };
enum mode { HDN, ORDERED, STREAM, INSIDE, PEER, MODES };
static const char *const names[] = {"hdn", "ordered", "stream", "inside",
                                    "peer"};

/* What a kernel knows. Grids have a halo row above and below. */
struct part {
    uint32_t n, blocks, has_up, has_down;
    float *grids[2];
    float *send[2][2],
        *recv[2][2]; /* direction, parity; UP: comes from below */
    uint64_t *words[2][2];
    xylem_device_queue_t queue;
    uint64_t *done;     /* [blocks] iterations, in the device's memory */
    uint64_t *consumed; /* [2] directions */
    int *status;
    /* Of the other GPU's: where its halo is written, and signaled. */
    int is_peer;
    float *peer_halo[2][2];
    uint64_t *peer_words[2];
    uint64_t *own_words[2];
};

__device__ void relax_row(const float *from, float *to, uint32_t n,
                          uint32_t row)
{
    const float *at = from + size_t(row) * n;
    float *out = to + size_t(row) * n;

    for (uint32_t x = threadIdx.x; x < n; x += THREADS) {
        float left = x == 0 ? 0 : at[x - 1], right = x == n - 1 ? 0 : at[x + 1];
        out[x] = 0.25f * (left + right + at[int(x) - int(n)] + at[x + n]);
    }
}

__device__ void copy_row(const float *from, float *to, uint32_t n)
{
    for (uint32_t x = threadIdx.x; x < n; x += THREADS)
        to[x] = __ldcv(from + x);
}

/* ---- a kernel per iteration ---- */

__global__ void __launch_bounds__(THREADS) step(part p, uint32_t it)
{
    const float *from = p.grids[it & 1];
    float *to = p.grids[1 - (it & 1)];
    uint32_t n = p.n, parity = it & 1;

    for (uint32_t row = 1 + blockIdx.x; row <= n; row += gridDim.x) {
        relax_row(from, to, n, row);
        if (row == 1 && p.has_up)
            copy_row(to + size_t(row) * n, p.send[UP][parity], n);
        if (row == n && p.has_down)
            copy_row(to + size_t(row) * n, p.send[DOWN][parity], n);
    }
}

/* What has come, into the halo. */
__global__ void __launch_bounds__(THREADS) fetch(part p, uint32_t it)
{
    float *to = p.grids[1 - (it & 1)];
    uint32_t parity = it & 1;

    if (blockIdx.x == 0 && p.has_down)
        copy_row(p.recv[UP][parity], to + size_t(p.n + 1) * p.n, p.n);
    if (blockIdx.x == 1 && p.has_up)
        copy_row(p.recv[DOWN][parity], to, p.n);
}

/* ---- one kernel ---- */

__device__ int await(const uint64_t *value, uint64_t least)
{
    uint64_t tries = TRIES;

    while (xylem_device_load_gpu_(value) < least)
        if (--tries == 0)
            return XYLEM_ERR_TIMED_OUT;
    return XYLEM_OK;
}

/* The whole block. */
__device__ int block_await(const uint64_t *value, uint64_t least)
{
    __shared__ int got;

    __syncthreads();
    if (threadIdx.x == 0)
        got = await(value, least);
    __syncthreads();
    return got;
}

/* The edge's row goes off as soon as it is there. */
__device__ int send_edge(const part &p, uint32_t it, int direction,
                         const float *row)
{
    uint32_t parity = it & 1;
    uint64_t before = it / 2; /* runs of this parity that must be over */
    int status = XYLEM_OK;

    if (p.is_peer) {
        if ((direction == UP ? p.has_up : p.has_down) == 0)
            return XYLEM_OK;
        copy_row(row, p.peer_halo[direction][parity], p.n);
        __threadfence_system();
        __syncthreads();
        if (threadIdx.x == 0)
            xylem_device_signal(p.peer_words[direction], 1);
        return XYLEM_OK;
    }
    if (before != 0) {
        status =
            xylem_device_block_wait(p.words[direction][parity], before, TRIES);
        if (status == XYLEM_OK)
            status = block_await(&p.consumed[direction], it - 1);
    }
    if (status != XYLEM_OK)
        return status;
    if (direction == UP ? p.has_up : p.has_down)
        copy_row(row, p.send[direction][parity], p.n);
    return xylem_device_block_post(&p.queue, uint32_t(2 * direction) + parity,
                                   0, 1, TRIES);
}

/* From below of UP, from above of DOWN. */
__device__ int take_halo(const part &p, uint32_t it, int direction, float *halo)
{
    uint32_t parity = it & 1;
    int has = direction == UP ? p.has_down : p.has_up, status;

    if (p.is_peer) {
        if (!has)
            return XYLEM_OK;
        status = xylem_device_block_wait(p.own_words[direction], it + 1, TRIES);
    } else {
        status = xylem_device_block_wait(p.words[direction][parity], it / 2 + 1,
                                         TRIES);
    }
    if (status == XYLEM_OK && has)
        copy_row(p.recv[direction][parity], halo, p.n);
    __syncthreads();
    if (threadIdx.x == 0)
        xylem_device_store_gpu_(&p.consumed[direction], it + 1);
    return status;
}

__device__ int iterate(const part &p, uint32_t it)
{
    const float *from = p.grids[it & 1];
    float *to = p.grids[1 - (it & 1)];
    uint32_t n = p.n, b = blockIdx.x;
    uint32_t first = 1 + uint32_t(uint64_t(n) * b / p.blocks);
    uint32_t end = 1 + uint32_t(uint64_t(n) * (b + 1) / p.blocks);
    int status = XYLEM_OK;

    if (b > 0)
        status = block_await(&p.done[b - 1], it);
    if (b + 1 < p.blocks && status == XYLEM_OK)
        status = block_await(&p.done[b + 1], it);
    if (b == 0 && status == XYLEM_OK) {
        relax_row(from, to, n, 1);
        __syncthreads();
        status = send_edge(p, it, UP, to + n);
        first++;
    }
    if (b + 1 == p.blocks && status == XYLEM_OK) {
        if (n > 1)
            relax_row(from, to, n, n);
        __syncthreads();
        status = send_edge(p, it, DOWN, to + size_t(n) * n);
        end--;
    }
    for (uint32_t row = first; row < end && status == XYLEM_OK; row++)
        relax_row(from, to, n, row);
    if (b + 1 == p.blocks && status == XYLEM_OK)
        status = take_halo(p, it, UP, to + size_t(n + 1) * n);
    if (b == 0 && status == XYLEM_OK)
        status = take_halo(p, it, DOWN, to);
    __syncthreads();
    if (threadIdx.x == 0)
        xylem_device_store_gpu_(&p.done[b], status == XYLEM_OK ? it + 1 : it);
    return status;
}

__global__ void __launch_bounds__(THREADS)
    persistent(part p, uint32_t iterations)
{
    int status = XYLEM_OK;

    for (uint32_t it = 0; it < iterations && status == XYLEM_OK; it++)
        status = iterate(p, it);
    if (status != XYLEM_OK && threadIdx.x == 0)
        *p.status = status;
}

/* ---- the host ---- */

struct bench {
    job j;
    part p;
    proxy queue;
    uint32_t n, iterations;
    xylem_team_t *teams[2];
    xylem_request_t *requests[2][2];
    xylem_trigger_t *triggers[2][2];
    cudaStream_t stream;
    xylem_device_peers_t peers;
    char *slab; /* that peers write to */
    int has_peers;
};

static void begin_again(bench &b)
{
    std::vector<float> start(size_t(b.n + 2) * b.n);

    for (size_t i = 0; i < start.size(); i++)
        start[i] = float((i * 7919 + b.j.rank * 104729) % 1000);
    std::fill(start.begin(), start.begin() + b.n, 0.f);
    std::fill(start.end() - b.n, start.end(), 0.f);
    for (float *grid : b.p.grids)
        CUDA(cudaMemcpy(grid, start.data(), start.size() * sizeof(float),
                        cudaMemcpyDefault));
    CUDA(cudaMemset(b.p.done, 0, BLOCKS_MAX * sizeof(uint64_t)));
    CUDA(cudaMemset(b.p.consumed, 0, 2 * sizeof(uint64_t)));
    for (auto &of : b.p.words)
        for (uint64_t *word : of)
            *word = 0;
    if (b.has_peers)
        CUDA(cudaMemset(b.slab, 0, 4096));
    CUDA(cudaDeviceSynchronize());
}

static void exchange(bench &b, uint32_t it)
{
    MUST(xylem_request_start(b.requests[UP][it & 1]));
    MUST(xylem_request_start(b.requests[DOWN][it & 1]));
    MUST(xylem_request_wait(b.requests[UP][it & 1]));
    MUST(xylem_request_wait(b.requests[DOWN][it & 1]));
}

struct call {
    bench *b;
    uint32_t it;
};

static void exchange_in_stream(void *arg)
{
    call *c = static_cast<call *>(arg);

    exchange(*c->b, c->it);
}

/* Of the driver, which is not linked. */
static void stream_awaits(cudaStream_t stream, uint64_t *word, uint64_t least)
{
    typedef CUresult (*wait_fn)(CUstream, CUdeviceptr, cuuint64_t, unsigned);
    static void *address =
        dlsym(dlopen("libcuda.so.1", RTLD_LAZY), "cuStreamWaitValue64_v2");
    wait_fn wait;

    memcpy(&wait, &address, sizeof wait);
    if (wait == NULL || wait(stream, CUdeviceptr(word), least,
                             CU_STREAM_WAIT_VALUE_GEQ) != CUDA_SUCCESS) {
        fprintf(stderr, "a stream cannot wait for a word\n");
        exit(EXIT_FAILURE);
    }
}

static void run_steps(bench &b, mode m)
{
    uint32_t blocks = std::min<uint32_t>(b.n, 1056), it;
    std::vector<call> calls(b.iterations);

    for (it = 0; it < b.iterations; it++) {
        calls[it] = {&b, it};
        step<<<blocks, THREADS, 0, b.stream>>>(b.p, it);
        if (m == HDN) {
            CUDA(cudaStreamSynchronize(b.stream));
            exchange(b, it);
        } else if (m == ORDERED) {
            CUDA(cudaLaunchHostFunc(b.stream, exchange_in_stream, &calls[it]));
        } else {
            for (int d : {UP, DOWN})
                MUST(xylem_stream_trigger(b.triggers[d][it & 1], 0, 1,
                                          b.stream));
            for (int d : {UP, DOWN})
                stream_awaits(b.stream, b.p.words[d][it & 1],
                              uint64_t(it / 2 + 1) << 8);
            /* A stream takes a thousand calls at a time, and then waits for
             * what this thread has to bring forward. */
            while (it >= AHEAD &&
                   xylem_device_wait(b.p.words[UP][it & 1], (it - AHEAD) / 2,
                                     0) != XYLEM_OK)
                xylem_progress(b.j.context);
        }
        fetch<<<2, THREADS, 0, b.stream>>>(b.p, it);
    }
    if (m == STREAM)
        progress_until(b.j, b.stream);
    CUDA(cudaStreamSynchronize(b.stream));
}

static double run_us(bench &b, mode m, double *checksum)
{
    if (getenv("BENCH_TELL") != NULL)
        fprintf(stderr, "rank %u: %u rows, %s\n", b.j.rank, b.n, names[m]);
    std::vector<float> end(size_t(b.n + 2) * b.n);
    double begin;

    begin_again(b);
    b.p.is_peer = m == PEER;
    MUST(xylem_barrier(b.j.world));
    begin = now_us();
    if (m < INSIDE) {
        run_steps(b, m);
    } else {
        persistent<<<b.p.blocks, THREADS, 0, b.stream>>>(b.p, b.iterations);
        progress_until(b.j, b.stream);
    }
    begin = now_us() - begin;
    if (*b.p.status != XYLEM_OK) {
        printf("%s: %s\n", names[m],
               xylem_status_name(xylem_status_t(*b.p.status)));
        exit(EXIT_FAILURE);
    }
    CUDA(cudaMemcpy(end.data(), b.p.grids[b.iterations & 1],
                    end.size() * sizeof(float), cudaMemcpyDefault));
    *checksum = 0;
    for (size_t i = b.n; i < end.size() - b.n; i++)
        *checksum += double(end[i]) * double(1 + i % 17);
    return slowest(b.j, begin) / b.iterations;
}

static void set_up_messages(bench &b)
{
    uint32_t above = b.j.rank == 0 ? UINT32_MAX : b.j.rank - 1;
    uint32_t below = b.j.rank + 1 == b.j.ranks ? UINT32_MAX : b.j.rank + 1;

    for (int d : {UP, DOWN}) {
        b.teams[d] = team_of_its_own(b.j);
        for (int k : {0, 1}) {
            b.p.send[d][k] = pinned<float>(b.n);
            b.p.recv[d][k] = pinned<float>(b.n);
            b.p.words[d][k] = pinned<uint64_t>(16);
            b.requests[d][k] = message(
                b.teams[d], b.p.send[d][k], b.p.recv[d][k], b.n * sizeof(float),
                d == UP ? above : below, d == UP ? below : above);
        }
    }
}

/* Bound after the ways without triggers have run: a request of a trigger's has
 * it told of each run. */
static void set_up_triggers(bench &b)
{
    b.queue = proxy_make(b.j, 64, 4);
    b.p.queue = b.queue.queue;
    for (int d : {UP, DOWN})
        for (int k : {0, 1}) {
            b.triggers[d][k] =
                start_trigger(b.j, b.requests[d][k], b.p.words[d][k]);
            MUST(xylem_proxy_bind(b.queue.proxy, uint32_t(2 * d + k),
                                  b.triggers[d][k]));
        }
    MUST(xylem_proxy_arm(b.queue.proxy, 1));
}

/* The slab: words at 0 and 128, rows from 4096 on. */
static void set_up_peers(bench &b)
{
    size_t row = b.n * sizeof(float);

    b.slab = device<char>(4096 + 4 * row);
    b.peers.struct_bytes = sizeof b.peers;
    MUST(xylem_peers_open(b.j.world, b.slab, 4096 + 4 * row, &b.peers));
    b.has_peers = 1;
    for (int d : {UP, DOWN}) {
        int to = int(b.j.rank) + (d == UP ? -1 : 1);
        b.p.own_words[d] = reinterpret_cast<uint64_t *>(b.slab + 128 * d);
        if (to < 0 || to >= int(b.j.ranks))
            continue;
        char *other = static_cast<char *>(b.peers.memory[to]);
        b.p.peer_words[d] = reinterpret_cast<uint64_t *>(other + 128 * d);
        for (int k : {0, 1})
            b.p.peer_halo[d][k] = reinterpret_cast<float *>(
                other + 4096 + size_t(2 * d + k) * row);
    }
}

static void measure(job &j, uint32_t n, uint32_t iterations, int with_peers)
{
    bench b = {};
    double us[MODES] = {}, first = 0, checksum;

    b.j = j;
    b.n = n;
    b.iterations = iterations;
    b.p.n = n;
    b.p.blocks = std::min<uint32_t>(BLOCKS_MAX, std::max<uint32_t>(2, n / 4));
    b.p.has_up = j.rank > 0;
    b.p.has_down = j.rank + 1 < j.ranks;
    for (float *&grid : b.p.grids)
        grid = device<float>(size_t(n + 2) * n);
    b.p.done = device<uint64_t>(BLOCKS_MAX);
    b.p.consumed = device<uint64_t>(2);
    b.p.status = pinned<int>(1);
    CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    set_up_messages(b);
    for (int m = 0; m < MODES; m++) {
        if (m == STREAM)
            set_up_triggers(b);
        if (m == PEER && !with_peers)
            continue;
        if (m == PEER) {
            set_up_peers(b);
            for (int d : {UP, DOWN})
                for (int k : {0, 1})
                    b.p.recv[d][k] = reinterpret_cast<float *>(
                        b.slab + 4096 + size_t(2 * d + k) * n * sizeof(float));
        }
        for (int r = 0; r < 4; r++) { /* the first one warms up */
            double took = run_us(b, mode(m), &checksum);
            us[m] = r < 2 || took < us[m] ? took : us[m];
        }
        if (m == HDN)
            first = checksum;
        else if (checksum != first) {
            printf("rank %u, %s: WRONG: %.17g, not %.17g\n", j.rank, names[m],
                   checksum, first);
        }
    }
    if (j.rank == 0) {
        printf("%6u", n);
        for (int m = 0; m < MODES; m++)
            printf(" %9.2f", us[m]);
        printf("   inside / hdn %.2f\n", us[INSIDE] / us[HDN]);
        fflush(stdout);
    }
    MUST(xylem_barrier(j.world));
}

int main(int argc, char **argv)
{
    job j;
    char *at;

    if (argc < 3)
        return 2;
    job_begin(&j);
    if (j.rank == 0)
        printf(
            "%6s %9s %9s %9s %9s %9s   us per iteration, %u ranks, %d GPUs\n",
            "rows", names[0], names[1], names[2], names[3], names[4], j.ranks,
            j.gpus);
    for (at = strtok(argv[1], ","); at != NULL; at = strtok(NULL, ","))
        measure(j, uint32_t(atoi(at)), uint32_t(atoi(argv[2])), argc > 3);
    job_end(j);
}
