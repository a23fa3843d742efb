#include "collectives/choose/choose.h"

#include <assert.h>

#include "collectives/choose/fit.h"
#include "collectives/choose/tuning.h"
#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/device/device.h"
#include "collectives/device/way.h"
#include "collectives/levels/han.h"
#include "collectives/levels/team_levels.h"
#include "collectives/node/node.h"
#include "runtime/base/status.h"

/* ---- queries ---- */

static uint32_t facts_of(const xylem_team_t *team, const xyl_levels_t *levels,
                         const xyl_query_t *query, int has_tag)
{
    uint32_t facts = 0;

    if (levels->nodes > 1 && levels->largest > 1 && xyl_team_shares(team) &&
        !has_tag)
        facts |= XYL_FACT_SHARED;
    if (xyl_levels_switches(levels) != NULL)
        facts |= XYL_FACT_SWITCHES;
    if (levels->nodes >= levels->largest)
        facts |= XYL_FACT_MANY;
    if (query->coll == XYLEM_COLL_ALLTOALL &&
        xyl_han_alltoall_fits(team, levels, query->bytes))
        facts |= XYL_FACT_ROOM;
    return facts;
}

static uint32_t problem_facts(const xyl_problem_t *problem)
{
    uint32_t facts = XYL_FACT_HOST;

    if (problem->on_device)
        facts = XYL_FACT_DEVICE | (problem->side_by_side ? XYL_FACT_SIDE_BY_SIDE
                                                         : XYL_FACT_IN_TURNS);
    if (problem->is_unasked)
        facts |= XYL_FACT_UNASKED;
    if (problem->shares_memory)
        facts |= XYL_FACT_MEMORY;
    if (problem->combines_sums)
        facts |= XYL_FACT_SUMS;
    if (problem->in_arrival_order)
        facts |= XYL_FACT_ORDER;
    else if (problem->is_commutative)
        facts |= XYL_FACT_FIXED;
    return facts;
}

static xyl_query_t query_of(xylem_team_t *team, const xyl_problem_t *problem)
{
    xyl_query_t query = {.coll = problem->coll,
                         .team = XYL_TEAM_NODE,
                         .ranks = team->size,
                         .nodes = 1,
                         .node_ranks = team->size,
                         .arrivals = xyl_tuning_arrivals(team->context),
                         .bytes = problem->count * problem->element_bytes};
    const xyl_levels_t *levels;

    query.facts = problem_facts(problem);
    if (problem->coll == XYLEM_COLL_BARRIER)
        query.bytes = 1;
    query.total = query.bytes * team->size;
    if (team->is_one_node)
        return query;
    query.team = XYL_TEAM_NODES;
    levels = xyl_levels_of_team(team); /* not NULL: see knows_levels */
    query.nodes = levels->nodes;
    query.node_ranks = levels->largest;
    query.facts |= facts_of(team, levels, &query, problem->has_tag);
    return query;
}

/* ---- rules ---- */

/* The first candidate of the kind whose rule holds, even if it does not pay. */
static const xyl_candidate_t *candidate_of_kind(const xylem_team_t *team,
                                                const xyl_query_t *query,
                                                xyl_algorithm_kind_t kind)
{
    const xyl_candidate_t *candidate =
        xyl_tuning_candidates(team->context, query->coll);

    for (; candidate->rule != NULL; candidate++)
        if (xyl_rule_holds(candidate->rule, query) &&
            candidate->algorithm->kind == kind)
            return candidate;
    return NULL;
}

static int rule_applies(const xyl_rule_t *rule,
                        const xyl_algorithm_t *algorithm,
                        const xyl_query_t *query, const xyl_problem_t *problem)
{
    xyl_problem_t asked = *problem;

    asked.radix = rule->radix;
    return xyl_rule_holds(rule, query) && xyl_rule_pays(rule, query) &&
           xyl_algorithm_fits(algorithm, &asked, NULL);
}

/* The first candidate of the kind (KINDS: of any kind) that fits and pays. */
static const xyl_candidate_t *candidate_that_fits(const xylem_team_t *team,
                                                  const xyl_query_t *query,
                                                  const xyl_problem_t *problem,
                                                  xyl_algorithm_kind_t kind)
{
    const xyl_candidate_t *candidate =
        xyl_tuning_candidates(team->context, query->coll);

    for (; candidate->rule != NULL; candidate++)
        if ((kind == XYL_ALGORITHM_KINDS ||
             (candidate->algorithm->kind == kind &&
              (candidate->algorithm->needs & XYL_STANDS_FOR_KIND) == 0)) &&
            rule_applies(candidate->rule, candidate->algorithm, query, problem))
            return candidate;
    return NULL;
}

