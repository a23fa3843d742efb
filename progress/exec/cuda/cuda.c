#include "progress/exec/cuda/cuda.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/log.h"
#include "runtime/base/memory.h"

enum {
    DEVICES_MAX = 32,
    FLIGHT_MAX = 64, /* works begun per stream; the driver has a limit */
    /* Copies that continue one another are joined up to so many bytes, whose
     * copy takes some times as long as its start. A mark follows so many. */
    JOINED_BYTES = 512 << 10,
    YIELD_AFTER_POLLS = 256,     /* in a row that found no ended work */
    PINNED_BYTES_MIN = 64 << 10, /* the smallest block */
    NO_MEMORY = 2                /* cudaErrorMemoryAllocation */
};

/* Memory of the processor that devices can read. */
typedef struct pinned {
    void *memory; /* NULL: none */
    size_t bytes;
} pinned_t;

/* The works of one stream, waiting and begun. Their events come as marks are
 * reached. */
typedef struct queue {
    struct queue *next; /* of the executor */
    xyl_cuda_way_t way;
    xyl_cuda_stream_t *stream; /* NULL: not needed yet */
    xyl_work_t *first, *last;  /* waiting */
    xyl_work_t *flight[FLIGHT_MAX];
    uint64_t since[FLIGHT_MAX];    /* by the recorder's time, if there is one */
    pinned_t blocks[FLIGHT_MAX];   /* of the layouts of those works */
    uint64_t begun, ended, marked; /* works; modulo FLIGHT_MAX in `flight` */
    uint64_t unmarked_bytes;       /* of those begun since `marked` */
    uint64_t mark_at[XYL_CUDA_MARKS];
    uint64_t marks_set, marks_reached;
} queue_t;

typedef struct cuda_exec {
    xyl_exec_t exec; /* first */
    const xyl_cuda_library_t *library;
    queue_t *queues[DEVICES_MAX][XYL_CUDA_WAYS]; /* NULL: not needed yet */
    queue_t *all;                                /* a list */
    uint64_t works;             /* so far, begun on a stream or not */
    uint64_t under_way;         /* works that have not ended */
    uint64_t ended;             /* `works` when none was under way last */
    void (*at_rest)(void *arg); /* NULL: none */
    void *at_rest_arg;
    unsigned idle_polls;
    xyl_allocator_t allocator; /* of pinned memory */
    xyl_pool_t pinned;
    _Atomic int device; /* of the last buffer that was asked for */
} cuda_exec_t;

static cuda_exec_t *self(xyl_exec_t *exec)
{
    return (cuda_exec_t *)(void *)exec;
}

/* ---- pinned memory ---- */

/* Works of all sizes share the smallest blocks. */
static size_t pinned_bytes(size_t bytes)
{
    return bytes < PINNED_BYTES_MIN ? (size_t)PINNED_BYTES_MIN : bytes;
}

static void *pinned_alloc(void *arg, size_t bytes)
{
    cuda_exec_t *cuda = arg;

    return cuda->library->host_take(cuda->device, bytes);
}

static void pinned_release(void *arg, void *block)
{
    cuda_exec_t *cuda = arg;

    cuda->library->host_give(block);
}

static void *cuda_mirror_take(xyl_exec_t *exec, size_t bytes)
{
    return xyl_pool_acquire(&self(exec)->pinned, pinned_bytes(bytes));
}

static void cuda_mirror_give(xyl_exec_t *exec, void *mirror, size_t bytes)
{
    xyl_pool_release(&self(exec)->pinned, mirror, pinned_bytes(bytes));
}

/* ---- the end of work ---- */

static void work_end(cuda_exec_t *cuda, xyl_work_t *work)
{
    xyl_fifo_push(cuda->exec.ready, &work->event);
    if (--cuda->under_way != 0)
        return;
    cuda->ended = cuda->works;
    if (cuda->at_rest != NULL)
        cuda->at_rest(cuda->at_rest_arg);
}

static void work_fail(cuda_exec_t *cuda, xyl_work_t *work, int error)
{
    if (work->event.status == XYLEM_OK)
        xyl_log(XYL_LOG_ERROR, "a copy to or from a GPU failed: %s",
                cuda->library->error_text(error));
    work->event.status = XYLEM_ERR_INTERNAL;
    work_end(cuda, work);
}

static const xyl_observer_t *recorder_of(const cuda_exec_t *cuda)
{
    return cuda->exec.recorder == NULL ? NULL : *cuda->exec.recorder;
}

