#include "collectives/data/types.h"

#include <inttypes.h>
#include <stdlib.h>

#include "collectives/data/layout_build.h"
#include "runtime/base/status.h"
#include "runtime/core/context.h"

enum { CAPACITY_FIRST = 64 };

/* ---- the table ---- */

static xyl_type_table_t *types_of(const xylem_context_t *context)
{
    return context->attached[XYL_MODULE_TYPES];
}

/* Frees the types that the user has not destroyed. */
static void types_end(xylem_context_t *context)
{
    xyl_type_table_t *table = types_of(context);
    uint32_t i;

    for (i = 0; i < table->capacity; i++)
        xyl_layout_release(table->places[i].layout);
    free(table->places);
}

const xyl_module_t xyl_types_module = {
    .bytes = {[XYL_OWNER_CONTEXT] = sizeof(xyl_type_table_t)},
    .context_ends = types_end,
};

/* Doubles the table, all of whose places are in use. With the lock held. */
static xylem_status_t type_table_grow(xyl_type_table_t *table)
{
    uint32_t old = table->capacity, i;
    uint32_t capacity = old == 0 ? CAPACITY_FIRST : 2 * old;
    xyl_type_place_t *places;

    if (capacity > XYL_USER_TYPES_MAX)
        return XYLEM_ERR_NO_RESOURCE;
    places = realloc(table->places, capacity * sizeof *places);
    if (places == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = old; i < capacity; i++)
        places[i] = (xyl_type_place_t){NULL, i + 1 == capacity ? 0 : i + 2};
    *table = (xyl_type_table_t){places, capacity, old + 1};
    return XYLEM_OK;
}

/* Takes the layout; releases it when there is no place for it. */
static xylem_status_t type_enter(xylem_context_t *context, xyl_layout_t *layout,
                                 xylem_type_t *type_out)
{
    xyl_type_table_t *table = types_of(context);
    xylem_status_t status = XYLEM_OK;
    uint32_t number = 0;

    pthread_mutex_lock(&context->lock);
    if (table->first_free == 0)
        status = type_table_grow(table);
    if (status == XYLEM_OK) {
        number = table->first_free - 1;
        table->first_free = table->places[number].next_free;
        table->places[number].layout = layout;
    }
    pthread_mutex_unlock(&context->lock);
    if (status == XYLEM_OK) {
        *type_out = XYL_USER_TYPE_BASE + number;
        return XYLEM_OK;
    }
    xyl_layout_release(layout);
    if (status == XYLEM_ERR_NO_RESOURCE)
        return xyl_fail(status, "there are %d types already; destroy some",
                        XYL_USER_TYPES_MAX);
    return xyl_fail(status, "no memory for a type");
}

/* NULL: there is no such type of the user's. With the lock held. */
static xyl_type_place_t *type_place_of(xyl_type_table_t *table,
                                       xylem_type_t type)
{
    uint32_t number = type - XYL_USER_TYPE_BASE;

    if (!xyl_type_is_user(type) || number >= table->capacity ||
        table->places[number].layout == NULL)
        return NULL;
    return &table->places[number];
}

/* ---- elements ---- */

/* Finds `count` elements of a type at `offset`, one behind the other. The
 * layout found is acquired. */
static xylem_status_t part_find(xylem_context_t *context, xylem_type_t type,
                                int64_t offset, uint64_t count,
                                xyl_layout_part_t *part_out)
{
    const xyl_layout_t *layout = NULL;
    const xyl_type_place_t *found;
    uint64_t bytes = xylem_type_bytes(type);

    if (xyl_type_is_user(type)) {
        pthread_mutex_lock(&context->lock);
        found = type_place_of(types_of(context), type);
        if (found != NULL) {
            layout = found->layout;
            xyl_layout_acquire(layout);
        }
        pthread_mutex_unlock(&context->lock);
    }
    if (layout == NULL && bytes == 0)
        return xyl_fail(XYLEM_ERR_INVALID_ARG,
                        "there is no type %" PRIu32 "; was it destroyed?",
                        type);
    if (layout == NULL)
        *part_out = (xyl_layout_part_t){NULL,   bytes, (int64_t)bytes,
                                        offset, count, (int64_t)bytes};
    else
        *part_out = (xyl_layout_part_t){layout, layout->bytes, layout->extent,
                                        offset, count,         layout->extent};
    return XYLEM_OK;
}

