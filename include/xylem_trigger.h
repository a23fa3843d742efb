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
 * order with others, and never waits: a count is one atomic operation. The
 * thread that reaches the threshold makes the engine begin the action, as if it
 * had called the action's function itself. Early counts are kept: counts for a
 * request's next run while the last run is still under way, or while the
 * request has not been started. (Trigger entries: M. LeBeane et al., "GPU
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
    void *arg;           /* handed to fn */
    /* 1 ... 2^48; 0: 1, or for SEGMENTS the bytes of each segment. */
    uint64_t threshold;
    /* A trigger that is counted up by 1 whenever this trigger's action is done,
     * and that fails if this trigger fails. It is destroyed after this trigger.
     * NULL: none. */
    xylem_trigger_t *then;
    /* Tells how often the action is done, and whether it failed
     * (XYLEM_WORD_TIMES, XYLEM_WORD_STATUS). The word is the caller's, aligned
     * to 8 bytes; it is 0, or has the value that an earlier trigger has left
     * there. The progressing thread writes it, with release semantics, until
     * the trigger is destroyed. NULL: none. */
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

/* Counts up counter `index` (a segment's number; 0 for other actions) by n, at
 * most 2^48. Any thread, also in callbacks; not while xylem_trigger_destroy
 * runs. Returns the status with which the trigger has failed, XYLEM_OK if it
 * has not; XYLEM_ERR_INVALID_ARG: there is no such counter. */
xylem_status_t xylem_trigger_count(xylem_trigger_t *trigger, uint64_t index,
                                   uint64_t n);

/* The same by bytes, for SEGMENTS with threshold 0: bytes [offset, offset +
 * bytes) of the data of the input are there. Counts up each segment that has
 * some of these bytes. Each byte is counted once in each run. */
xylem_status_t xylem_trigger_bytes(xylem_trigger_t *trigger, size_t offset,
                                   size_t bytes);

/* Counts as xylem_trigger_count as soon as `stream` (of a GPU; a cudaStream_t
 * or CUstream) has done the work that it has been given so far. No thread
 * waits, and no function of the host is called. For kernels that know nothing
 * of triggers, and for copies. Until then the trigger cannot be destroyed
 * (XYLEM_ERR_BUSY), and the progressing thread does not sleep. A stream waits
 * for the trigger's action by waiting for the word (cuStreamWaitValue64: at
 * least times << 8), which must lie in pinned memory. XYLEM_ERR_UNSUPPORTED:
 * there is no GPU, or no libxylem-cuda. XYLEM_ERR_INVALID_ARG: also if the
 * stream is captured. XYLEM_ERR_NO_RESOURCE: more than 256 streams were
 * named. */
xylem_status_t xylem_stream_trigger(xylem_trigger_t *trigger, uint64_t index,
                                    uint64_t n, void *stream);

/* XYLEM_OK, or the status with which the trigger, or the team of its request,
 * has failed. A trigger that has failed begins no action any more. */
xylem_status_t xylem_trigger_status(const xylem_trigger_t *trigger);

/* Destroys a trigger. When this returns, the library neither reads nor writes
 * anything of the trigger any more; operations that the trigger has begun go
 * on. May wait for the progressing thread's turn, but not for an operation;
 * also in callbacks. XYLEM_ERR_BUSY: the trigger is another trigger's `then`,
 * is bound to a tag of a proxy, or is to be counted by a stream. NULL is
 * allowed. */
xylem_status_t xylem_trigger_destroy(xylem_trigger_t *trigger);

/* A proxy counts up triggers for threads that cannot call the library, such as
 * the threads of a kernel. These write records into the proxy's queue by the
 * functions of xylem_device.h, and the progressing thread reads the records. A
 * record names a tag, to which the program binds a trigger, before or after the
 * first record comes; counts of a tag without a trigger are kept. */
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
    /* 32 bytes of the device's own memory, aligned to 32 bytes and cleared, by
     * which its threads draw places in the queue; borrowed, too. The host does
     * not touch them. NULL: they lie in `memory`. */
    void *places;
} xylem_proxy_args_t;
#define XYLEM_PROXY_ARGS_INIT XYLEM_INIT_(xylem_proxy_args_t)

size_t xylem_proxy_bytes(uint32_t records);

/* Any thread; does not block. Returns owned (free with xylem_proxy_destroy). */
xylem_status_t xylem_proxy_create(xylem_context_t *context,
                                  const xylem_proxy_args_t *args,
                                  xylem_proxy_t **proxy_out);

/* Fills in *queue, whose struct_bytes the caller has set, for the kernel. */
xylem_status_t xylem_proxy_queue(const xylem_proxy_t *proxy,
                                 struct xylem_device_queue *queue);

/* The next three may wait for the progressing thread's turn, but not for an
 * operation; any thread may call them, also in callbacks.
 * bind:    `tag` stands for the trigger, which is of the same context; NULL: it
 *          stands for no trigger any more.
 * arm:     1: the queue is read in each turn, and the progressing thread does
 *          not sleep. 0: no longer; records in the queue stay there.
 * destroy: no thread may post any more, and unread records are lost. NULL is
 *          allowed. */
xylem_status_t xylem_proxy_bind(xylem_proxy_t *proxy, uint32_t tag,
                                xylem_trigger_t *trigger);
xylem_status_t xylem_proxy_arm(xylem_proxy_t *proxy, int is_armed);
xylem_status_t xylem_proxy_destroy(xylem_proxy_t *proxy);

/* XYLEM_OK, or why a record was dropped. XYLEM_ERR_INVALID_ARG: the record
 * named a tag or a counter that does not exist. XYLEM_ERR_NO_MEMORY: the record
 * came early, and its count could not be kept. */
xylem_status_t xylem_proxy_status(const xylem_proxy_t *proxy);

/* Memory of the GPUs of one node that kernels on all of these GPUs write to,
 * without the host: for xylem_device_signal and the functions of peers in
 * xylem_device.h. Both calls block, and are collective over the team, of at
 * most XYLEM_PEERS_MAX ranks; all ranks get the same status.
 *
 * open:  `memory` is `bytes` bytes of this rank's GPU, in one allocation of
 *        cudaMalloc that no other call names. *peers, whose struct_bytes the
 *        caller has set, gets the addresses by which this rank's GPU reaches
 *        the memory of each rank. XYLEM_ERR_UNSUPPORTED: some rank has no GPU,
 *        is on another node, or has a GPU that not all others reach.
 * close: the addresses of other ranks' memory are no longer valid. */
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
