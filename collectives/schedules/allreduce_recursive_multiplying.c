/* Allreduce: in each round all ranks of a group of `radix` send their sums to
 * each other and combine them in the order of ranks; with groups of two this is
 * recursive doubling. Operations need not be commutative. The number of ranks
 * that take part is the largest of the form radix^n * digit; each other rank
 * stands back behind a neighbour (fold.h). log_radix rounds; for short messages
 * on nets that send several at once.
 *
 * Ruefenacht, Bull, Booth, Generalisation of recursive doubling for AllReduce,
 * 2017; with two: Thakur, Rabenseifner, Gropp, Optimization of collective
 * communication operations in MPICH, 2005, section 4.5. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/fold.h"

typedef struct multiplying {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_fold_t fold;
    xyl_position_t mine; /* this rank's sum so far, */
    xyl_action_t ready;  /* when this is finished */
    xyl_action_t sent;   /* in place: the last reads of RECV */
} multiplying_t;

/* The largest number of the form radix^n * digit that is not above `ranks`. */
static uint32_t largest_product(uint32_t ranks, uint32_t radix)
{
    uint32_t power = 1;

    while (power <= ranks / radix)
        power *= radix;
    return ranks / power * power;
}

/* One round among the `radix` places that differ in the digit of `weight`. */
static void round_write(multiplying_t *m, uint32_t weight, uint32_t radix,
                        uint32_t round)
{
    xyl_schedule_t *schedule = m->schedule;
    uint64_t count = m->problem->count;
    uint32_t own = m->fold.place / weight % radix, digit, peer;
    int is_last = weight * radix == m->fold.ranks;
    xyl_position_t sum = m->mine, theirs, to;
    xyl_action_t ready = m->ready, recv, send;

    for (digit = 0; digit < radix; digit++) {
        peer = xyl_fold_rank(&m->fold,
                             m->fold.place - own * weight + digit * weight);
        if (digit == own) {
            theirs = m->mine;
            recv = m->ready;
        } else {
            send = xyl_schedule_send(schedule, peer, XYL_ROUND_LABEL + round,
                                     m->mine, count, m->ready);
            if (m->problem->is_in_place && m->mine.buffer == XYL_BUFFER_SEND)
                m->sent = xyl_schedule_join(schedule, m->sent, send);
            theirs = xyl_schedule_temp(schedule, count);
            recv = xyl_schedule_recv(schedule, peer, XYL_ROUND_LABEL + round,
                                     theirs, count, XYL_ACTION_NONE);
        }
        if (digit == 0) {
            sum = theirs;
            ready = recv;
            continue;
        }
        /* A sum that is being sent must not change; a received one may. */
        to = digit == 1 && own == 0 ? theirs : sum;
        if (is_last && digit + 1 == radix)
            to = xyl_in_recv(0);
        ready = xyl_schedule_join(schedule, ready, recv);
        ready = xyl_schedule_reduce(schedule, to, sum, theirs, count, ready);
        sum = to;
    }
    if (is_last)
        xyl_schedule_order(schedule, ready, m->sent);
    m->mine = sum;
    m->ready = ready;
}

static void multiply(const xyl_problem_t *problem, xyl_schedule_t *schedule,
                     uint32_t radix_max)
{
    uint32_t places = largest_product(problem->ranks, radix_max);
    multiplying_t m = {.problem = problem,
                       .schedule = schedule,
                       .fold =
                           xyl_fold_to(problem->rank, problem->ranks, places),
                       .sent = XYL_ACTION_NONE};
    uint32_t weight, radix, round = 0;

    if (!m.fold.takes_part) {
        xyl_fold_stand_back(&m.fold, problem, schedule, problem->count,
                            problem->count);
        return;
    }
    if (problem->ranks == 1)
        xyl_reduce_alone(problem, schedule, problem->count);
    if (problem->count == 0)
        return;
    m.mine =
        xyl_fold_combine(&m.fold, problem, schedule, problem->count, &m.ready);
    for (weight = 1; weight < places; weight *= radix, round++) {
        radix = radix_max;
        if (places / weight < radix)
            radix = places / weight;
        round_write(&m, weight, radix, round);
    }
    if (m.fold.partner != problem->rank)
        xyl_schedule_send(schedule, m.fold.partner, XYL_UNFOLD_LABEL,
                          xyl_in_recv(0), problem->count, m.ready);
}

static void allreduce_recursive_doubling(const xyl_problem_t *problem,
                                         xyl_schedule_t *schedule)
{
    multiply(problem, schedule, 2);
}

static void allreduce_recursive_multiplying(const xyl_problem_t *problem,
                                            xyl_schedule_t *schedule)
{
    multiply(problem, schedule, problem->radix);
}

const xyl_algorithm_t xyl_algorithm_allreduce_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "all exchange all, log2 rounds (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(allreduce_recursive_doubling),
    .colls = XYL_COLL_BIT(ALLREDUCE),
};

const xyl_algorithm_t xyl_algorithm_allreduce_recursive_multiplying = {
    .name = "recursive_multiplying",
    .help = "groups of radix exchange (Ruefenacht et al. 2017)",
    XYL_BY_SCHEDULE(allreduce_recursive_multiplying),
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .radix = {2, 4, 32},
};
