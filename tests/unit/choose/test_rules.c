/* Properties of every decision, whatever the table says: the first rule that
 * applies is taken; parameters are in their ranges, and segments and windows do
 * not become shorter as messages become longer; and some call takes each rule.
 *
 * The teams and lengths are those at which rules of the built-in table begin
 * and end. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/choose/choose.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/device/plan.h"
#include "collectives/stages/edge.h"
#include "runtime/core/operation.h"
#include "simulator/random.h"
#include "tests/support/check.h"
#include "tests/support/decision.h"

/* ---- the built-in table ---- */

static const xyl_rule_t *rule_at(size_t number)
{
    return &xyl_rules_builtin.rule[number];
}

static int rule_is_for(const xyl_rule_t *rule, xylem_coll_t coll)
{
    return (rule->colls >> coll & 1) != 0;
}

enum { RULE_TEXT_BYTES = 96 };

static const char *rule_text(size_t number, xylem_coll_t coll)
{
    static char text[RULE_TEXT_BYTES];

    snprintf(text, sizeof text, "rule %zu, %s of %s", number,
             rule_at(number)->algorithm, xyl_coll_traits(coll)->name);
    return text;
}

static void rule_fails(size_t number, xylem_coll_t coll, const char *what)
{
    char text[3 * RULE_TEXT_BYTES];

    snprintf(text, sizeof text, "%s: %s", rule_text(number, coll), what);
    check_failed("collectives/choose/table.json", (int)number, text);
}

/* ---- ascending numbers, each once ---- */

enum { NUMBERS_MAX = 256 };

typedef struct numbers {
    uint64_t all[NUMBERS_MAX];
    uint32_t count;
} numbers_t;

static void numbers_add(numbers_t *numbers, uint64_t number)
{
    uint32_t at = numbers->count;

    while (at > 0 && numbers->all[at - 1] > number)
        at--;
    if (at > 0 && numbers->all[at - 1] == number)
        return;
    if (numbers->count == NUMBERS_MAX)
        abort(); /* the test's mistake */
    memmove(&numbers->all[at + 1], &numbers->all[at],
            (numbers->count - at) * sizeof *numbers->all);
    numbers->all[at] = number;
    numbers->count++;
}

/* Adds the ends of a range, and the number behind it, unless that is more than
 * `most`. */
static void numbers_add_range(numbers_t *numbers, uint64_t least, uint64_t last,
                              uint64_t most)
{
    if (least <= most)
        numbers_add(numbers, least);
    if (last <= most)
        numbers_add(numbers, last);
    if (last < most)
        numbers_add(numbers, last + 1);
}

static uint64_t at_least(uint64_t least, uint64_t number)
{
    return number < least ? least : number;
}

/* ---- teams ---- */

enum { SHAPES_MAX = 256, NODE_RANKS_MAX = 64, RANKS_MAX = 128 };

static shape_t shapes[SHAPES_MAX];
static uint32_t shape_count;

static void shapes_add(shape_t shape)
{
    if (shape_count == SHAPES_MAX)
        abort(); /* the test's mistake */
    shapes[shape_count++] = shape;
}

static void shapes_add_node(uint32_t ranks)
{
    shapes_add((shape_t){.nodes = 1, .seats = ranks});
    shapes_add((shape_t){.nodes = 1, .seats = ranks, .is_apart = 1});
    if (ranks > 4)
        shapes_add((shape_t){.nodes = 1, .seats = ranks, .cache_seats = 4});
}

static void shapes_of_ranks(void)
{
    numbers_t node = {.count = 0}, lone = {.count = 0};
    size_t i;

    numbers_add_range(&node, 1, 2, NODE_RANKS_MAX);
    numbers_add_range(&lone, 2, 2, DECISION_RANKS_MAX);
    for (i = 0; i < xyl_rules_builtin.count; i++) {
        const xyl_rule_t *rule = rule_at(i);
        if ((rule->teams & (XYL_TEAM_NODE | XYL_TEAM_BOARD)) != 0)
            numbers_add_range(&node, at_least(1, rule->ranks.least),
                              rule->ranks.most, NODE_RANKS_MAX);
        if ((rule->teams & XYL_TEAM_NODES) != 0)
            numbers_add_range(&lone, at_least(2, rule->ranks.least),
                              rule->ranks.most, DECISION_RANKS_MAX);
    }
    for (i = 0; i < node.count; i++)
        shapes_add_node((uint32_t)node.all[i]);
    for (i = 0; i < lone.count; i++)
        shapes_add((shape_t){.nodes = (uint32_t)lone.all[i], .seats = 1});
}

