/* Scan and exscan in levels, if ranks fill node after node. The ranks of a node
 * scan their vectors; so the last rank of the node, the leader, has the node's
 * sum. By an exscan of the leaders each leader gets the sum of the nodes before
 * its own. It hands this sum on within its node, and every rank combines it
 * with its own result, in front.
 *
 *   node scan ──▶ (sum) ──▶ exscan ──▶ node bcast ──▶ combine
 *
 * Sanders, Traff, Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006.
 * In an exscan the leader puts its own vector behind its result to get the sum
 * of its node. The sum of the nodes before is in SCRATCH. */
#include "collectives/levels/parts.h"

enum { NODE, NET, BCAST };

static int is_inclusive(const xyl_han_t *han)
{
    return han->args->coll == XYLEM_COLL_SCAN;
}

/* ---- within the node ---- */

static void scan_node(xyl_han_t *han)
{
    const xyl_han_stage_t stage =
        xyl_han_stage(NODE, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    const xyl_problem_t problem = {.coll = han->args->coll,
                                   .count = han->problem.count,
                                   .element_bytes = han->problem.element_bytes,
                                   .is_in_place = han->problem.is_in_place};

    xyl_han_add_node(han, &problem, &stage);
}

static void write_whole_copy(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    xyl_schedule_copy(schedule, xyl_in_recv(0), xyl_in_send(0),
                      han->problem.count, XYL_ACTION_NONE);
}

/* RECV = SEND op RECV. */
static void write_put_before(const xyl_han_t *han, xyl_schedule_t *schedule)
{
    xyl_schedule_reduce(schedule, xyl_in_recv(0), xyl_in_send(0),
                        xyl_in_recv(0), han->problem.count, XYL_ACTION_NONE);
}

/* Adds the schedule that `write` writes; it reads `from` and writes `to`. */
static void add_local(xyl_han_t *han, xyl_han_write_fn write, xyl_role_t from,
                      xyl_role_t to)
{
    const xyl_han_stage_t stage = xyl_han_stage(NODE, from, to);

    xyl_han_add_written(han, write, &stage);
}

/* 1: this rank leads in an exscan. The node's exscan may overwrite the leader's
 * contribution before that can be put behind the result, so the leader keeps a
 * copy in SPARE, which becomes the sum of the node. */
static int keeps_own(const xyl_han_t *han)
{
    return xyl_han_leads(han) && !xyl_han_is_alone(han) && !is_inclusive(han) &&
           han->levels->nodes > 1;
}

/* ---- between nodes ---- */

static void exscan_nodes(xyl_han_t *han)
{
    xyl_han_stage_t stage =
        xyl_han_stage(NET, XYL_ROLE_INPUT, XYL_ROLE_SCRATCH);
    xyl_problem_t problem = han->problem;

    if (!xyl_han_is_alone(han))
        stage.reads = is_inclusive(han) ? XYL_ROLE_RESULT : XYL_ROLE_SPARE;
    problem.coll = XYLEM_COLL_EXSCAN;
    problem.is_in_place = 0;
    xyl_han_add_net(han, &xyl_algorithm_exscan_recursive_doubling, &problem,
                    &stage);
}

static void bcast_before(xyl_han_t *han)
{
    const xyl_han_stage_t stage =
        xyl_han_stage(BCAST, XYL_ROLE_NOTHING, XYL_ROLE_SCRATCH);
    const xyl_problem_t problem = {.coll = XYLEM_COLL_BCAST,
                                   .root = han->leader,
                                   .count = han->problem.count,
                                   .element_bytes = han->problem.element_bytes};

    xyl_han_add_node(han, &problem, &stage);
}

static void add_own(xyl_han_t *han)
{
    if (keeps_own(han))
        add_local(han, write_whole_copy, XYL_ROLE_INPUT, XYL_ROLE_SPARE);
    if (!xyl_han_is_alone(han))
        scan_node(han);
    else if (is_inclusive(han) && !han->problem.is_in_place)
        add_local(han, write_whole_copy, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    if (keeps_own(han))
        add_local(han, write_put_before, XYL_ROLE_RESULT, XYL_ROLE_SPARE);
}

static void scan_add_stages(xyl_han_t *han)
{
    uint64_t bytes = han->problem.count * han->problem.element_bytes;

    xyl_han_choose_leaders(han, XYL_HAN_LAST, XYL_HAN_NO_ROOT);
    xyl_han_make_scratch(han, bytes);
    if (keeps_own(han))
        xyl_han_make_spare(han, bytes);
    add_own(han);
    if (xyl_han_leads(han) && han->levels->nodes > 1)
        exscan_nodes(han);
    if (han->levels->node == 0)
        return;
    if (!xyl_han_is_alone(han))
        bcast_before(han);
    /* The first rank of a node gets no result from an exscan within it. */
    add_local(han,
              !is_inclusive(han) && han->seats.rank == 0 ? write_whole_copy
                                                         : write_put_before,
              XYL_ROLE_SCRATCH, XYL_ROLE_RESULT);
}

const xyl_algorithm_t xyl_algorithm_levels_scan = {
    .name = "han",
    .help = "levels in series (Sanders, Traff 2006)",
    XYL_BY_LEVELS(scan_add_stages),
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
    .needs = XYL_NEEDS_FILLED_NODES,
};
