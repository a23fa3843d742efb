/* Counts of the kinds of seeds in test_seeds.c, for the end of its output. */
#pragma once

#include <stdint.h>

/* How many seeds were of each kind. */
#define KIND_MAP(X)                                                            \
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

typedef struct tally {
#define KIND_FIELD(name, text) uint64_t name;
    KIND_MAP(KIND_FIELD)
#undef KIND_FIELD
} tally_t;
