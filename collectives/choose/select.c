#include "collectives/choose/select.h"

#include "collectives/data/description.h"

#include <inttypes.h>

#include "collectives/stages/edge.h"
#include "runtime/base/log.h"

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
 * 4,096 ranks by bench/studies/choices.sh. */
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
void xyl_select_windows(const xylem_coll_args_t *args,
                        const xyl_config_t *config, xyl_plan_t *plan)
{
    uint64_t send = first_of(args->send_window, config->send_window, 0);
    uint64_t recv = first_of(args->recv_window, config->recv_window, 0);

    if (recv == 0)
        recv = send > plan->recv_window ? send : plan->recv_window;
    if (send == 0)
        send = plan->send_window;
    if (recv > XYL_WINDOW_MAX)
        recv = XYL_WINDOW_MAX;
    plan->recv_window = (uint32_t)recv;
    plan->send_window = (uint32_t)(send < recv ? send : recv);
}

int xyl_select_arrival_order(const xylem_team_t *team,
                             const xylem_coll_args_t *args, int is_commutative)
{
    return is_commutative &&
           ((args->flags & XYLEM_FLAG_ARRIVAL_ORDER) != 0 ||
            team->context->config.reduce_order == XYL_ORDER_ARRIVAL ||
            (xyl_coll_traits(args->coll)->reduces &&
             xyl_op_is_orderless(args->op, args->type)));
}

void xyl_select(const xylem_team_t *team, const xylem_coll_args_t *args,
                int is_commutative, xyl_plan_t *plan_out)
{
    const xyl_config_t *config = &team->context->config;
    const rule_t *rule = rule_find(team, args);
    const char *origin, *order = NULL;
    xyl_plan_t plan = {.send_window = rule->send_window,
                       .recv_window = rule->recv_window};

    origin =
        choose_tree(args, xyl_choose_setting(config, args->coll), rule, &plan);
    if (!is_commutative)
        order = keep_order(team, args, &plan);
    plan.segment_bytes = first_of(args->segment_bytes, config->segment_bytes,
                                  rule->segment_bytes);
    xyl_select_windows(args, config, &plan);
    plan.arrival_order = xyl_select_arrival_order(team, args, is_commutative);
    if (config->verbose != 0)
        explain(team, args, &plan, origin, order);
    *plan_out = plan;
}
