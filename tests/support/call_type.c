#include "tests/support/call_type.h"

#include <stdlib.h>

static void sure(xylem_status_t status)
{
    if (status != XYLEM_OK)
        abort(); /* the test's own type is wrong, not a tested one */
}

/* Pieces of `bytes` bytes, `stride` apart; the next of the type's map. */
static void describe(call_type_t *type, uint32_t *at, int64_t offset,
                     uint32_t pieces, int64_t stride, uint32_t bytes)
{
    uint32_t piece, byte;

    for (piece = 0; piece < pieces; piece++)
        for (byte = 0; byte < bytes; byte++)
            type->offsets[(*at)++] = offset + piece * stride + byte;
}

static void finish(call_type_t *type, uint32_t bytes, int64_t extent)
{
    uint32_t i;

    type->unit = bytes / CALL_ELEMENT;
    type->extent = extent;
    type->low = type->high = type->offsets[0];
    type->in_row = 1;
    for (i = 0; i < bytes; i++) {
        if (i % CALL_ELEMENT != 0 &&
            type->offsets[i] != type->offsets[i - 1] + 1)
            type->in_row = 0;
        if (type->offsets[i] < type->low)
            type->low = type->offsets[i];
        if (type->offsets[i] >= type->high)
            type->high = type->offsets[i] + 1;
    }
}

/* The second element first. */
static xylem_type_t reversed_pair(xylem_context_t *context)
{
    static const uint64_t counts[] = {1, 1};
    static const int64_t offsets[] = {16, 0};
    xylem_type_t handle = 0;

    sure(
        xylem_type_indexed(context, 2, counts, offsets, XYLEM_UINT64, &handle));
    return handle;
}

/* Parts that cut an element, one of them before its address. */
static xylem_type_t shreds(xylem_context_t *context)
{
    static const xylem_type_part_t parts[] = {
        {-7, 4, XYLEM_BYTE}, {5, 3, XYLEM_INT8}, {20, 1, XYLEM_UINT8}};
    xylem_type_t handle = 0;

    sure(xylem_type_create(context, parts, 3, 32, &handle));
    return handle;
}

/* `count` elements and another extent. */
static xylem_type_t stretched(xylem_context_t *context, uint64_t count,
                              int64_t extent)
{
    const xylem_type_part_t part = {0, count, XYLEM_UINT64};
    xylem_type_t handle = 0;

    sure(xylem_type_create(context, &part, 1, extent, &handle));
    return handle;
}

/* The inner type is not needed any more. */
static xylem_type_t vector_of_pairs(xylem_context_t *context)
{
    xylem_type_t pair = reversed_pair(context), handle = 0;

    sure(xylem_type_vector(context, 3, 1, 64, pair, &handle));
    sure(xylem_type_destroy(context, pair));
    return handle;
}

/* Makes a kind that needs several calls; returns the extent. */
static int64_t make_composed(xylem_context_t *context, uint32_t kind,
                             call_type_t *type, uint32_t *at)
{
    int64_t block;

    switch (kind) {
    case 2:
        sure(xylem_type_vector(context, 3, 2, 40, XYLEM_UINT64, &type->handle));
        describe(type, at, 0, 3, 40, 16);
        return 96;
    case 3:
        sure(xylem_type_vector(context, 6, 1, 16, XYLEM_UINT64, &type->handle));
        describe(type, at, 0, 6, 16, 8);
        return 88;
    case 4:
        type->handle = reversed_pair(context);
        describe(type, at, 16, 2, -16, 8);
        return 24;
    case 5:
        type->handle = shreds(context);
        describe(type, at, -7, 1, 0, 4);
        describe(type, at, 5, 1, 0, 3);
        describe(type, at, 20, 1, 0, 1);
        return 32;
    default:
        type->handle = vector_of_pairs(context);
        for (block = 0; block < 3; block++)
            describe(type, at, block * 64 + 16, 2, -16, 8);
        return 152;
    }
}

void call_type_make(xylem_context_t *context, uint32_t kind,
                    xylem_type_t handle, call_type_t *type)
{
    /* count and extent of kinds with one part; 0: of more */
    static const struct {
        uint32_t count;
        int64_t extent;
    } single[CALL_KINDS] = {[1] = {3, 24},
                            [6] = {2, 24},
                            [7] = {1, -16},
                            [8] = {6, 56},
                            [9] = {0, 0}};
    uint32_t at = 0;
    int64_t extent = CALL_ELEMENT;

    *type = (call_type_t){.handle = handle, .is_user = kind != 0};
    if (kind == 0) {
        describe(type, &at, 0, 1, 0, CALL_ELEMENT);
    } else if (single[kind].count != 0) {
        extent = single[kind].extent;
        type->handle = stretched(context, single[kind].count, extent);
        describe(type, &at, 0, 1, 0, single[kind].count * CALL_ELEMENT);
    } else {
        extent = make_composed(context, kind, type, &at);
    }
    finish(type, at, extent);
}

void call_type_drop(xylem_context_t *context, call_type_t *type)
{
    if (type->is_user)
        sure(xylem_type_destroy(context, type->handle));
    type->is_user = 0;
}
