/* Allreduce and reduce: ranks that differ in the lowest bit halve the vector
 * and combine one half each, those that differ in the next bit halve that, and
 * so on; then the parts are collected on the same ways back, by all or towards
 * the root. Neighbours come first, so ranks are combined in order and
 * operations need not be commutative. Of the ranks beyond the largest power of
 * two, each first gives all to its neighbour. For long messages.
 * Rabenseifner, Optimization of collective reduction operations, 2004. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/fold.h"

enum {
    LABEL_FOLD,
    LABEL_UNFOLD,
    LABEL_ROUND,
    ROUNDS_MAX = 32,
    LABEL_BACK = LABEL_ROUND + ROUNDS_MAX
};

/* Elements [first, end) of the vector. */
typedef struct range {
    uint64_t first, end;
} range_t;

typedef struct halving {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_fold_t fold;
    int is_swapped;      /* the root takes part instead of its neighbour */
    xyl_position_t sums; /* the vector, as far as this rank has it, */
    xyl_action_t ready;  /* when this is finished */
    xyl_position_t work; /* where sums go: of element `work_at` and further */
    uint64_t work_at;
    range_t sent[ROUNDS_MAX], kept[ROUNDS_MAX]; /* in each round */
    xyl_action_t left[ROUNDS_MAX]; /* what was sent may be written over */
} halving_t;

static int is_reduce(const halving_t *halving)
{
    return halving->problem->coll == XYLEM_COLL_REDUCE;
}

static int is_root(const halving_t *halving)
{
    return halving->problem->rank == halving->problem->root;
}

static uint32_t rank_at(const halving_t *halving, uint32_t place)
{
    uint32_t rank = xyl_fold_rank(&halving->fold, place);

    if (halving->is_swapped && place == halving->problem->root / 2)
        return halving->problem->root;
    return rank;
}

static xyl_position_t work_piece(const halving_t *halving, range_t range)
{
    return xyl_position_plus(halving->work, range.first - halving->work_at);
}

/* A root that would stand back changes with its neighbour. */
static void fold_init(halving_t *halving)
{
    const xyl_problem_t *problem = halving->problem;
    uint32_t root = problem->root;

    halving->fold = xyl_fold(problem->rank, problem->ranks);
    halving->is_swapped =
        is_reduce(halving) && root < 2 * halving->fold.extra && root % 2 == 1;
    if (halving->is_swapped && problem->rank / 2 == root / 2)
        halving->fold.takes_part = is_root(halving);
}

static void stand_back(halving_t *halving)
{
    const xyl_problem_t *problem = halving->problem;
    xyl_action_t send = xyl_schedule_send(
        halving->schedule, halving->fold.partner, LABEL_FOLD,
        xyl_position(XYL_BUFFER_SEND, 0), problem->count, XYL_ACTION_NONE);

    if (!is_reduce(halving))
        xyl_schedule_recv(halving->schedule, halving->fold.partner,
                          LABEL_UNFOLD, xyl_position(XYL_BUFFER_RECV, 0),
                          problem->count,
                          problem->is_in_place ? send : XYL_ACTION_NONE);
}

static void fold_write(halving_t *halving)
{
    const xyl_problem_t *problem = halving->problem;
    xyl_schedule_t *schedule = halving->schedule;
    uint64_t count = problem->count;
    xyl_position_t theirs = xyl_schedule_temp(schedule, count), mine;
    xyl_action_t recv =
        xyl_schedule_recv(schedule, halving->fold.partner, LABEL_FOLD, theirs,
                          count, XYL_ACTION_NONE);

    mine = halving->sums;
    halving->ready =
        problem->rank < halving->fold.partner
            ? xyl_schedule_reduce(schedule, theirs, mine, theirs, count, recv)
            : xyl_schedule_reduce(schedule, theirs, theirs, mine, count, recv);
    halving->sums = theirs;
}

/* RECV where this rank has one; else as much as is kept in the first round. */
static void work_init(halving_t *halving)
{
    range_t kept = halving->kept[0];

    if (!is_reduce(halving) || is_root(halving)) {
        halving->work = xyl_position(XYL_BUFFER_RECV, 0);
        return;
    }
    halving->work = xyl_schedule_temp(halving->schedule, kept.end - kept.first);
    halving->work_at = kept.first;
}

/* What each round sends and keeps: of the parts that have been kept so far the
 * lower or the upper half. Returns how many rounds there are. */
static uint32_t rounds_plan(halving_t *halving)
{
    uint32_t parts = halving->fold.ranks, first = 0, round, half = parts / 2;
    uint64_t count = halving->problem->count;

    for (round = 0; half != 0; round++, half /= 2) {
        range_t low = {xyl_part_at(count, parts, first),
                       xyl_part_at(count, parts, first + half)};
        range_t high = {low.end, xyl_part_at(count, parts, first + 2 * half)};
        int keeps_high = (halving->fold.place >> round & 1) != 0;
        halving->kept[round] = keeps_high ? high : low;
        halving->sent[round] = keeps_high ? low : high;
        if (keeps_high)
            first += half;
    }
    return round;
}

/* In the first round sums are not yet where the work is, except in place: there
 * they are, or have been until the neighbour's were added. */
static xyl_action_t left_at_first(const halving_t *halving, xyl_action_t send)
{
    if (!halving->problem->is_in_place)
        return XYL_ACTION_NONE;
    return halving->sums.buffer == XYL_BUFFER_SEND ? send : halving->ready;
}

