/* xylem_device.h: triggers that are counted up from inside a kernel.
 *
 * For code that runs on a device, or on the host where a thread stands for a
 * block: C11, C++11 and CUDA (sm_70 and newer) compile the same source, inline.
 * Nothing here calls the library.
 *
 * Many threads write records into a queue (xylem_proxy_create) without a lock;
 * the library's progressing thread reads them, and counts up the trigger that
 * the program has bound to the record's tag. A full queue makes who posts try
 * again, at most as often as it says, so that no kernel hangs when nobody reads
 * any more.
 *
 *   places->claimed++            a place, as long as that was less than tail +
 *                                records; else taken back, there is none
 *   ticket t = places->head++    of those who have a place: no two wait for
 *                                each other, however many post at once
 *   records[t % records]         both words have the lap, 1 in even laps, 0 in
 *                                odd ones: none has to be written first
 *   tail                         written by the host: what it has read
 *
 * Memory scopes. A record is released to the system: what the posting thread
 * has written before, or has seen by an acquire, is visible to the host, to
 * other devices and to the network when the operation begins. Threads of a
 * block come together by the block's barrier first (xylem_device_block_post),
 * those of a kernel by a counter (xylem_device_count), which acquires and
 * releases in the device's scope. xylem_device_wait acquires from the system:
 * what the operation has brought is visible then to the thread that waited, and
 * by a barrier to its block; it is read by ordinary loads, but not by those of
 * the read-only cache.
 *
 * Functions return values of xylem_status_t. */
#ifndef XYLEM_DEVICE_H
#define XYLEM_DEVICE_H

#include "xylem_trigger.h"

#ifdef __CUDACC__
#define XYLEM_DEVICE_FN_ static __host__ __device__ inline
#else
#define XYLEM_DEVICE_FN_ static inline
#endif

/* What tests let happen between two steps. */
#ifndef XYLEM_DEVICE_STEP_
#define XYLEM_DEVICE_STEP_() ((void)0)
#endif

typedef struct xylem_device_record {
    uint64_t what;  /* lap: 1 bit, index: 31 bits, tag: 32 bits */
    uint64_t count; /* lap: 1 bit, count: 63 bits */
} xylem_device_record_t;

/* What those who post share: in the device's memory where that is closer. */
typedef struct xylem_device_places {
    uint64_t
        claimed;   /* places; for a moment too many while the queue is full */
    uint64_t head; /* the next ticket */
    uint64_t seen; /* a tail that one of them has read */
    uint64_t unused;
} xylem_device_places_t;

/* A queue as those who post see it; copied into a kernel's arguments. */
typedef struct xylem_device_queue {
    size_t struct_bytes; /* sizeof(xylem_device_queue_t) */
    xylem_device_record_t *records;
    xylem_device_places_t *places;
    const uint64_t *tail;
    uint64_t mask; /* records - 1 */
} xylem_device_queue_t;

/* What one of many who wait for the same word has seen of it: in the device's
 * memory, or shared by threads of the host; 0 before its first use, and again
 * when its word is. */
typedef struct xylem_device_relay {
    uint64_t seen;
    uint64_t is_watched; /* one of them looks at the word */
} xylem_device_relay_t;

/* In the device's memory, or shared by threads of the host; 0 before its first
 * use. */
typedef struct xylem_device_counter {
    uint64_t count;
} xylem_device_counter_t;

/* ------------------------------------------------------------------------ */
/* Memory                                                                   */

/* sys: the host and all devices; gpu: this device, or the host's threads. */

XYLEM_DEVICE_FN_ uint64_t xylem_device_load_sys_(const uint64_t *from)
{
    uint64_t value;

    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("ld.acquire.sys.u64 %0, [%1];"
                 : "=l"(value)
                 : "l"(from)
                 : "memory");
#else
    value = __atomic_load_n(from, __ATOMIC_ACQUIRE);
#endif
    return value;
}

