/* Makes types of xylem's from datatypes of the program. MPI_Type_get_contents
 * says by which call a datatype was made, and of which others. Data with gaps
 * are then packed and unpacked while they travel. A datatype that cannot be
 * made so goes through MPI_Pack; if one element is too long for MPI_Pack, each
 * of its parts goes through it. */
#include <pthread.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"

enum { ROWS_MAX = 1 << 20 }; /* of a type; others are packed */

/* ---- how a type was made ---- */

/* The arguments of the call that has made a type. The numbers are its integers,
 * then its addresses, then its large counts: in this order the forms for int
 * and for MPI_Count are the same, except for subarrays and darrays. */
typedef struct recipe {
    int combiner, is_large;
    size_t numbers_count, types_count;
    int64_t *numbers;
    MPI_Datatype *types;
} recipe_t;

/* Reads MPI_Type_get_contents; sets types_count on success only. 0: good. */
static int contents_read(MPI_Datatype handle, const xmpi_envelope_t *has,
                         recipe_t *r)
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
static int recipe_read(MPI_Datatype handle, recipe_t *r)
{
    xmpi_envelope_t has;

    *r = (recipe_t){.combiner = MPI_COMBINER_NAMED};
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

static void recipe_drop(recipe_t *r)
{
    size_t i;

    for (i = 0; i < r->types_count; i++)
        xmpi_type_give_back(&r->types[i]);
    free(r->numbers);
    free(r->types);
}

/* ---- where a type's parts lie ---- */

/* `count` adjacent elements of types[child]. */
typedef struct row {
    int64_t displ; /* bytes */
    uint64_t count;
    size_t child;
} row_t;

typedef struct repetition {
    uint64_t count;
    int64_t stride; /* bytes */
} repetition_t;

/* The rows, repeated; the outermost repetition is the first. */
typedef struct pattern {
    size_t repetitions_count, rows_count;
    repetition_t *repetitions;
    row_t *rows;
} pattern_t;

static void pattern_drop(pattern_t *p)
{
    free(p->repetitions);
    free(p->rows);
}

static int pattern_take(pattern_t *p, size_t repetitions, size_t rows)
{
    p->repetitions_count = repetitions;
    p->rows_count = rows;
    p->repetitions = calloc(repetitions + 1, sizeof *p->repetitions);
    p->rows = calloc(rows + 1, sizeof *p->rows);
    return p->repetitions == NULL || p->rows == NULL;
}

static int pattern_of_one(pattern_t *p, int64_t count)
{
    if (pattern_take(p, 0, 1) != 0)
        return 1;
    p->rows[0].count = (uint64_t)count;
    return 0;
}

static int pattern_of_vector(pattern_t *p, const int64_t *n, int64_t unit)
{
    if (pattern_take(p, 1, 1) != 0)
        return 1;
    p->repetitions[0] = (repetition_t){(uint64_t)n[0], n[2] * unit};
    p->rows[0].count = (uint64_t)n[1];
    return 0;
}

/* Blocks of lengths[i * step] elements each, the first of them places[i] units
 * from the beginning. */
static int pattern_of_blocks(pattern_t *p, size_t n, const int64_t *lengths,
                             size_t step, const int64_t *places, int64_t unit)
{
    size_t i;

    if (pattern_take(p, 0, n) != 0)
        return 1;
    for (i = 0; i < n; i++)
        p->rows[i] = (row_t){places[i] * unit, (uint64_t)lengths[i * step], 0};
    return 0;
}

static int pattern_of_struct(pattern_t *p, const int64_t *n)
{
    size_t i, count = (size_t)n[0];

    if (pattern_of_blocks(p, count, n + 1, 1, n + 1 + count, 1) != 0)
        return 1;
    for (i = 0; i < count; i++)
        p->rows[i].child = i;
    return 0;
}

/* Goes from the dimension whose elements are neighbours outwards. */
static int pattern_of_subarray(pattern_t *p, const recipe_t *r, int64_t extent)
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
                (repetition_t){(uint64_t)parts[d], step};
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
static int rows_spread(pattern_t *p, const share_t *share, int64_t step,
                       int is_last)
{
    size_t each = 0, have = 0, i;
    int64_t run, at, end;
    row_t *rows;

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
                rows[have++] = (row_t){p->rows[i].displ + at * step,
                                       is_last ? (uint64_t)(end - run) : 1, 0};
        }
    free(p->rows);
    p->rows = rows;
    p->rows_count = have;
    return 0;
}

