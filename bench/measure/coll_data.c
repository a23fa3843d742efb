#include "bench/measure/coll_data.h"

#include <assert.h>
#include <stdlib.h>

static const xyl_coll_traits_t *traits_of(const struct coll_part *part)
{
    return xyl_coll_traits(part->coll);
}

static int has(const struct coll_part *part, xyl_side_t side)
{
    return xyl_side_matters(side, part->rank == part->root);
}

/* ---- neighbours: a grid of two dimensions without borders, as square as the
 * number of ranks allows ---- */

enum { NEIGHBORS = 4 };

void coll_grid(uint32_t ranks, uint32_t *sides)
{
    uint32_t side;

    assert(ranks > 0);
    sides[1] = 1;
    for (side = 1; side * side <= ranks; side++)
        if (ranks % side == 0)
            sides[1] = side;
    sides[0] = ranks / sides[1];
}

/* Number `i` of them, in the order of MPI's grids: the one before and the one
 * behind in the first dimension, then in the second. */
static uint32_t neighbor(uint32_t rank, uint32_t ranks, uint32_t i)
{
    uint32_t sides[2], rows, columns, row, column, back = i % 2 == 0;

    coll_grid(ranks, sides);
    rows = sides[0];
    columns = sides[1];
    row = rank / columns;
    column = rank % columns;
    if (i < 2)
        row = (row + (back ? rows - 1 : 1)) % rows;
    else
        column = (column + (back ? columns - 1 : 1)) % columns;
    return row * columns + column;
}

static uint32_t input_blocks(const struct coll_part *part)
{
    return traits_of(part)->send_blocks ? part->ranks : 1;
}

static uint32_t result_blocks(const struct coll_part *part)
{
    if (traits_of(part)->has_neighbors)
        return NEIGHBORS;
    return traits_of(part)->recv_blocks ? part->ranks : 1;
}

uint32_t coll_blocks(const struct coll_part *part)
{
    uint32_t input = input_blocks(part), result = result_blocks(part);

    return input > result ? input : result;
}

double coll_bus_share(const struct coll_part *part)
{
    double others = (part->ranks - 1.0) / part->ranks;

    if (part->coll == XYLEM_COLL_ALLREDUCE)
        return 2 * others;
    return traits_of(part)->send_blocks || traits_of(part)->recv_blocks ? others
                                                                        : 1;
}

int coll_has_input(const struct coll_part *part)
{
    return has(part, traits_of(part)->sends);
}

int coll_has_result(const struct coll_part *part)
{
    return has(part, traits_of(part)->receives);
}

size_t coll_input_bytes(const struct coll_part *part)
{
    return part->bytes * input_blocks(part);
}

size_t coll_result_bytes(const struct coll_part *part)
{
    return part->bytes * result_blocks(part);
}

void coll_input_write(const struct coll_part *part, uint64_t call, void *input,
                      void *result, enum content_extent extent)
{
    const xyl_coll_traits_t *traits = traits_of(part);
    struct content_block block = {call, part->rank, 0};
    struct content_piece piece = {call, 0};
    unsigned char *at = input;
    uint32_t i;

    if (part->coll == XYLEM_COLL_BCAST && part->rank == part->root)
        content_block_write(result, part->bytes, block, extent);
    if (input == NULL)
        return;
    for (i = 0; i < input_blocks(part); i++, at += part->bytes) {
        block.to = traits->send_blocks ? i : 0;
        piece.first = part->bytes / sizeof(float) * i;
        if (traits->reduces)
            content_terms_write(at, part->bytes, piece, part->rank, extent);
        else
            content_block_write(at, part->bytes, block, extent);
    }
}

/* How many ranks, from rank 0 on, have a part in this rank's result. */
static uint32_t contributors(const struct coll_part *part)
{
    if (part->coll == XYLEM_COLL_SCAN)
        return part->rank + 1;
    if (part->coll == XYLEM_COLL_EXSCAN)
        return part->rank;
    return part->ranks;
}

