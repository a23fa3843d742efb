#include "tests/support/program_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random.h"
#include "tests/support/program_inside.h"

enum { GUARD_BYTES = 64 };

int program_case_has_root(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_BCAST || coll == XYLEM_COLL_REDUCE ||
           coll == XYLEM_COLL_GATHER || coll == XYLEM_COLL_SCATTER;
}

int program_case_varies(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_ALLGATHERV || coll == XYLEM_COLL_REDUCE_SCATTER;
}

static int scatters(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_REDUCE_SCATTER ||
           coll == XYLEM_COLL_REDUCE_SCATTER_BLOCK;
}

static int gathers_all(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_ALLGATHER || coll == XYLEM_COLL_ALLGATHERV;
}

int program_case_is_of_bytes(xylem_coll_t coll)
{
    return coll == XYLEM_COLL_GATHER || coll == XYLEM_COLL_SCATTER ||
           coll == XYLEM_COLL_ALLTOALL || coll == XYLEM_COLL_BARRIER ||
           gathers_all(coll);
}

uint64_t program_case_window_min(const program_case_t *c)
{
    return (c->element_bytes + 127) / 128 * 128 * c->seats * (c->seats + 1);
}

void program_case_text(const program_case_t *c, char *text, size_t bytes)
{
    snprintf(text, bytes,
             "collective %d%s%s%s of %" PRIu32 " seats, root %" PRIu32
             ", %" PRIu64 " elements of %zu, windows of %" PRIu64
             ", segments of %" PRIu64 ", salt %" PRIu64,
             (int)c->coll, c->in_place ? " in place" : "",
             c->varies ? " with blocks that differ" : "",
             c->in_arrival_order ? " as they come" : "", c->seats, c->root,
             c->count, c->element_bytes, c->window_bytes, c->segment_bytes,
             c->salt);
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

/* An allgatherv may leave gaps. */
static uint64_t block_at(const program_case_t *c, uint32_t seat)
{
    uint64_t gap = c->varies && gathers_all(c->coll) ? c->salt % 5 : 0, at = 0;
    uint32_t i;

    for (i = 0; i < seat; i++)
        at += block_bytes(c, i) + gap;
    return at;
}

/* ---- buffers ---- */

static int is_root(const program_case_t *c, uint32_t seat)
{
    return !program_case_has_root(c->coll) || seat == c->root;
}

/* Not everywhere, and with a root there alone. */
static int is_in_place(const program_case_t *c, uint32_t seat)
{
    return c->in_place && c->coll != XYLEM_COLL_BCAST &&
           c->coll != XYLEM_COLL_BARRIER && is_root(c, seat);
}

static uint64_t send_bytes(const program_case_t *c, uint32_t seat)
{
    if (c->coll == XYLEM_COLL_BCAST || c->coll == XYLEM_COLL_BARRIER)
        return 0;
    if (c->coll == XYLEM_COLL_SCATTER && seat != c->root)
        return 0;
    if (c->coll == XYLEM_COLL_SCATTER || c->coll == XYLEM_COLL_ALLTOALL ||
        scatters(c->coll))
        return block_at(c, c->seats);
    return block_bytes(c, seat);
}

static uint64_t recv_bytes(const program_case_t *c, uint32_t seat)
{
    if (c->coll == XYLEM_COLL_BARRIER ||
        (c->coll == XYLEM_COLL_SCATTER && is_in_place(c, seat)))
        return 0;
    if ((c->coll == XYLEM_COLL_REDUCE || c->coll == XYLEM_COLL_GATHER) &&
        seat != c->root)
        return 0;
    if (c->coll == XYLEM_COLL_GATHER || c->coll == XYLEM_COLL_ALLTOALL ||
        gathers_all(c->coll))
        return block_at(c, c->seats);
    return block_bytes(c, seat);
}

static void place(const program_case_t *c, program_run_seat_t *own,
                  uint32_t seat)
{
    uint64_t send = send_bytes(c, seat), recv = recv_bytes(c, seat), i;
    uint64_t random = random_mix(c->salt + seat);

    own->at[XYL_SPACE_RECV] = own->at[XYL_SPACE_SEND] = GUARD_BYTES;
    if (is_in_place(c, seat))
        own->memory_bytes = (send > recv ? send : recv) + 2 * GUARD_BYTES;
    else {
        own->at[XYL_SPACE_SEND] += recv + GUARD_BYTES;
        own->memory_bytes = send + recv + 3 * (uint64_t)GUARD_BYTES;
    }
    own->initial = program_array(own->memory_bytes, 1);
    own->expected = program_array(own->memory_bytes, 1);
    for (i = 0; i < own->memory_bytes; i++)
        own->initial[i] = (unsigned char)random_next(&random);
    memcpy(own->expected, own->initial, own->memory_bytes);
    own->input = c->coll == XYLEM_COLL_BCAST ? XYL_SPACE_RECV : XYL_SPACE_SEND;
    own->total = c->count * c->element_bytes;
    own->has_input = c->coll != XYLEM_COLL_BCAST || seat == c->root;
    own->has_output = recv != 0;
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

static program_run_combine_fn combine_of(const program_case_t *c)
{
    return c->element_bytes == 8 && !c->in_arrival_order ? compose : add;
}

static const unsigned char *sent(const program_run_t *run, uint32_t seat,
                                 uint64_t at)
{
    const program_run_seat_t *own = &run->all[seat];

    return own->initial + own->at[XYL_SPACE_SEND] + at;
}

/* What a seat gives to an allgather, or to the root. */
static const unsigned char *given(const program_run_t *run,
                                  const program_case_t *c, uint32_t seat)
{
    return sent(run, seat, is_in_place(c, seat) ? block_at(c, seat) : 0);
}

/* What seats [0, end) have at `at`, combined. */
static void expect_combined(const program_run_t *run, const program_case_t *c,
                            uint32_t number, uint32_t end, uint64_t at)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_SPACE_RECV];
    uint64_t bytes = block_bytes(c, number);
    uint32_t seat;

    if (end == 0)
        return;
    memcpy(to, sent(run, 0, at), bytes);
    for (seat = 1; seat < end; seat++)
        combine_of(c)(to, to, sent(run, seat, at), bytes);
}