static void shapes_of_nodes(void)
{
    numbers_t nodes = {.count = 0}, seats = {.count = 0};
    size_t i, j;

    numbers_add_range(&nodes, 2, 2, RANKS_MAX);
    numbers_add_range(&seats, 2, 2, RANKS_MAX);
    for (i = 0; i < xyl_rules_builtin.count; i++) {
        const xyl_rule_t *rule = rule_at(i);
        if ((rule->teams & XYL_TEAM_NODES) == 0)
            continue;
        numbers_add_range(&nodes, at_least(2, rule->nodes.least),
                          rule->nodes.most, RANKS_MAX);
        numbers_add_range(&seats, at_least(2, rule->node_ranks.least),
                          rule->node_ranks.most, RANKS_MAX);
        for (j = 0; j < rule->pays_count; j++)
            numbers_add_range(&seats, 2, rule->pays[j].node_ranks_max,
                              RANKS_MAX);
    }
    for (i = 0; i < nodes.count; i++)
        for (j = 0; j < seats.count; j++)
            if (nodes.all[i] * seats.all[j] <= RANKS_MAX)
                shapes_add((shape_t){.nodes = (uint32_t)nodes.all[i],
                                     .seats = (uint32_t)seats.all[j]});
}

static void shapes_find(void)
{
    if (shape_count != 0)
        return;
    shapes_of_ranks();
    shapes_of_nodes();
    shapes_add((shape_t){.nodes = 8, .seats = 8, .is_in_turn = 1});
    shapes_add((shape_t){.nodes = 8, .seats = 8, .is_apart = 1});
    shapes_add((shape_t){.nodes = 8, .seats = 1, .has_switches = 1});
    shapes_add((shape_t){.nodes = 8, .seats = 8, .has_switches = 1});
    shapes_add(
        (shape_t){.nodes = 4, .seats = 2, .is_apart = 1, .has_switches = 1});
}

/* ---- calls ---- */

static const decision_kind_t kinds[] = {
    {.name = "plain"},
    {.name = "in the order of ranks", .is_for_reductions = 1, .is_ordered = 1},
    {.name = "as they come",
     .is_for_reductions = 1,
     .flags = XYLEM_FLAG_ARRIVAL_ORDER},
    {.name = "reproducible",
     .is_for_reductions = 1,
     .flags = XYLEM_FLAG_ARRIVAL_ORDER | XYLEM_FLAG_REPRODUCIBLE},
    {.name = "in parts", .is_for_segments = 1, .flags = XYLEM_FLAG_PARTS},
    {.name = "in segments", .segment_bytes = 1024},
    {.name = "with a tag", .tag = 1},
    {.name = "with a tag and a board", .tag = 1, .way = {.has_board = 1}},
    {.name = "on devices", .way = {.memory = XYL_MEMORY_GPUS}},
    {.name = "on devices of their own",
     .way = {.memory = XYL_MEMORY_GPUS_APART}},
    {.name = "on devices, as the user says",
     .way = {.memory = XYL_MEMORY_GPUS},
     .direct = XYL_DIRECT_ON},
    {.name = "by a tree", .is_for_segments = 1, .algorithm = "knomial:3"},
    {.name = "by levels", .is_for_segments = 1, .algorithm = "han"},
};

static int kind_is_for(const decision_kind_t *kind, xylem_coll_t coll)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(coll);

    return (!kind->is_for_reductions || traits->reduces) &&
           (!kind->is_for_segments || traits->has_segments) &&
           (kind->way.memory == XYL_MEMORY_HOST || xyl_device_has_tasks(coll));
}

/* Lengths of a collective at which a rule may begin or end in such a team, and
 * some by chance. */
