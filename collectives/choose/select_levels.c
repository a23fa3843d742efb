/* How levels in series are run: a table by nodes and bytes, and what the call
 * and the settings leave of it. */
#include "collectives/choose/select.h"
#include "collectives/data/description.h"
#include "collectives/levels/team_levels.h"
#include "runtime/base/log.h"

#define ANY_NODES UINT32_MAX
#define ANY_BYTES UINT64_MAX
#define KIB       ((size_t)1 << 10)

enum {
    LANE_BYTES_MIN = 2 << 10, /* worth one, unless the table says less */
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
 * between few nodes, and load all leaders alike. Up to 4 nodes: measured with 4
 * ranks on each over TCP; beyond: simulated with 6 to 128 nodes of 8 to 48; see
 * docs/measurements.md. There up to 16 KiB a leader combines alone what it
 * leads, hence more leaders for messages up to 128 KiB than for longer ones. */
static const level_rule_t level_rules[] = {
    {XYLEM_COLL_BCAST, 4, 16 * KIB, NULL, XYLEM_TREE_KNOMIAL, 2, 16 * KIB, 4, 8,
     1},
    {XYLEM_COLL_BCAST, 4, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 128 * KIB, 4, 8,
     4},
    {XYLEM_COLL_BCAST, ANY_NODES, 4 * KIB, NULL, XYLEM_TREE_KNOMIAL, 4, 4 * KIB,
     4, 8, 1},
    {XYLEM_COLL_BCAST, ANY_NODES, 256 * KIB, NULL, XYLEM_TREE_DOUBLE, 0,
     4 * KIB, 4, 8, 8},
    {XYLEM_COLL_BCAST, ANY_NODES, 1024 * KIB, NULL, XYLEM_TREE_DOUBLE, 0,
     16 * KIB, 4, 8, 8},
    {XYLEM_COLL_BCAST, ANY_NODES, ANY_BYTES, NULL, XYLEM_TREE_DOUBLE, 0,
     64 * KIB, 4, 8, 8},
    {XYLEM_COLL_REDUCE, 4, 16 * KIB, NULL, XYLEM_TREE_FLAT, 0, 16 * KIB, 4, 8,
     1},
    {XYLEM_COLL_REDUCE, 4, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 16 * KIB, 4, 8,
     4},
    {XYLEM_COLL_REDUCE, ANY_NODES, 16 * KIB, NULL, XYLEM_TREE_KNOMIAL, 4,
     1 * KIB, 4, 8, 4},
    {XYLEM_COLL_REDUCE, ANY_NODES, 256 * KIB, NULL, XYLEM_TREE_KARY, 2,
     64 * KIB, 4, 8, 4},
    {XYLEM_COLL_REDUCE, ANY_NODES, ANY_BYTES, NULL, XYLEM_TREE_DOUBLE, 0,
     64 * KIB, 4, 8, 4},
    {XYLEM_COLL_ALLREDUCE, 4, 16 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 4, 16 * KIB, 4, 8, 1},
    {XYLEM_COLL_ALLREDUCE, 4, 64 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 2, 64 * KIB, 4, 8, 4},
    {XYLEM_COLL_ALLREDUCE, 4, ANY_BYTES, NULL, XYLEM_TREE_FLAT, 0, 64 * KIB, 4,
     8, 4},
    {XYLEM_COLL_ALLREDUCE, ANY_NODES, 16 * KIB, "recursive_doubling",
     XYLEM_TREE_KNOMIAL, 4, 1 * KIB, 4, 8, 16},
    {XYLEM_COLL_ALLREDUCE, ANY_NODES, 128 * KIB, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 2 * KIB, 4, 8, 16},
    {XYLEM_COLL_ALLREDUCE, ANY_NODES, 2048 * KIB, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 4 * KIB, 4, 8, 8},
    {XYLEM_COLL_ALLREDUCE, ANY_NODES, ANY_BYTES, "rabenseifner",
     XYLEM_TREE_KNOMIAL, 4, 16 * KIB, 4, 8, 16},
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
    uint64_t least = rule->segment_bytes < LANE_BYTES_MIN ? rule->segment_bytes
                                                          : LANE_BYTES_MIN;

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

static void explain(const xylem_coll_args_t *args, const xyl_levels_t *levels,
                    const xyl_han_plan_t *plan)
{
    const xyl_plan_t *frame = &plan->frame;
    char tree[XYL_CONFIG_TEXT_BYTES];

    xyl_config_print_algorithm(XYL_CONFIG_TREE(frame->tree, frame->radix),
                               tree);
    xyl_log(XYL_LOG_NONE,
            "select: %s in levels on %u nodes: %s %s, leaders %u, segments of "
            "%zu bytes, N %u, M %u",
            xyl_coll_traits(args->coll)->name, levels->nodes,
            plan->exchange != NULL ? "exchange" : "tree",
            plan->exchange != NULL ? plan->exchange->name : tree, plan->leaders,
            frame->segment_bytes, frame->send_window, frame->recv_window);
}

void xyl_select_han(xylem_team_t *team, const xylem_coll_args_t *args,
                    const xyl_choice_t *choice, int is_commutative,
                    xyl_han_plan_t *plan_out)
{
    const xyl_levels_t *levels = xyl_team_levels(team);
    uint64_t bytes = args->count * xylem_type_bytes(args->type);
    const level_rule_t *rule =
        level_rule_find(args->coll, levels->nodes, bytes);
    xyl_han_plan_t plan = {.frame = {.tree = rule->tree,
                                     .radix = rule->radix,
                                     .send_window = rule->send_window,
                                     .recv_window = rule->recv_window},
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
    xyl_select_windows(args, &team->context->config, &plan.frame);
    plan.frame.arrival_order =
        xyl_select_arrival_order(team, args, is_commutative);
    plan_lanes(rule,
               bytes / plan.frame.segment_bytes +
                   (bytes % plan.frame.segment_bytes != 0),
               &plan);
    if (team->context->config.verbose != 0)
        explain(args, levels, &plan);
    *plan_out = plan;
}
