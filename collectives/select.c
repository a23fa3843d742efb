#include "collectives/select.h"

#include "collectives/arguments.h"

#include <inttypes.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"
#include "runtime/team_levels.h"

/* One row of a built-in table: the first row that fits is taken. */
typedef struct rule {
    uint32_t ranks_max;
    uint64_t bytes_max;
    xylem_tree_t tree;
    uint32_t radix;
    size_t segment_bytes;
    uint32_t send_window;
    uint32_t recv_window;
} rule_t;

#define ANY_RANKS UINT32_MAX
#define ANY_BYTES UINT64_MAX
#define KIB       ((size_t)1 << 10)

/* Within a node. UCX copies messages of up to 8 KiB through shared memory at
 * once, larger ones after a handshake: segments of 8 KiB flow without one, and
 * the last reader finds them in its cache. Measured with 2, 4, 8 and 16 ranks
 * on 16 cores; see docs/measurements.md. */
static const rule_t bcast_node_rules[] = {
    {2, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 8 * KIB, 8, 16},
    {ANY_RANKS, 8 * KIB, XYLEM_TREE_KARY, 4, 8 * KIB, 4, 8},
    {4, 1024 * KIB, XYLEM_TREE_DOUBLE, 0, 8 * KIB, 8, 16},
    {ANY_RANKS, 16 * KIB, XYLEM_TREE_KARY, 3, 8 * KIB, 2, 4},
    {ANY_RANKS, 1024 * KIB, XYLEM_TREE_DOUBLE, 0, 8 * KIB, 4, 8},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_DOUBLE, 0, 128 * KIB, 3, 6},
};

static const rule_t reduce_node_rules[] = {
    {2, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 8 * KIB, 4, 8},
    {ANY_RANKS, 128 * KIB, XYLEM_TREE_KNOMIAL, 4, 8 * KIB, 4, 8},
    {ANY_RANKS, 256 * KIB, XYLEM_TREE_KNOMIAL, 2, 8 * KIB, 4, 8},
    {ANY_RANKS, 2048 * KIB, XYLEM_TREE_DOUBLE, 0, 8 * KIB, 4, 8},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_DOUBLE, 0, 128 * KIB, 2, 4},
};

/* Across nodes. Short messages: few steps, and few long edges. Longer ones: a
 * pipeline with few children and logarithmic depth; ranks usually fill node
 * after node, so that most of its edges are short. Simulated with 1,024 and
 * 4,096 ranks by bench/choices.sh. */
static const rule_t bcast_net_rules[] = {
    {ANY_RANKS, 4 * KIB, XYLEM_TREE_TOPOLOGY, 4, 8 * KIB, 4, 8},
    {ANY_RANKS, 32 * KIB, XYLEM_TREE_DOUBLE, 0, 2 * KIB, 4, 8},
    {ANY_RANKS, 256 * KIB, XYLEM_TREE_DOUBLE, 0, 4 * KIB, 4, 8},
    {ANY_RANKS, 1024 * KIB, XYLEM_TREE_DOUBLE, 0, 16 * KIB, 4, 8},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_DOUBLE, 0, 32 * KIB, 4, 8},
};

static const rule_t reduce_net_rules[] = {
    {ANY_RANKS, 1 * KIB, XYLEM_TREE_TOPOLOGY, 4, 8 * KIB, 4, 8},
    {ANY_RANKS, 2 * KIB, XYLEM_TREE_TOPOLOGY, 2, 1 * KIB, 4, 8},
    {ANY_RANKS, 4 * KIB, XYLEM_TREE_TOPOLOGY, 2, 2 * KIB, 4, 8},
    {ANY_RANKS, 8 * KIB, XYLEM_TREE_DOUBLE, 0, 1 * KIB, 4, 8},
    {ANY_RANKS, 32 * KIB, XYLEM_TREE_DOUBLE, 0, 2 * KIB, 4, 8},
    {ANY_RANKS, 512 * KIB, XYLEM_TREE_DOUBLE, 0, 4 * KIB, 4, 8},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_DOUBLE, 0, 32 * KIB, 4, 8},
};

