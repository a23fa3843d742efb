/* XYLEM_VERBOSE=select: prints decisions. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "collectives/choose/fit.h"
#include "collectives/data/description.h"
#include "runtime/base/log.h"

enum {
    TEXT_BYTES = 512,
    LEVELS_BYTES = 128,
    RUNNERS_UP = 3,
    SEGMENTS_BYTES = 48
};

static void print_plan(const xyl_choice_t *choice, char *text)
{
    const xyl_plan_t *frame = &choice->frame;
    char tree[XYL_ALGORITHM_TEXT_BYTES], levels[LEVELS_BYTES] = "",
                                         segments[SEGMENTS_BYTES] = "";
    uint32_t radix;
    const char *within = xyl_choice_within(choice, &radix);

    if (choice->algorithm->kind != XYL_ALGORITHM_TREE &&
        choice->algorithm->kind != XYL_ALGORITHM_LANES) {
        snprintf(text, TEXT_BYTES, "%s, %s%sradix %u, segments of %zu bytes",
                 choice->algorithm->name,
                 choice->on_gpus != NULL ? choice->on_gpus->name : "",
                 choice->on_gpus != NULL ? " on GPUs of this node, " : "",
                 choice->radix, choice->segment_bytes);
        return;
    }
    if (choice->exchange != NULL)
        snprintf(tree, sizeof tree, "exchange %s", choice->exchange->name);
    else
        snprintf(tree, sizeof tree,
                 frame->tree->radix.most != 0 ? "tree %s:%u" : "tree %s",
                 frame->tree->name, frame->radix);
    if (choice->algorithm->kind == XYL_ALGORITHM_LANES)
        snprintf(levels, sizeof levels, "%s, leaders %u, %s%s%s%s",
                 choice->algorithm->name, choice->leaders,
                 within != NULL ? within : "",
                 within != NULL ? " within nodes, " : "",
                 choice->on_gpus != NULL ? choice->on_gpus->name : "",
                 choice->on_gpus != NULL ? " on GPUs of this node, " : "");
    if (choice->within_grain != choice->between_grain)
        snprintf(segments, sizeof segments, " (within nodes %zu)",
                 frame->segment_bytes * choice->within_grain);
    snprintf(text, TEXT_BYTES, "%s%s, segments of %zu bytes%s, N %u, M %u",
             levels, tree, xyl_choice_segment(choice), segments,
             frame->send_window, frame->recv_window);
}

static int is_in(const char *list, const char *name)
{
    const char *at = strstr(list, name);
    size_t length = strlen(name);

    for (; at != NULL; at = strstr(at + 1, name))
        if (at[-1] == ' ' && (at[length] == '\0' || at[length] == ','))
            return 1;
    return 0;
}

/* Algorithms of further rules that hold. */
static void print_runners_up(const xylem_team_t *team, const xyl_query_t *query,
                             const xyl_problem_t *problem,
                             const xyl_choice_t *choice, char *text)
{
    const xyl_candidate_t *next =
        xyl_tuning_candidates(team->context, query->coll);
    uint32_t found = 0;
    size_t length = 0;

    *text = '\0';
    for (; next->rule != NULL && found < RUNNERS_UP; next++) {
        const char *name = next->algorithm->name;
        if (!xyl_rule_holds(next->rule, query) ||
            !xyl_rule_pays(next->rule, query) ||
            next->algorithm == choice->algorithm || is_in(text, name) ||
            !xyl_algorithm_fits(next->algorithm, problem, NULL))
            continue;
        length += (size_t)snprintf(text + length, TEXT_BYTES - length, "%s %s",
                                   found == 0 ? "; then" : ",", name);
        found++;
    }
}

static void print_reason(const xylem_team_t *team,
                         const xyl_decision_t *decision, char *text)
{
    const xyl_rules_t *table;

    if (decision->by != NULL) {
        snprintf(text, TEXT_BYTES, "%s", decision->by);
        return;
    }
    table = xyl_tuning_table_of(team->context, decision->rule);
    snprintf(text, TEXT_BYTES, "rule %zu of %s: %s",
             (size_t)(decision->rule - table->rule), table->name,
             decision->rule->origin);
}

void xyl_explain_passed(const xyl_query_t *query,
                        const xyl_algorithm_t *algorithm, const char *why)
{
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes: not %s, which XYLEM_ALGORITHMS "
            "asks for: it %s",
            xyl_coll_traits(query->coll)->name, query->bytes, algorithm->name,
            why);
}

void xyl_explain_choice(const xylem_team_t *team, const xyl_query_t *query,
                        const xyl_problem_t *problem,
                        const xyl_decision_t *decision,
                        const xyl_choice_t *choice)
{
    const xyl_coll_traits_t *traits = xyl_coll_traits(query->coll);
    char plan[TEXT_BYTES], reason[TEXT_BYTES], then[TEXT_BYTES];

    print_plan(choice, plan);
    print_reason(team, decision, reason);
    print_runners_up(team, query, problem, choice, then);
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes%s on %u ranks of %u nodes: %s "
            "(%s)%s",
            traits->name, query->bytes, traits->recv_blocks ? " per rank" : "",
            query->ranks, query->nodes, plan, reason, then);
}
