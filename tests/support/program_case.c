#include "tests/support/program_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/board/parcel.h"
#include "collectives/choose/registry.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/description.h"
#include "simulator/random.h"
#include "tests/support/call_neighbors.h"
#include "tests/support/check.h"
#include "tests/support/program_inside.h"

enum { GUARD_BYTES = 64 };

static int gathers_to_root(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->recv_blocks && traits->receives == XYL_SIDE_ROOT;
}

static int scatters_from_root(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->sends == XYL_SIDE_ROOT;
}

static int is_alltoall(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->send_blocks &&
           xyl_coll_traits(coll)->recv_blocks;
}

int program_case_varies(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_ALLGATHERV || coll == XYLEM_COLL_REDUCE_SCATTER ||
           coll == XYLEM_COLL_GATHERV || coll == XYLEM_COLL_SCATTERV ||
           coll == XYLEM_COLL_ALLTOALLV || coll == XYLEM_COLL_ALLTOALLW;
}

static int is_sparse(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->has_neighbors;
}

static int scatters(xylem_coll_t coll)
{
    return xyl_coll_traits(coll)->reduces && xyl_coll_traits(coll)->send_blocks;
}

static int gathers_all(xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return traits->recv_blocks && !traits->send_blocks && !traits->has_root &&
           !traits->has_neighbors;
}

int program_case_is_of_bytes(xylem_coll_t coll)
{
    return gathers_to_root(coll) || scatters_from_root(coll) ||
           is_alltoall(coll) || coll == XYLEM_COLL_BARRIER ||
           gathers_all(coll) || is_sparse(coll);
}

int program_case_has_groups(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BARRIER || coll == XYLEM_COLL_BCAST ||
           coll == XYLEM_COLL_REDUCE || coll == XYLEM_COLL_ALLREDUCE ||
           coll == XYLEM_COLL_ALLGATHER;
}

uint64_t program_case_window_min(const program_case_t *c)
{
    uint64_t unit = (c->element_bytes + 127) / 128 * 128;

    if (is_sparse(c->coll) && unit < XYL_PARCEL_BETWEEN_LEAST)
        unit = XYL_PARCEL_BETWEEN_LEAST;
    return unit * c->seats * (c->seats + 1);
}

/* ---- blocks ---- */

static uint64_t block_bytes(const program_case_t *c, uint32_t seat)
{
    uint64_t random = random_mix(c->salt ^ seat);

    if (!c->varies)
        return c->count * c->element_bytes;
    switch (random_below(&random, 4)) {
    case 0:
        return 0;
    case 1:
        return c->count * c->element_bytes;
    default:
        return random_below(&random, (uint32_t)c->count + 1) * c->element_bytes;
    }
}

/* The bytes for or from `seat` in the large buffer of `owner`. Two seats have
 * equally many for each other, so that an exchange can be in place. */
static uint64_t bytes_between(const program_case_t *c, uint32_t owner,
                              uint32_t seat)
{
    uint32_t low = owner < seat ? owner : seat;

    return block_bytes(c, is_alltoall(c->coll)
                              ? low * PROGRAM_SEATS_MAX + owner + seat
                              : seat);
}

static int is_root(const program_case_t *c, uint32_t seat)
{
    return !xyl_coll_traits(c->coll)->has_root || seat == c->root;
}

/* Not everywhere, and with a root there alone. */
static int is_in_place(const program_case_t *c, uint32_t seat)
{
    return c->in_place && is_root(c, seat) &&
           xyl_coll_traits(c->coll)->takes_in_place != XYL_SIDE_NOBODY;
}

/* There may be gaps, not the same on both sides. */
static uint64_t place_of(const program_case_t *c, uint32_t owner, uint32_t seat,
                         uint64_t gap)
{
    uint64_t at = 0;
    uint32_t i;

    if (!c->varies || scatters(c->coll))
        gap = c->gap;
    for (i = 0; i < seat; i++)
        at += bytes_between(c, owner, i) + gap;
    return at;
}

static uint64_t recv_at(const program_case_t *c, uint32_t owner, uint32_t seat)
{
    return place_of(c, owner, seat, c->salt % 5);
}

static uint64_t send_at(const program_case_t *c, uint32_t owner, uint32_t seat)
{
    return is_in_place(c, owner) ? recv_at(c, owner, seat)
                                 : place_of(c, owner, seat, c->salt % 3);
}

/* ---- neighbours ---- */

enum { LIST_MAX = PROGRAM_SEATS_MAX * (CALL_NEIGHBOR_TIMES + 1) };