static size_t sums_wrong(const struct coll_part *part, uint64_t call,
                         const void *result, enum content_extent extent)
{
    struct content_piece piece = {call, 0};
    uint32_t ranks = contributors(part);

    if (traits_of(part)->send_blocks) /* and this rank gets its own */
        piece.first = part->bytes / sizeof(float) * part->rank;
    /* The first result of an exclusive scan is not defined. */
    return ranks == 0
               ? 0
               : content_sums_wrong(result, part->bytes, piece, ranks, extent);
}

static size_t blocks_wrong(const struct coll_part *part, uint64_t call,
                           const unsigned char *result,
                           enum content_extent extent)
{
    const xyl_coll_traits_t *traits = traits_of(part);
    struct content_block block = {call, part->root,
                                  traits->send_blocks ? part->rank : 0};
    size_t wrong = 0;
    uint32_t i;

    for (i = 0; i < result_blocks(part); i++, result += part->bytes) {
        if (traits->recv_blocks)
            block.from = traits->has_neighbors
                             ? neighbor(part->rank, part->ranks, i)
                             : i;
        wrong += content_block_wrong(result, part->bytes, block, extent);
    }
    return wrong;
}

size_t coll_result_wrong(const struct coll_part *part, uint64_t call,
                         const void *result, enum content_extent extent)
{
    if (!coll_has_result(part))
        return 0;
    return traits_of(part)->reduces ? sums_wrong(part, call, result, extent)
                                    : blocks_wrong(part, call, result, extent);
}

/* ---- arrays ---- */

struct coll_arrays {
    uint64_t *counts, *displs; /* in elements */
    xylem_type_t *types;
    uint32_t *neighbors; /* [ranks * NEIGHBORS] */
};

void coll_arrays_destroy(struct coll_arrays *arrays)
{
    if (arrays == NULL)
        return;
    free(arrays->counts);
    free(arrays->displs);
    free(arrays->types);
    free(arrays->neighbors);
    free(arrays);
}

struct coll_arrays *coll_arrays_create(xylem_coll_t coll, uint32_t ranks,
                                       size_t bytes)
{
    struct coll_arrays *arrays = calloc(1, sizeof *arrays);
    uint64_t each =
        bytes / (xyl_coll_traits(coll)->reduces ? sizeof(float) : 1);
    uint32_t i, k, each_neighbors;

    if (arrays == NULL)
        return NULL;
    arrays->counts = calloc(ranks, sizeof *arrays->counts);
    arrays->displs = calloc(ranks, sizeof *arrays->displs);
    arrays->types = calloc(ranks, sizeof *arrays->types);
    each_neighbors = xyl_coll_traits(coll)->has_neighbors ? NEIGHBORS : 0;
    arrays->neighbors =
        calloc(ranks, each_neighbors * sizeof *arrays->neighbors + 1);
    if (arrays->counts == NULL || arrays->displs == NULL ||
        arrays->types == NULL || arrays->neighbors == NULL) {
        coll_arrays_destroy(arrays);
        return NULL;
    }
    for (i = 0; i < ranks; i++) {
        arrays->counts[i] = each;
        arrays->displs[i] = each * i;
        arrays->types[i] = XYLEM_BYTE;
        for (k = 0; k < each_neighbors; k++)
            arrays->neighbors[i * NEIGHBORS + k] = neighbor(i, ranks, k);
    }
    return arrays;
}

void coll_arrays_set(const struct coll_arrays *arrays, uint32_t rank,
                     xylem_coll_args_t *args)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(args->coll);

    if (traits->send_varies) {
        args->send_counts = arrays->counts;
        args->send_displs = arrays->displs;
    }
    if (traits->recv_varies)
        args->recv_counts = arrays->counts;
    if (traits->recv_varies && traits->recv_blocks)
        args->recv_displs = arrays->displs;
    if (traits->has_own_types) {
        args->send_types = arrays->types;
        args->recv_types = arrays->types;
    }
    if (traits->has_neighbors) {
        args->destinations = args->sources =
            arrays->neighbors + (size_t)rank * NEIGHBORS;
        args->destination_count = args->source_count = NEIGHBORS;
    }
}
