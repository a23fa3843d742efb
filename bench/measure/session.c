/* Sessions. One thread, which the noise interrupts. */
#include "bench/measure/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/measure/coll_data.h"

/* ---- buffers ---- */

static uint32_t root_of(const struct session *session, uint64_t call)
{
    const struct workload *work = session->work;
    uint64_t turns = work->rotate_roots ? call : 0;

    return (uint32_t)((work->root + turns) % session->ranks);
}

static struct coll_part part_of(const struct session *session, uint64_t call)
{
    return (struct coll_part){.coll = session->work->coll,
                              .rank = session->rank,
                              .ranks = session->ranks,
                              .root = root_of(session, call),
                              .bytes = session->work->bytes};
}

/* 1: this rank has the buffer in at least one call. */
static int is_ever(const struct session *session,
                   int (*has)(const struct coll_part *))
{
    uint32_t calls = session->work->rotate_roots ? session->ranks : 1, call;
    int found = 0;

    for (call = 0; call < calls && !found; call++) {
        struct coll_part part = part_of(session, call);

        found = has(&part);
    }
    return found;
}

/* Agrees on the number of rotated buffers, which suits the larger ones. Rank 0
 * decides, as all ranks plan a persistent operation for each buffer. */
static xylem_status_t count_agree(struct session *session)
{
    const struct workload *work = session->work;
    const xyl_coll_traits_t *traits = xyl_coll_traits(work->coll);
    struct coll_part part = part_of(session, 0);
    size_t input = coll_input_bytes(&part), result = coll_result_bytes(&part);
    int has_both =
        traits->sends != XYL_SIDE_NOBODY && traits->receives != XYL_SIDE_NOBODY;

    session->under_way =
        work->impl->start != NULL && work->under_way > 1 ? work->under_way : 1;
    session->count = work->osu ? 1 : work->buffers;
    if (session->count == 0 && work->device != NULL)
        session->count = BUFFERS_MIN; /* a GPU's cache is another matter */
    if (session->count == 0)
        session->count = buffers_count(input > result ? input : result,
                                       session->ranks, has_both ? 2 : 1);
    if (session->count < session->under_way)
        session->count = session->under_way;
    return work->impl->bcast(work->state, &session->count,
                             sizeof session->count, 0);
}

static xylem_status_t buffers_get(struct session *session)
{
    const struct workload *work = session->work;
    const struct bench_impl *impl = work->own_memory ? work->impl : NULL;
    struct coll_part part = part_of(session, 0);
    xylem_status_t status = XYLEM_OK;

    if (is_ever(session, coll_has_input))
        status = buffers_create_of(&session->inputs, coll_input_bytes(&part),
                                   session->count, impl, work->state);
    if (status == XYLEM_OK && is_ever(session, coll_has_result))
        status = buffers_create_of(&session->results, coll_result_bytes(&part),
                                   session->count, impl, work->state);
    return status;
}

/* Allocates as much memory of the GPU as a set of buffers has. */
static xylem_status_t device_like(const struct session *session,
                                  const struct buffers *buffers,
                                  char **memory_out)
{
    const struct workload *work = session->work;
    size_t bytes = buffers->slot_bytes * buffers->count;
    void *memory = NULL;
    xylem_status_t status = XYLEM_OK;

    if (work->device != NULL && buffers->memory != NULL)
        status = work->impl->device_take == NULL
                     ? device_take(work->device, bytes, &memory)
                     : work->impl->device_take(work->state, bytes, &memory);
    *memory_out = memory;
    return status;
}

static void device_back(const struct workload *work, void *memory)
{
    if (memory != NULL && work->impl->device_give == NULL)
        device_give(work->device, memory);
    else if (memory != NULL)
        work->impl->device_give(work->state, memory);
}

static xylem_status_t device_get(struct session *session)
{
    xylem_status_t status =
        device_like(session, &session->inputs, &session->there.inputs);

    return status != XYLEM_OK ? status
                              : device_like(session, &session->results,
                                            &session->there.results);
}

/* The address of a call's buffer in the GPU's memory. */
static void *device_at(const struct session *session,
                       const struct buffers *buffers, uint64_t call)
{
    char *memory = buffers == &session->inputs ? session->there.inputs
                                               : session->there.results;

    return memory == NULL
               ? NULL
               : memory + call % buffers->count * buffers->slot_bytes;
}

static void *at(const struct buffers *buffers, uint64_t call)
{
    return buffers->memory != NULL ? buffers_at(buffers, call) : NULL;
}

/* The address that a call gets. */
static void *passed(const struct session *session,
                    const struct buffers *buffers, uint64_t call)
{
    return session->work->memory == BENCH_MEMORY_CUDA
               ? device_at(session, buffers, call)
               : at(buffers, call);
}

static xylem_status_t list_prepare(struct session *session)
{
    const struct workload *work = session->work;
    unsigned slot;

    session->list_count =
        session->count * (work->rotate_roots ? session->ranks : 1);
    session->list = calloc(session->list_count, sizeof *session->list);
    if (session->list == NULL) {
        fprintf(stderr, "no memory for %u calls\n", session->list_count);
        return XYLEM_ERR_NO_MEMORY;
    }
    for (slot = 0; slot < session->list_count; slot++)
        session->list[slot] = (struct bench_call){
            .coll = work->coll,
            .send = passed(session, &session->inputs, slot),
            .recv = passed(session, &session->results, slot),
            .bytes = work->bytes,
            .root = root_of(session, slot),
            .slot = slot};
    return work->impl->prepare == NULL
               ? XYLEM_OK
               : work->impl->prepare(work->state, session->list,
                                     session->list_count);
}