static uint32_t list_of(const program_case_t *c, uint32_t seat, int is_source,
                        uint32_t list[LIST_MAX])
{
    return call_neighbors(c->salt, c->seats, seat, is_source, list);
}

static uint32_t sources_count(const program_case_t *c, uint32_t seat)
{
    uint32_t list[LIST_MAX];

    return list_of(c, seat, 1, list);
}

/* ---- buffers ---- */

static uint64_t send_bytes(const program_case_t *c, uint32_t seat)
{
    if (xyl_coll_traits(c->coll)->sends == XYL_SIDE_NOBODY)
        return 0;
    if (scatters_from_root(c->coll) && seat != c->root)
        return 0;
    if (scatters_from_root(c->coll) || is_alltoall(c->coll) ||
        scatters(c->coll))
        return send_at(c, seat, c->seats);
    return block_bytes(c, seat);
}

static uint64_t recv_bytes(const program_case_t *c, uint32_t seat)
{
    if (scatters_from_root(c->coll) && is_in_place(c, seat))
        return 0;
    if (!xyl_side_matters(xyl_coll_traits(c->coll)->receives, is_root(c, seat)))
        return 0;
    if (gathers_to_root(c->coll) || is_alltoall(c->coll) ||
        gathers_all(c->coll))
        return recv_at(c, seat, c->seats);
    if (is_sparse(c->coll))
        return sources_count(c, seat) * block_bytes(c, seat);
    return block_bytes(c, seat);
}

static void place(const program_case_t *c, program_run_seat_t *own,
                  uint32_t seat)
{
    uint64_t send = send_bytes(c, seat), recv = recv_bytes(c, seat), i;
    uint64_t random = random_mix(c->salt + seat);

    own->at[XYL_BUFFER_RECV] = own->at[XYL_BUFFER_SEND] = GUARD_BYTES;
    if (is_in_place(c, seat))
        own->memory_bytes =
            (send > recv ? send : recv) + 2 * (uint64_t)GUARD_BYTES;
    else {
        own->at[XYL_BUFFER_SEND] += recv + GUARD_BYTES;
        own->memory_bytes = send + recv + 3 * (uint64_t)GUARD_BYTES;
    }
    own->initial = program_array(own->memory_bytes, 1);
    own->expected = program_array(own->memory_bytes, 1);
    for (i = 0; i < own->memory_bytes; i++)
        own->initial[i] = (unsigned char)random_next(&random);
    memcpy(own->expected, own->initial, own->memory_bytes);
    own->input =
        c->coll == XYLEM_COLL_BCAST ? XYL_BUFFER_RECV : XYL_BUFFER_SEND;
    own->total = c->count * c->element_bytes;
    own->has_input = c->coll != XYLEM_COLL_BCAST || seat == c->root;
    own->has_output = recv != 0;
    own->is_seen = c->sees_all || random_below(&random, 3) != 0;
}

/* ---- groups ---- */

static void group_seats(const program_case_t *c, uint32_t *group_of)
{
    uint64_t random = random_mix(c->salt ^ 0x6701);
    uint32_t lowest[PROGRAM_SEATS_MAX] = {0}, groups = 0, seat, which;

    for (seat = 0; seat < c->seats; seat++) {
        which = random_below(&random, groups + 1);
        if (c->groups == PROGRAM_GROUPS_RANGES && which != groups)
            which = groups - 1;
        if (which == groups)
            lowest[groups++] = seat;
        group_of[seat] = lowest[which];
    }
}

/* ---- what must be there ---- */

/* x -> ax + b after x -> cx + d: not commutative. */
static void compose(void *to, const void *left, const void *right,
                    uint64_t bytes)
{
    uint64_t at;

    for (at = 0; at < bytes; at += 8) {
        uint32_t l[2], r[2], both[2];
        memcpy(l, (const char *)left + at, 8);
        memcpy(r, (const char *)right + at, 8);
        both[0] = l[0] * r[0];
        both[1] = l[0] * r[1] + l[1];
        memcpy((char *)to + at, both, 8);
    }
}

static void add(void *to, const void *left, const void *right, uint64_t bytes)
{
    const unsigned char *l = left, *r = right;
    unsigned char *sum = to;
    uint64_t i;

    for (i = 0; i < bytes; i++)
        sum[i] = (unsigned char)(l[i] + r[i]);
}

