#include "tests/support/algorithm_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"
#include "simulator/random.h"
#include "tests/support/schedule_inside.h"

enum { BETWEEN = 3 /* elements before, between and behind buffers */ };

static const xyl_coll_traits_t *traits_of(const algorithm_case_t *c)
{
    return xyl_coll_traits(c->problem.coll);
}

int algorithm_case_reduces(const algorithm_case_t *c)
{
    return traits_of(c)->reduces;
}

/* ---- data ---- */

typedef struct affine {
    uint32_t a, b;
} affine_t;

static void sums_combine(void *to, const void *left, const void *right,
                         uint64_t count)
{
    const uint64_t *l = left, *r = right;
    uint64_t *result = to, i;

    for (i = 0; i < count; i++)
        result[i] = l[i] + r[i];
}

static void floats_combine(void *to, const void *left, const void *right,
                           uint64_t count)
{
    const double *l = left, *r = right;
    double *result = to;
    uint64_t i;

    for (i = 0; i < count; i++)
        result[i] = l[i] + r[i];
}

/* First the left map, then the right one. */
static void maps_combine(void *to, const void *left, const void *right,
                         uint64_t count)
{
    const affine_t *l = left, *r = right;
    affine_t *result = to;
    uint64_t i;

    for (i = 0; i < count; i++)
        result[i] = (affine_t){l[i].a * r[i].a, l[i].b * r[i].a + r[i].b};
}

schedule_run_combine_fn algorithm_case_combine(const algorithm_case_t *c)
{
    if (!traits_of(c)->reduces)
        return NULL;
    switch (c->data) {
    case ALGORITHM_DATA_FLOAT64:
        return floats_combine;
    case ALGORITHM_DATA_AFFINE:
        return maps_combine;
    case ALGORITHM_DATA_PLAIN:
        break;
    }
    return sums_combine;
}

/* Writes element `index` of a rank's input. */
static void element_write(const algorithm_case_t *c, uint32_t rank,
                          uint64_t index, unsigned char *to)
{
    uint64_t hash = random_mix(random_mix(c->salt + rank) + index);
    double number;
    size_t i;

    if (c->data == ALGORITHM_DATA_FLOAT64) {
        number = (double)(hash >> 12) * ((hash & 1) != 0 ? 1e-3 : -1e9);
        memcpy(to, &number, sizeof number);
        return;
    }
    if (c->data == ALGORITHM_DATA_AFFINE)
        hash |= 1 | UINT64_C(1) << 32; /* odd factors lose nothing */
    for (i = 0; i < c->element_bytes; i++) {
        to[i] = (unsigned char)(hash >> (i % 8 * 8));
        if (i % 8 == 7)
            hash = random_mix(hash);
    }
}

static void elements_write(const algorithm_case_t *c, uint32_t rank,
                           uint64_t first, uint64_t count, unsigned char *to)
{
    uint64_t i;

    for (i = 0; i < count; i++)
        element_write(c, rank, first + i, to + i * c->element_bytes);
}

/* ---- drawing ---- */

static uint64_t count_draw(uint64_t *random, uint32_t ranks)
{
    const uint64_t counts[] = {0,
                               1,
                               2,
                               7,
                               64,
                               ranks - 1,
                               ranks,
                               ranks + 1,
                               3 * (uint64_t)ranks + 5,
                               random_between(random, 1, 97)};

    return counts[random_below(random, sizeof counts / sizeof *counts)];
}

static uint64_t segment_draw(uint64_t *random, uint64_t count)
{
    const uint64_t counts[] = {0, 1, 2, 3, 7, 64, count / 3 + 1, count};

    return counts[random_below(random, sizeof counts / sizeof *counts)];
}

static uint32_t radix_draw(uint64_t *random, const xyl_algorithm_t *algorithm)
{
    uint32_t max = algorithm->radix.most < 9 ? algorithm->radix.most : 9;

    if (algorithm->radix.most == 0)
        return 0;
    switch (random_below(random, 4)) {
    case 0:
        return algorithm->radix.preset;
    case 1:
        return random_between(random, 2, algorithm->radix.most);
    default:
        return random_between(random, 2, max);
    }
}

