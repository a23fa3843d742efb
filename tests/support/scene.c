#include "tests/support/scene.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/core/context.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum { EVENTS_MAX = 1000000 };

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

static void complained(void *arg, uint32_t rank, const char *text)
{
    scene_t *scene = arg;

    (void)rank;
    scene->complaints++;
    scene->complaint = text;
}

void scene_init(scene_t *scene, const sim_options_t *options)
{
    static const char *const settings[] = {"LOG=none", NULL};
    sim_options_t own = *options;

    *scene = (scene_t){.world = NULL};
    own.settings = settings;
    own.complain = complained;
    own.complain_arg = scene;
    if (sim_world_create(&own, &scene->world) != XYLEM_OK)
        abort(); /* nothing fails here on purpose */
}

void scene_fini(scene_t *scene)
{
    post_t *post, *older;

    CHECK_EQ(sim_world_destroy(scene->world), XYLEM_OK);
    for (post = scene->posts; post != NULL; post = older) {
        older = post->older;
        free(post->buf);
        free(post);
    }
}

/* ---- posting ---- */

static void completed(xyl_event_t *event)
{
    post_t *post = (post_t *)(void *)event;

    post->completions++;
    post->order = ++post->scene->completions;
    post->status = event->status;
    post->completed = sim_world_now(post->scene->world, post->rank);
}

static void post_now(void *arg, uint32_t rank)
{
    post_t *post = arg;
    xyl_net_t *net = sim_world_context(post->scene->world, rank)->net;

    if (post->is_send)
        net->ops->send(net, post->peer, post->tag, post->buf, post->bytes,
                       &post->event);
    else
        net->ops->recv(net, post->tag, post->buf, post->bytes, &post->event);
}

static post_t *post_make(scene_t *scene, uint32_t rank, uint32_t peer,
                         uint64_t tag, size_t bytes, int is_send)
{
    post_t *post = must(calloc(1, sizeof *post));
    uint64_t random = random_mix(tag ^ (uint64_t)rank << 32 ^ ++scene->made);
    size_t i;

    *post = (post_t){.event.handle = completed,
                     .older = scene->posts,
                     .scene = scene,
                     .rank = rank,
                     .peer = peer,
                     .tag = tag,
                     .bytes = bytes,
                     .buf = must(malloc(bytes + 1)),
                     .is_send = is_send,
                     .status = XYLEM_IN_PROGRESS};
    memset(post->buf, SCENE_UNTOUCHED, bytes + 1);
    for (i = 0; is_send && i < bytes; i++)
        post->buf[i] = (char)random_next(&random);
    scene->posts = post;
    return post;
}

post_t *scene_send(scene_t *scene, sim_time_t time, uint32_t rank,
                   uint32_t peer, uint64_t tag, size_t bytes)
{
    post_t *post = post_make(scene, rank, peer, tag, bytes, 1);

    sim_world_at(scene->world, rank, time, post_now, post);
    return post;
}

post_t *scene_recv(scene_t *scene, sim_time_t time, uint32_t rank, uint64_t tag,
                   size_t bytes)
{
    post_t *post = post_make(scene, rank, rank, tag, bytes, 0);

    sim_world_at(scene->world, rank, time, post_now, post);
    return post;
}

post_t *scene_post(scene_t *scene, uint32_t rank, uint32_t peer, uint64_t tag,
                   size_t bytes, int is_send)
{
    post_t *post = post_make(scene, rank, peer, tag, bytes, is_send);

    post_now(post, rank);
    return post;
}

void scene_repeat(post_t *post)
{
    post_now(post, post->rank);
}

void scene_cancel(post_t *post)
{
    xyl_net_t *net = sim_world_context(post->scene->world, post->rank)->net;

    net->ops->cancel(net, &post->event);
}

/* ---- running ---- */

void scene_run(scene_t *scene)
{
    CHECK(sim_world_run(scene->world, SIM_NEVER, EVENTS_MAX));
}

void scene_check(const post_t *recv, const post_t *send)
{
    CHECK_EQ(recv->completions, 1);
    CHECK_EQ(recv->status, XYLEM_OK);
    CHECK_EQ(recv->bytes, send->bytes);
    if (recv->bytes == send->bytes)
        CHECK(memcmp(recv->buf, send->buf, recv->bytes) == 0);
}
