/* Collectives over the fabric, with everything that can be checked of them. */
#include "tests/support/coll_run.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/check.h"

#define ROUNDING 1e-12

enum { GUARD_BYTES = 64, GUARD = 0xc3 };

typedef struct affine {
    uint32_t a, b;
} affine_t;

static void *must(void *memory)
{
    if (memory == NULL)
        abort(); /* the test's own memory, not the library's */
    return memory;
}

static void complain(const coll_run_t *run, const char *what, uint32_t rank)
{
    char text[512], words[256];

    coll_case_text(&run->c, run->ranks, words, sizeof words);
    snprintf(text, sizeof text, "%s (rank %" PRIu32 "; %s)", what, rank, words);
    check_failed(__FILE__, __LINE__, text);
}

/* ---- data ---- */

static xylem_type_t element_type(coll_data_t data)
{
    static const xylem_type_t types[] = {XYLEM_BYTE, XYLEM_UINT32,
                                         XYLEM_FLOAT64,
                                         XYLEM_TYPE_BLOCK(sizeof(affine_t))};

    return types[data];
}

/* (left then right): x -> right.a * (left.a * x + left.b) + right.b. */
static void affine_compose(void *result, const void *left, const void *right,
                           size_t count, void *arg)
{
    affine_t l, r, both;
    size_t i;

    (void)arg;
    for (i = 0; i < count; i++) {
        memcpy(&l, (const char *)left + i * sizeof l, sizeof l);
        memcpy(&r, (const char *)right + i * sizeof r, sizeof r);
        both = (affine_t){l.a * r.a, l.b * r.a + r.b};
        memcpy((char *)result + i * sizeof both, &both, sizeof both);
    }
}

/* Writes element `index` of a rank's contribution. */
static void element(const coll_run_t *run, uint32_t rank, size_t index,
                    char *to)
{
    uint64_t bits = random_mix(run->salt ^ (uint64_t)rank << 40 ^ index);
    double real = (double)(bits >> 40) / (double)(1 + (bits & 0xffff));

    switch (run->c.data) {
    case COLL_BYTES:
        *to = (char)bits;
        return;
    case COLL_UINT32:
        memcpy(to, &bits, sizeof(uint32_t));
        return;
    case COLL_FLOAT64:
        memcpy(to, &real, sizeof real);
        return;
    case COLL_AFFINE:
    case COLL_DATA_COUNT:
        bits |= 1; /* odd factors lose nothing */
        memcpy(to, &bits, sizeof(affine_t));
        return;
    }
}

static void fill(const coll_run_t *run, uint32_t rank, char *buf)
{
    size_t i;

    for (i = 0; i < run->c.count; i++)
        element(run, rank, i, buf + i * run->element_bytes);
}

static void add_uint32(char *sums, const char *values, size_t count)
{
    uint32_t sum, value;
    size_t i;

    for (i = 0; i < count; i++) {
        memcpy(&sum, sums + 4 * i, 4);
        memcpy(&value, values + 4 * i, 4);
        sum += value;
        memcpy(sums + 4 * i, &sum, 4);
    }
}

static void add_float64(char *sums, const char *values, size_t count)
{
    double sum, value;
    size_t i;

    for (i = 0; i < count; i++) {
        memcpy(&sum, sums + 8 * i, 8);
        memcpy(&value, values + 8 * i, 8);
        sum += value;
        memcpy(sums + 8 * i, &sum, 8);
    }
}

static void expect(coll_run_t *run)
{
    char *next;
    uint32_t rank;

    if (run->c.coll == XYLEM_COLL_BCAST) {
        fill(run, run->c.root, run->expected);
        return;
    }
    next = must(malloc(run->bytes + 1));
    fill(run, 0, run->expected);
    for (rank = 1; rank < run->ranks; rank++) {
        fill(run, rank, next);
        if (run->c.data == COLL_AFFINE)
            affine_compose(run->expected, run->expected, next, run->c.count,
                           NULL);
        else if (run->c.data == COLL_FLOAT64)
            add_float64(run->expected, next, run->c.count);
        else
            add_uint32(run->expected, next, run->c.count);
    }
    free(next);
}

/* ---- rules of ranks ---- */

static int is_bcast(const coll_run_t *run)
{
    return run->c.coll == XYLEM_COLL_BCAST;
}

static int is_root(const coll_rank_t *rank)
{
    return rank->rank == rank->run->c.root;
}

