/* Datatypes of the program as types of xylem's, by the calls that have made
 * them: then data with gaps are packed and unpacked while they travel. What has
 * no such record, or one that is not understood, goes through MPI_Pack. */
#include <pthread.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"

enum { NUMBERS_MAX = 1 << 20 }; /* of a type; others are packed */

/* How a type was made, and the type that it was made of, with its extent. */
typedef struct recipe {
    int combiner, ints_count, addresses_count, types_count;
    int *ints;
    MPI_Aint *addresses;
    MPI_Datatype *types;
    xylem_type_t child;
    int64_t child_extent;
} recipe_t;

/* Types nest, as deep as the program has made them.
 * NOLINTBEGIN(misc-no-recursion) */

/* 0: good. */
static int layout_make(xylem_context_t *context, MPI_Datatype handle,
                       xylem_type_t *made);

static int recipe_read(MPI_Datatype handle, recipe_t *r)
{
    *r = (recipe_t){.combiner = MPI_COMBINER_NAMED};
    if (!xmpi_type_envelope(handle, &r->ints_count, &r->addresses_count,
                            &r->types_count, &r->combiner))
        return 1;
    if (r->combiner == MPI_COMBINER_NAMED)
        return 0;
    if (r->ints_count > NUMBERS_MAX || r->addresses_count > NUMBERS_MAX ||
        r->types_count > NUMBERS_MAX)
        return 1;
    r->ints = calloc((size_t)r->ints_count + 1, sizeof *r->ints);
    r->addresses = calloc((size_t)r->addresses_count + 1, sizeof *r->addresses);
    r->types = calloc((size_t)r->types_count + 1, sizeof(MPI_Datatype));
    if (r->ints == NULL || r->addresses == NULL || r->types == NULL ||
        xmpi_host.Type_get_contents(handle, r->ints_count, r->addresses_count,
                                    r->types_count, r->ints, r->addresses,
                                    r->types) != MPI_SUCCESS) {
        r->types_count = 0;
        return 1;
    }
    return 0;
}

/* Types that MPI_Type_get_contents gives are the caller's, unless named. */
static void recipe_drop(recipe_t *r)
{
    int i;

    for (i = 0; i < r->types_count && r->types != NULL; i++)
        xmpi_type_give_back(&r->types[i]);
    free(r->ints);
    free(r->addresses);
    free(r->types);
}

/* Blocks of ints[lengths + i * step] elements each, at displacements in bytes,
 * or (addresses NULL) in elements. */
static int layout_of_blocks(xylem_context_t *context, const recipe_t *r,
                            const int *lengths, int step, const int *places,
                            const MPI_Aint *addresses, xylem_type_t *made)
{
    size_t n = (size_t)r->ints[0], i;
    uint64_t *counts = malloc((n + 1) * sizeof *counts);
    int64_t *offsets = malloc((n + 1) * sizeof *offsets);
    int failed = counts == NULL || offsets == NULL ||
                 (places == NULL && addresses == NULL);

    for (i = 0; !failed && i < n; i++) {
        counts[i] = (uint64_t)lengths[i * (size_t)step];
        offsets[i] =
            addresses != NULL ? addresses[i] : places[i] * r->child_extent;
    }
    if (!failed)
        failed = xylem_type_indexed(context, n, counts, offsets, r->child,
                                    made) != XYLEM_OK;
    free(counts);
    free(offsets);
    return failed;
}

static int layout_of_struct(xylem_context_t *context, const recipe_t *r,
                            xylem_type_t *made)
{
    size_t n = (size_t)r->ints[0], i, have = 0;
    xylem_type_part_t *parts = malloc((n + 1) * sizeof *parts);
    int failed = parts == NULL;

    for (i = 0; !failed && i < n; i++) {
        parts[have].offset = r->addresses[i];
        parts[have].count = (uint64_t)r->ints[1 + i];
        if (parts[have].count == 0)
            continue;
        failed = layout_make(context, r->types[i], &parts[have].type);
        have += !failed;
    }
    if (!failed)
        failed = xylem_type_create(context, parts, have, XYLEM_EXTENT_AUTO,
                                   made) != XYLEM_OK;
    for (i = 0; i < have; i++)
        xylem_type_destroy(context, parts[i].type);
    free(parts);
    return failed;
}

/* Dimension by dimension, from the one whose elements are neighbours on. */
static int layout_of_subarray(xylem_context_t *context, const recipe_t *r,
                              xylem_type_t *made)
{
    int dims = r->ints[0], i, d, is_c = r->ints[1 + 3 * dims] == MPI_ORDER_C;
    int64_t step = r->child_extent, begin = 0;
    xylem_type_part_t part = {0, 1, r->child};

    for (i = 0; i < dims; i++) {
        const int *sizes = &r->ints[1];
        xylem_type_t next;
        d = is_c ? dims - 1 - i : i;
        begin += r->ints[1 + 2 * dims + d] * step;
        if (xylem_type_vector(context, (uint64_t)r->ints[1 + dims + d], 1, step,
                              part.type, &next) != XYLEM_OK)
            break;
        if (i > 0)
            xylem_type_destroy(context, part.type);
        part.type = next;
        step *= sizes[d];
    }
    part.offset = begin;
    d = i < dims ||
        xylem_type_create(context, &part, 1, step, made) != XYLEM_OK;
    if (i > 0)
        xylem_type_destroy(context, part.type);
    return d;
}

