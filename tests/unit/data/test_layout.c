/* Layouts against a naive model of a type: a list that says where each packed
 * byte of an element lies. Types are nested at random by the public functions,
 * with gaps, negative offsets, parts without data, pieces that overlap, and
 * extents below and above the data; packing and unpacking are tried for all
 * ranges of bytes of short types and for many of long ones. test_types.c tests
 * how compact layouts are, refusals, and the lives of types. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "tests/support/check.h"
#include "tests/support/fabric.h"

enum {
    MODEL_BYTES_MAX = 2048, /* packed, of an element */
    PARTS_MAX = 5,
    TYPES = 24, /* parts of further types */
    ROUNDS = 12,
    ELEMENTS_MAX = 4,
    ALL_RANGES_BYTES_MAX = 48,
    RANGES = 64
};

#define MUST(call) CHECK_EQ(call, XYLEM_OK)

/* ------------------------------------------------------------------------ */
/* The model                                                                */

typedef struct model {
    xylem_type_t type;
    size_t bytes;
    int64_t at[MODEL_BYTES_MAX]; /* of each packed byte, from the element */
    int64_t extent;
} model_t;

static uint64_t random_state;

static uint64_t random_below(uint64_t limit)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (random_state * UINT64_C(0x2545f4914f6cdd1d) >> 16) % limit;
}

static int64_t random_offset(void)
{
    return random_below(3) == 0 ? (int64_t)random_below(64) * 4 - 64
                                : (int64_t)random_below(200) - 60;
}

static void model_of_bytes(model_t *model, xylem_type_t type, size_t bytes)
{
    size_t i;

    model->type = type;
    model->bytes = bytes;
    model->extent = (int64_t)bytes;
    for (i = 0; i < bytes; i++)
        model->at[i] = (int64_t)i;
}

/* `count` elements of a model, from `offset` on, `stride` bytes apart. */
typedef struct model_part {
    const model_t *of;
    int64_t offset;
    uint64_t count;
    int64_t stride;
} model_part_t;

/* false: too long for a model. */
static bool model_of_parts(model_t *model, const model_part_t *parts, size_t n)
{
    int64_t begin = 0, end = 0;
    bool is_first = true;
    size_t p, i, byte;

    model->bytes = 0;
    for (p = 0; p < n; p++) {
        const model_t *of = parts[p].of;
        if (model->bytes + of->bytes * parts[p].count > MODEL_BYTES_MAX)
            return false;
        for (i = 0; i < parts[p].count; i++) {
            int64_t at = parts[p].offset + (int64_t)i * parts[p].stride;
            int64_t low = of->extent < 0 ? at + of->extent : at;
            int64_t high = of->extent < 0 ? at : at + of->extent;
            begin = is_first || low < begin ? low : begin;
            end = is_first || high > end ? high : end;
            is_first = false;
            for (byte = 0; byte < of->bytes; byte++)
                model->at[model->bytes++] = at + of->at[byte];
        }
    }
    model->extent = end - begin;
    return true;
}

static bool model_is_plain(const model_t *model)
{
    size_t i;

    for (i = 0; i < model->bytes; i++)
        if (model->at[i] != (int64_t)i)
            return false;
    return model->bytes == 0 || model->extent == (int64_t)model->bytes;
}

/* ------------------------------------------------------------------------ */
/* Random types, with their models                                          */

static xylem_context_t *context;
static model_t models[TYPES];

static const model_t *call_model(size_t made)
{
    return &models[random_below(made)];
}

static bool draw_create(model_t *model, size_t made)
{
    xylem_type_part_t parts[PARTS_MAX];
    model_part_t model_parts[PARTS_MAX];
    size_t n = (size_t)random_below(PARTS_MAX + 1), i;
    int64_t extent = XYLEM_EXTENT_AUTO;

    for (i = 0; i < n; i++) {
        const model_t *of = call_model(made);
        uint64_t count = random_below(4) == 0 ? 0 : random_below(5);
        int64_t offset = random_offset();
        /* Often right behind the part before. */
        if (i > 0 && random_below(3) == 0)
            offset = parts[i - 1].offset + (int64_t)parts[i - 1].count *
                                               model_parts[i - 1].of->extent;
        parts[i] = (xylem_type_part_t){offset, count, of->type};
        model_parts[i] = (model_part_t){of, offset, count, of->extent};
    }
    if (!model_of_parts(model, model_parts, n))
        return false;
    if (random_below(2) == 0)
        model->extent = extent = random_offset();
    MUST(xylem_type_create(context, parts, n, extent, &model->type));
    return true;
}

