/* The tuner's model, its candidates, its journal on a machine that is a
 * formula, and its tables. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/measure/noise.h"
#include "bench/tune/tune.h"
#include "collectives/data/description.h"
#include "tests/support/check.h"
#include "tests/support/formula_machine.h"

static int is_near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fabs(b);
}

/* ---- the model ---- */

/* ib(0) + sb is 10, sbib(s) is 3, and the pipeline is full at step 4. */
static void test_model(void)
{
    static const struct tune_point steps[] = {{1, 10}, {4, 22}, {16, 58}};

    CHECK(is_near(tune_model_step(steps, 3), 3));
    CHECK(is_near(tune_model_at(steps, 3, 1), 10));
    CHECK(is_near(tune_model_at(steps, 3, 2), 14));
    CHECK(is_near(tune_model_at(steps, 3, 16), 58));
    CHECK(is_near(tune_model_at(steps, 3, 100), 58 + 84 * 3));
    CHECK(is_near(tune_model_at(steps, 1, 7), 10));
    CHECK(tune_model_at(steps, 0, 7) == 0);
    CHECK(is_near(tune_model_longer(10, 40), 160));
    CHECK(is_near(tune_model_middle(1024, 4096), 2048));
    CHECK(is_near(tune_model_middle(2, 4), 3));
}

/* Two leaders, each of which has the longest time of some task: the sum of the
 * tasks' longest times is more than any leader needs. A task is the first
 * segment's time, and with a second segment the stable one. */
#define TASK(first, stable)                                                    \
    {                                                                          \
        .at = {{1, first}, {2, (first) + (stable)}}, .count = 2, .pieces = 1   \
    }

/* ib(0) 10 and 4, sbib(s) 2.5 and 5, sb(u - 1) 4 and 6. */
static void test_broadcast_by_leaders(void)
{
    static const struct tune_leader leaders[] = {
        {{[TUNE_IB] = TASK(10, 2), [TUNE_SB] = TASK(4, 1)}, 0.5},
        {{[TUNE_IB] = TASK(4, 5), [TUNE_SB] = TASK(6, 3)}, 1}};
    static const struct tune_leader reduces[] = {
        {{[TUNE_SR] = TASK(10, 2), [TUNE_IR] = TASK(4, 1)}, 0.5},
        {{[TUNE_SR] = TASK(4, 5), [TUNE_IR] = TASK(6, 3)}, 1}};

    CHECK(is_near(tune_model_full(leaders, 1, TUNE_IB, 3), 10 + 2 * 2.5 + 4));
    /* The second one, and not 10 + 2 * 5 + 6. */
    CHECK(is_near(tune_model_full(leaders, 2, TUNE_IB, 3), 4 + 2 * 5 + 6));
    CHECK(is_near(tune_model_each(leaders, 2, TUNE_IB, 3), 4 + 2 * 5 + 6));
    CHECK(is_near(tune_model_full(leaders, 2, TUNE_IB, 1), 10 + 4));
    CHECK(is_near(tune_model_each(leaders, 2, TUNE_IB, 1), 10 + 4));
    CHECK(is_near(tune_model_full(reduces, 2, TUNE_SR, 3), 4 + 2 * 5 + 6));
}

/* sbib(1) is 6, and 2 from there on; the second leader has 1 and 3. */
static void test_each_task(void)
{
    static const struct tune_leader leaders[] = {
        {{[TUNE_IB] = {{{1, 10}, {2, 16}, {4, 20}}, 3, 1},
          [TUNE_SB] = {{{1, 4}, {2, 5}, {4, 7}}, 3, 1}},
         1},
        {{[TUNE_IB] = {{{1, 12}, {2, 13}, {4, 19}}, 3, 1},
          [TUNE_SB] = {{{1, 1}, {2, 1}, {4, 1}}, 3, 1}},
         1}};

    CHECK(is_near(tune_model_each(leaders, 2, TUNE_IB, 4),
                  10 + 6 + 2 + 2 + 4)); /* and not 12 + 6 + 3 + 3 + 4 */
    CHECK(is_near(tune_model_each(leaders + 1, 1, TUNE_IB, 4),
                  12 + 1 + 3 + 3 + 1));
    CHECK(is_near(tune_model_full(leaders, 2, TUNE_IB, 4), 12 + 3 * 3 + 1));
    CHECK(is_near(tune_model_full(leaders, 1, TUNE_IB, 4), 10 + 3 * 2 + 4));
}

