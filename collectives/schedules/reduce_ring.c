/* Allreduce and reduce_scatter: the vector is cut into one part per rank. Each
 * part goes once round the ring, from the rank behind its owner to its owner,
 * and each rank adds its contribution. For an allreduce the result of the part
 * goes round once more. Parts go in segments, a few of which are under way at
 * once and do not wait for each other. For long messages: a rank sends its
 * vector once (allreduce: twice), each time less one part.
 *
 * Patarasuk, Yuan, Bandwidth optimal all-reduce algorithms for clusters of
 * workstations, 2009; the ring reduce_scatter of Thakur, Rabenseifner, Gropp,
 * 2005. */
#include "collectives/schedules/algorithm.h"
#include "collectives/schedules/inbox.h"
#include "collectives/schedules/parts.h"

/* Segments of a part that are under way at once. A place in the inbox is free
 * again when the next rank has a place for the same segment, which it takes
 * LANES turns later. There are more places, so no ranks wait in a circle. */
enum { LANES = XYL_INBOX_PLACES / 2 };

typedef struct ring {
    const xyl_problem_t *problem;
    xyl_schedule_t *schedule;
    uint32_t next, before;
    uint64_t segment;      /* elements */
    uint32_t segments_max; /* of a part */
    uint32_t lanes;
    xyl_inbox_t inbox;
    xyl_position_t result; /* of the own part, which begins at `own_at` */
    uint64_t own_at;
    xyl_action_t done; /* after this a late result is ready, */
    xyl_action_t read; /* and after this SEND has been read in its place */
} ring_t;

/* A segment of a part. */
typedef struct stretch {
    uint32_t part;
    uint32_t label; /* of its first way round */
    uint64_t at, count;
} stretch_t;

/* The label of the segment's result. */
static uint32_t result_label(const ring_t *ring, const stretch_t *stretch)
{
    return ring->problem->ranks * ring->segments_max + stretch->label;
}

static int is_allreduce(const ring_t *ring)
{
    return ring->problem->coll == XYLEM_COLL_ALLREDUCE;
}

/* Receives a result, and sends it on unless the next rank has computed it. */
static void result_pass(ring_t *ring, const stretch_t *stretch,
                        xyl_action_t read)
{
    xyl_position_t to = xyl_in_recv(stretch->at);
    xyl_action_t recv = xyl_schedule_recv(
        ring->schedule, ring->before, result_label(ring, stretch), to,
        stretch->count, ring->problem->is_in_place ? read : XYL_ACTION_NONE);

    if (stretch->part != ring->next)
        xyl_schedule_send(ring->schedule, ring->next,
                          result_label(ring, stretch), to, stretch->count,
                          recv);
}

/* Notes that `read` reads a stretch of SEND, if a late result waits for it. */
static void read_segment(ring_t *ring, const stretch_t *stretch,
                         xyl_action_t read)
{
    uint32_t rank = ring->problem->rank;

    if (xyl_parts_result_is_late(ring->problem) &&
        stretch->at < xyl_parts_count(ring->problem, rank, rank + 1))
        ring->read = xyl_schedule_join(ring->schedule, ring->read, read);
}

/* Sends a segment of the part that this rank is the first to send. */
static void send_first(ring_t *ring, const stretch_t *stretch)
{
    xyl_action_t send = xyl_schedule_send(
        ring->schedule, ring->next, stretch->label, xyl_in_send(stretch->at),
        stretch->count, XYL_ACTION_NONE);

    read_segment(ring, stretch, send);
    if (is_allreduce(ring))
        result_pass(ring, stretch, send);
}

/* Combines a segment that comes with this rank's contribution; sends the sum
 * on, or keeps it if it is complete. */
static void combine_segment(ring_t *ring, const stretch_t *stretch, int is_last)
{
    xyl_schedule_t *schedule = ring->schedule;
    xyl_action_t ready, used;
    xyl_position_t theirs = xyl_inbox_take(&ring->inbox, &ready);
    xyl_position_t to =
        is_last ? xyl_position_plus(ring->result, stretch->at - ring->own_at)
                : theirs;

    ready = xyl_schedule_recv(schedule, ring->before, stretch->label, theirs,
                              stretch->count, ready);
    used = ready = xyl_schedule_reduce(
        schedule, to, theirs, xyl_in_send(stretch->at), stretch->count, ready);
    if (!is_last)
        used = xyl_schedule_send(schedule, ring->next, stretch->label, theirs,
                                 stretch->count, ready);
    xyl_inbox_give(&ring->inbox, used);
    if (!is_last)
        read_segment(ring, stretch, ready);
    else if (xyl_parts_result_is_late(ring->problem))
        ring->done = xyl_schedule_join(schedule, ring->done, ready);
    if (!is_last && is_allreduce(ring))
        result_pass(ring, stretch, ready);
    else if (is_allreduce(ring))
        xyl_schedule_send(schedule, ring->next, result_label(ring, stretch), to,
                          stretch->count, ready);
}