XYLEM_DEVICE_FN_ uint64_t xylem_device_load_gpu_(const uint64_t *from)
{
    uint64_t value;

    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("ld.acquire.gpu.u64 %0, [%1];"
                 : "=l"(value)
                 : "l"(from)
                 : "memory");
#else
    value = __atomic_load_n(from, __ATOMIC_ACQUIRE);
#endif
    return value;
}

XYLEM_DEVICE_FN_ void xylem_device_store_gpu_(uint64_t *to, uint64_t value)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("st.release.gpu.u64 [%0], %1;" ::"l"(to), "l"(value)
                 : "memory");
#else
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
#endif
}

/* In system scope; these order nothing. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_load_relaxed_(const uint64_t *from)
{
    uint64_t value;

    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.sys.u64 %0, [%1];"
                 : "=l"(value)
                 : "l"(from)
                 : "memory");
#else
    value = __atomic_load_n(from, __ATOMIC_RELAXED);
#endif
    return value;
}

XYLEM_DEVICE_FN_ void xylem_device_store_relaxed_(uint64_t *to, uint64_t value)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.u64 [%0], %1;" ::"l"(to), "l"(value)
                 : "memory");
#else
    __atomic_store_n(to, value, __ATOMIC_RELAXED);
#endif
}

/* What it was; orders nothing. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_draw_gpu_(uint64_t *place, uint64_t n)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    {
        uint64_t was;

        asm volatile("atom.relaxed.gpu.add.u64 %0, [%1], %2;"
                     : "=l"(was)
                     : "l"(place), "l"(n)
                     : "memory");
        return was;
    }
#else
    return __atomic_fetch_add(place, n, __ATOMIC_RELAXED);
#endif
}

/* What it was. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_swap_gpu_(uint64_t *place,
                                                 uint64_t value)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    {
        uint64_t was;

        asm volatile("atom.acquire.gpu.exch.b64 %0, [%1], %2;"
                     : "=l"(was)
                     : "l"(place), "l"(value)
                     : "memory");
        return was;
    }
#else
    return __atomic_exchange_n(place, value, __ATOMIC_ACQUIRE);
#endif
}

/* What it was. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_add_gpu_(uint64_t *place, uint64_t n)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    {
        uint64_t was;

        asm volatile("atom.acq_rel.gpu.add.u64 %0, [%1], %2;"
                     : "=l"(was)
                     : "l"(place), "l"(n)
                     : "memory");
        return was;
    }
#else
    return __atomic_fetch_add(place, n, __ATOMIC_ACQ_REL);
#endif
}

/* A record of two words with the same lap; each may be read first. Partner: the
 * host's acquires. */
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

/* Between two tries. */
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

/* Whether number `n` has a place, as far as is known; *seen: a tail. */
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

/* A ticket of the queue's, or UINT64_MAX: there is no place. Each claim that is
 * kept has seen less than tail + records before it, and there are no more
 * tickets than claims that are kept: so the ticket's place is free. */
XYLEM_DEVICE_FN_ uint64_t
xylem_device_ticket_(const xylem_device_queue_t *queue)
{
    xylem_device_places_t *places = queue->places;
    uint64_t claimed = xylem_device_draw_gpu_(&places->claimed, 1), ticket;
    /* Whoever has stored it had acquired the host's tail. */
    uint64_t seen = xylem_device_load_gpu_(&places->seen);

    if (!xylem_device_has_place_(queue, claimed, &seen)) {
        (void)xylem_device_draw_gpu_(&places->claimed, UINT64_MAX);
        return UINT64_MAX;
    }
    ticket = xylem_device_draw_gpu_(&places->head, 1);
    /* Who claimed later may have drawn first, and have seen a newer tail. */
    while (!xylem_device_has_place_(queue, ticket, &seen))
        ;
    return ticket;
}