/* The first leader does one thing after the other, and waits for reductions;
 * the second one does all at once, and waits for broadcasts. */
static void test_allreduce_by_leaders(void)
{
    static const struct tune_leader leaders[] = {
        {{TASK(3, 1), TASK(8, 2), TASK(1, 1), TASK(5, 4)}, 0},
        {{TASK(3, 1), TASK(1, 1), TASK(9, 3), TASK(2, 1)}, 1}};

    CHECK(is_near(tune_model_allreduce(leaders, 1, 5),
                  3 + (8 + 1) + (1 + 2 + 1) + 2 * (4 + 1 + 2 + 1) +
                      (4 + 1 + 2) + (4 + 1) + 5));
    CHECK(is_near(tune_model_allreduce(leaders + 1, 1, 5),
                  3 + 1 + 9 + 2 * 3 + 3 + 3 + 2));
    /* The first one, and not 3 + 9 + 9 + 16 + 7 + 5 + 5. */
    CHECK(is_near(tune_model_allreduce(leaders, 2, 5), 49));
    /* Without sbibirsr(s); without sbibir(u - 1), and sr in ibirsr(2); one
     * after the other, and not 3 + 8 + 9 + 5. */
    CHECK(is_near(tune_model_allreduce(leaders, 2, 3), 3 + 9 + 4 + 7 + 5 + 5));
    CHECK(is_near(tune_model_allreduce(leaders, 2, 2), 3 + 9 + 3 + 5 + 5));
    CHECK(is_near(tune_model_allreduce(leaders, 2, 1), 3 + 8 + 1 + 5));
}

/* The time of all levels at once, against their times by themselves. */
static void test_overlap(void)
{
    static const struct tune_leader
        two = {{[TUNE_IB] = TASK(9, 30), [TUNE_SB] = TASK(9, 20)}, 0},
        four = {{TASK(9, 1), TASK(9, 2), TASK(9, 1), TASK(9, 4)}, 0},
        one = {{[TUNE_IB] = TASK(9, 20)}, 0};

    CHECK(is_near(tune_model_overlap(&two, 40), 0.5));
    CHECK(is_near(tune_model_overlap(&two, 25), 1));
    CHECK(tune_model_overlap(&two, 60) == 0);
    CHECK(is_near(tune_model_overlap(&four, 6), 0.5));
    CHECK(is_near(tune_model_overlap(&one, 30), 1));
}

/* ---- candidates ---- */

static void test_plans(void)
{
    static struct tune_plan plans[TUNE_PLANS_MAX];
    static const struct tune_shape shapes[] = {
        {1, 1, TUNE_HOST}, {1, 4, TUNE_HOST},  {2, 1, TUNE_HOST},
        {4, 4, TUNE_HOST}, {3, 16, TUNE_HOST}, {64, 12, TUNE_HOST}};
    char why[XYL_ALGORITHM_WHY_BYTES];
    xyl_named_t named;
    xylem_coll_t coll;
    size_t s, i, j, count;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            count = tune_plans_list(coll, &shapes[s], plans);
            CHECK(count > 0 && count < TUNE_PLANS_MAX);
            for (i = 0; i < count; i++) {
                CHECK(
                    xyl_algorithm_parse(coll, plans[i].algorithm, &named, why));
                CHECK(plans[i].lanes > 0);
                for (j = 0; j < i; j++)
                    CHECK(!tune_plan_is_same(&plans[i], &plans[j]));
            }
        }
}