/* Neither commutative nor associative. */
static void mangle(void *to, const void *left, const void *right,
                   uint64_t bytes)
{
    const unsigned char *l = left, *r = right;
    unsigned char *both = to;
    uint64_t i;

    for (i = 0; i < bytes; i++)
        both[i] = (unsigned char)(3 * l[i] + 5 * r[i]);
}

static program_run_combine_fn combine_of(const program_case_t *c)
{
    if (c->shows_order)
        return mangle;
    return c->element_bytes == 8 && !c->in_arrival_order ? compose : add;
}

static const unsigned char *sent(const program_run_t *run, uint32_t seat,
                                 uint64_t at)
{
    const program_run_seat_t *own = &run->all[seat];

    return own->initial + own->at[XYL_BUFFER_SEND] + at;
}

/* The bytes that a seat gives to an allgather, or to the root. */
static const unsigned char *given(const program_run_t *run,
                                  const program_case_t *c, uint32_t seat)
{
    return sent(run, seat, is_in_place(c, seat) ? recv_at(c, seat, seat) : 0);
}

/* Combines the elements of seats [0, end) at `at`. */
static void expect_combined(const program_run_t *run, const program_case_t *c,
                            uint32_t number, uint32_t end, uint64_t at)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_BUFFER_RECV];
    uint64_t bytes = block_bytes(c, number);
    uint32_t seat;

    if (end == 0)
        return;
    memcpy(to, sent(run, 0, at), bytes);
    for (seat = 1; seat < end; seat++)
        combine_of(c)(to, to, sent(run, seat, at), bytes);
}

/* Group by group, each in the order of seats. */
static void combine_by_groups(const program_run_t *run, const program_case_t *c,
                              unsigned char *to, unsigned char *sum,
                              uint64_t bytes)
{
    uint32_t group_of[PROGRAM_SEATS_MAX], group, seat;

    group_seats(c, group_of);
    for (group = 0; group < c->seats; group++) {
        if (group_of[group] != group)
            continue;
        memcpy(sum, sent(run, group, 0), bytes);
        for (seat = group + 1; seat < c->seats; seat++)
            if (group_of[seat] == group)
                mangle(sum, sum, sent(run, seat, 0), bytes);
        if (group == 0)
            memcpy(to, sum, bytes);
        else
            mangle(to, to, sum, bytes);
    }
}

/* Combines level by level, in each group in the order of its parts; `sums` has
 * room for each seat's bytes. */
static void combine_by_levels(const program_run_t *run, const program_case_t *c,
                              unsigned char *to, unsigned char *sums,
                              uint64_t bytes)
{
    uint64_t below, seat, size;

    for (seat = 0; seat < c->seats; seat++)
        memcpy(sums + seat * bytes, sent(run, (uint32_t)seat, 0), bytes);
    for (below = 1; below < c->seats; below = size) {
        size = below * c->radix;
        for (seat = 0; seat < c->seats; seat += below) {
            unsigned char *group = sums + seat / size * size * bytes;
            if (seat % size != 0)
                mangle(group, group, sums + seat * bytes, bytes);
        }
    }
    memcpy(to, sums, bytes);
}

static void expect_by_groups(const program_run_t *run, const program_case_t *c,
                             uint32_t number)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_BUFFER_RECV];
    unsigned char *sums = program_array(own->total, c->seats);

    (c->radix != 0 ? combine_by_levels : combine_by_groups)(run, c, to, sums,
                                                            own->total);
    free(sums);
}

static void expect_blocks(const program_run_t *run, const program_case_t *c,
                          uint32_t number)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_BUFFER_RECV];
    uint32_t seat;

    for (seat = 0; seat < c->seats; seat++)
        memcpy(to + recv_at(c, number, seat),
               is_alltoall(c->coll) ? sent(run, seat, send_at(c, seat, number))
                                    : given(run, c, seat),
               bytes_between(c, number, seat));
}

static void expect_neighbors(const program_run_t *run, const program_case_t *c,
                             uint32_t number)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_BUFFER_RECV];
    uint32_t list[LIST_MAX], count = list_of(c, number, 1, list), i;

    for (i = 0; i < count; i++)
        if (list[i] != UINT32_MAX)
            memcpy(to + i * own->total, sent(run, list[i], 0), own->total);
}

