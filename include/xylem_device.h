/* xylem_device.h: triggers that are counted up from inside a kernel, messages
 * between kernels, and remote tasks that are kernels.
 *
 * For code that runs on a device, or on the host where a thread stands for a
 * block: C11, C++11 and CUDA (sm_70 and newer) compile the same source, inline.
 * Nothing here calls the library.
 *
 * Many threads write records into a queue (xylem_proxy_create) without a lock;
 * the library's progressing thread reads them, and counts up the trigger that
 * the program has bound to the record's tag. If the queue is full, a posting
 * thread tries again, at most as often as its call says, so that no kernel
 * hangs when nobody reads the queue any more.
 *
 *   places->claimed++            claims a place if it was less than tail +
 *                                records; else the thread takes its claim back
 *   ticket t = places->head++    drawn by threads with a place; however many
 *                                post at once, none waits for another
 *   records[t % records]         both words have the lap bit, 1 in even laps, 0
 *                                in odd ones, so either may be written first
 *   tail                         records that the host has read; it writes this
 *
 * Memory scopes. A record is released to the system: data that the posting
 * thread has written before, or has seen by an acquire, are visible to the
 * host, to other devices and to the network when the operation begins. The
 * threads of a block meet at the block's barrier first
 * (xylem_device_block_post), the threads of a kernel at a counter
 * (xylem_device_count), which acquires and releases in the device's scope.
 * xylem_device_wait acquires from the system: data that the operation has
 * brought are then visible to the thread that waited, and after a barrier to
 * its block. Ordinary loads may read them, but not loads through the read-only
 * cache.
 *
 * Functions return values of xylem_status_t. */
#ifndef XYLEM_DEVICE_H
#define XYLEM_DEVICE_H

#include "xylem_device_channel.h"
#include "xylem_device_core.h"
#include "xylem_device_task.h"

#endif