/* The choices within nodes, beside the table's. */
static void test_within(void)
{
    static const struct tune_plan plan = {"han:4/binary", 4096, 4, 8, 4},
                                  alone = {"binary", 4096, 4, 8, 1};
    static const struct tune_shape shape = {8, 6, TUNE_HOST};
    struct tune_plan list[TUNE_WITHIN_MAX], again[TUNE_WITHIN_MAX];
    const xylem_coll_t bcast = XYLEM_COLL_BCAST,
                       allreduce = XYLEM_COLL_ALLREDUCE;
    size_t count, i, pairs = 0;

    CHECK_EQ(tune_plan_within(bcast, &alone, &shape, list), 0);
    count = tune_plan_within(allreduce, &plan, &shape, list);
    CHECK(count > 3 && count < TUNE_WITHIN_MAX);
    for (i = 0; i < count; i++) {
        CHECK(strncmp(list[i].algorithm, "han:within=", 11) == 0);
        CHECK(tune_plan_names_within(allreduce, &list[i]));
        CHECK_EQ(tune_plan_leaders(allreduce, &list[i]), 4);
        CHECK_EQ(tune_plan_within(allreduce, &list[i], &shape, again), 0);
        pairs += strstr(list[i].algorithm, "node_pairs") != NULL;
    }
    CHECK_EQ(pairs, 1);
    CHECK(strcmp(list[count - 1].algorithm,
                 "han:within=ucx,between=binary,leaders=4") == 0);
    CHECK(!tune_plan_promises(allreduce, &list[count - 1], &shape, 65536));
    count = tune_plan_within(bcast, &plan, &shape, list);
    for (i = 0; i < count; i++) /* pairs have no broadcast */
        CHECK(strstr(list[i].algorithm, "node_pairs") == NULL);
}

/* The levels of a plan, by themselves. */
static void test_alone(void)
{
    static const struct tune_plan plan = {
        "han:within=node_pairs,between=binary,leaders=4", 4096, 4, 8, 4};
    static const struct tune_plan plain = {"han:4/ring", 4096, 4, 8, 4};
    static const struct tune_plan rooted = {"han:4/binary", 4096, 4, 8, 4};
    static const struct tune_shape shape = {8, 6, TUNE_HOST};
    const xylem_coll_t allreduce = XYLEM_COLL_ALLREDUCE;
    struct tune_alone alone;

    CHECK(tune_plan_alone(allreduce, &plan, &shape, TUNE_SR, &alone));
    CHECK(alone.coll == XYLEM_COLL_REDUCE && alone.shape.nodes == 1 &&
          alone.shape.node_ranks == 6);
    CHECK(strcmp(alone.plan.algorithm, "node_pairs") == 0);
    CHECK(tune_plan_alone(allreduce, &plan, &shape, TUNE_SB, &alone));
    CHECK(alone.coll == XYLEM_COLL_BCAST);
    CHECK(strcmp(alone.plan.algorithm, "node") == 0);
    CHECK(tune_plan_alone(allreduce, &plan, &shape, TUNE_IR, &alone));
    CHECK(alone.coll == XYLEM_COLL_REDUCE && alone.shape.nodes == 8);
    CHECK(strcmp(alone.plan.algorithm, "binary") == 0);
    CHECK(tune_plan_alone(allreduce, &plan, &shape, TUNE_IB, &alone));
    CHECK(alone.coll == allreduce && alone.shape.nodes == 8 &&
          alone.shape.node_ranks == 1);
    CHECK(strcmp(alone.plan.algorithm, "binary") == 0);
    CHECK_EQ(alone.plan.segment_bytes, 4096);
    CHECK(tune_plan_alone(allreduce, &plain, &shape, TUNE_IB, &alone));
    CHECK_EQ(alone.plan.segment_bytes, 0); /* goes as a whole */
    CHECK(!tune_plan_alone(allreduce, &plain, &shape, TUNE_IR, &alone));
    CHECK(!tune_plan_alone(XYLEM_COLL_BCAST, &rooted, &shape, TUNE_SR, &alone));
    CHECK(!tune_plan_alone(XYLEM_COLL_BCAST, &rooted, &shape, TUNE_IR, &alone));
    CHECK(tune_plan_alone(XYLEM_COLL_BCAST, &rooted, &shape, TUNE_IB, &alone));
    CHECK(alone.coll == XYLEM_COLL_BCAST && alone.shape.nodes == 8);
    CHECK(
        !tune_plan_alone(XYLEM_COLL_REDUCE, &rooted, &shape, TUNE_IB, &alone));
}