/* This rank's result; NULL: it has none. */
static const char *result_of(const coll_rank_t *rank)
{
    return is_bcast(rank->run) || is_root(rank) ? rank->recv : NULL;
}

static int takes_parts(const coll_rank_t *rank)
{
    return (rank->run->c.flags & XYLEM_FLAG_PARTS) != 0 &&
           (!is_bcast(rank->run) || is_root(rank));
}

static int has_exact_result(const coll_run_t *run)
{
    return is_bcast(run) || run->c.data != COLL_FLOAT64;
}

/* ---- callbacks ---- */

static void segment_told(void *arg, uint64_t segment, size_t offset,
                         size_t bytes)
{
    coll_rank_t *rank = arg;
    coll_run_t *run = rank->run;
    size_t left;

    if (rank->is_starting)
        complain(run, "on_segment inside the starting call", rank->rank);
    if (segment >= run->segments || rank->seen[segment]) {
        complain(run, "on_segment twice or out of range", rank->rank);
        return;
    }
    rank->seen[segment] = 1;
    rank->segments_told++;
    left = run->bytes - (size_t)segment * run->segment_bytes;
    if (offset != (size_t)segment * run->segment_bytes ||
        bytes != (left < run->segment_bytes ? left : run->segment_bytes))
        complain(run, "on_segment with a wrong place", rank->rank);
    else if (has_exact_result(run) &&
             memcmp(rank->recv + offset, run->expected + offset, bytes) != 0)
        complain(run, "on_segment before the data is final", rank->rank);
}

static void completed(void *arg, xylem_status_t status)
{
    coll_rank_t *rank = arg;
    coll_run_t *run = rank->run;

    if (rank->is_starting)
        complain(run, "on_complete inside the starting call", rank->rank);
    rank->status = status;
    if (++rank->completions > rank->starts)
        complain(run, "on_complete more often than started", rank->rank);
    if (status != XYLEM_OK && !run->expects_failure)
        complain(run, xylem_status_name(status), rank->rank);
    if (status == XYLEM_OK && result_of(rank) != NULL && !run->c.no_segments &&
        rank->segments_told != run->segments)
        complain(run, "on_complete before all of on_segment", rank->rank);
    if (run->hook != NULL)
        run->hook(rank, run->hook_arg);
}

/* ---- life ---- */

static char *guarded(const coll_run_t *run, char **memory_out)
{
    char *memory = must(malloc(run->bytes + 2 * (size_t)GUARD_BYTES));

    memset(memory, GUARD, run->bytes + 2 * (size_t)GUARD_BYTES);
    *memory_out = memory;
    return memory + GUARD_BYTES;
}

static int guards_hold(const coll_run_t *run, const char *memory)
{
    size_t i;

    for (i = 0; i < GUARD_BYTES; i++)
        if ((unsigned char)memory[i] != GUARD ||
            (unsigned char)memory[GUARD_BYTES + run->bytes + i] != GUARD)
            return 0;
    return 1;
}

void coll_run_refill_rank(coll_run_t *run, uint32_t i)
{
    coll_rank_t *rank = &run->all[i];

    fill(run, i, rank->send);
    if (is_root(rank) && (is_bcast(run) || run->c.in_place))
        fill(run, i, rank->recv);
    else
        memset(rank->recv, 0x77, run->bytes);
}

void coll_run_refill(coll_run_t *run, uint64_t salt)
{
    uint32_t i;

    run->salt = salt;
    expect(run);
    for (i = 0; i < run->ranks; i++)
        coll_run_refill_rank(run, i);
}

static void rank_init(coll_run_t *run, uint32_t i, xylem_team_t *team)
{
    coll_rank_t *rank = &run->all[i];

    *rank = (coll_rank_t){.run = run,
                          .rank = i,
                          .team = team,
                          .op = XYLEM_SUM,
                          .status = XYLEM_IN_PROGRESS};
    if (run->c.data == COLL_AFFINE && !is_bcast(run))
        CHECK_EQ(
            xylem_op_create(team->context, affine_compose, NULL, 0, &rank->op),
            XYLEM_OK);
    rank->send = guarded(run, &rank->send_memory);
    rank->recv = guarded(run, &rank->recv_memory);
    rank->parts = must(calloc(run->segments + 1, sizeof *rank->parts));
    rank->seen = must(calloc(run->segments + 1, 1));
}