/* Draws the places of one rank's blocks: one behind the other, or with gaps, or
 * with gaps from the last to the first. */
static void displs_draw(uint64_t *random, const uint64_t *counts,
                        uint64_t *displs, uint32_t ranks, uint32_t how)
{
    uint64_t at = 0;
    uint32_t i, which;

    for (i = 0; i < ranks; i++) {
        which = how == 2 ? ranks - 1 - i : i;
        if (how != 0)
            at += random_below(random, 4);
        displs[which] = at;
        at += counts[which];
    }
}

/* Draws the length of the block from `source` to `target`. If there is one
 * block per rank, a rank sends the same to all, or receives the same from all.
 */
static uint64_t block_draw(const algorithm_case_t *c, uint32_t source,
                           uint32_t target)
{
    uint64_t hash = c->seed ^ 0x5eed;
    uint32_t shape = (uint32_t)(c->seed >> 8) % 4, max = 13;

    if (!xyl_coll_varies(c->problem.coll))
        return c->problem.count;
    if (!traits_of(c)->send_blocks)
        hash = random_mix(hash + source);
    else if (!traits_of(c)->recv_blocks)
        hash = random_mix(hash + target);
    else if (c->is_in_place) /* symmetric */
        hash = random_mix(hash + random_mix(source) + random_mix(target));
    else
        hash = random_mix(random_mix(hash + source) + target);
    if (shape == 0) /* few have something */
        return hash % 5 == 0 ? hash / 8 % (UINT64_C(3) * max) : 0;
    return hash % 3 == 0 ? 0 : hash / 8 % max;
}

static void blocks_draw(algorithm_case_t *c, uint64_t *random)
{
    uint64_t ranks = c->ranks, size = ranks * ranks;
    uint32_t i, j,
        how = xyl_coll_varies(c->problem.coll) && !traits_of(c)->reduces
                  ? random_below(random, 3)
                  : 0;
    uint64_t state;

    c->send_counts = schedule_run_array(size, sizeof *c->send_counts);
    c->send_displs = schedule_run_array(size, sizeof *c->send_displs);
    c->recv_counts = schedule_run_array(size, sizeof *c->recv_counts);
    c->recv_displs = schedule_run_array(size, sizeof *c->recv_displs);
    for (i = 0; i < ranks; i++)
        for (j = 0; j < ranks; j++)
            c->send_counts[i * ranks + j] = c->recv_counts[j * ranks + i] =
                block_draw(c, i, j);
    for (i = 0; i < ranks; i++) {
        /* If in place, both sides have the same layout. */
        state = c->seed + i;
        displs_draw(&state, c->send_counts + i * ranks,
                    c->send_displs + i * ranks, c->ranks, how);
        state = c->seed + i + (c->is_in_place ? 0 : 1000);
        displs_draw(&state, c->recv_counts + i * ranks,
                    c->recv_displs + i * ranks, c->ranks, how);
    }
}

static void draw(algorithm_case_t *c, uint32_t nth)
{
    static const size_t element_bytes[] = {8, 8, 1, 4, 12, 200};
    uint64_t random = c->seed;
    uint32_t flags = c->algorithm->needs;
    uint64_t segment_count = 0;
    xyl_problem_t *problem = &c->problem;

    problem->ranks = c->ranks;
    if (traits_of(c)->has_root)
        problem->root =
            c->ranks <= 8 ? nth % c->ranks : random_below(&random, c->ranks);
    if (problem->coll != XYLEM_COLL_BARRIER)
        problem->count = count_draw(&random, c->ranks);
    problem->radix = radix_draw(&random, c->algorithm);
    if ((flags & XYL_TAKES_SEGMENTS) != 0)
        segment_count = segment_draw(&random, problem->count);
    problem->is_commutative =
        (flags & XYL_NEEDS_COMMUTATIVE) != 0 || random_below(&random, 3) == 0;
    c->is_in_place = traits_of(c)->takes_in_place != XYL_SIDE_NOBODY &&
                     random_below(&random, 3) == 0;
    c->data = traits_of(c)->reduces && !problem->is_commutative
                  ? ALGORITHM_DATA_AFFINE
                  : ALGORITHM_DATA_PLAIN;
    c->element_bytes =
        traits_of(c)->reduces ? 8 : element_bytes[random_below(&random, 6)];
    problem->element_bytes = c->element_bytes;
    problem->segment_bytes = segment_count * c->element_bytes;
    blocks_draw(c, &random);
}

