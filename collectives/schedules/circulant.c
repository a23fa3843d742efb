/* Traff, Optimal broadcast schedules in logarithmic time with applications to
 * broadcast, all-broadcast, reduction and all-reduction, 2024.
 *
 * A rank is a sum of skips, largest first. The block of rank r is the smallest
 * skip of that sum: the first block that gets to it. For round k the search
 * goes, by sums of skips in that order, for the closest rank not behind
 * r - skip[k] with a block that has not been found yet; it never goes back, so
 * it takes O(rounds) steps in all. Ranks are counted from `ranks` on, so that
 * differences are not negative. */
#include "collectives/schedules/circulant.h"

#include <assert.h>

enum { NOTHING = -1 };

/* A sum of skips, and the skip that is tried next on top of it. */
typedef struct branch {
    uint64_t at;
    int entry;
} branch_t;

typedef struct search {
    const xyl_circulant_t *circulant;
    uint64_t rank, closest;
    uint32_t found;
    uint64_t left; /* set of the skips whose block has not been found */
    branch_t branches[XYL_CIRCULANT_ROUNDS_MAX + 2];
    uint32_t depth; /* of the branch at hand, from 1 on */
} search_t;

void xyl_circulant_init(xyl_circulant_t *circulant, uint32_t ranks)
{
    uint32_t k;

    circulant->ranks = ranks;
    circulant->rounds = 0;
    while (UINT64_C(1) << circulant->rounds < ranks)
        circulant->rounds++;
    circulant->skip[circulant->rounds] = ranks;
    for (k = circulant->rounds; k-- != 0;)
        circulant->skip[k] = (circulant->skip[k + 1] + 1) / 2;
}

/* The smallest skip in the sum that is the rank; of rank 0: `rounds`. */
static uint32_t first_block(const xyl_circulant_t *circulant, uint64_t rank)
{
    uint32_t k;

    for (k = circulant->rounds; k-- != 0;) {
        if (circulant->skip[k] == rank)
            return k;
        if (circulant->skip[k] < rank)
            rank -= circulant->skip[k];
    }
    return circulant->rounds;
}

/* The largest skip below entry that is left. */
static int next_entry(const search_t *search, int entry)
{
    uint64_t below = search->left & ((UINT64_C(1) << entry) - 1);

    return below == 0 ? NOTHING : 63 - __builtin_clzll(below);
}

/* The first rank from which no block comes in round k any more. */
static uint64_t limit(const search_t *search, uint32_t k)
{
    return search->rank - search->circulant->skip[k];
}

/* One step on the branch at hand. `is_back`: the branch on top of its entry has
 * been searched. Returns whether the branch has ended. */
static int search_step(search_t *search, int is_back, int64_t *blocks)
{
    branch_t *branch = &search->branches[search->depth];
    uint64_t at;

    if (branch->entry == NOTHING)
        return 1;
    at = branch->at + search->circulant->skip[branch->entry];
    if (!is_back) {
        if ((search->left >> branch->entry & 1) == 0 ||
            at > limit(search, search->found) || at >= search->closest) {
            branch->entry = next_entry(search, branch->entry);
            return 0;
        }
        if (at <= limit(search, search->found + 1)) {
            search->branches[++search->depth] = (branch_t){at, branch->entry};
            return 0;
        }
    }
    if (branch->at > limit(search, search->found + 1))
        return 1;
    search->closest = at;
    blocks[search->found++] = branch->entry;
    search->left &= ~(UINT64_C(1) << branch->entry);
    branch->entry = next_entry(search, branch->entry);
    return 0;
}

void xyl_circulant_blocks(const xyl_circulant_t *circulant, uint32_t rank,
                          int64_t blocks[XYL_CIRCULANT_ROUNDS_MAX])
{
    uint32_t rounds = circulant->rounds, k;
    uint32_t first = first_block(circulant, rank);
    search_t search = {.circulant = circulant,
                       .rank = (uint64_t)circulant->ranks + rank,
                       .closest = 2 * (uint64_t)circulant->ranks,
                       .left = (UINT64_C(2) << rounds) - 1,
                       .depth = 1};
    int is_back = 0;

    search.left &= ~(UINT64_C(1) << first);
    search.branches[1] = (branch_t){0, (int)rounds};
    while (search.depth != 0 && search.found != rounds) {
        is_back = search_step(&search, is_back, blocks);
        search.depth -= (uint32_t)is_back;
    }
    assert(search.found == rounds);
    for (k = 0; k < rounds; k++)
        blocks[k] = blocks[k] == (int64_t)rounds ? (int64_t)first
                                                 : blocks[k] - (int64_t)rounds;
}