void coll_run_init(coll_run_t *run, fabric_t *fabric, xylem_team_t **teams,
                   uint32_t ranks, const coll_case_t *c, uint64_t salt)
{
    char label[256];
    size_t elements;
    uint32_t i;

    *run = (coll_run_t){.c = *c,
                        .fabric = fabric,
                        .ranks = ranks,
                        .random = random_mix(salt),
                        .element_bytes = coll_element_bytes(c->data)};
    run->bytes = c->count * run->element_bytes;
    elements = c->segment_bytes / run->element_bytes;
    run->segment_bytes = (elements == 0 ? 1 : elements) * run->element_bytes;
    run->segments = (run->bytes + run->segment_bytes - 1) / run->segment_bytes;
    run->expected = must(malloc(run->bytes + 1));
    run->all = must(calloc(ranks, sizeof *run->all));
    for (i = 0; i < ranks; i++)
        rank_init(run, i, teams != NULL ? teams[i] : fabric_world(fabric, i));
    coll_run_refill(run, salt);
    coll_case_text(c, ranks, label, sizeof label);
    fabric_label(fabric, label);
}

void coll_run_fini(coll_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        coll_rank_t *rank = &run->all[i];
        if (rank->request != NULL && !rank->is_freed &&
            xylem_request_free(rank->request) != XYLEM_OK)
            complain(run, "the request cannot be freed", i);
        if (rank->op != XYLEM_SUM)
            xylem_op_destroy(rank->team->context, rank->op);
        if (!guards_hold(run, rank->send_memory) ||
            !guards_hold(run, rank->recv_memory))
            complain(run, "bytes beside a buffer were changed", i);
        free(rank->send_memory);
        free(rank->recv_memory);
        free(rank->parts);
        free(rank->seen);
    }
    free(run->expected);
    free(run->all);
}

/* ---- starting ---- */

static xylem_coll_args_t args_of(coll_rank_t *rank)
{
    const coll_case_t *c = &rank->run->c;
    xylem_coll_args_t args = {
        .struct_bytes = sizeof args,
        .coll = c->coll,
        .flags = c->flags,
        .recv = rank->recv,
        .count = c->count,
        .type = element_type(c->data),
        .op = rank->op,
        .root = c->root,
        .arg = rank,
        .segment_bytes = c->segment_bytes,
        .send_window = c->send_window,
        .recv_window = c->recv_window,
        .algorithm = c->algorithm[0] == '\0' ? NULL : c->algorithm};

    if (!c->no_callbacks) {
        args.on_complete = completed;
        args.on_segment = c->no_segments ? NULL : segment_told;
    }
    if (c->coll == XYLEM_COLL_REDUCE) {
        args.send = c->in_place && is_root(rank) ? XYLEM_IN_PLACE : rank->send;
        if (!is_root(rank))
            args.recv = NULL;
    }
    return args;
}

/* The order in which this rank releases its segments. */
static void plan_parts(coll_rank_t *rank)
{
    coll_run_t *run = rank->run;
    uint64_t i, j;
    uint32_t part;

    rank->parts_released = 0;
    rank->parts_count = takes_parts(rank) ? run->segments : 0;
    for (i = 0; i < run->segments; i++)
        rank->parts[i] = (uint32_t)i;
    for (i = run->segments; i > 1; i--) {
        j = random_below(&run->random, (uint32_t)i);
        part = rank->parts[j];
        rank->parts[j] = rank->parts[i - 1];
        rank->parts[i - 1] = part;
    }
}

static void check_segments(const coll_run_t *run, const coll_rank_t *rank)
{
    uint64_t segments = 0;
    size_t bytes = 0;

    CHECK_EQ(xylem_request_segments(rank->request, &segments, &bytes),
             XYLEM_OK);
    if (segments != run->segments || bytes != run->segment_bytes)
        complain(run, "cut into other segments than expected", rank->rank);
}

