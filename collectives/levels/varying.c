#include "collectives/levels/varying.h"

#include <stdlib.h>

#include "collectives/data/limits.h"
#include "collectives/node/node.h"
#include "runtime/base/status.h"

int xyl_han_varying_fits(const xyl_han_t *han)
{
    const xylem_team_t *team = han->operation->request.team;
    uint32_t largest = han->levels->largest;

    return xyl_team_shares(team) &&
           (largest == 1 || xyl_node_would_have_room(team, largest, 1));
}

uint64_t xyl_han_short_max(const xyl_han_t *han, uint32_t node)
{
    const xyl_limits_t *limits = xyl_limits_of(han->operation->request.context);
    uint64_t most = han->levels->nodes <= limits->bundle_few_nodes
                        ? limits->bundle_few
                        : limits->bundle;
    uint64_t room = limits->bundle_slots / xyl_levels_seats(han->levels, node);

    return room < most ? room : most;
}

/* ---- at the root ---- */

xyl_han_block_t xyl_han_block(const xyl_han_t *han, uint32_t node,
                              uint32_t seat)
{
    uint32_t rank = xyl_levels_rank(han->levels, node, seat);

    return (xyl_han_block_t){rank, xyl_problem_block(&han->problem, rank),
                             xyl_problem_block_at(&han->problem, rank)};
}

xyl_han_bundle_t xyl_han_bundle(const xyl_han_t *han, uint32_t node)
{
    xyl_han_bundle_t bundle = {.lie_together = 1};
    uint32_t seat;

    for (seat = 0; seat < xyl_levels_seats(han->levels, node); seat++) {
        xyl_han_block_t block = xyl_han_block(han, node, seat);
        if (block.bytes == 0 || !xyl_han_is_bundled(han, node, block.bytes))
            continue;
        if (bundle.bytes == 0)
            bundle.at = block.at;
        bundle.lie_together &= block.at == bundle.at + bundle.bytes;
        bundle.bytes += block.bytes;
    }
    return bundle;
}

/* ---- stages ---- */

/* Not from the arena: most of it is never touched, and a plan is kept for its
 * next call only if its arena is small. */
