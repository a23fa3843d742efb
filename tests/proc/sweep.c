/* Mode sweep: sizes, shapes, windows, roots, kinds and segment lengths, one
 * blocking operation after the other. Mode big: few large messages. Buffers
 * have a guard behind their end; what an operation must not write is looked
 * at, too. */
#include <stdlib.h>
#include <string.h>

#include "tests/proc/data.h"
#include "tests/proc/modes.h"

enum {
    GUARD_BYTES = 64,
    GUARD = 0xa5,
    SWEEP_BYTES_MAX = 1 << 20,
    SMALL_BYTES_MAX = 4097, /* up to here every rank is root */
    SEGMENTS_MAX = 300
};

/* NULL: the library's choice. */
static const char *const shapes[] = {
    NULL,     "flat",   "chain",     "kchain:2",   "kchain:3",   "kary:1",
    "kary:2", "kary:3", "knomial:2", "knomial:3",  "knomial:64", "inorder",
    "double", "bine",   "topology",  "topology:2",
};
static const uint32_t windows[][2] = {{1, 1}, {1, 2}, {2, 4}, {8, 8}};
static const size_t sizes[] = {0,    1,     7,     4095,           4096,
                               4097, 65535, 65537, SWEEP_BYTES_MAX};
static const size_t segment_sizes[] = {0, 1000, 4096, 65536};

enum {
    SHAPES = sizeof shapes / sizeof shapes[0],
    WINDOWS = sizeof windows / sizeof windows[0],
    SIZES = sizeof sizes / sizeof sizes[0],
    SEGMENT_SIZES = sizeof segment_sizes / sizeof segment_sizes[0]
};

typedef struct sweep {
    job_t *job;
    xylem_op_t user_op;
    char *send, *recv;
    uint32_t counter; /* the same on every rank; also the seed of contents */
} sweep_t;

/* One operation, with what its texts need. */
typedef struct trial {
    sweep_t *sweep;
    const data_kind_t *kind;
    xylem_coll_args_t args;
    uint32_t seed;
} trial_t;

static void wrong(const trial_t *trial, const char *what, size_t element)
{
    const xylem_coll_args_t *args = &trial->args;

    job_die(__FILE__, __LINE__,
            "%s: element %zu of %zu, %s of %s, root %u, algorithm %s, "
            "N %u, M %u, segments of %zu, %s",
            what, element, args->count,
            args->coll == XYLEM_COLL_BCAST ? "bcast" : "reduce",
            trial->kind->name, args->root,
            args->algorithm != NULL ? args->algorithm : "auto",
            args->send_window, args->recv_window, args->segment_bytes,
            args->send == XYLEM_IN_PLACE ? "in place" : "two buffers");
}

static void run(const trial_t *trial)
{
    xylem_request_t *request = NULL;

    MUST(xylem_coll_start(trial->sweep->job->world, &trial->args, &request));
    MUST(xylem_request_wait(request));
    MUST(xylem_request_free(request));
}

static void guard_set(char *end)
{
    memset(end, GUARD, GUARD_BYTES);
}

static void guard_check(const trial_t *trial, const char *end)
{
    size_t i;

    for (i = 0; i < GUARD_BYTES; i++)
        if ((unsigned char)end[i] != GUARD)
            wrong(trial, "written behind the buffer", i);
}

static void bcast(trial_t *trial)
{
    sweep_t *sweep = trial->sweep;
    xylem_coll_args_t *args = &trial->args;
    char *end = sweep->recv + args->count * trial->kind->bytes;
    size_t element;

    args->coll = XYLEM_COLL_BCAST;
    args->recv = sweep->recv;
    if (sweep->job->rank == args->root)
        data_write(trial->kind, sweep->recv, args->count, args->root,
                   trial->seed);
    else
        memset(sweep->recv, 0xee, args->count * trial->kind->bytes);
    guard_set(end);
    run(trial);
    element = data_check(trial->kind, sweep->recv, args->count, args->root,
                         trial->seed);
    if (element != args->count)
        wrong(trial, "wrong data", element);
    guard_check(trial, end);
}