xylem_status_t coll_run_start(coll_run_t *run, uint32_t i)
{
    coll_rank_t *rank = &run->all[i];
    xylem_coll_args_t args = args_of(rank);
    int is_anonymous = (run->c.flags & XYLEM_FLAG_AUTOFREE) != 0;
    xylem_status_t status = XYLEM_OK;

    plan_parts(rank);
    memset(rank->seen, 0, run->segments + 1);
    rank->segments_told = 0;
    rank->status = XYLEM_IN_PROGRESS;
    rank->is_starting = 1;
    rank->starts++;
    if (!run->c.persistent)
        status = xylem_coll_start(
            rank->team, &args,
            is_anonymous && rank->parts_count == 0 ? NULL : &rank->request);
    else if (rank->request == NULL)
        status = xylem_coll_init(rank->team, &args, &rank->request);
    if (run->c.persistent && status == XYLEM_OK)
        status = xylem_request_start(rank->request);
    rank->is_starting = 0;
    if (status != XYLEM_OK) {
        rank->starts--;
        rank->status = status;
    } else if (rank->request != NULL && !is_anonymous) {
        check_segments(run, rank);
    }
    if (is_anonymous)
        rank->is_freed = 1;
    return status;
}

void coll_run_start_all(coll_run_t *run)
{
    uint32_t i, first = random_below(&run->random, run->ranks);

    for (i = 0; i < run->ranks; i++)
        if (coll_run_start(run, (first + i) % run->ranks) != XYLEM_OK)
            complain(run, "cannot be started", (first + i) % run->ranks);
}

/* ---- running ---- */

static int rank_is_done(coll_rank_t *rank)
{
    if (!rank->run->c.no_callbacks)
        return rank->completions == rank->starts;
    return rank->request == NULL ||
           xylem_request_test(rank->request) != XYLEM_IN_PROGRESS;
}

static uint32_t world_rank(const coll_rank_t *rank)
{
    return rank->team->context->rank;
}

int coll_run_is_done(void *arg)
{
    coll_run_t *run = arg;
    uint32_t i;

    for (i = 0; i < run->ranks; i++)
        if (!rank_is_done(&run->all[i]) &&
            !fabric_is_dead(run->fabric, world_rank(&run->all[i])))
            return 0;
    return 1;
}

static unsigned release_one(coll_rank_t *rank)
{
    xylem_status_t status;

    if (rank->parts_released == rank->parts_count || rank_is_done(rank) ||
        fabric_is_dead(rank->run->fabric, world_rank(rank)))
        return 0;
    status =
        xylem_segment_ready(rank->request, rank->parts[rank->parts_released++]);
    if (status != XYLEM_OK && !rank->run->expects_failure)
        complain(rank->run, "a segment cannot be released", rank->rank);
    return 1;
}

unsigned coll_run_act(void *arg)
{
    coll_run_t *run = arg;
    unsigned done = 0;
    uint32_t i, times;

    if ((run->c.flags & XYLEM_FLAG_PARTS) == 0)
        return 0;
    for (i = 0; i < run->ranks; i++)
        for (times = random_below(&run->random, 4); times > 0; times--)
            done += release_one(&run->all[i]);
    if (done != 0)
        return done;
    for (i = 0; i < run->ranks; i++) /* as nobody was drawn */
        done += release_one(&run->all[i]);
    return done;
}

int coll_run_finish(coll_run_t *run)
{
    fabric_script_t script = {coll_run_is_done, coll_run_act, run};

    return fabric_run_until(run->fabric, &script);
}

/* All numbers are positive, so that no sum of them loses much; their bits
 * depend on the tree. */
static int are_close(const char *results, const char *expected, size_t count)
{
    double result, wanted;
    size_t i;

    for (i = 0; i < count; i++) {
        memcpy(&result, results + 8 * i, 8);
        memcpy(&wanted, expected + 8 * i, 8);
        if (!(result <= wanted * (1 + ROUNDING) &&
              wanted <= result * (1 + ROUNDING)))
            return 0;
    }
    return 1;
}

static void check_data(const coll_run_t *run, uint32_t i)
{
    const char *result = result_of(&run->all[i]);

    if (result != NULL &&
        (has_exact_result(run)
             ? memcmp(result, run->expected, run->bytes) != 0
             : !are_close(result, run->expected, run->c.count)))
        complain(run, "wrong result", i);
}

void coll_run_check_data(const coll_run_t *run, uint32_t i)
{
    if (run->all[i].status == XYLEM_OK)
        check_data(run, i);
}

void coll_run_check(const coll_run_t *run)
{
    uint32_t i;

    for (i = 0; i < run->ranks; i++) {
        const coll_rank_t *rank = &run->all[i];
        if (!run->c.no_callbacks && rank->status != XYLEM_OK)
            complain(run, xylem_status_name(rank->status), i);
        check_data(run, i);
    }
}
