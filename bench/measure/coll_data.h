/* One rank's data in a call of a collective: the sizes of its buffers, their
 * contents before the call, and those expected after it. Pure; any thread.
 */
#pragma once

#include "bench/measure/coll.h"
#include "bench/measure/content.h"

/* A rank's part in calls of one collective. */
struct coll_part {
    xylem_coll_t coll;
    uint32_t rank, ranks, root;
    size_t bytes; /* of a block; of the message if there are no blocks */
};

/* The share of a collective's bytes per time that each rank's links must carry:
 * busbw over algbw, as nccl-tests define them. */
double coll_bus_share(const struct coll_part *part);
int coll_has_input(const struct coll_part *part);
int coll_has_result(const struct coll_part *part);
/* The sizes of the buffers, of ranks that have them. A broadcast has a result
 * only. */
size_t coll_input_bytes(const struct coll_part *part);
size_t coll_result_bytes(const struct coll_part *part);

/* The number of blocks in the larger buffer; 1 if there are no blocks. */
uint32_t coll_blocks(const struct coll_part *part);

/* The grid, without borders, of the neighbours in neighbourhood collectives;
 * ranks are numbered row by row. Writes rows and columns to [2]. */
void coll_grid(uint32_t ranks, uint32_t *sides);

/* Writes the contents of the buffers of call number `call`; NULL: the rank does
 * not have that buffer. */
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
/* Points the arguments of a rank at the arrays that its collective has. */
void coll_arrays_set(const struct coll_arrays *arrays, uint32_t rank,
                     xylem_coll_args_t *args);