/* Leaves the radix of lanes out: xyl_fit limits the rule's radix to the node's
 * ranks. */
static xyl_named_t named_by(const xyl_candidate_t *candidate)
{
    xyl_named_t named = {.algorithm = candidate->algorithm};

    if (named.algorithm->kind != XYL_ALGORITHM_LANES)
        named.radix = candidate->rule->radix;
    return named;
}

static int by_table(const xylem_team_t *team, const xyl_query_t *query,
                    const xyl_problem_t *problem, xyl_decision_t *decision)
{
    const xyl_candidate_t *candidate =
        candidate_that_fits(team, query, problem, XYL_ALGORITHM_KINDS);

    if (candidate == NULL)
        return 0;
    decision->named = named_by(candidate);
    decision->rule = candidate->rule;
    decision->by = NULL;
    return 1;
}

/* Takes the first schedule of the list, when no rule names an algorithm. */
static int by_list(const xyl_query_t *query, const xyl_problem_t *problem,
                   xyl_decision_t *decision)
{
    const xyl_algorithm_t *algorithm =
        xyl_algorithm_of_kind(query->coll, XYL_ALGORITHM_SCHEDULE);

    if (algorithm == NULL || !xyl_algorithm_fits(algorithm, problem, NULL))
        return 0;
    decision->named.algorithm = algorithm;
    decision->by = "no rule is for it";
    return 1;
}

/* ---- the call and the settings ---- */

static xylem_status_t by_call(const xylem_coll_args_t *args,
                              const xyl_problem_t *problem,
                              xyl_decision_t *decision)
{
    xyl_problem_t asked = *problem;
    const char *name = xyl_coll_traits(args->coll)->name, *missing;
    char why[XYL_ALGORITHM_WHY_BYTES];

    if (args->algorithm == NULL)
        return XYLEM_OK;
    if (!xyl_algorithm_parse(args->coll, args->algorithm, &decision->named,
                             why))
        return xyl_refuse(name,
                          "algorithm '%s': %s; docs/algorithms.md lists all",
                          args->algorithm, why);
    decision->by = "asked for by the call";
    asked.radix = decision->named.radix;
    if (decision->named.algorithm != NULL &&
        !xyl_algorithm_fits(decision->named.algorithm, &asked, &missing))
        return xyl_refuse(name, "algorithm %s %s", args->algorithm, missing);
    return XYLEM_OK;
}

/* Settings are for all calls of a program, so a setting that does not fit the
 * call is passed over. */
static void by_setting(const xylem_team_t *team, const xyl_query_t *query,
                       const xyl_problem_t *problem, xyl_decision_t *decision)
{
    const xyl_rules_t *rules = xyl_tuning_asked(team->context);
    xyl_problem_t asked = *problem;
    const xyl_algorithm_t *algorithm;
    const xyl_rule_t *rule;
    const char *why;
    size_t i;

    for (i = 0; i < rules->count; i++) {
        rule = &rules->rule[i];
        if (!xyl_rule_holds(rule, query))
            continue;
        if (rule->algorithm == NULL)
            return;
        algorithm = xyl_algorithm_find(query->coll, rule->algorithm);
        asked.radix = rule->radix;
        if (!xyl_algorithm_fits(algorithm, &asked, &why)) {
            if (algorithm != NULL && team->context->config.verbose != 0)
                xyl_explain_passed(query, algorithm, why);
            continue;
        }
        decision->named = xyl_rule_named(rule, query->coll);
        decision->by = "by setting";
        return;
    }
}

/* 1: if a call or a setting names an algorithm of this kind, the parameters
 * that it does not name come from the tables' first rule of the kind. */
static int runs_as_ruled(xyl_algorithm_kind_t kind)
{
    return kind == XYL_ALGORITHM_TREE || kind == XYL_ALGORITHM_LANES;
}

/* ---- the parts of composed algorithms ---- */

static const xyl_algorithm_t *choose_level(const xylem_team_t *team,
                                           uint32_t level,
                                           const xyl_problem_t *problem,
                                           uint64_t bytes, uint32_t *radix_out)
{
    const xyl_query_t query = {.coll = problem->coll,
                               .team = level,
                               .ranks = problem->ranks,
                               .nodes = problem->ranks,
                               .node_ranks = 1,
                               .bytes = bytes,
                               .total = bytes * problem->ranks};
    xyl_decision_t decision = {.by = NULL};
    int is_found = by_table(team, &query, problem, &decision);

    assert(is_found); /* the built-in table has a rule for each query */
    (void)is_found;
    if (radix_out != NULL)
        *radix_out = decision.named.radix;
    return decision.named.algorithm;
}

