/* Shared by the tests of trees: each shape with each swept radix, and a failure
 * that names the tree. */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "tests/support/check.h"
#include "trees/tree.h"

enum {
    RANKS_MAX = 512, /* of trees that are swept */
    RADIX_SWEEP_MAX = 16,
    VARIANTS_MAX = 128
};

typedef struct variant {
    xyl_shape_t shape;
    unsigned half;
    const char *name;
} variant_t;

static variant_t variants[VARIANTS_MAX];
static uint32_t variant_count;

static inline void variants_add(const xyl_tree_t *tree, uint32_t radix)
{
    unsigned half;

    for (half = 0; half < tree->halves; half++)
        variants[variant_count++] =
            (variant_t){{tree, radix}, half, tree->name};
}

/* All shapes of one group, each with all of the lower radices. */
static inline void variants_fill(void)
{
    size_t count, i;
    const xyl_tree_t *const *trees = xyl_trees(&count);
    uint32_t radix;

    if (variant_count > 0)
        return;
    for (i = 0; i < count; i++) {
        if (trees[i]->parent == NULL)
            continue;
        if (trees[i]->radix.most == 0)
            variants_add(trees[i], 0);
        for (radix = trees[i]->radix.least;
             trees[i]->radix.most != 0 && radix <= RADIX_SWEEP_MAX; radix++)
            variants_add(trees[i], radix);
    }
}

/* Fails the case and names the tree; 0, so that callers can return it. */
static inline int bad(const variant_t *v, uint32_t n, uint32_t root,
                      const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s (%s %u, radix %u, ranks %u, root %u)",
             what, v->name, v->half, v->shape.radix, n, root);
    check_failed(__FILE__, __LINE__, text);
    return 0;
}
