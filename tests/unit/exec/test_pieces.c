/* The index arithmetic of kernels for elements with gaps, against layouts:
 * every packed byte has its place, and units of several bytes stay within
 * pieces. */
#include "progress/exec/pieces.h"

#include <string.h>

#include "collectives/data/layout_build.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum { PARTS_MAX = 5, ELEMENTS = 3, MEMORY = 1 << 16, MIDDLE = MEMORY / 2 };

static unsigned char memory[MEMORY], packed[MEMORY];

static xyl_layout_t *layout_draw(uint64_t *random)
{
    xyl_layout_part_t parts[PARTS_MAX];
    uint32_t count = random_between(random, 1, PARTS_MAX), i;
    uint32_t unit = UINT32_C(1) << random_below(random, 5);
    xyl_layout_t *inner, *outer;

    for (i = 0; i < count; i++)
        parts[i] = (xyl_layout_part_t){
            .bytes = random_between(random, 1, 6) * unit,
            .extent = 6 * unit,
            .offset = (int64_t)(i * 64 + random_below(random, 3)) * unit,
            .count = random_between(random, 1, 4),
            .stride = (int64_t)(8 * unit)};
    CHECK_EQ(xyl_layout_create(parts, count, XYLEM_EXTENT_AUTO, &inner),
             XYLEM_OK);
    parts[0] = (xyl_layout_part_t){
        .layout = inner,
        .bytes = inner->bytes,
        .extent = inner->extent,
        .count = random_between(random, 1, 3),
        .stride = inner->extent + (int64_t)random_below(random, 4) * unit};
    CHECK_EQ(xyl_layout_create(parts, 1, XYLEM_EXTENT_AUTO, &outer), XYLEM_OK);
    xyl_layout_release(inner);
    return outer;
}

static xyl_pieces_t pieces_of(const xyl_layout_t *layout)
{
    xyl_pieces_t pieces = {.level_count = layout->level_count,
                           .block_count = layout->block_count,
                           .blocks = layout->blocks};

    memcpy(pieces.levels, layout->levels, sizeof layout->levels);
    return pieces;
}

static void check_places(const xyl_layout_t *layout)
{
    const xyl_pieces_t pieces = pieces_of(layout);
    uint64_t bytes = layout->bytes * ELEMENTS, i, k;
    uint32_t unit = xyl_pieces_unit(&pieces, 0, 0, 16);

    if (bytes > MEMORY || layout->extent * ELEMENTS > MIDDLE)
        return;
    xyl_layout_pack(layout, memory + MIDDLE, 0, bytes, packed);
    for (i = 0; i < bytes; i++)
        CHECK_EQ(memory[MIDDLE + xyl_pieces_place(&pieces, i)], packed[i]);
    for (i = 0; i + unit <= bytes; i += unit)
        for (k = 1; k < unit; k++)
            CHECK_EQ(xyl_pieces_place(&pieces, i + k),
                     xyl_pieces_place(&pieces, i) + (int64_t)k);
}

static void test_places(void)
{
    uint64_t random = 1;
    uint32_t i;

    for (i = 0; i < MEMORY; i++)
        memory[i] = (unsigned char)random_below(&random, 256);
    for (i = 0; i < 300; i++) {
        xyl_layout_t *layout = layout_draw(&random);
        check_places(layout);
        xyl_layout_release(layout);
    }
}

static void test_plain(void)
{
    const xyl_pieces_t plain = {.level_count = 0};

    CHECK_EQ(xyl_pieces_place(&plain, 12345), 12345);
    CHECK_EQ(xyl_pieces_unit(&plain, 0x1000, 32, 16), 16);
    CHECK_EQ(xyl_pieces_unit(&plain, 0x1004, 32, 16), 4);
    CHECK_EQ(xyl_pieces_unit(&plain, 0x1000, 3, 16), 1);
}

static const check_case_t cases[] = {
    {"pieces: where packed bytes lie", test_places},
    {"pieces: plain bytes", test_plain},
};

int main(int argc, char **argv)
{
    return check_run(cases, sizeof cases / sizeof cases[0], argc, argv);
}