static bool draw_contiguous(model_t *model, size_t made)
{
    const model_t *of = call_model(made);
    uint64_t count = random_below(7);

    if (!model_of_parts(model, &(model_part_t){of, 0, count, of->extent}, 1))
        return false;
    MUST(xylem_type_contiguous(context, count, of->type, &model->type));
    return true;
}

static bool draw_vector(model_t *model, size_t made)
{
    static model_t block;
    const model_t *of = call_model(made);
    uint64_t count = random_below(7), block_count = random_below(4);
    int64_t stride = random_offset();

    if (!model_of_parts(&block, &(model_part_t){of, 0, block_count, of->extent},
                        1))
        return false;
    if (!model_of_parts(model, &(model_part_t){&block, 0, count, stride}, 1))
        return false;
    MUST(xylem_type_vector(context, count, block_count, stride, of->type,
                           &model->type));
    return true;
}

static bool draw_indexed(model_t *model, size_t made)
{
    const model_t *of = call_model(made);
    model_part_t parts[PARTS_MAX];
    uint64_t counts[PARTS_MAX];
    int64_t offsets[PARTS_MAX];
    size_t n = (size_t)random_below(PARTS_MAX + 1), i;
    int64_t step = random_offset();

    for (i = 0; i < n; i++) {
        counts[i] = random_below(3) == 0 ? random_below(4) : 1;
        offsets[i] = random_below(3) == 0 ? random_offset() : (int64_t)i * step;
        parts[i] = (model_part_t){of, offsets[i], counts[i], of->extent};
    }
    if (!model_of_parts(model, parts, n))
        return false;
    MUST(xylem_type_indexed(context, n, counts, offsets, of->type,
                            &model->type));
    return true;
}

static bool (*const draws[])(model_t *model, size_t made) = {
    draw_create, draw_contiguous, draw_vector, draw_indexed};

/* Predefined types first, then types of those before. */
static void draw_all(void)
{
    size_t made;

    model_of_bytes(&models[0], XYLEM_BYTE, 1);
    model_of_bytes(&models[1], XYLEM_FLOAT32, 4);
    model_of_bytes(&models[2], XYLEM_FLOAT64, 8);
    model_of_bytes(&models[3], XYLEM_COMPLEX_FLOAT64, 16);
    model_of_bytes(&models[4], XYLEM_TYPE_BLOCK(3), 3);
    for (made = 5; made < TYPES;)
        if (draws[random_below(4)](&models[made], made))
            made++;
}

/* ------------------------------------------------------------------------ */
/* Packing and unpacking                                                    */

/* A buffer of elements whose ends are those of the memory. */
typedef struct room {
    unsigned char *memory;
    unsigned char *base; /* the address of element 0 */
    size_t bytes;
    unsigned char *packed, *before;
    unsigned char *writers, *matches; /* [bytes] */
} room_t;

static int64_t place_of(const model_t *model, uint64_t packed)
{
    return (int64_t)(packed / model->bytes) * model->extent +
           model->at[packed % model->bytes];
}

static void room_make(room_t *room, const model_t *model, uint64_t elements)
{
    uint64_t packed = model->bytes * elements, i;
    int64_t low = 0, high = 0;

    for (i = 0; i < packed; i++) {
        int64_t place = place_of(model, i);
        low = i == 0 || place < low ? place : low;
        high = i == 0 || place + 1 > high ? place + 1 : high;
    }
    room->bytes = (size_t)(high - low);
    room->memory = malloc(room->bytes);
    room->base = room->memory - low;
    room->packed = malloc(packed);
    room->before = malloc(room->bytes);
    room->writers = malloc(room->bytes);
    room->matches = malloc(room->bytes);
}

static void room_free(room_t *room)
{
    free(room->memory);
    free(room->packed);
    free(room->before);
    free(room->writers);
    free(room->matches);
}

