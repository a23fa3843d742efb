/* Messages, receives and items: taken from chunks, used again when free, and
 * given back with the world. */
#include <assert.h>
#include <string.h>

#include "simulator/inside.h"
#include "simulator/must.h"

enum { CHUNK_OBJECTS = 256, ENTRIES_PER_MESSAGE = 4 };

struct sim_chunk {
    struct sim_chunk *next;
    sim_message_t *messages; /* NULL: of another kind */
};

static void *chunk_add(sim_world_t *world, size_t bytes, int is_messages)
{
    struct sim_chunk *chunk =
        sim_must(calloc(1, sizeof *chunk + CHUNK_OBJECTS * bytes));

    chunk->next = world->chunks;
    world->chunks = chunk;
    if (is_messages)
        chunk->messages = (sim_message_t *)(void *)(chunk + 1);
    return chunk + 1;
}

/* Adds messages, or receives, which begin with a sim_match_t. */
static void matches_add(sim_world_t *world, sim_match_t **unused, size_t bytes)
{
    char *fresh = chunk_add(world, bytes, unused == &world->free_messages);
    sim_match_t *match;
    size_t i;

    for (i = CHUNK_OBJECTS; i-- > 0;) {
        match = (sim_match_t *)(void *)(fresh + i * bytes);
        match->next = *unused;
        *unused = match;
    }
}

static void *match_take(sim_world_t *world, sim_match_t **unused, size_t bytes)
{
    sim_match_t *match;

    if (*unused == NULL)
        matches_add(world, unused, bytes);
    match = *unused;
    *unused = match->next;
    return match;
}

static void items_add(sim_world_t *world)
{
    sim_item_t *fresh = chunk_add(world, sizeof *fresh, 0);
    int i;

    for (i = CHUNK_OBJECTS - 1; i >= 0; i--) {
        fresh[i].next = world->free_items;
        world->free_items = &fresh[i];
    }
}

sim_message_t *sim_message_take(sim_world_t *world)
{
    return match_take(world, &world->free_messages, sizeof(sim_message_t));
}

void sim_message_reserve(sim_message_t *message, size_t bytes)
{
    if (message->payload_bytes >= bytes)
        return;
    free(message->payload);
    message->payload = sim_must(malloc(bytes));
    message->payload_bytes = bytes;
}

void sim_message_release(sim_world_t *world, sim_message_t *message)
{
    assert(message->ends > 0);
    if (--message->ends != 0)
        return;
    message->match.next = world->free_messages;
    world->free_messages = &message->match;
}

sim_receive_t *sim_receive_take(sim_world_t *world)
{
    return match_take(world, &world->free_receives, sizeof(sim_receive_t));
}

void sim_receive_free(sim_world_t *world, sim_receive_t *receive)
{
    receive->match.next = world->free_receives;
    world->free_receives = &receive->match;
}

sim_item_t *sim_item_take(sim_world_t *world)
{
    sim_item_t *item;

    if (world->free_items == NULL)
        items_add(world);
    item = world->free_items;
    world->free_items = item->next;
    memset(item, 0, sizeof *item);
    return item;
}

void sim_item_free(sim_world_t *world, sim_item_t *item)
{
    item->next = world->free_items;
    world->free_items = item;
}

void sim_world_reserve(sim_world_t *world, uint32_t messages, size_t bytes)
{
    sim_match_t *match;
    uint32_t i;

    for (i = 0; i < messages; i += CHUNK_OBJECTS) {
        matches_add(world, &world->free_messages, sizeof(sim_message_t));
        matches_add(world, &world->free_receives, sizeof(sim_receive_t));
        items_add(world); /* one for each end, and its wake-up */
        items_add(world);
    }
    for (match = world->free_messages; match != NULL; match = match->next)
        sim_message_reserve((sim_message_t *)(void *)match, bytes);
    sim_match_reserve(&world->posted, messages);
    sim_match_reserve(&world->unexpected, messages);
    sim_match_reserve(&world->ordered, messages);
    sim_calendar_reserve(&world->calendar,
                         (size_t)ENTRIES_PER_MESSAGE * messages);
}

void sim_objects_fini(sim_world_t *world)
{
    struct sim_chunk *chunk = world->chunks, *next;
    int i;

    for (; chunk != NULL; chunk = next) {
        next = chunk->next;
        for (i = 0; chunk->messages != NULL && i < CHUNK_OBJECTS; i++)
            free(chunk->messages[i].payload);
        free(chunk);
    }
}
