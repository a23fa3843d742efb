/* Broadcast of long messages: the message is cut into a part per rank. The
 * parts are scattered down a binomial tree of places counted from the root.
 * Then all ranks gather them, round the ring or by recursive doubling, which
 * takes fewer rounds and suits shorter messages. In recursive doubling, the
 * ranks that stand back (fold.h) get everything from their neighbours.
 *
 * A rank never gets a part again that came down the tree with its subtree, so
 * every part of the buffer is written once, and goes on as soon as it is there.
 * Parts may be empty; empty messages are left out on both sides.
 *
 * Barnett, Gupta, Payne, Shuler, van de Geijn, Watts, Interprocessor
 * collective communication library, 1994; Thakur, Rabenseifner, Gropp,
 * Optimization of collective communication operations in MPICH, 2005, section
 * 4.2; without the parts that are there already: Zhou, Marjanovic, Niethammer,
 * Gracia, A bandwidth-saving optimization for MPI broadcast, 2015. */
#include "collectives/schedules/algorithm.h"

#include "collectives/schedules/fold.h"

enum { LABEL_SCATTER, LABEL_GATHER };

typedef struct spread {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    xyl_fold_t fold; /* of ranks counted from the root; each place has a part */
} spread_t;

/* Parts [first, end) of the message. */
typedef struct parts {
    uint64_t first, end;
} parts_t;

static xyl_position_t parts_at(const spread_t *spread, parts_t parts,
                               uint64_t *count_out)
{
    uint64_t count = spread->problem->count;
    uint64_t at = xyl_part_at(count, spread->fold.ranks, (uint32_t)parts.first);

    *count_out =
        xyl_part_at(count, spread->fold.ranks, (uint32_t)parts.end) - at;
    return xyl_in_recv(at);
}

/* `distance`: of the rank from the root. */
static uint32_t rank_behind_root(const spread_t *spread, uint32_t distance)
{
    return (uint32_t)(((uint64_t)distance + spread->problem->root) %
                      spread->problem->ranks);
}

static uint32_t rank_of_part(const spread_t *spread, uint64_t place)
{
    return rank_behind_root(spread,
                            xyl_fold_rank(&spread->fold, (uint32_t)place));
}

static void send_parts(const spread_t *spread, uint32_t to, uint32_t label,
                       parts_t parts, xyl_action_t after)
{
    uint64_t count;
    xyl_position_t from = parts_at(spread, parts, &count);

    xyl_schedule_send(spread->schedule, to, label, from, count, after);
}

static xyl_action_t recv_parts(const spread_t *spread, uint32_t from,
                               uint32_t label, parts_t parts)
{
    uint64_t count;
    xyl_position_t to = parts_at(spread, parts, &count);

    return xyl_schedule_recv(spread->schedule, from, label, to, count,
                             XYL_ACTION_NONE);
}

/* The parts that come down the tree to a place; the root's place has all. */
static parts_t subtree(const spread_t *spread, uint64_t place)
{
    return (parts_t){place,
                     place + xyl_knomial_span(place, spread->fold.ranks, 2)};
}

/* Returns the action after which the parts of the own subtree are there. */
static xyl_action_t scatter_parts(const spread_t *spread)
{
    const xyl_shape_t shape = {&xyl_tree_binomial, 0};
    uint32_t place = spread->fold.place, places = spread->fold.ranks, i;
    uint32_t children[XYL_DISTANCES_MAX];
    uint32_t count = xyl_tree_children(shape, 0, places, place, 0, children,
                                       XYL_DISTANCES_MAX);
    uint32_t parent = xyl_tree_parent(shape, 0, places, place, 0);
    xyl_action_t ready = XYL_ACTION_NONE;

    if (parent != XYL_TREE_NONE)
        ready = recv_parts(spread, rank_of_part(spread, parent), LABEL_SCATTER,
                           subtree(spread, place));
    for (i = 0; i < count; i++)
        send_parts(spread, rank_of_part(spread, children[i]), LABEL_SCATTER,
                   subtree(spread, children[i]), ready);
    return ready;
}