static void fill(unsigned char *memory, size_t bytes)
{
    size_t i;

    for (i = 0; i < bytes; i++)
        memory[i] = (unsigned char)random_below(256);
}

static bool packs(const model_t *model, const xyl_layout_t *layout,
                  room_t *room, uint64_t offset, size_t bytes)
{
    /* A block of its own, so that the sanitizer finds a byte too many. */
    unsigned char *packed = malloc(bytes != 0 ? bytes : 1);
    bool right = true;
    size_t i;

    xyl_layout_pack(layout, room->base, offset, bytes, packed);
    for (i = 0; i < bytes; i++)
        right &= packed[i] == room->base[place_of(model, offset + i)];
    free(packed);
    return right;
}

/* If several packed bytes go to one place, any of them may stay there. */
static bool unpacks(const model_t *model, const xyl_layout_t *layout,
                    room_t *room, uint64_t offset, size_t bytes)
{
    unsigned char *packed = malloc(bytes != 0 ? bytes : 1);
    bool right = true;
    size_t i;

    fill(packed, bytes);
    memcpy(room->before, room->memory, room->bytes);
    memset(room->writers, 0, room->bytes);
    memset(room->matches, 0, room->bytes);
    xyl_layout_unpack(layout, room->base, offset, bytes, packed);
    for (i = 0; i < bytes; i++) {
        size_t place =
            (size_t)(room->base + place_of(model, offset + i) - room->memory);
        room->writers[place] = 1;
        room->matches[place] |= room->memory[place] == packed[i];
    }
    for (i = 0; i < room->bytes; i++)
        right &= room->writers[i] ? room->matches[i]
                                  : room->memory[i] == room->before[i];
    free(packed);
    return right;
}

static void try_range(const model_t *model, const xyl_layout_t *layout,
                      room_t *room, uint64_t offset, size_t bytes)
{
    char what[96];

    if (packs(model, layout, room, offset, bytes) &&
        unpacks(model, layout, room, offset, bytes))
        return;
    snprintf(what, sizeof what, "bytes [%zu, +%zu) of elements of %zu bytes",
             (size_t)offset, bytes, model->bytes);
    check_failed(__FILE__, __LINE__, what);
}

static void try_layout(const model_t *model, const xyl_layout_t *layout)
{
    uint64_t elements = 1 + random_below(ELEMENTS_MAX), i, offset;
    uint64_t packed = elements * model->bytes;
    room_t room;

    room_make(&room, model, elements);
    fill(room.memory, room.bytes);
    if (packed <= ALL_RANGES_BYTES_MAX) {
        for (offset = 0; offset <= packed; offset++)
            for (i = 0; i <= packed - offset; i++)
                try_range(model, layout, &room, offset, (size_t)i);
    } else {
        try_range(model, layout, &room, 0, (size_t)packed);
        for (i = 0; i < RANGES; i++) {
            offset = random_below(packed);
            try_range(model, layout, &room, offset,
                      (size_t)random_below(packed - offset + 1));
        }
    }
    room_free(&room);
}

/* The layout keeps its own promises about itself. */
static void inspect(const model_t *model, const xyl_layout_t *layout)
{
    int64_t low = model->at[0], high = model->at[0] + 1;
    size_t i;

    for (i = 0; i < model->bytes; i++) {
        low = model->at[i] < low ? model->at[i] : low;
        high = model->at[i] + 1 > high ? model->at[i] + 1 : high;
    }
    CHECK_EQ(layout->bytes, model->bytes);
    CHECK_EQ(layout->extent, model->extent);
    CHECK_EQ(layout->low, low);
    CHECK_EQ(layout->high, high);
    CHECK(layout->level_count <= XYL_LAYOUT_LEVELS_MAX);
    for (i = 1; i < layout->level_count; i++)
        CHECK(layout->levels[i].repeat >= 2);
    for (i = 0; i < layout->block_count; i++)
        CHECK(layout->blocks[i].repeat >= 1 && layout->blocks[i].bytes >= 1);
}