static const xyl_algorithm_t *choose_in_memory(const xylem_team_t *team,
                                               const xyl_algorithm_t *named,
                                               uint32_t named_radix,
                                               xyl_problem_t *problem)
{
    const uint64_t bytes = xyl_problem_bytes(problem);
    const xyl_query_t query = {.coll = problem->coll,
                               .team = XYL_TEAM_BOARD,
                               .ranks = problem->ranks,
                               .nodes = 1,
                               .node_ranks = problem->ranks,
                               .bytes = bytes,
                               .total = bytes * problem->ranks,
                               .facts = problem_facts(problem)};
    const xyl_candidate_t *found;

    problem->radix = named_radix;
    if (named != NULL && xyl_algorithm_fits(named, problem, NULL))
        return named;
    found = candidate_that_fits(team, &query, problem, XYL_ALGORITHM_NODE);
    assert(found != NULL); /* the built-in table has a rule for each query */
    problem->radix = found->rule->radix;
    return found->algorithm;
}

static const xyl_chooser_t chooser = {choose_level, choose_in_memory};

/* ---- the decision ---- */

/* The ranks of a call that names an algorithm for memory of GPUs, also for the
 * levels within nodes, tell each other where their buffers lie. */
static xyl_memory_t memory_of(const xylem_coll_args_t *args, xyl_way_t way)
{
    char why[XYL_ALGORITHM_WHY_BYTES];
    const xyl_algorithm_t *within;
    xyl_named_t named;

    if (args->algorithm == NULL ||
        !xyl_algorithm_parse(args->coll, args->algorithm, &named, why) ||
        named.algorithm == NULL)
        return (xyl_memory_t)way.memory;
    within = named.within == NULL
                 ? NULL
                 : xyl_algorithm_find(args->coll, named.within);
    if (((named.algorithm->needs | (within == NULL ? 0 : within->needs)) &
         XYL_NEEDS_DEVICE) != 0 &&
        way.memory == XYL_MEMORY_HOST)
        return XYL_MEMORY_GPUS;
    return (xyl_memory_t)way.memory;
}

/* 1: an algorithm for memory of GPUs may do the levels within nodes. A
 * collective of blocks needs ranks that fill node after node. */
static int may_level(xylem_team_t *team, const xyl_algorithm_t *algorithm,
                     const xyl_query_t *query)
{
    if (query->coll == XYLEM_COLL_ALLTOALL &&
        (query->facts & XYL_FACT_ROOM) == 0)
        return 0; /* blocks go straight from rank to rank */
    return !team->is_one_node && (algorithm->kind == XYL_ALGORITHM_LANES ||
                                  (algorithm->kind == XYL_ALGORITHM_LEVELS &&
                                   xyl_han_keeps_order(team)));
}

/* The algorithm for the levels within this node, if its ranks tell each other
 * of buffers in memory of GPUs; NULL: none. */
static const xyl_algorithm_t *
choose_on_gpus(xylem_team_t *team, const xylem_coll_args_t *args, xyl_way_t way,
               const xyl_query_t *query, const xyl_choice_t *choice)
{
    const xyl_algorithm_t *named =
        choice->within_up != NULL ? choice->within_up : choice->within_down;
    const xyl_memory_t memory = memory_of(args, way);
    xyl_query_t level = *query;
    xyl_problem_t problem;
    const xyl_candidate_t *found;

    if (!may_level(team, choice->algorithm, query) || choice->is_by_messages ||
        memory == XYL_MEMORY_HOST)
        return NULL;
    xyl_call_outline(team, args, way, 1, &problem);
    problem.fills_nodes = 1;
    xyl_device_outline_level(team, args, memory, &problem);
    if (!problem.on_device)
        return NULL;
    if (named != NULL)
        return xyl_entry_does_levels(named, args->coll) ? named : NULL;
    level.team = XYL_TEAM_BOARD;
    level.ranks = level.node_ranks = problem.ranks;
    level.nodes = 1;
    level.facts = problem_facts(&problem);
    found = candidate_that_fits(team, &level, &problem, XYL_ALGORITHM_LEVELS);
    return found != NULL && xyl_entry_does_levels(found->algorithm, args->coll)
               ? found->algorithm
               : NULL;
}

