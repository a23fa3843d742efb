/* A collective whose input a kernel computes: what it gains when segments leave
 * while the kernel runs. Each rank has a kernel (but for receivers of a
 * broadcast), and GPUs are taken in turn; ranks that share one need MPS.
 *
 *   bench_trigger_stream bcast|reduce|allreduce BYTES WORK pinned|device [TILE
 * [SEGMENT]]
 *
 * TILE: bytes that a block computes at a time; blocks go through the buffer
 * side by side, so that segments are complete in their order. WORK:
 * multiplications for each number. Medians of rounds in which all ways take
 * turns, of the slowest rank, from the launch until the result is there:
 *
 *   kernel    the kernel alone, and the host's wait for it
 *   hdn       the kernel, the host's wait, a call (kernel-boundary sends)
 *   ordered   the kernel, and a function of the host in the stream that has the
 *             operation started
 *   inside    blocks count up segments as they come */
#include "bench/cuda/common.cuh"

enum mode { KERNEL, HDN, HDN_CUT, ORDERED, INSIDE, MODES };
static const char *const names[] = {
    "kernel alone", "kernel, then call", "the same in as many segments",
    "host function in the stream", "inside the kernel"};
enum { THREADS = 256, ROUNDS = 100 };

struct bench {
    job j;
    proxy p;
    xylem_request_t *requests[MODES];
    xylem_trigger_t *segments, *start;
    uint64_t *words;
    float *input, *result;
    size_t count, tile; /* elements */
    uint64_t segment;   /* elements */
    xylem_device_counter_t *counters;
    int *status;
    unsigned work;
    cudaStream_t stream;
};

/* Tile by tile; all threads of the grid know which block has which. The last
 * tile of a segment posts it. */
__global__ void __launch_bounds__(THREADS)
    compute(float *input, size_t count, size_t tile, unsigned work, float seed,
            int is_inside, xylem_device_queue_t queue,
            xylem_device_counter_t *counters, uint64_t segment, int *status)
{
    for (size_t first = blockIdx.x * tile; first < count;
         first += gridDim.x * tile) {
        size_t end = first + tile < count ? first + tile : count;

        for (size_t i = first + threadIdx.x; i < end; i += THREADS) {
            float x = float(i % 1000) + seed;
            for (unsigned w = 0; w < work; w++)
                x = x * 0.5f + 1;
            input[i] = x;
        }
        if (is_inside) {
            uint64_t s = first / segment;
            uint64_t begin = s * segment;
            uint64_t all = count - begin < segment ? count - begin : segment;
            uint64_t tiles = (all + tile - 1) / tile;
            int got = xylem_device_block_count(&queue, &counters[s], 1, tiles,
                                               0, uint32_t(s), TRIES);
            if (got != XYLEM_OK && threadIdx.x == 0)
                *status = got;
        }
    }
}

static float expected(const bench &b, size_t i, float seed)
{
    float x = float(i % 1000) + seed;

    for (unsigned w = 0; w < b.work; w++)
        x = x * 0.5f + 1;
    return x;
}

/* Functions that a stream calls may not call CUDA, as the library does where
 * buffers are a GPU's: so it only tells the thread that waits for it. */
static void tell(void *arg)
{
    __atomic_store_n(static_cast<int *>(arg), 1, __ATOMIC_RELEASE);
}

static void launch(bench &b, int is_inside, float seed)
{
    compute<<<132, THREADS, 0, b.stream>>>(b.input, b.count, b.tile, b.work,
                                           seed, is_inside, b.p.queue,
                                           b.counters, b.segment, b.status);
}

static double round_us(bench &b, enum mode mode, int computes, float seed)
{
    xylem_request_t *request = b.requests[mode];
    int is_told = 0;
    double begin;

    MUST(xylem_barrier(b.j.world));
    begin = now_us();
    if (mode == INSIDE)
        MUST(xylem_request_start(request));
    if (computes)
        launch(b, mode == INSIDE, seed);
    if (mode == ORDERED && computes)
        CUDA(cudaLaunchHostFunc(b.stream, tell, &is_told));
    if (mode == KERNEL || mode == HDN || mode == HDN_CUT)
        CUDA(cudaStreamSynchronize(b.stream));
    while (mode == ORDERED && computes &&
           __atomic_load_n(&is_told, __ATOMIC_ACQUIRE) == 0)
        ;
    if (mode == HDN || mode == HDN_CUT || mode == ORDERED)
        MUST(xylem_request_start(request));
    if (mode != KERNEL)
        MUST(xylem_request_wait(request));
    begin = now_us() - begin;
    if (mode == INSIDE)
        CUDA(cudaStreamSynchronize(b.stream));
    return slowest(b.j, begin);
}

