#include "collectives/choose/fit.h"

#include <string.h>

#include "collectives/data/call.h"
#include "collectives/data/description.h"
#include "collectives/stages/edge.h"

enum {
    BYTES_UNIT = 64 /* segments of single bytes are multiples of it */
};

/* The first value that is not 0. */
static uint64_t first_of(uint64_t call, uint64_t setting, uint64_t rule)
{
    if (call != 0)
        return call;
    return setting != 0 ? setting : rule;
}

/* Keeps the send window at or below the receive window. If only one of the two
 * is asked for, the other gives way. */
static void fit_windows(const xylem_coll_args_t *args,
                        const xyl_config_t *config, const xyl_rule_t *rule,
                        xyl_plan_t *frame)
{
    uint64_t send = first_of(args->send_window, config->send_window, 0);
    uint64_t recv = first_of(args->recv_window, config->recv_window, 0);

    if (recv == 0)
        recv = send > rule->recv_window ? send : rule->recv_window;
    if (send == 0)
        send = rule->send_window;
    if (recv > XYL_WINDOW_MAX)
        recv = XYL_WINDOW_MAX;
    frame->recv_window = (uint32_t)recv;
    frame->send_window = (uint32_t)(send < recv ? send : recv);
}

/* ---- trees ---- */

/* Replaces the tree unless it can reduce in rank order, for which its subtrees
 * have to be ranges of ranks. */
static void keep_order(const xylem_team_t *team, const xylem_coll_args_t *args,
                       xyl_plan_t *frame)
{
    const xyl_shape_t shape = {frame->tree, frame->radix};
    uint32_t root = args->coll == XYLEM_COLL_ALLREDUCE ? 0 : args->root;

    if (frame->tree != &xyl_tree_topology &&
        xyl_tree_is_ordered(shape, team->size, root))
        return;
    frame->tree = &xyl_tree_inorder;
    frame->radix = 0;
}

static void fit_tree(const xylem_team_t *team, const xylem_coll_args_t *args,
                     int is_commutative, const xyl_decision_t *decision,
                     xyl_choice_t *choice)
{
    xyl_plan_t *frame = &choice->frame;

    frame->tree = decision->named.algorithm->tree;
    frame->radix = decision->named.radix;
    if (!is_commutative)
        keep_order(team, args, frame);
    frame->segment_bytes = choice->segment_bytes != 0
                               ? choice->segment_bytes
                               : decision->rule->segment_bytes;
}

/* ---- levels in segments ---- */

/* The length of the rule's segments, or less, so that a short message has a
 * segment for each lane. */
static size_t segment_for(const xyl_rule_t *rule, const xyl_limits_t *limits,
                          uint32_t lanes, uint64_t bytes, size_t element_bytes)
{
    uint64_t each = (bytes + lanes - 1) / lanes;
    uint64_t least =
        rule->segment_bytes < limits->lane ? rule->segment_bytes : limits->lane;

    if (each >= rule->segment_bytes || element_bytes == 0)
        return rule->segment_bytes;
    if (each < least)
        each = least;
    if (element_bytes == 1)
        element_bytes = BYTES_UNIT;
    return (size_t)((each + element_bytes - 1) / element_bytes * element_bytes);
}

static uint32_t at_most(uint32_t value, uint64_t most)
{
    return value <= most ? value : most == 0 ? 1 : (uint32_t)most;
}

/* Limits halves, leaders and roots, so that each lane has a segment. */
static void fit_lanes(uint64_t segments, xyl_choice_t *choice)
{
    uint64_t most = segments < XYL_LANES_MAX ? segments : XYL_LANES_MAX;

    choice->halves = choice->frame.tree == &xyl_tree_double && most > 1 ? 2 : 1;
    choice->leaders = at_most(choice->leaders, most / choice->halves);
    choice->roots =
        at_most(choice->roots, most / choice->halves / choice->leaders);
    choice->frame.lanes = choice->halves * choice->leaders * choice->roots;
    choice->frame.lanes_are_parts = 1;
}

/* The named parts, and the rule's for those that are not named. */
static xyl_named_t named_in_full(const xyl_decision_t *decision,
                                 xylem_coll_t coll)
{
    const xyl_named_t ruled = xyl_rule_named(decision->rule, coll);
    xyl_named_t named = decision->named;

    if (named.between == NULL) {
        named.between = ruled.between;
        named.between_radix = ruled.between_radix;
    }
    if (named.within == NULL) {
        named.within = ruled.within;
        named.within_radix = ruled.within_radix;
    }
    if (named.within_segment_bytes == 0)
        named.within_segment_bytes = ruled.within_segment_bytes;
    return named;
}

/* Sets the level between nodes: a tree, or an allreduce's schedule. */
static void fit_between(const xyl_named_t *named, int is_commutative,
                        xyl_choice_t *choice)
{
    const xyl_algorithm_t *between = named->between;

    choice->frame.radix = named->between_radix;
    if (between->kind == XYL_ALGORITHM_TREE)
        choice->frame.tree = between->tree;
    else if (is_commutative || (between->needs & XYL_NEEDS_COMMUTATIVE) == 0)
        choice->exchange = between;
    choice->node_tree = (xyl_shape_t){&xyl_tree_knomial, 4};
    if (is_commutative)
        return;
    choice->frame.tree = &xyl_tree_inorder;
    if (choice->exchange == NULL)
        choice->frame.radix = 0;
    choice->node_tree = (xyl_shape_t){&xyl_tree_inorder, 0};
}

