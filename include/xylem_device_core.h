/* xylem_device_core.h: memory, triggers and peers. A part of xylem_device.h,
 * which programs include. */
#ifndef XYLEM_DEVICE_CORE_H
#define XYLEM_DEVICE_CORE_H

#include "xylem_trigger.h"

#ifdef __CUDACC__
#define XYLEM_DEVICE_FN_ static __host__ __device__ inline
#else
#define XYLEM_DEVICE_FN_ static inline
#endif

/* Runs before each access to shared memory. Tests define it, to let other
 * threads go on there. */
#ifndef XYLEM_DEVICE_STEP_
#define XYLEM_DEVICE_STEP_() ((void)0)
#endif

typedef struct xylem_device_record {
    uint64_t what;  /* lap: 1 bit, index: 31 bits, tag: 32 bits */
    uint64_t count; /* lap: 1 bit, count: 63 bits */
} xylem_device_record_t;

/* Shared by posting threads; best in the device's memory if they run there. */
typedef struct xylem_device_places {
    uint64_t
        claimed;   /* places; for a moment too many while the queue is full */
    uint64_t head; /* the next ticket */
    uint64_t seen; /* a tail that one of the threads has read */
    uint64_t unused;
} xylem_device_places_t;

/* A queue as posting threads see it; copied into a kernel's arguments. */
typedef struct xylem_device_queue {
    size_t struct_bytes; /* sizeof(xylem_device_queue_t) */
    xylem_device_record_t *records;
    xylem_device_places_t *places;
    const uint64_t *tail;
    uint64_t mask; /* records - 1 */
} xylem_device_queue_t;

/* For many threads that wait for the same word: one of them looks at the word,
 * and tells the others here. Lies in the device's memory, or is shared by
 * threads of the host; 0 before its first use, and set to 0 again when its word
 * is. */
typedef struct xylem_device_relay {
    uint64_t seen;       /* the word, as it was last seen */
    uint64_t is_watched; /* 1: a thread looks at the word */
} xylem_device_relay_t;

/* A counter in the device's memory, or shared by threads of the host; 0 before
 * its first use. */
typedef struct xylem_device_counter {
    uint64_t count;
} xylem_device_counter_t;

/* ------------------------------------------------------------------------ */
/* Memory                                                                   */

/* The scope of an access is `sys`, the host and all devices; or `gpu`, this
 * device, or the threads of the host. */

/* A function that loads a word with PTX's ordering and scope `scope`, on the
 * host in the order `host`; and one that stores a word. */
#ifdef __CUDA_ARCH__
#define XYLEM_DEVICE_LOAD_(name, scope, host)                                  \
    XYLEM_DEVICE_FN_ uint64_t name(const uint64_t *from)                       \
    {                                                                          \
        uint64_t value;                                                        \
                                                                               \
        asm volatile("ld." scope ".u64 %0, [%1];"                              \
                     : "=l"(value)                                             \
                     : "l"(from)                                               \
                     : "memory");                                              \
        return value;                                                          \
    }
#define XYLEM_DEVICE_STORE_(name, scope, host)                                 \
    XYLEM_DEVICE_FN_ void name(uint64_t *to, uint64_t value)                   \
    {                                                                          \
        asm volatile("st." scope ".u64 [%0], %1;" ::"l"(to), "l"(value)        \
                     : "memory");                                              \
    }
/* A function that changes a word by `operation` and `value`, on the host by
 * `function`, and returns the word before. */
#define XYLEM_DEVICE_CHANGE_(name, scope, operation, function, host)           \
    XYLEM_DEVICE_FN_ uint64_t name(uint64_t *place, uint64_t value)            \
    {                                                                          \
        uint64_t was;                                                          \
                                                                               \
        asm volatile("atom." scope "." operation " %0, [%1], %2;"              \
                     : "=l"(was)                                               \
                     : "l"(place), "l"(value)                                  \
                     : "memory");                                              \
        return was;                                                            \
    }
#else
#define XYLEM_DEVICE_LOAD_(name, scope, host)                                  \
    XYLEM_DEVICE_FN_ uint64_t name(const uint64_t *from)                       \
    {                                                                          \
        XYLEM_DEVICE_STEP_();                                                  \
        return __atomic_load_n(from, host);                                    \
    }
#define XYLEM_DEVICE_STORE_(name, scope, host)                                 \
    XYLEM_DEVICE_FN_ void name(uint64_t *to, uint64_t value)                   \
    {                                                                          \
        XYLEM_DEVICE_STEP_();                                                  \
        __atomic_store_n(to, value, host);                                     \
    }