/* The part of a problem that is equal on all ranks. */
static xylem_status_t problem_outline(xylem_team_t *team,
                                      const xylem_coll_args_t *args,
                                      xyl_way_t way, int is_commutative,
                                      xyl_problem_t *problem)
{
    const xyl_group_t all = xyl_team_all(team);

    xyl_call_outline(team, args, way, is_commutative, problem);
    problem->in_arrival_order =
        xyl_call_takes_any_order(team, args, is_commutative);
    problem->shares_memory = (!problem->has_tag || problem->tag_has_board) &&
                             xyl_node_is_possible(team, problem);
    xyl_device_outline(team, args, memory_of(args, way), problem);
    problem->fills_nodes = team->is_one_node || xyl_han_keeps_order(team);
    if (xyl_coll_varies(args->coll)) {
        problem->count = xyl_call_common_bytes(team, args);
        problem->element_bytes = 1;
    }
    problem->combines_sums = xyl_call_is_reproducible(team, args) &&
                             !xyl_op_is_orderless(args->op, args->type);
    problem->segment_bytes = args->segment_bytes != 0
                                 ? args->segment_bytes
                                 : team->context->config.segment_bytes;
    return problem->shares_memory ? xyl_node_outline(team, &all, problem)
                                  : XYLEM_OK;
}

/* Fails without the levels: a rank that did not know the nodes would choose
 * another plan than the others. */
static xylem_status_t knows_levels(xylem_team_t *team)
{
    return team->is_one_node || xyl_levels_of_team(team) != NULL
               ? XYLEM_OK
               : xyl_fail(XYLEM_ERR_NO_MEMORY,
                          "no memory for the nodes of a team");
}

xylem_status_t xyl_choose_query(xylem_team_t *team,
                                const xylem_coll_args_t *args, xyl_way_t way,
                                int is_commutative, xyl_problem_t *problem_out,
                                xyl_query_t *query_out)
{
    xylem_status_t status = knows_levels(team);

    if (status != XYLEM_OK)
        return status;
    status = problem_outline(team, args, way, is_commutative, problem_out);
    if (status == XYLEM_OK)
        *query_out = query_of(team, problem_out);
    return status;
}

static xylem_status_t no_algorithm(xylem_coll_t coll)
{
    return xyl_fail(XYLEM_ERR_UNSUPPORTED, "%s: no algorithm fits",
                    xyl_coll_traits(coll)->name);
}

static xylem_status_t decide_algorithm(const xylem_team_t *team,
                                       const xyl_query_t *query,
                                       const xyl_problem_t *problem,
                                       xyl_decision_t *decision)
{
    const xyl_candidate_t *candidate;
    xyl_algorithm_kind_t kind;
    int stands_for_kind;

    if (decision->named.algorithm == NULL)
        by_setting(team, query, problem, decision);
    if (decision->named.algorithm == NULL &&
        !by_table(team, query, problem, decision) &&
        !by_list(query, problem, decision))
        return no_algorithm(query->coll);
    kind = decision->named.algorithm->kind;
    stands_for_kind =
        (decision->named.algorithm->needs & XYL_STANDS_FOR_KIND) != 0;
    if (!stands_for_kind && (decision->rule != NULL || !runs_as_ruled(kind)))
        return XYLEM_OK;
    candidate = stands_for_kind
                    ? candidate_that_fits(team, query, problem, kind)
                    : candidate_of_kind(team, query, kind);
    if (candidate == NULL)
        return no_algorithm(query->coll);
    decision->rule = candidate->rule;
    if (stands_for_kind)
        decision->named = named_by(candidate);
    return XYLEM_OK;
}

static xylem_status_t decide_tree(const xylem_team_t *team,
                                  const xyl_query_t *query,
                                  xyl_decision_t *decision)
{
    const xyl_candidate_t *candidate =
        candidate_of_kind(team, query, XYL_ALGORITHM_TREE);

    if (candidate == NULL ||
        (decision->named.algorithm != NULL &&
         decision->named.algorithm->kind != XYL_ALGORITHM_TREE))
        return no_algorithm(query->coll);
    decision->rule = candidate->rule;
    if (decision->named.algorithm == NULL)
        decision->named = named_by(candidate);
    return XYLEM_OK;
}

