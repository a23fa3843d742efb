/* A session: calls of one collective at one size, with their buffers and
 * contents. It counts calls; the number of a call decides which of the rotated
 * buffers it uses and what they hold, and is the same on every rank.
 */
#pragma once

#include "bench/measure/buffers.h"
#include "bench/measure/content.h"
#include "bench/measure/gate.h"
#include "bench/measure/raw.h"
#include "bench/measure/workload.h"

struct session {
    const struct workload *work;
    struct gate *gate; /* NULL: the implementation's barrier */
    uint32_t rank;
    uint32_t ranks;
    struct buffers inputs; /* no memory: this rank has none */
    struct buffers results;
    struct device_memory {
        char *inputs, *results; /* the same in a GPU's memory; NULL: none */
    } there;
    unsigned count;          /* of rotated buffers */
    struct bench_call *list; /* one for each of them, and each root */
    unsigned list_count;
    unsigned under_way; /* calls at most */
    uint64_t calls;     /* started */
    uint64_t finished;
    /* Kept calls, with this rank's times; NULL: none is kept. */
    struct raw_call *kept;
    uint64_t kept_first, kept_room;
    uint64_t wrong;
};

/* Collective. After a failure, session_end is not needed. */
xylem_status_t session_begin(struct session *session,
                             const struct workload *work);
void session_end(struct session *session);

xylem_status_t session_barrier(const struct session *session);

/* Gives the buffers of the next call their contents. */
void session_input_write(const struct session *session,
                         enum content_extent extent);
xylem_status_t session_call(struct session *session);
/* Starts the next call. If `under_way` calls are, first waits for the oldest.
 */
xylem_status_t session_start(struct session *session);
xylem_status_t session_finish(struct session *session);
/* Checks the call that ended last. */
void session_result_check(struct session *session, enum content_extent extent);