/* Records a work, from its beginning on the stream as the processor sees it. */
static void work_record(const cuda_exec_t *cuda, const queue_t *queue,
                        uint64_t place)
{
    static const char *const names[][XYL_CUDA_WAYS] = {
        {"copy in", "copy out", "copy within"},
        {"kernel in", "kernel out", "kernel within"}};
    const xyl_observer_t *recorder = recorder_of(cuda);
    const xyl_work_t *work = queue->flight[place];

    if (xyl_observer_measures(recorder))
        recorder->lasted(recorder->arg, XYL_LASTED_WORK,
                         names[work->kind == XYL_WORK_REDUCE][queue->way],
                         queue->since[place],
                         work->kind == XYL_WORK_REDUCE ? 0 : work->bytes);
}

/* Ends the works begun up to number `count`. */
static void flight_end(cuda_exec_t *cuda, queue_t *queue, uint64_t count,
                       int error)
{
    for (; queue->ended < count; queue->ended++) {
        uint64_t place = queue->ended % FLIGHT_MAX;
        cuda_mirror_give(&cuda->exec, queue->blocks[place].memory,
                         queue->blocks[place].bytes);
        queue->blocks[place].memory = NULL;
        work_record(cuda, queue, place);
        if (error == 0)
            work_end(cuda, queue->flight[place]);
        else
            work_fail(cuda, queue->flight[place], error);
    }
}

/* ---- the beginning ---- */

/* Copies blocks to `room`, where a device can read them; returns the rest of
 * the room. */
static xyl_block_t *blocks_bring(xyl_pieces_t *pieces, xyl_block_t *room)
{
    if (pieces->block_count != 0)
        memcpy(room, pieces->blocks, pieces->block_count * sizeof *room);
    pieces->blocks = room;
    return room + pieces->block_count;
}

static int repack_begin(cuda_exec_t *cuda, queue_t *queue,
                        const xyl_work_t *work, pinned_t *blocks)
{
    xyl_cuda_repack_t repack = {.to = work->to,
                                .from = work->left,
                                .to_at = work->to_at,
                                .from_at = work->left_at,
                                .bytes = work->bytes};
    if (work->to_layout != NULL)
        work->describe(work->to_layout, &repack.to_pieces);
    else
        repack.to_at = 0;
    if (work->left_layout != NULL)
        work->describe(work->left_layout, &repack.from_pieces);
    else
        repack.from_at = 0;
    blocks->bytes =
        (repack.to_pieces.block_count + repack.from_pieces.block_count) *
        sizeof(xyl_block_t);
    blocks->memory = cuda_mirror_take(&cuda->exec, blocks->bytes);
    if (blocks->memory == NULL)
        return NO_MEMORY;
    (void)blocks_bring(&repack.from_pieces,
                       blocks_bring(&repack.to_pieces, blocks->memory));
    return cuda->library->repack(queue->stream, &repack);
}

static void queue_take(const cuda_exec_t *cuda, queue_t *queue,
                       xyl_work_t *work)
{
    const xyl_observer_t *recorder = recorder_of(cuda);
    uint64_t place = queue->begun % FLIGHT_MAX;

    if (xyl_observer_measures(recorder))
        queue->since[place] = recorder->time(recorder->arg);

    queue->blocks[place].memory = NULL;
    queue->flight[place] = work;
    queue->begun++;
}

/* Joins the copies that continue `work` and each other; returns the bytes of
 * all. */
static size_t copies_join(const cuda_exec_t *cuda, queue_t *queue,
                          const xyl_work_t *work)
{
    const char *to = work->to, *from = work->left;
    size_t bytes = work->bytes;

    while (queue->first != NULL && queue->begun - queue->ended < FLIGHT_MAX) {
        xyl_work_t *next = queue->first;
        if (next->kind != XYL_WORK_COPY || next->owner != work->owner ||
            next->to != to + bytes || next->left != from + bytes ||
            bytes + next->bytes > JOINED_BYTES)
            break;
        bytes += next->bytes;
        queue->first = next->next;
        queue_take(cuda, queue, next);
    }
    return bytes;
}

/* Returns the bytes that the work counts towards the next mark; a kernel counts
 * as enough for a mark. */
