/* Collectives of several levels that move all there is at once: which there
 * are, and the frame of their operations. */
#include "collectives/levels/han.h"
#include "collectives/levels/parts.h"
#include "runtime/base/status.h"

typedef xylem_status_t (*add_fn)(xyl_han_t *han);

static const add_fn table[XYLEM_COLL_COUNT] = {
    [XYLEM_COLL_GATHER] = xyl_han_add_gather,
    [XYLEM_COLL_GATHERV] = xyl_han_add_gatherv,
    [XYLEM_COLL_SCATTER] = xyl_han_add_scatter,
    [XYLEM_COLL_SCATTERV] = xyl_han_add_scatterv,
    [XYLEM_COLL_ALLGATHER] = xyl_han_add_allgather,
    [XYLEM_COLL_ALLGATHERV] = xyl_han_add_allgather,
    [XYLEM_COLL_ALLTOALL] = xyl_han_add_alltoall,
    [XYLEM_COLL_ALLTOALLV] = xyl_han_add_alltoall,
    [XYLEM_COLL_ALLTOALLW] = xyl_han_add_alltoall,
    [XYLEM_COLL_REDUCE_SCATTER] = xyl_han_add_reduce_scatter,
    [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = xyl_han_add_reduce_scatter,
    [XYLEM_COLL_SCAN] = xyl_han_add_scan,
    [XYLEM_COLL_EXSCAN] = xyl_han_add_scan,
};

int xyl_han_is_whole(xylem_coll_t coll)
{
    return table[coll] != NULL;
}

/* Where it pays: bytes of a block, or of the message; and of all blocks. */
typedef struct worth {
    uint64_t bytes_max, all_min, all_max;
} worth_t;

/* Between more nodes, or larger ones, trees of single ranks end sooner, unless
 * the message is short: one rank of the root's node combines what the others of
 * it have. Bytes of all ranks of a node. */
enum {
    REDUCE_NODES_MAX = 4,
    REDUCE_RANKS_MAX = 4,
    REDUCE_NODE_BYTES_MAX = 32 << 10
};

#define ANY UINT64_MAX
/* No rank knows how long blocks are everywhere. */
#define NEVER 0, ANY, 0
#define KIB   ((uint64_t)1 << 10)

/* Simulated with 4 nodes of 32 ranks, 8 and 32 of 8, and 64 of 32. */
static const worth_t worths[XYLEM_COLL_COUNT] = {
    [XYLEM_COLL_GATHER] = {64 * KIB, 0, ANY},
    [XYLEM_COLL_GATHERV] = {ANY, 0, ANY},
    [XYLEM_COLL_SCATTER] = {128, 0, ANY},
    [XYLEM_COLL_SCATTERV] = {ANY, 0, ANY},
    [XYLEM_COLL_ALLGATHER] = {ANY, 0, 1024 * KIB},
    [XYLEM_COLL_ALLGATHERV] = {ANY, 0, 1024 * KIB},
    [XYLEM_COLL_ALLTOALL] = {64, 0, ANY},
    [XYLEM_COLL_ALLTOALLV] = {NEVER},
    [XYLEM_COLL_ALLTOALLW] = {NEVER},
    [XYLEM_COLL_REDUCE_SCATTER] = {ANY, 32 * KIB, 256 * KIB},
    [XYLEM_COLL_REDUCE_SCATTER_BLOCK] = {ANY, 32 * KIB, 256 * KIB},
    [XYLEM_COLL_SCAN] = {64 * KIB, 0, ANY},
    [XYLEM_COLL_EXSCAN] = {64 * KIB, 0, ANY},
};

static int reduce_is_worth(xylem_team_t *team, uint64_t bytes)
{
    const xyl_levels_t *levels = xyl_team_levels(team);

    return (levels->nodes <= REDUCE_NODES_MAX &&
            levels->largest <= REDUCE_RANKS_MAX) ||
           bytes <= REDUCE_NODE_BYTES_MAX / levels->largest;
}

/* Seats without a node to deal with would look on. */
static int alltoall_is_worth(xylem_team_t *team, uint64_t bytes)
{
    const xyl_levels_t *levels = xyl_team_levels(team);

    return levels->nodes >= levels->largest &&
           xyl_han_alltoall_fits(team, levels, bytes);
}

/* Then levels pay without several ranks on a node. */
static int has_switches(xylem_team_t *team)
{
    const xyl_levels_t *levels = xyl_team_levels(team);

    return levels != NULL && xyl_levels_switches(levels) != NULL;
}

int xyl_han_is_worth(xylem_team_t *team, const xyl_problem_t *problem)
{
    const worth_t *worth = &worths[problem->coll];
    uint64_t bytes = problem->count * problem->element_bytes;
    uint64_t all = bytes * problem->ranks;

    if (!xyl_han_is_whole(problem->coll) && has_switches(team))
        return 1;
    if (!xyl_han_pays(team))
        return 0;
    if (problem->coll == XYLEM_COLL_REDUCE)
        return reduce_is_worth(team, bytes);
    if (!xyl_han_is_whole(problem->coll))
        return 1;
    if (problem->coll == XYLEM_COLL_ALLTOALL && !alltoall_is_worth(team, bytes))
        return 0;
    return bytes <= worth->bytes_max && all >= worth->all_min &&
           all <= worth->all_max;
}

enum {
    LABELS = 64,    /* beyond one per rank, of any schedule here */
    PIECES_MAX = 16 /* of a message, see exchange_stage.c */
};

static uint32_t sequences_of(const xylem_team_t *team)
{
    uint32_t pieces = team->is_one_node ? PIECES_MAX : 1;

    return (team->size / XYL_TEAM_SEGMENT_TAGS + 1) * pieces +
           LABELS * PIECES_MAX / XYL_TEAM_SEGMENT_TAGS + 1;
}

static void set_frame(xyl_han_t *han)
{
    xyl_operation_t *operation = han->operation;

    han->sequences = sequences_of(operation->request.team);
    operation->sequences = XYL_HAN_STAGES * han->sequences;
    operation->moves_at_once = 1;
    operation->has_input = 1; /* all start when they are told to */
    if (operation->segments == 0)
        operation->on_segment = NULL;
}

static void write_nothing(const xyl_han_t *han, const void *arg,
                          xyl_schedule_t *schedule)
{
    (void)han;
    (void)arg;
    (void)schedule;
}

/* A rank that is alone may have nothing to do, but comes to an end as others.
 */
static xylem_status_t add_stages(xyl_han_t *han)
{
    const xyl_han_stage_t nothing = {0};
    xylem_status_t status = table[han->args->coll](han);

    if (status == XYLEM_OK && han->operation->stages == 0)
        status = xyl_han_add_written(han, write_nothing, NULL, &nothing);
    return status;
}

xylem_status_t xyl_han_whole_create(const xyl_call_t *call,
                                    const xyl_choice_t *choice,
                                    xyl_operation_t **operation_out)
{
    xyl_han_t han = {.args = call->args,
                     .sides = &call->sides,
                     .choice = choice,
                     .levels = xyl_team_levels(call->team),
                     .problem = call->problem};
    xylem_status_t status;

    if (han.levels == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team's levels");
    status = xyl_frame_create(call->team, call->args, 0, &han.operation);
    if (status != XYLEM_OK)
        return status;
    set_frame(&han);
    xyl_collective_of(han.operation)->combiner = call->combiner;
    status = xyl_han_find_seats(han.operation, han.levels, &han.seats);
    if (status == XYLEM_OK)
        status = add_stages(&han);
    if (status == XYLEM_OK)
        *operation_out = han.operation;
    else
        xyl_request_discard(&han.operation->request);
    return status;
}
