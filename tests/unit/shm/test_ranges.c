/* Ranges against a model: a map of units that are taken. */
#include "progress/shm/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/check.h"

enum { UNITS = 4096, STEPS = 40000, PIECES_MAX = 300 };

typedef struct piece {
    uint64_t begin, bytes;
} piece_t;

typedef struct model {
    xyl_ranges_t ranges;
    unsigned char taken[UNITS];
    piece_t pieces[PIECES_MAX];
    uint32_t count;
    uint64_t random;
} model_t;

static uint32_t draw(model_t *model, uint32_t bound)
{
    return random_below(&model->random, bound);
}

/* 1: some place has room. */
static int has_room(const model_t *model, uint64_t bytes, uint64_t align)
{
    uint64_t begin, i;

    for (begin = 0; begin + bytes <= UNITS; begin += align) {
        for (i = 0; i < bytes && !model->taken[begin + i]; i++) {
        }
        if (i == bytes)
            return 1;
    }
    return 0;
}

static void take_some(model_t *model)
{
    uint64_t bytes = 1 + draw(model, draw(model, 8) == 0 ? 2000 : 60);
    uint64_t align = UINT64_C(1) << draw(model, 7), begin, i;
    int fits = has_room(model, bytes, align);

    if (model->count == PIECES_MAX)
        return;
    begin = xyl_ranges_take(&model->ranges, bytes, align);
    CHECK_EQ(begin != XYL_RANGES_NONE, fits);
    if (begin == XYL_RANGES_NONE)
        return;
    CHECK(begin % align == 0 && begin + bytes <= UNITS);
    for (i = 0; i < bytes; i++)
        if (model->taken[begin + i])
            check_failed(__FILE__, __LINE__, "handed out twice");
    memset(model->taken + begin, 1, bytes);
    model->pieces[model->count++] = (piece_t){begin, bytes};
}

static void give_one(model_t *model)
{
    uint32_t which;
    piece_t piece;

    if (model->count == 0)
        return;
    which = draw(model, model->count);
    piece = model->pieces[which];
    model->pieces[which] = model->pieces[--model->count];
    if (piece.bytes > 1)
        CHECK_EQ(xyl_ranges_give(&model->ranges, piece.begin + 1), 0);
    CHECK_EQ(xyl_ranges_give(&model->ranges, piece.begin), piece.bytes);
    CHECK_EQ(xyl_ranges_give(&model->ranges, piece.begin), 0);
    memset(model->taken + piece.begin, 0, piece.bytes);
}

static void test_against_model(void)
{
    model_t *model = calloc(1, sizeof *model);
    uint32_t step;

    if (model == NULL || !xyl_ranges_init(&model->ranges, UNITS))
        abort();
    model->random = 5;
    for (step = 0; step < STEPS && check_failures() == 0; step++)
        if (draw(model, 100) < (step / 2000 % 2 == 0 ? 60u : 40u))
            take_some(model);
        else
            give_one(model);
    while (model->count != 0)
        give_one(model);
    /* All of it is one range again. */
    CHECK_EQ(xyl_ranges_take(&model->ranges, UNITS, 1), 0);
    CHECK_EQ(xyl_ranges_take(&model->ranges, 1, 1), XYL_RANGES_NONE);
    xyl_ranges_fini(&model->ranges);
    free(model);
}

static const check_case_t cases[] = {
    {"against_model", test_against_model},
};
CHECK_MAIN(cases)
