/* The executor for CUDA, over a table that counts: copies that continue one
 * another go as one, each work ends once, and the end of a long one is seen
 * before all that was asked for with it has ended. */
#include <stdlib.h>
#include <string.h>

#include "progress/exec/cuda/cuda.h"
#include "tests/support/check.h"

enum { WORKS = 200, SOME = 1000, LONG = 512 << 10, ROOM = 64 << 20 };

static struct {
    unsigned copies, marks, copies_at[XYL_CUDA_MARKS];
    unsigned ended; /* copies, of those that marks wait for */
} stream;

static char *device, *host; /* [ROOM] */

static const char *stub_text(int error)
{
    (void)error;
    return "no error";
}

static void stub_find(const void *address, xyl_cuda_place_t *place)
{
    const char *at = address;

    memset(place, 0, sizeof *place);
    if (at >= device && at < device + ROOM)
        place->kind = XYL_CUDA_KIND_DEVICE;
}

static int stub_create(int number, xyl_cuda_stream_t **stream_out)
{
    (void)number;
    *stream_out = (xyl_cuda_stream_t *)(void *)&stream;
    return 0;
}

static void stub_destroy(xyl_cuda_stream_t *of)
{
    (void)of;
}

static int stub_copy(xyl_cuda_stream_t *of, void *to, const void *from,
                     size_t bytes)
{
    (void)of;
    memcpy(to, from, bytes);
    stream.copies++;
    return 0;
}

static int stub_mark(xyl_cuda_stream_t *of, uint32_t mark)
{
    (void)of;
    stream.copies_at[mark] = stream.copies;
    stream.marks++;
    return 0;
}

static int stub_reached(xyl_cuda_stream_t *of, uint32_t mark, int *out)
{
    (void)of;
    *out = stream.copies_at[mark] <= stream.ended;
    return 0;
}

static const xyl_cuda_library_t stub = {.version = XYL_CUDA_LIBRARY_VERSION,
                                        .error_text = stub_text,
                                        .find = stub_find,
                                        .stream_create = stub_create,
                                        .stream_destroy = stub_destroy,
                                        .copy = stub_copy,
                                        .mark = stub_mark,
                                        .reached = stub_reached};

typedef struct scene {
    xyl_fifo_t ready;
    xyl_exec_t *exec;
    xyl_work_t works[WORKS];
} scene_t;

static scene_t scene;

static void scene_begin(void)
{
    const xyl_exec_ops_t *ops = &xyl_exec_cuda_of_table;

    memset(&scene, 0, sizeof scene);
    memset(&stream, 0, sizeof stream);
    scene.exec = calloc(1, ops->bytes);
    device = malloc(ROOM);
    host = calloc(ROOM, 1);
    CHECK(scene.exec != NULL && device != NULL && host != NULL);
    memset(device, 1, ROOM);
    xyl_fifo_init(&scene.ready);
    scene.exec->ops = ops;
    scene.exec->ready = &scene.ready;
    CHECK_EQ(ops->init(scene.exec, (void *)(uintptr_t)&stub), XYLEM_OK);
}

static void scene_end(void)
{
    scene.exec->ops->fini(scene.exec);
    free(scene.exec);
    free(device);
    free(host);
}

static void copy_begin(unsigned number, const void *owner, size_t at,
                       size_t bytes)
{
    scene.works[number].owner = owner;
    CHECK_EQ(xyl_exec_copy_watched(scene.exec, &scene.works[number], host + at,
                                   device + at, bytes),
             0);
}

static unsigned poll(void)
{
    unsigned ended = 0;

    (void)scene.exec->ops->poll(scene.exec);
    while (xyl_fifo_pop(&scene.ready) != NULL)
        ended++;
    return ended;
}

static void test_copies_join(void)
{
    unsigned i, ended = 0, turns;

    scene_begin();
    for (i = 0; i < WORKS; i++)
        copy_begin(i, &scene, (size_t)i * SOME, SOME);
    for (turns = 0; turns < 100 && ended < WORKS; turns++) {
        stream.ended = stream.copies;
        ended += poll();
    }
    CHECK_EQ(ended, WORKS);
    CHECK(stream.copies < WORKS / 10);
    for (i = 0; i < WORKS * SOME; i++)
        CHECK_EQ(host[i], 1);
    CHECK_EQ(host[WORKS * SOME], 0);
    scene_end();
}

static void test_others_do_not(void)
{
    unsigned i, ended = 0, turns;

    scene_begin();
    for (i = 0; i < 10; i++) /* owners change */
        copy_begin(i, i % 2 == 0 ? (void *)&scene : (void *)&stream,
                   (size_t)i * SOME, SOME);
    for (; i < 20; i++) /* gaps */
        copy_begin(i, &scene, (size_t)i * 2 * SOME, SOME);
    for (turns = 0; turns < 100 && ended < 20; turns++) {
        stream.ended = stream.copies;
        ended += poll();
    }
    CHECK_EQ(ended, 20);
    CHECK_EQ(stream.copies, 20);
    scene_end();
}

static void test_long_ones_are_seen_singly(void)
{
    unsigned i;

    scene_begin();
    for (i = 0; i < 8; i++)
        copy_begin(i, &scene, (size_t)i * LONG, LONG);
    CHECK_EQ(stream.copies, 1); /* the first begins at once */
    CHECK_EQ(poll(), 0);
    CHECK_EQ(stream.copies, 8);
    stream.ended = 2;
    CHECK_EQ(poll(), 2);
    stream.ended = 8;
    CHECK_EQ(poll(), 6);
    scene_end();
}

static const check_case_t cases[] = {
    {"copies that continue one another go as one", test_copies_join},
    {"copies of other owners, and with gaps, do not", test_others_do_not},
    {"the end of a long copy is seen before that of the next",
     test_long_ones_are_seen_singly},
};

CHECK_MAIN(cases)