/* Goes from the outermost dimension inwards. The numbers of processes grow
 * fastest in the last dimension, whatever the order of the elements. */
static int pattern_of_darray(pattern_t *p, const recipe_t *r, int64_t extent)
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
static int pattern_find(const recipe_t *r, int64_t extent, pattern_t *p)
{
    const int64_t *n = r->numbers;

    *p = (pattern_t){.rows = NULL};
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

/* Reads a recipe and its pattern. The caller drops both, also on failure. */
static int pattern_read(MPI_Datatype handle, recipe_t *r, pattern_t *p)
{
    MPI_Aint low, extent = 0;

    *p = (pattern_t){.rows = NULL};
    return recipe_read(handle, r) != 0 ||
           (r->types_count != 0 &&
            xmpi_host.Type_get_extent(r->types[0], &low, &extent) !=
                MPI_SUCCESS) ||
           pattern_find(r, extent, p) != 0;
}

/* Types nest, as deep as the program has made them.
 * NOLINTBEGIN(misc-no-recursion) */

/* ---- types of xylem's ---- */

/* 0: good. */
static int layout_make(xylem_context_t *context, MPI_Datatype handle,
                       xylem_type_t *made);

/* Makes a type of the rows, once. */
static int layout_of_rows(xylem_context_t *context, const pattern_t *p,
                          const xylem_type_t *children, xylem_type_t *made)
{
    xylem_type_part_t *parts = calloc(p->rows_count + 1, sizeof *parts);
    size_t i, have = 0;
    int failed = parts == NULL;

    for (i = 0; !failed && i < p->rows_count; i++)
        if (p->rows[i].count != 0)
            parts[have++] = (xylem_type_part_t){
                p->rows[i].displ, p->rows[i].count, children[p->rows[i].child]};
    failed = failed || xylem_type_create(context, parts, have,
                                         XYLEM_EXTENT_AUTO, made) != XYLEM_OK;
    free(parts);
    return failed;
}

/* Replaces *made by its repetition. */
static int layout_repeat(xylem_context_t *context, const repetition_t *by,
                         xylem_type_t *made)
{
    xylem_type_t once = *made;
    int failed = xylem_type_vector(context, by->count, 1, by->stride, once,
                                   made) != XYLEM_OK;

    xylem_type_destroy(context, once);
    return failed;
}

/* In `children`: the type is not needed. */
#define NO_TYPE UINT32_MAX

static int children_make(xylem_context_t *context, const recipe_t *r,
                         const pattern_t *p, xylem_type_t *children)
{
    size_t i;

    for (i = 0; i < r->types_count; i++)
        children[i] = NO_TYPE;
    for (i = 0; i < p->rows_count; i++) {
        size_t child = p->rows[i].child;
        if (p->rows[i].count != 0 && children[child] == NO_TYPE &&
            layout_make(context, r->types[child], &children[child]) != 0) {
            children[child] = NO_TYPE;
            return 1;
        }
    }
    return 0;
}

static int layout_of_pattern(xylem_context_t *context, const recipe_t *r,
                             const pattern_t *p, xylem_type_t *made)
{
    xylem_type_t *children = calloc(r->types_count + 1, sizeof *children);
    size_t i;
    int failed;

    if (children == NULL || p->rows_count > ROWS_MAX) {
        free(children);
        return 1;
    }
    failed = children_make(context, r, p, children) ||
             layout_of_rows(context, p, children, made);
    for (i = p->repetitions_count; !failed && i-- > 0;)
        failed = layout_repeat(context, &p->repetitions[i], made);
    for (i = 0; i < r->types_count; i++)
        if (children[i] != NO_TYPE)
            xylem_type_destroy(context, children[i]);
    free(children);
    return failed;
}

/* Makes a type of bytes without gaps. */
static int layout_of_named(xylem_context_t *context, MPI_Datatype handle,
                           xylem_type_t *made)
{
    const xmpi_type_t *type = xmpi_type_find(handle);

    return type == NULL || !type->is_plain || type->size == 0 ||
           xylem_type_contiguous(context, type->size, XYLEM_BYTE, made) !=
               XYLEM_OK;
}

/* Replaces *made by one element of it, `displ` bytes from the beginning. */
static int layout_place(xylem_context_t *context, int64_t displ, int64_t extent,
                        xylem_type_t *made)
{
    xylem_type_part_t part = {displ, 1, *made};
    int failed = xylem_type_create(context, &part, 1, extent, made) != XYLEM_OK;

    xylem_type_destroy(context, part.type);
    return failed;
}

/* Gives *made MPI's extent, which only the MPI library knows for sure. */
static int layout_extend(xylem_context_t *context, MPI_Datatype handle,
                         xylem_type_t *made)
{
    MPI_Aint low, extent;
    MPI_Count size;
    uint64_t bytes;
    int64_t has;

    if (xmpi_host.Type_get_extent(handle, &low, &extent) != MPI_SUCCESS ||
        xmpi_host.Type_size_x(handle, &size) != MPI_SUCCESS ||
        xylem_type_query(context, *made, &bytes, &has) != XYLEM_OK ||
        bytes != (uint64_t)size) {
        xylem_type_destroy(context, *made);
        return 1;
    }
    return has != extent && layout_place(context, 0, extent, made);
}

static int layout_make(xylem_context_t *context, MPI_Datatype handle,
                       xylem_type_t *made)
{
    recipe_t r;
    pattern_t p;
    int failed = pattern_read(handle, &r, &p);

    if (r.combiner == MPI_COMBINER_NAMED)
        failed = layout_of_named(context, handle, made);
    else if (!failed)
        failed = layout_of_pattern(context, &r, &p, made) ||
                 layout_extend(context, handle, made);
    pattern_drop(&p);
    recipe_drop(&r);
    return failed;
}

/* Makes a type that begins at the first byte of the data. */
static int layout_begin(xylem_context_t *context, const xmpi_type_t *type,
                        xylem_type_t *made)
{
    return layout_make(context, type->handle, made) ||
           layout_place(context, -type->true_low, type->extent, made);
}

int xmpi_type_layout(xmpi_type_t *type, xylem_type_t *layout_out)
{
    xylem_context_t *context = xmpi_context();
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int known = atomic_load_explicit(&type->layout_state, memory_order_acquire);

    if (known == XMPI_LAYOUT_UNKNOWN && context != NULL) {
        pthread_mutex_lock(&lock);
        known = atomic_load_explicit(&type->layout_state, memory_order_relaxed);
        if (known == XMPI_LAYOUT_UNKNOWN) {
            known = layout_begin(context, type, &type->layout) == 0
                        ? XMPI_LAYOUT_THERE
                        : XMPI_LAYOUT_NONE;
            atomic_store_explicit(&type->layout_state, known,
                                  memory_order_release);
        }
        pthread_mutex_unlock(&lock);
    }
    if (known == XMPI_LAYOUT_THERE)
        *layout_out = type->layout;
    return known == XMPI_LAYOUT_THERE;
}

void xmpi_type_layout_drop(xmpi_type_t *type)
{
    xylem_context_t *context = xmpi_context();

    if (type->layout_state == XMPI_LAYOUT_THERE && context != NULL)
        xylem_type_destroy(context, type->layout);
}

/* ---- other uses of how a type was made ---- */

/* Whether the bytes of a type lie in order, without gaps, from its beginning
 * on. Then *bytes_out is their number, and *extent_out the type's extent. */
static int is_in_a_row(MPI_Datatype handle, uint64_t *bytes_out,
                       int64_t *extent_out);

static int pattern_is_in_a_row(const recipe_t *r, const pattern_t *p,
                               uint64_t *bytes_out)
{
    uint64_t have = 0, each = 0;
    int64_t extent = 0;
    size_t child = SIZE_MAX, i;

    for (i = 0; i < p->rows_count; i++) {
        const row_t *row = &p->rows[i];
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
    recipe_t r;
    pattern_t p;
    int failed = pattern_read(handle, &r, &p), is = 0;

    if (xmpi_host.Type_get_extent(handle, &low, &extent) == MPI_SUCCESS &&
        xmpi_host.Type_size_x(handle, &size) == MPI_SUCCESS) {
        *bytes_out = (uint64_t)size;
        *extent_out = extent;
        is = r.combiner == MPI_COMBINER_NAMED
                 ? low == 0 && extent == size
                 : !failed && pattern_is_in_a_row(&r, &p, bytes_out);
    }
    pattern_drop(&p);
    recipe_drop(&r);
    return is;
}

int xmpi_type_is_in_a_row(MPI_Datatype handle)
{
    uint64_t bytes;
    int64_t extent;

    return is_in_a_row(handle, &bytes, &extent);
}

typedef struct packing {
    const pattern_t *pattern;
    xmpi_type_t *const *children;
    xmpi_way_t way;
    uintptr_t packed; /* moves on */
} packing_t;

/* Packs the repetitions from `level` inwards, of the element at `user`. */
static int pattern_pack(packing_t *packing, size_t level, uintptr_t user)
{
    const pattern_t *p = packing->pattern;
    int code = MPI_SUCCESS;
    uint64_t k;
    size_t i;

    if (level < p->repetitions_count) {
        const repetition_t *by = &p->repetitions[level];
        for (k = 0; k < by->count && code == MPI_SUCCESS; k++)
            code = pattern_pack(packing, level + 1,
                                user + (uintptr_t)k * (uintptr_t)by->stride);
        return code;
    }
    for (i = 0; i < p->rows_count && code == MPI_SUCCESS; i++) {
        const row_t *row = &p->rows[i];
        const xmpi_type_t *child = packing->children[row->child];
        code = xmpi_type_pack(child, packing->way,
                              (void *)(user + (uintptr_t)row->displ),
                              row->count, (void *)packing->packed);
        packing->packed += row->count * child->size;
    }
    return code;
}

/* Commits the parts, as MPI_Pack requires. The program's own types among the
 * parts are committed already, or the program does not use them. */
int xmpi_type_pack_parts(const xmpi_type_t *type, xmpi_way_t way,
                         uintptr_t user, uintptr_t packed)
{
    recipe_t r;
    pattern_t p;
    xmpi_type_t **children;
    int code =
        pattern_read(type->handle, &r, &p) != 0 ? MPI_ERR_COUNT : MPI_SUCCESS;
    size_t i;

    children = calloc(r.types_count + 1, sizeof(xmpi_type_t *));
    if (children == NULL)
        code = MPI_ERR_NO_MEM;
    for (i = 0; i < r.types_count && code == MPI_SUCCESS; i++) {
        code = xmpi_host.Type_commit(&r.types[i]);
        children[i] = xmpi_type_find(r.types[i]);
        if (children[i] == NULL)
            code = MPI_ERR_TYPE;
    }
    if (code == MPI_SUCCESS)
        code = pattern_pack(&(packing_t){&p, children, way, packed}, 0, user);
    free(children);
    pattern_drop(&p);
    recipe_drop(&r);
    return code;
}

/* NOLINTEND(misc-no-recursion) */