static void try_type(const model_t *model)
{
    const xyl_layout_t *layout = NULL;
    uint64_t bytes = 0, found = 0;
    int64_t extent = 0;

    MUST(xylem_type_query(context, model->type, &bytes, &extent));
    CHECK_EQ(bytes, model->bytes);
    CHECK_EQ(extent, model->extent);
    MUST(xyl_types_find_layout(context, model->type, &found, &layout));
    CHECK_EQ(found, model->bytes);
    CHECK_EQ(layout == NULL, model_is_plain(model));
    if (layout == NULL)
        return;
    inspect(model, layout);
    try_layout(model, layout);
    xyl_layout_release(layout);
}

/* ------------------------------------------------------------------------ */
/* Cases                                                                    */

static fabric_t *fabric_start(void)
{
    fabric_t *fabric = fabric_create(1, &(fabric_options_t){.seed = 1});

    context = fabric_context(fabric, 0);
    return fabric;
}

static void destroy_user_types(void)
{
    size_t i;

    for (i = 0; i < TYPES; i++)
        if (xyl_type_is_user(models[i].type))
            MUST(xylem_type_destroy(context, models[i].type));
}

static void test_random(void)
{
    fabric_t *fabric = fabric_start();
    int round;
    size_t i;

    random_state = UINT64_C(88172645463325252);
    for (round = 0; round < ROUNDS; round++) {
        draw_all();
        for (i = 0; i < TYPES; i++)
            try_type(&models[i]);
        destroy_user_types();
    }
    fabric_destroy(fabric);
}

static void test_blocks(void)
{
    fabric_t *fabric = fabric_start();
    static model_t all;
    model_part_t parts[PARTS_MAX];
    xylem_type_t types[PARTS_MAX];
    uint64_t counts[PARTS_MAX], displs[PARTS_MAX], packed[PARTS_MAX + 1];
    const xyl_layout_t *layout = NULL;
    uint64_t sum;
    uint32_t n, i;
    int round;

    random_state = UINT64_C(362436069);
    draw_all();
    for (round = 0; round < 4 * ROUNDS; round++) {
        n = (uint32_t)random_below(PARTS_MAX + 1);
        for (i = 0; i < n; i++) {
            const model_t *of = call_model(TYPES);
            counts[i] = random_below(3);
            displs[i] = random_below(300);
            types[i] = of->type;
            parts[i] =
                (model_part_t){of, (int64_t)displs[i], counts[i], of->extent};
        }
        if (!model_of_parts(&all, parts, n))
            continue;
        MUST(xyl_types_layout_of_blocks(context, n, counts, displs, types,
                                        packed, &layout));
        for (i = 0, sum = 0; i < n; sum += counts[i] * parts[i].of->bytes, i++)
            CHECK_EQ(packed[i], sum);
        CHECK_EQ(packed[n], all.bytes);
        if (all.bytes != 0) {
            inspect(&all, layout);
            try_layout(&all, layout);
        }
        xyl_layout_release(layout);
    }
    destroy_user_types();
    fabric_destroy(fabric);
}

/* Long lists in which parts touch, or follow at distances that are equal for a
 * while: joined parts must stay the same bytes. */
static void test_lists(void)
{
    enum { LENGTH = 12 };
    fabric_t *fabric = fabric_start();
    static model_t all;
    int round;

    random_state = UINT64_C(521288629);
    draw_all();
    for (round = 0; round < 40 * ROUNDS; round++) {
        xylem_type_part_t parts[LENGTH];
        model_part_t model_parts[LENGTH];
        const model_t *of = call_model(TYPES);
        int64_t at = random_offset(), step = random_offset();
        size_t i;
        for (i = 0; i < LENGTH; i++) {
            parts[i] = (xylem_type_part_t){at, 1 + random_below(2), of->type};
            model_parts[i] = (model_part_t){of, at, parts[i].count, of->extent};
            if (random_below(6) == 0)
                of = call_model(5);
            if (random_below(3) == 0)
                at += (int64_t)parts[i].count * model_parts[i].of->extent;
            else if (random_below(6) == 0)
                at = random_offset();
            else
                at += step;
        }
        if (!model_of_parts(&all, model_parts, LENGTH))
            continue;
        MUST(xylem_type_create(context, parts, LENGTH, XYLEM_EXTENT_AUTO,
                               &all.type));
        try_type(&all);
        MUST(xylem_type_destroy(context, all.type));
    }
    destroy_user_types();
    fabric_destroy(fabric);
}