xylem_status_t session_begin(struct session *session,
                             const struct workload *work)
{
    xylem_status_t status = XYLEM_OK;

    *session = (struct session){.work = work,
                                .rank = work->impl->rank(work->state),
                                .ranks = work->impl->size(work->state)};
    if (!work->osu)
        status = gate_open(work->impl, work->state, &session->gate);
    if (status != XYLEM_OK)
        return status;
    status = count_agree(session);
    if (status == XYLEM_OK)
        status = buffers_get(session);
    if (status == XYLEM_OK)
        status = device_get(session);
    if (status == XYLEM_OK)
        status = list_prepare(session);
    if (status != XYLEM_OK)
        session_end(session);
    return status;
}

void session_end(struct session *session)
{
    const struct workload *work = session->work;

    if (work->impl->release != NULL)
        work->impl->release(work->state);
    gate_close(session->gate);
    device_back(work, session->there.inputs);
    device_back(work, session->there.results);
    buffers_destroy(&session->inputs);
    buffers_destroy(&session->results);
    free(session->list);
}

xylem_status_t session_barrier(const struct session *session)
{
    if (session->gate == NULL)
        return session->work->impl->barrier(session->work->state);
    gate_pass(session->gate);
    return XYLEM_OK;
}

/* ---- contents ---- */

/* ---- to and from the GPU; where there is none, nothing ---- */

static xylem_status_t to_device(const struct session *session,
                                const struct buffers *buffers, uint64_t call)
{
    void *there = device_at(session, buffers, call);

    return there == NULL ? XYLEM_OK
                         : device_copy(session->work->device, there,
                                       at(buffers, call), buffers->bytes);
}

static xylem_status_t from_device(const struct session *session,
                                  const struct buffers *buffers, uint64_t call)
{
    void *there = device_at(session, buffers, call);

    return there == NULL ? XYLEM_OK
                         : device_copy(session->work->device, at(buffers, call),
                                       there, buffers->bytes);
}

void session_input_write(const struct session *session,
                         enum content_extent extent)
{
    struct coll_part part = part_of(session, session->calls);

    if (session->work->osu)
        return;
    coll_input_write(&part, session->calls,
                     at(&session->inputs, session->calls),
                     at(&session->results, session->calls), extent);
    (void)to_device(session, &session->inputs, session->calls);
    if (session->work->coll == XYLEM_COLL_BCAST)
        (void)to_device(session, &session->results, session->calls);
}

/* No rank may leave a barrier before all have come. */
static size_t barrier_wrong(const struct session *session, uint64_t call)
{
    return session->gate != NULL &&
           gate_arrivals(session->gate) < (call + 1) * session->ranks;
}

void session_result_check(struct session *session, enum content_extent extent)
{
    uint64_t call = session->finished - 1;
    struct coll_part part = part_of(session, call);

    assert(session->finished > 0);
    (void)from_device(session, &session->results, call);
    if (session->work->coll == XYLEM_COLL_BARRIER)
        session->wrong += barrier_wrong(session, call);
    else
        session->wrong +=
            coll_result_wrong(&part, call, at(&session->results, call), extent);
}

/* ---- calls ---- */

/* Reads the result of the call, as its user would; of a broadcast also at the
 * root. */
static void result_read(const struct session *session, const void *result)
{
    struct coll_part part = part_of(session, 0);
    const uint64_t *words = result;
    size_t i, count = coll_result_bytes(&part) / sizeof *words;
    uint64_t sum = 0;

    for (i = 0; i < count; i++)
        sum += words[i];
    __asm__ volatile("" : : "r"(sum));
}

/* The root of a broadcast has its input in the buffer of the result. */
static xylem_status_t call_staged(const struct session *session,
                                  const struct bench_call *call)
{
    const struct workload *work = session->work;
    int is_source =
        work->coll == XYLEM_COLL_BCAST && session->rank == call->root;
    xylem_status_t status = from_device(
        session, is_source ? &session->results : &session->inputs, call->slot);

    if (status == XYLEM_OK)
        status = work->impl->run(work->state, call);
    if (status == XYLEM_OK && !is_source)
        status = to_device(session, &session->results, call->slot);
    return status;
}

/* The call that is made next. */
static const struct bench_call *call_begin(struct session *session)
{
    const struct workload *work = session->work;

    if (work->check && work->coll == XYLEM_COLL_BARRIER &&
        session->gate != NULL)
        gate_arrive(session->gate);
    return &session->list[session->calls++ % session->list_count];
}

xylem_status_t session_start(struct session *session)
{
    const struct workload *work = session->work;

    return work->impl->start(work->state, call_begin(session));
}

xylem_status_t session_finish(struct session *session)
{
    const struct workload *work = session->work;
    const struct bench_call *call =
        &session->list[session->finished++ % session->list_count];
    xylem_status_t status = work->impl->finish(work->state, call);

    if (work->consume && call->recv != NULL)
        result_read(session, call->recv);
    return status;
}

xylem_status_t session_call(struct session *session)
{
    const struct workload *work = session->work;
    const struct bench_call *call = call_begin(session);
    xylem_status_t status;

    session->finished++;
    status = work->memory == BENCH_MEMORY_STAGED
                 ? call_staged(session, call)
                 : work->impl->run(work->state, call);
    if (work->consume && call->recv != NULL)
        result_read(session, call->recv);
    return status;
}