static xylem_status_t make_scratch(const xyl_han_t *han)
{
    xyl_operation_t *operation = han->operation;
    uint64_t slot = xyl_han_short_max(han, han->levels->node);

    operation->owned_buffer = malloc(2 * slot * han->seats.size);
    operation->scratch = operation->owned_buffer;
    if (operation->scratch == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a node's blocks");
    return XYLEM_OK;
}

xyl_han_lengths_t *xyl_han_make_slots(const xyl_han_t *han)
{
    xyl_han_lengths_t *lengths =
        xyl_arena_array(&han->operation->request.arena, 1, sizeof *lengths);

    if (lengths == NULL) {
        (void)xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for lengths");
        return NULL;
    }
    lengths->seats = han->seats.size;
    lengths->told = xyl_han_array(han, han->seats.size);
    if (lengths->told == NULL || make_scratch(han) != XYLEM_OK)
        return NULL;
    return lengths;
}

/* Of the side that has them. */
static void set_blocks(xyl_problem_t *problem, const uint64_t *bytes,
                       const uint64_t *at)
{
    if (problem->coll == XYLEM_COLL_GATHERV) {
        problem->recv_counts = bytes;
        problem->recv_displs = at;
    } else {
        problem->send_counts = bytes;
        problem->send_displs = at;
    }
}

xylem_status_t xyl_han_add_root_node(const xyl_han_t *han,
                                     const xyl_han_stage_t *stage)
{
    xyl_problem_t problem = {.coll = han->args->coll,
                             .root = han->leader,
                             .count = han->problem.count,
                             .element_bytes = 1,
                             .is_in_place = xyl_han_is_root(han) &&
                                            han->problem.is_in_place};
    uint64_t *bytes, *at;
    uint32_t seat;

    if (!xyl_han_is_root(han))
        return xyl_han_add_node(han, &problem, stage);
    bytes = xyl_han_array(han, han->seats.size);
    at = xyl_han_array(han, han->seats.size);
    if (bytes == NULL || at == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (seat = 0; seat < han->seats.size; seat++) {
        xyl_han_block_t block = xyl_han_block(han, han->levels->node, seat);
        bytes[seat] = block.bytes;
        at[seat] = block.at;
    }
    set_blocks(&problem, bytes, at);
    return xyl_han_add_node(han, &problem, stage);
}

/* The leader says that all blocks in slots may be as long as these; but what is
 * moved is as long as the longest that seats tell of. */
xylem_status_t xyl_han_add_slots(const xyl_han_t *han,
                                 const xyl_han_lengths_t *lengths,
                                 const xyl_han_stage_t *stage)
{
    xylem_team_t *team = han->operation->request.team;
    uint64_t slot = xyl_han_short_max(han, han->levels->node);
    uint64_t *bytes = xyl_han_array(han, han->seats.size);
    uint64_t *at = xyl_han_array(han, han->seats.size);
    xyl_problem_t problem = {.coll = han->args->coll,
                             .root = han->leader,
                             .count = xyl_han_own_bundled(han),
                             .element_bytes = 1};
    xyl_node_program_t program;
    xylem_status_t status;
    uint32_t seat;

    if (bytes == NULL || at == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (seat = 0; seat < han->seats.size; seat++) {
        bytes[seat] = seat == han->seats.rank ? problem.count : slot;
        at[seat] = seat * slot;
    }
    if (xyl_han_leads(han))
        set_blocks(&problem, bytes, at);
    xyl_node_program_init(&program);
    status = xyl_node_level_write(team, &han->seats,
                                  han->choice->chooser->program(problem.coll),
                                  &problem, &program);
    program.largest = problem.count;
    program.told = lengths == NULL ? NULL : lengths->told;
    if (status == XYLEM_OK)
        status = xyl_han_add_program(han, &program, stage);
    xyl_node_program_fini(&program);
    return status;
}

xylem_status_t xyl_han_add_telling(const xyl_han_t *han,
                                   const xyl_han_lengths_t *lengths,
                                   uint32_t number)
{
    const xyl_han_stage_t stage = {.number = number};
    xyl_node_program_t program;
    xylem_status_t status;

    xyl_node_program_init(&program);
    program.element_bytes = 1;
    xyl_node_cut_late(&program, UINT64_MAX);
    program.largest = xyl_han_own_bundled(han);
    program.told = lengths == NULL ? NULL : lengths->told;
    status = xyl_han_add_program(han, &program, &stage);
    xyl_node_program_fini(&program);
    return status;
}

/* ---- all of it ---- */

static xylem_status_t add_flat(const xyl_han_t *han,
                               const xyl_algorithm_t *algorithm)
{
    const xyl_han_stage_t stage = {.reads = XYL_ROLE_INPUT,
                                   .writes = XYL_ROLE_RESULT};

    return xyl_han_add_flat(han, algorithm, &han->problem, &stage);
}

static xylem_status_t add_others(const xyl_han_t *han,
                                 const xyl_han_varying_t *way)
{
    xylem_status_t status = XYLEM_OK;

    if (han->seats.size > 1)
        status = way->add_levels(han);
    if (status != XYLEM_OK || xyl_han_own_straight(han) == 0)
        return status;
    return way->add_straight(han);
}

xylem_status_t xyl_han_add_varying(xyl_han_t *han, const xyl_han_varying_t *way)
{
    xylem_status_t status = xyl_han_choose_leaders(han, 0, han->problem.root);

    if (status != XYLEM_OK)
        return status;
    if (!xyl_han_varying_fits(han))
        return add_flat(han, way->flat);
    return xyl_han_has_root(han) ? way->add_root(han) : add_others(han, way);
}
