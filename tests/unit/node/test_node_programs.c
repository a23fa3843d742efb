/* All node programs, run without board and engine: every collective, every
 * root, sizes around all limits, windows so small that there are many pieces,
 * in random order; and small problems in every order.
 * tests/support/program_run.h lists the checks. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/board/board.h"
#include "collectives/choose/registry.h"
#include "collectives/data/description.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/program_case.h"

/* By chance. */
#define RANDOM_CASES check_cases(120) /* of each collective */

enum {
    ORDERS_MAX = CHECK_IS_SLOW ? 1000 : 4000,
    WINDOW_BITS_MAX = 20,
    SPOILS = 8,
    SPOILED_ORDERS = 80,
    LONG_SCAN = 4100 /* elements: from seat to seat, in pieces */
};

/* ---- sizes around the limits ---- */

enum { SIZES = 13 };

static const uint64_t byte_counts[SIZES] = {0,   1,   7,   111,  112,  113, 127,
                                            128, 129, 255, 1000, 2047, 2049};
static const uint64_t element_counts[SIZES] = {0,  1,  7,  13,  14,  15, 16,
                                               63, 64, 65, 511, 512, 513};

/* In each kind of window, with and without a length of segments. */
static void sized_case(program_case_t *c, uint64_t *random)
{
    const uint64_t least = program_case_window_min(c);
    const uint64_t windows[] = {least, 3 * least + 100, UINT64_C(1) << 20};
    uint32_t i;

    for (i = 0; i < 3; i++) {
        c->window_bytes = windows[i];
        c->segment_bytes =
            random_below(random, 2) == 0 ? 0 : random_between(random, 1, 300);
        c->share_bytes = random_below(random, 2);
        c->is_level = random_below(random, 2) == 0;
        c->groups =
            (program_groups_t)random_below(random, PROGRAM_GROUPS_KINDS);
        c->salt = random_next(random);
        (void)program_case_try(c, random_next(random), 0);
    }
}

static void sizes_of(xylem_coll_t coll, uint32_t seats, uint64_t *random)
{
    int of_bytes = program_case_is_of_bytes(coll);
    program_case_t c = {
        .coll = coll, .seats = seats, .element_bytes = of_bytes ? 1 : 8};
    uint32_t size, root = random_below(random, seats);

    for (size = 0; size < SIZES; size++) {
        c.count = of_bytes ? byte_counts[size] : element_counts[size];
        c.root = (root + size) % seats;
        for (c.in_place = 0; c.in_place < 2; c.in_place++) {
            c.varies = program_case_varies(coll);
            sized_case(&c, random);
        }
    }
}

static void test_sizes(void)
{
    static const uint32_t seats[] = {2, 3, 4, 5, 6, 7, 8, 9, 17};
    uint64_t random = random_mix(31);
    xylem_coll_t coll;
    uint32_t i;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (i = 0;
             i < 9 && xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) != NULL;
             i += CHECK_IS_SLOW ? 2 : 1)
            sizes_of(coll, seats[i], &random);
}

static void test_every_root(void)
{
    uint64_t random = random_mix(32);
    program_case_t c = {.in_place = 0};

    for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++) {
        if (!xyl_coll_traits(c.coll)->has_root ||
            xyl_algorithm_of_kind(c.coll, XYL_ALGORITHM_NODE) == NULL)
            continue;
        c.element_bytes = program_case_is_of_bytes(c.coll) ? 1 : 8;
        for (c.seats = 2; c.seats <= 9; c.seats++)
            for (c.root = 0; c.root < c.seats; c.root++) {
                c.count = random_below(&random, 300);
                c.in_place = random_below(&random, 2) == 0;
                sized_case(&c, &random);
            }
    }
}

/* As in levels: the others do not know the places of the root's blocks. */
static void test_gaps(void)
{
    uint64_t random = random_mix(36);
    program_case_t c = {.element_bytes = 1};
    uint32_t i;

    for (i = 0; i < RANDOM_CASES / 2; i++) {
        c.coll = i % 2 == 0 ? XYLEM_COLL_GATHER : XYLEM_COLL_SCATTER;
        c.seats = random_between(&random, 2, 9);
        c.root = random_below(&random, c.seats);
        c.count = random_below(&random, 300);
        c.gap = random_between(&random, 1, 300);
        c.in_place = random_below(&random, 2) == 0;
        sized_case(&c, &random);
    }
}

