/* One side of a rank's messages in tests: blocks of elements of some type in
 * one buffer, with the arguments that describe them. */
#pragma once

#include "tests/support/call_type.h"

/* Memory that calls get in place of that which tests write and read. NULL: they
 * get that itself. Of the process; before anything else is called. */
typedef struct call_memory {
    void *(*take)(size_t bytes);
    void (*give)(void *memory);
    void (*copy)(void *to, const void *from, size_t bytes);
} call_memory_t;
extern const call_memory_t *call_memory;

/* The test's own memory, not the library's: there has to be some. */
void *call_must(void *memory);

/* The places of one side's blocks. A side with one block has only the first. */
typedef struct call_side {
    unsigned char *memory;
    unsigned char *there; /* the address for the call */
    size_t bytes;
    int64_t origin; /* the buffer's address is at memory + origin */
    uint32_t blocks;
    uint64_t *elements; /* of 8 bytes */
    int64_t *bases;     /* bytes from the address */
    uint64_t *counts, *displs;
    xylem_type_t *handles;
    const call_type_t **types;
} call_side_t;

void call_side_init(call_side_t *side, uint32_t blocks);
void call_side_fini(call_side_t *side);
/* When types, counts and bases are known: the memory that all blocks need. */
void call_side_allocate(call_side_t *side);
/* Copy the side to the call's memory, and back. */
void call_side_bring(const call_side_t *side);
void call_side_fetch(const call_side_t *side);
/* Writes the 8 bytes of element `index` of a block to `memory`: the side's, or
 * an image of it. */
void call_side_put(const call_side_t *side, unsigned char *memory,
                   uint32_t block, uint64_t index, uint64_t value);