/* Plans in memory of GPUs, one of which has a number of ranks that take part;
 * no others. */
static void test_plans_of_gpus(void)
{
    static const char *const all[] = {
        "cuda_ipc",      "cuda_mirrors", "cuda_gsb",      "cuda_btb",
        "cuda_gsb_btb",  "cuda_static",  "cuda_static:1", "cuda_static:2",
        "cuda_static:3", "cuda_dynamic"};
    enum { ALL = sizeof all / sizeof *all };
    static struct tune_plan plans[TUNE_PLANS_MAX];
    const struct tune_shape few = {1, 4, TUNE_IN_TURNS},
                            many = {1, 24, TUNE_SIDE_BY_SIDE},
                            apart = {2, 4, TUNE_IN_TURNS};
    size_t i;

    CHECK_EQ(tune_plans_list(XYLEM_COLL_ALLREDUCE, &few, plans), ALL);
    for (i = 0; i < ALL; i++)
        CHECK(strcmp(plans[i].algorithm, all[i]) == 0);
    /* 1, 2, 4, 8, 16 and 23 of the ranks */
    CHECK_EQ(tune_plans_list(XYLEM_COLL_ALLREDUCE, &many, plans), ALL + 3);
    CHECK(strcmp(plans[ALL + 1].algorithm, "cuda_static:23") == 0);
    CHECK_EQ(tune_plans_list(XYLEM_COLL_ALLTOALL, &few, plans), 2);
    CHECK_EQ(tune_plans_list(XYLEM_COLL_BARRIER, &few, plans), 0);
    CHECK_EQ(tune_plans_list(XYLEM_COLL_ALLREDUCE, &apart, plans), 0);
}

/* Each differs from the plan, and from the others, in one number. */
static void test_neighbours(void)
{
    static const struct tune_plan plan = {"han:4/double", 1024, 32, 64, 8},
                                  alone = {"ring", 0, 0, 0, 1};
    static const struct tune_shape shape = {8, 6, TUNE_HOST};
    const xylem_coll_t bcast = XYLEM_COLL_BCAST;
    struct tune_plan list[TUNE_NEIGHBOURS_MAX];

    CHECK_EQ(tune_plan_neighbours(bcast, &alone, &shape, list), 0);
    CHECK_EQ(tune_plan_neighbours(bcast, &plan, &shape, list), 5);
    CHECK_EQ(list[0].send_window, 16);
    CHECK_EQ(list[0].recv_window, 32);
    CHECK(strcmp(list[1].algorithm, "han:2/double") == 0);
    CHECK_EQ(list[1].lanes, 4);
    CHECK_EQ(list[2].segment_bytes, 2048);
    CHECK(strcmp(list[3].algorithm, "han:6/double") == 0);
    CHECK_EQ(list[3].lanes, 12);
    CHECK(strcmp(list[4].algorithm,
                 "han:between=double,leaders=4,within_segment=2048") == 0);
    CHECK_EQ(tune_plan_neighbours(bcast, &list[4], &shape, list), 6);
    CHECK(strcmp(list[2].algorithm, "han:4/double") == 0);
}

/* All links of a chain are busy as soon as it has as many segments. */
static void test_chains(void)
{
    static const struct tune_plan chain = {"han:1/chain", 65536, 4, 8, 1};
    static const struct tune_shape few = {4, 8, TUNE_HOST},
                                   many = {64, 8, TUNE_HOST};
    const xylem_coll_t bcast = XYLEM_COLL_BCAST;

    CHECK(!tune_plan_promises(bcast, &chain, &few, (size_t)128 << 10));
    CHECK(tune_plan_promises(bcast, &chain, &few, (size_t)192 << 10));
    CHECK(!tune_plan_promises(bcast, &chain, &many, (size_t)512 << 10));
    CHECK(tune_plan_promises(bcast, &chain, &many, (size_t)1 << 20));
}

/* ---- searches ---- */

