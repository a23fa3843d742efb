/* Makes types of xylem's from the program's datatypes, by how these were made,
 * so that data with gaps are packed and unpacked while they travel. Data
 * without such a type go through MPI_Pack (pack.c). */
#include <pthread.h>
#include <stdlib.h>

#include "bindings/mpi/call.h"
#include "bindings/mpi/pattern.h"

enum { ROWS_MAX = 1 << 20 }; /* a type with more rows is packed */

/* Types nest, as deep as the program has made them.
 * NOLINTBEGIN(misc-no-recursion) */

/* ---- types of xylem's ---- */

/* 0: good. */
static int layout_make(xylem_context_t *context, MPI_Datatype handle,
                       xylem_type_t *made);

/* Makes a type of the rows, once. */
static int layout_of_rows(xylem_context_t *context, const xmpi_pattern_t *p,
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
static int layout_repeat(xylem_context_t *context, const xmpi_repetition_t *by,
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

static int children_make(xylem_context_t *context, const xmpi_recipe_t *r,
                         const xmpi_pattern_t *p, xylem_type_t *children)
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

static int layout_of_pattern(xylem_context_t *context, const xmpi_recipe_t *r,
                             const xmpi_pattern_t *p, xylem_type_t *made)
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
    xmpi_recipe_t r;
    xmpi_pattern_t p;
    int failed = xmpi_pattern_read(handle, &r, &p);

    if (r.combiner == MPI_COMBINER_NAMED)
        failed = layout_of_named(context, handle, made);
    else if (!failed)
        failed = layout_of_pattern(context, &r, &p, made) ||
                 layout_extend(context, handle, made);
    xmpi_pattern_drop(&r, &p);
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

/* NOLINTEND(misc-no-recursion) */