/* More nests than a layout has levels. */
static void test_deep(void)
{
    enum { DEPTH = 9 };
    static const int64_t strides[DEPTH] = {9,    31,   101,   333,  1001,
                                           3500, 9999, 31000, 99999};
    static model_t nest[DEPTH + 1];
    fabric_t *fabric = fabric_start();
    int depth;

    random_state = 7;
    model_of_bytes(&nest[0], XYLEM_INT32, 4);
    for (depth = 0; depth < DEPTH; depth++) {
        const model_t *of = &nest[depth];
        CHECK(model_of_parts(&nest[depth + 1],
                             &(model_part_t){of, 0, 2, strides[depth]}, 1));
        MUST(xylem_type_vector(context, 2, 1, strides[depth], of->type,
                               &nest[depth + 1].type));
        try_type(&nest[depth + 1]);
    }
    fabric_destroy(fabric);
}

/* A pattern larger than a tile of the copy loops. */
static void test_large(void)
{
    enum { PIECES = 3000, EXTENT = 40960, ELEMENTS = 5 };
    static unsigned char from[EXTENT * ELEMENTS], to[EXTENT * ELEMENTS];
    static unsigned char packed[(PIECES * 4 + 8) * ELEMENTS];
    fabric_t *fabric = fabric_start();
    const xyl_layout_t *layout = NULL;
    xylem_type_t column = 0, type = 0;
    uint64_t bytes = 0;
    size_t i;

    MUST(xylem_type_vector(context, PIECES, 1, 12, XYLEM_INT32, &column));
    MUST(xylem_type_create(context,
                           (const xylem_type_part_t[]){
                               {0, 1, column}, {EXTENT - 8, 1, XYLEM_FLOAT64}},
                           2, EXTENT, &type));
    MUST(xyl_types_find_layout(context, type, &bytes, &layout));
    CHECK_EQ(layout->block_count, 2);
    CHECK_EQ(bytes * ELEMENTS, sizeof packed);
    random_state = 1;
    fill(from, sizeof from);
    xyl_layout_pack(layout, from, 0, sizeof packed, packed);
    for (i = 0; i < sizeof packed; i++) {
        size_t element = i / bytes, inside = i % bytes;
        size_t at = inside < PIECES * 4 ? inside / 4 * 12 + inside % 4
                                        : EXTENT - 8 + inside - PIECES * 4;
        CHECK(packed[i] == from[element * EXTENT + at]);
    }
    xyl_layout_unpack(layout, to, 0, sizeof packed, packed);
    for (i = 0; i < sizeof to; i++) {
        size_t at = i % EXTENT;
        bool is_data = at < PIECES * 12 ? at % 12 < 4 : at >= EXTENT - 8;
        CHECK(to[i] == (is_data ? from[i] : 0));
    }
    xyl_layout_release(layout);
    fabric_destroy(fabric);
}

/* Packed offsets far beyond the memory, of elements that share bytes. */
static void test_far(void)
{
    const xylem_type_part_t word = {0, 1, XYLEM_UINT32};
    fabric_t *fabric = fabric_start();
    const xyl_layout_t *layout = NULL;
    uint32_t value = 0x04030201;
    uint64_t bytes = 0;
    unsigned char packed[6];
    xylem_type_t shared = 0, many = 0;

    MUST(xylem_type_create(context, &word, 1, 0, &shared));
    MUST(xylem_type_contiguous(context, UINT64_C(1) << 60, shared, &many));
    MUST(xyl_types_find_layout(context, many, &bytes, &layout));
    CHECK_EQ(layout->bytes, UINT64_C(1) << 62);
    xyl_layout_pack(layout, &value, (UINT64_C(3) << 62) - 3, 6, packed);
    CHECK(memcmp(packed, (char *)&value + 1, 3) == 0);
    CHECK(memcmp(packed + 3, &value, 3) == 0);
    xyl_layout_release(layout);
    fabric_destroy(fabric);
}

static const check_case_t cases[] = {
    {"layout: random nests match the model", test_random},
    {"layout: blocks of an alltoallw match the model", test_blocks},
    {"layout: lists that can be joined match the model", test_lists},
    {"layout: nests deeper than the levels", test_deep},
    {"layout: patterns larger than a tile", test_large},
    {"layout: packed offsets near 2^64", test_far},
};

CHECK_MAIN(cases)