/* ---- large messages ---- */

/* Around the limits that programs have of themselves, and twice that. */
static void test_long(void)
{
    static const uint64_t limits[] = {512,      4 << 10,   16 << 10,
                                      64 << 10, 128 << 10, 256 << 10};
    uint64_t random = random_mix(33);
    program_case_t c = {.in_place = 0};
    uint32_t i;

    for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++)
        for (i = 0; i < 72 &&
                    xyl_algorithm_of_kind(c.coll, XYL_ALGORITHM_NODE) != NULL;
             i += CHECK_IS_SLOW ? 5 : 1) { /* some values of each limit */
            c.element_bytes = program_case_is_of_bytes(c.coll) ? 1 : 8;
            c.seats = random_between(&random, 2, 4);
            c.root = random_below(&random, c.seats);
            c.count =
                limits[i % 6] * (1 + i / 36) / c.element_bytes + i / 6 % 3 - 1;
            c.window_bytes = UINT64_C(1) << random_between(&random, 16, 22);
            c.in_place = random_below(&random, 2) == 0;
            c.varies = program_case_varies(c.coll);
            c.in_arrival_order = random_below(&random, 2) == 0;
            c.share_bytes = random_below(&random, 2) * 1000;
            c.is_level = random_below(&random, 2) == 0;
            c.salt = random_next(&random);
            (void)program_case_try(&c, random_next(&random), 0);
        }
}

/* ---- chance ---- */

static program_case_t random_case(uint64_t *random, xylem_coll_t coll)
{
    program_case_t c = {.coll = coll,
                        .seats = random_between(random, 2, 12),
                        .element_bytes = 8,
                        .in_place = random_below(random, 2) == 0,
                        .in_arrival_order = random_below(random, 2) == 0,
                        .salt = random_next(random)};
    uint32_t bits = random_below(random, 12);

    if (program_case_is_of_bytes(coll) || random_below(random, 3) == 0)
        c.element_bytes = 1;
    c.root = random_below(random, c.seats);
    c.share_bytes = random_below(random, 2);
    c.is_level = random_below(random, 2) == 0;
    c.groups = (program_groups_t)random_below(random, PROGRAM_GROUPS_KINDS);
    c.count = random_below(random, 1U << bits);
    c.varies = program_case_varies(coll) && random_below(random, 5) != 0;
    c.window_bytes = UINT64_C(1) << random_below(random, WINDOW_BITS_MAX + 1);
    c.window_bytes += random_below(random, (uint32_t)c.window_bytes);
    if (c.window_bytes < program_case_window_min(&c))
        c.window_bytes = program_case_window_min(&c);
    if (random_below(random, 2) == 0)
        c.segment_bytes = random_between(random, 1, 1U << bits);
    return c;
}

static void test_random(void)
{
    uint64_t random = random_mix(34);
    xylem_coll_t coll;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < RANDOM_CASES &&
                    xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) != NULL;
             n++) {
            program_case_t c = random_case(&random, coll);
            (void)program_case_try(&c, random_next(&random), 0);
        }
}

/* Results are right for all limits of a table: the ends of their ranges, and
 * values that cases of this length can meet. */
static uint64_t draw_limit(uint64_t *random, uint64_t least, uint64_t most)
{
    uint64_t value = random_below(random, 1U << random_below(random, 13));

    if (random_below(random, 3) == 0)
        return random_below(random, 2) == 0 ? least : most;
    if (value < least)
        return least;
    return value < most ? value : most;
}

static void draw_limits(uint64_t *random, xyl_limits_t *limits)
{
#define DRAW(name, least, most) limits->name = draw_limit(random, least, most);
    XYL_LIMIT_MAP(DRAW)
#undef DRAW
}

