/* Scan and exscan in levels, where ranks fill node after node: a node's ranks
 * combine what theirs have up to each, its last rank, which leads, has the sum
 * of them all; the leaders' exscan tells each what comes before its node, which
 * it hands on, and everybody puts it in front.
 *
 *   node scan ──▶ (sum) ──▶ exscan ──▶ node bcast ──▶ combine
 *
 * Sanders, Traff, Parallel prefix (scan) algorithms for MPI, EuroPVM/MPI 2006.
 * The sum of a node is what its last rank has from a scan; of an exscan, with
 * its own put behind. What comes before the node is in SCRATCH. */
#include "collectives/levels/parts.h"

enum { NODE, NET, BCAST };

static int is_alone(const xyl_han_t *han)
{
    return han->seats.size == 1;
}

static int is_scan(const xyl_han_t *han)
{
    return han->args->coll == XYLEM_COLL_SCAN;
}

/* ---- within the node ---- */

static xylem_status_t add_node(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = NODE, .reads = XYL_ROLE_INPUT, .writes = XYL_ROLE_RESULT};
    const xyl_problem_t problem = {.coll = han->args->coll,
                                   .count = han->problem.count,
                                   .element_bytes = han->problem.element_bytes,
                                   .is_in_place = han->problem.is_in_place};

    return xyl_han_add_node(han, &problem, &stage);
}

static void write_copy(const xyl_han_t *han, const void *arg,
                       xyl_schedule_t *schedule)
{
    (void)arg;
    xyl_schedule_copy(schedule, xyl_position(XYL_BUFFER_RECV, 0),
                      xyl_position(XYL_BUFFER_SEND, 0), han->problem.count,
                      XYL_ACTION_NONE);
}

static xylem_status_t add_copy(const xyl_han_t *han, xyl_role_t from,
                               xyl_role_t to)
{
    const xyl_han_stage_t stage = {.number = NODE, .reads = from, .writes = to};

    return xyl_han_add_written(han, write_copy, NULL, &stage);
}

/* RECV = SEND op RECV. */
static void write_combine(const xyl_han_t *han, const void *arg,
                          xyl_schedule_t *schedule)
{
    const xyl_position_t sum = {XYL_BUFFER_RECV, 0, 0};

    (void)arg;
    xyl_schedule_reduce(schedule, sum, xyl_position(XYL_BUFFER_SEND, 0), sum,
                        han->problem.count, XYL_ACTION_NONE);
}

static xylem_status_t add_combine(const xyl_han_t *han, xyl_role_t before,
                                  xyl_role_t sum)
{
    const xyl_han_stage_t stage = {
        .number = NODE, .reads = before, .writes = sum};

    return xyl_han_add_written(han, write_combine, NULL, &stage);
}

/* Whoever's own will be overwritten before the leader can put it behind: the
 * leader, in an exscan. It is kept in SPARE, where the sum of the node comes.
 */
static int keeps_own(const xyl_han_t *han)
{
    return xyl_han_leads(han) && !is_alone(han) && !is_scan(han) &&
           han->levels->nodes > 1;
}

/* ---- between nodes ---- */

static xylem_status_t add_net(const xyl_han_t *han)
{
    xyl_han_stage_t stage = {
        .number = NET, .reads = XYL_ROLE_INPUT, .writes = XYL_ROLE_SCRATCH};
    xyl_problem_t problem = han->problem;

    if (!is_alone(han))
        stage.reads = is_scan(han) ? XYL_ROLE_RESULT : XYL_ROLE_SPARE;
    problem.coll = XYLEM_COLL_EXSCAN;
    problem.is_in_place = 0;
    return xyl_han_add_net(han, &xyl_algorithm_exscan_recursive_doubling,
                           &problem, &stage);
}

static xylem_status_t add_bcast(const xyl_han_t *han)
{
    const xyl_han_stage_t stage = {
        .number = BCAST, .reads = XYL_ROLE_NOTHING, .writes = XYL_ROLE_SCRATCH};
    const xyl_problem_t problem = {.coll = XYLEM_COLL_BCAST,
                                   .root = han->leader,
                                   .count = han->problem.count,
                                   .element_bytes = han->problem.element_bytes};

    return xyl_han_add_node(han, &problem, &stage);
}

/* The first rank of a node has nothing from an exscan within it. */
static xylem_status_t add_end(const xyl_han_t *han)
{
    if (!is_scan(han) && han->seats.rank == 0)
        return add_copy(han, XYL_ROLE_SCRATCH, XYL_ROLE_RESULT);
    return add_combine(han, XYL_ROLE_SCRATCH, XYL_ROLE_RESULT);
}

static xylem_status_t add_own(const xyl_han_t *han)
{
    xylem_status_t status = XYLEM_OK;

    if (keeps_own(han))
        status = add_copy(han, XYL_ROLE_INPUT, XYL_ROLE_SPARE);
    if (status == XYLEM_OK && !is_alone(han))
        status = add_node(han);
    if (status == XYLEM_OK && is_alone(han) && is_scan(han) &&
        !han->problem.is_in_place)
        status = add_copy(han, XYL_ROLE_INPUT, XYL_ROLE_RESULT);
    if (status == XYLEM_OK && keeps_own(han))
        status = add_combine(han, XYL_ROLE_RESULT, XYL_ROLE_SPARE);
    return status;
}

static xylem_status_t scan_add_stages(xyl_han_t *han)
{
    uint64_t bytes = han->problem.count * han->problem.element_bytes;
    xylem_status_t status =
        xyl_han_choose_leaders(han, XYL_HAN_LAST, XYL_HAN_NO_ROOT);

    if (status == XYLEM_OK)
        status = xyl_han_make_scratch(han, bytes);
    if (status == XYLEM_OK && keeps_own(han))
        status = xyl_han_make_spare(han, bytes);
    if (status == XYLEM_OK)
        status = add_own(han);
    if (status == XYLEM_OK && xyl_han_leads(han) && han->levels->nodes > 1)
        status = add_net(han);
    if (status != XYLEM_OK || han->levels->node == 0)
        return status;
    if (!is_alone(han))
        status = add_bcast(han);
    return status == XYLEM_OK ? add_end(han) : status;
}

const xyl_algorithm_t xyl_algorithm_levels_scan = {
    .name = "han",
    .help = "levels in series (Sanders, Traff 2006)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = XYL_COLL_BIT(SCAN) | XYL_COLL_BIT(EXSCAN),
    .needs = XYL_NEEDS_FILLED_NODES,
    .add_stages = scan_add_stages,
};
