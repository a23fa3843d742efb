/* Memory of xylem_alloc: sizes, use in collectives, many threads, misuse, and
 * what is left to the context. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/job.h"

enum { THREADS = 3, ROUNDS = 200, ELEMENTS_MAX = 300000 };

static void refused(xylem_status_t status, xylem_status_t wanted,
                    const char *word)
{
    REQUIRE(status == wanted, "%s in place of %s", xylem_status_name(status),
            xylem_status_name(wanted));
    REQUIRE(strstr(xylem_last_error(), word) != NULL, "'%s' says nothing of %s",
            xylem_last_error(), word);
}

static void misuse(const job_t *job)
{
    void *memory = NULL;
    char own[64];

    refused(xylem_alloc(job->context, 8, NULL), XYLEM_ERR_INVALID_ARG,
            "memory_out");
    refused(xylem_alloc(NULL, 8, &memory), XYLEM_ERR_INVALID_HANDLE, "NULL");
    refused(xylem_alloc(job->context, SIZE_MAX, &memory), XYLEM_ERR_NO_MEMORY,
            "bytes");
    REQUIRE(memory == NULL, "an output was written");
    MUST(xylem_free(job->context, NULL));
    refused(xylem_free(job->context, own), XYLEM_ERR_INVALID_ARG, "freed");
    MUST(xylem_alloc(job->context, 1000, &memory));
    refused(xylem_free(job->context, (char *)memory + 64),
            XYLEM_ERR_INVALID_ARG, "freed");
    refused(xylem_free(NULL, memory), XYLEM_ERR_INVALID_HANDLE, "NULL");
    MUST(xylem_free(job->context, memory));
    refused(xylem_free(job->context, memory), XYLEM_ERR_INVALID_ARG, "freed");
}

static void sizes(const job_t *job)
{
    static const size_t all[] = {0, 1, 64, 65, 4097, 2 << 20, 70 << 20};
    void *memory[sizeof all / sizeof all[0]];
    size_t i, j;

    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        MUST(xylem_alloc(job->context, all[i], &memory[i]));
        REQUIRE((uintptr_t)memory[i] % (all[i] >= 2 << 20 ? 4096 : 64) == 0,
                "%zu bytes at %p", all[i], memory[i]);
        memset(memory[i], (int)i, all[i]);
    }
    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        for (j = 0; j < all[i]; j += 61)
            REQUIRE(((char *)memory[i])[j] == (char)i, "byte %zu", j);
        if (i % 2 == 0) /* the others are left to the context */
            MUST(xylem_free(job->context, memory[i]));
    }
}

static void collectives(const job_t *job)
{
    static const size_t counts[] = {1, 1000, ELEMENTS_MAX};
    void *in, *out;
    size_t c, i;

    for (c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        MUST(xylem_alloc(job->context, counts[c] * sizeof(uint32_t), &in));
        MUST(xylem_alloc(job->context, counts[c] * sizeof(uint32_t), &out));
        for (i = 0; i < counts[c]; i++)
            ((uint32_t *)in)[i] = job->rank + (uint32_t)i;
        MUST(xylem_allreduce(job->world, in, out, counts[c], XYLEM_UINT32,
                             XYLEM_MAX));
        for (i = 0; i < counts[c]; i++)
            REQUIRE(((uint32_t *)out)[i] == job->ranks - 1 + i, "%zu is %u", i,
                    ((uint32_t *)out)[i]);
        MUST(xylem_bcast(job->world, in, counts[c], XYLEM_UINT32, 0));
        for (i = 0; i < counts[c]; i++)
            REQUIRE(((uint32_t *)in)[i] == i, "%zu is %u", i,
                    ((uint32_t *)in)[i]);
        MUST(xylem_free(job->context, in));
        MUST(xylem_free(job->context, out));
    }
}

static void *alloc_and_free(void *arg)
{
    const job_t *job = arg;
    void *memory[8];
    int round, i;

    for (round = 0; round < ROUNDS; round++) {
        for (i = 0; i < 8; i++) {
            MUST(xylem_alloc(job->context, (size_t)(i + round) * 17,
                             &memory[i]));
            memset(memory[i], i, (size_t)(i + round) * 17);
        }
        for (i = 0; i < 8; i++)
            MUST(xylem_free(job->context, memory[i]));
    }
    return NULL;
}

static void threads(job_t *job)
{
    pthread_t all[THREADS];
    int i;

    for (i = 0; i < THREADS; i++)
        REQUIRE(pthread_create(&all[i], NULL, alloc_and_free, job) == 0,
                "no thread");
    collectives(job);
    for (i = 0; i < THREADS; i++)
        pthread_join(all[i], NULL);
}

int main(void)
{
    job_t job;

    job_begin(&job);
    misuse(&job);
    sizes(&job);
    collectives(&job);
    threads(&job);
    job_end(&job);
    return 0;
}
