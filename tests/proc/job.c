/* Context, checks and small helpers of a rank; see job.h. The rank's number
 * is set once, before other threads start. */
#include "tests/proc/job.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t own_rank = UINT32_MAX;

void job_rank_set(uint32_t rank)
{
    own_rank = rank;
}

void job_die(const char *file, int line, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (own_rank == UINT32_MAX)
        fprintf(stderr, "%s:%d: %s\n", file, line, text);
    else
        fprintf(stderr, "rank %u: %s:%d: %s\n", own_rank, file, line, text);
    /* Not exit(): other threads may be inside the library. */
    _Exit(EXIT_FAILURE);
}

void job_begin(job_t *job)
{
    MUST(xylem_context_create(NULL, &job->context));
    job->world = xylem_context_world(job->context);
    job->rank = xylem_team_rank(job->world);
    job->ranks = xylem_team_size(job->world);
    job_rank_set(job->rank);
}

void job_end(job_t *job)
{
    MUST(xylem_context_destroy(job->context));
}

void *job_memory(size_t bytes)
{
    void *memory = calloc(1, bytes != 0 ? bytes : 1);

    REQUIRE(memory != NULL, "no memory for %zu bytes", bytes);
    return memory;
}

uint32_t job_random(uint64_t *state)
{
    /* A linear congruential generator with Knuth's constants. */
    *state =
        *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33);
}
