/* The window of an edge, against a model that keeps a list: every window, every
 * limit, random orders of readiness and completion. Then two edges that talk to
 * each other: the receiver posts all indexes that the sender posts. */
#include "collectives/stages/edge.h"

#include <string.h>

#include "runtime/base/bits.h"
#include "simulator/random.h"
#include "tests/support/check.h"

enum { COUNT_MAX = 200 };

/* The state of each index, on one side. */
typedef struct model {
    uint64_t count;
    uint8_t ready[COUNT_MAX], posted[COUNT_MAX], finished[COUNT_MAX];
} model_t;

static uint64_t model_base(const model_t *model)
{
    uint64_t base = 0;

    while (base < model->count && model->finished[base])
        base++;
    return base;
}

static uint64_t model_pick(const model_t *model, uint32_t window,
                           uint32_t limit)
{
    uint64_t base = model_base(model), index, inflight = 0;

    for (index = 0; index < model->count; index++)
        inflight += model->posted[index] && !model->finished[index];
    if (inflight == limit)
        return XYL_EDGE_NO_INDEX;
    for (index = base; index < base + window && index < model->count; index++)
        if (model->ready[index] && !model->posted[index])
            return index;
    return XYL_EDGE_NO_INDEX;
}

static uint64_t random_of(uint64_t *random, const uint8_t *wanted,
                          const uint8_t *unwanted, uint64_t count)
{
    uint64_t first = random_below(random, (uint32_t)count), i;

    for (i = 0; i < count; i++) {
        uint64_t index = (first + i) % count;
        if ((wanted == NULL || wanted[index]) && !unwanted[index])
            return index;
    }
    return XYL_EDGE_NO_INDEX;
}

/* Checks that each index that is posted and not finished has its own slot. */
static void slots_are_apart(const xyl_edge_t *edge, const model_t *model)
{
    uint64_t i;

    CHECK(edge->slot_mask < XYL_WINDOW_MAX);
    for (i = 0; i < model->count; i++)
        if (model->posted[i] && !model->finished[i])
            CHECK_EQ(xyl_edge_slot(edge, i)->index, i);
}

static void post(xyl_edge_t *edge, model_t *model, const uint64_t *ready)
{
    for (;;) {
        uint64_t index = xyl_edge_pick(edge, xyl_bits_from(ready, edge->base));
        uint64_t wanted = model_pick(model, edge->window, edge->limit);
        CHECK_EQ(index, wanted);
        if (index != wanted || index == XYL_EDGE_NO_INDEX)
            return;
        CHECK(xyl_edge_post(edge, index) == xyl_edge_slot(edge, index));
        CHECK_EQ(xyl_edge_slot(edge, index)->index, index);
        slots_are_apart(edge, model);
        model->posted[index] = 1;
    }
}

static void one_edge(uint32_t window, uint32_t limit, uint64_t count,
                     uint64_t seed)
{
    uint64_t ready[COUNT_MAX / 64 + 2] = {0}, random = seed, index;
    xyl_slot_t slots[XYL_WINDOW_MAX];
    xyl_edge_t edge = {.window = window,
                       .limit = limit,
                       .slot_mask = xyl_edge_slot_count(window) - 1,
                       .slots = slots};
    model_t model = {.count = count};

    xyl_edge_reset(&edge);
    while (model_base(&model) < count) {
        index = random_of(&random, NULL, model.ready, count);
        if (index != XYL_EDGE_NO_INDEX && random_below(&random, 2) == 0) {
            model.ready[index] = 1;
            xyl_bits_set(ready, index);
        }
        post(&edge, &model, ready);
        index = random_of(&random, model.posted, model.finished, count);
        if (index != XYL_EDGE_NO_INDEX && random_below(&random, 2) == 0) {
            model.finished[index] = 1;
            xyl_edge_finish(&edge, index);
        }
        CHECK_EQ(edge.base, model_base(&model));
        if (edge.base != model_base(&model))
            return;
    }
    CHECK_EQ(edge.inflight, 0);
    CHECK(edge.posted == 0 && edge.finished == 0);
}

