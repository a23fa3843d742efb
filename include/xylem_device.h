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

#include "xylem_device_channel.h"
#include "xylem_device_core.h"
#include "xylem_device_task.h"

#endif
