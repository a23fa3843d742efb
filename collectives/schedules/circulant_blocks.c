/* Bcast and reduce in many blocks on a circulant graph: in each of blocks - 1 +
 * ceil(log2 ranks) rounds every rank sends a block and gets one, so that all
 * ranks are busy from the first rounds to the last. Each rank computes for
 * itself which blocks these are. A reduce is a broadcast backwards: sums of a
 * block come from the ranks to which a broadcast would send the block, and
 * their sum goes to the rank from which a broadcast would bring the block. Any
 * number of ranks; for long messages. Rounds only give the order: a block goes
 * on when it is there. Numbers beyond the last block stand for the last block;
 * only the first of these numbers is sent.
 *
 * Traff, Optimal broadcast schedules in logarithmic time with applications to
 * broadcast, all-broadcast, reduction and all-reduction, 2024. */
#include <assert.h>
#include <stdlib.h>

#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/inbox.h"
#include "runtime/base/status.h"

/* ---- which block a rank gets in which round ---- */

/* In round i, with k = i mod `rounds`, each rank r sends one block to rank r +
 * skip[k] and gets one from rank r - skip[k], round past the last; rank 0 has
 * all blocks from the start and gets none. A rank sends the block that the
 * receiver gets. first_blocks finds, for each k, the number of the block that a
 * rank gets first. Every `rounds` rounds this number grows by `rounds`; a
 * number below 0 means no block yet. */
enum { ROUNDS_MAX = 32 };

typedef struct circulant {
    uint32_t ranks;
    uint32_t rounds;               /* ceil(log2 ranks) */
    uint64_t skip[ROUNDS_MAX + 1]; /* the last: `ranks` */
} circulant_t;

/* A rank is a sum of skips, largest first. The block of rank r is the smallest
 * skip of that sum: the first block that gets to it. The search for round k
 * tries sums of skips in that order, and takes the closest rank, not behind r -
 * skip[k], whose block has not been found yet. It never goes back, so it takes
 * O(rounds) steps in all. Ranks are counted from `ranks` on, so that
 * differences are not negative. */
enum { NOTHING = -1 };

/* A sum of skips, and the skip that is tried next on top of it. */
typedef struct branch {
    uint64_t at;
    int entry;
} branch_t;

typedef struct search {
    const circulant_t *circulant;
    uint64_t rank, closest;
    uint32_t found;
    uint64_t left; /* set of the skips whose block has not been found */
    branch_t branches[ROUNDS_MAX + 2];
    uint32_t depth; /* of the branch at hand, from 1 on */
} search_t;

static void circulant_init(circulant_t *circulant, uint32_t ranks)
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
static uint32_t first_block(const circulant_t *circulant, uint64_t rank)
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

/* In round k the search takes no rank beyond this one. */
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

static void first_blocks(const circulant_t *circulant, uint32_t rank,
                         int64_t blocks[ROUNDS_MAX])
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

/* ---- the rounds of a message ---- */

enum { SENDS_OF_ROOT = 4 /* under way at once: earlier blocks come first */ };

#define NO_BLOCK UINT64_MAX
#define NEVER    (INT64_MIN / 2) /* below 0 in every round */

/* The blocks that a rank gets. */
typedef struct receipts {
    int64_t blocks[ROUNDS_MAX];
    uint64_t last_block_round;
} receipts_t;

typedef struct circulation {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    circulant_t graph;
    uint32_t place;         /* of this rank, counted from the root */
    uint64_t blocks, block; /* their number, elements of each */
    uint64_t first_round, rounds;
    receipts_t own, others[ROUNDS_MAX]; /* by k */
    xyl_action_t *ready;                /* [blocks] brings or combines it */
    xyl_inbox_t inbox;                  /* reduce */
    xyl_position_t sums;
} circulation_t;

