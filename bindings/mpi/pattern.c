#include "bindings/mpi/pattern.h"

#include <stdlib.h>

/* ---- how a type was made ---- */

int xmpi_type_envelope(MPI_Datatype handle, xmpi_envelope_t *has)
{
    int ints, addresses, types;

    *has = (xmpi_envelope_t){.combiner = MPI_COMBINER_NAMED};
    if (xmpi_host.Type_get_envelope_c != NULL)
        return xmpi_host.Type_get_envelope_c(
                   handle, &has->ints, &has->addresses, &has->counts,
                   &has->types, &has->combiner) == MPI_SUCCESS;
    if (xmpi_host.Type_get_envelope(handle, &ints, &addresses, &types,
                                    &has->combiner) != MPI_SUCCESS)
        return 0;
    has->ints = ints;
    has->addresses = addresses;
    has->types = types;
    return 1;
}

int xmpi_type_is_mpis(MPI_Datatype handle)
{
    xmpi_envelope_t has;

    return xmpi_type_envelope(handle, &has) &&
           has.combiner == MPI_COMBINER_NAMED;
}

void xmpi_type_give_back(MPI_Datatype *part)
{
    if (!xmpi_type_is_mpis(*part))
        xmpi_host.Type_free(part);
}

/* Reads MPI_Type_get_contents; sets types_count on success only. 0: good. */
static int contents_read(MPI_Datatype handle, const xmpi_envelope_t *has,
                         xmpi_recipe_t *r)
{
    size_t ints = (size_t)has->ints, addresses = (size_t)has->addresses, i;
    int *small = calloc(ints + 1, sizeof *small);
    MPI_Aint *places = calloc(addresses + 1, sizeof *places);
    MPI_Count *counts = (MPI_Count *)&r->numbers[ints + addresses];
    int failed = small == NULL || places == NULL;

    if (!failed && has->counts != 0)
        failed = xmpi_host.Type_get_contents_c == NULL ||
                 xmpi_host.Type_get_contents_c(
                     handle, has->ints, has->addresses, has->counts, has->types,
                     small, places, counts, r->types) != MPI_SUCCESS;
    else if (!failed)
        failed = xmpi_host.Type_get_contents(
                     handle, (int)has->ints, (int)has->addresses,
                     (int)has->types, small, places, r->types) != MPI_SUCCESS;
    for (i = 0; !failed && i < ints; i++)
        r->numbers[i] = small[i];
    for (i = 0; !failed && i < addresses; i++)
        r->numbers[ints + i] = places[i];
    if (!failed)
        r->types_count = (size_t)has->types;
    free(small);
    free(places);
    return failed;
}

/* 0: good. */
static int recipe_read(MPI_Datatype handle, xmpi_recipe_t *r)
{
    xmpi_envelope_t has;

    *r = (xmpi_recipe_t){.combiner = MPI_COMBINER_NAMED};
    if (!xmpi_type_envelope(handle, &has))
        return 1;
    r->combiner = has.combiner;
    if (r->combiner == MPI_COMBINER_NAMED)
        return 0;
    r->is_large = has.counts != 0;
    r->numbers_count = (size_t)(has.ints + has.addresses + has.counts);
    r->numbers = calloc(r->numbers_count + 1, sizeof *r->numbers);
    r->types = calloc((size_t)has.types + 1, sizeof(MPI_Datatype));
    return r->numbers == NULL || r->types == NULL ||
           contents_read(handle, &has, r);
}

/* ---- where a type's parts lie ---- */

static int pattern_take(xmpi_pattern_t *p, size_t repetitions, size_t rows)
{
    p->repetitions_count = repetitions;
    p->rows_count = rows;
    p->repetitions = calloc(repetitions + 1, sizeof *p->repetitions);
    p->rows = calloc(rows + 1, sizeof *p->rows);
    return p->repetitions == NULL || p->rows == NULL;
}

static int pattern_of_one(xmpi_pattern_t *p, int64_t count)
{
    if (pattern_take(p, 0, 1) != 0)
        return 1;
    p->rows[0].count = (uint64_t)count;
    return 0;
}

static int pattern_of_vector(xmpi_pattern_t *p, const int64_t *n, int64_t unit)
{
    if (pattern_take(p, 1, 1) != 0)
        return 1;
    p->repetitions[0] = (xmpi_repetition_t){(uint64_t)n[0], n[2] * unit};
    p->rows[0].count = (uint64_t)n[1];
    return 0;
}

/* Blocks of lengths[i * step] elements each, the first of them places[i] units
 * from the beginning. */
static int pattern_of_blocks(xmpi_pattern_t *p, size_t n,
                             const int64_t *lengths, size_t step,
                             const int64_t *places, int64_t unit)
{
    size_t i;

    if (pattern_take(p, 0, n) != 0)
        return 1;
    for (i = 0; i < n; i++)
        p->rows[i] =
            (xmpi_row_t){places[i] * unit, (uint64_t)lengths[i * step], 0};
    return 0;
}