static void bytes_find(const shape_t *shape, xylem_coll_t coll,
                       numbers_t *numbers)
{
    enum { BYTES_MAX = 1 << 26, BY_CHANCE = 8 };
    static uint64_t random = 5;
    const uint64_t unit = decision_unit(coll);
    const uint64_t ranks = (uint64_t)shape->nodes * shape->seats;
    numbers_t found = {.count = 0};
    uint32_t i, j;

    numbers_add_range(&found, 0, 1, BYTES_MAX);
    numbers_add(&found, BYTES_MAX);
    for (i = 0; i < BY_CHANCE; i++)
        numbers_add(
            &found,
            random_below(&random, BYTES_MAX >> random_below(&random, 24)));
    for (i = 0; i < xyl_rules_builtin.count; i++) {
        const xyl_rule_t *rule = rule_at(i);
        if (!rule_is_for(rule, coll))
            continue;
        numbers_add_range(&found, rule->bytes_min, rule->bytes_max, BYTES_MAX);
        numbers_add_range(&found, rule->total_min / ranks,
                          rule->total_max / ranks, BYTES_MAX);
        for (j = 0; j < rule->pays_count; j++)
            numbers_add_range(&found, 0,
                              rule->pays[j].node_bytes_max / shape->seats,
                              BYTES_MAX);
    }
    numbers->count = 0;
    for (i = 0; i < found.count; i++)
        numbers_add(numbers, (found.all[i] + unit - 1) / unit * unit);
}

/* Calls `visit` for all decisions in a team. For each collective and kind,
 * calls `begin`, and then `visit` for growing lengths. */
static void visit_team(const shape_t *shape, xylem_team_t *team,
                       void (*begin)(void), void (*visit)(decision_t *decision))
{
    decision_t decision = {.shape = shape, .team = team};
    numbers_t bytes;
    size_t k;
    uint32_t i;

    for (decision.coll = 0; decision.coll < XYLEM_COLL_COUNT; decision.coll++) {
        bytes_find(shape, decision.coll, &bytes);
        for (k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            decision.kind = &kinds[k];
            if (!kind_is_for(decision.kind, decision.coll))
                continue;
            begin();
            for (i = 0; i < bytes.count; i++) {
                decision.bytes = bytes.all[i];
                if (decision_make(&decision))
                    visit(&decision);
                else if (decision.kind->algorithm == NULL)
                    decision_fails(&decision, __LINE__, "refused");
            }
        }
    }
}

/* ---- the first rule that applies ---- */

/* The chooser of every choice. */
static const xyl_chooser_t *chooser;

static uint8_t is_taken[1024][XYLEM_COLL_COUNT];

static void take(const xyl_rule_t *rule, xylem_coll_t coll)
{
    if (rule != NULL)
        is_taken[rule - xyl_rules_builtin.rule][coll] = 1;
}

/* The first rule of a kind, or of any (XYL_ALGORITHM_KINDS), that applies.
 * NULL: there is none. */
static const xyl_candidate_t *first_that_applies(const xylem_team_t *team,
                                                 const xyl_query_t *query,
                                                 const xyl_problem_t *problem,
                                                 xyl_algorithm_kind_t kind)
{
    const xyl_candidate_t *next =
        xyl_tuning_candidates(team->context, query->coll);
    xyl_problem_t asked = *problem;

    for (; next->rule != NULL; next++) {
        asked.radix = next->rule->radix;
        if ((kind == XYL_ALGORITHM_KINDS || next->algorithm->kind == kind) &&
            xyl_rule_holds(next->rule, query) &&
            xyl_rule_pays(next->rule, query) &&
            xyl_algorithm_fits(next->algorithm, &asked, NULL))
            return next;
    }
    return NULL;
}

static void check_first(decision_t *decision)
{
    const xyl_choice_t *choice = &decision->choice;
    const xyl_candidate_t *first =
        first_that_applies(decision->team, &decision->query, &decision->problem,
                           XYL_ALGORITHM_KINDS);

    take(choice->rule, decision->coll);
    if (decision->kind->algorithm != NULL)
        return;
    DECISION_CHECK(decision,
                   choice->rule == (first == NULL ? NULL : first->rule));
    if (first != NULL)
        DECISION_CHECK(decision,
                       choice->algorithm == first->algorithm &&
                           (choice->radix == first->rule->radix ||
                            first->algorithm->kind == XYL_ALGORITHM_LANES));
}

/* ---- parameters ---- */

static int is_within(const xyl_radix_t *range, uint32_t radix)
{
    return radix == 0 || (radix >= range->least && radix <= range->most);
}

static int tree_is_within(const xyl_tree_t *tree, uint32_t radix)
{
    return tree->radix.most == 0
               ? radix <= 2
               : radix >= tree->radix.least && radix <= tree->radix.most;
}

