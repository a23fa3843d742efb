/* Reduce_scatter(_block): in each round a group of ranks is halved. A rank
 * sends its partner in the other half all blocks of that half, and combines the
 * blocks of its own half with those that it gets. Each rank that stands back
 * (fold.h) first gives its vector to its even neighbour, and in the end gets
 * its block from it. log2 rounds; the first partner is the farthest, so
 * operations have to be commutative. For short vectors.
 *
 * Thakur, Rabenseifner, Gropp, 2005, section 4.4. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/fold.h"
#include "collectives/schedules/parts.h"

typedef struct halving {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_fold_t fold;
    xyl_position_t sums; /* of the element at `sums_at` and those behind it */
    uint64_t sums_at;    /* within the vector */
    xyl_action_t ready;  /* when this is finished */
    uint64_t count;      /* of the own block */
    xyl_action_t sent;   /* in place: sends from the result's place */
} halving_t;

/* Where the blocks of a place begin. */
static uint64_t place_at(const halving_t *halving, uint32_t place)
{
    uint32_t rank = place == halving->fold.ranks
                        ? halving->problem->ranks
                        : xyl_fold_rank(&halving->fold, place);

    return xyl_parts_at(halving->problem, rank);
}

/* Keeps the sums of the lower or the upper `half` places from `first` on; the
 * other half begins at `other`. */
static void halve_blocks(halving_t *halving, uint32_t first, uint32_t half,
                         uint32_t round)
{
    xyl_schedule_t *schedule = halving->schedule;
    uint32_t other = halving->fold.place < first + half ? first + half : first;
    uint32_t own = other == first ? first + half : first;
    uint32_t peer =
        xyl_fold_rank(&halving->fold, halving->fold.place - own + other);
    uint64_t sent_at = place_at(halving, other), kept_at;
    uint64_t sent = place_at(halving, other + half) - sent_at, kept;
    xyl_position_t from, mine, theirs;
    xyl_action_t send, recv;

    kept_at = place_at(halving, own);
    kept = place_at(halving, own + half) - kept_at;
    from = xyl_position_plus(halving->sums, sent_at - halving->sums_at);
    send = xyl_schedule_send(schedule, peer, XYL_ROUND_LABEL + round, from,
                             sent, halving->ready);
    if (sent != 0 && from.buffer == XYL_BUFFER_SEND && from.at < halving->count)
        halving->sent = send;
    mine = xyl_position_plus(halving->sums, kept_at - halving->sums_at);
    theirs = xyl_schedule_temp(schedule, kept);
    recv = xyl_schedule_recv(schedule, peer, XYL_ROUND_LABEL + round, theirs,
                             kept, XYL_ACTION_NONE);
    recv = xyl_schedule_join(schedule, halving->ready, recv);
    halving->ready = xyl_reduce_in_order(schedule, own > other, theirs, theirs,
                                         mine, kept, recv);
    halving->sums = theirs;
    halving->sums_at = kept_at;
}

/* Hands out the own block, and the block of the neighbour that stands back. */
static void hand_out_blocks(halving_t *halving)
{
    const xyl_problem_t *problem = halving->problem;
    uint32_t rank = problem->rank, partner = halving->fold.partner;
    uint64_t count = halving->count;
    xyl_position_t from = xyl_position_plus(
        halving->sums, xyl_parts_at(problem, rank) - halving->sums_at);
    xyl_action_t copy;

    /* A rank that is alone, and in place, has its result. */
    if (!(problem->is_in_place && from.buffer == XYL_BUFFER_SEND)) {
        copy = xyl_schedule_copy(halving->schedule, xyl_in_recv(0), from, count,
                                 halving->ready);
        if (problem->is_in_place)
            xyl_schedule_order(halving->schedule, copy, halving->sent);
    }
    if (partner == rank)
        return;
    count = xyl_parts_count(problem, partner, partner + 1);
    from = xyl_position_plus(halving->sums,
                             xyl_parts_at(problem, partner) - halving->sums_at);
    xyl_schedule_send(halving->schedule, partner, XYL_UNFOLD_LABEL, from, count,
                      halving->ready);
}

static void reduce_scatter_recursive_halving(const xyl_problem_t *problem,
                                             xyl_schedule_t *schedule)
{
    uint64_t all = xyl_parts_at(problem, problem->ranks);
    halving_t halving = {
        .problem = problem,
        .schedule = schedule,
        .fold = xyl_fold(problem->rank, problem->ranks),
        .count = xyl_parts_count(problem, problem->rank, problem->rank + 1),
        .sent = XYL_ACTION_NONE};
    uint32_t half, round = 0;

    if (!halving.fold.takes_part) {
        xyl_fold_stand_back(&halving.fold, problem, schedule, all,
                            halving.count);
        return;
    }
    halving.sums =
        xyl_fold_combine(&halving.fold, problem, schedule, all, &halving.ready);
    for (half = halving.fold.ranks / 2; half != 0; half /= 2, round++)
        halve_blocks(&halving, halving.fold.place & ~(2 * half - 1), half,
                     round);
    hand_out_blocks(&halving);
}

const xyl_algorithm_t xyl_algorithm_reduce_scatter_recursive_halving = {
    .name = "recursive_halving",
    .help = "half of the rest per round (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(reduce_scatter_recursive_halving),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
    .needs = XYL_NEEDS_COMMUTATIVE,
};
