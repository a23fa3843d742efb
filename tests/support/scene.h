/* Sends and receives by hand on the simulated net: a rank's program posts them
 * at a given time; with their outcomes. */
#pragma once

#include "progress/net/net.h"
#include "simulator/world.h"

enum { SCENE_UNTOUCHED = 0x33 }; /* in receive buffers */

typedef struct post post_t;
typedef struct scene {
    sim_world_t *world;
    post_t *posts;         /* newest first */
    uint64_t made;         /* how many */
    uint32_t completions;  /* of all posts */
    uint32_t complaints;   /* of the world */
    const char *complaint; /* the last */
} scene_t;

struct post {
    xyl_event_t event; /* first */
    post_t *older;
    scene_t *scene;
    uint32_t rank, peer;
    uint64_t tag;
    size_t bytes;
    char *buf;
    int is_send;
    uint32_t completions;
    uint32_t order; /* among all completions of the scene: 1, 2, ... */
    xylem_status_t status;
    sim_time_t completed; /* by the rank's clock */
};

/* `options` as for sim_world_create, except that the scene counts complaints
 * and keeps the log quiet. */
void scene_init(scene_t *scene, const sim_options_t *options);
void scene_fini(scene_t *scene);

/* The rank posts at `time`; the post keeps its memory until scene_fini. The
 * sent bytes depend on rank, peer, tag and the number of earlier posts. */
post_t *scene_send(scene_t *scene, sim_time_t time, uint32_t rank,
                   uint32_t peer, uint64_t tag, size_t bytes);
post_t *scene_recv(scene_t *scene, sim_time_t time, uint32_t rank, uint64_t tag,
                   size_t bytes);
/* The same now, by a call from outside of the rank. */
post_t *scene_post(scene_t *scene, uint32_t rank, uint32_t peer, uint64_t tag,
                   size_t bytes, int is_send);
/* Posts the same once more. */
void scene_repeat(post_t *post);
void scene_cancel(post_t *post);

/* Until nothing is left to happen, which a scene always comes to. */
void scene_run(scene_t *scene);
/* Checks that the receive ended well and has the sent bytes. */
void scene_check(const post_t *recv, const post_t *send);