static void halve(halving_t *halving, uint32_t round)
{
    xyl_schedule_t *schedule = halving->schedule;
    range_t sent = halving->sent[round], kept = halving->kept[round];
    uint64_t count = kept.end - kept.first;
    uint32_t bit = 1u << round;
    uint32_t peer = rank_at(halving, halving->fold.place ^ bit);
    xyl_position_t theirs, mine, to = work_piece(halving, kept);
    xyl_action_t recv, send = XYL_ACTION_NONE;

    if (sent.first != sent.end)
        send = xyl_schedule_send(schedule, peer, LABEL_ROUND + round,
                                 xyl_position_plus(halving->sums, sent.first),
                                 sent.end - sent.first, halving->ready);
    halving->left[round] = send;
    if (round == 0)
        halving->left[0] = left_at_first(halving, send);
    mine = xyl_position_plus(halving->sums, kept.first);
    if (count == 0) {
        halving->ready = XYL_ACTION_NONE; /* nothing is left to wait for */
    } else {
        theirs = xyl_schedule_temp(schedule, count);
        recv = xyl_schedule_recv(schedule, peer, LABEL_ROUND + round, theirs,
                                 count, XYL_ACTION_NONE);
        recv = xyl_schedule_join(schedule, halving->ready, recv);
        halving->ready =
            (halving->fold.place & bit) == 0
                ? xyl_schedule_reduce(schedule, to, mine, theirs, count, recv)
                : xyl_schedule_reduce(schedule, to, theirs, mine, count, recv);
    }
    /* From here on sums are where the work is; ranges of it are asked for by
     * their place in the vector. */
    halving->sums = halving->work;
    halving->sums.at -= halving->work_at;
}

/* The result of what was sent comes back, to where it was sent from. */
static void collect(halving_t *halving, uint32_t round)
{
    range_t range = halving->sent[round];
    uint64_t count = range.end - range.first;
    uint32_t peer = rank_at(halving, halving->fold.place ^ 1u << round);
    xyl_position_t to = work_piece(halving, range);
    xyl_action_t recv;

    if (count == 0)
        return;
    recv = xyl_schedule_recv(halving->schedule, peer, LABEL_BACK + round, to,
                             count, halving->left[round]);
    halving->ready = xyl_schedule_join(halving->schedule, halving->ready, recv);
}

static void hand_back(halving_t *halving, uint32_t round)
{
    range_t range = halving->kept[round];
    uint32_t peer = rank_at(halving, halving->fold.place ^ 1u << round);

    if (range.first != range.end)
        xyl_schedule_send(halving->schedule, peer, LABEL_BACK + round,
                          work_piece(halving, range), range.end - range.first,
                          halving->ready);
}

/* Of two that differ in a bit, the one with the root's gets all. */
static void gather(halving_t *halving, uint32_t rounds)
{
    uint32_t root = halving->problem->root, place = root / 2;

    if (root >= 2 * halving->fold.extra)
        place = root - halving->fold.extra;
    while (rounds-- != 0) {
        if (((halving->fold.place ^ place) >> rounds & 1) != 0) {
            hand_back(halving, rounds);
            return;
        }
        collect(halving, rounds);
    }
}

static void allgather(halving_t *halving, uint32_t rounds)
{
    const xyl_problem_t *problem = halving->problem;

    while (rounds-- != 0) {
        hand_back(halving, rounds);
        collect(halving, rounds);
    }
    if (halving->fold.partner != problem->rank)
        xyl_schedule_send(halving->schedule, halving->fold.partner,
                          LABEL_UNFOLD, xyl_position(XYL_BUFFER_RECV, 0),
                          problem->count, halving->ready);
}

static void reduce_rabenseifner(const xyl_problem_t *problem,
                                xyl_schedule_t *schedule)
{
    halving_t halving = {.problem = problem,
                         .schedule = schedule,
                         .sums = {XYL_BUFFER_SEND, 0, 0},
                         .ready = XYL_ACTION_NONE};
    uint32_t rounds, round;

    if (problem->count == 0)
        return;
    if (problem->ranks == 1) {
        if (!problem->is_in_place)
            xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, 0),
                              halving.sums, problem->count, XYL_ACTION_NONE);
        return;
    }
    fold_init(&halving);
    if (!halving.fold.takes_part) {
        stand_back(&halving);
        return;
    }
    rounds = rounds_plan(&halving);
    work_init(&halving);
    if (halving.fold.partner != problem->rank)
        fold_write(&halving);
    for (round = 0; round < rounds; round++)
        halve(&halving, round);
    if (is_reduce(&halving))
        gather(&halving, rounds);
    else
        allgather(&halving, rounds);
}

const xyl_algorithm_t xyl_algorithm_reduce_rabenseifner = {
    .name = "rabenseifner",
    .help = "recursive halving, then a gather (Rabenseifner 2004)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(REDUCE),
    .write = reduce_rabenseifner,
};

const xyl_algorithm_t xyl_algorithm_allreduce_rabenseifner = {
    .name = "rabenseifner",
    .help = "recursive halving, then doubling (Rabenseifner 2004)",
    .kind = XYL_ALGORITHM_SCHEDULE,
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .write = reduce_rabenseifner,
};