/* By the combiner; the child is there. */
static int layout_combine(xylem_context_t *context, const recipe_t *r,
                          xylem_type_t *made)
{
    const int *n = r->ints;
    const xylem_type_part_t itself = {0, 1, r->child};

    switch (r->combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
        return xylem_type_create(context, &itself, 1, r->child_extent, made) !=
               XYLEM_OK;
    case MPI_COMBINER_CONTIGUOUS:
        return xylem_type_contiguous(context, (uint64_t)n[0], r->child, made) !=
               XYLEM_OK;
    case MPI_COMBINER_VECTOR:
        return xylem_type_vector(context, (uint64_t)n[0], (uint64_t)n[1],
                                 n[2] * r->child_extent, r->child,
                                 made) != XYLEM_OK;
    case MPI_COMBINER_HVECTOR:
        return xylem_type_vector(context, (uint64_t)n[0], (uint64_t)n[1],
                                 r->addresses[0], r->child, made) != XYLEM_OK;
    case MPI_COMBINER_INDEXED:
        return layout_of_blocks(context, r, n + 1, 1, n + 1 + n[0], NULL, made);
    case MPI_COMBINER_HINDEXED:
        return layout_of_blocks(context, r, n + 1, 1, NULL, r->addresses, made);
    case MPI_COMBINER_INDEXED_BLOCK:
        return layout_of_blocks(context, r, n + 1, 0, n + 2, NULL, made);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return layout_of_blocks(context, r, n + 1, 0, NULL, r->addresses, made);
    case MPI_COMBINER_STRUCT:
        return layout_of_struct(context, r, made);
    case MPI_COMBINER_SUBARRAY:
        return layout_of_subarray(context, r, made);
    default:
        return 1;
    }
}

/* Bytes without gaps. */
static int layout_of_named(xylem_context_t *context, MPI_Datatype handle,
                           xylem_type_t *made)
{
    const xmpi_type_t *type = xmpi_type_find(handle);

    return type == NULL || !type->is_plain || type->size == 0 ||
           xylem_type_contiguous(context, type->size, XYLEM_BYTE, made) !=
               XYLEM_OK;
}

/* With MPI's extent, which nothing but its library knows for sure. */
static int layout_extend(xylem_context_t *context, MPI_Datatype handle,
                         xylem_type_t *made)
{
    xylem_type_part_t part = {0, 1, *made};
    MPI_Aint low, extent;
    MPI_Count size;
    uint64_t bytes;
    int64_t has;
    int failed;

    if (xmpi_host.Type_get_extent(handle, &low, &extent) != MPI_SUCCESS ||
        xmpi_host.Type_size_x(handle, &size) != MPI_SUCCESS ||
        xylem_type_query(context, *made, &bytes, &has) != XYLEM_OK ||
        bytes != (uint64_t)size) {
        xylem_type_destroy(context, part.type);
        return 1;
    }
    if (has == extent)
        return 0;
    failed = xylem_type_create(context, &part, 1, extent, made) != XYLEM_OK;
    xylem_type_destroy(context, part.type);
    return failed;
}

static int layout_make(xylem_context_t *context, MPI_Datatype handle,
                       xylem_type_t *made)
{
    MPI_Aint low, extent = 0;
    recipe_t r;
    int failed = recipe_read(handle, &r), has_child;

    has_child = !failed && r.combiner != MPI_COMBINER_NAMED &&
                r.combiner != MPI_COMBINER_STRUCT && r.types_count == 1;
    if (!failed && r.combiner == MPI_COMBINER_NAMED) {
        failed = layout_of_named(context, handle, made);
    } else if (!failed) {
        if (has_child)
            failed = xmpi_host.Type_get_extent(r.types[0], &low, &extent) !=
                         MPI_SUCCESS ||
                     layout_make(context, r.types[0], &r.child);
        r.child_extent = extent;
        has_child = has_child && !failed;
        failed = failed || layout_combine(context, &r, made) ||
                 layout_extend(context, handle, made);
        if (has_child)
            xylem_type_destroy(context, r.child);
    }
    recipe_drop(&r);
    return failed;
}

/* NOLINTEND(misc-no-recursion) */

int xmpi_type_layout(xmpi_type_t *type, xylem_type_t *layout_out)
{
    xylem_context_t *context =
        atomic_load_explicit(&xmpi_state.context, memory_order_acquire);
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int known = atomic_load_explicit(&type->layout_state, memory_order_acquire);

    if (known == XMPI_LAYOUT_UNKNOWN && context != NULL) {
        pthread_mutex_lock(&lock);
        known = atomic_load_explicit(&type->layout_state, memory_order_relaxed);
        if (known == XMPI_LAYOUT_UNKNOWN) {
            known =
                type->size <= INT32_MAX &&
                        layout_make(context, type->handle, &type->layout) == 0
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
    xylem_context_t *context =
        atomic_load_explicit(&xmpi_state.context, memory_order_acquire);

    if (type->layout_state == XMPI_LAYOUT_THERE && context != NULL)
        xylem_type_destroy(context, type->layout);
}