static const rule_t *rules_for(const xylem_team_t *team, xylem_coll_t coll)
{
    if (!team->is_one_node)
        return coll == XYLEM_COLL_BCAST ? bcast_net_rules : reduce_net_rules;
    return coll == XYLEM_COLL_BCAST ? bcast_node_rules : reduce_node_rules;
}

static const rule_t *rule_find(const xylem_team_t *team,
                               const xylem_coll_args_t *args)
{
    const rule_t *rule = rules_for(team, args->coll);
    uint64_t bytes = args->count * xylem_type_bytes(args->type);

    while (team->size > rule->ranks_max || bytes > rule->bytes_max)
        rule++;
    return rule;
}

/* The first that is not 0. */
static uint64_t first_of(uint64_t call, uint64_t setting, uint64_t table)
{
    if (call != 0)
        return call;
    return setting != 0 ? setting : table;
}

/* Reductions in rank order need trees whose subtrees are ranges of ranks. */
static const char *keep_order(const xylem_team_t *team,
                              const xylem_coll_args_t *args, xyl_plan_t *plan)
{
    xyl_shape_t shape = {plan->tree, plan->radix};

    if (plan->tree != XYLEM_TREE_TOPOLOGY &&
        xyl_tree_is_ordered(shape, team->size, args->root))
        return NULL;
    plan->tree = XYLEM_TREE_INORDER;
    plan->radix = 0;
    return ", in rank order";
}

static void explain(const xylem_team_t *team, const xylem_coll_args_t *args,
                    const xyl_plan_t *plan, const char *origin,
                    const char *order)
{
    char tree[XYL_CONFIG_TEXT_BYTES];

    xyl_config_print_algorithm(XYL_CONFIG_TREE(plan->tree, plan->radix), tree);
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes on %u ranks: tree %s (%s%s), "
            "segments of %zu bytes, N %u, M %u",
            xyl_coll_traits(args->coll)->name,
            (uint64_t)(args->count * xylem_type_bytes(args->type)), team->size,
            tree, origin, order != NULL ? order : "", plan->segment_bytes,
            plan->send_window, plan->recv_window);
}

static const char *choose_tree(const xylem_coll_args_t *args, uint64_t setting,
                               const rule_t *rule, xyl_plan_t *plan)
{
    if (args->tree != XYLEM_TREE_AUTO) {
        plan->tree = args->tree;
        plan->radix = args->radix;
        return "asked for by the call";
    }
    if (setting >> 32 < XYL_CONFIG_SCHEDULE_FIRST &&
        XYL_CONFIG_TREE_SHAPE(setting) != XYLEM_TREE_AUTO) {
        plan->tree = XYL_CONFIG_TREE_SHAPE(setting);
        plan->radix = XYL_CONFIG_TREE_RADIX(setting);
        return "by setting";
    }
    plan->tree = rule->tree;
    plan->radix = rule->radix;
    return "by the built-in table";
}

/* A window that is asked for alone moves the other, so that N <= M. */
static void choose_windows(const xylem_coll_args_t *args,
                           const xyl_config_t *config, const rule_t *rule,
                           xyl_plan_t *plan)
{
    uint64_t send = first_of(args->send_window, config->send_window, 0);
    uint64_t recv = first_of(args->recv_window, config->recv_window, 0);

    if (recv == 0)
        recv = send > rule->recv_window ? send : rule->recv_window;
    if (send == 0)
        send = rule->send_window;
    if (recv > XYL_WINDOW_MAX)
        recv = XYL_WINDOW_MAX;
    plan->recv_window = (uint32_t)recv;
    plan->send_window = (uint32_t)(send < recv ? send : recv);
}

int xyl_select_arrival_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative)
{
    return is_commutative && ((args->flags & XYLEM_FLAG_ARRIVAL_ORDER) != 0 ||
                              !team->context->config.deterministic);
}

void xyl_select(const xylem_team_t *team, const xylem_coll_args_t *args,
                int is_commutative, xyl_plan_t *plan_out)
{
    const xyl_config_t *config = &team->context->config;
    const rule_t *rule = rule_find(team, args);
    const char *origin, *order = NULL;
    xyl_plan_t plan = {.lanes = 0};

    origin =
        choose_tree(args, xyl_choose_setting(config, args->coll), rule, &plan);
    if (!is_commutative)
        order = keep_order(team, args, &plan);
    plan.segment_bytes = first_of(args->segment_bytes, config->segment_bytes,
                                  rule->segment_bytes);
    choose_windows(args, config, rule, &plan);
    plan.arrival_order = xyl_select_arrival_order(team, args, is_commutative);
    if (config->verbose != 0)
        explain(team, args, &plan, origin, order);
    *plan_out = plan;
}