static size_t queue_begin_one(cuda_exec_t *cuda, queue_t *queue,
                              xyl_work_t *work)
{
    uint64_t place = queue->begun % FLIGHT_MAX;
    uint64_t first = queue->begun;
    size_t bytes = work->bytes;
    int error;

    queue_take(cuda, queue, work);
    if (work->kind == XYL_WORK_REDUCE)
        bytes = JOINED_BYTES;
    if (work->kind == XYL_WORK_REDUCE && work->right != NULL) {
        error = cuda->library->move(queue->stream, work->right);
    } else if (work->kind == XYL_WORK_REDUCE) {
        error = cuda->library->combine(queue->stream, work->left);
    } else if (work->kind == XYL_WORK_COPY) {
        bytes = copies_join(cuda, queue, work);
        error = cuda->library->copy(queue->stream, work->to, work->left, bytes);
    } else {
        error = repack_begin(cuda, queue, work, &queue->blocks[place]);
    }
    if (error == 0)
        return bytes;
    xyl_log(XYL_LOG_ERROR, "a copy to or from a GPU cannot begin: %s",
            cuda->library->error_text(error));
    for (; first < queue->begun; first++)
        queue->flight[first % FLIGHT_MAX]->event.status = XYLEM_ERR_INTERNAL;
    return bytes;
}

/* Sets one mark for all works begun since the last mark. */
static void queue_mark(cuda_exec_t *cuda, queue_t *queue)
{
    uint32_t mark = (uint32_t)(queue->marks_set % XYL_CUDA_MARKS);
    int error;

    if (queue->marked == queue->begun ||
        queue->marks_set - queue->marks_reached == XYL_CUDA_MARKS)
        return;
    error = cuda->library->mark(queue->stream, mark);
    if (error != 0) {
        flight_end(cuda, queue, queue->begun, error);
        queue->marked = queue->begun;
        queue->marks_reached = queue->marks_set;
        return;
    }
    queue->marked = queue->mark_at[mark] = queue->begun;
    queue->marks_set++;
    queue->unmarked_bytes = 0;
}

/* Begins works. The mark behind a long work shows its end before later works
 * have ended. */
static void queue_begin(cuda_exec_t *cuda, queue_t *queue)
{
    while (queue->first != NULL && queue->begun - queue->ended < FLIGHT_MAX) {
        xyl_work_t *work = queue->first;
        queue->first = work->next;
        queue->unmarked_bytes += queue_begin_one(cuda, queue, work);
        if (queue->unmarked_bytes >= JOINED_BYTES)
            queue_mark(cuda, queue);
    }
}

static void queue_look(cuda_exec_t *cuda, queue_t *queue)
{
    int error = 0, is_reached = 1;

    while (queue->marks_reached != queue->marks_set) {
        uint32_t mark = (uint32_t)(queue->marks_reached % XYL_CUDA_MARKS);
        error = cuda->library->reached(queue->stream, mark, &is_reached);
        if (error == 0 && !is_reached)
            return;
        queue->marks_reached++;
        flight_end(cuda, queue, queue->mark_at[mark], error);
    }
}

static unsigned cuda_poll(xyl_exec_t *exec)
{
    cuda_exec_t *cuda = self(exec);
    uint64_t before = cuda->under_way;
    queue_t *queue;

    if (before == 0)
        return 0;
    for (queue = cuda->all; queue != NULL; queue = queue->next) {
        if (queue->first == NULL && queue->ended == queue->begun)
            continue;
        queue_look(cuda, queue);
        queue_begin(cuda, queue);
        queue_mark(cuda, queue);
    }
    if (cuda->under_way != before)
        cuda->idle_polls = 0;
    else if (++cuda->idle_polls % YIELD_AFTER_POLLS == 0)
        sched_yield(); /* an engine with work under way never rests */
    return 1;
}

/* ---- where work goes ---- */

static queue_t *queue_of(cuda_exec_t *cuda, int device, xyl_cuda_way_t way)
{
    queue_t *queue;

    if (device < 0 || device >= DEVICES_MAX)
        return NULL;
    queue = cuda->queues[device][way];
    if (queue == NULL) {
        queue = cuda->queues[device][way] = calloc(1, sizeof *queue);
        if (queue == NULL)
            return NULL;
        queue->way = way;
        queue->next = cuda->all;
        cuda->all = queue;
    }
    if (queue->stream == NULL &&
        cuda->library->stream_create(device, &queue->stream) != 0)
        queue->stream = NULL;
    return queue->stream == NULL ? NULL : queue;
}

static int is_on_device(const xyl_cuda_place_t *place)
{
    return place->kind == XYL_CUDA_KIND_DEVICE ||
           place->kind == XYL_CUDA_KIND_MANAGED;
}