/* Writes a segment of the `nth` part that this rank touches. */
static void segment_write(ring_t *ring, uint32_t nth, uint32_t segment)
{
    uint32_t ranks = ring->problem->ranks;
    uint32_t part = (ring->problem->rank + 2 * ranks - 1 - nth) % ranks;
    uint64_t end = xyl_parts_at(ring->problem, part + 1);
    stretch_t stretch = {
        part, part * ring->segments_max + segment,
        xyl_parts_at(ring->problem, part) + segment * ring->segment, 0};

    if (stretch.at >= end)
        return;
    stretch.count = end - stretch.at;
    if (stretch.count > ring->segment)
        stretch.count = ring->segment;
    if (nth == 0)
        send_first(ring, &stretch);
    else
        combine_segment(ring, &stretch, nth + 1 == ranks);
}

/* Writes as many segments of each part as there are lanes, from `first` on.
 * Segments that short parts lack use turns of the inbox, too. */
static void lanes_write(ring_t *ring, uint32_t first)
{
    uint32_t steps = ring->problem->ranks - 1, nth, lane;
    uint64_t turn = (uint64_t)first * steps;

    for (nth = 0; nth <= steps; nth++)
        for (lane = 0; lane < ring->lanes; lane++) {
            ring->inbox.next = (uint32_t)(turn % XYL_INBOX_PLACES);
            segment_write(ring, nth, first + lane);
            turn += nth != 0;
        }
}

static void result_init(ring_t *ring)
{
    uint32_t rank = ring->problem->rank;

    ring->done = ring->read = XYL_ACTION_NONE;
    ring->own_at = xyl_parts_at(ring->problem, rank);
    ring->result = xyl_in_recv(0);
    if (is_allreduce(ring))
        ring->result.at = ring->own_at;
    else if (ring->problem->is_in_place)
        ring->result = xyl_schedule_temp(
            ring->schedule, xyl_parts_count(ring->problem, rank, rank + 1));
}

static void copy_late_result(ring_t *ring)
{
    uint32_t rank = ring->problem->rank;
    uint64_t count = xyl_parts_count(ring->problem, rank, rank + 1);
    xyl_action_t copy;

    if (!xyl_parts_result_is_late(ring->problem) || count == 0)
        return;
    copy = xyl_schedule_copy(ring->schedule, xyl_in_recv(0), ring->result,
                             count, ring->done);
    xyl_schedule_order(ring->schedule, copy, ring->read);
}

static void reduce_ring(const xyl_problem_t *problem, xyl_schedule_t *schedule)
{
    uint32_t ranks = problem->ranks, rank = problem->rank, i;
    ring_t ring = {.problem = problem,
                   .schedule = schedule,
                   .next = (rank + 1) % ranks,
                   .before = (rank + ranks - 1) % ranks};
    uint64_t longest = 0, count;

    for (i = 0; i < ranks; i++) {
        count = xyl_parts_count(problem, i, i + 1);
        if (longest < count)
            longest = count;
    }
    if (longest == 0)
        return;
    if (ranks == 1) {
        xyl_reduce_alone(problem, schedule, longest);
        return;
    }
    ring.segment = xyl_segment_count(problem, longest);
    ring.segments_max = (uint32_t)((longest + ring.segment - 1) / ring.segment);
    schedule->labels = ranks * ring.segments_max; /* also for empty parts */
    if (is_allreduce(&ring))
        schedule->labels *= 2;
    ring.lanes = ring.segments_max < LANES ? ring.segments_max : LANES;
    result_init(&ring);
    xyl_inbox_init(&ring.inbox, schedule, ring.segment,
                   (uint64_t)(ranks - 1) * ring.segments_max);
    for (i = 0; i < ring.segments_max; i += ring.lanes)
        lanes_write(&ring, i);
    copy_late_result(&ring);
}

const xyl_algorithm_t xyl_algorithm_allreduce_ring = {
    .name = "ring",
    .help = "parts go twice round the ring (Patarasuk, Yuan 2009)",
    XYL_BY_SCHEDULE(reduce_ring),
    .colls = XYL_COLL_BIT(ALLREDUCE),
    .needs = XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS,
};

const xyl_algorithm_t xyl_algorithm_reduce_scatter_ring = {
    .name = "ring",
    .help = "parts go round the ring (Thakur et al. 2005)",
    XYL_BY_SCHEDULE(reduce_ring),
    .colls = XYL_COLL_BIT(REDUCE_SCATTER) | XYL_COLL_BIT(REDUCE_SCATTER_BLOCK),
    .needs = XYL_NEEDS_COMMUTATIVE | XYL_TAKES_SEGMENTS,
};