/* ---- levels in series ---- */

enum {
    LANE_BYTES_MIN = 2 << 10, /* worth one */
    BYTES_UNIT = 64           /* where elements do not say how to cut */
};

/* By nodes and bytes of the message; the first row that fits is taken. */
typedef struct level_rule {
    xylem_coll_t coll;
    uint32_t nodes_max;
    uint64_t bytes_max;
    const char *exchange; /* between nodes; NULL: the tree */
    xylem_tree_t tree;
    uint32_t radix;
    size_t segment_bytes;
    uint32_t send_window, recv_window;
    uint32_t leaders;
} level_rule_t;

/* Of several leaders each has a connection, and a processor to serve it. Flat
 * trees, one for every node as the root, are the shortest way of an allreduce
 * between few nodes, and load all leaders alike. Up to 8 nodes: measured with 4
 * nodes of 4 ranks over TCP; beyond: simulated with 128 nodes of 32; see
 * docs/measurements.md. */
static const level_rule_t level_rules[] = {
    {XYLEM_COLL_BCAST, 8, 16 * KIB, NULL, XYLEM_TREE_KNOMIAL, 2, 16 * KIB, 4, 8,
     1},
    {XYLEM_COLL_BCAST, 8, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 128 * KIB, 4, 8,
     4},
    {XYLEM_COLL_BCAST, ANY_RANKS, 4 * KIB, NULL, XYLEM_TREE_KNOMIAL, 4, 4 * KIB,
     4, 8, 1},
    {XYLEM_COLL_BCAST, ANY_RANKS, 128 * KIB, NULL, XYLEM_TREE_DOUBLE, 0,
     2 * KIB, 4, 8, 4},
    {XYLEM_COLL_BCAST, ANY_RANKS, 1024 * KIB, NULL, XYLEM_TREE_DOUBLE, 0,
     8 * KIB, 4, 8, 4},
    {XYLEM_COLL_BCAST, ANY_RANKS, ANY_BYTES, NULL, XYLEM_TREE_DOUBLE, 0,
     64 * KIB, 4, 8, 4},
    {XYLEM_COLL_REDUCE, 8, 16 * KIB, NULL, XYLEM_TREE_FLAT, 0, 16 * KIB, 4, 8,
     1},
    {XYLEM_COLL_REDUCE, 8, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 16 * KIB, 4, 8,
     4},
    {XYLEM_COLL_REDUCE, ANY_RANKS, 16 * KIB, NULL, XYLEM_TREE_KNOMIAL, 4,
     16 * KIB, 4, 8, 1},
    {XYLEM_COLL_REDUCE, ANY_RANKS, 256 * KIB, NULL, XYLEM_TREE_KARY, 2,
     64 * KIB, 4, 8, 4},
    {XYLEM_COLL_REDUCE, ANY_RANKS, ANY_BYTES, NULL, XYLEM_TREE_DOUBLE, 0,
     64 * KIB, 4, 8, 4},
    {XYLEM_COLL_ALLREDUCE, 8, 16 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 4, 16 * KIB, 4, 8, 1},
    {XYLEM_COLL_ALLREDUCE, 8, 64 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 2, 64 * KIB, 4, 8, 4},
    {XYLEM_COLL_ALLREDUCE, 8, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 64 * KIB, 4,
     8, 4},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 16 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 4, 2 * KIB, 4, 8, 8},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 256 * KIB, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 4 * KIB, 4, 8, 16},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, 2048 * KIB, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 4 * KIB, 4, 8, 4},
    {XYLEM_COLL_ALLREDUCE, ANY_RANKS, ANY_BYTES, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 16 * KIB, 4, 8, 4},
};