#define XYLEM_DEVICE_CHANGE_(name, scope, operation, function, host)           \
    XYLEM_DEVICE_FN_ uint64_t name(uint64_t *place, uint64_t value)            \
    {                                                                          \
        XYLEM_DEVICE_STEP_();                                                  \
        return function(place, value, host);                                   \
    }
#endif

XYLEM_DEVICE_LOAD_(xylem_device_load_sys_, "acquire.sys", __ATOMIC_ACQUIRE)
XYLEM_DEVICE_LOAD_(xylem_device_load_gpu_, "acquire.gpu", __ATOMIC_ACQUIRE)
XYLEM_DEVICE_LOAD_(xylem_device_load_relaxed_, "relaxed.sys", __ATOMIC_RELAXED)
XYLEM_DEVICE_STORE_(xylem_device_store_sys_, "release.sys", __ATOMIC_RELEASE)
XYLEM_DEVICE_STORE_(xylem_device_store_gpu_, "release.gpu", __ATOMIC_RELEASE)
XYLEM_DEVICE_STORE_(xylem_device_store_relaxed_, "relaxed.sys",
                    __ATOMIC_RELAXED)
/* Adds. Orders nothing. */
XYLEM_DEVICE_CHANGE_(xylem_device_draw_gpu_, "relaxed.gpu", "add.u64",
                     __atomic_fetch_add, __ATOMIC_RELAXED)
/* Stores the value. Acquires. */
XYLEM_DEVICE_CHANGE_(xylem_device_swap_gpu_, "acquire.gpu", "exch.b64",
                     __atomic_exchange_n, __ATOMIC_ACQUIRE)
/* Adds. Acquires and releases. */
XYLEM_DEVICE_CHANGE_(xylem_device_add_gpu_, "acq_rel.gpu", "add.u64",
                     __atomic_fetch_add, __ATOMIC_ACQ_REL)

/* Writes a record, whose two words have the same lap; either word may be read
 * first. Partner: the host's acquires. */
XYLEM_DEVICE_FN_ void xylem_device_write_(xylem_device_record_t *record,
                                          uint64_t what, uint64_t count)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.v2.u64 [%0], {%1, %2};" ::"l"(record),
                 "l"(what), "l"(count)
                 : "memory");
#else
    __atomic_store_n(&record->what, what, __ATOMIC_RELEASE);
    XYLEM_DEVICE_STEP_();
    __atomic_store_n(&record->count, count, __ATOMIC_RELEASE);
#endif
}