static void check_frame(const decision_t *decision)
{
    const xyl_plan_t *frame = &decision->choice.frame;

    DECISION_CHECK(decision, frame->send_window >= 1);
    DECISION_CHECK(decision, frame->send_window <= frame->recv_window);
    DECISION_CHECK(decision, frame->recv_window <= XYL_WINDOW_MAX);
    DECISION_CHECK(decision, frame->segment_bytes >= 1);
    DECISION_CHECK(decision, decision->bytes <= frame->segment_bytes *
                                                    (uint64_t)XYL_SEGMENTS_MAX);
    if (decision->choice.exchange == NULL)
        DECISION_CHECK(decision, frame->tree != NULL &&
                                     tree_is_within(frame->tree, frame->radix));
}

static void check_tree(const decision_t *decision)
{
    const xyl_plan_t *frame = &decision->choice.frame;

    if (decision->kind->is_ordered)
        DECISION_CHECK(decision, xyl_tree_is_ordered(
                                     (xyl_shape_t){frame->tree, frame->radix},
                                     decision->query.ranks, 0));
}

static void check_lanes(const decision_t *decision)
{
    const xyl_choice_t *choice = &decision->choice;

    DECISION_CHECK(decision, choice->chooser != NULL);
    DECISION_CHECK(decision, choice->leaders >= 1);
    DECISION_CHECK(decision, choice->leaders <= decision->query.node_ranks);
    DECISION_CHECK(decision, choice->halves >= 1 && choice->halves <= 2);
    DECISION_CHECK(decision, choice->roots >= 1 &&
                                 choice->roots <= decision->query.nodes);
    DECISION_CHECK(decision,
                   choice->frame.lanes ==
                       choice->leaders * choice->halves * choice->roots);
    DECISION_CHECK(decision, choice->frame.lanes <= XYL_LANES_MAX);
    if (choice->exchange != NULL)
        DECISION_CHECK(
            decision, is_within(&choice->exchange->radix, choice->frame.radix));
}

static void check_parameters(decision_t *decision)
{
    const xyl_choice_t *choice = &decision->choice;
    const xyl_algorithm_t *algorithm = choice->algorithm;
    xyl_problem_t asked = decision->problem;
    int is_lanes = algorithm->kind == XYL_ALGORITHM_LANES;

    asked.radix = choice->radix;
    DECISION_CHECK(decision, xyl_algorithm_does(algorithm, decision->coll));
    DECISION_CHECK(decision, xyl_algorithm_fits(algorithm, &asked, NULL));
    DECISION_CHECK(decision,
                   is_within(xyl_algorithm_radix(algorithm), choice->radix));
    if (is_lanes || algorithm->kind == XYL_ALGORITHM_TREE)
        check_frame(decision);
    if (algorithm->kind == XYL_ALGORITHM_TREE)
        check_tree(decision);
    if (is_lanes)
        check_lanes(decision);
}

/* ---- lengths that grow ---- */

static xyl_choice_t before; /* algorithm NULL: there is none */
static uint64_t bytes_before;

static int runs_alike(const xyl_choice_t *a, const xyl_choice_t *b)
{
    return a->algorithm == b->algorithm && a->radix == b->radix &&
           a->exchange == b->exchange && a->frame.tree == b->frame.tree &&
           a->frame.radix == b->frame.radix && a->leaders == b->leaders &&
           a->halves == b->halves && a->roots == b->roots;
}

/* Bytes of a message. */
static uint64_t under_way(uint64_t bytes, size_t segment_bytes, uint32_t window)
{
    return bytes < segment_bytes * window ? bytes : segment_bytes * window;
}

static void check_growth(decision_t *decision)
{
    const xyl_choice_t *now = &decision->choice;
    const xyl_plan_t *frame = &now->frame, *was = &before.frame;

    if (before.algorithm != NULL && runs_alike(&before, now) &&
        decision->kind->segment_bytes == 0 &&
        decision->kind->algorithm == NULL) {
        DECISION_CHECK(decision, now->segment_bytes >= before.segment_bytes);
        DECISION_CHECK(decision, frame->segment_bytes >= was->segment_bytes);
        DECISION_CHECK(
            decision,
            under_way(decision->bytes, frame->segment_bytes,
                      frame->send_window) >=
                under_way(bytes_before, was->segment_bytes, was->send_window));
        DECISION_CHECK(
            decision,
            under_way(decision->bytes, frame->segment_bytes,
                      frame->recv_window) >=
                under_way(bytes_before, was->segment_bytes, was->recv_window));
    }
    before = *now;
    bytes_before = decision->bytes;
}

/* ---- levels ---- */

static int has_rule(xylem_coll_t coll, uint32_t team)
{
    size_t i = 0;

    while (i < xyl_rules_builtin.count &&
           ((rule_at(i)->teams & team) == 0 || !rule_is_for(rule_at(i), coll)))
        i++;
    return i < xyl_rules_builtin.count;
}