/* The same after a claim that was not kept: while the queue is full nobody
 * claims, so that claims that are taken back keep nobody out for long. */
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
 * Tries `tries` times more while the queue is full, then XYLEM_ERR_TIMED_OUT,
 * and nothing has happened. */
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
 * `threshold` that is passed: so one record tells of many threads, warps or
 * blocks. XYLEM_ERR_TIMED_OUT: the threshold is passed, and the caller has to
 * post that itself. */
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

/* Until a word (xylem_trigger_args_t) says that the action was done `times`
 * times, or the status with which it failed; looks `tries` times more, then
 * XYLEM_ERR_TIMED_OUT. */
XYLEM_DEVICE_FN_ int xylem_device_wait(const uint64_t *word, uint64_t times,
                                       uint64_t tries)
{
    uint64_t seen = xylem_device_load_sys_(word);

    for (; (seen & 0xff) == XYLEM_OK && seen >> 8 < times && tries != 0;
         tries--) {
        xylem_device_rest_();
        seen = xylem_device_load_sys_(word);
    }
    if ((seen & 0xff) != XYLEM_OK)
        return (int)(seen & 0xff);
    return seen >> 8 < times ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
}

XYLEM_DEVICE_FN_ int xylem_device_has_(uint64_t seen, uint64_t times)
{
    return (seen & 0xff) != XYLEM_OK || seen >> 8 >= times;
}

/* The same for many threads at once. Looking at memory of the host takes a
 * microsecond, and looks of many at one word take turns: so one of those who
 * wait looks at it, and the others look at the relay. */