static void expect(const program_run_t *run, const program_case_t *c,
                   uint32_t seat)
{
    const program_run_seat_t *own = &run->all[seat];
    unsigned char *to = own->expected + own->at[XYL_BUFFER_RECV];

    if (recv_bytes(c, seat) == 0)
        return;
    if (c->shows_order)
        expect_by_groups(run, c, seat);
    else if (is_sparse(c->coll))
        expect_neighbors(run, c, seat);
    else if (c->coll == XYLEM_COLL_BCAST)
        memcpy(to, run->all[c->root].initial + GUARD_BYTES, own->total);
    else if (scatters_from_root(c->coll))
        memcpy(to, sent(run, c->root, send_at(c, c->root, seat)),
               block_bytes(c, seat));
    else if (c->coll == XYLEM_COLL_SCAN || c->coll == XYLEM_COLL_EXSCAN)
        expect_combined(run, c, seat,
                        c->coll == XYLEM_COLL_SCAN ? seat + 1 : seat, 0);
    else if (scatters(c->coll))
        expect_combined(run, c, seat, c->seats, send_at(c, seat, seat));
    else if (c->coll == XYLEM_COLL_REDUCE || c->coll == XYLEM_COLL_ALLREDUCE)
        expect_combined(run, c, seat, c->seats, 0);
    else
        expect_blocks(run, c, seat);
}

/* ---- the whole ---- */

typedef struct blocks {
    uint64_t counts[PROGRAM_SEATS_MAX];
    uint64_t recv_at[PROGRAM_SEATS_MAX], send_at[PROGRAM_SEATS_MAX];
} blocks_t;

/* A seat that has one block knows no others. */
static void describe(const program_case_t *c, uint32_t seat, blocks_t *blocks,
                     xyl_problem_t *problem)
{
    uint32_t i;

    for (i = 0; i < c->seats; i++) {
        blocks->counts[i] = bytes_between(c, seat, i) / c->element_bytes;
        blocks->recv_at[i] = recv_at(c, seat, i) / c->element_bytes;
        blocks->send_at[i] = send_at(c, seat, i) / c->element_bytes;
    }
    if (program_case_varies(c->coll) && xyl_coll_traits(c->coll)->has_root)
        problem->count = block_bytes(c, seat) / c->element_bytes;
    if (!is_root(c, seat))
        return;
    if (scatters_from_root(c->coll)) {
        problem->send_counts = c->varies ? blocks->counts : NULL;
        problem->send_displs = blocks->send_at;
        return;
    }
    problem->recv_counts = c->varies ? blocks->counts : NULL;
    problem->recv_displs = blocks->recv_at;
    if (!is_alltoall(c->coll))
        return;
    problem->send_counts = blocks->counts;
    problem->send_displs =
        is_in_place(c, seat) ? blocks->recv_at : blocks->send_at;
}

/* An algorithm that fits does so on all seats. */
static const xyl_algorithm_t *nth_that_fits(const xyl_problem_t *problem,
                                            uint32_t n, uint32_t *count_out)
{
    const xyl_algorithm_t *const *all, *found = NULL;
    size_t count, i;

    all = xyl_algorithms(&count);
    *count_out = 0;
    for (i = 0; i < count; i++)
        if (all[i]->kind == XYL_ALGORITHM_NODE &&
            (all[i]->needs & XYL_STANDS_FOR_KIND) == 0 &&
            xyl_algorithm_does(all[i], problem->coll) &&
            xyl_algorithm_fits(all[i], problem, NULL) && (*count_out)++ == n)
            found = all[i];
    return found;
}

static const xyl_algorithm_t *algorithm_of(const program_case_t *c,
                                           const xyl_problem_t *problem)
{
    const xyl_algorithm_t *algorithm;
    uint32_t count;

    if (c->algorithm != NULL) {
        algorithm = xyl_algorithm_find(c->coll, c->algorithm);
        if (algorithm != NULL &&
            (algorithm->needs & XYL_STANDS_FOR_KIND) == 0 &&
            xyl_algorithm_fits(algorithm, problem, NULL))
            return algorithm;
    }
    algorithm = nth_that_fits(problem, 0, &count);
    if (c->algorithm == NULL)
        algorithm = nth_that_fits(
            problem, (uint32_t)(random_mix(c->salt) % count), &count);
    return algorithm;
}

