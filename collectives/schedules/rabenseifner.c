/* Allreduce and reduce: ranks that differ in the lowest bit halve the vector
 * and combine one half each; ranks that differ in the next bit halve that half,
 * and so on. Then the parts go the same ways back, to all ranks or towards the
 * root. Neighbours come first, so ranks are combined in order and operations
 * need not be commutative. Each rank that stands back (fold.h) first gives its
 * vector to its neighbour. For long messages.
 *
 * Rabenseifner, Optimization of collective reduction operations, 2004. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/fold.h"

enum { ROUNDS_MAX = 32, LABEL_BACK = XYL_ROUND_LABEL + ROUNDS_MAX };

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
    xyl_action_t left[ROUNDS_MAX]; /* after this the range that was sent may be
                                      written over */
} halving_t;

static int halving_is_reduce(const halving_t *halving)
{
    return halving->problem->coll == XYLEM_COLL_REDUCE;
}

static int halving_is_root(const halving_t *halving)
{
    return halving->problem->rank == halving->problem->root;
}

static uint32_t halving_rank(const halving_t *halving, uint32_t place)
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

/* A root that would stand back changes places with its neighbour. */
static void fold_init(halving_t *halving)
{
    const xyl_problem_t *problem = halving->problem;
    uint32_t root = problem->root;

    halving->fold = xyl_fold(problem->rank, problem->ranks);
    halving->is_swapped = halving_is_reduce(halving) &&
                          root < 2 * halving->fold.extra && root % 2 == 1;
    if (halving->is_swapped && problem->rank / 2 == root / 2)
        halving->fold.takes_part = halving_is_root(halving);
}

/* Sums go to RECV if this rank has one, else to room for the first range. */
static void work_init(halving_t *halving)
{
    range_t kept = halving->kept[0];

    if (!halving_is_reduce(halving) || halving_is_root(halving)) {
        halving->work = xyl_in_recv(0);
        return;
    }
    halving->work = xyl_schedule_temp(halving->schedule, kept.end - kept.first);
    halving->work_at = kept.first;
}

/* Plans the ranges that each round sends and keeps: the lower or the upper half
 * of the parts that have been kept so far. Returns how many rounds there are.
 */
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

/* The action after which `work` may be written over in the first round. In
 * place, the sums lie there, or lay there until those of the neighbour were
 * added. */
static xyl_action_t left_at_first(const halving_t *halving, xyl_action_t send)
{
    if (!halving->problem->is_in_place)
        return XYL_ACTION_NONE;
    return halving->sums.buffer == XYL_BUFFER_SEND ? send : halving->ready;
}

static void halve_vector(halving_t *halving, uint32_t round)
{
    xyl_schedule_t *schedule = halving->schedule;
    range_t sent = halving->sent[round], kept = halving->kept[round];
    uint64_t count = kept.end - kept.first;
    uint32_t bit = 1u << round;
    uint32_t peer = halving_rank(halving, halving->fold.place ^ bit);
    xyl_position_t theirs, mine = xyl_position_plus(halving->sums, kept.first);
    xyl_action_t recv, send;

    send = xyl_schedule_send(schedule, peer, XYL_ROUND_LABEL + round,
                             xyl_position_plus(halving->sums, sent.first),
                             sent.end - sent.first, halving->ready);
    halving->left[round] = round == 0 ? left_at_first(halving, send) : send;
    if (count == 0) {
        halving->ready = XYL_ACTION_NONE; /* nothing is left to wait for */
    } else {
        theirs = xyl_schedule_temp(schedule, count);
        recv = xyl_schedule_recv(schedule, peer, XYL_ROUND_LABEL + round,
                                 theirs, count, XYL_ACTION_NONE);
        recv = xyl_schedule_join(schedule, halving->ready, recv);
        halving->ready = xyl_reduce_in_order(
            schedule, (halving->fold.place & bit) != 0,
            work_piece(halving, kept), theirs, mine, count, recv);
    }
    /* From here on sums lie where the work is; a range of them is named by its
     * place in the vector. */
    halving->sums = halving->work;
    halving->sums.at -= halving->work_at;
}

/* Receives the result of a range that was sent, in the range's place. */
static void collect_range(halving_t *halving, uint32_t round)
{
    range_t range = halving->sent[round];
    uint32_t peer = halving_rank(halving, halving->fold.place ^ 1u << round);
    xyl_action_t recv = xyl_schedule_recv(
        halving->schedule, peer, LABEL_BACK + round, work_piece(halving, range),
        range.end - range.first, halving->left[round]);

    halving->ready = xyl_schedule_join(halving->schedule, halving->ready, recv);
}

static void hand_back_range(halving_t *halving, uint32_t round)
{
    range_t range = halving->kept[round];
    uint32_t peer = halving_rank(halving, halving->fold.place ^ 1u << round);

    xyl_schedule_send(halving->schedule, peer, LABEL_BACK + round,
                      work_piece(halving, range), range.end - range.first,
                      halving->ready);
}

/* If two ranks differ in a bit, the rank that has the bit as the root has it
 * gets both halves. */
static void gather_halves(halving_t *halving, uint32_t rounds)
{
    uint32_t root = halving->problem->root, place = root / 2;

    if (root >= 2 * halving->fold.extra)
        place = root - halving->fold.extra;
    while (rounds-- != 0) {
        if (((halving->fold.place ^ place) >> rounds & 1) != 0) {
            hand_back_range(halving, rounds);
            return;
        }
        collect_range(halving, rounds);
    }
}

static void allgather_halves(halving_t *halving, uint32_t rounds)
{
    const xyl_problem_t *problem = halving->problem;

    while (rounds-- != 0) {
        hand_back_range(halving, rounds);
        collect_range(halving, rounds);
    }
    if (halving->fold.partner != problem->rank)
        xyl_schedule_send(halving->schedule, halving->fold.partner,
                          XYL_UNFOLD_LABEL, xyl_in_recv(0), problem->count,
                          halving->ready);
}

static void reduce_rabenseifner(const xyl_problem_t *problem,
                                xyl_schedule_t *schedule)
{
    halving_t halving = {.problem = problem, .schedule = schedule};
    uint32_t rounds, round;

    if (problem->ranks == 1)
        xyl_reduce_alone(problem, schedule, problem->count);
    if (problem->count == 0 || problem->ranks == 1)
        return;
    fold_init(&halving);
    if (!halving.fold.takes_part) {
        xyl_fold_stand_back(&halving.fold, problem, schedule, problem->count,
                            halving_is_reduce(&halving) ? 0 : problem->count);
        return;
    }
    rounds = rounds_plan(&halving);
    work_init(&halving);
    halving.sums = xyl_fold_combine(&halving.fold, problem, schedule,
                                    problem->count, &halving.ready);
    for (round = 0; round < rounds; round++)
        halve_vector(&halving, round);
    if (halving_is_reduce(&halving))
        gather_halves(&halving, rounds);
    else
        allgather_halves(&halving, rounds);
}

const xyl_algorithm_t xyl_algorithm_rabenseifner = {
    .name = "rabenseifner",
    .help = "recursive halving, then a gather, or doubling (Rabenseifner 2004)",
    XYL_BY_SCHEDULE(reduce_rabenseifner),
    .colls = XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE),
};
