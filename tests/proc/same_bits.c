/* Sums of the contributions of ranks 0 and 1, to which all others add zeros, by
 * every collective that reduces and has the same result everywhere: prints what
 * stands for all bits of the results. In the reproducible order the line does
 * not depend on how many ranks there are, nor where. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/proc/job.h"

enum { CONTRIBUTORS = 2 };

static const size_t counts[] = {1, 100, 5000, 300000};

/* Numbers of many sizes. */
static void fill(const job_t *job, xylem_type_t type, size_t count, void *to)
{
    uint64_t state = 1 + job->rank;
    size_t i;

    memset(to, 0, count * xylem_type_bytes(type));
    for (i = 0; i < count && job->rank < CONTRIBUTORS; i++) {
        double number = (double)job_random(&state) - 0x1p31;
        number *= (double)(UINT64_C(1) << job_random(&state) % 50);
        if (type == XYLEM_FLOAT32)
            ((float *)to)[i] = (float)number;
        else
            ((double *)to)[i] = number;
    }
}

static uint64_t stir(uint64_t hash, const unsigned char *bytes, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        hash = (hash ^ bytes[i]) * UINT64_C(1099511628211);
    return hash;
}

static uint64_t results_of(const job_t *job, xylem_type_t type, size_t count,
                           uint64_t hash)
{
    size_t bytes = count * xylem_type_bytes(type);
    void *send = job_memory(bytes), *recv = job_memory(bytes);

    fill(job, type, count, send);
    MUST(xylem_allreduce(job->world, send, recv, count, type, XYLEM_SUM));
    hash = stir(hash, recv, bytes);
    MUST(xylem_reduce(job->world, send, recv, count, type, XYLEM_SUM,
                      job->ranks - 1));
    MUST(xylem_bcast(job->world, recv, count, type, job->ranks - 1));
    hash = stir(hash, recv, bytes);
    MUST(xylem_scan(job->world, send, recv, count, type, XYLEM_SUM));
    MUST(xylem_bcast(job->world, recv, count, type, job->ranks - 1));
    hash = stir(hash, recv, bytes);
    free(send);
    free(recv);
    return hash;
}

int main(void)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    size_t i;
    job_t job;

    job_begin(&job);
    for (i = 0; i < sizeof counts / sizeof *counts; i++) {
        hash = results_of(&job, XYLEM_FLOAT32, counts[i], hash);
        hash = results_of(&job, XYLEM_FLOAT64, counts[i], hash);
    }
    printf("%016" PRIx64 "\n", hash);
    job_end(&job);
    return 0;
}