static void reduce(trial_t *trial, int in_place)
{
    sweep_t *sweep = trial->sweep;
    xylem_coll_args_t *args = &trial->args;
    int is_root = sweep->job->rank == args->root;
    char *own = in_place && is_root ? sweep->recv : sweep->send;
    char *end = sweep->recv + args->count * trial->kind->bytes;
    size_t element = args->count;

    args->coll = XYLEM_COLL_REDUCE;
    args->op =
        trial->kind->op == DATA_OP_USER ? sweep->user_op : trial->kind->op;
    args->send = own == sweep->recv ? XYLEM_IN_PLACE : own;
    /* Only the root has a result; the others' pointer must not matter. */
    args->recv = is_root ? sweep->recv : NULL;
    data_write(trial->kind, own, args->count, sweep->job->rank, trial->seed);
    guard_set(end);
    run(trial);
    if (is_root)
        element = data_check_reduced(trial->kind, sweep->recv, args->count,
                                     sweep->job->ranks, trial->seed);
    if (element != args->count)
        wrong(trial, "wrong result", element);
    guard_check(trial, end);
    if (own == sweep->send)
        element = data_check(trial->kind, own, args->count, sweep->job->rank,
                             trial->seed);
    if (element != args->count)
        wrong(trial, "the send buffer was changed", element);
}

/* A broadcast and a reduction; kinds and the like rotate with the counter. */
static void both(sweep_t *sweep, size_t bytes, const char *shape,
                 const uint32_t *window, uint32_t root)
{
    uint32_t counter = sweep->counter++;
    const data_kind_t *kind = data_kind(counter);
    size_t segment = segment_sizes[counter / 3 % SEGMENT_SIZES];
    trial_t trial = {.sweep = sweep, .kind = kind, .seed = counter};

    if (segment != 0 && bytes / segment > SEGMENTS_MAX)
        segment = 0;
    trial.args =
        (xylem_coll_args_t){.struct_bytes = sizeof trial.args,
                            .count = (bytes + kind->bytes - 1) / kind->bytes,
                            .type = kind->type,
                            .root = root,
                            .segment_bytes = segment,
                            .send_window = window[0],
                            .recv_window = window[1],
                            .algorithm = shape};
    bcast(&trial);
    if (counter % 5 == 0 && kind->op != XYLEM_SUM)
        trial.args.flags = XYLEM_FLAG_ARRIVAL_ORDER;
    reduce(&trial, counter % 2 == 0);
}

static void begin(sweep_t *sweep, job_t *job, size_t bytes)
{
    /* Sizes are rounded up to whole elements. */
    size_t room = bytes + DATA_ELEMENT_BYTES_MAX + GUARD_BYTES;

    *sweep = (sweep_t){.job = job};
    sweep->send = job_memory(room);
    sweep->recv = job_memory(room);
    MUST(data_user_op(job->context, &sweep->user_op));
}

static void end(sweep_t *sweep)
{
    MUST(xylem_op_destroy(sweep->job->context, sweep->user_op));
    free(sweep->send);
    free(sweep->recv);
}

void mode_sweep(job_t *job, uint32_t number)
{
    uint32_t step = number != 0 ? number : 1, combination, root, roots;
    sweep_t sweep;

    begin(&sweep, job, SWEEP_BYTES_MAX);
    for (combination = 0; combination < SIZES * SHAPES * WINDOWS;
         combination += step) {
        size_t bytes = sizes[combination % SIZES];
        const char *shape = shapes[combination / SIZES % SHAPES];
        const uint32_t *window = windows[combination / SIZES / SHAPES];

        roots = bytes <= SMALL_BYTES_MAX ? job->ranks : 1;
        for (root = 0; root < roots; root++)
            both(&sweep, bytes, shape, window,
                 (root + combination) % job->ranks);
    }
    end(&sweep);
}

void mode_big(job_t *job, uint32_t number)
{
    static const char *const few[] = {NULL, "double", "knomial:2"};
    size_t bytes = (size_t)number << 20;
    sweep_t sweep;
    uint32_t i;

    begin(&sweep, job, bytes);
    for (i = 0; i < sizeof few / sizeof few[0]; i++)
        both(&sweep, bytes, few[i], windows[i + 1], i % job->ranks);
    end(&sweep);
}