/* The chosen plan is faster than all its neighbours. */
static void test_refined(void)
{
    struct tune_choice choices[TUNE_SIZES_MAX];
    struct tune_options options = formula_options(0, 1);
    struct tune_journal journal = {.file = NULL};
    struct tune_plan list[TUNE_NEIGHBOURS_MAX];
    static const struct tune_shape shape = {16, 8, TUNE_HOST};
    formula_machine_t machine = {.near_bytes = 0};
    size_t s, i, count;

    formula_search(&options, &machine, &journal, choices);
    for (s = 0; s < options.bytes_count; s++) {
        count = tune_plan_neighbours(XYLEM_COLL_ALLREDUCE, &choices[s].plan,
                                     &shape, list);
        for (i = 0; i < count; i++)
            CHECK(!tune_plan_applies(&list[i], options.bytes[s]) ||
                  formula_us(&list[i], options.bytes[s]) >= choices[s].us);
    }
    tune_journal_close(&journal);
}

/* Measured times are not measured again. */
static void test_resumed(void)
{
    char path[] = "/tmp/xylem-tune-XXXXXX";
    struct tune_choice first[TUNE_SIZES_MAX], second[TUNE_SIZES_MAX];
    struct tune_options options = formula_options(0, 1);
    struct tune_journal journal;
    formula_machine_t machine = {.near_bytes = 0};
    size_t s;

    close(mkstemp(path));
    CHECK(tune_journal_open(&journal, path, "a formula"));
    formula_search(&options, &machine, &journal, first);
    CHECK(machine.calls > 0);
    fputs("bcast 2 2 64 a line that was cut o", journal.file);
    tune_journal_close(&journal);
    CHECK(tune_journal_open(&journal, path, "a formula"));
    formula_search(&options, &machine, &journal, second);
    CHECK_EQ(machine.calls, 0);
    for (s = 0; s < options.bytes_count; s++)
        CHECK(tune_plan_is_same(&first[s].plan, &second[s].plan));
    tune_journal_close(&journal);
    /* Nor are times of another machine taken for this one's. */
    CHECK(tune_journal_open(&journal, path, "another one"));
    CHECK_EQ(journal.count, 0);
    tune_journal_close(&journal);
    unlink(path);
}

/* A time that another campaign of the same search has measured costs nothing
 * more. */
static void test_counted(void)
{
    struct tune_choice choices[TUNE_SIZES_MAX];
    struct tune_options options = formula_options(0, 1);
    struct tune_journal journal = {.file = NULL};
    formula_machine_t machine = {.near_bytes = 0};
    struct tune_place place = {.shape = {16, 8, TUNE_HOST},
                               .state = &machine,
                               .time = formula_time,
                               .agree = formula_agree,
                               .shares_memory = 1,
                               .is_first = 1};
    struct tune_search search = {.options = &options,
                                 .place = &place,
                                 .journal = &journal,
                                 .begin_ns = noise_now_ns(),
                                 .campaigns_left = 2};

    CHECK(tune_search_run(&search, XYLEM_COLL_ALLREDUCE, TUNE_SYNCHRONISED,
                          choices));
    CHECK(tune_search_run(&search, XYLEM_COLL_ALLREDUCE, TUNE_SYNCHRONISED,
                          choices));
    CHECK(is_near(search.cost_s, machine.us / 1e6));
    tune_journal_close(&journal);
}

/* Each leader's time is kept, to the nanosecond, but not if its line was cut
 * off.
 */
static void test_leaders(void)
{
    static const double us[] = {1.25, 0.001, 123456.789};
    struct tune_time time = {.coll = XYLEM_COLL_BCAST,
                             .shape = {3, 1, TUNE_HOST},
                             .bytes = 64,
                             .plan = {"binary", 64, 1, 2, 1},
                             .us = 123456.789,
                             .leaders = 3,
                             .leader_us = us},
                     cut = time;
    char path[] = "/tmp/xylem-tune-XXXXXX";
    const struct tune_time *known;
    struct tune_journal journal;

    close(mkstemp(path));
    CHECK(tune_journal_open(&journal, path, "a formula"));
    CHECK(tune_journal_add(&journal, &time));
    fputs("bcast 3 1 128 binary 64 1 2 7 0 synchronised 7 6.5 1.",
          journal.file);
    tune_journal_close(&journal);
    CHECK(tune_journal_open(&journal, path, "a formula"));
    CHECK_EQ(journal.count, 2);
    known = tune_journal_find(&journal, &time);
    CHECK(known != NULL && known->leaders == 3 &&
          known->leader_us[0] == us[0] && known->leader_us[1] == us[1] &&
          known->leader_us[2] == us[2]);
    cut.bytes = 128;
    known = tune_journal_find(&journal, &cut);
    CHECK(known != NULL && known->us == 7 && known->leaders == 0);
    tune_journal_close(&journal);
    unlink(path);
}

