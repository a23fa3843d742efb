#include "tests/support/failing_memory.h"

#include <stddef.h>

uint64_t allocations_to_failure;

/* The linker's names. */
void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *block, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *block, size_t bytes);

static int must_fail(void)
{
    return allocations_to_failure != 0 && --allocations_to_failure == 0;
}

void *__wrap_malloc(size_t bytes)
{
    return must_fail() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
    return must_fail() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *block, size_t bytes)
{
    return must_fail() ? NULL : __real_realloc(block, bytes);
}