static void test_any_limits(void)
{
    uint64_t random = random_mix(37);
    xylem_coll_t coll;
    xyl_limits_t limits;
    uint32_t n;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (n = 0; n < RANDOM_CASES &&
                    xyl_algorithm_of_kind(coll, XYL_ALGORITHM_NODE) != NULL;
             n++) {
            program_case_t c = random_case(&random, coll);
            draw_limits(&random, &limits);
            c.limits = &limits;
            (void)program_case_try(&c, random_next(&random), 0);
        }
}

/* ---- every order ---- */

/* Two or three pieces or slices, if there are any. */
static void test_every_order(void)
{
    static const uint64_t counts[] = {1, 2, 3, 20};
    program_case_t c = {.in_place = 0};
    uint32_t i;

    for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++)
        for (i = 0; i < 16 &&
                    xyl_algorithm_of_kind(c.coll, XYL_ALGORITHM_NODE) != NULL;
             i++) {
            c.element_bytes = program_case_is_of_bytes(c.coll) ? 1 : 8;
            c.seats = 2 + i % 2;
            c.root = i / 2 % c.seats;
            c.count = counts[i / 4];
            if (program_case_is_of_bytes(c.coll))
                c.count *= 10;
            c.in_place = i / 2 % 2 != 0;
            c.varies = program_case_varies(c.coll);
            c.salt = i;
            c.segment_bytes = 8;
            c.window_bytes = program_case_window_min(&c);
            c.share_bytes = i % 3 == 0;
            c.is_level = i / 4 % 2 != 0;
            (void)program_case_try(&c, i, ORDERS_MAX);
        }
}

/* An alltoall in rounds has at least four seats, and blocks of a segment. */
static program_case_t case_in_rounds(uint32_t seats, uint64_t count)
{
    program_case_t c = {.coll = XYLEM_COLL_ALLTOALL,
                        .seats = seats,
                        .count = count,
                        .element_bytes = 1,
                        .segment_bytes = XYL_BOARD_LINE_BYTES,
                        .algorithm = "node_rounds"};

    c.window_bytes = program_case_window_min(&c);
    return c;
}

/* One to three cuts in the piece, the last a short one. */
static void test_every_order_in_rounds(void)
{
    static const uint64_t counts[] = {128, 200, 300};
    program_case_t c;
    uint32_t i;

    for (i = 0; i < 18; i++) {
        c = case_in_rounds(4 + i / 3 % 2, counts[i % 3]);
        c.in_place = i >= 12;
        c.share_bytes = i >= 6;
        (void)program_case_try(&c, i, ORDERS_MAX);
    }
}

/* Up to three pieces; and as long as blocks are that go in rounds by
 * themselves. */
static void test_rounds(void)
{
    static const uint64_t counts[] = {128 << 10, 300000, (1 << 20) + 5000};
    uint64_t random = random_mix(35);
    program_case_t c;
    uint32_t i;

    for (i = 0; i < 6; i++) {
        c = case_in_rounds(4, counts[i % 3]);
        c.segment_bytes = 0;
        c.window_bytes = 1 << 20;
        c.in_place = i >= 3;
        c.share_bytes = 1;
        (void)program_case_try(&c, i, 0);
    }

    for (i = 0; i < RANDOM_CASES; i++) {
        c = case_in_rounds(random_between(&random, 4, 9),
                           random_between(&random, 128, 2500));
        c.in_place = random_below(&random, 2) == 0;
        c.share_bytes = random_below(&random, 2);
        c.salt = random_next(&random);
        (void)program_case_try(&c, random_next(&random), 0);
    }
}

/* ---- mistakes are found ---- */

typedef void (*spoil_fn)(xyl_step_t *step);

static void drop_wait(xyl_step_t *step)
{
    step->wait.kind = XYL_WAIT_NOTHING;
}

static void drop_post(xyl_step_t *step)
{
    step->post.kind = XYL_POST_NOTHING;
}

static void post_to_another(xyl_step_t *step)
{
    if (step->post.kind != XYL_POST_NOTHING)
        step->post.seat = 100;
    if (step->kind == XYL_STEP_HAND && xyl_form_is_by_line(step->transfer.form))
        step->transfer.seat = 100;
}