/* `queue` NULL: no stream could be made. */
static void work_send(cuda_exec_t *cuda, xyl_work_t *work, queue_t *queue)
{
    if (queue == NULL) {
        xyl_log(XYL_LOG_ERROR, "no stream of a GPU");
        work->event.status = XYLEM_ERR_NO_RESOURCE;
        work_end(cuda, work);
        return;
    }
    if (queue->first == NULL)
        queue->first = work;
    else
        queue->last->next = work;
    queue->last = work;
    /* The next poll begins other works, with copies that continue them. */
    if (queue->begun == queue->ended)
        queue_begin(cuda, queue);
}

/* The address of a byte that the work touches. There may be no memory at the
 * address of elements with gaps. */
static const char *some_byte(const xyl_work_t *work,
                             const struct xyl_layout *layout, const void *base,
                             uint64_t at)
{
    xyl_pieces_t pieces;

    if (layout == NULL)
        return base;
    work->describe(layout, &pieces);
    return (const char *)base + xyl_pieces_place(&pieces, at);
}

static void cuda_start(xyl_exec_t *exec, xyl_work_t *work)
{
    cuda_exec_t *cuda = self(exec);
    xyl_cuda_place_t to, from;

    cuda->library->find(some_byte(work, work->to_layout, work->to, work->to_at),
                        &to);
    cuda->library->find(
        some_byte(work, work->left_layout, work->left, work->left_at), &from);
    cuda->works++;
    cuda->under_way++;
    work->event.status = XYLEM_OK;
    work->next = NULL;
    if (work->bytes == 0 || (!is_on_device(&to) && !is_on_device(&from))) {
        work->by_host(exec, work);
        work_end(cuda, work);
        return;
    }
    work_send(cuda, work,
              queue_of(cuda, is_on_device(&to) ? to.device : from.device,
                       !is_on_device(&from) ? XYL_CUDA_IN
                       : !is_on_device(&to) ? XYL_CUDA_OUT
                                            : XYL_CUDA_WITHIN));
}

/* Only this function makes works of kind REDUCE: `left` is the reduction, or
 * `right` the moves. */
static void kernel_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                         xyl_cuda_way_t way, const void *combine,
                         const void *moves)
{
    cuda_exec_t *cuda = self(exec);

    work->kind = XYL_WORK_REDUCE;
    work->left = combine;
    work->right = moves;
    work->next = NULL;
    work->event.status = XYLEM_OK;
    cuda->works++;
    cuda->under_way++;
    work_send(cuda, work, queue_of(cuda, device, way));
}

void xyl_cuda_combine_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                            xyl_cuda_way_t way,
                            const xyl_cuda_combine_t *combine)
{
    kernel_begin(exec, work, device, way, combine, NULL);
}

void xyl_cuda_move_begin(xyl_exec_t *exec, xyl_work_t *work, int device,
                         const xyl_cuda_moves_t *moves)
{
    kernel_begin(exec, work, device, XYL_CUDA_WITHIN, NULL, moves);
}

/* ---- waiting, giving up ---- */

/* Waits for the works begun on the queue's stream. */
static void queue_wait(cuda_exec_t *cuda, queue_t *queue)
{
    queue_mark(cuda, queue);
    (void)cuda->library->stream_wait(queue->stream);
    queue_look(cuda, queue);
}

static void queue_settle(cuda_exec_t *cuda, queue_t *queue)
{
    uint64_t before = queue->ended;

    while (queue->first != NULL || queue->ended != queue->begun) {
        queue_begin(cuda, queue);
        queue_wait(cuda, queue);
        if (queue->ended == before)
            return; /* the driver reports no end: do not wait for ever */
        before = queue->ended;
    }
}

void xyl_cuda_settle(xyl_exec_t *exec)
{
    queue_t *queue;

    for (queue = self(exec)->all; queue != NULL; queue = queue->next)
        queue_settle(self(exec), queue);
}

static void queue_cancel(cuda_exec_t *cuda, queue_t *queue, const void *owner)
{
    xyl_work_t **link = &queue->first, *last = NULL, *work;
    int is_under_way = 0;
    uint64_t i;

    while ((work = *link) != NULL) {
        if (work->owner != owner) {
            last = work;
            link = &work->next;
            continue;
        }
        *link = work->next;
        work->event.status = XYLEM_ERR_CANCELED;
        work_end(cuda, work);
    }
    queue->last = last;
    for (i = queue->ended; i < queue->begun; i++)
        if (queue->flight[i % FLIGHT_MAX]->owner == owner) {
            queue->flight[i % FLIGHT_MAX]->event.status = XYLEM_ERR_CANCELED;
            is_under_way = 1;
        }
    if (is_under_way)
        queue_wait(cuda, queue);
}