/* Copies the file as it was written before there were times of leaders: its
 * lines end with the arrivals. */
static void leaders_cut(const char *from, const char *to)
{
    static const char arrivals[] = " synchronised";
    FILE *in = fopen(from, "r"), *out = fopen(to, "w");
    char line[1024], *end;

    CHECK(in != NULL && out != NULL);
    while (fgets(line, sizeof line, in) != NULL) {
        end = strstr(line, arrivals);
        if (end != NULL)
            memcpy(end + strlen(arrivals), "\n", 2);
        fputs(line, out);
    }
    fclose(in);
    fclose(out);
}

/* Times of before hold for whole plans; tasks of levels are measured anew. */
static void test_without_leaders(void)
{
    char path[] = "/tmp/xylem-tune-XXXXXX", old[] = "/tmp/xylem-tune-XXXXXX";
    struct tune_choice first[TUNE_SIZES_MAX], again[TUNE_SIZES_MAX];
    struct tune_options options = formula_options(0, 1);
    formula_machine_t machine = {.near_bytes = 0};
    struct tune_journal journal;
    size_t calls, s;

    close(mkstemp(path));
    close(mkstemp(old));
    CHECK(tune_journal_open(&journal, path, "a formula"));
    formula_search(&options, &machine, &journal, first);
    calls = machine.calls;
    tune_journal_close(&journal);
    leaders_cut(path, old);
    CHECK(tune_journal_open(&journal, old, "a formula"));
    CHECK(journal.count > 0);
    formula_search(&options, &machine, &journal, again);
    printf("# %zu of %zu times are measured anew\n", machine.calls, calls);
    CHECK(machine.calls > 0 && machine.calls < calls / 2);
    for (s = 0; s < options.bytes_count; s++)
        CHECK(tune_plan_is_same(&first[s].plan, &again[s].plan));
    formula_search(&options, &machine, &journal, again);
    CHECK_EQ(machine.calls, 0);
    tune_journal_close(&journal);
    unlink(path);
    unlink(old);
}

/* Without time, nothing is measured, and nothing is chosen. */
static void test_no_time(void)
{
    struct tune_choice choices[TUNE_SIZES_MAX];
    struct tune_options options = formula_options(1, 0);
    struct tune_journal journal = {.file = NULL};
    formula_machine_t machine = {.near_bytes = 0};
    size_t s;

    options.minutes = 0;
    formula_search(&options, &machine, &journal, choices);
    CHECK_EQ(machine.calls, 0);
    for (s = 0; s < options.bytes_count; s++)
        CHECK(!choices[s].is_known);
    tune_journal_close(&journal);
}

/* ---- the table ---- */

/* The rules that the tuner writes for these choices, as the library reads them.
 */
static size_t rules_written(const struct tune_options *options,
                            const struct tune_choice *choices, json_t **file)
{
    static const struct tune_shape shape = {4, 4, TUNE_HOST};
    struct tune_table *table = tune_table_create(options);
    char path[] = "/tmp/xylem-tune-XXXXXX";

    close(mkstemp(path));
    CHECK(table != NULL &&
          tune_table_add(table, XYLEM_COLL_BCAST, TUNE_SYNCHRONISED, &shape,
                         choices) &&
          tune_table_write(table, path));
    tune_table_destroy(table);
    *file = tune_table_load("test_tune", path);
    CHECK(*file != NULL);
    unlink(path);
    return json_array_size(json_object_get(*file, "rules"));
}

