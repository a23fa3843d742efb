/* Scenes of a few actors; a step of one actor makes a scene of another scene.
 * Keeps the scenes that were seen, by two hashes of 64 bits, and those that are
 * still to be looked at. For tests that go through all orders. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct scenes {
    size_t bytes; /* of a scene, without gaps; a multiple of 8 */
    uint64_t (*seen)[2];
    uint64_t count, capacity;
    char *pile; /* to be looked at */
    size_t piled, room;
} scenes_t;

void scenes_init(scenes_t *scenes, size_t bytes);
void scenes_fini(scenes_t *scenes);
/* Puts it on the pile, if it was not seen before. */
void scenes_add(scenes_t *scenes, const void *scene);
/* Takes one from the pile; 0: there is none. */
int scenes_take(scenes_t *scenes, void *scene_out);
