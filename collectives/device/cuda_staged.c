/* The designs of hierarchical GPU collectives (Faraji, "Improving Communication
 * Performance in GPU-Accelerated HPC Clusters", 2018, chapters 3 and 4), in
 * which ranks copy their data into rooms in memory of GPUs that others have
 * opened, and flags lie in the memory of the node:
 *
 *   cuda_gsb      Gathered Shared Buffer: all copy into the room of one leader,
 *                 whose kernel combines them at once; all copy the result out
 *   cuda_btb      Binomial Tree Based: in each level one of two ranks copies
 *                 its sum into the other's room, which combines the two
 *   cuda_gsb_btb  cuda_gsb among the ranks that share a GPU, cuda_btb among
 *                 their leaders
 *
 * The same code runs all three: ranks are in one group, in a group for each
 * rank, or in one for each GPU. The first rank, counted from the root on, leads
 * a group. A leader's room has a place for its sum, one for the sum of another
 * leader, and one for each member's copy. The thesis has directories of flags
 * in place of the barriers between phases. */
#include "collectives/data/description.h"
#include "collectives/device/plan.h"
#include "collectives/levels/parts.h"

enum { SUM, INBOX, COPIES }; /* places of a room */

typedef enum grouping { ONE_GROUP, GROUP_EACH, GROUP_PER_GPU } grouping_t;

/* ---- groups ---- */

static uint32_t first_of(const xyl_device_plan_t *plan)
{
    return xyl_coll_traits(plan->problem.coll)->has_root ? plan->problem.root
                                                         : 0;
}

static int are_together(const xyl_device_plan_t *plan, grouping_t grouping,
                        uint32_t a, uint32_t b)
{
    if (grouping != GROUP_PER_GPU)
        return grouping == ONE_GROUP || a == b;
    return xyl_device_offer(plan, a)->gpu == xyl_device_offer(plan, b)->gpu;
}

/* The rank at a place, from the first rank on, which leads the first group. */
static uint32_t rank_at(const xyl_device_plan_t *plan, uint32_t place)
{
    return (first_of(plan) + place) % plan->problem.ranks;
}

static uint32_t leader_of(const xyl_device_plan_t *plan, grouping_t grouping,
                          uint32_t rank)
{
    uint32_t place = 0;

    while (!are_together(plan, grouping, rank_at(plan, place), rank))
        place++;
    return rank_at(plan, place);
}

/* A leader's number among all leaders, and how many there are. */
static uint32_t number_of(const xyl_device_plan_t *plan, grouping_t grouping,
                          uint32_t leader, uint32_t *leaders_out)
{
    uint32_t place, number = 0, leaders = 0;

    for (place = 0; place < plan->problem.ranks; place++) {
        uint32_t rank = rank_at(plan, place);
        if (leader_of(plan, grouping, rank) != rank)
            continue;
        if (rank == leader)
            number = leaders;
        leaders++;
    }
    *leaders_out = leaders;
    return number;
}

static uint32_t leader_at(const xyl_device_plan_t *plan, grouping_t grouping,
                          uint32_t number)
{
    uint32_t place, rank = 0;

    for (place = 0;; place++) {
        rank = rank_at(plan, place);
        if (leader_of(plan, grouping, rank) == rank && number-- == 0)
            return rank;
    }
}

static uint32_t levels_of(uint32_t leaders)
{
    uint32_t levels = 0;

    while (1u << levels < leaders)
        levels++;
    return levels;
}

/* ---- phases: up, and down ---- */

/* A rank's task in a phase, as it is written. */
typedef struct staged {
    xyl_device_plan_t *plan;
    grouping_t grouping;
    uint32_t rank, leader, number, leaders, levels;
    int tasks; /* less than 0: failed */
} staged_t;

static int goes_up(xylem_coll_t coll)
{
    return coll != XYLEM_COLL_BCAST;
}

static int goes_down(xylem_coll_t coll)
{
    return coll != XYLEM_COLL_REDUCE;
}