/* Rests between two tries. */
XYLEM_DEVICE_FN_ void xylem_device_rest_(void)
{
#ifdef __CUDA_ARCH__
    __nanosleep(32);
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

/* ------------------------------------------------------------------------ */
/* One thread                                                               */

/* The lap of ticket `ticket`, as both words of its record have it. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_lap_(uint64_t ticket, uint64_t mask)
{
    return (ticket & (mask + 1)) == 0 ? (uint64_t)1 << 63 : 0;
}

/* 1: claim or ticket `n` has a place. *seen is a tail that was read before; if
 * that does not suffice, this reads the tail again. */
XYLEM_DEVICE_FN_ int xylem_device_has_place_(const xylem_device_queue_t *queue,
                                             uint64_t n, uint64_t *seen)
{
    if ((int64_t)(n - *seen) <= (int64_t)queue->mask)
        return 1;
    *seen = xylem_device_load_sys_(queue->tail);
    if ((int64_t)(n - *seen) > (int64_t)queue->mask)
        return 0;
    xylem_device_store_gpu_(&queue->places->seen, *seen);
    return 1;
}

/* Draws a ticket; UINT64_MAX: there is no place. A thread keeps its claim if
 * fewer than tail + records claims came before it, and there are no more
 * tickets than kept claims: so the ticket's place is free. */
XYLEM_DEVICE_FN_ uint64_t
xylem_device_ticket_(const xylem_device_queue_t *queue)
{
    xylem_device_places_t *places = queue->places;
    uint64_t claimed = xylem_device_draw_gpu_(&places->claimed, 1), ticket;
    /* The thread that has stored it had acquired the host's tail. */
    uint64_t seen = xylem_device_load_gpu_(&places->seen);

    if (!xylem_device_has_place_(queue, claimed, &seen)) {
        (void)xylem_device_draw_gpu_(&places->claimed, UINT64_MAX);
        return UINT64_MAX;
    }
    ticket = xylem_device_draw_gpu_(&places->head, 1);
    /* A thread that claimed later may have drawn first, by a newer tail. */
    while (!xylem_device_has_place_(queue, ticket, &seen))
        ;
    return ticket;
}

/* The same after a claim that was taken back. While the queue is full the
 * thread makes no further claim, so that claims which are taken back keep no
 * other thread out for long. */
XYLEM_DEVICE_FN_ uint64_t
xylem_device_ticket_again_(const xylem_device_queue_t *queue)
{
    uint64_t claimed = xylem_device_load_gpu_(&queue->places->claimed);
    uint64_t seen = xylem_device_load_gpu_(&queue->places->seen);

    return xylem_device_has_place_(queue, claimed, &seen)
               ? xylem_device_ticket_(queue)
               : UINT64_MAX;
}

/* Counts up counter `index` of the trigger that is bound to `tag` by `count`.
 * If the queue is full, tries `tries` times more. XYLEM_ERR_TIMED_OUT: it
 * stayed full, and nothing has happened. */
XYLEM_DEVICE_FN_ int xylem_device_post(const xylem_device_queue_t *queue,
                                       uint32_t tag, uint32_t index,
                                       uint64_t count, uint64_t tries)
{
    uint64_t ticket = xylem_device_ticket_(queue), lap;

    for (; ticket == UINT64_MAX && tries != 0; tries--) {
        xylem_device_rest_();
        ticket = xylem_device_ticket_again_(queue);
    }
    if (ticket == UINT64_MAX)
        return XYLEM_ERR_TIMED_OUT;
    lap = xylem_device_lap_(ticket, queue->mask);
    xylem_device_write_(&queue->records[ticket & queue->mask],
                        lap | (uint64_t)(index & 0x7fffffff) << 32 | tag,
                        lap | (count & ~((uint64_t)1 << 63)));
    return XYLEM_OK;
}

/* Counts by `n` on the device, and posts a count of 1 for each multiple of
 * `threshold` that this passes, so that one record tells of many threads, warps
 * or blocks. XYLEM_ERR_TIMED_OUT: a multiple was passed but not posted; the
 * caller has to post it. */
XYLEM_DEVICE_FN_ int xylem_device_count(const xylem_device_queue_t *queue,
                                        xylem_device_counter_t *counter,
                                        uint64_t n, uint64_t threshold,
                                        uint32_t tag, uint32_t index,
                                        uint64_t tries)
{
    uint64_t was = xylem_device_add_gpu_(&counter->count, n);
    uint64_t times = (was + n) / threshold - was / threshold;

    return times == 0 ? XYLEM_OK
                      : xylem_device_post(queue, tag, index, times, tries);
}

XYLEM_DEVICE_FN_ int xylem_device_has_(uint64_t seen, uint64_t times)
{
    return (seen & 0xff) != XYLEM_OK || seen >> 8 >= times;
}

/* The status that a wait for `times` returns, by the word that it saw last. */
XYLEM_DEVICE_FN_ int xylem_device_said_by_(uint64_t seen, uint64_t times)
{
    if ((seen & 0xff) != XYLEM_OK)
        return (int)(seen & 0xff);
    return seen >> 8 < times ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
}

/* Waits until a word (xylem_trigger_args_t) says that the action was done
 * `times` times, or has failed, and returns the status. Looks at the word at
 * most `tries` + 1 times, then returns XYLEM_ERR_TIMED_OUT. */
XYLEM_DEVICE_FN_ int xylem_device_wait(const uint64_t *word, uint64_t times,
                                       uint64_t tries)
{
    uint64_t seen = xylem_device_load_sys_(word);

    for (; !xylem_device_has_(seen, times) && tries != 0; tries--) {
        xylem_device_rest_();
        seen = xylem_device_load_sys_(word);
    }
    return xylem_device_said_by_(seen, times);
}

/* The same for many threads at once. A look at memory of the host takes a
 * microsecond, and looks of many threads at one word take turns. So one of the
 * threads that wait looks at the word, and the others look at the relay. */
XYLEM_DEVICE_FN_ int xylem_device_wait_relayed(xylem_device_relay_t *relay,
                                               const uint64_t *word,
                                               uint64_t times, uint64_t tries)
{
    uint64_t seen = xylem_device_load_gpu_(&relay->seen), was;

    while (!xylem_device_has_(seen, times) && tries != 0) {
        if (xylem_device_load_gpu_(&relay->is_watched) == 0 &&
            xylem_device_swap_gpu_(&relay->is_watched, 1) == 0) {
            /* No other thread writes to `seen` meanwhile. */
            was = xylem_device_load_gpu_(&relay->seen);
            for (seen = was; !xylem_device_has_(seen, times) && tries != 0;
                 tries--) {
                seen = xylem_device_load_sys_(word);
                if (seen != was)
                    xylem_device_store_gpu_(&relay->seen, seen);
                was = seen;
            }
            xylem_device_store_gpu_(&relay->is_watched, 0);
        } else {
            xylem_device_rest_();
            seen = xylem_device_load_gpu_(&relay->seen);
            tries--;
        }
    }
    return xylem_device_said_by_(seen, times);
}

/* Posts a count of 1 and waits: begins the action that is bound to `tag`, which
 * is done when this returns XYLEM_OK. */
XYLEM_DEVICE_FN_ int xylem_device_run(const xylem_device_queue_t *queue,
                                      uint32_t tag, const uint64_t *word,
                                      uint64_t times, uint64_t tries)
{
    int status = xylem_device_post(queue, tag, 0, 1, tries);

    return status == XYLEM_OK ? xylem_device_wait(word, times, tries) : status;
}

/* ------------------------------------------------------------------------ */
/* Peers: GPUs of a node, or threads of the host                            */

/* Filled in by xylem_peers_open; copied into a kernel's arguments. */
typedef struct xylem_device_peers {
    size_t struct_bytes; /* sizeof(xylem_device_peers_t) */
    size_t bytes;        /* of each peer's memory */
    uint32_t rank, ranks;
    void *memory[XYLEM_PEERS_MAX];
} xylem_device_peers_t;

/* Counts up a word in a peer's memory, without host or proxy. Data that this
 * thread has written there before are visible to a thread that sees the count,
 * for which it waits by xylem_device_wait. */
XYLEM_DEVICE_FN_ void xylem_device_signal(uint64_t *word, uint64_t times)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("red.release.sys.add.u64 [%0], %1;" ::"l"(word),
                 "l"(times << 8)
                 : "memory");
#else
    (void)__atomic_fetch_add(word, times << 8, __ATOMIC_RELEASE);
#endif
}

