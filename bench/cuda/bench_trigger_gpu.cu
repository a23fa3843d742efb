/* Triggers from inside a kernel: what they cost. Rank 0 has the kernel, rank 1
 * (if any) gets its messages.
 *
 *   post      a thread's time to draw a place and write its record
 *   to host   half of: record, trigger, word that the kernel sees
 *   to wire   record, message begun, word; less one way back (half of the line
 *             above): so with all that sending a message costs
 *
 * Beside them, what begins a message without triggers: the kernel ends and the
 * host sends (HDN), and the stream calls a function of the host that sends
 * (stream-ordered); from the last instruction of the kernel until the message
 * has been posted, by the clock of the GPU and that of the host, which are
 * compared in each round. */
#include "bench/cuda/common.cuh"

enum {
    ROUNDS = 2000,
    BLOCKS_MAX = 128,
    LINE = 16 /* words: each block's has a line of its own */
};

__device__ uint64_t clock_ns()
{
    uint64_t ns;

    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
    return ns;
}

__device__ void nap(uint32_t ns)
{
    uint64_t end = clock_ns() + ns;

    while (clock_ns() < end)
        __nanosleep(1000);
}

struct sample {
    uint32_t post, all; /* cycles */
};

/* paced: blocks sleep between posts, else all post all the time. */
__global__ void closed_loop(xylem_device_queue_t queue, uint32_t first_tag,
                            uint64_t *words, uint32_t rounds, int paced,
                            sample *samples, int *statuses,
                            uint64_t *ns_and_cycles)
{
    uint32_t tag = first_tag + blockIdx.x, r;
    uint64_t begin_ns = clock_ns();
    long long begin = clock64();
    int status = XYLEM_OK;

    for (r = 0; r < rounds && status == XYLEM_OK; r++) {
        long long t0, t1, t2;

        if (paced)
            nap(200000 + (blockIdx.x * 79190 + r * 1047290) % 1000000);
        t0 = clock64();
        status = xylem_device_post(&queue, tag, 0, 1, TRIES);
        t1 = clock64();
        if (status == XYLEM_OK)
            status = xylem_device_wait(&words[blockIdx.x * LINE], r + 1, TRIES);
        t2 = clock64();
        samples[blockIdx.x * rounds + r] = {uint32_t(t1 - t0),
                                            uint32_t(t2 - t0)};
    }
    statuses[blockIdx.x] = status;
    if (blockIdx.x == 0) {
        ns_and_cycles[0] = clock_ns() - begin_ns;
        ns_and_cycles[1] = uint64_t(clock64() - begin);
    }
}

/* All blocks count, and one record tells of it. */
__global__ void counted_loop(xylem_device_queue_t queue,
                             xylem_device_counter_t *counter,
                             xylem_device_relay_t *relay, uint32_t tag,
                             uint64_t *word, uint32_t rounds, sample *samples,
                             int *statuses, uint64_t *ns_and_cycles)
{
    uint64_t begin_ns = clock_ns();
    long long begin = clock64();
    int status = XYLEM_OK;

    for (uint32_t r = 0; r < rounds && status == XYLEM_OK; r++) {
        long long t0 = clock64(), t1;
        status =
            xylem_device_count(&queue, counter, 1, gridDim.x, tag, 0, TRIES);
        t1 = clock64();
        if (status == XYLEM_OK)
            status = xylem_device_wait_relayed(relay, word, r + 1, TRIES);
        samples[blockIdx.x * rounds + r] = {uint32_t(t1 - t0),
                                            uint32_t(clock64() - t0)};
    }
    statuses[blockIdx.x] = status;
    if (blockIdx.x == 0) {
        ns_and_cycles[0] = clock_ns() - begin_ns;
        ns_and_cycles[1] = uint64_t(clock64() - begin);
    }
}

struct bench {
    job j;
    proxy shared;
    uint64_t *words; /* [2 * BLOCKS_MAX]: nothing, and messages */
    xylem_trigger_t *nothing[BLOCKS_MAX], *sends[BLOCKS_MAX];
    xylem_request_t *requests[BLOCKS_MAX];
    xylem_team_t *teams[BLOCKS_MAX];
    sample *samples;
    int *statuses;
    uint64_t *scale;
    cudaStream_t stream;
    char *message;
};

struct times {
    double post, half, all, all99;
};

