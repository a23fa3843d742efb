/* xylem_trigger.h: counters that begin operations when they reach their
 * thresholds, and proxies, which count them up for threads that cannot call the
 * library. Part of xylem.h, which includes it and says what holds for all. */
#ifndef XYLEM_TRIGGER_H
#define XYLEM_TRIGGER_H

#include "xylem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A trigger is a counter, a threshold, an action, and a word that tells how
 * often the action is done. It is registered once and fires whenever the
 * counter passes a multiple of the threshold. Any thread counts it up, in any
 * order with others, and never waits: that is one atomic operation, and the
 * thread that reaches the threshold has the engine begin, as if it had called
 * the action's function itself. Counts that come early are kept: those for the
 * next start of a request while the last one is still under way, or for one
 * that has not been started yet. (Trigger entries: M. LeBeane et al., "GPU
 * Triggered Networking for Intra-Kernel Communications", SC 2017.)
 *
 *   NOTHING   done at once: for chains, and several ways to count
 *   START     starts `request`, or does so when its last run has completed;
 *             done whenever a run of the request has completed
 *   SEGMENTS  has a counter for each segment of the input of `request`, which
 *             has XYLEM_FLAG_PARTS, and releases the segment: once in each run;
 *             done whenever a run of the request has completed
 *   CALL      fn(arg), as a callback; done when it has returned
 *
 * Triggers that start operations on one team have to fire in the same order on
 * all of its ranks: use a team for each, or chain them.
 *
 * docs/inside/triggers.md says more. */
typedef struct xylem_trigger xylem_trigger_t;

typedef enum xylem_trigger_action {
    XYLEM_TRIGGER_NOTHING,
    XYLEM_TRIGGER_START,
    XYLEM_TRIGGER_SEGMENTS,
    XYLEM_TRIGGER_CALL
} xylem_trigger_action_t;

typedef void (*xylem_trigger_fn)(void *arg);

typedef struct xylem_trigger_args {
    size_t struct_bytes; /* sizeof(xylem_trigger_args_t) */
    xylem_trigger_action_t action;
    /* Of START and SEGMENTS: persistent, idle during the call, and freed after
     * the trigger. Other actions: NULL. */
    xylem_request_t *request;
    xylem_trigger_fn fn; /* of CALL; other actions: NULL */
    void *arg;           /* handed to it */
    /* 1 ... 2^48; 0: 1, or of SEGMENTS the bytes of each segment. */
    uint64_t threshold;
    /* What is counted up by 1 whenever the action is done; it fails when this
     * trigger does. Destroyed after it. NULL: nothing is. */
    xylem_trigger_t *then;
    /* Tells how often the action is done, and whether it failed
     * (XYLEM_WORD_TIMES, XYLEM_WORD_STATUS). The caller's, 0 or what a trigger
     * before has left there, aligned to 8 bytes; written with release semantics
     * by the progressing thread, until the trigger is destroyed. NULL: none. */
    uint64_t *word;
} xylem_trigger_args_t;
#define XYLEM_TRIGGER_ARGS_INIT XYLEM_INIT_(xylem_trigger_args_t)

#define XYLEM_WORD_TIMES(word)  ((uint64_t)(word) >> 8)
#define XYLEM_WORD_STATUS(word) ((xylem_status_t)((word)&0xff))

/* Registers a trigger. Any thread; not while triggers of the same request may
 * fire. XYLEM_ERR_BUSY: the request is active. Returns owned (free with
 * xylem_trigger_destroy). */
xylem_status_t xylem_trigger_create(xylem_context_t *context,
                                    const xylem_trigger_args_t *args,
                                    xylem_trigger_t **trigger_out);

/* Counts up counter `index` (a segment; 0 of other actions) by n, at most 2^48.
 * Any thread, also in callbacks; not together with xylem_trigger_destroy.
 * Returns the status with which the trigger has failed, XYLEM_OK if it has not;
 * XYLEM_ERR_INVALID_ARG: there is no such counter. */
xylem_status_t xylem_trigger_count(xylem_trigger_t *trigger, uint64_t index,
                                   uint64_t n);

/* The same of SEGMENTS by bytes (threshold 0): bytes [offset, offset + bytes)
 * of the data of the input are there; counts up each segment that has some of
 * them. Each byte is told once in each run. */
xylem_status_t xylem_trigger_bytes(xylem_trigger_t *trigger, size_t offset,
                                   size_t bytes);

/* The same as soon as all has ended that `stream` (of a GPU; a cudaStream_t or
 * CUstream) has been given: no thread waits, and the host is not asked. For
 * kernels that know nothing of triggers, and for copies. The trigger is not
 * destroyed before (XYLEM_ERR_BUSY). Whoever progresses does not sleep as long
 * as a stream's count is awaited. To have the stream wait for what the trigger
 * does, let it wait for the word (cuStreamWaitValue64: at least times << 8),
 * which lies in pinned memory then. XYLEM_ERR_UNSUPPORTED: there is no GPU, or
 * no libxylem-cuda. XYLEM_ERR_INVALID_ARG: also where the stream is captured.
 * XYLEM_ERR_NO_RESOURCE: more than 256 streams were named. */
xylem_status_t xylem_stream_trigger(xylem_trigger_t *trigger, uint64_t index,
                                    uint64_t n, void *stream);

/* XYLEM_OK, or the status with which the trigger, or the team of its request,
 * has failed. A failure is for good: nothing is begun any more. */
xylem_status_t xylem_trigger_status(const xylem_trigger_t *trigger);

/* When it returns nothing of the trigger is looked at or written any more. What
 * it has begun goes on. May wait for the progressing thread's turn, but not for
 * an operation; in callbacks, too. XYLEM_ERR_BUSY: another trigger's `then`,
 * bound to a tag of a proxy, or awaited from a stream. NULL is allowed. */
xylem_status_t xylem_trigger_destroy(xylem_trigger_t *trigger);

/* A proxy counts up triggers for threads that cannot call the library, as those
 * of a kernel: they write records into its queue by the functions of
 * xylem_device.h, and the progressing thread reads them. A record names a tag,
 * to which the program binds a trigger before or after the first record has
 * come; counts of a tag without trigger are kept. */
typedef struct xylem_proxy xylem_proxy_t;
struct xylem_device_queue;

typedef struct xylem_proxy_args {
    size_t struct_bytes; /* sizeof(xylem_proxy_args_t) */
    uint32_t records;    /* a power of 2, up to 2^20; 0: 1,024 */
    uint32_t tags;       /* 0 ... tags - 1, up to 2^20; 0: 256 */
    /* xylem_proxy_bytes(records) bytes that the device reaches (pinned),
     * aligned to 64 bytes; borrowed until the proxy is destroyed. NULL: memory
     * of the library's, for threads of the host. */
    void *memory;
    /* 32 bytes of the device's own memory, aligned to 32 and cleared, by which
     * its threads draw places in the queue; borrowed as well, and not touched
     * by the host. NULL: in `memory`. */
    void *places;
} xylem_proxy_args_t;
#define XYLEM_PROXY_ARGS_INIT XYLEM_INIT_(xylem_proxy_args_t)

size_t xylem_proxy_bytes(uint32_t records);

/* Any thread; does not block. Returns owned (free with xylem_proxy_destroy). */
xylem_status_t xylem_proxy_create(xylem_context_t *context,
                                  const xylem_proxy_args_t *args,
                                  xylem_proxy_t **proxy_out);

/* The queue, for the kernel: *queue with its struct_bytes set is filled in. */
xylem_status_t xylem_proxy_queue(const xylem_proxy_t *proxy,
                                 struct xylem_device_queue *queue);

/* The next three may wait for the progressing thread's turn, but not for an
 * operation; any thread may call them, also in callbacks.
 * bind:    `tag` stands for the trigger, of the same context; NULL: for none
 *          again.
 * arm:     the queue is read in each turn, and whoever progresses does not
 *          sleep; 0: no longer, and what is in it stays.
 * destroy: nobody may post any more; what was not read is lost. NULL is
 *          allowed. */
xylem_status_t xylem_proxy_bind(xylem_proxy_t *proxy, uint32_t tag,
                                xylem_trigger_t *trigger);
xylem_status_t xylem_proxy_arm(xylem_proxy_t *proxy, int is_armed);
xylem_status_t xylem_proxy_destroy(xylem_proxy_t *proxy);

/* XYLEM_OK, or that a record was dropped: XYLEM_ERR_INVALID_ARG, it named a tag
 * or a counter that there is not; XYLEM_ERR_NO_MEMORY, it came early and could
 * not be kept. */
xylem_status_t xylem_proxy_status(const xylem_proxy_t *proxy);

/* Memory of GPUs of one node that kernels of all of them write to, without the
 * host: for xylem_device_signal and the functions of peers in xylem_device.h.
 * `memory` is `bytes` of this rank's GPU, in one allocation of cudaMalloc's
 * that no other call names; *peers with its struct_bytes set gets the addresses
 * by which this rank's GPU reaches that of each rank. Blocking and collective
 * over the team, of at most XYLEM_PEERS_MAX ranks; all ranks have the same
 * status. XYLEM_ERR_UNSUPPORTED: some rank has no GPU, is on another node, or
 * its GPU cannot be reached from all others. close: collective as well; what
 * others have is gone then. */
#define XYLEM_PEERS_MAX 16
struct xylem_device_peers;
xylem_status_t xylem_peers_open(xylem_team_t *team, void *memory, size_t bytes,
                                struct xylem_device_peers *peers);
xylem_status_t xylem_peers_close(xylem_team_t *team,
                                 struct xylem_device_peers *peers);

#ifdef __cplusplus
}
#endif

#endif
