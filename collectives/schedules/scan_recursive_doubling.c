/* Scan and exscan: in each round a rank has the sum of the n ranks up to
 * itself. It sends this sum to the rank n places further, and puts the sum that
 * it gets in front of its own. So n doubles. The sums of a scan begin with the
 * own elements. The sums of an exscan do not. Its first round fetches the
 * elements of one rank. Its second round fetches the sum of two more ranks,
 * because ranks add their own elements to the sum that they send in that round.
 * So sums have 1, 3, 6, 12, ... ranks. Any number of ranks, in order. For short
 * messages.
 *
 * Hillis, Steele, Data parallel algorithms, 1986; the exscan: Traff,
 * 123-doubling algorithms for the exclusive scan, 2025. */
#include "collectives/schedules/algorithm.h"

typedef struct doubling {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_position_t sum; /* of the last ranks */
    xyl_action_t ready; /* when this is finished */
    xyl_action_t read;  /* in place: the last reads of the own elements */
} doubling_t;

static const xyl_position_t own = {XYL_BUFFER_SEND, 0, 0};
static const xyl_position_t result = {XYL_BUFFER_RECV, 0, 0};

static xyl_action_t send_on(const doubling_t *doubling, uint32_t distance,
                            uint32_t round, xyl_position_t what,
                            xyl_action_t ready)
{
    const xyl_problem_t *problem = doubling->problem;

    if (problem->ranks - problem->rank <= distance)
        return XYL_ACTION_NONE;
    return xyl_schedule_send(doubling->schedule, problem->rank + distance,
                             round, what, problem->count, ready);
}

/* Puts the sum that comes in front of this rank's sum, in memory from which
 * nothing is being sent. */
static void put_in_front(doubling_t *doubling, uint32_t distance,
                         uint32_t round, int is_last)
{
    const xyl_problem_t *problem = doubling->problem;
    xyl_schedule_t *schedule = doubling->schedule;
    uint64_t count = problem->count;
    xyl_position_t theirs = xyl_schedule_temp(schedule, count);
    xyl_position_t to = is_last ? result : theirs;
    xyl_action_t recv =
        xyl_schedule_recv(schedule, problem->rank - distance, round, theirs,
                          count, XYL_ACTION_NONE);

    doubling->ready =
        xyl_schedule_reduce(schedule, to, theirs, doubling->sum, count,
                            xyl_schedule_join(schedule, doubling->ready, recv));
    if (is_last && problem->is_in_place)
        xyl_schedule_order(schedule, doubling->ready, doubling->read);
    doubling->sum = to;
}

static void scan(doubling_t *doubling)
{
    const xyl_problem_t *problem = doubling->problem;
    uint32_t distance, round = 0;
    xyl_action_t send;

    doubling->sum = own;
    if (problem->rank == 0 && !problem->is_in_place)
        xyl_schedule_copy(doubling->schedule, result, own, problem->count,
                          XYL_ACTION_NONE);
    for (distance = 1; distance < problem->ranks; distance *= 2, round++) {
        send =
            send_on(doubling, distance, round, doubling->sum, doubling->ready);
        if (round == 0)
            doubling->read = send;
        if (problem->rank >= distance)
            put_in_front(doubling, distance, round,
                         problem->rank / 2 < distance);
    }
}

/* Fetches the elements of the rank before this one. */
static void fetch_one(doubling_t *doubling)
{
    const xyl_problem_t *problem = doubling->problem;
    xyl_schedule_t *schedule = doubling->schedule;
    int is_direct = problem->rank == 1 && !problem->is_in_place;

    doubling->read = send_on(doubling, 1, 0, own, XYL_ACTION_NONE);
    if (problem->rank == 0)
        return;
    doubling->sum =
        is_direct ? result : xyl_schedule_temp(schedule, problem->count);
    doubling->ready =
        xyl_schedule_recv(schedule, problem->rank - 1, 0, doubling->sum,
                          problem->count, XYL_ACTION_NONE);
}

/* Fetches the sum of the two ranks before that one. Sends the sum of this rank
 * and the rank before it. */
static void fetch_two(doubling_t *doubling)
{
    const xyl_problem_t *problem = doubling->problem;
    xyl_schedule_t *schedule = doubling->schedule;
    uint64_t count = problem->count;
    xyl_position_t both = own;
    xyl_action_t ready = XYL_ACTION_NONE;

    if (problem->rank != 0 && problem->ranks - problem->rank > 2) {
        both = xyl_schedule_temp(schedule, count);
        ready = xyl_schedule_reduce(schedule, both, doubling->sum, own, count,
                                    doubling->ready);
        doubling->read = xyl_schedule_join(schedule, doubling->read, ready);
    }
    send_on(doubling, 2, 1, both, ready);
    if (problem->rank == 1 && problem->is_in_place) {
        ready = xyl_schedule_copy(schedule, result, doubling->sum, count,
                                  doubling->ready);
        xyl_schedule_order(schedule, ready, doubling->read);
    }
    if (problem->rank >= 2)
        put_in_front(doubling, 2, 1, problem->rank <= 3);
}

static void exscan(doubling_t *doubling)
{
    const xyl_problem_t *problem = doubling->problem;
    uint32_t distance, round = 2;

    fetch_one(doubling);
    fetch_two(doubling);
    if (problem->rank == 0)
        return;
    for (distance = 3; distance < problem->ranks; distance *= 2, round++) {
        send_on(doubling, distance, round, doubling->sum, doubling->ready);
        if (problem->rank > distance)
            put_in_front(doubling, distance, round,
                         (problem->rank + 1) / 2 <= distance);
    }
}

static void scan_recursive_doubling(const xyl_problem_t *problem,
                                    xyl_schedule_t *schedule)
{
    doubling_t doubling = {problem, schedule, own, XYL_ACTION_NONE,
                           XYL_ACTION_NONE};

    if (problem->count == 0)
        return;
    if (problem->coll == XYLEM_COLL_SCAN)
        scan(&doubling);
    else
        exscan(&doubling);
}

const xyl_algorithm_t xyl_algorithm_scan_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "sums of twice as many (Hillis, Steele 1986)",
    XYL_BY_SCHEDULE(scan_recursive_doubling),
    .colls = XYL_COLL_BIT(SCAN),
};

const xyl_algorithm_t xyl_algorithm_exscan_recursive_doubling = {
    .name = "recursive_doubling",
    .help = "sums of 1, 3, 6, 12, ... ranks (Traff 2025)",
    XYL_BY_SCHEDULE(scan_recursive_doubling),
    .colls = XYL_COLL_BIT(EXSCAN),
};
