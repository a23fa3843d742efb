/* What the programs of this folder share: a context with its world team, and
 * checks that end the rank with a text on standard error. A rank that ends
 * this way has code 1, so the launcher ends the others and says so. */
#pragma once

#include "include/xylem.h"

typedef struct job {
    xylem_context_t *context;
    xylem_team_t *world;
    uint32_t rank;
    uint32_t ranks;
} job_t;

/* Ends the process when the context cannot be created or destroyed. */
void job_begin(job_t *job);
void job_end(job_t *job);

/* How the texts of this process name it. */
void job_rank_set(uint32_t rank);
_Noreturn void job_die(const char *file, int line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The condition holds, or the process ends with the text. */
#define REQUIRE(condition, ...)                                                \
    do {                                                                       \
        if (!(condition))                                                      \
            job_die(__FILE__, __LINE__, __VA_ARGS__);                          \
    } while (0)

/* The call returns XYLEM_OK. */
#define MUST(call)                                                             \
    do {                                                                       \
        xylem_status_t must_status = (call);                                   \
        if (must_status != XYLEM_OK)                                           \
            job_die(__FILE__, __LINE__, "%s: %s: %s", #call,                   \
                    xylem_status_name(must_status), xylem_last_error());       \
    } while (0)

/* calloc that ends the process when there is no memory. */
void *job_memory(size_t bytes);

/* Equal numbers for equal states; *state moves on. */
uint32_t job_random(uint64_t *state);