static times evaluate(const char *name, const bench &b, uint32_t blocks,
                      uint32_t rounds, double back)
{
    std::vector<double> post, all;
    double ns = double(b.scale[0]) / double(b.scale[1]);
    times t;

    for (uint32_t k = 0; k < blocks; k++) {
        if (b.statuses[k] != XYLEM_OK) {
            printf("%-34s FAILED: %s\n", name,
                   xylem_status_name(xylem_status_t(b.statuses[k])));
            exit(EXIT_FAILURE);
        }
        for (uint32_t r = rounds / 10; r < rounds; r++) {
            post.push_back(b.samples[k * rounds + r].post * ns / 1000);
            all.push_back(b.samples[k * rounds + r].all * ns / 1000);
        }
    }
    t.post = at(post, 0.5);
    t.all = at(all, 0.5);
    t.all99 = at(all, 0.99);
    t.half = t.all / 2;
    printf("%-34s %8.2f %8.2f %8.2f %8.2f", name, t.post, t.all, t.all99,
           back > 0 ? t.all - back : t.half);
    printf(" %8.0f\n", double(blocks) * rounds / (double(b.scale[0]) / 1e6));
    return t;
}

static times loop(bench &b, const char *name, const proxy &p, uint32_t tag,
                  uint64_t *words, uint32_t blocks, uint32_t rounds, int paced,
                  double back)
{
    for (uint32_t k = 0; k < blocks; k++)
        words[k * LINE] = 0;
    closed_loop<<<blocks, 1, 0, b.stream>>>(p.queue, tag, words, rounds, paced,
                                            b.samples, b.statuses, b.scale);
    progress_until(b.j, b.stream);
    return evaluate(name, b, blocks, rounds, back);
}

static void counted(bench &b, uint32_t blocks)
{
    xylem_device_counter_t *counter = device<xylem_device_counter_t>(1);
    xylem_device_relay_t *relay = device<xylem_device_relay_t>(1);

    b.words[0] = 0;
    counted_loop<<<blocks, 1, 0, b.stream>>>(b.shared.queue, counter, relay, 0,
                                             &b.words[0], ROUNDS, b.samples,
                                             b.statuses, b.scale);
    progress_until(b.j, b.stream);
    evaluate("128 blocks count, one record", b, blocks, ROUNDS, 0);
    CUDA(cudaFree(counter));
    CUDA(cudaFree(relay));
}

/* ---- without triggers ---- */

__global__ void tell_time(volatile uint64_t *ns)
{
    *ns = clock_ns();
}

struct posting {
    xylem_request_t *request;
    double posted_us;
};

static void post_from_stream(void *arg)
{
    posting *p = static_cast<posting *>(arg);

    must_at(__LINE__, xylem_request_start(p->request));
    p->posted_us = now_us();
}

/* The clock of the GPU at now_us() == 0, as seen by the shortest of some
 * kernels that tell the time while the host waits for it. */
__global__ void echo_time(volatile uint64_t *ask, volatile uint64_t *answer,
                          uint32_t rounds)
{
    for (uint32_t r = 1; r <= rounds; r++) {
        uint64_t tries = 0;
        while (*ask != r && tries++ < 10000000)
            ;
        answer[1] = clock_ns();
        __threadfence_system();
        answer[0] = r;
    }
}

static double clock_offset_us(bench &b)
{
    uint64_t *words = pinned<uint64_t>(64);
    double best = 1e9, offset = 0;

    echo_time<<<1, 1, 0, b.stream>>>(&words[0], &words[32], 200);
    for (uint64_t r = 1; r <= 200; r++) {
        double t0 = now_us(), t1;
        __atomic_store_n(&words[0], r, __ATOMIC_RELEASE);
        while (__atomic_load_n(&words[32], __ATOMIC_ACQUIRE) != r)
            ;
        t1 = now_us();
        if (t1 - t0 < best) {
            best = t1 - t0;
            offset = double(words[33]) / 1000 - (t0 + t1) / 2;
        }
    }
    CUDA(cudaStreamSynchronize(b.stream));
    return offset;
}

static void without(bench &b)
{
    enum { N = 300 };
    volatile uint64_t *told = pinned<uint64_t>(1);
    std::vector<double> hdn, ordered, hdn_all, ordered_all;
    posting p = {b.requests[0], 0};

    for (int r = 0; r < N; r++) {
        double offset = r % 100 == 0 ? clock_offset_us(b) : 0, begin;
        static double last;
        if (r % 100 == 0)
            last = offset;
        begin = now_us();
        tell_time<<<1, 1, 0, b.stream>>>(const_cast<uint64_t *>(told));
        CUDA(cudaStreamSynchronize(b.stream));
        post_from_stream(&p);
        hdn.push_back(p.posted_us - (double(*told) / 1000 - last));
        hdn_all.push_back(p.posted_us - begin);
        MUST(xylem_request_wait(p.request));
        begin = now_us();
        tell_time<<<1, 1, 0, b.stream>>>(const_cast<uint64_t *>(told));
        CUDA(cudaLaunchHostFunc(b.stream, post_from_stream, &p));
        CUDA(cudaStreamSynchronize(b.stream));
        ordered.push_back(p.posted_us - (double(*told) / 1000 - last));
        ordered_all.push_back(p.posted_us - begin);
        MUST(xylem_request_wait(p.request));
    }
    printf("\n%-34s %10s %12s\n", "from the kernel's last write, us", "to wire",
           "and launch");
    printf("%-34s %10.2f %12.2f\n", "kernel boundary, host sends", at(hdn, 0.5),
           at(hdn_all, 0.5));
    printf("%-34s %10.2f %12.2f\n", "function of the host in a stream",
           at(ordered, 0.5), at(ordered_all, 0.5));
}