static int pattern_of_struct(xmpi_pattern_t *p, const int64_t *n)
{
    size_t i, count = (size_t)n[0];

    if (pattern_of_blocks(p, count, n + 1, 1, n + 1 + count, 1) != 0)
        return 1;
    for (i = 0; i < count; i++)
        p->rows[i].child = i;
    return 0;
}

/* Goes from the dimension whose elements are neighbours outwards. */
static int pattern_of_subarray(xmpi_pattern_t *p, const xmpi_recipe_t *r,
                               int64_t extent)
{
    size_t dims = (size_t)r->numbers[0], i, d;
    const int64_t *sizes = &r->numbers[r->is_large ? 2 : 1];
    const int64_t *parts = sizes + dims, *starts = parts + dims;
    int is_c = r->numbers[r->is_large ? 1 : 1 + 3 * dims] == MPI_ORDER_C;
    int64_t step = extent, begin = 0;

    if (dims == 0 || pattern_take(p, dims - 1, 1) != 0)
        return 1;
    for (i = 0; i < dims; i++) {
        d = is_c ? dims - 1 - i : i;
        begin += starts[d] * step;
        if (i == 0)
            p->rows[0].count = (uint64_t)parts[d];
        else
            p->repetitions[dims - 1 - i] =
                (xmpi_repetition_t){(uint64_t)parts[d], step};
        step *= sizes[d];
    }
    p->rows[0].displ = begin;
    return 0;
}

/* This process's share in one dimension of a distributed array: runs of
 * `length` indices, the first at `first`, `stride` apart, all below `size`. */
typedef struct share {
    int64_t size, first, length, stride;
} share_t;

static share_t share_of(int64_t size, int64_t distribution, int64_t argument,
                        int64_t processes, int64_t place)
{
    share_t share = {size, 0, size, size};

    if (distribution == MPI_DISTRIBUTE_NONE || size == 0)
        return share;
    share.length = argument;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        share.length = distribution == MPI_DISTRIBUTE_BLOCK
                           ? (size + processes - 1) / processes
                           : 1;
    share.first = place * share.length;
    share.stride = processes * share.length;
    return share;
}

/* Replaces each row by one row per index of the share, `step` bytes apart; in
 * the last dimension, whose elements are neighbours, by one row per run. */
static int rows_spread(xmpi_pattern_t *p, const share_t *share, int64_t step,
                       int is_last)
{
    size_t each = 0, have = 0, i;
    int64_t run, at, end;
    xmpi_row_t *rows;

    for (run = share->first; run < share->size; run += share->stride)
        each += is_last ? 1
                        : (size_t)(share->size - run < share->length
                                       ? share->size - run
                                       : share->length);
    rows = calloc(each * p->rows_count + 1, sizeof *rows);
    if (rows == NULL)
        return 1;
    for (i = 0; i < p->rows_count; i++)
        for (run = share->first; run < share->size; run += share->stride) {
            end = share->size - run < share->length ? share->size
                                                    : run + share->length;
            for (at = run; at < end; at = is_last ? end : at + 1)
                rows[have++] =
                    (xmpi_row_t){p->rows[i].displ + at * step,
                                 is_last ? (uint64_t)(end - run) : 1, 0};
        }
    free(p->rows);
    p->rows = rows;
    p->rows_count = have;
    return 0;
}

/* Goes from the outermost dimension inwards. The numbers of processes grow
 * fastest in the last dimension, whatever the order of the elements. */
static int pattern_of_darray(xmpi_pattern_t *p, const xmpi_recipe_t *r,
                             int64_t extent)
{
    size_t dims = (size_t)r->numbers[2], i, d, k;
    const int64_t *sizes = &r->numbers[r->is_large ? 4 + 3 * dims : 3];
    const int64_t *kinds = &r->numbers[r->is_large ? 3 : 3 + dims];
    const int64_t *arguments = kinds + dims, *grid = arguments + dims;
    int is_c = grid[dims] == MPI_ORDER_C, failed;

    failed = dims == 0 || pattern_of_one(p, 1) != 0;
    for (i = 0; i < dims && !failed; i++) {
        int64_t inner = 1, step = extent;
        share_t share;
        d = is_c ? i : dims - 1 - i;
        for (k = d + 1; k < dims; k++)
            inner *= grid[k];
        share = share_of(sizes[d], kinds[d], arguments[d], grid[d],
                         r->numbers[1] / inner % grid[d]);
        for (k = 0; k < dims; k++)
            if (is_c ? k > d : k < d)
                step *= sizes[k];
        failed = rows_spread(p, &share, step, i + 1 == dims);
    }
    return failed;
}

/* Finds the pattern of a recipe; 1: its combiner is not understood, or there is
 * no memory. `extent` is that of the recipe's first type. */