static uint32_t distance_from_root(const xyl_problem_t *problem)
{
    return (
        uint32_t)(((uint64_t)problem->rank + problem->ranks - problem->root) %
                  problem->ranks);
}

static void bcast_scatter_ring(const xyl_problem_t *problem,
                               xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, place = distance_from_root(problem);
    spread_t spread = {problem, schedule, {.ranks = ranks, .place = place}};
    uint32_t next = (place + 1) % ranks, round, part;
    parts_t own, theirs;
    xyl_action_t scattered, ready;

    schedule->labels = LABEL_GATHER + ranks; /* also labels not used */
    own = subtree(&spread, place);
    theirs = subtree(&spread, next);
    ready = scattered = scatter_parts(&spread);
    for (round = 0; round + 1 < ranks; round++) {
        part = (uint32_t)(((uint64_t)place + ranks - round) % ranks);
        if (part < theirs.first || part >= theirs.end)
            send_parts(&spread, rank_behind_root(&spread, next),
                       LABEL_GATHER + part, (parts_t){part, (uint64_t)part + 1},
                       ready);
        part = (part + ranks - 1) % ranks;
        ready = scattered;
        if (part < own.first || part >= own.end)
            ready = recv_parts(
                &spread, rank_behind_root(&spread, (place + ranks - 1) % ranks),
                LABEL_GATHER + part, (parts_t){part, (uint64_t)part + 1});
    }
}

/* The parts that a place gets in the round of `bit`; empty if they came with
 * its subtree. */
static parts_t doubling_gain(uint64_t place, uint32_t bit)
{
    uint64_t first = (place & ~((uint64_t)bit - 1)) ^ bit;

    if (place % (2 * (uint64_t)bit) == 0)
        return (parts_t){first, first};
    return (parts_t){first, first + bit};
}

/* A rank that stands back receives all that its partner gets, part by part. */
static void doubling_apart(const spread_t *spread)
{
    uint32_t from = rank_of_part(spread, spread->fold.place), bit;
    uint32_t label = LABEL_GATHER;

    recv_parts(spread, from, LABEL_SCATTER,
               subtree(spread, spread->fold.place));
    for (bit = 1; bit < spread->fold.ranks; bit *= 2, label++)
        recv_parts(spread, from, label, doubling_gain(spread->fold.place, bit));
}

static void bcast_scatter_allgather(const xyl_problem_t *problem,
                                    xyl_schedule_t *schedule)
{
    uint32_t distance = distance_from_root(problem), bit, label = LABEL_GATHER;
    uint32_t peer, place, partner;
    spread_t spread = {problem, schedule, xyl_fold(distance, problem->ranks)};
    xyl_action_t ready, recv;
    parts_t gain;

    if (!spread.fold.takes_part) {
        doubling_apart(&spread);
        return;
    }
    place = spread.fold.place;
    partner = rank_behind_root(&spread, spread.fold.partner);
    ready = scatter_parts(&spread);
    if (partner != problem->rank)
        send_parts(&spread, partner, LABEL_SCATTER, subtree(&spread, place),
                   ready);
    for (bit = 1; bit < spread.fold.ranks; bit *= 2, label++) {
        peer = rank_of_part(&spread, place ^ bit);
        send_parts(&spread, peer, label, doubling_gain(place ^ bit, bit),
                   ready);
        gain = doubling_gain(place, bit);
        recv = recv_parts(&spread, peer, label, gain);
        if (partner != problem->rank)
            send_parts(&spread, partner, label, gain, recv);
        ready = xyl_schedule_join(schedule, ready, recv);
    }
}

const xyl_algorithm_t xyl_algorithm_bcast_scatter_ring = {
    .name = "scatter_ring",
    .help = "scatter, then round the ring (Barnett et al. 1994)",
    XYL_BY_SCHEDULE(bcast_scatter_ring),
    .colls = XYL_COLL_BIT(BCAST),
};

const xyl_algorithm_t xyl_algorithm_bcast_scatter_allgather = {
    .name = "scatter_allgather",
    .help = "scatter, then recursive doubling (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(bcast_scatter_allgather),
    .colls = XYL_COLL_BIT(BCAST),
};