/* ---- set-up ---- */

static void set_up(bench &b)
{
    b.shared = proxy_make(b.j, 1024, 2 * BLOCKS_MAX);
    b.words = pinned<uint64_t>(2 * BLOCKS_MAX * LINE);
    b.samples = pinned<sample>(size_t(BLOCKS_MAX) * ROUNDS);
    b.statuses = pinned<int>(BLOCKS_MAX);
    b.scale = pinned<uint64_t>(2);
    CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    for (uint32_t k = 0; k < BLOCKS_MAX; k++) {
        b.nothing[k] = start_trigger(b.j, NULL, &b.words[k * LINE]);
        MUST(xylem_proxy_bind(b.shared.proxy, k, b.nothing[k]));
    }
    MUST(xylem_proxy_arm(b.shared.proxy, 1));
}

/* Messages of 8 bytes, one for each block; rank 1 gets them. */
static const uint32_t message_blocks[] = {1, 16};
static uint32_t expected(uint32_t k)
{
    uint32_t n = 0;

    for (uint32_t blocks : message_blocks)
        n += k < blocks ? ROUNDS : 0;
    return n + (k == 0 ? 600 : 0);
}

static void set_up_messages(bench &b, uint32_t blocks)
{
    b.message = pinned<char>(64 * BLOCKS_MAX);
    for (uint32_t k = 0; k < blocks; k++) {
        b.teams[k] = team_of_its_own(b.j);
        b.requests[k] = message(
            b.teams[k], b.message + 64 * k, b.message + 64 * k, 8,
            b.j.rank == 0 ? 1 : UINT32_MAX, b.j.rank == 1 ? 0 : UINT32_MAX);
    }
}

static void receive(bench &b, uint32_t blocks)
{
    uint32_t left[BLOCKS_MAX], all = 0;

    for (uint32_t k = 0; k < blocks; k++) {
        left[k] = expected(k);
        all += left[k];
        MUST(xylem_request_start(b.requests[k]));
    }
    while (all != 0) {
        xylem_progress(b.j.context);
        for (uint32_t k = 0; k < blocks; k++) {
            xylem_status_t status;
            if (left[k] == 0)
                continue;
            status = xylem_request_test(b.requests[k]);
            if (status == XYLEM_IN_PROGRESS)
                continue;
            MUST(status);
            all--;
            if (--left[k] != 0)
                MUST(xylem_request_start(b.requests[k]));
        }
    }
}

int main()
{
    static bench b;
    times one;
    uint32_t k;

    job_begin(&b.j);
    if (b.j.ranks > 1)
        set_up_messages(b, 16);
    if (b.j.rank == 1)
        receive(b, 16);
    if (b.j.rank == 0) {
        set_up(b);
        printf("%-34s %8s %8s %8s %8s %8s\n", "us, medians", "post", "round",
               "p99", "to host", "1000/s");
        one = loop(b, "1 block", b.shared, 0, b.words, 1, ROUNDS, 0, 0);
        loop(b, "16 blocks", b.shared, 0, b.words, 16, ROUNDS, 0, 0);
        loop(b, "128 blocks, all the time", b.shared, 0, b.words, 128, ROUNDS,
             0, 0);
        loop(b, "128 blocks, now and then", b.shared, 0, b.words, 128, 200, 1,
             0);
        counted(b, 128);
    }
    if (b.j.rank == 0 && b.j.ranks > 1) {
        for (k = 0; k < 16; k++) {
            b.sends[k] = start_trigger(b.j, b.requests[k],
                                       &b.words[(BLOCKS_MAX + k) * LINE]);
            MUST(xylem_proxy_bind(b.shared.proxy, BLOCKS_MAX + k, b.sends[k]));
        }
        printf("\n%-34s %8s %8s %8s %8s %8s\n", "messages of 8 bytes, us",
               "post", "round", "p99", "to wire", "1000/s");
        for (uint32_t blocks : message_blocks) {
            char name[32];
            snprintf(name, sizeof name, "%u blocks", blocks);
            loop(b, name, b.shared, BLOCKS_MAX, &b.words[BLOCKS_MAX * LINE],
                 blocks, ROUNDS, 0, one.half);
        }
        without(b);
    }
    job_end(b.j);
}
