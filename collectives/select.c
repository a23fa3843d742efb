#include "collectives/select.h"

#include <inttypes.h>

#include "runtime/base/log.h"
#include "runtime/base/status.h"

/* One row of the built-in table: the first row that fits is taken. Measured on
 * one node of 16 cores; docs/measurements.md says how. */
typedef struct rule {
    uint32_t ranks_max;
    uint64_t bytes_max;
    xylem_tree_t tree;
    uint32_t radix;
    size_t segment_bytes;
} rule_t;

#define ANY_RANKS UINT32_MAX
#define ANY_BYTES UINT64_MAX
#define KIB       ((size_t)1 << 10)

static const rule_t bcast_rules[] = {
    {2, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 512 * KIB},
    {ANY_RANKS, 8 * KIB, XYLEM_TREE_KNOMIAL, 4, 8 * KIB},
    {ANY_RANKS, 64 * KIB, XYLEM_TREE_KNOMIAL, 2, 16 * KIB},
    {ANY_RANKS, 512 * KIB, XYLEM_TREE_KARY, 2, 32 * KIB},
    {64, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 64 * KIB},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_DOUBLE, 0, 128 * KIB},
};

static const rule_t reduce_rules[] = {
    {2, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 128 * KIB},
    {ANY_RANKS, 8 * KIB, XYLEM_TREE_KNOMIAL, 4, 8 * KIB},
    {ANY_RANKS, 64 * KIB, XYLEM_TREE_KNOMIAL, 2, 16 * KIB},
    {ANY_RANKS, 512 * KIB, XYLEM_TREE_KARY, 2, 32 * KIB},
    {64, ANY_BYTES, XYLEM_TREE_CHAIN, 0, 64 * KIB},
    {ANY_RANKS, ANY_BYTES, XYLEM_TREE_KARY, 2, 128 * KIB},
};

enum { SEND_WINDOW_DEFAULT = 2, RECV_WINDOW_DEFAULT = 4 };

static const rule_t *rule_find(const xylem_team_t *team,
                               const xylem_coll_args_t *args)
{
    const rule_t *rule =
        args->coll == XYLEM_COLL_BCAST ? bcast_rules : reduce_rules;
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

    xyl_config_print_tree(XYL_CONFIG_TREE(plan->tree, plan->radix), tree);
    xyl_log(XYL_LOG_NONE,
            "select: %s of %" PRIu64 " bytes on %u ranks: tree %s (%s%s), "
            "segments of %zu bytes, N %u, M %u",
            args->coll == XYLEM_COLL_BCAST ? "bcast" : "reduce",
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
    if (XYL_CONFIG_TREE_SHAPE(setting) != XYLEM_TREE_AUTO) {
        plan->tree = XYL_CONFIG_TREE_SHAPE(setting);
        plan->radix = XYL_CONFIG_TREE_RADIX(setting);
        return "by setting";
    }
    plan->tree = rule->tree;
    plan->radix = rule->radix;
    return "by the built-in table";
}

void xyl_select(const xylem_team_t *team, const xylem_coll_args_t *args,
                int is_commutative, xyl_plan_t *plan_out)
{
    const xyl_config_t *config = &team->context->config;
    const rule_t *rule = rule_find(team, args);
    const char *origin, *order = NULL;
    xyl_plan_t plan;

    origin = choose_tree(
        args, args->coll == XYLEM_COLL_BCAST ? config->bcast : config->reduce,
        rule, &plan);
    if (!is_commutative)
        order = keep_order(team, args, &plan);
    plan.segment_bytes = first_of(args->segment_bytes, config->segment_bytes,
                                  rule->segment_bytes);
    plan.recv_window = (uint32_t)first_of(
        args->recv_window, config->recv_window, RECV_WINDOW_DEFAULT);
    plan.send_window = (uint32_t)first_of(
        args->send_window, config->send_window, SEND_WINDOW_DEFAULT);
    if (plan.send_window > plan.recv_window)
        plan.recv_window =
            args->recv_window != 0 ? plan.recv_window : plan.send_window;
    if (plan.send_window > plan.recv_window)
        plan.send_window = plan.recv_window;
    plan.arrival_order =
        is_commutative && ((args->flags & XYLEM_FLAG_ARRIVAL_ORDER) != 0 ||
                           !config->deterministic);
    if (config->verbose != 0)
        explain(team, args, &plan, origin, order);
    *plan_out = plan;
}