static void parts_release(const xyl_layout_part_t *parts, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        xyl_layout_release(parts[i].layout);
}

xylem_status_t xyl_types_find_layout(xylem_context_t *context,
                                     xylem_type_t type, uint64_t *bytes_out,
                                     const xyl_layout_t **layout_out)
{
    xyl_layout_part_t part;
    xylem_status_t status = part_find(context, type, 0, 1, &part);

    if (status != XYLEM_OK)
        return status;
    *bytes_out = part.bytes;
    *layout_out = part.layout;
    if (part.layout != NULL && xyl_layout_is_plain(part.layout)) {
        xyl_layout_release(part.layout);
        *layout_out = NULL;
    }
    return XYLEM_OK;
}

/* ---- many parts ---- */

/* The source of a layout's parts: `parts`, or counts with offsets or displs. */
typedef struct source {
    size_t count;
    const xylem_type_part_t *parts; /* else: */
    const uint64_t *counts;
    const int64_t *offsets; /* NULL: displs */
    const uint64_t *displs;
    const xylem_type_t *types; /* NULL: all are `type` */
    xylem_type_t type;
} source_t;

static xylem_type_part_t source_part(const source_t *source, size_t i)
{
    xylem_type_part_t part;

    if (source->parts != NULL)
        return source->parts[i];
    part.offset = source->offsets != NULL ? source->offsets[i]
                                          : (int64_t)source->displs[i];
    part.count = source->counts[i];
    part.type = source->types != NULL ? source->types[i] : source->type;
    return part;
}

/* Writes packed_out as xyl_types_layout_of_blocks does; the layout has been
 * made, so nothing overflows. */
static void sum_up(const xyl_layout_part_t *parts, size_t count,
                   uint64_t *packed_out)
{
    size_t i;

    packed_out[0] = 0;
    for (i = 0; i < count; i++)
        packed_out[i + 1] = packed_out[i] + parts[i].count * parts[i].bytes;
}

