#include "tests/support/call_side.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void *call_must(void *memory)
{
    static const char words[] = "the test has no memory of its own\n";

    if (memory == NULL) {
        (void)!write(STDERR_FILENO, words, sizeof words - 1);
        abort();
    }
    return memory;
}

/* The place of an element of 8 bytes in a block without gaps. */
static int64_t place_of(const call_side_t *side, uint32_t block, uint64_t index,
                        uint32_t *first_out)
{
    const call_type_t *type = side->types[block];

    if (type->unit == 1) { /* dividing takes its time */
        *first_out = 0;
        return side->origin + side->bases[block] +
               (int64_t)index * type->extent;
    }
    *first_out = (uint32_t)(index % type->unit) * CALL_ELEMENT;
    return side->origin + side->bases[block] +
           (int64_t)(index / type->unit) * type->extent;
}

void call_side_put(const call_side_t *side, unsigned char *memory,
                   uint32_t block, uint64_t index, uint64_t value)
{
    unsigned char bytes[CALL_ELEMENT];
    uint32_t first, i;
    int64_t place = place_of(side, block, index, &first);
    const int64_t *offsets = &side->types[block]->offsets[first];

    if (side->types[block]->in_row) {
        memcpy(&memory[place + offsets[0]], &value, sizeof value);
        return;
    }
    memcpy(bytes, &value, sizeof bytes);
    for (i = 0; i < CALL_ELEMENT; i++)
        memory[place + offsets[i]] = bytes[i];
}

const call_memory_t *call_memory;

void call_side_init(call_side_t *side, uint32_t blocks)
{
    side->blocks = blocks;
    side->elements = call_must(calloc(blocks, sizeof *side->elements));
    side->bases = call_must(calloc(blocks, sizeof *side->bases));
    side->counts = call_must(calloc(blocks, sizeof *side->counts));
    side->displs = call_must(calloc(blocks, sizeof *side->displs));
    side->handles = call_must(calloc(blocks, sizeof *side->handles));
    side->types = call_must(calloc(blocks, sizeof(call_type_t *)));
}

void call_side_fini(call_side_t *side)
{
    if (side->there != side->memory)
        call_memory->give(side->there);
    free(side->memory);
    free(side->elements);
    free(side->bases);
    free(side->counts);
    free(side->displs);
    free(side->handles);
    free(side->types);
}

/* The memory that all blocks need. */
void call_side_allocate(call_side_t *side)
{
    int64_t low = 0, high = 0, first, last;
    uint32_t i;

    for (i = 0; i < side->blocks; i++) {
        const call_type_t *type = side->types[i];
        if (side->counts[i] == 0)
            continue;
        first = side->bases[i];
        last = first + (int64_t)(side->counts[i] - 1) * type->extent;
        if (first > last) {
            last = side->bases[i];
            first = last + (int64_t)(side->counts[i] - 1) * type->extent;
        }
        low = first + type->low < low ? first + type->low : low;
        high = last + type->high > high ? last + type->high : high;
    }
    side->origin = -low;
    side->bytes = (size_t)(high - low) + 1; /* the last one guards the end */
    side->memory = call_must(malloc(side->bytes));
    side->there = call_memory == NULL
                      ? side->memory
                      : call_must(call_memory->take(side->bytes));
}

void call_side_bring(const call_side_t *side)
{
    if (side->there != side->memory)
        call_memory->copy(side->there, side->memory, side->bytes);
}

void call_side_fetch(const call_side_t *side)
{
    if (side->there != side->memory)
        call_memory->copy(side->memory, side->there, side->bytes);
}