/* Sets the levels within nodes, if an algorithm is named for them. */
static void fit_within(const xyl_named_t *named, int is_commutative,
                       xyl_choice_t *choice)
{
    const char *name = named->within;
    const xyl_algorithm_t *up, *down;

    choice->within_radix = named->within_radix;
    if (name == NULL)
        return;
    up = xyl_algorithm_find(XYLEM_COLL_REDUCE, name);
    down = xyl_algorithm_find(XYLEM_COLL_BCAST, name);
    if (strcmp(name, xyl_within_ucx) == 0) {
        choice->is_by_messages = 1;
    } else if (up != NULL && (up->needs & XYL_STANDS_FOR_KIND) != 0) {
        return; /* the table decides */
    } else if (up == NULL || up->kind != XYL_ALGORITHM_TREE) {
        choice->within_up = up;
        choice->within_down = down;
    } else {
        choice->is_by_messages = 1;
        if (is_commutative)
            choice->node_tree = (xyl_shape_t){up->tree, choice->within_radix};
    }
}

const char *xyl_choice_within(const xyl_choice_t *choice, uint32_t *radix_out)
{
    const xyl_algorithm_t *named =
        choice->within_up != NULL ? choice->within_up : choice->within_down;

    *radix_out =
        choice->is_by_messages ? choice->node_tree.radix : choice->within_radix;
    if (choice->is_by_messages)
        return choice->node_tree.tree->name;
    return named != NULL ? named->name : NULL;
}

static uint32_t grain_of(size_t bytes, size_t segment_bytes)
{
    size_t grain = bytes / segment_bytes;

    return grain < XYL_SEGMENTS_MAX ? (uint32_t)grain
                                    : (uint32_t)XYL_SEGMENTS_MAX;
}

/* The frame has the shorter of the two levels' segments. The longer segments
 * become a multiple of these. */
static void fit_segments(size_t within, size_t element_bytes,
                         xyl_choice_t *choice)
{
    size_t between =
        xyl_collective_segment(choice->frame.segment_bytes, element_bytes);

    choice->within_grain = choice->between_grain = 1;
    if (within == 0 || element_bytes == 0)
        return;
    within = xyl_collective_segment(within, element_bytes);
    choice->frame.segment_bytes = within < between ? within : between;
    choice->within_grain = grain_of(within, choice->frame.segment_bytes);
    choice->between_grain = grain_of(between, choice->frame.segment_bytes);
}

size_t xyl_choice_segment(const xyl_choice_t *choice)
{
    uint32_t grain = choice->between_grain;

    return choice->frame.segment_bytes * (grain != 0 ? grain : 1);
}

static void fit_levels(const xyl_limits_t *limits,
                       const xylem_coll_args_t *args, const xyl_query_t *query,
                       int is_commutative, const xyl_decision_t *decision,
                       xyl_choice_t *choice)
{
    const xyl_named_t named = named_in_full(decision, args->coll);
    const xyl_rule_t *rule = decision->rule;
    size_t element_bytes =
        args->coll == XYLEM_COLL_BARRIER ? 1 : xylem_type_bytes(args->type);
    xyl_plan_t *frame = &choice->frame;

    fit_between(&named, is_commutative, choice);
    fit_within(&named, is_commutative, choice);
    choice->leaders = choice->radix;
    if (choice->leaders == 0)
        choice->leaders = at_most(rule->radix, query->node_ranks);
    if (args->coll == XYLEM_COLL_REDUCE && !is_commutative)
        choice->leaders = 1; /* several change the order */
    /* Flat trees, each with another node as its root, load all nodes alike. */
    choice->roots =
        args->coll == XYLEM_COLL_ALLREDUCE && frame->tree == &xyl_tree_flat
            ? query->nodes
            : 1;
    frame->segment_bytes = choice->segment_bytes;
    if (frame->segment_bytes == 0)
        frame->segment_bytes =
            segment_for(rule, limits, choice->leaders * choice->roots,
                        query->bytes, element_bytes);
    fit_lanes(query->bytes / frame->segment_bytes +
                  (query->bytes % frame->segment_bytes != 0),
              choice);
    fit_segments(named.within_segment_bytes, element_bytes, choice);
}

/* ---- any ---- */

void xyl_fit(xylem_team_t *team, const xylem_coll_args_t *args,
             const xyl_query_t *query, int is_commutative,
             const xyl_decision_t *decision, xyl_choice_t *choice)
{
    const xyl_config_t *config = &team->context->config;
    const xyl_rule_t *rule = decision->rule;
    xyl_algorithm_kind_t kind = decision->named.algorithm->kind;
    int is_tree = kind == XYL_ALGORITHM_TREE;
    int is_lanes = kind == XYL_ALGORITHM_LANES;

    *choice = (xyl_choice_t){.algorithm = decision->named.algorithm,
                             .radix = decision->named.radix};
    choice->segment_bytes = first_of(
        args->segment_bytes, config->segment_bytes,
        decision->named.segment_bytes != 0    ? decision->named.segment_bytes
        : rule == NULL || is_tree || is_lanes ? 0
                                              : rule->segment_bytes);
    if (is_tree)
        fit_tree(team, args, is_commutative, decision, choice);
    if (is_lanes)
        fit_levels(xyl_limits_of(team->context), args, query, is_commutative,
                   decision, choice);
    if (kind == XYL_ALGORITHM_LEVELS && decision->named.within != NULL)
        choice->within_up =
            xyl_algorithm_find(args->coll, decision->named.within);
    if (is_tree || is_lanes) {
        fit_windows(args, config, rule, &choice->frame);
        choice->frame.arrival_order =
            xyl_call_takes_any_order(team, args, is_commutative);
    }
}
