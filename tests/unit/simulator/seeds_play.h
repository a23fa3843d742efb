/* A seed draws a world, operations on it and a fault, plays that, and checks
 * every result. */
#pragma once

#include <stdint.h>

/* How many seeds were of each kind. */
#define SEEDS_KIND_MAP(X)                                                      \
    X(faultless, "without a fault")                                            \
    X(death, "with a death")                                                   \
    X(failing_send, "with a failing send")                                     \
    X(failing_recv, "with a failing receive")                                  \
    X(no_memory, "without memory")                                             \
    X(delay, "with a message held up")                                         \
    X(call, "with a call that differs")                                        \
    X(settings, "with such a call whose settings alone differ")                \
    X(struck, "where a rank died or had no memory")                            \
    X(nic, "through interfaces")                                               \
    X(pipeline, "with pipelines")                                              \
    X(queue, "with short queues")                                              \
    X(shared, "with shared cores")                                             \
    X(jitter, "in disorder")                                                   \
    X(noise, "with noise")                                                     \
    X(several, "of several operations")                                        \
    X(restarts, "with restarts")                                               \
    X(any, "of any collective")                                                \
    X(types, "with types of the user's")                                       \
    X(parts, "with parts")                                                     \
    X(large, "with more than 16 KiB")                                          \
    X(copies, "with late copies")                                              \
    X(sums, "with late sums")                                                  \
    X(packs, "with late packing")                                              \
    X(memory, "with memory of nodes")

typedef struct seeds_tally {
#define KIND_FIELD(name, text) uint64_t name;
    SEEDS_KIND_MAP(KIND_FIELD)
#undef KIND_FIELD
} seeds_tally_t;

enum {
    SEEDS_FAULTY_ONE_IN = 7
}; /* of worlds of several ranks: a tenth of all */

typedef struct seeds_how {
    uint64_t work_late_us;  /* work on bytes ends later, by up to as much */
    uint64_t faulty_one_in; /* something goes wrong in one world of so many */
    int are_mirrored;       /* buffers, if work is late */
} seeds_how_t;

/* Returns a hash of all events; a seed that passes is counted. */
uint64_t seeds_play(const seeds_how_t *how, uint64_t seed,
                    seeds_tally_t *tally);