/* ---- one rank's view ---- */

static int is_root_or_all(const algorithm_case_t *c, uint32_t rank)
{
    return !traits_of(c)->has_root || rank == c->problem.root;
}

static int is_in_place_at(const algorithm_case_t *c, uint32_t rank)
{
    return c->is_in_place && is_root_or_all(c, rank);
}

/* The large buffer's blocks: those that `rank` sends, or receives. */
static const uint64_t *counts_of(const algorithm_case_t *c, uint32_t rank,
                                 int is_send)
{
    return (is_send ? c->send_counts : c->recv_counts) +
           (uint64_t)rank * c->ranks;
}

static const uint64_t *displs_of(const algorithm_case_t *c, uint32_t rank,
                                 int is_send)
{
    return (is_send ? c->send_displs : c->recv_displs) +
           (uint64_t)rank * c->ranks;
}

static uint64_t extent_of(const algorithm_case_t *c, uint32_t rank, int is_send)
{
    const uint64_t *counts = counts_of(c, rank, is_send);
    const uint64_t *displs = displs_of(c, rank, is_send);
    uint64_t extent = 0;
    uint32_t i;

    for (i = 0; i < c->ranks; i++)
        if (extent < displs[i] + counts[i])
            extent = displs[i] + counts[i];
    return extent;
}

static uint64_t send_count(const algorithm_case_t *c, uint32_t rank)
{
    if (c->problem.coll == XYLEM_COLL_BCAST)
        return 0;
    if (traits_of(c)->send_blocks)
        return is_root_or_all(c, rank) ? extent_of(c, rank, 1) : 0;
    if (traits_of(c)->recv_blocks)
        return counts_of(c, rank, 1)[c->problem.root];
    return c->problem.count;
}

static uint64_t recv_count(const algorithm_case_t *c, uint32_t rank)
{
    if (c->problem.coll == XYLEM_COLL_BCAST)
        return c->problem.count;
    if (traits_of(c)->recv_blocks)
        return is_root_or_all(c, rank) ? extent_of(c, rank, 0) : 0;
    if (traits_of(c)->send_blocks)
        return counts_of(c, rank, 0)[c->problem.root];
    if (!is_root_or_all(c, rank))
        return 0;
    /* The first rank has no rank before it, and no result. */
    if (c->problem.coll == XYLEM_COLL_EXSCAN && rank == 0 && !c->is_in_place)
        return 0;
    return c->problem.count;
}

static void place(algorithm_case_t *c, uint32_t rank)
{
    uint64_t send = send_count(c, rank), recv = recv_count(c, rank);
    uint64_t send_at = BETWEEN, recv_at = BETWEEN + send + BETWEEN, end;
    int sends = traits_of(c)->send_blocks, receives = traits_of(c)->recv_blocks;

    if (is_in_place_at(c, rank)) {
        recv_at = send_at;
        if (receives && !sends)
            send_at += displs_of(c, rank, 0)[rank];
        else if (sends && !traits_of(c)->reduces && !receives)
            recv_at += displs_of(c, rank, 1)[rank];
    }
    end = send_at + send > recv_at + recv ? send_at + send : recv_at + recv;
    schedule_run_place(&c->run, rank, end + BETWEEN);
    /* If in place, a collective that only moves blocks has no small buffer. */
    if (is_in_place_at(c, rank) && !traits_of(c)->reduces && sends != receives)
        *(sends ? &recv : &send) = 0;
    schedule_run_buffer(&c->run, rank, XYL_BUFFER_SEND, send_at, send);
    schedule_run_buffer(&c->run, rank, XYL_BUFFER_RECV, recv_at, recv);
    c->want[rank] = schedule_run_array(end + BETWEEN, c->element_bytes);
}

