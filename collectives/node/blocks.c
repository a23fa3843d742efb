#include "collectives/node/blocks.h"

#include <stdlib.h>

#include "collectives/data/description.h"
#include "collectives/data/layout_build.h"
#include "collectives/data/types.h"
#include "runtime/base/status.h"

/* One side. */
typedef struct blocks {
    uint64_t *bytes, *at; /* [ranks], [ranks + 1] */
} blocks_t;

static blocks_t blocks_in(uint64_t *memory, uint32_t ranks)
{
    return (blocks_t){memory, memory + ranks};
}

static void describe_recv(xyl_node_problem_t *problem, blocks_t blocks)
{
    problem->blocks = blocks.bytes;
    problem->block_at = blocks.at;
}

static void describe_send(xyl_node_problem_t *problem, blocks_t blocks)
{
    problem->send_blocks = blocks.bytes;
    problem->send_at = blocks.at;
}

/* `displs` NULL: one behind the other. */
static void count(const uint64_t *counts, const uint64_t *displs, uint64_t unit,
                  uint32_t ranks, blocks_t blocks)
{
    uint64_t sum = 0;
    uint32_t i;

    for (i = 0; i < ranks; i++) {
        blocks.bytes[i] = counts[i] * unit;
        blocks.at[i] = displs == NULL ? sum : displs[i] * unit;
        sum += blocks.bytes[i];
    }
}

static void count_sent(const xylem_coll_args_t *args, const xyl_sides_t *sides,
                       uint32_t ranks, blocks_t blocks)
{
    uint64_t unit = sides->send_is_empty ? 0 : xylem_type_bytes(args->type);

    count(args->send_counts, args->send_displs, unit, ranks, blocks);
}

static void count_received(const xylem_coll_args_t *args,
                           const xyl_sides_t *sides, uint32_t ranks,
                           blocks_t blocks)
{
    int has_own_type =
        args->recv_count != 0 && args->coll != XYLEM_COLL_REDUCE_SCATTER;
    uint64_t unit =
        xylem_type_bytes(has_own_type ? args->recv_type : args->type);

    if (sides->recv_is_empty)
        unit = 0;
    count(args->recv_counts, args->recv_displs, unit, ranks, blocks);
}

/* ---- alltoallw ---- */

/* All blocks of a side are one element of a layout. */
static void measure(uint32_t ranks, blocks_t blocks)
{
    uint32_t i;

    for (i = 0; i < ranks; i++)
        blocks.bytes[i] = blocks.at[i + 1] - blocks.at[i];
}

static xylem_status_t find_typed(xylem_team_t *team,
                                 const xylem_coll_args_t *args,
                                 xyl_sides_t *sides, blocks_t sent,
                                 blocks_t received)
{
    xylem_status_t status = xyl_layout_of_blocks(
        team->context, team->size, args->recv_counts, args->recv_displs,
        args->recv_types, received.at, &sides->recv);

    if (status != XYLEM_OK)
        return status;
    measure(team->size, received);
    if (args->send == XYLEM_IN_PLACE) {
        sides->send = sides->recv;
        xyl_layout_acquire(sides->send);
        return XYLEM_OK;
    }
    status = xyl_layout_of_blocks(team->context, team->size, args->send_counts,
                                  args->send_displs, args->send_types, sent.at,
                                  &sides->send);
    if (status == XYLEM_OK)
        measure(team->size, sent);
    return status;
}

/* ---- any ---- */

/* Arrays of counts that matter on this rank. */
static int receives_blocks(const xylem_team_t *team,
                           const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->recv_varies &&
           (args->coll != XYLEM_COLL_GATHERV || team->rank == args->root);
}

static int sends_blocks(const xylem_team_t *team, const xylem_coll_args_t *args)
{
    return xyl_coll_traits(args->coll)->send_varies &&
           (args->coll != XYLEM_COLL_SCATTERV || team->rank == args->root) &&
           args->send != XYLEM_IN_PLACE;
}

xylem_status_t xyl_node_blocks_find(xylem_team_t *team,
                                    const xylem_coll_args_t *args,
                                    xyl_sides_t *sides,
                                    xyl_node_problem_t *problem,
                                    uint64_t **memory_out)
{
    int sends = sends_blocks(team, args);
    int receives = receives_blocks(team, args);
    uint32_t ranks = team->size;
    size_t side = 2 * (size_t)ranks + 1;
    uint64_t *memory;
    blocks_t sent, received;

    *memory_out = NULL;
    if (!sends && !receives)
        return XYLEM_OK;
    memory = malloc(2 * side * sizeof *memory);
    if (memory == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for counts");
    *memory_out = memory;
    received = blocks_in(memory, ranks);
    sent = blocks_in(memory + side, ranks);
    if (receives)
        describe_recv(problem, received);
    /* The root's of a scatterv are the only ones. */
    if (sends && receives)
        describe_send(problem, sent);
    else if (sends)
        describe_recv(problem, sent);
    if (args->coll == XYLEM_COLL_ALLTOALLW)
        return find_typed(team, args, sides, sent, received);
    if (receives)
        count_received(args, sides, ranks, received);
    if (sends)
        count_sent(args, sides, ranks, sent);
    return XYLEM_OK;
}