static void expect_blocks(const program_run_t *run, const program_case_t *c,
                          uint32_t number)
{
    const program_run_seat_t *own = &run->all[number];
    unsigned char *to = own->expected + own->at[XYL_SPACE_RECV];
    uint32_t seat;

    for (seat = 0; seat < c->seats; seat++)
        memcpy(to + block_at(c, seat),
               c->coll == XYLEM_COLL_ALLTOALL
                   ? sent(run, seat, block_at(c, number))
                   : given(run, c, seat),
               block_bytes(c, seat));
}

static void expect(const program_run_t *run, const program_case_t *c,
                   uint32_t seat)
{
    const program_run_seat_t *own = &run->all[seat];
    unsigned char *to = own->expected + own->at[XYL_SPACE_RECV];

    if (recv_bytes(c, seat) == 0)
        return;
    if (c->coll == XYLEM_COLL_BCAST)
        memcpy(to, run->all[c->root].initial + GUARD_BYTES, own->total);
    else if (c->coll == XYLEM_COLL_SCATTER)
        memcpy(to, sent(run, c->root, block_at(c, seat)), own->total);
    else if (c->coll == XYLEM_COLL_SCAN || c->coll == XYLEM_COLL_EXSCAN)
        expect_combined(run, c, seat,
                        c->coll == XYLEM_COLL_SCAN ? seat + 1 : seat, 0);
    else if (scatters(c->coll))
        expect_combined(run, c, seat, c->seats, block_at(c, seat));
    else if (c->coll == XYLEM_COLL_REDUCE || c->coll == XYLEM_COLL_ALLREDUCE)
        expect_combined(run, c, seat, c->seats, 0);
    else
        expect_blocks(run, c, seat);
}

/* ---- the whole ---- */

static void write_program(program_run_t *run, const program_case_t *c,
                          uint32_t seat)
{
    xyl_node_program_t *program = &run->all[seat].program;
    uint64_t blocks[2 * PROGRAM_SEATS_MAX];
    xyl_node_problem_t problem = {.coll = c->coll,
                                  .seat = seat,
                                  .seats = c->seats,
                                  .root = c->root,
                                  .bytes = c->count * c->element_bytes,
                                  .element_bytes = c->element_bytes,
                                  .is_in_place = is_in_place(c, seat),
                                  .segment_bytes = c->segment_bytes,
                                  .window_bytes = c->window_bytes,
                                  .in_arrival_order = c->in_arrival_order};
    uint32_t i;

    for (i = 0; i < c->seats; i++) {
        blocks[i] = block_bytes(c, i);
        blocks[c->seats + i] = block_at(c, i);
    }
    if (c->varies) {
        problem.blocks = blocks;
        problem.block_at = blocks + c->seats;
    }
    program->element_bytes = c->element_bytes;
    xyl_node_algorithm(c->coll)(&problem, program);
}

void program_case_init(program_run_t *run, const program_case_t *c)
{
    uint32_t seat;

    program_run_init(run, c->seats);
    for (seat = 0; seat < c->seats; seat++) {
        place(c, &run->all[seat], seat);
        write_program(run, c, seat);
    }
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