static int moves(const xyl_step_t *step)
{
    return step->kind != XYL_STEP_NOTHING && step->kind != XYL_STEP_TELL &&
           step->kind != XYL_STEP_HEAR;
}

static void move_target(xyl_step_t *step)
{
    if (step->kind == XYL_STEP_HAND) /* by another seat's line */
        step->to.seat = 100;
    else if (moves(step))
        step->to.at++;
}

static void move_source(xyl_step_t *step)
{
    if (step->kind == XYL_STEP_TAKE)
        step->from.seat = 100;
    else if (moves(step))
        step->from.at++;
}

static void shorten(xyl_step_t *step)
{
    if (step->kind == XYL_STEP_COPY || step->kind == XYL_STEP_PUBLISH)
        step->cut.bytes--;
    if (step->kind == XYL_STEP_HAND || step->kind == XYL_STEP_TAKE)
        step->cut.total++;
}

static void tell_not(xyl_step_t *step)
{
    step->emits = XYL_NO_SEGMENT;
}

static void wait_for_less(xyl_step_t *step)
{
    if (step->wait.value > 1 && step->wait.kind == XYL_WAIT_COUNT)
        step->wait.value--;
}

/* 1: one of several orders shows the mistake. */
static int is_found(program_run_t *run, const program_case_t *c)
{
    program_run_options_t options;
    uint64_t seed;

    for (seed = 1; seed <= SPOILED_ORDERS; seed++) {
        options = program_case_options(c, seed, 0);
        if (!program_run_go(run, &options))
            return 1;
    }
    return 0;
}

static int is_followed_by_a_post(const xyl_node_program_t *program,
                                 uint32_t number)
{
    uint32_t end =
        number < program->first_steps ? program->first_steps : program->count;

    for (number++; number < end; number++)
        if (program->steps[number].post.kind == XYL_POST_COUNT)
            return 1;
    return 0;
}

/* 1: a step posts the count; for a step of later pieces only theirs matter. */
static int posts_count(const xyl_node_program_t *program, uint32_t number,
                       uint32_t value)
{
    uint32_t i = number < program->first_steps ? 0 : program->first_steps;

    for (; i < program->count; i++)
        if (program->steps[i].post.kind == XYL_POST_COUNT &&
            program->steps[i].post.value == value)
            return 1;
    return 0;
}

/* 1: the step belongs to other pieces, of which there are none if the first one
 * takes all blocks; or only tells the lengths of blocks in others. */
static int is_of_another_piece(const xyl_node_program_t *program,
                               uint32_t number, spoil_fn spoil)
{
    const xyl_step_t *step = &program->steps[number];

    if (!program->is_cut_late)
        return 0;
    if (number >= program->first_steps)
        return program->pieces == 0;
    return step->cut.total > program->first_bytes &&
           ((step->kind == XYL_STEP_HAND && spoil == move_source) ||
            (step->kind == XYL_STEP_TAKE && spoil == move_target));
}

/* 1: leaving the step out harms nothing, or was tried before: a count before
 * others (its waiter waits for longer), a lower count with none between, the
 * wait of a seat for itself, an exscan's last input and first result. */
static int is_harmless(const program_run_t *run, const program_case_t *c,
                       spoil_fn spoil, uint32_t seat, uint32_t number)
{
    const xyl_node_program_t *program = &run->all[seat].program;
    const xyl_step_t *step = &program->steps[number];

    if (spoil == wait_for_less && step->wait.kind == XYL_WAIT_COUNT &&
        !posts_count(&run->all[step->wait.seat].program, number,
                     step->wait.value - 1))
        return 1;
    if (is_of_another_piece(program, number, spoil))
        return 1;
    if (spoil == drop_post && is_followed_by_a_post(program, number))
        return 1;
    if (spoil == drop_wait && c->coll == XYLEM_COLL_SCAN &&
        step->wait.seat == seat)
        return 1;
    if (c->share_bytes != 0 && (step->kind != XYL_STEP_NOTHING ||
                                (spoil != drop_wait && spoil != drop_post &&
                                 spoil != post_to_another)))
        return 1; /* it is found if nothing is shared */
    if (spoil == shorten && step->cut.bytes > step->cut.total)
        return 1; /* a piece has more room than there are bytes */
    return c->coll == XYLEM_COLL_EXSCAN &&
           ((seat + 1 == c->seats && number == 0) ||
            (step->kind == XYL_STEP_REDUCE &&
             step->first_seat == step->end_seat));
}