static void test_windows(void)
{
    static const uint64_t counts[] = {1, 2, 7, 63, 64, 65, 128, 130};
    uint32_t window, limit;
    size_t i;

    for (window = 1; window <= XYL_WINDOW_MAX; window++)
        for (limit = 1; limit <= window; limit += 1 + window / 5)
            for (i = 0; i < sizeof counts / sizeof counts[0]; i++)
                one_edge(window, limit, counts[i],
                         window * 1000 + limit + counts[i]);
}

/* All orders of completion of one full window. */
static void test_all_orders(void)
{
    enum { WINDOW = 5, ORDERS = 5 * 4 * 3 * 2 };
    unsigned order;

    for (order = 0; order < ORDERS; order++) {
        xyl_slot_t slots[XYL_WINDOW_MAX];
        xyl_edge_t edge = {.window = WINDOW,
                           .limit = WINDOW,
                           .slot_mask = xyl_edge_slot_count(WINDOW) - 1,
                           .slots = slots};
        uint64_t left[WINDOW] = {0, 1, 2, 3, 4}, i, nth;
        uint8_t gone[WINDOW] = {0};
        unsigned rest = order, count;

        for (i = 0; i < WINDOW; i++)
            xyl_edge_post(&edge, xyl_edge_pick(&edge, UINT64_MAX));
        CHECK_EQ(xyl_edge_pick(&edge, UINT64_MAX), XYL_EDGE_NO_INDEX);
        for (count = WINDOW; count > 0; count--) {
            nth = rest % count;
            rest /= count;
            xyl_edge_finish(&edge, left[nth]);
            gone[left[nth]] = 1;
            left[nth] = left[count - 1];
            for (i = 0; i < WINDOW && gone[i]; i++)
                continue;
            CHECK_EQ(edge.base, i);
        }
    }
}

/* A sender and a receiver with rendezvous: a message is gone when both have
 * posted it, in random order. The pair must always come to the end. */
static int one_pair(uint32_t sends, uint32_t window, uint64_t seed)
{
    uint64_t ready[COUNT_MAX / 64 + 2] = {0}, random = seed, steps;
    xyl_slot_t slots[2][XYL_WINDOW_MAX];
    xyl_edge_t from = {.window = window, .limit = sends, .slots = slots[0]};
    xyl_edge_t to = {.window = window, .limit = window, .slots = slots[1]};
    model_t sent = {.count = COUNT_MAX};
    uint64_t index, i;

    for (i = 0; i < COUNT_MAX; i++) /* from the end, as bad as can be */
        xyl_bits_set(ready, i);
    for (steps = 0; steps < 10 * COUNT_MAX; steps++) {
        /* The sender prefers the highest index that it may post. */
        uint64_t open = xyl_bits_from(ready, from.base);
        for (i = XYL_WINDOW_MAX; i-- > 0;) {
            if (i >= window || from.base + i >= COUNT_MAX)
                continue;
            index = xyl_edge_pick(&from, open & UINT64_C(1) << i);
            if (index == XYL_EDGE_NO_INDEX)
                continue;
            xyl_edge_post(&from, index);
            sent.posted[index] = 1;
        }
        while ((index = xyl_edge_pick(&to, UINT64_MAX)) < COUNT_MAX)
            xyl_edge_post(&to, index);
        index = random_of(&random, sent.posted, sent.finished, COUNT_MAX);
        if (index == XYL_EDGE_NO_INDEX)
            return 0;
        for (i = 0; i < COUNT_MAX; i++, index = (index + 1) % COUNT_MAX)
            if (sent.posted[index] && !sent.finished[index] &&
                index - to.base < window &&
                (to.posted >> (index - to.base) & 1) != 0)
                break;
        if (i == COUNT_MAX)
            return 0; /* no side can go on */
        xyl_edge_finish(&from, index);
        xyl_edge_finish(&to, index);
        sent.finished[index] = 1;
        if (from.base == COUNT_MAX)
            return 1;
    }
    return 0;
}

static void test_rendezvous(void)
{
    uint32_t window, sends;

    for (window = 1; window <= XYL_WINDOW_MAX; window++)
        for (sends = 1; sends <= window; sends++)
            CHECK(one_pair(sends, window, window * 100 + sends));
}

static const check_case_t cases[] = {
    {"edge: windows against a model", test_windows},
    {"edge: all orders of completion", test_all_orders},
    {"edge: no deadlock between two edges", test_rendezvous},
};

CHECK_MAIN(cases)