static const level_rule_t *level_rule_find(xylem_coll_t coll, uint32_t nodes,
                                           uint64_t bytes)
{
    const level_rule_t *rule = level_rules;

    if (coll == XYLEM_COLL_BARRIER)
        coll = XYLEM_COLL_ALLREDUCE;
    while (rule->coll != coll || nodes > rule->nodes_max ||
           bytes > rule->bytes_max)
        rule++;
    return rule;
}

/* Shorter than the table says where each lane is to have some of it. */
static size_t segment_for(const level_rule_t *rule, uint32_t lanes,
                          uint64_t bytes, size_t element_bytes)
{
    uint64_t each = (bytes + lanes - 1) / lanes;

    if (each >= rule->segment_bytes || element_bytes == 0)
        return rule->segment_bytes;
    if (each < LANE_BYTES_MIN)
        each = LANE_BYTES_MIN;
    if (element_bytes == 1)
        element_bytes = BYTES_UNIT;
    return (size_t)((each + element_bytes - 1) / element_bytes * element_bytes);
}

static uint32_t at_most(uint32_t value, uint64_t most)
{
    return value <= most ? value : most == 0 ? 1 : (uint32_t)most;
}

/* Whether the lanes of a leader have their roots on different nodes. */
static int spreads_roots(const level_rule_t *rule, const xyl_han_plan_t *plan)
{
    return rule->coll == XYLEM_COLL_ALLREDUCE &&
           plan->frame.tree == XYLEM_TREE_FLAT;
}

/* No more halves, leaders and roots than there are lanes and `segments` for. */
static void plan_lanes(const level_rule_t *rule, uint64_t segments,
                       xyl_han_plan_t *plan)
{
    uint64_t most = segments < XYL_LANES_MAX ? segments : XYL_LANES_MAX;

    plan->halves = plan->frame.tree == XYLEM_TREE_DOUBLE && most > 1 ? 2 : 1;
    plan->leaders = at_most(plan->leaders, most / plan->halves);
    plan->roots = at_most(plan->roots, most / plan->halves / plan->leaders);
    plan->frame.lanes = plan->halves * plan->leaders * plan->roots;
    plan->frame.lanes_are_parts = 1;
    plan->exchange = NULL;
    if (rule->exchange != NULL)
        plan->exchange =
            xyl_algorithm_find(XYLEM_COLL_ALLREDUCE, rule->exchange);
}

void xyl_select_han(xylem_team_t *team, const xylem_coll_args_t *args,
                    const xyl_choice_t *choice, int is_commutative,
                    xyl_han_plan_t *plan_out)
{
    const xyl_levels_t *levels = xyl_team_levels(team);
    uint64_t bytes = args->count * xylem_type_bytes(args->type);
    const level_rule_t *rule =
        level_rule_find(args->coll, levels->nodes, bytes);
    const rule_t windows = {.send_window = rule->send_window,
                            .recv_window = rule->recv_window};
    xyl_han_plan_t plan = {.frame = {.tree = rule->tree, .radix = rule->radix},
                           .leaders = choice->radix,
                           .roots = 1,
                           .node_tree = {XYLEM_TREE_KNOMIAL, 4},
                           .is_in_place = args->send == XYLEM_IN_PLACE};

    if (!is_commutative) {
        plan.frame.tree = XYLEM_TREE_INORDER;
        plan.node_tree = (xyl_shape_t){XYLEM_TREE_INORDER, 0};
    }
    if (plan.leaders == 0)
        plan.leaders = at_most(rule->leaders, levels->largest);
    if (args->coll == XYLEM_COLL_REDUCE && !is_commutative)
        plan.leaders = 1; /* several change the order */
    if (spreads_roots(rule, &plan))
        plan.roots = levels->nodes;
    plan.frame.segment_bytes = choice->segment_bytes;
    if (choice->segment_bytes == 0)
        plan.frame.segment_bytes =
            segment_for(rule, plan.leaders * plan.roots, bytes,
                        xylem_type_bytes(args->type));
    choose_windows(args, &team->context->config, &windows, &plan.frame);
    plan.frame.arrival_order =
        xyl_select_arrival_order(team, args, is_commutative);
    plan_lanes(rule,
               bytes / plan.frame.segment_bytes +
                   (bytes % plan.frame.segment_bytes != 0),
               &plan);
    *plan_out = plan;
}