static const char *range_end(const json_t *file, size_t rule, size_t end)
{
    const json_t *bytes = json_object_get(
        json_array_get(json_object_get(file, "rules"), rule), "bytes");
    const char *text = json_string_value(json_array_get(bytes, end));

    return text != NULL ? text : "a number";
}

/* A size without a rule takes none from its neighbours, even if it names the
 * same plan, and ends their rules only at its own middles. */
static void test_sizes_without_rule(void)
{
    static const struct tune_plan plan = {"kary:2", 1024, 4, 8, 1};
    /* Which of four sizes are known, the number of rules, and the first size of
     * the last rule. */
    static const struct {
        int known[4];
        size_t rules;
        const char *begin;
    } cases[] = {
        {{1, 1, 1, 1}, 1, "a number"}, {{0, 1, 1, 1}, 1, "2K"},
        {{1, 0, 1, 1}, 2, "8K"},       {{1, 1, 0, 1}, 2, "32K"},
        {{0, 0, 0, 1}, 1, "32K"},      {{0, 1, 0, 1}, 2, "32K"},
        {{1, 0, 0, 0}, 1, "a number"}, {{0, 0, 0, 0}, 0, NULL},
    };
    struct tune_options options = {.machine = "a formula",
                                   .bytes = {1024, 4096, 16384, 65536},
                                   .bytes_count = 4,
                                   .nodes = {4},
                                   .nodes_count = 1,
                                   .node_ranks = {4},
                                   .node_ranks_count = 1};
    struct tune_choice choices[4];
    json_t *file;
    size_t i, s;

    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (s = 0; s < 4; s++)
            choices[s] = (struct tune_choice){
                .plan = plan, .us = 7, .is_known = cases[i].known[s]};
        CHECK_EQ(rules_written(&options, choices, &file), cases[i].rules);
        if (cases[i].rules != 0)
            CHECK(strcmp(range_end(file, cases[i].rules - 1, 0),
                         cases[i].begin) == 0);
        json_decref(file);
    }
}

/* A rule ends where its plan is no longer the faster one. */
static void test_ends(void)
{
    static const struct tune_plan plans[] = {{"kary:2", 1024, 4, 8, 1},
                                             {"kary:4", 1024, 4, 8, 1}};
    struct tune_options options = {.machine = "a formula",
                                   .bytes = {1024, 16384},
                                   .bytes_count = 2,
                                   .nodes = {4},
                                   .nodes_count = 1,
                                   .node_ranks = {4},
                                   .node_ranks_count = 1};
    struct tune_choice choices[2] = {
        {.plan = plans[0], .us = 7, .is_known = 1, .end = 8192},
        {.plan = plans[1], .us = 8, .is_known = 1}};
    json_t *file;

    CHECK_EQ(rules_written(&options, choices, &file), 2);
    CHECK(strcmp(range_end(file, 1, 0), "8K") == 0);
    json_decref(file);
    choices[0].end = 0;
    CHECK_EQ(rules_written(&options, choices, &file), 2);
    CHECK(strcmp(range_end(file, 1, 0), "4K") == 0);
    json_decref(file);
}

int main(int argc, char **argv)
{
    static const check_case_t cases[] = {
        {"model", test_model},
        {"equation 5.4, leader by leader", test_broadcast_by_leaders},
        {"equation 5.1, leader by leader", test_each_task},
        {"equation 5.5, leader by leader", test_allreduce_by_leaders},
        {"equation 5.3", test_overlap},
        {"candidates", test_plans},
        {"candidates on GPUs", test_plans_of_gpus},
        {"within nodes", test_within},
        {"levels by themselves", test_alone},
        {"neighbours", test_neighbours},
        {"chains of as many segments as links", test_chains},
        {"refined", test_refined},
        {"resumed", test_resumed},
        {"costs that count once", test_counted},
        {"times of leaders", test_leaders},
        {"times without leaders", test_without_leaders},
        {"no time", test_no_time},
        {"sizes without a rule", test_sizes_without_rule},
        {"ends of rules", test_ends},
    };

    return check_run(cases, sizeof cases / sizeof *cases, argc, argv);
}
