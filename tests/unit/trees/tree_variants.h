/* What the tests of trees share: each shape with each radix that is swept, and
 * a failure that names the tree. */
#ifndef XYL_TESTS_UNIT_TREES_TREE_VARIANTS_H
#define XYL_TESTS_UNIT_TREES_TREE_VARIANTS_H

#include <stdint.h>
#include <stdio.h>

#include "tests/support/check.h"
#include "trees/tree.h"

enum {
    RANKS_MAX = 512, /* of trees that are swept */
    RADIX_SWEEP_MAX = 16,
    VARIANTS_MAX = 64
};

typedef struct variant {
    xyl_shape_t shape;
    unsigned half;
    const char *name;
} variant_t;

static variant_t variants[VARIANTS_MAX];
static uint32_t variant_count;

static inline void variant_add(xylem_tree_t tree, uint32_t radix, unsigned half,
                               const char *name)
{
    variants[variant_count++] = (variant_t){{tree, radix}, half, name};
}

static inline void variants_fill(void)
{
    uint32_t radix;

    if (variant_count > 0)
        return;
    variant_add(XYLEM_TREE_FLAT, 0, 0, "flat");
    variant_add(XYLEM_TREE_CHAIN, 0, 0, "chain");
    variant_add(XYLEM_TREE_INORDER, 0, 0, "inorder");
    variant_add(XYLEM_TREE_DOUBLE, 0, 0, "double 0");
    variant_add(XYLEM_TREE_DOUBLE, 0, 1, "double 1");
    variant_add(XYLEM_TREE_BINE, 0, 0, "bine");
    for (radix = 1; radix <= RADIX_SWEEP_MAX; radix++) {
        variant_add(XYLEM_TREE_KCHAIN, radix, 0, "kchain");
        variant_add(XYLEM_TREE_KARY, radix, 0, "kary");
        if (radix >= 2)
            variant_add(XYLEM_TREE_KNOMIAL, radix, 0, "knomial");
    }
}

/* Fails the case and names the tree; 0, so that callers can return it. */
static inline int bad(const variant_t *v, uint32_t n, uint32_t root,
                      const char *what)
{
    char text[160];

    snprintf(text, sizeof(text), "%s (%s, radix %u, ranks %u, root %u)", what,
             v->name, v->shape.radix, n, root);
    check_failed(__FILE__, __LINE__, text);
    return 0;
}

#endif