static xylem_status_t layout_of_source(xylem_context_t *context,
                                       const source_t *source, int64_t extent,
                                       uint64_t *packed_out,
                                       xyl_layout_t **layout_out)
{
    xyl_layout_part_t *parts = calloc(source->count + 1, sizeof *parts);
    xylem_status_t status = XYLEM_OK;
    size_t found;

    if (parts == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a type");
    for (found = 0; found < source->count; found++) {
        xylem_type_part_t part = source_part(source, found);
        status = part_find(context, part.type, part.offset, part.count,
                           &parts[found]);
        if (status != XYLEM_OK)
            goto release_parts;
    }
    status = xyl_layout_create(parts, found, extent, layout_out);
    if (status == XYLEM_OK && packed_out != NULL)
        sum_up(parts, found, packed_out);
release_parts:
    parts_release(parts, found);
    free(parts);
    return status;
}

xylem_status_t xyl_types_layout_of_blocks(xylem_context_t *context, uint32_t n,
                                          const uint64_t *counts,
                                          const uint64_t *displs,
                                          const xylem_type_t *types,
                                          uint64_t *packed_out,
                                          const xyl_layout_t **layout_out)
{
    source_t source = {
        .count = n, .counts = counts, .displs = displs, .types = types};
    xyl_layout_t *layout;
    xylem_status_t status = layout_of_source(
        context, &source, XYLEM_EXTENT_AUTO, packed_out, &layout);

    if (status == XYLEM_OK)
        *layout_out = layout;
    return status;
}

/* ---- public functions ---- */

/* `missing`: a further argument that the call lacks; NULL: none. */
static xylem_status_t type_call_check(const xylem_context_t *context,
                                      const xylem_type_t *type_out,
                                      const char *missing, const char *call)
{
    xylem_status_t status = xyl_context_check(context, call);

    if (type_out == NULL)
        missing = "type_out";
    if (status == XYLEM_OK && missing != NULL)
        status = xyl_refuse(call, "%s is NULL", missing);
    return status;
}

static xylem_status_t create_of(xylem_context_t *context,
                                const source_t *source, int64_t extent,
                                const char *missing, const char *call,
                                xylem_type_t *type_out)
{
    xyl_layout_t *layout;
    xylem_status_t status = type_call_check(context, type_out, missing, call);

    if (status == XYLEM_OK)
        status = layout_of_source(context, source, extent, NULL, &layout);
    return status == XYLEM_OK ? type_enter(context, layout, type_out) : status;
}

xylem_status_t xylem_type_create(xylem_context_t *context,
                                 const xylem_type_part_t *parts,
                                 size_t parts_count, int64_t extent,
                                 xylem_type_t *type_out)
{
    source_t source = {.count = parts_count, .parts = parts};
    const char *missing = parts == NULL && parts_count != 0 ? "parts" : NULL;

    return create_of(context, &source, extent, missing, "xylem_type_create",
                     type_out);
}

xylem_status_t xylem_type_contiguous(xylem_context_t *context, uint64_t count,
                                     xylem_type_t type, xylem_type_t *type_out)
{
    xylem_type_part_t part = {0, count, type};
    source_t source = {.count = 1, .parts = &part};

    return create_of(context, &source, XYLEM_EXTENT_AUTO, NULL,
                     "xylem_type_contiguous", type_out);
}

xylem_status_t xylem_type_vector(xylem_context_t *context, uint64_t count,
                                 uint64_t block_count, int64_t stride_bytes,
                                 xylem_type_t type, xylem_type_t *type_out)
{
    xyl_layout_part_t part;
    xyl_layout_t *block, *layout = NULL;
    xylem_status_t status =
        type_call_check(context, type_out, NULL, "xylem_type_vector");

    if (status == XYLEM_OK)
        status = part_find(context, type, 0, block_count, &part);
    if (status != XYLEM_OK)
        return status;
    status = xyl_layout_create(&part, 1, XYLEM_EXTENT_AUTO, &block);
    xyl_layout_release(part.layout);
    if (status != XYLEM_OK)
        return status;
    part = (xyl_layout_part_t){block, block->bytes, block->extent,
                               0,     count,        stride_bytes};
    status = xyl_layout_create(&part, 1, XYLEM_EXTENT_AUTO, &layout);
    xyl_layout_release(block);
    return status == XYLEM_OK ? type_enter(context, layout, type_out) : status;
}

xylem_status_t xylem_type_indexed(xylem_context_t *context, size_t n,
                                  const uint64_t *counts,
                                  const int64_t *offsets_bytes,
                                  xylem_type_t type, xylem_type_t *type_out)
{
    source_t source = {
        .count = n, .counts = counts, .offsets = offsets_bytes, .type = type};
    int lacks = n != 0 && (counts == NULL || offsets_bytes == NULL);

    return create_of(context, &source, XYLEM_EXTENT_AUTO,
                     lacks ? "counts or offsets_bytes" : NULL,
                     "xylem_type_indexed", type_out);
}

xylem_status_t xylem_type_query(xylem_context_t *context, xylem_type_t type,
                                uint64_t *bytes_out, int64_t *extent_out)
{
    xyl_layout_part_t part;
    xylem_status_t status = xyl_context_check(context, "xylem_type_query");

    if (status == XYLEM_OK)
        status = part_find(context, type, 0, 1, &part);
    if (status != XYLEM_OK)
        return status;
    if (bytes_out != NULL)
        *bytes_out = part.bytes;
    if (extent_out != NULL)
        *extent_out = part.extent;
    xyl_layout_release(part.layout);
    return XYLEM_OK;
}

xylem_status_t xylem_type_destroy(xylem_context_t *context, xylem_type_t type)
{
    xylem_status_t status = xyl_context_check(context, "xylem_type_destroy");
    const xyl_layout_t *layout = NULL;
    xyl_type_place_t *found;

    if (status != XYLEM_OK)
        return status;
    pthread_mutex_lock(&context->lock);
    found = type_place_of(types_of(context), type);
    if (found != NULL) {
        layout = found->layout;
        *found = (xyl_type_place_t){NULL, types_of(context)->first_free};
        types_of(context)->first_free = type - XYL_USER_TYPE_BASE + 1;
    }
    pthread_mutex_unlock(&context->lock);
    if (layout == NULL)
        return xyl_fail(XYLEM_ERR_INVALID_HANDLE,
                        "xylem_type_destroy: there is no type %" PRIu32
                        " of the user's",
                        type);
    xyl_layout_release(layout);
    return XYLEM_OK;
}