/* The block of a round; below 0 if it would come before the first round. */
static int64_t raw_block(const circulation_t *c, const receipts_t *receipts,
                         uint64_t round)
{
    uint32_t rounds = c->graph.rounds;

    return receipts->blocks[round % rounds] - (int64_t)c->first_round +
           (int64_t)(round / rounds * rounds);
}

static void receipts_init(const circulation_t *c, receipts_t *receipts,
                          uint32_t place)
{
    uint64_t round = c->first_round + c->blocks - 1;
    uint32_t k;

    if (place == 0) {
        for (k = 0; k < c->graph.rounds; k++)
            receipts->blocks[k] = NEVER;
        return;
    }
    first_blocks(&c->graph, place, receipts->blocks);
    while (raw_block(c, receipts, round) < (int64_t)c->blocks - 1)
        round++;
    receipts->last_block_round = round;
}

/* The block that comes in a round, or NO_BLOCK. */
static uint64_t block_of_round(const circulation_t *c,
                               const receipts_t *receipts, uint64_t round)
{
    int64_t block = raw_block(c, receipts, round);

    if (block < 0)
        return NO_BLOCK;
    if ((uint64_t)block < c->blocks - 1)
        return (uint64_t)block;
    return round == receipts->last_block_round ? c->blocks - 1 : NO_BLOCK;
}

/* 0: there is nothing to do, or no memory. */
static int circulation_init(circulation_t *c, const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, k, rounds;
    uint64_t i;

    c->problem = problem;
    c->schedule = schedule;
    if (problem->count == 0 || ranks == 1)
        return 0;
    circulant_init(&c->graph, ranks);
    rounds = c->graph.rounds;
    c->place = (problem->rank + ranks - problem->root) % ranks;
    c->block = xyl_segment_count(problem, problem->count);
    c->blocks = (problem->count + c->block - 1) / c->block;
    schedule->labels = (uint32_t)c->blocks; /* also labels not used */
    /* The last round ends a turn of all skips. */
    c->first_round = (rounds - (c->blocks - 1) % rounds) % rounds;
    c->rounds = c->first_round + c->blocks - 1 + rounds;
    receipts_init(c, &c->own, c->place);
    for (k = 0; k < rounds; k++)
        receipts_init(c, &c->others[k],
                      (uint32_t)((c->place + c->graph.skip[k]) % ranks));
    c->ready = malloc((size_t)c->blocks * sizeof *c->ready);
    if (c->ready == NULL) {
        schedule->status =
            xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a schedule");
        return 0;
    }
    for (i = 0; i < c->blocks; i++)
        c->ready[i] = XYL_ACTION_NONE;
    return 1;
}

static uint64_t block_count(const circulation_t *c, uint64_t block)
{
    uint64_t left = c->problem->count - block * c->block;

    return left < c->block ? left : c->block;
}

/* The rank from which a block comes in a round of a broadcast, or to which one
 * goes. */
static uint32_t rank_in(const circulation_t *c, uint64_t round, int is_behind)
{
    uint64_t skip = c->graph.skip[round % c->graph.rounds];
    uint64_t ranks = c->problem->ranks;

    return (uint32_t)((c->problem->rank + (is_behind ? skip : ranks - skip)) %
                      ranks);
}

/* The block that goes to the rank behind in a round, or NO_BLOCK. */
static uint64_t block_behind(const circulation_t *c, uint64_t round)
{
    return block_of_round(c, &c->others[round % c->graph.rounds], round);
}

/* ---- broadcast ---- */

static void bcast_round(circulation_t *c, uint64_t round)
{
    uint64_t out = block_behind(c, round),
             in = block_of_round(c, &c->own, round);

    if (out != NO_BLOCK)
        xyl_schedule_send(c->schedule, rank_in(c, round, 1), (uint32_t)out,
                          xyl_in_recv(out * c->block), block_count(c, out),
                          c->ready[out]);
    if (in != NO_BLOCK)
        c->ready[in] = xyl_schedule_recv(
            c->schedule, rank_in(c, round, 0), (uint32_t)in,
            xyl_in_recv(in * c->block), block_count(c, in), XYL_ACTION_NONE);
}

