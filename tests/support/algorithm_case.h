/* Problems for algorithms, drawn at random: each rank's view of a problem, the
 * memory before it, and the memory expected after it, computed without the
 * library. */
#pragma once

#include "collectives/choose/registry.h"
#include "collectives/schedules/algorithm.h"
#include "tests/support/schedule_run.h"

enum { ALGORITHM_CASE_TEXT_BYTES = 400 };

typedef enum algorithm_data {
    ALGORITHM_DATA_PLAIN,   /* bytes that are moved, sums that wrap around */
    ALGORITHM_DATA_FLOAT64, /* sums whose bits depend on the association */
    ALGORITHM_DATA_AFFINE   /* maps x -> ax + b modulo 2^32, in rank order */
} algorithm_data_t;

typedef struct algorithm_case {
    const xyl_algorithm_t *algorithm;
    uint32_t ranks;
    uint64_t seed, salt;
    algorithm_data_t data;
    size_t element_bytes;
    xyl_problem_t problem; /* equal on all ranks */
    int is_in_place;       /* if the collective has such a rank */
    /* Of the blocks from rank i to rank j: at [i * ranks + j] of the senders',
     * [j * ranks + i] of the receivers'. */
    uint64_t *send_counts, *send_displs, *recv_counts, *recv_displs;
    schedule_run_t run;
    unsigned char **want; /* [ranks] all of each rank's memory */
} algorithm_case_t;

/* Draws a problem and writes its schedules. 0: the algorithm cannot solve the
 * drawn problem. `nth` goes through the roots. */
int algorithm_case_init(algorithm_case_t *c, const xyl_algorithm_t *algorithm,
                        xylem_coll_t coll, uint32_t ranks, uint32_t nth,
                        uint64_t seed);
void algorithm_case_fini(algorithm_case_t *c);

int algorithm_case_reduces(const algorithm_case_t *c);

/* Fills all memory and computes its expected content. */
void algorithm_case_fill(algorithm_case_t *c);
/* Compares; for sums of float64 only the ranks of an allreduce with each
 * other. 0: run.mistake says what differs. */
int algorithm_case_verify(algorithm_case_t *c);
schedule_run_combine_fn algorithm_case_combine(const algorithm_case_t *c);

void algorithm_case_text(const algorithm_case_t *c, char *text, size_t bytes);