static xylem_status_t choose(xylem_team_t *team, const xylem_coll_args_t *args,
                             xyl_way_t way, int is_commutative, int is_tree,
                             xyl_choice_t *choice_out)
{
    xyl_decision_t decision = {.by = NULL};
    xyl_problem_t problem;
    xyl_query_t query;
    xylem_status_t status =
        xyl_choose_query(team, args, way, is_commutative, &problem, &query);

    if (status == XYLEM_OK)
        status = by_call(args, &problem, &decision);
    if (status == XYLEM_OK)
        status = is_tree ? decide_tree(team, &query, &decision)
                         : decide_algorithm(team, &query, &problem, &decision);
    if (status != XYLEM_OK)
        return status;
    xyl_fit(team, args, &query, is_commutative, &decision, choice_out);
    choice_out->on_gpus = choose_on_gpus(team, args, way, &query, choice_out);
    choice_out->chooser = &chooser;
    choice_out->rule = decision.rule;
    choice_out->is_named = decision.by != NULL;
    if (team->context->config.verbose != 0 && !is_tree)
        xyl_explain_choice(team, &query, &problem, &decision, choice_out);
    return XYLEM_OK;
}

xylem_status_t xyl_choose(xylem_team_t *team, const xylem_coll_args_t *args,
                          xyl_way_t way, int is_commutative,
                          xyl_choice_t *choice_out)
{
    return choose(team, args, way, is_commutative, 0, choice_out);
}

xylem_status_t xyl_choose_tree(xylem_team_t *team,
                               const xylem_coll_args_t *args,
                               int is_commutative, xyl_choice_t *choice_out)
{
    return choose(team, args, (xyl_way_t){0}, is_commutative, 1, choice_out);
}

/* ---- other plans ---- */

static xyl_other_t other_of_choice(xylem_coll_t coll,
                                   const xyl_choice_t *choice)
{
    const xyl_plan_t *frame = &choice->frame;
    xyl_named_t named = {.algorithm = choice->algorithm,
                         .radix = choice->radix};
    xyl_other_t other = {.segment_bytes = xyl_choice_segment(choice),
                         .send_window = frame->send_window,
                         .recv_window = frame->recv_window};

    if (choice->algorithm->kind == XYL_ALGORITHM_LANES) {
        named.radix = choice->leaders;
        named.between = choice->exchange;
        if (named.between == NULL)
            named.between = xyl_algorithm_find(xyl_registry_between(coll),
                                               frame->tree->name);
        named.between_radix = frame->radix;
        named.within = xyl_choice_within(choice, &named.within_radix);
        if (choice->within_grain != choice->between_grain)
            named.within_segment_bytes =
                frame->segment_bytes * choice->within_grain;
    }
    xyl_algorithm_print(&named, other.algorithm);
    return other;
}

static xyl_other_t other_of_rule(xylem_coll_t coll, const xyl_rule_t *rule)
{
    xyl_named_t named = xyl_rule_named(rule, coll);
    xyl_other_t other = {.segment_bytes = rule->segment_bytes,
                         .send_window = rule->send_window,
                         .recv_window = rule->recv_window};

    named.segment_bytes = 0;
    xyl_algorithm_print(&named, other.algorithm);
    return other;
}

/* Plans with segments a quarter as long, and four times as long, as are the
 * steps of the tuner. */
static uint32_t other_segments(xylem_coll_t coll, const xyl_choice_t *choice,
                               uint64_t bytes, xyl_other_t *others)
{
    enum { SEGMENT_MIN = 1024, TIMES = 4 };
    xyl_other_t own = other_of_choice(coll, choice);
    uint32_t count = 0;

    if (own.segment_bytes == 0)
        return 0;
    if (own.segment_bytes >= (size_t)SEGMENT_MIN * TIMES) {
        others[count] = own;
        others[count++].segment_bytes /= TIMES;
    }
    if (own.segment_bytes * TIMES <= bytes) {
        others[count] = own;
        others[count++].segment_bytes *= TIMES;
    }
    return count;
}

uint32_t xyl_choose_others(xylem_team_t *team, const xylem_coll_args_t *args,
                           xyl_other_t others[XYL_OTHERS_MAX])
{
    const xyl_candidate_t *next =
        xyl_tuning_candidates(team->context, args->coll);
    const xyl_way_t plain = {0};
    const xyl_algorithm_t *last;
    xyl_problem_t problem;
    xyl_choice_t choice;
    xyl_query_t query;
    uint32_t count;

    if (xyl_choose_query(team, args, plain, 1, &problem, &query) != XYLEM_OK ||
        xyl_choose(team, args, plain, 1, &choice) != XYLEM_OK)
        return 0;
    count = other_segments(args->coll, &choice, query.bytes, others);
    last = choice.algorithm;
    for (; next->rule != NULL && count < XYL_OTHERS_MAX; next++) {
        if (next->algorithm == choice.algorithm || next->algorithm == last ||
            !rule_applies(next->rule, next->algorithm, &query, &problem))
            continue;
        others[count++] = other_of_rule(args->coll, next->rule);
        last = next->algorithm;
    }
    return count;
}