/* A level in the memory of a node, like the call that was decided. */
static void check_on_board(decision_t *decision)
{
    enum { TURNS = 1, FOR_ONE = 2 };
    xyl_problem_t problem;
    xyl_query_t query = decision->query;
    const xyl_candidate_t *first;
    const xyl_algorithm_t *got;
    uint32_t bits;

    if (!decision->problem.shares_memory || decision->kind->tag != 0 ||
        decision->kind->algorithm != NULL ||
        !has_rule(decision->coll, XYL_TEAM_BOARD))
        return;
    query.team = XYL_TEAM_BOARD;
    query.bytes = xyl_problem_bytes(&decision->problem);
    query.total = query.bytes * query.ranks;
    for (bits = 0; bits < 4; bits++) {
        problem = decision->problem;
        problem.node.is_level = 1;
        problem.node.roots_in_turn = (bits & TURNS) != 0;
        problem.node.is_for_one = (bits & FOR_ONE) != 0;
        first = first_that_applies(decision->team, &query, &problem,
                                   XYL_ALGORITHM_NODE);
        DECISION_CHECK(decision, first != NULL);
        if (first == NULL)
            return;
        take(first->rule, decision->coll);
        got = chooser->in_memory(decision->team, NULL, 0, &problem);
        DECISION_CHECK(decision, got == first->algorithm &&
                                     problem.radix == first->rule->radix);
    }
}

/* The levels within the nodes of a call on several, if they are the GPUs'. */
static void check_on_gpus(decision_t *decision)
{
    uint32_t memory = decision->kind->way.memory;
    const xyl_algorithm_t *on_gpus = decision->choice.on_gpus;
    xyl_problem_t problem = decision->problem;
    xyl_query_t query = decision->query;
    const xyl_candidate_t *first;

    DECISION_CHECK(decision, on_gpus == NULL || (memory != XYL_MEMORY_HOST &&
                                                 xyl_entry_does_levels(
                                                     on_gpus, decision->coll)));
    if (on_gpus == NULL)
        return;
    query.team = XYL_TEAM_BOARD;
    query.ranks = query.node_ranks = decision->shape->seats;
    query.nodes = 1;
    problem.on_device = problem.shares_memory = 1;
    query.facts = XYL_FACT_DEVICE | XYL_FACT_MEMORY |
                  (memory == XYL_MEMORY_GPUS_APART ? XYL_FACT_SIDE_BY_SIDE
                                                   : XYL_FACT_IN_TURNS);
    first = first_that_applies(decision->team, &query, &problem,
                               XYL_ALGORITHM_LEVELS);
    DECISION_CHECK(decision, first != NULL && first->algorithm == on_gpus);
    if (first != NULL)
        take(first->rule, decision->coll);
}

/* Checks the decisions of a level whose ranks send messages. */
static void check_level(xylem_team_t *team, uint32_t level, xylem_coll_t coll,
                        uint32_t ranks, uint64_t bytes)
{
    const xyl_problem_t problem = {
        .coll = coll, .ranks = ranks, .is_commutative = 1};
    const xyl_query_t query = {.coll = coll,
                               .team = level,
                               .ranks = ranks,
                               .nodes = ranks,
                               .node_ranks = 1,
                               .bytes = bytes,
                               .total = bytes * ranks};
    const xyl_candidate_t *first =
        first_that_applies(team, &query, &problem, XYL_ALGORITHM_KINDS);
    uint32_t radix = 0;

    CHECK(first != NULL);
    if (first == NULL)
        return;
    take(first->rule, coll);
    CHECK(chooser->level(team, level, &problem, bytes, &radix) ==
              first->algorithm &&
          radix == first->rule->radix);
}

static void check_levels(const shape_t *shape, xylem_team_t *team)
{
    static const uint32_t levels[] = {XYL_TEAM_SEATS, XYL_TEAM_LEADERS};
    numbers_t bytes;
    xylem_coll_t coll;
    uint32_t ranks, i, j;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (i = 0; i < 2; i++) {
            if (!has_rule(coll, levels[i]))
                continue;
            bytes_find(shape, coll, &bytes);
            for (j = 0; j < bytes.count; j++)
                for (ranks = 2; ranks < 10; ranks++)
                    check_level(team, levels[i], coll, ranks, bytes.all[j]);
        }
}

/* ---- all of it, once ---- */