static uint32_t phases_of(xylem_coll_t coll, uint32_t levels)
{
    uint32_t up = goes_up(coll) ? 2 + 2 * levels : 1;

    return up + (goes_down(coll) ? levels + 1 : 1);
}

static uint64_t message_bytes(const xyl_device_plan_t *plan)
{
    return plan->count * plan->element_bytes;
}

/* Places of a room begin at multiples of a line. */
static uint64_t place_bytes(const xyl_device_plan_t *plan)
{
    return (message_bytes(plan) + 255) / 256 * 256;
}

static char *place_of(const staged_t *staged, uint32_t rank, uint32_t place)
{
    char *room = xyl_device_operand(
        staged->plan, rank, &xyl_device_offer(staged->plan, rank)->input);

    return room == NULL ? NULL : room + place * place_bytes(staged->plan);
}

static void copy(staged_t *staged, char *to, const char *from)
{
    xyl_device_task_t *task = &staged->plan->tasks[0];

    if (to == NULL || from == NULL) {
        staged->tasks = -1;
        return;
    }
    task->is_moves = 1;
    task->does.moves.count = 1;
    task->does.moves.blocks = 0;
    task->does.moves.move[0] =
        (xyl_cuda_move_t){to, from, message_bytes(staged->plan)};
    staged->tasks = 1;
}

static xyl_cuda_combine_t *combine(staged_t *staged)
{
    xyl_device_task_t *task = &staged->plan->tasks[0];

    task->is_moves = 0;
    xyl_device_combine_fill(staged->plan, staged->plan->count,
                            &task->does.combine);
    staged->tasks = 1;
    return &task->does.combine;
}

static void copy_to_leader(staged_t *staged)
{
    if (staged->rank != staged->leader)
        copy(staged, place_of(staged, staged->leader, COPIES + staged->rank),
             xyl_device_own(&staged->plan->input));
}

/* The leader's own input comes first, the others' in the order of ranks. */
static void combine_copies(staged_t *staged)
{
    const xyl_device_plan_t *plan = staged->plan;
    xyl_cuda_combine_t *does;
    uint32_t rank;

    if (staged->rank != staged->leader)
        return;
    does = combine(staged);
    does->result[does->results++] = place_of(staged, staged->rank, SUM);
    does->input[does->inputs++] = xyl_device_own(&plan->input);
    for (rank = 0; rank < plan->problem.ranks; rank++)
        if (rank != staged->rank &&
            are_together(plan, staged->grouping, rank, staged->rank))
            does->input[does->inputs++] =
                place_of(staged, staged->rank, COPIES + rank);
}

/* Level `level` of the tree: a leader whose number is odd there gives its sum
 * to the even one before it, or takes the result from there. */
static void copy_odd(staged_t *staged, uint32_t level, int is_up)
{
    uint32_t bit = 1u << level, even;
    char *own;

    if (staged->rank != staged->leader || staged->number % (2 * bit) != bit)
        return;
    even = leader_at(staged->plan, staged->grouping, staged->number - bit);
    own = place_of(staged, staged->rank, SUM);
    if (is_up)
        copy(staged, place_of(staged, even, INBOX), own);
    else
        copy(staged, own, place_of(staged, even, SUM));
}

static void take_up(staged_t *staged, uint32_t level)
{
    uint32_t bit = 1u << level;
    xyl_cuda_combine_t *does;

    if (staged->rank != staged->leader || staged->number % (2 * bit) != 0 ||
        staged->number + bit >= staged->leaders)
        return;
    does = combine(staged);
    does->input[does->inputs++] = place_of(staged, staged->rank, SUM);
    does->input[does->inputs++] = place_of(staged, staged->rank, INBOX);
    does->result[does->results++] = place_of(staged, staged->rank, SUM);
}

static void up_write(staged_t *staged, uint32_t phase)
{
    if (phase == 0)
        copy_to_leader(staged);
    else if (phase == 1)
        combine_copies(staged);
    else if (phase % 2 == 0)
        copy_odd(staged, phase / 2 - 1, 1);
    else
        take_up(staged, phase / 2 - 1);
}