/* The bytes at the beginning of each peer's memory that barriers and sums use:
 * words of the barrier, then for two rounds of the sums a word per rank and
 * element. */
XYLEM_DEVICE_FN_ size_t xylem_device_peers_bytes(uint32_t ranks,
                                                 uint32_t elements)
{
    return (XYLEM_PEERS_MAX + 2 * (size_t)ranks * elements) * sizeof(uint64_t);
}

/* Called by one thread of each peer. XYLEM_OK: all peers have come to round
 * `round` (1, 2, ...), and data that they wrote before are visible. Looks
 * `tries` + 1 times at each peer's word. XYLEM_ERR_TIMED_OUT: some peer has not
 * come; the call may be repeated, and writes its word to all peers once more.
 * So a peer's memory must stay until every peer's last call has returned, and
 * not only the peer's own. */
XYLEM_DEVICE_FN_ int
xylem_device_peers_barrier(const xylem_device_peers_t *peers, uint64_t round,
                           uint64_t tries)
{
    const uint64_t *mine = (const uint64_t *)peers->memory[peers->rank];
    uint32_t r;

    for (r = 0; r < peers->ranks; r++)
        if (r != peers->rank)
            xylem_device_store_sys_((uint64_t *)peers->memory[r] + peers->rank,
                                    round);
    for (r = 0; r < peers->ranks; r++) {
        uint64_t left = tries;
        while (r != peers->rank && xylem_device_load_sys_(&mine[r]) < round)
            if (left-- == 0)
                return XYLEM_ERR_TIMED_OUT;
    }
    return XYLEM_OK;
}

/* Called by one thread of each peer for element `i` of `elements`: *value
 * becomes the sum of all ranks' values in the order of ranks, with the same
 * bits on all. A word carries an element and the number of its round (1 ...
 * 2^32 - 1), and needs no other signal. Two rounds have places of their own; a
 * peer in round n has all peers' elements of round n - 1. XYLEM_ERR_TIMED_OUT:
 * as above, and *value is unchanged. */
XYLEM_DEVICE_FN_ int xylem_device_peers_sum(const xylem_device_peers_t *peers,
                                            float *value, uint32_t i,
                                            uint32_t elements, uint32_t round,
                                            uint64_t tries)
{
    size_t first =
        XYLEM_PEERS_MAX + (size_t)(round & 1) * peers->ranks * elements + i;
    union {
        float value;
        uint32_t bits;
    } element;
    float sum = 0;
    uint32_t r;

    element.value = *value;
    for (r = 0; r < peers->ranks; r++)
        if (r != peers->rank) {
            uint64_t *to = (uint64_t *)peers->memory[r] + first +
                           (size_t)peers->rank * elements;
            xylem_device_store_relaxed_(to,
                                        (uint64_t)round << 32 | element.bits);
        }
    for (r = 0; r < peers->ranks; r++) {
        const uint64_t *from = (const uint64_t *)peers->memory[peers->rank] +
                               first + (size_t)r * elements;
        uint64_t left = tries, word;
        if (r == peers->rank) {
            element.value = *value;
        } else {
            word = xylem_device_load_sys_(from);
            while (word >> 32 != round) {
                if (left-- == 0)
                    return XYLEM_ERR_TIMED_OUT;
                word = xylem_device_load_sys_(from);
            }
            element.bits = (uint32_t)word;
        }
        sum = r == 0 ? element.value : sum + element.value;
    }
    *value = sum;
    return XYLEM_OK;
}

