/* Every algorithm of the table on problems of all kinds, run without the
 * engine in random orders. `test_algorithms --seed N` draws other problems;
 * `--algorithm NAME` takes only those of that name. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/data/description.h"
#include "runtime/core/team.h"
#include "simulator/random.h"
#include "tests/support/algorithm_case.h"
#include "tests/support/check.h"
#include "tests/support/schedule_inside.h"
#include "tests/support/schedules.h"

enum { RANKS_MAX = CHECK_IS_SLOW ? 17 : 33, RANKS_LARGE = 64 };

static uint64_t base_seed = 1;
static const char *only_algorithm;

static schedule_run_options_t options_draw(const algorithm_case_t *c,
                                           uint64_t *random)
{
    static const unsigned percents[] = {0, 50, 100, 100};

    return (schedule_run_options_t){
        .seed = random_next(random),
        .combine = algorithm_case_combine(c),
        .rendezvous_percent = percents[random_below(random, 4)],
        .late_rank = random_below(random, 4) == 0
                         ? random_below(random, c->ranks)
                         : SCHEDULE_RUN_NOBODY,
    };
}

static int case_run(algorithm_case_t *c, uint64_t *random)
{
    schedule_run_options_t options = options_draw(c, random);

    if (c->problem.coll == XYLEM_COLL_BARRIER)
        options.late_rank = random_below(random, c->ranks);
    algorithm_case_fill(c);
    if (!schedule_run_go(&c->run, &options) || !algorithm_case_verify(c))
        return 0;
    if (c->problem.coll == XYLEM_COLL_BARRIER && c->run.early_ranks != 0)
        return schedule_run_mistake(&c->run,
                                    "%u ranks left the barrier before rank %u "
                                    "had come",
                                    c->run.early_ranks, options.late_rank);
    return 1;
}

static void memory_copy(const algorithm_case_t *c, unsigned char **copies)
{
    uint32_t i;

    for (i = 0; i < c->ranks; i++) {
        const schedule_run_rank_t *rank = &c->run.all[i];
        copies[i] = schedule_run_array(rank->memory_count, c->element_bytes);
        memcpy(copies[i], rank->memory,
               (size_t)rank->memory_count * c->element_bytes);
    }
}

/* Two runs in different orders give the same bits. */
static int case_repeat(algorithm_case_t *c, uint64_t *random)
{
    unsigned char *copies[RANKS_LARGE] = {NULL};
    int is_good;
    uint32_t i;

    c->data = ALGORITHM_DATA_FLOAT64;
    is_good = case_run(c, random);
    memory_copy(c, copies);
    is_good = is_good && case_run(c, random);
    for (i = 0; i < c->ranks; i++) {
        const schedule_run_rank_t *rank = &c->run.all[i];
        if (is_good && copies[i] != NULL &&
            memcmp(copies[i], rank->memory,
                   (size_t)rank->memory_count * c->element_bytes) != 0)
            is_good = schedule_run_mistake(
                &c->run, "rank %u: another run gives other bits", i);
        free(copies[i]);
    }
    return is_good;
}

static void problem_try(const schedule_entry_t *entry, uint32_t ranks,
                        uint32_t nth, uint64_t seed)
{
    char text[ALGORITHM_CASE_TEXT_BYTES];
    algorithm_case_t c;
    uint64_t random = seed;
    int is_good = 1;

    if (algorithm_case_init(&c, entry->algorithm, entry->coll, ranks, nth,
                            seed)) {
        is_good = schedule_run_check(&c.run) &&
                  (c.problem.coll == XYLEM_COLL_BARRIER ||
                   schedule_run_check_waits(&c.run)) &&
                  case_run(&c, &random);
        if (is_good && c.problem.is_commutative && algorithm_case_reduces(&c))
            is_good = case_repeat(&c, &random);
    }
    if (!is_good) {
        algorithm_case_text(&c, text, sizeof text);
        check_failed(__FILE__, __LINE__, text);
    }
    algorithm_case_fini(&c);
}

/* The number of problems: few of large ones; of small ones so many that each
 * rank is the root of some. */
static uint32_t problems_of(uint32_t ranks)
{
    if (ranks <= 8)
        return 32;
    return check_cases(ranks <= RANKS_MAX ? 6 : 3);
}

static uint64_t seed_of(const schedule_entry_t *entry, uint32_t ranks,
                        uint32_t nth)
{
    uint64_t seed = random_mix(base_seed + entry->coll);
    const char *letter;

    for (letter = entry->algorithm->name; *letter != '\0'; letter++)
        seed = random_mix(seed + (unsigned char)*letter);
    return random_mix(random_mix(seed + ranks) + nth);
}

static void algorithm_try(const schedule_entry_t *entry)
{
    uint32_t ranks, nth;

    for (ranks = 1; ranks <= RANKS_LARGE;
         ranks = ranks == RANKS_MAX ? RANKS_LARGE : ranks + 1)
        for (nth = 0; nth < problems_of(ranks); nth++)
            problem_try(entry, ranks, nth, seed_of(entry, ranks, nth));
}