static void bcast_circulant(const xyl_problem_t *problem,
                            xyl_schedule_t *schedule)
{
    circulation_t c;
    uint64_t round;

    if (!circulation_init(&c, problem, schedule))
        return;
    /* The root only sends, and the others await all from the start. */
    if (c.place == 0)
        schedule->flight_max = SENDS_OF_ROOT;
    for (round = c.first_round; round < c.rounds; round++)
        bcast_round(&c, round);
    free(c.ready);
}

/* ---- reduction ---- */

/* Combines a block with the sum that comes for it from behind. */
static void block_combine(circulation_t *c, uint64_t round, uint64_t block)
{
    xyl_schedule_t *schedule = c->schedule;
    uint64_t at = block * c->block, count = block_count(c, block);
    xyl_position_t sum = xyl_position_plus(c->sums, at), mine = sum, theirs;
    xyl_action_t ready;

    if (c->ready[block] == XYL_ACTION_NONE)
        mine = xyl_in_send(at);
    theirs = xyl_inbox_take(&c->inbox, &ready);
    ready = xyl_schedule_recv(schedule, rank_in(c, round, 1), (uint32_t)block,
                              theirs, count, ready);
    ready = xyl_schedule_join(schedule, c->ready[block], ready);
    ready = xyl_schedule_reduce(schedule, sum, mine, theirs, count, ready);
    c->ready[block] = ready;
    xyl_inbox_give(&c->inbox, ready);
}

static void reduce_round(circulation_t *c, uint64_t round)
{
    uint64_t in = block_behind(c, round),
             out = block_of_round(c, &c->own, round);
    xyl_position_t from;

    if (in != NO_BLOCK)
        block_combine(c, round, in);
    if (out == NO_BLOCK)
        return;
    from = c->ready[out] == XYL_ACTION_NONE
               ? xyl_in_send(out * c->block)
               : xyl_position_plus(c->sums, out * c->block);
    xyl_schedule_send(c->schedule, rank_in(c, round, 0), (uint32_t)out, from,
                      block_count(c, out), c->ready[out]);
}

/* How many sums of blocks come to this rank to be combined. */
static uint64_t arrivals_count(const circulation_t *c)
{
    uint64_t round, arrivals = 0;

    for (round = c->first_round; round < c->rounds; round++)
        arrivals += block_behind(c, round) != NO_BLOCK;
    return arrivals;
}

static void reduce_circulant(const xyl_problem_t *problem,
                             xyl_schedule_t *schedule)
{
    circulation_t c;
    uint64_t round, arrivals;

    if (problem->ranks == 1)
        xyl_reduce_alone(problem, schedule, problem->count);
    if (!circulation_init(&c, problem, schedule))
        return;
    arrivals = arrivals_count(&c);
    xyl_inbox_init(&c.inbox, schedule, c.block, arrivals);
    c.sums = xyl_in_recv(0);
    if (c.place != 0)
        c.sums =
            xyl_schedule_temp(schedule, arrivals != 0 ? problem->count : 0);
    for (round = c.rounds; round-- != c.first_round;)
        reduce_round(&c, round);
    free(c.ready);
}

const xyl_algorithm_t xyl_algorithm_bcast_circulant = {
    .name = "circulant",
    .help = "round-optimal in many blocks (Traff 2024)",
    XYL_BY_SCHEDULE(bcast_circulant),
    .colls = XYL_COLL_BIT(BCAST),
    .needs = XYL_TAKES_SEGMENTS,
};

const xyl_algorithm_t xyl_algorithm_reduce_circulant = {
    .name = "circulant",
    .help = "round-optimal in many blocks (Traff 2024)",
    XYL_BY_SCHEDULE(reduce_circulant),
    .colls = XYL_COLL_BIT(REDUCE),
    .needs = XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS,
};
