/* Binomial negabinary trees: D. De Sensi et al., "Bine trees", SC'25. A
 * binomial tree whose hops alternate in direction, so that most of its data
 * travels over short distances.
 *
 * For 2^s places a place has a label of s bits, its path from the root: the
 * bit of weight 2^(k-1) is set when the path takes the hop
 *
 *     hop(k) = (1 - (-2)^k) / 3        1, -1, 3, -5, 11, -21, ...
 *
 * forward from an even place, backward from an odd one, modulo 2^s; larger k
 * come first. All hops are odd, so directions alternate along a path. The
 * parent's label lacks the lowest set bit of the child's.
 *
 * For other numbers of ranks the tree spans the largest power of two p below,
 * and place p + j is a leaf below place j, served last. Pure functions; any
 * thread. */
#include "trees/shapes.h"

/* From the last hop backwards: the hops behind a hop run the other way. */
static uint32_t bine_place(uint32_t label, uint32_t bits)
{
    uint32_t k, hop = 1, place = 0;

    for (k = 1; k <= bits; k++) {
        if (label >> (k - 1) & 1)
            place = hop - place;
        hop = 1 - 2 * hop;
    }
    return place & ((1u << bits) - 1);
}

/* With the hops k_1 > ... > k_t of a path, modulo 2^bits:
 *
 *     3 * place - (t odd ? 1 : 0) = (-2)^k_2 - (-2)^k_1 + (-2)^k_4 - ...
 *
 * The lowest set bit of the sum is 2^k_t. Taking hops away, the last one first,
 * yields all k below `bits`. The place's parity says whether t is odd. If a hop
 * is missing at the end, it is the one with k = bits. */
static uint32_t bine_label(uint32_t place, uint32_t bits)
{
    uint32_t k, term, label = 0;
    uint32_t odd = place & 1;
    uint32_t sum = 3 * place - odd;

    for (k = 1; k < bits; k++) {
        if ((sum >> k & 1) == 0)
            continue;
        label |= 1u << (k - 1);
        /* The t-th hop adds -(-2)^k when t is odd, (-2)^k when it is even. */
        term = odd == k % 2 ? 1u << k : 0u - (1u << k);
        sum -= term;
        odd ^= 1;
    }
    return label | (odd == 0 ? 0 : 1u << (bits - 1));
}

static uint32_t bine_parent(const xyl_tree_args_t *args, uint32_t place)
{
    uint32_t bits = xyl_log2_floor(args->ranks);
    uint32_t label;

    if (place >= 1u << bits)
        return place - (1u << bits);
    label = bine_label(place, bits);
    return bine_place(label & (label - 1), bits);
}

static void bine_children(const xyl_tree_args_t *args, uint32_t place,
                          xyl_children_t *out)
{
    uint32_t bits = xyl_log2_floor(args->ranks);
    uint32_t power = 1u << bits;
    uint32_t label, bit;

    if (place >= power)
        return;
    label = bine_label(place, bits);
    bit = label == 0 ? power : label & (0u - label);
    for (bit /= 2; bit > 0; bit /= 2)
        xyl_children_add(out, bine_place(label | bit, bits));
    if (place < args->ranks - power)
        xyl_children_add(out, power + place);
}

const xyl_tree_t xyl_tree_bine = {
    .name = "bine",
    .help = "binomial negabinary",
    .halves = 1,
    .parent = bine_parent,
    .children = bine_children,
};
