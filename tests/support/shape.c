#include "tests/support/shape.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS_MAX = 8 };

static void switches_write(char *path, uint32_t nodes)
{
    int descriptor = mkstemp(path);
    FILE *file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    uint32_t node;

    if (file == NULL)
        abort();
    fputs("{\"switches\": [", file);
    for (node = 0; node < nodes; node++)
        fprintf(file, "%s\"node%u\"",
                node == 0           ? "{\"name\": \"a\", \"nodes\": ["
                : node == nodes / 2 ? "]}, {\"name\": \"b\", \"nodes\": ["
                                    : ", ",
                node);
    fputs("]}]}", file);
    if (fclose(file) != 0)
        abort();
}

static xylem_place_t place_of(const shape_t *shape, uint32_t rank)
{
    uint32_t seat =
        shape->is_in_turn ? rank / shape->nodes : rank % shape->seats;
    uint32_t cache = shape->cache_seats == 0 ? 0 : seat / shape->cache_seats;

    return (xylem_place_t){.node = shape->is_in_turn ? rank % shape->nodes
                                                     : rank / shape->seats,
                           .l3 = cache,
                           .core = rank};
}

fabric_t *shape_create(const shape_t *shape, const char *const *settings)
{
    char topology[] = "TOPOLOGY=/tmp/xylem-switches-XXXXXX";
    char *path = strchr(topology, '/');
    const char *all[SETTINGS_MAX + 2] = {NULL};
    uint32_t ranks = shape->nodes * shape->seats, rank, count = 0;
    xylem_place_t *places = calloc(ranks, sizeof *places);
    const fabric_options_t options = {.seed = 1,
                                      .places = places,
                                      .shares_memory = !shape->is_apart,
                                      .settings = all};
    fabric_t *fabric;

    if (places == NULL)
        abort();
    for (; settings != NULL && settings[count] != NULL && count < SETTINGS_MAX;
         count++)
        all[count] = settings[count];
    if (shape->has_switches) {
        switches_write(path, shape->nodes);
        all[count] = topology;
    }
    for (rank = 0; rank < ranks; rank++)
        places[rank] = place_of(shape, rank);
    fabric = fabric_create(ranks, &options);
    if (shape->has_switches)
        unlink(path);
    free(places);
    if (fabric == NULL)
        abort();
    return fabric;
}

void shape_text(const shape_t *shape, char text[SHAPE_TEXT_BYTES])
{
    int length = snprintf(text, SHAPE_TEXT_BYTES, "%ux%u%s%s%s", shape->nodes,
                          shape->seats, shape->is_apart ? " apart" : "",
                          shape->is_in_turn ? " in turn" : "",
                          shape->has_switches ? " below switches" : "");

    if (shape->cache_seats != 0)
        snprintf(text + length, SHAPE_TEXT_BYTES - (size_t)length,
                 " by caches of %u", shape->cache_seats);
}