/* ------------------------------------------------------------------------ */
/* Warps and blocks                                                         */

/* The same functions for all threads of a warp, or of a block of one, two or
 * three dimensions, which make the call together. They cover data that any of
 * these threads has written before; one thread acts, and all threads get its
 * status. On the host a thread stands for a block. */
#ifdef __CUDA_ARCH__
#define XYLEM_DEVICE_WARP_(call)                                               \
    do {                                                                       \
        int status_ = XYLEM_OK;                                                \
        unsigned lanes_ = __activemask();                                      \
        int first_ = __ffs((int)lanes_) - 1, lane_;                            \
        asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane_));                   \
        __syncwarp(lanes_);                                                    \
        if (lane_ == first_)                                                   \
            status_ = (call);                                                  \
        return __shfl_sync(lanes_, status_, first_);                           \
    } while (0)
#define XYLEM_DEVICE_BLOCK_(call)                                              \
    do {                                                                       \
        __shared__ int status_;                                                \
        int got_;                                                              \
        __syncthreads();                                                       \
        if (threadIdx.x == 0 && threadIdx.y == 0 && threadIdx.z == 0)          \
            status_ = (call);                                                  \
        __syncthreads();                                                       \
        got_ = status_;                                                        \
        __syncthreads();                                                       \
        return got_;                                                           \
    } while (0)
#define XYLEM_DEVICE_SELF_                                                     \
    (threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z))
#define XYLEM_DEVICE_THREADS_   (blockDim.x * blockDim.y * blockDim.z)
#define XYLEM_DEVICE_MEET_()    __syncthreads()
#define XYLEM_DEVICE_ANY_(what) __syncthreads_or(what)
#define XYLEM_DEVICE_SHARED_    __shared__
#else
#define XYLEM_DEVICE_WARP_(call)  return (call)
#define XYLEM_DEVICE_BLOCK_(call) return (call)
#define XYLEM_DEVICE_SELF_        0
#define XYLEM_DEVICE_THREADS_     1
#define XYLEM_DEVICE_MEET_()      ((void)0)
#define XYLEM_DEVICE_ANY_(what)   (what)
#define XYLEM_DEVICE_SHARED_
#endif

XYLEM_DEVICE_FN_ int xylem_device_warp_post(const xylem_device_queue_t *queue,
                                            uint32_t tag, uint32_t index,
                                            uint64_t count, uint64_t tries)
{
    XYLEM_DEVICE_WARP_(xylem_device_post(queue, tag, index, count, tries));
}

XYLEM_DEVICE_FN_ int xylem_device_warp_wait(const uint64_t *word,
                                            uint64_t times, uint64_t tries)
{
    XYLEM_DEVICE_WARP_(xylem_device_wait(word, times, tries));
}

XYLEM_DEVICE_FN_ int xylem_device_block_post(const xylem_device_queue_t *queue,
                                             uint32_t tag, uint32_t index,
                                             uint64_t count, uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(xylem_device_post(queue, tag, index, count, tries));
}

XYLEM_DEVICE_FN_ int xylem_device_block_count(const xylem_device_queue_t *queue,
                                              xylem_device_counter_t *counter,
                                              uint64_t n, uint64_t threshold,
                                              uint32_t tag, uint32_t index,
                                              uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(
        xylem_device_count(queue, counter, n, threshold, tag, index, tries));
}

XYLEM_DEVICE_FN_ int xylem_device_block_wait(const uint64_t *word,
                                             uint64_t times, uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(xylem_device_wait(word, times, tries));
}

XYLEM_DEVICE_FN_ int
xylem_device_block_wait_relayed(xylem_device_relay_t *relay,
                                const uint64_t *word, uint64_t times,
                                uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(xylem_device_wait_relayed(relay, word, times, tries));
}

XYLEM_DEVICE_FN_ int xylem_device_block_run(const xylem_device_queue_t *queue,
                                            uint32_t tag, const uint64_t *word,
                                            uint64_t times, uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(xylem_device_run(queue, tag, word, times, tries));
}

#endif