static int staged_write(xyl_device_plan_t *plan, grouping_t grouping,
                        uint32_t phase)
{
    staged_t staged = {
        .plan = plan, .grouping = grouping, .rank = plan->problem.rank};
    xylem_coll_t coll = plan->problem.coll;
    uint32_t up;

    staged.leader = leader_of(plan, grouping, staged.rank);
    staged.number = number_of(plan, grouping, staged.leader, &staged.leaders);
    staged.levels = levels_of(staged.leaders);
    up = goes_up(coll) ? 2 + 2 * staged.levels : 1;
    if (phase < up && goes_up(coll))
        up_write(&staged, phase);
    else if (phase < up && staged.rank == first_of(plan))
        copy(&staged, place_of(&staged, staged.rank, SUM),
             xyl_device_own(&plan->input)); /* a broadcast */
    else if (phase >= up && goes_down(coll) && phase < up + staged.levels)
        copy_odd(&staged, staged.levels - 1 - (phase - up), 0);
    else if (phase >= up && plan->result.bytes != 0)
        copy(&staged, xyl_device_own(&plan->result),
             place_of(&staged, staged.leader, SUM));
    return staged.tasks;
}

/* ---- designs ---- */

static uint64_t staged_room_bytes(const xyl_device_plan_t *plan)
{
    return (COPIES + plan->problem.ranks) * place_bytes(plan);
}

static uint64_t pair_room_bytes(const xyl_device_plan_t *plan)
{
    return COPIES * place_bytes(plan);
}

static uint32_t phases_for(const xyl_device_plan_t *plan, grouping_t grouping)
{
    uint32_t leaders;

    (void)number_of(plan, grouping, 0, &leaders);
    return phases_of(plan->problem.coll, levels_of(leaders));
}

#define DESIGN(name, grouping, room, leaders_max)                              \
    static uint32_t name##_phases_max(const xyl_problem_t *problem)            \
    {                                                                          \
        return phases_of(problem->coll, levels_of(leaders_max));               \
    }                                                                          \
    static uint32_t name##_phases(const xyl_device_plan_t *plan)               \
    {                                                                          \
        return phases_for(plan, grouping);                                     \
    }                                                                          \
    static int name##_write(xyl_device_plan_t *plan, uint32_t phase)           \
    {                                                                          \
        return staged_write(plan, grouping, phase);                            \
    }                                                                          \
    static void name##_add_stages(xyl_han_t *han)                              \
    {                                                                          \
        static const xyl_device_design_t design = {                            \
            .room_bytes = (room),                                              \
            .phases_max = name##_phases_max,                                   \
            .phases = name##_phases,                                           \
            .write = name##_write,                                             \
        };                                                                     \
                                                                               \
        xyl_device_stages_add(han, &design);                                   \
    }

DESIGN(cuda_gsb, ONE_GROUP, staged_room_bytes, problem->ranks != 0)
DESIGN(cuda_btb, GROUP_EACH, pair_room_bytes, problem->ranks)
DESIGN(cuda_gsb_btb, GROUP_PER_GPU, staged_room_bytes, problem->ranks)

#define COLLS                                                                  \
    (XYL_COLL_BIT(BCAST) | XYL_COLL_BIT(REDUCE) | XYL_COLL_BIT(ALLREDUCE))

const xyl_algorithm_t xyl_algorithm_cuda_gsb = {
    .name = "cuda_gsb",
    .help = "copies into a leader's GPU, one kernel (Faraji 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_gsb_add_stages,
};

const xyl_algorithm_t xyl_algorithm_cuda_btb = {
    .name = "cuda_btb",
    .help = "copies between GPUs by a binomial tree (Faraji 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_btb_add_stages,
};

const xyl_algorithm_t xyl_algorithm_cuda_gsb_btb = {
    .name = "cuda_gsb_btb",
    .help = "cuda_gsb on each GPU, cuda_btb between GPUs (Faraji 2018)",
    .kind = XYL_ALGORITHM_LEVELS,
    .colls = COLLS,
    .needs = XYL_NEEDS_DEVICE,
    .add_stages = cuda_gsb_btb_add_stages,
};