static void coll_try(xylem_coll_t coll)
{
    static schedule_entry_t all[SCHEDULES_MAX];
    size_t count = schedules_find(all), i, tried = 0;

    for (i = 0; i < count; i++) {
        if (all[i].coll != coll ||
            (all[i].algorithm->needs & XYL_READS_CALL) != 0 ||
            (only_algorithm != NULL &&
             strcmp(all[i].algorithm->name, only_algorithm) != 0))
            continue;
        algorithm_try(&all[i]);
        tried++;
    }
    if (tried == 0)
        check_skip("there is none that needs no more than the problem");
}

#define COLL_TEST(ID, name, ...)                                               \
    static void name(void)                                                     \
    {                                                                          \
        coll_try(XYLEM_COLL_##ID);                                             \
    }
XYL_COLL_MAP(COLL_TEST)

/* ---- large teams ---- */

enum { LARGE_RANKS = 2500, LARGE_POWER = 2048, LARGE_ACTIONS_PER_RANK = 64 };

/* Most blocks of v forms are empty. */
static void large_blocks(xyl_problem_t *problem)
{
    static uint64_t counts[LARGE_RANKS], displs[LARGE_RANKS];
    uint64_t at = 0;
    uint32_t i;

    for (i = 0; i < problem->ranks; i++) {
        counts[i] = i % 4 == 0 || i > problem->ranks / 2
                        ? 0
                        : problem->count / problem->ranks + i % 3;
        displs[i] = at;
        at += counts[i];
    }
    problem->count = counts[problem->rank];
    problem->send_counts = problem->recv_counts = counts;
    problem->send_displs = problem->recv_displs = displs;
}

static xyl_problem_t large_problem(const schedule_entry_t *entry, uint32_t rank,
                                   uint32_t ranks, uint64_t count)
{
    xyl_problem_t problem = {.coll = entry->coll,
                             .rank = rank,
                             .ranks = ranks,
                             .root = 3,
                             .count = count,
                             .element_bytes = 8,
                             .is_commutative = 1,
                             .radix = entry->algorithm->radix.preset,
                             .segment_bytes = count / 3 * 8};

    if (xyl_coll_varies(entry->coll))
        large_blocks(&problem);
    return problem;
}

static void large_failed(const xyl_algorithm_t *algorithm,
                         const xyl_problem_t *problem, const char *what)
{
    char text[ALGORITHM_CASE_TEXT_BYTES];

    snprintf(text, sizeof text, "%s %s: rank %u of %u, count %" PRIu64 ": %s",
             xyl_coll_traits(problem->coll)->name, algorithm->name,
             problem->rank, problem->ranks, problem->count, what);
    check_failed(__FILE__, __LINE__, text);
}

/* Runs nothing, but checks that the ranks' schedules suit each other: their
 * labels take equally many sequence numbers, whichever of their messages are
 * empty. */
static void large_try(const schedule_entry_t *entry, uint32_t ranks,
                      uint64_t count)
{
    const xyl_algorithm_t *algorithm = entry->algorithm;
    static const uint32_t in_64[] = {0, 1, 2, 21, 31, 32, 33, 62, 63};
    uint32_t i, sequences = 0;
    xyl_schedule_t schedule;

    for (i = 0; i < sizeof in_64 / sizeof *in_64; i++) {
        xyl_problem_t problem =
            large_problem(entry, in_64[i] * (ranks - 1) / 63, ranks, count);
        if (!xyl_algorithm_fits(algorithm, &problem, NULL))
            return;
        xyl_schedule_init(&schedule, problem.element_bytes);
        algorithm->write(&problem, &schedule);
        if (i == 0)
            sequences = schedule.labels / XYL_TEAM_SEGMENT_TAGS;
        if (schedule.status != XYLEM_OK)
            large_failed(algorithm, &problem, "no schedule");
        if (schedule.count > LARGE_ACTIONS_PER_RANK * ranks)
            large_failed(algorithm, &problem, "too many actions");
        if (schedule.labels / XYL_TEAM_SEGMENT_TAGS != sequences)
            large_failed(algorithm, &problem,
                         "takes other sequence numbers than rank 0");
        xyl_schedule_fini(&schedule);
    }
}

static void large_teams(void)
{
    static const uint64_t numbers[] = {1, LARGE_RANKS - 1,
                                       UINT64_C(3) * LARGE_RANKS};
    static schedule_entry_t all[SCHEDULES_MAX];
    size_t count = schedules_find(all), i, k;

    for (i = 0; i < count; i++)
        for (k = 0; k < sizeof numbers / sizeof *numbers; k++) {
            large_try(&all[i], LARGE_RANKS, numbers[k]);
            large_try(&all[i], LARGE_POWER, numbers[k]);
        }
}

static const check_case_t cases[] = {
#define COLL_CASE(ID, name, ...) {#name, name},
    XYL_COLL_MAP(COLL_CASE){"large_teams", large_teams},
};

int main(int argc, char **argv)
{
    while (argc > 2 && strncmp(argv[1], "--", 2) == 0) {
        if (strcmp(argv[1], "--seed") == 0) {
            base_seed = strtoull(argv[2], NULL, 0);
        } else if (strcmp(argv[1], "--algorithm") == 0) {
            only_algorithm = argv[2];
        } else {
            fprintf(stderr, "unknown option %s\n", argv[1]);
            return 2;
        }
        argv[2] = argv[0];
        argv += 2;
        argc -= 2;
    }
    printf("# --seed %" PRIu64 "\n", base_seed);
    return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}