static xyl_problem_t problem_of(const algorithm_case_t *c, uint32_t rank)
{
    xyl_problem_t problem = c->problem;

    problem.rank = rank;
    problem.is_in_place = is_in_place_at(c, rank);
    if (!xyl_coll_varies(c->problem.coll))
        return problem;
    if (traits_of(c)->reduces) {
        problem.recv_counts = counts_of(c, rank, 1);
        problem.recv_displs = displs_of(c, rank, 1);
    } else if (is_root_or_all(c, rank)) {
        if (traits_of(c)->send_blocks) {
            problem.send_counts = counts_of(c, rank, 1);
            problem.send_displs = displs_of(c, rank, 1);
        }
        if (traits_of(c)->recv_blocks) {
            problem.recv_counts = counts_of(c, rank, 0);
            problem.recv_displs = displs_of(c, rank, 0);
        }
    }
    /* The rank's own block. */
    problem.count = 0;
    if (!traits_of(c)->send_blocks)
        problem.count = counts_of(c, rank, 1)[c->problem.root];
    else if (!traits_of(c)->recv_blocks)
        problem.count = counts_of(c, rank, 0)[c->problem.root];
    return problem;
}

int algorithm_case_init(algorithm_case_t *c, const xyl_algorithm_t *algorithm,
                        xylem_coll_t coll, uint32_t ranks, uint32_t nth,
                        uint64_t seed)
{
    xyl_problem_t problem;
    uint32_t i;

    *c = (algorithm_case_t){.algorithm = algorithm,
                            .ranks = ranks,
                            .seed = seed,
                            .salt = random_mix(seed)};
    c->problem.coll = coll;
    draw(c, nth);
    schedule_run_init(&c->run, ranks, c->element_bytes);
    c->want = schedule_run_array(ranks, sizeof *c->want);
    for (i = 0; i < ranks; i++) {
        problem = problem_of(c, i);
        if (!xyl_algorithm_fits(algorithm, &problem, NULL))
            return 0;
        place(c, i);
        algorithm->write(&problem, &c->run.all[i].schedule);
    }
    return 1;
}

void algorithm_case_fini(algorithm_case_t *c)
{
    uint32_t i;

    for (i = 0; i < c->ranks; i++)
        free(c->want[i]);
    free(c->want);
    free(c->send_counts);
    free(c->send_displs);
    free(c->recv_counts);
    free(c->recv_displs);
    schedule_run_fini(&c->run);
}

/* ---- what has to come out ---- */

static unsigned char *want_at(const algorithm_case_t *c, uint32_t rank,
                              xyl_buffer_t buffer, uint64_t at)
{
    return c->want[rank] +
           (c->run.all[rank].at[buffer] + at) * c->element_bytes;
}

static void moves_expect(const algorithm_case_t *c, uint32_t rank)
{
    const uint64_t *counts = counts_of(c, rank, 0);
    uint32_t source, root = c->problem.root;
    uint64_t to, from;

    if (c->problem.coll == XYLEM_COLL_BCAST)
        elements_write(c, root, 0, c->problem.count,
                       want_at(c, rank, XYL_BUFFER_RECV, 0));
    if (!traits_of(c)->send_blocks && !traits_of(c)->recv_blocks)
        return;
    if (traits_of(c)->recv_blocks && !is_root_or_all(c, rank))
        return;
    for (source = 0; source < c->ranks; source++) {
        if (!traits_of(c)->recv_blocks && source != root)
            continue;
        to = traits_of(c)->recv_blocks ? displs_of(c, rank, 0)[source] : 0;
        from = traits_of(c)->send_blocks ? displs_of(c, source, 1)[rank] : 0;
        elements_write(c, source, from, counts[source],
                       want_at(c, rank, XYL_BUFFER_RECV, to));
    }
}

static void result_expect(const algorithm_case_t *c, uint32_t rank,
                          const unsigned char *result)
{
    uint64_t count = recv_count(c, rank), from = 0;

    if (traits_of(c)->send_blocks)
        from = displs_of(c, rank, 1)[rank];
    if (count != 0)
        memcpy(want_at(c, rank, XYL_BUFFER_RECV, 0),
               result + from * c->element_bytes,
               (size_t)count * c->element_bytes);
}

