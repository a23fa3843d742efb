/* Draws cases, and names them. Without state. */
#include "tests/support/coll_case.h"

#include <inttypes.h>
#include <stdio.h>

#include "simulator/random.h"
#include "trees/tree.h"

size_t coll_element_bytes(coll_data_t data)
{
    static const size_t bytes[] = {1, 4, 8, 8};

    return bytes[data];
}

size_t coll_case_trees(void)
{
    size_t count;

    (void)xyl_trees(&count);
    return count + 1;
}

void coll_case_tree(coll_case_t *c, size_t tree, uint32_t radix)
{
    const xyl_tree_t *named;
    size_t count;

    c->algorithm[0] = '\0';
    if (tree == 0)
        return;
    named = xyl_trees(&count)[tree - 1];
    if (named->radix.most == 0)
        snprintf(c->algorithm, sizeof c->algorithm, "%s", named->name);
    else
        snprintf(c->algorithm, sizeof c->algorithm, "%s:%" PRIu32, named->name,
                 radix < named->radix.least ? named->radix.least : radix);
}

void coll_case_random_tree(uint64_t *random, coll_case_t *c)
{
    size_t tree = random_below(random, (uint32_t)coll_case_trees());

    coll_case_tree(c, tree, random_between(random, 1, 5));
}

/* Around the boundaries of segments. */
static size_t random_count(uint64_t *random, size_t segment_elements)
{
    size_t segments = random_between(random, 0, 24);

    switch (random_below(random, 6)) {
    case 0:
        return random_below(random, 2);
    case 1:
        return segments * segment_elements;
    case 2:
        return segments * segment_elements + 1;
    case 3:
        return (segments + 1) * segment_elements - 1;
    case 4:
        return random_below(random, 300);
    default:
        return segments * segment_elements +
               random_below(random, (uint32_t)segment_elements);
    }
}

coll_case_t coll_case_random(uint64_t *random, uint32_t ranks)
{
    coll_case_t c = {.root = random_below(random, ranks)};
    size_t elements = random_between(random, 1, 40);

    c.coll = (xylem_coll_t)random_below(random, 2);
    c.data = (coll_data_t)random_between(
        random, c.coll == XYLEM_COLL_BCAST ? COLL_BYTES : COLL_UINT32,
        COLL_AFFINE);
    coll_case_random_tree(random, &c);
    c.segment_bytes = elements * coll_element_bytes(c.data);
    c.count = random_count(random, elements);
    c.recv_window = random_between(random, 1, 8);
    if (random_below(random, 16) == 0)
        c.recv_window = 64;
    c.send_window = random_between(random, 1, c.recv_window);
    if (random_below(random, 2) == 0)
        c.flags |= XYLEM_FLAG_PARTS;
    if (random_below(random, 4) == 0)
        c.flags |= XYLEM_FLAG_AUTOFREE;
    if (random_below(random, 2) == 0 && c.coll == XYLEM_COLL_REDUCE)
        c.flags |= XYLEM_FLAG_ARRIVAL_ORDER;
    c.in_place = random_below(random, 2) == 0;
    c.no_segments = random_below(random, 3) == 0;
    return c;
}

void coll_case_enlarge(coll_case_t *c, size_t factor)
{
    c->segment_bytes *= factor;
    c->count *= factor;
}

void coll_case_text(const coll_case_t *c, uint32_t ranks, char *text,
                    size_t bytes)
{
    static const char *const data[] = {"bytes", "uint32", "float64", "affine"};

    snprintf(text, bytes,
             "%s of %zu %s, %" PRIu32 " ranks, root %" PRIu32
             ", algorithm '%s', segment %zu, N %" PRIu32 ", M %" PRIu32
             ", flags %" PRIu32 "%s%s",
             c->coll == XYLEM_COLL_BCAST ? "bcast" : "reduce", c->count,
             data[c->data], ranks, c->root, c->algorithm, c->segment_bytes,
             c->send_window, c->recv_window, c->flags,
             c->in_place ? ", in place" : "",
             c->persistent ? ", persistent" : "");
}
