#include "tests/support/scenes.h"

#include <stdlib.h>
#include <string.h>

static void *must(void *memory)
{
    if (memory == NULL)
        abort();
    return memory;
}

void scenes_init(scenes_t *scenes, size_t bytes)
{
    memset(scenes, 0, sizeof *scenes);
    scenes->bytes = bytes;
}

void scenes_fini(scenes_t *scenes)
{
    free(scenes->seen);
    free(scenes->pile);
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9fb21c651e98df25);
    return hash ^ hash >> 29;
}

static uint64_t stir(uint64_t hash, uint64_t word)
{
    hash = (hash + word) * UINT64_C(0xbf58476d1ce4e5b9);
    return hash ^ hash >> 31;
}

/* Two hashes, of even and of odd words each, so that no step of one waits for
 * those of the others. */
static void hash(const scenes_t *scenes, const void *scene, uint64_t hashes[2])
{
    uint64_t mixed[2] = {1, 3}, stirred[2] = {2, 4}, words[2] = {0, 0};
    size_t i;

    for (i = 0; i + sizeof words <= scenes->bytes; i += sizeof words) {
        memcpy(words, (const char *)scene + i, sizeof words);
        mixed[0] = mix(mixed[0], words[0]);
        mixed[1] = mix(mixed[1], words[1]);
        stirred[0] = stir(stirred[0], words[0]);
        stirred[1] = stir(stirred[1], words[1]);
    }
    if (i < scenes->bytes) { /* whole words */
        memcpy(words, (const char *)scene + i, sizeof words[0]);
        mixed[0] = mix(mixed[0], words[0]);
        stirred[0] = stir(stirred[0], words[0]);
    }
    hashes[0] = mix(mixed[0], mixed[1]);
    hashes[1] = stir(stirred[0], stirred[1]);
}

/* 1: it was not there. */
static int insert(scenes_t *scenes, const uint64_t hashes[2])
{
    uint64_t at = hashes[0] & (scenes->capacity - 1);

    while (scenes->seen[at][0] != 0 || scenes->seen[at][1] != 0) {
        if (scenes->seen[at][0] == hashes[0] &&
            scenes->seen[at][1] == hashes[1])
            return 0;
        at = (at + 1) & (scenes->capacity - 1);
    }
    scenes->seen[at][0] = hashes[0];
    scenes->seen[at][1] = hashes[1];
    scenes->count++;
    return 1;
}

static void grow(scenes_t *scenes)
{
    scenes_t more = *scenes;
    uint64_t i;

    more.count = 0;
    more.capacity = scenes->capacity == 0 ? 1 << 16 : 2 * scenes->capacity;
    more.seen = must(calloc(more.capacity, sizeof *more.seen));
    for (i = 0; i < scenes->capacity; i++)
        if (scenes->seen[i][0] != 0 || scenes->seen[i][1] != 0)
            (void)insert(&more, scenes->seen[i]);
    free(scenes->seen);
    *scenes = more;
}

void scenes_add(scenes_t *scenes, const void *scene)
{
    uint64_t hashes[2];

    if (2 * scenes->count >= scenes->capacity)
        grow(scenes);
    hash(scenes, scene, hashes);
    if (!insert(scenes, hashes))
        return;
    if (scenes->piled == scenes->room) {
        scenes->room = scenes->room == 0 ? 1024 : 2 * scenes->room;
        scenes->pile =
            must(realloc(scenes->pile, scenes->room * scenes->bytes));
    }
    memcpy(scenes->pile + scenes->piled++ * scenes->bytes, scene,
           scenes->bytes);
}

int scenes_take(scenes_t *scenes, void *scene_out)
{
    if (scenes->piled == 0)
        return 0;
    memcpy(scene_out, scenes->pile + --scenes->piled * scenes->bytes,
           scenes->bytes);
    return 1;
}