static void reductions_expect(const algorithm_case_t *c)
{
    schedule_run_combine_fn combine = algorithm_case_combine(c);
    xylem_coll_t coll = c->problem.coll;
    uint64_t count = send_count(c, 0);
    unsigned char *sum = schedule_run_array(count, c->element_bytes);
    unsigned char *own = schedule_run_array(count, c->element_bytes);
    uint32_t rank;

    for (rank = 0; rank < c->ranks; rank++) {
        if (coll == XYLEM_COLL_EXSCAN && rank != 0)
            result_expect(c, rank, sum);
        elements_write(c, rank, 0, count, rank == 0 ? sum : own);
        if (rank != 0)
            combine(sum, sum, own, count);
        if (coll == XYLEM_COLL_SCAN)
            result_expect(c, rank, sum);
    }
    for (rank = 0; rank < c->ranks; rank++)
        if (coll != XYLEM_COLL_SCAN && coll != XYLEM_COLL_EXSCAN)
            result_expect(c, rank, sum);
    free(sum);
    free(own);
}

void algorithm_case_fill(algorithm_case_t *c)
{
    uint32_t i;

    for (i = 0; i < c->ranks; i++) {
        schedule_run_rank_t *rank = &c->run.all[i];
        size_t bytes = (size_t)rank->memory_count * c->element_bytes;
        xyl_buffer_t buffer = c->problem.coll == XYLEM_COLL_BCAST
                                  ? XYL_BUFFER_RECV
                                  : XYL_BUFFER_SEND;
        memset(rank->memory, (int)(0x30 + i % 16), bytes);
        if (buffer == XYL_BUFFER_SEND || i == c->problem.root)
            elements_write(c, i, 0,
                           buffer == XYL_BUFFER_SEND ? send_count(c, i)
                                                     : recv_count(c, i),
                           rank->memory + rank->at[buffer] * c->element_bytes);
        memcpy(c->want[i], rank->memory, bytes);
    }
    if (traits_of(c)->reduces)
        reductions_expect(c);
    else
        for (i = 0; i < c->ranks; i++)
            moves_expect(c, i);
}

/* ---- what came out ---- */

static int memory_verify(algorithm_case_t *c, uint32_t rank)
{
    const schedule_run_rank_t *own = &c->run.all[rank];
    uint64_t i;

    for (i = 0; i < own->memory_count; i++)
        if (memcmp(own->memory + i * c->element_bytes,
                   c->want[rank] + i * c->element_bytes, c->element_bytes) != 0)
            return schedule_run_mistake(
                &c->run,
                "rank %u: element %" PRIu64 " is wrong (SEND %" PRIu64
                "+%" PRIu64 ", RECV %" PRIu64 "+%" PRIu64 ")",
                rank, i, own->at[0], own->count[0], own->at[1], own->count[1]);
    return 1;
}

int algorithm_case_verify(algorithm_case_t *c)
{
    const schedule_run_rank_t *first = &c->run.all[0], *own;
    size_t bytes = (size_t)c->problem.count * c->element_bytes;
    uint32_t i;

    for (i = 0; i < c->ranks; i++) {
        own = &c->run.all[i];
        if (c->data != ALGORITHM_DATA_FLOAT64) {
            if (!memory_verify(c, i))
                return 0;
        } else if (c->problem.coll == XYLEM_COLL_ALLREDUCE &&
                   memcmp(own->base[XYL_BUFFER_RECV],
                          first->base[XYL_BUFFER_RECV], bytes) != 0) {
            return schedule_run_mistake(
                &c->run, "ranks 0 and %u have other bits of a float64 sum", i);
        }
    }
    return 1;
}

void algorithm_case_text(const algorithm_case_t *c, char *text, size_t bytes)
{
    const xyl_problem_t *problem = &c->problem;

    snprintf(text, bytes,
             "%s %s: %u ranks, root %u, count %" PRIu64 "%s, radix %u, "
             "segments of %" PRIu64 ", elements of %zu bytes%s: %s",
             traits_of(c)->name, c->algorithm->name, c->ranks, problem->root,
             problem->count, c->is_in_place ? " in place" : "", problem->radix,
             xyl_segment_count(problem, problem->count), c->element_bytes,
             problem->is_commutative ? ", commutative" : "", c->run.mistake);
}