XYLEM_DEVICE_FN_ int xylem_device_wait_relayed(xylem_device_relay_t *relay,
                                               const uint64_t *word,
                                               uint64_t times, uint64_t tries)
{
    uint64_t seen = xylem_device_load_gpu_(&relay->seen), was;

    while (!xylem_device_has_(seen, times) && tries != 0) {
        if (xylem_device_load_gpu_(&relay->is_watched) == 0 &&
            xylem_device_swap_gpu_(&relay->is_watched, 1) == 0) {
            /* Nobody else writes to it meanwhile. */
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
    if ((seen & 0xff) != XYLEM_OK)
        return (int)(seen & 0xff);
    return seen >> 8 < times ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
}

/* Both: whatever is bound to `tag` is begun, and done when this returns. */
XYLEM_DEVICE_FN_ int xylem_device_run(const xylem_device_queue_t *queue,
                                      uint32_t tag, const uint64_t *word,
                                      uint64_t times, uint64_t tries)
{
    int status = xylem_device_post(queue, tag, 0, 1, tries);

    return status == XYLEM_OK ? xylem_device_wait(word, times, tries) : status;
}

/* ------------------------------------------------------------------------ */
/* Peers: GPUs of a node, or threads of the host                            */

/* By xylem_peers_open; copied into a kernel's arguments. */
typedef struct xylem_device_peers {
    size_t struct_bytes; /* sizeof(xylem_device_peers_t) */
    size_t bytes;        /* of each one's memory */
    uint32_t rank, ranks;
    void *memory[XYLEM_PEERS_MAX];
} xylem_device_peers_t;

/* Counts up a word in a peer's memory: what this thread has written there
 * before is visible to whoever sees it. Waited for by xylem_device_wait. No
 * host, no proxy. */
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

XYLEM_DEVICE_FN_ void xylem_device_store_sys_(uint64_t *to, uint64_t value)
{
    XYLEM_DEVICE_STEP_();
#ifdef __CUDA_ARCH__
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(to), "l"(value)
                 : "memory");
#else
    __atomic_store_n(to, value, __ATOMIC_RELEASE);
#endif
}

/* In front of each peer's memory: words of the barrier, then of the sums, two
 * rounds of a word per rank and element. */
XYLEM_DEVICE_FN_ size_t xylem_device_peers_bytes(uint32_t ranks,
                                                 uint32_t elements)
{
    return (XYLEM_PEERS_MAX + 2 * (size_t)ranks * elements) * sizeof(uint64_t);
}

/* Of one thread of each peer: all have come to round `round` (1, 2, ...), and
 * what they wrote before is visible. Looks `tries` times at each, then
 * XYLEM_ERR_TIMED_OUT: the call may be repeated, and writes its word to all
 * once more. So a peer's memory stays until every peer's last call has
 * returned, not only its own. */
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

/* Element `i` of `elements`, of one thread of each peer: *value becomes the sum
 * of all ranks' in the order of ranks, the same bits everywhere. A word carries
 * an element and the number of its round (1 ... 2^32 - 1), so that it needs no
 * other signal; two rounds have places of their own, as whoever is in round n
 * has everybody's element of round n - 1. XYLEM_ERR_TIMED_OUT: as above, and
 * *value is as it was. */
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

/* Short messages whose words carry their round: each line of 16 bytes has 8 of
 * data and twice the number of the round, so that no signal comes behind the
 * data, and no fence, which takes longer than the journey. What is put is the
 * message alone: other memory that was written before is not ordered (for that,
 * xylem_device_signal).
 *
 * A channel is what one block (warp, thread) of a peer and one of another send
 * each other: of up to `bytes` bytes (a multiple of 8) a message, so many
 * messages under way in each direction as there are `slots` (with 0 puts and
 * gets return XYLEM_ERR_INVALID_ARG). It has
 * xylem_device_channel_bytes at `at` (a multiple of 16) in the memory of both,
 * behind what xylem_device_peers_bytes is for, if that is used, and 0 before
 * its first use:
 *
 *   the last round of this side's that the other has got       16 bytes
 *   slots[slot][line], written by the other: round r in slot r % slots
 *
 * Each direction counts rounds 1 ... 2^32 - 1 of its own, one by one; they go
 * on from kernel to kernel. */
typedef struct xylem_device_line {
    uint64_t low, high; /* round: 32 bits, data: 32 bits */
} xylem_device_line_t;

typedef struct xylem_device_channel {
    uint64_t *got;  /* the round up to which the other side has what I put */
    uint64_t *tell; /* the same word of the other side */
    xylem_device_line_t *to;
    const xylem_device_line_t *from;
    uint32_t lines, slots;
} xylem_device_channel_t;

XYLEM_DEVICE_FN_ size_t xylem_device_channel_bytes(uint32_t bytes,
                                                   uint32_t slots)
{
    return sizeof(xylem_device_line_t) * (1 + (size_t)slots * (bytes / 8));
}

/* A channel to peer `other`, who names the same `at`, `bytes` and `slots`. */
XYLEM_DEVICE_FN_ xylem_device_channel_t
xylem_device_channel_to(const xylem_device_peers_t *peers, uint32_t other,
                        size_t at, uint32_t bytes, uint32_t slots)
{
    char *mine = (char *)peers->memory[peers->rank] + at;
    char *its = (char *)peers->memory[other] + at;
    xylem_device_channel_t channel;

    channel.got = (uint64_t *)(void *)mine;
    channel.tell = (uint64_t *)(void *)its;
    channel.from = (const xylem_device_line_t *)(void *)mine + 1;
    channel.to = (xylem_device_line_t *)(void *)its + 1;
    channel.lines = bytes / 8;
    channel.slots = slots;
    return channel;
}

/* Each word is there by itself: the order within a line does not matter. */
XYLEM_DEVICE_FN_ void xylem_device_put_line_(xylem_device_line_t *to,
                                             uint64_t data, uint64_t round)
{
    uint64_t low = round << 32 | (data & 0xffffffff);
    uint64_t high = round << 32 | data >> 32;

#ifdef __CUDA_ARCH__
    asm volatile("st.relaxed.sys.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(low),
                 "l"(high)
                 : "memory");
#else
    xylem_device_store_relaxed_(&to->low, low);
    xylem_device_store_relaxed_(&to->high, high);
#endif
}

XYLEM_DEVICE_FN_ xylem_device_line_t
xylem_device_see_line_(const xylem_device_line_t *from)
{
    xylem_device_line_t line;

#ifdef __CUDA_ARCH__
    asm volatile("ld.relaxed.sys.v2.u64 {%0, %1}, [%2];"
                 : "=l"(line.low), "=l"(line.high)
                 : "l"(from)
                 : "memory");
#else
    line.low = xylem_device_load_relaxed_(&from->low);
    line.high = xylem_device_load_relaxed_(&from->high);
#endif
    return line;
}

/* Whether the slot of `round` is free. */
XYLEM_DEVICE_FN_ int
xylem_device_channel_room_(const xylem_device_channel_t *channel,
                           uint32_t round, uint64_t tries)
{
    if (channel->slots == 0)
        return XYLEM_ERR_INVALID_ARG;
    while (round > channel->slots &&
           xylem_device_load_relaxed_(channel->got) < round - channel->slots)
        if (tries-- == 0)
            return XYLEM_ERR_TIMED_OUT;
    return XYLEM_OK;
}

/* Lines first, first + stride, ... of those of a message. */
XYLEM_DEVICE_FN_ void
xylem_device_put_lines_(const xylem_device_channel_t *channel,
                        const uint64_t *data, uint32_t bytes, uint32_t round,
                        uint32_t first, uint32_t stride)
{
    xylem_device_line_t *to =
        channel->to + (size_t)(round % channel->slots) * channel->lines;
    uint32_t i;

    for (i = first; i < bytes / 8; i += stride)
        xylem_device_put_line_(&to[i], data[i], round);
}

/* Looks at four lines at a time, so that their journeys are one. */
XYLEM_DEVICE_FN_ int
xylem_device_get_lines_(const xylem_device_channel_t *channel, uint64_t *data,
                        uint32_t bytes, uint32_t round, uint32_t first,
                        uint32_t stride, uint64_t tries)
{
    const xylem_device_line_t *from;
    uint32_t lines = bytes / 8, i, k, is_there = 0;
    xylem_device_line_t seen[4] = {{0, 0}, {0, 0}, {0, 0}, {0, 0}};

    if (channel->slots == 0)
        return XYLEM_ERR_INVALID_ARG;
    from = channel->from + (size_t)(round % channel->slots) * channel->lines;
    for (i = first; i < lines; i += 4 * stride, is_there = 0)
        for (;;) {
            for (k = 0; k < 4; k++)
                if (i + k * stride < lines)
                    seen[k] = xylem_device_see_line_(&from[i + k * stride]);
            for (k = 0, is_there = 1; k < 4; k++)
                if (i + k * stride < lines) {
                    is_there &= seen[k].low >> 32 == round &&
                                seen[k].high >> 32 == round;
                    data[i + k * stride] =
                        seen[k].high << 32 | (seen[k].low & 0xffffffff);
                }
            if (is_there)
                break;
            if (tries-- == 0)
                return XYLEM_ERR_TIMED_OUT;
        }
    return XYLEM_OK;
}

/* Of one thread. put: message `round` of this side, `bytes` bytes (a multiple
 * of 8, not more than the channel's), aligned to 8; XYLEM_ERR_TIMED_OUT: the
 * other side has not got round `round` - slots, seen so often, and nothing has
 * happened. get: message `round` of the other side, as many bytes as were put,
 * and its slot is free; XYLEM_ERR_TIMED_OUT: it is not there, the call may be
 * repeated, and *data is undefined. */
XYLEM_DEVICE_FN_ int
xylem_device_channel_put(const xylem_device_channel_t *channel,
                         const void *data, uint32_t bytes, uint32_t round,
                         uint64_t tries)
{
    int status = xylem_device_channel_room_(channel, round, tries);

    if (status == XYLEM_OK)
        xylem_device_put_lines_(channel, (const uint64_t *)data, bytes, round,
                                0, 1);
    return status;
}

/* Nothing is ordered by what it tells: a slot that is written too early would
 * have another round than its reader looks for. */
XYLEM_DEVICE_FN_ int
xylem_device_channel_get(const xylem_device_channel_t *channel, void *data,
                         uint32_t bytes, uint32_t round, uint64_t tries)
{
    int status = xylem_device_get_lines_(channel, (uint64_t *)data, bytes,
                                         round, 0, 1, tries);

    if (status == XYLEM_OK)
        xylem_device_store_relaxed_(channel->tell, round);
    return status;
}

/* ------------------------------------------------------------------------ */
/* Remote tasks                                                             */

/* The parameter of a kernel that is a remote task (xylem_kernel_create):
 *
 *   __global__ void task(const __grid_constant__ xylem_device_task_t task) */
typedef struct xylem_device_task {
    uint32_t source, index;
    uint64_t args_bytes, payload_bytes;
    void *payload; /* pinned memory, or what entry->place has given */
    uint64_t unused;
    unsigned char args[XYLEM_TASK_ARGS_MAX];
} xylem_device_task_t;

/* A kernel that stays, and whose blocks run tasks without a launch for each
 * (xylem_resident_create). Block w of it has box w, in memory that the host
 * reaches as well:
 *
 *   given  by the host:  number: 16 │ coming: 24 │ function: 16 │ words: 8
 *   said   by the block: number: 16 │ coming: 24 │ status: 16 │ state: 8
 *
 * A block counts its comings, and says so before it looks at anything; it takes
 * what is given to this coming alone, task after task by their numbers. So what
 * was given to a block that has left is never run by the next one in its place,
 * and the host, which takes it back, gives it to another. given is 0 then.
 *
 * The first words of a task lie in lines, which are written with each task,
 * whatever its length, and carry the mark of what they were given with: so a
 * block looks at them and at `given` in one journey over the bus. Those that
 * were not there yet it reads again, behind `given`, as it does all others. */
enum {
    XYLEM_DEVICE_ABSENT_,
    XYLEM_DEVICE_PRESENT_,      /* has run what `number` says, and no more */
    XYLEM_DEVICE_END_ = 0xffff, /* a function: the block is to leave */
    XYLEM_DEVICE_LINES_ = 7,
    XYLEM_DEVICE_WORDS_ = sizeof(xylem_device_task_t) / 8
};

typedef struct xylem_device_box {
    uint64_t given;
    uint64_t unused;
    xylem_device_line_t lines[XYLEM_DEVICE_LINES_];
    uint64_t said;
    uint64_t unused_too[15];
    uint64_t rest[XYLEM_DEVICE_WORDS_ - XYLEM_DEVICE_LINES_];
    uint64_t unused_end[2];
} xylem_device_box_t;

typedef union xylem_device_copy {
    xylem_device_task_t task;
    uint64_t words[XYLEM_DEVICE_WORDS_];
} xylem_device_copy_t;

/* By xylem_resident_queue; copied into a kernel's arguments. */
typedef struct xylem_device_resident {
    size_t struct_bytes; /* sizeof(xylem_device_resident_t) */
    xylem_device_box_t *boxes;
    uint32_t workers; /* boxes, and so blocks */
} xylem_device_resident_t;

/* What a resident kernel can run; an entry of its table. All threads of a block
 * call it; the status, up to 65,535, is that of the first one. On a device a
 * __device__ function, and a table in the device's memory. */
typedef int (*xylem_device_task_fn)(const xylem_device_task_t *task);

/* What the lines of a task carry. Between two that are given to a box number or
 * coming counts up by less than it has bits here. */
XYLEM_DEVICE_FN_ uint32_t xylem_device_mark_(uint64_t given)
{
    return (uint32_t)(given >> 24);
}

/* What is given next to a block that has said this, but for its last 24 bits.
 */
XYLEM_DEVICE_FN_ uint64_t xylem_device_next_(uint64_t said)
{
    return ((said >> 48) + 1) << 48 | (said >> 24 & 0xffffff) << 24;
}

/* What a block says after it. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_said_(uint64_t given, int status,
                                             uint64_t state)
{
    return given >> 24 << 24 | ((uint64_t)status & 0xffff) << 8 | state;
}

/* Comes: number and status of the last task are told once more, as the host may
 * not have seen them. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_come_(xylem_device_box_t *box)
{
    uint64_t said = xylem_device_load_sys_(&box->said);

    said = said >> 48 << 48 | (((said >> 24) + 1) & 0xffffff) << 24 |
           (said & 0xffff00) | XYLEM_DEVICE_PRESENT_;
    xylem_device_store_sys_(&box->said, said);
    return said;
}

/* ------------------------------------------------------------------------ */
/* Warps and blocks                                                         */

/* The same for all threads of a warp, or of a block of one, two or three
 * dimensions, which call it together: what each of them has written before is
 * covered, one of them acts, and all get its status. On the host a thread is a
 * block. */
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
static __device__ inline uint32_t xylem_device_thread_()
{
    return threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
}

static __device__ inline uint32_t xylem_device_threads_()
{
    return blockDim.x * blockDim.y * blockDim.z;
}
#else
#define XYLEM_DEVICE_WARP_(call)  return (call)
#define XYLEM_DEVICE_BLOCK_(call) return (call)
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

/* Messages of a channel by all threads of a block: `data` is what all of them
 * reach. put: what any of them has written there is sent; whoever changes it
 * afterwards has the block meet before. get: it is there for all of them. */
XYLEM_DEVICE_FN_ int
xylem_device_channel_block_room_(const xylem_device_channel_t *channel,
                                 uint32_t round, uint64_t tries)
{
    XYLEM_DEVICE_BLOCK_(xylem_device_channel_room_(channel, round, tries));
}

XYLEM_DEVICE_FN_ int
xylem_device_channel_block_put(const xylem_device_channel_t *channel,
                               const void *data, uint32_t bytes, uint32_t round,
                               uint64_t tries)
{
#ifdef __CUDA_ARCH__
    int status = xylem_device_channel_block_room_(channel, round, tries);

    if (status == XYLEM_OK)
        xylem_device_put_lines_(channel, (const uint64_t *)data, bytes, round,
                                xylem_device_thread_(),
                                xylem_device_threads_());
    return status;
#else
    return xylem_device_channel_put(channel, data, bytes, round, tries);
#endif
}

XYLEM_DEVICE_FN_ int
xylem_device_channel_block_get(const xylem_device_channel_t *channel,
                               void *data, uint32_t bytes, uint32_t round,
                               uint64_t tries)
{
#ifdef __CUDA_ARCH__
    int status = xylem_device_get_lines_(channel, (uint64_t *)data, bytes,
                                         round, xylem_device_thread_(),
                                         xylem_device_threads_(), tries);

    if (__syncthreads_or(status != XYLEM_OK))
        return channel->slots == 0 ? XYLEM_ERR_INVALID_ARG
                                   : XYLEM_ERR_TIMED_OUT;
    if (xylem_device_thread_() == 0)
        xylem_device_store_relaxed_(channel->tell, round);
    return XYLEM_OK;
#else
    return xylem_device_channel_get(channel, data, bytes, round, tries);
#endif
}

#ifdef __CUDA_ARCH__
/* Of the threads of the first warp: whether it is true of its first one. */
#define XYLEM_DEVICE_FIRST_(self, what)                                        \
    __any_sync(xylem_device_threads_() < 32                                    \
                   ? (1u << xylem_device_threads_()) - 1                       \
                   : 0xffffffffu,                                              \
               (self) == 0 && (what))
#else
#define XYLEM_DEVICE_FIRST_(self, what) (what)
#endif

/* The first thread's *given is what is given next; 0: nothing, after so many
 * looks more. *line: what thread `self` has seen of its line, maybe too early.
 */
XYLEM_DEVICE_FN_ void xylem_device_given_(const xylem_device_box_t *box,
                                          uint64_t next, uint64_t tries,
                                          uint32_t self, uint64_t *given,
                                          xylem_device_line_t *line)
{
    int is_there;

    do {
        /* Before the other look, which has to be waited for. */
        if (self < XYLEM_DEVICE_LINES_)
            *line = xylem_device_see_line_(&box->lines[self]);
        /* Partner: the host's release. */
        if (self == 0)
            *given = xylem_device_load_sys_(&box->given);
        is_there = XYLEM_DEVICE_FIRST_(self, (*given ^ next) >> 24 == 0 &&
                                                 (*given & 0xffffff) != 0);
        if (is_there)
            return;
        xylem_device_rest_();
    } while (tries-- != 0);
    *given = 0;
}

/* Word `i` of a task, whose line was looked at before. */
XYLEM_DEVICE_FN_ uint64_t xylem_device_word_(const xylem_device_box_t *box,
                                             uint64_t given, uint32_t i,
                                             xylem_device_line_t line)
{
    uint32_t mark = xylem_device_mark_(given);

    if (i >= XYLEM_DEVICE_LINES_)
        return box->rest[i - XYLEM_DEVICE_LINES_];
    if (line.low >> 32 != mark || line.high >> 32 != mark)
        line = xylem_device_see_line_(&box->lines[i]);
    return line.high << 32 | (line.low & 0xffffffff);
}

/* Of all threads of block `worker` of a resident kernel, or of a thread of the
 * host: runs tasks by `functions`[count], until xylem_resident_end asks it to
 * leave (XYLEM_OK), or `tries` + 1 looks for a task in a row have found none
 * (XYLEM_ERR_TIMED_OUT; the call may be repeated, by the same kernel or
 * another: tasks wait meanwhile). One at a time for a worker. */
XYLEM_DEVICE_FN_ int xylem_device_serve(const xylem_device_resident_t *resident,
                                        uint32_t worker,
                                        const xylem_device_task_fn *functions,
                                        uint32_t count, uint64_t tries)
{
    xylem_device_box_t *box = &resident->boxes[worker];
    const xylem_device_line_t none = {0, 0};
    xylem_device_line_t line = none;
    uint64_t said = 0, given = 0;
    uint32_t i;
    int status;
#ifdef __CUDA_ARCH__
    __shared__ uint64_t shared_given;
    __shared__ xylem_device_copy_t copy;
    uint32_t self = xylem_device_thread_(), threads = xylem_device_threads_();
#else
    xylem_device_copy_t copy;
    uint32_t self = 0, threads = 1;
#endif

    if (self == 0)
        said = xylem_device_come_(box);
    for (;;) {
        if (self < 32)
            xylem_device_given_(box, xylem_device_next_(said), tries, self,
                                &given, &line);
#ifdef __CUDA_ARCH__
        if (self == 0)
            shared_given = given;
        __syncthreads();
        given = shared_given;
#endif
        if (given == 0 || (given >> 8 & 0xffff) == XYLEM_DEVICE_END_) {
#ifdef __CUDA_ARCH__
            __syncthreads(); /* all have read it: the call may be repeated */
#endif
            if (self == 0)
                xylem_device_store_sys_(
                    &box->said, given == 0 ? said & ~(uint64_t)0xff
                                           : xylem_device_said_(given, 0, 0));
            return given == 0 ? XYLEM_ERR_TIMED_OUT : XYLEM_OK;
        }
        for (i = self; i < (given & 0xff); i += threads)
            copy.words[i] =
                xylem_device_word_(box, given, i, i == self ? line : none);
#ifdef __CUDA_ARCH__
        __syncthreads();
#endif
        status = (given >> 8 & 0xffff) < count
                     ? functions[given >> 8 & 0xffff](&copy.task)
                     : (int)XYLEM_ERR_INVALID_ARG;
#ifdef __CUDA_ARCH__
        __syncthreads();
#endif
        if (self == 0) {
            said = xylem_device_said_(given, status, XYLEM_DEVICE_PRESENT_);
            xylem_device_store_sys_(&box->said, said);
        }
    }
}

#endif
