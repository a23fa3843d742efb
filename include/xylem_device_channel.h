/* xylem_device_channel.h: short messages between kernels. A part of
 * xylem_device.h, which programs include. */
#ifndef XYLEM_DEVICE_CHANNEL_H
#define XYLEM_DEVICE_CHANNEL_H

#include "xylem_device_core.h"

/* Short messages whose words carry their round: each line of 16 bytes has 8
 * bytes of data and twice the number of the round. So a message needs no signal
 * behind the data, and no fence, which would take longer than the journey. A
 * put makes the message alone visible, and not other memory that was written
 * before (for that, use xylem_device_signal).
 *
 * A channel carries messages between one block (warp, thread) of a peer and one
 * of another peer. A message has up to `bytes` bytes (a multiple of 8), and
 * `slots` messages may be under way in each direction (if `slots` is 0, puts
 * and gets return XYLEM_ERR_INVALID_ARG). A channel takes
 * xylem_device_channel_bytes bytes at `at` (a multiple of 16) in the memory of
 * both peers. These bytes are 0 before the channel's first use. They lie behind
 * those of xylem_device_peers_bytes if barriers or sums are used:
 *
 *   the last round of this side's that the other has got       16 bytes
 *   slots[slot][line], written by the other: round r in slot r % slots
 *
 * Each direction counts rounds 1 ... 2^32 - 1 of its own, one by one; the
 * rounds go on from kernel to kernel. */
typedef struct xylem_device_line {
    uint64_t low, high; /* round: 32 bits, data: 32 bits */
} xylem_device_line_t;

typedef struct xylem_device_channel {
    uint64_t *got;  /* the last round of this side that the other has got */
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

/* A channel to peer `other`, which names the same `at`, `bytes` and `slots`. */
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

/* Each word carries the round, so the order within a line does not matter. */
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

/* Waits until the slot of `round` is free. */
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

/* Writes lines first, first + stride, ... of a message. */
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

/* Reads lines first, first + stride, ... of a message. Looks at four lines at a
 * time, whose journeys over the link then overlap. */
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

/* Called by one thread. put: sends message `round` of this side, `bytes` bytes
 * (a multiple of 8, not more than the channel's), aligned to 8.
 * XYLEM_ERR_TIMED_OUT: in `tries` + 1 looks the other side had not got round
 * `round` - slots, and nothing has happened. get: takes message `round` of the
 * other side, as many bytes as were put, and frees its slot.
 * XYLEM_ERR_TIMED_OUT: the message is not there, the call may be repeated, and
 * *data is undefined. */
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

/* The word that frees the slot orders nothing: in a slot that was written too
 * early the reader would find another round than it looks for. */
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

/* Messages of a channel by all threads of a block, all of which reach `data`.
 * put: sends data that any of these threads has written there; before a thread
 * changes the data again, the block has to meet at a barrier. get: the message
 * is there for all of the threads. */
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
    int status = xylem_device_channel_block_room_(channel, round, tries);

    if (status == XYLEM_OK)
        xylem_device_put_lines_(channel, (const uint64_t *)data, bytes, round,
                                XYLEM_DEVICE_SELF_, XYLEM_DEVICE_THREADS_);
    return status;
}

XYLEM_DEVICE_FN_ int
xylem_device_channel_block_get(const xylem_device_channel_t *channel,
                               void *data, uint32_t bytes, uint32_t round,
                               uint64_t tries)
{
    int status = xylem_device_get_lines_(channel, (uint64_t *)data, bytes,
                                         round, XYLEM_DEVICE_SELF_,
                                         XYLEM_DEVICE_THREADS_, tries);

    if (XYLEM_DEVICE_ANY_(status != XYLEM_OK))
        return channel->slots == 0 ? XYLEM_ERR_INVALID_ARG
                                   : XYLEM_ERR_TIMED_OUT;
    if (XYLEM_DEVICE_SELF_ == 0)
        xylem_device_store_relaxed_(channel->tell, round);
    return XYLEM_OK;
}

#endif