static void check(const bench &b, unsigned coll, float seed, const char *mode)
{
    std::vector<float> got(b.count);
    const float *from = coll == 0 ? b.input : b.result;
    size_t wrong = 0;

    if (coll == 1 && b.j.rank != 0)
        return;
    CUDA(cudaMemcpy(got.data(), from, b.count * sizeof(float),
                    cudaMemcpyDefault));
    for (size_t i = 0; i < b.count; i += 97) {
        float x = expected(b, i, seed) * float(coll == 0 ? 1 : b.j.ranks);
        wrong += got[i] < x - 0.01f * x || got[i] > x + 0.01f * x;
    }
    if (wrong != 0 || *b.status != XYLEM_OK) {
        printf("WRONG: %s: %zu of %zu; %s\n", mode, wrong, b.count,
               xylem_status_name(xylem_status_t(*b.status)));
        exit(EXIT_FAILURE);
    }
}

static void plan(bench &b, unsigned coll, int computes)
{
    xylem_coll_args_t args = XYLEM_COLL_ARGS_INIT;
    xylem_trigger_args_t trigger = XYLEM_TRIGGER_ARGS_INIT;
    uint64_t segments;
    size_t bytes;

    args.coll = coll == 0   ? XYLEM_COLL_BCAST
                : coll == 1 ? XYLEM_COLL_REDUCE
                            : XYLEM_COLL_ALLREDUCE;
    args.send = coll == 0 ? NULL : b.input;
    args.recv = coll == 0 ? b.input : b.result;
    args.count = b.count;
    args.type = XYLEM_FLOAT32;
    args.op = coll == 0 ? xylem_op_t(0) : XYLEM_SUM;
    b.requests[HDN] = planned(b.j.world, args);
    b.requests[ORDERED] = planned(b.j.world, args);
    args.segment_bytes = b.segment * sizeof(float);
    b.requests[HDN_CUT] = planned(b.j.world, args);
    args.flags = XYLEM_FLAG_PARTS;
    b.requests[INSIDE] = planned(b.j.world, args);
    MUST(xylem_request_segments(b.requests[INSIDE], &segments, &bytes));
    if (b.j.rank == 0)
        printf("%llu segments of %zu bytes\n", (unsigned long long)segments,
               bytes);
    b.segment = bytes / sizeof(float);
    if (!computes)
        return;
    b.p = proxy_make(b.j, 1024, 2);
    b.counters = device<xylem_device_counter_t>(segments);
    trigger.action = XYLEM_TRIGGER_SEGMENTS;
    trigger.request = b.requests[INSIDE];
    trigger.threshold = 1;
    MUST(xylem_trigger_create(b.j.context, &trigger, &b.segments));
    owned_triggers.push_back(b.segments);
    MUST(xylem_proxy_bind(b.p.proxy, 0, b.segments));
    MUST(xylem_proxy_arm(b.p.proxy, 1));
}

int main(int argc, char **argv)
{
    static bench b;
    std::vector<double> times[MODES];
    unsigned coll;
    int computes, in_device;

    if (argc < 5)
        return 2;
    coll = strcmp(argv[1], "bcast") == 0    ? 0
           : strcmp(argv[1], "reduce") == 0 ? 1
                                            : 2;
    in_device = strcmp(argv[4], "device") == 0;
    job_begin(&b.j);
    b.count = size_t(atol(argv[2])) / sizeof(float);
    b.work = unsigned(atoi(argv[3]));
    b.tile = (argc > 5 ? size_t(atol(argv[5])) : 2048) / sizeof(float);
    b.segment = (argc > 6 ? size_t(atol(argv[6])) : 65536) / sizeof(float);
    b.input = in_device ? device<float>(b.count) : pinned<float>(b.count);
    b.result = in_device ? device<float>(b.count) : pinned<float>(b.count);
    b.status = pinned<int>(1);
    CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    computes = coll != 0 || b.j.rank == 0;
    plan(b, coll, computes);
    for (int r = 0; r < ROUNDS + 5; r++)
        for (int m = 0; m < MODES; m++) {
            float seed = float(r % 10 + m);
            double us = round_us(b, mode(m), computes, seed);
            if (r >= 5)
                times[m].push_back(us);
            if (m != KERNEL && r % 50 == 0)
                check(b, coll, seed, names[m]);
        }
    if (b.j.rank == 0) {
        printf("%s of %zu bytes, %u ranks, %u multiplications, %s memory: us\n",
               argv[1], b.count * sizeof(float), b.j.ranks, b.work, argv[4]);
        for (int m = 0; m < MODES; m++)
            printf("  %-30s %10.1f   best %10.1f\n", names[m],
                   at(times[m], 0.5), at(times[m], 0));
    }
    job_end(b.j);
}