/* Returns the steps of the seat's program. */
static uint32_t spoil_step(const program_case_t *c, uint32_t seat,
                           uint32_t number, uint32_t spoil)
{
    static const spoil_fn spoils[SPOILS] = {
        drop_wait,   drop_post, post_to_another, move_target,
        move_source, shorten,   tell_not,        wait_for_less};
    xyl_node_program_t *program;
    xyl_step_t before;
    program_run_t run;
    uint32_t count;

    program_case_init(&run, c);
    program = &run.all[seat].program;
    count = program->count;
    if (number < count && !is_harmless(&run, c, spoils[spoil], seat, number)) {
        before = program->steps[number];
        spoils[spoil](&program->steps[number]);
        if (memcmp(&before, &program->steps[number], sizeof before) != 0 &&
            !is_found(&run, c)) {
            snprintf(run.mistake, sizeof run.mistake,
                     "seat %u, step %u: mistake %u was not found", seat, number,
                     spoil);
            program_case_complain(&run, c);
        }
    }
    program_case_fini(&run);
    return count;
}

/* Each step of each seat is spoiled once in each way. */
static void spoil_all(program_case_t *c)
{
    uint32_t seat, number, spoil;

    for (seat = 0; seat < c->seats; seat++)
        for (spoil = 0; spoil < 2 * SPOILS; spoil++) {
            c->share_bytes = spoil / SPOILS;
            for (number = 0;
                 number < spoil_step(c, seat, number, spoil % SPOILS);)
                number++;
        }
}

static void test_finds_mistakes(void)
{
    program_case_t c = {.seats = 3,
                        .root = 1,
                        .count = 40,
                        .element_bytes = 8,
                        .window_bytes = 1 << 16,
                        .segment_bytes = 160,
                        .sees_all = 1,
                        .algorithm = "node"};

    for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++)
        if (xyl_algorithm_of_kind(c.coll, XYL_ALGORITHM_NODE) != NULL)
            spoil_all(&c);
    c.count = 3; /* in a first piece; of two seats by lines */
    for (c.seats = 2; c.seats <= 3; c.seats++)
        for (c.coll = XYLEM_COLL_ALLTOALLV; c.coll <= XYLEM_COLL_ALLTOALLW;
             c.coll++)
            spoil_all(&c);
    c.seats = 3;
    c.count = LONG_SCAN;
    c.algorithm = "node_chain";
    for (c.coll = XYLEM_COLL_SCAN; c.coll <= XYLEM_COLL_EXSCAN; c.coll++)
        spoil_all(&c);
    c.count = 40;
    c.segment_bytes = 0;
    c.groups = PROGRAM_GROUPS_RANGES;
    c.algorithm = "node_groups";
    for (c.seats = 5; c.seats <= 7; c.seats += 2)
        for (c.coll = 0; c.coll < XYLEM_COLL_COUNT; c.coll++)
            if (program_case_has_groups(c.coll))
                spoil_all(&c);
    c = case_in_rounds(4, 200);
    c.sees_all = 1;
    c.salt = 2; /* so that no byte equals the one before it in its place */
    spoil_all(&c);
}

static const check_case_t cases[] = {
    {"finds_mistakes", test_finds_mistakes},
    {"every_order", test_every_order},
    {"every_order_in_rounds", test_every_order_in_rounds},
    {"rounds", test_rounds},
    {"every_root", test_every_root},
    {"gaps", test_gaps},
    {"sizes", test_sizes},
    {"random", test_random},
    {"any_limits", test_any_limits},
    {"long", test_long},
};
CHECK_MAIN(cases)
