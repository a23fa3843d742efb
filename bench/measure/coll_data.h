/* What one rank has and gets in a call of a collective: how large its buffers
 * are, what they hold, and what must be in them in the end. Pure; any thread.
 */
#ifndef XYL_BENCH_MEASURE_COLL_DATA_H
#define XYL_BENCH_MEASURE_COLL_DATA_H

#include "bench/measure/coll.h"
#include "bench/measure/content.h"

/* A rank's part in calls of one collective. */
struct coll_part {
    xylem_coll_t coll;
    uint32_t rank, ranks, root;
    size_t bytes; /* of a block; where there are none, of the message */
};

/* What share of its bytes over its time a collective could not do without on
 * each rank's links: busbw over algbw, as nccl-tests define them. */
double coll_bus_share(const struct coll_part *part);
int coll_has_input(const struct coll_part *part);
int coll_has_result(const struct coll_part *part);
/* Of the buffers of those that have them. A broadcast's is the result's. */
size_t coll_input_bytes(const struct coll_part *part);
size_t coll_result_bytes(const struct coll_part *part);

/* The larger number of blocks in a buffer; 1 where there are none. */
uint32_t coll_blocks(const struct coll_part *part);

/* The grid, without borders, whose ranks are neighbours in neighbourhood
 * collectives: numbered row by row. Rows and columns are written to [2]. */
void coll_grid(uint32_t ranks, uint32_t *sides);

/* Gives the buffers of the call with this number their contents; NULL where
 * the rank has none. */
void coll_input_write(const struct coll_part *part, uint64_t call, void *input,
                      void *result, enum content_extent extent);
/* How many elements of the result are wrong. */
size_t coll_result_wrong(const struct coll_part *part, uint64_t call,
                         const void *result, enum content_extent extent);

/* The arrays of the arguments for all ranks, of equal blocks that lie one
 * behind the other. NULL: no memory; destroying NULL is allowed. */
struct coll_arrays;
struct coll_arrays *coll_arrays_create(xylem_coll_t coll, uint32_t ranks,
                                       size_t bytes);
void coll_arrays_destroy(struct coll_arrays *arrays);
/* Points the arguments of a rank at those that its collective has. */
void coll_arrays_set(const struct coll_arrays *arrays, uint32_t rank,
                     xylem_coll_args_t *args);

#endif