static void decision_begins(void)
{
    before.algorithm = NULL;
}

static void check_decision(decision_t *decision)
{
    if (decision->choice.chooser != NULL)
        chooser = decision->choice.chooser;
    check_first(decision);
    check_parameters(decision);
    check_growth(decision);
    check_on_board(decision);
    check_on_gpus(decision);
}

static void test_decisions(void)
{
    uint32_t i;

    shapes_find();
    for (i = 0; i < shape_count; i++) {
        fabric_t *fabric = shape_create(&shapes[i], NULL);
        xylem_team_t *team = fabric_world(fabric, 0);
        visit_team(&shapes[i], team, decision_begins, check_decision);
        if (i == 0)
            check_levels(&shapes[i], team);
        fabric_destroy(fabric);
    }
}

/* For all collectives of a rule. Runs after the tests of decisions. */
static void test_every_rule_is_taken(void)
{
    xylem_coll_t coll;
    size_t i;

    for (i = 0; i < xyl_rules_builtin.count; i++)
        for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
            if (rule_is_for(rule_at(i), coll) && !is_taken[i][coll])
                rule_fails(i, coll, "no call takes it");
}

/* ---- rules that come too late ---- */

static int counts_contain(xyl_counts_t outer, xyl_counts_t inner)
{
    return outer.least <= inner.least && outer.most >= inner.most;
}

static int holds_wherever(const xyl_rule_t *first, const xyl_rule_t *second)
{
    return (second->teams & ~first->teams) == 0 &&
           counts_contain(first->ranks, second->ranks) &&
           counts_contain(first->nodes, second->nodes) &&
           counts_contain(first->node_ranks, second->node_ranks) &&
           first->bytes_min <= second->bytes_min &&
           first->bytes_max >= second->bytes_max &&
           first->total_min <= second->total_min &&
           first->total_max >= second->total_max &&
           first->power_of_two <= second->power_of_two &&
           (first->arrivals == 0 ||
            (second->arrivals != 0 &&
             (second->arrivals & ~first->arrivals) == 0));
}

static int pays_wherever(const xyl_rule_t *first, const xyl_rule_t *second)
{
    uint32_t i, j;

    if (first->pays_count == 0)
        return 1;
    for (i = 0; i < second->pays_count; i++) {
        const xyl_pays_t *pays = &second->pays[i];
        for (j = 0; j < first->pays_count; j++)
            if ((first->pays[j].facts & ~pays->facts) == 0 &&
                first->pays[j].node_ranks_max >= pays->node_ranks_max &&
                first->pays[j].node_bytes_max >= pays->node_bytes_max)
                break;
        if (j == first->pays_count)
            return 0;
    }
    return second->pays_count != 0;
}

/* 1: a call that names an algorithm of the second rule's kind gets the first
 * rule. */
static int fits_wherever(const xyl_rule_t *first, const xyl_rule_t *second,
                         xylem_coll_t coll)
{
    enum { TAKES = XYL_TAKES_SEGMENTS | XYL_READS_CALL };
    const xyl_algorithm_t *mine = xyl_algorithm_find(coll, first->algorithm);
    const xyl_algorithm_t *other = xyl_algorithm_find(coll, second->algorithm);

    return mine->kind == other->kind &&
           (mine == other
                ? first->radix == second->radix
                : mine->lacks == NULL &&
                      (mine->needs & ~other->needs & ~(uint32_t)TAKES) == 0);
}

static void test_no_rule_comes_too_late(void)
{
    char text[RULE_TEXT_BYTES + 32];
    xylem_coll_t coll;
    size_t i, j;

    for (coll = 0; coll < XYLEM_COLL_COUNT; coll++)
        for (j = 0; j < xyl_rules_builtin.count; j++)
            for (i = 0; i < j && rule_is_for(rule_at(j), coll); i++)
                if (rule_is_for(rule_at(i), coll) &&
                    holds_wherever(rule_at(i), rule_at(j)) &&
                    pays_wherever(rule_at(i), rule_at(j)) &&
                    fits_wherever(rule_at(i), rule_at(j), coll)) {
                    snprintf(text, sizeof text, "behind %s",
                             rule_text(i, coll));
                    rule_fails(j, coll, text);
                }
}

static const check_case_t cases[] = {
    {"no rule comes too late", test_no_rule_comes_too_late},
    {"the first rule that applies, with parameters in their ranges",
     test_decisions},
    {"some call takes every rule", test_every_rule_is_taken},
};
CHECK_MAIN(cases)