static int pattern_find(const xmpi_recipe_t *r, int64_t extent,
                        xmpi_pattern_t *p)
{
    const int64_t *n = r->numbers;

    *p = (xmpi_pattern_t){.rows = NULL};
    switch (r->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return pattern_of_one(p, 1);
    case MPI_COMBINER_CONTIGUOUS:
        return pattern_of_one(p, n[0]);
    case MPI_COMBINER_VECTOR:
        return pattern_of_vector(p, n, extent);
    case MPI_COMBINER_HVECTOR:
        return pattern_of_vector(p, n, 1);
    case MPI_COMBINER_INDEXED:
        return pattern_of_blocks(p, (size_t)n[0], n + 1, 1, n + 1 + n[0],
                                 extent);
    case MPI_COMBINER_HINDEXED:
        return pattern_of_blocks(p, (size_t)n[0], n + 1, 1, n + 1 + n[0], 1);
    case MPI_COMBINER_INDEXED_BLOCK:
        return pattern_of_blocks(p, (size_t)n[0], n + 1, 0, n + 2, extent);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return pattern_of_blocks(p, (size_t)n[0], n + 1, 0, n + 2, 1);
    case MPI_COMBINER_STRUCT:
        return pattern_of_struct(p, n);
    case MPI_COMBINER_SUBARRAY:
        return pattern_of_subarray(p, r, extent);
    case MPI_COMBINER_DARRAY:
        return pattern_of_darray(p, r, extent);
    default:
        return 1;
    }
}

int xmpi_pattern_read(MPI_Datatype handle, xmpi_recipe_t *r, xmpi_pattern_t *p)
{
    MPI_Aint low, extent = 0;

    *p = (xmpi_pattern_t){.rows = NULL};
    return recipe_read(handle, r) != 0 ||
           (r->types_count != 0 &&
            xmpi_host.Type_get_extent(r->types[0], &low, &extent) !=
                MPI_SUCCESS) ||
           pattern_find(r, extent, p) != 0;
}

void xmpi_pattern_drop(xmpi_recipe_t *r, xmpi_pattern_t *p)
{
    size_t i;

    free(p->repetitions);
    free(p->rows);
    for (i = 0; i < r->types_count; i++)
        xmpi_type_give_back(&r->types[i]);
    free(r->numbers);
    free(r->types);
}

/* Types nest, as deep as the program has made them.
 * NOLINTBEGIN(misc-no-recursion) */

/* ---- types without gaps ---- */

/* Whether the bytes of a type lie in order, without gaps, from its beginning
 * on. Then *bytes_out is their number, and *extent_out the type's extent. */
static int is_in_a_row(MPI_Datatype handle, uint64_t *bytes_out,
                       int64_t *extent_out);

static int pattern_is_in_a_row(const xmpi_recipe_t *r, const xmpi_pattern_t *p,
                               uint64_t *bytes_out)
{
    uint64_t have = 0, each = 0;
    int64_t extent = 0;
    size_t child = SIZE_MAX, i;

    for (i = 0; i < p->rows_count; i++) {
        const xmpi_row_t *row = &p->rows[i];
        if (row->count == 0)
            continue;
        if (row->child != child &&
            !is_in_a_row(r->types[row->child], &each, &extent))
            return 0;
        child = row->child;
        if (row->displ != (int64_t)have ||
            (row->count > 1 && extent != (int64_t)each))
            return 0;
        have += row->count * each;
    }
    for (i = p->repetitions_count; i-- > 0;) {
        if (p->repetitions[i].count > 1 &&
            p->repetitions[i].stride != (int64_t)have)
            return 0;
        have *= p->repetitions[i].count;
    }
    *bytes_out = have;
    return 1;
}

static int is_in_a_row(MPI_Datatype handle, uint64_t *bytes_out,
                       int64_t *extent_out)
{
    MPI_Aint low, extent;
    MPI_Count size;
    xmpi_recipe_t r;
    xmpi_pattern_t p;
    int failed = xmpi_pattern_read(handle, &r, &p), is = 0;

    if (xmpi_host.Type_get_extent(handle, &low, &extent) == MPI_SUCCESS &&
        xmpi_host.Type_size_x(handle, &size) == MPI_SUCCESS) {
        *bytes_out = (uint64_t)size;
        *extent_out = extent;
        is = r.combiner == MPI_COMBINER_NAMED
                 ? low == 0 && extent == size
                 : !failed && pattern_is_in_a_row(&r, &p, bytes_out);
    }
    xmpi_pattern_drop(&r, &p);
    return is;
}

int xmpi_type_is_in_a_row(MPI_Datatype handle)
{
    uint64_t bytes;
    int64_t extent;

    return is_in_a_row(handle, &bytes, &extent);
}

/* NOLINTEND(misc-no-recursion) */