static void cuda_cancel(xyl_exec_t *exec, const void *owner)
{
    cuda_exec_t *cuda = self(exec);
    queue_t *queue;

    for (queue = cuda->all; queue != NULL && cuda->under_way != 0;
         queue = queue->next)
        queue_cancel(cuda, queue, owner);
}

/* ---- the executor ---- */

static int cuda_takes(const xyl_exec_t *exec, const void *buffer)
{
    cuda_exec_t *cuda = (cuda_exec_t *)(uintptr_t)(const void *)exec;
    xyl_cuda_place_t place;

    if (buffer == NULL)
        return 0;
    cuda->library->find(buffer, &place);
    if (!is_on_device(&place))
        return 0;
    cuda->device = place.device;
    return 1;
}

static void cuda_fini(xyl_exec_t *exec)
{
    cuda_exec_t *cuda = self(exec);
    queue_t *queue;

    while ((queue = cuda->all) != NULL) {
        cuda->all = queue->next;
        if (queue->stream != NULL)
            cuda->library->stream_destroy(queue->stream);
        free(queue);
    }
    xyl_pool_fini(&cuda->pinned);
}

static xylem_status_t init_of_table(xyl_exec_t *exec, void *table)
{
    cuda_exec_t *cuda = self(exec);

    cuda->library = table;
    cuda->allocator = (xyl_allocator_t){pinned_alloc, pinned_release, cuda};
    xyl_pool_init(&cuda->pinned, &cuda->allocator, SIZE_MAX);
    cuda->pinned.block_bytes_max = (size_t)1 << XYL_MEMORY_CLASS_MAX;
    return XYLEM_OK;
}

static xylem_status_t cuda_init(xyl_exec_t *exec, void *arg)
{
    const xyl_config_t *config = arg;
    const char *why = "";
    const xyl_cuda_library_t *library = xyl_cuda_library_open(
        (const char *)(uintptr_t)config->cuda_library, &why);

    if (library == NULL) {
        xyl_log(XYL_LOG_INFO, "buffers in memory of a GPU cannot be used: %s",
                why);
        return XYLEM_ERR_UNSUPPORTED;
    }
    (void)init_of_table(exec, (void *)(uintptr_t)library);
    self(exec)->pinned.kept_bytes_max = config->pool_bytes;
    return XYLEM_OK;
}

/* No memory of a device can exist before the process has loaded CUDA's driver.
 * If the user has named the library, it is opened at once. */
static int cuda_is_needed(const xyl_config_t *config)
{
    return config->cuda != 0 &&
           (config->cuda_library != 0 ||
            dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL);
}

/* The two executors differ in where the library comes from. */
#define CUDA_OPS                                                               \
    .bytes = sizeof(cuda_exec_t), .fini = cuda_fini, .takes = cuda_takes,      \
    .start = cuda_start, .cancel = cuda_cancel,                                \
    .mirror_take = cuda_mirror_take, .mirror_give = cuda_mirror_give,          \
    .poll = cuda_poll

const xyl_exec_ops_t xyl_exec_cuda = {
    CUDA_OPS,
    .name = "cuda",
    .init = cuda_init,
    .is_needed = cuda_is_needed,
};

const xyl_exec_ops_t xyl_exec_cuda_of_table = {
    CUDA_OPS,
    .name = "cuda of a table",
    .init = init_of_table,
};

const xyl_cuda_library_t *xyl_cuda_library_of(const xyl_exec_t *exec)
{
    return exec->ops == &xyl_exec_cuda || exec->ops == &xyl_exec_cuda_of_table
               ? ((const cuda_exec_t *)(const void *)exec)->library
               : NULL;
}

uint64_t xyl_cuda_works(const xyl_exec_t *exec, uint64_t *ended_out)
{
    const cuda_exec_t *cuda = (const cuda_exec_t *)(const void *)exec;

    *ended_out = cuda->ended;
    return cuda->works;
}

void xyl_cuda_at_rest(xyl_exec_t *exec, void (*at_rest)(void *arg), void *arg)
{
    cuda_exec_t *cuda = self(exec);

    cuda->at_rest = at_rest;
    cuda->at_rest_arg = arg;
}