static void write_program(program_run_t *run, const program_case_t *c,
                          uint32_t seat)
{
    xyl_node_program_t *program = &run->all[seat].program;
    uint32_t group_of[PROGRAM_SEATS_MAX];
    uint32_t destinations[LIST_MAX], sources[LIST_MAX];
    xylem_coll_args_t args = {.destinations = destinations, .sources = sources};
    blocks_t blocks;
    xyl_problem_t problem = {
        .coll = c->coll,
        .args = &args,
        .rank = seat,
        .ranks = c->seats,
        .root = c->root,
        .count = c->count,
        .element_bytes = c->element_bytes,
        .is_in_place = is_in_place(c, seat),
        .shares_memory = 1,
        .segment_bytes = c->segment_bytes,
        .node.limits = c->limits != NULL ? c->limits : &xyl_limits_builtin,
        .node.window_bytes = c->window_bytes,
        .node.long_window_bytes = c->window_bytes,
        .node.share_bytes = c->share_bytes,
        .node.is_level = c->is_level,
        .node.is_for_one = c->is_level && c->coll == XYLEM_COLL_REDUCE,
        .is_commutative = combine_of(c) != compose,
        .in_arrival_order = c->in_arrival_order};

    problem.radix = c->radix;
    if (c->algorithm == NULL && !c->shows_order && c->salt % 2 == 0)
        problem.radix = 2 + (uint32_t)(c->salt / 2 % c->seats);
    if (c->varies || c->gap != 0)
        describe(c, seat, &blocks, &problem);
    if (c->groups != PROGRAM_GROUPS_NONE) {
        group_seats(c, group_of);
        problem.node.group_of = group_of;
    }
    args.destination_count = list_of(c, seat, 0, destinations);
    args.source_count = list_of(c, seat, 1, sources);
    program->element_bytes = c->element_bytes;
    algorithm_of(c, &problem)->program(&problem, program);
}

/* Cuts as a stage does when all seats have told their lengths; and as it may
 * have done in an earlier run. */
static void cut_late(program_run_t *run, const program_case_t *c)
{
    uint64_t random = random_mix(c->salt), largest = 0;
    uint32_t seat;

    for (seat = 0; seat < c->seats; seat++)
        if (run->all[seat].program.largest > largest)
            largest = run->all[seat].program.largest;
    for (seat = 0; seat < c->seats; seat++) {
        if (random_below(&random, 2) == 0)
            xyl_node_cut_now(&run->all[seat].program,
                             random_below(&random, 5000));
        xyl_node_cut_now(&run->all[seat].program, largest);
    }
}

void program_case_init(program_run_t *run, const program_case_t *c)
{
    uint32_t seat;

    program_run_init(run, c->seats);
    for (seat = 0; seat < c->seats; seat++) {
        place(c, &run->all[seat], seat);
        write_program(run, c, seat);
    }
    if (run->all[0].program.is_cut_late)
        cut_late(run, c);
    for (seat = 0; seat < c->seats; seat++)
        expect(run, c, seat);
}

void program_case_fini(program_run_t *run)
{
    uint32_t seat;

    for (seat = 0; seat < run->seats; seat++) {
        free(run->all[seat].initial);
        free(run->all[seat].expected);
    }
    program_run_fini(run);
}

program_run_options_t program_case_options(const program_case_t *c,
                                           uint64_t seed, uint64_t orders_max)
{
    return (program_run_options_t){.seed = seed,
                                   .combine = combine_of(c),
                                   .window_bytes = c->window_bytes,
                                   .is_barrier = c->coll == XYLEM_COLL_BARRIER,
                                   .orders_max = orders_max};
}

static void describe_case(const program_case_t *c, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "%s: collective %d%s%s%s of %" PRIu32 " seats, root %" PRIu32
             ", %" PRIu64 " elements of %zu, windows of %" PRIu64
             ", segments of %" PRIu64 ", shared from %" PRIu64 ", gap %" PRIu64
             ", groups %d, radix %" PRIu32 ", salt %" PRIu64,
             c->algorithm == NULL ? "drawn" : c->algorithm, (int)c->coll,
             c->in_place ? " in place" : "",
             c->varies ? " with blocks that differ" : "",
             c->in_arrival_order ? " as they come" : "", c->seats, c->root,
             c->count, c->element_bytes, c->window_bytes, c->segment_bytes,
             c->share_bytes, c->gap, (int)c->groups, c->radix, c->salt);
}

void program_case_complain(const program_run_t *run, const program_case_t *c)
{
    char text[320];

    describe_case(c, text, sizeof text);
    printf("# %s\n", text);
    check_failed(__FILE__, __LINE__, run->mistake);
}

uint64_t program_case_try(const program_case_t *c, uint64_t seed,
                          uint64_t orders_max)
{
    program_run_options_t options = program_case_options(c, seed, orders_max);
    uint64_t orders;
    program_run_t run;

    program_case_init(&run, c);
    if (!program_run_go(&run, &options))
        program_case_complain(&run, c);
    orders = run.orders;
    program_case_fini(&run);
    return orders;
}
