#include "collectives/levels/parts.h"

#include <assert.h>

#include "collectives/data/description.h"
#include "collectives/node/node.h"
#include "collectives/stages/copy_stage.h"
#include "runtime/base/status.h"

/* ---- groups ---- */

static void *array_of(xyl_han_t *han, uint64_t count, size_t bytes)
{
    void *array = NULL;

    if (han->status == XYLEM_OK)
        array = xyl_arena_array(&han->operation->request.arena, (size_t)count,
                                bytes);
    if (array == NULL && han->status == XYLEM_OK)
        han->status = xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for levels");
    return array;
}

void xyl_han_find_seats(xyl_han_t *han)
{
    const xyl_levels_t *levels = han->levels;
    uint32_t seats = xyl_levels_seats(levels, levels->node), seat;
    uint32_t *ranks = array_of(han, seats, sizeof *ranks);

    if (ranks == NULL)
        return;
    for (seat = 0; seat < seats; seat++)
        ranks[seat] = xyl_levels_rank(levels, levels->node, seat);
    han->seats = (xyl_group_t){seats, levels->seat, ranks};
}

/* The seat that leads in turn number `turn` on a node of `seats`. */
static uint32_t seat_of(uint32_t turn, uint32_t seats)
{
    return turn == XYL_HAN_LAST ? seats - 1 : turn % seats;
}

void xyl_han_choose_leaders(xyl_han_t *han, uint32_t turn, uint32_t root)
{
    const xyl_levels_t *levels = han->levels;
    uint32_t *ranks = array_of(han, levels->nodes, sizeof *ranks);
    uint32_t node, root_seat;

    if (ranks == NULL)
        return;
    for (node = 0; node < levels->nodes; node++)
        ranks[node] = xyl_levels_rank(
            levels, node, seat_of(turn, xyl_levels_seats(levels, node)));
    han->leader = seat_of(turn, han->seats.size);
    han->leaders = (xyl_group_t){levels->nodes, levels->node, ranks};
    han->net_root = 0;
    if (root != XYL_HAN_NO_ROOT) {
        xyl_levels_find(levels, root, &han->net_root, &root_seat);
        ranks[han->net_root] = root;
        if (han->net_root == levels->node)
            han->leader = root_seat;
    }
    if (han->nets != NULL)
        han->nets[han->lane].leader = han->leader;
}

uint32_t xyl_han_run(const xyl_levels_t *levels, uint32_t node, uint32_t first)
{
    uint32_t seats = xyl_levels_seats(levels, node), run = 1;
    uint32_t rank = xyl_levels_rank(levels, node, first);

    if (levels->order == NULL)
        return seats - first;
    while (first + run < seats &&
           xyl_levels_rank(levels, node, first + run) == rank + run)
        run++;
    return run;
}

/* ---- memory ---- */

uint64_t *xyl_han_array(xyl_han_t *han, uint64_t count)
{
    return array_of(han, count, sizeof(uint64_t));
}

int xyl_han_find_blocks(xyl_han_t *han, xyl_han_blocks_t *blocks_out)
{
    xyl_han_blocks_t blocks = {xyl_han_array(han, han->seats.size),
                               xyl_han_array(han, han->seats.size)};
    uint32_t seat;

    if (han->status != XYLEM_OK)
        return 0;
    for (seat = 0; seat < han->seats.size; seat++) {
        uint32_t rank = han->seats.ranks[seat];
        blocks.counts[seat] = xyl_problem_block(&han->problem, rank);
        blocks.places[seat] = xyl_problem_block_at(&han->problem, rank);
    }
    *blocks_out = blocks;
    return 1;
}

int xyl_han_find_nodes(xyl_han_t *han)
{
    const xyl_levels_t *levels = han->levels;
    const xyl_han_blocks_t nodes = {xyl_han_array(han, levels->nodes),
                                    xyl_han_array(han, levels->nodes + 1)};
    uint64_t sum = 0;
    uint32_t node, seat;

    if (han->status != XYLEM_OK)
        return 0;
    han->nodes = nodes;
    for (node = 0; node < levels->nodes; node++) {
        nodes.places[node] = sum;
        for (seat = 0; seat < xyl_levels_seats(levels, node); seat++)
            sum += xyl_problem_block(&han->problem,
                                     xyl_levels_rank(levels, node, seat));
        nodes.counts[node] = sum - nodes.places[node];
    }
    nodes.places[node] = sum;
    return 1;
}

void xyl_han_copy_blocks(const xyl_han_t *han, xyl_schedule_t *schedule,
                         uint32_t node, int out)
{
    const xyl_levels_t *levels = han->levels;
    uint64_t at = han->nodes.places[node], count;
    uint32_t seat, rank;
    xyl_position_t place, stored;

    for (seat = 0; seat < xyl_levels_seats(levels, node); seat++, at += count) {
        rank = xyl_levels_rank(levels, node, seat);
        count = xyl_problem_block(&han->problem, rank);
        place = xyl_position(out ? XYL_BUFFER_RECV : XYL_BUFFER_SEND,
                             xyl_problem_block_at(&han->problem, rank));
        stored = xyl_position(out ? XYL_BUFFER_SEND : XYL_BUFFER_RECV, at);
        xyl_schedule_copy(schedule, out ? place : stored, out ? stored : place,
                          count, XYL_ACTION_NONE);
    }
}

static void make_buffer(xyl_han_t *han, uint64_t bytes, void **buffer)
{
    assert(*buffer == NULL);
    if (han->status != XYLEM_OK)
        return;
    if (bytes < SIZE_MAX / 2)
        *buffer =
            xyl_arena_alloc(&han->operation->request.arena, (size_t)bytes + 1);
    if (*buffer == NULL)
        han->status = xyl_fail(XYLEM_ERR_NO_MEMORY,
                               "no memory for %llu bytes on their way",
                               (unsigned long long)bytes);
}

void xyl_han_make_scratch(xyl_han_t *han, uint64_t bytes)
{
    if (han->nets != NULL && xyl_collective_is_mirrored(han->operation) &&
        han->status == XYLEM_OK)
        han->status = xyl_mirror_scratch_take(han->operation, bytes);
    else
        make_buffer(han, bytes, &han->operation->buffers.scratch);
}

void xyl_han_make_spare(xyl_han_t *han, uint64_t bytes)
{
    make_buffer(han, bytes, &han->operation->buffers.spare);
}

/* ---- stages ---- */

xyl_stage_spec_t xyl_han_spec(const xyl_han_t *han, uint32_t number,
                              xyl_role_t reads, xyl_role_t writes)
{
    xyl_stage_spec_t spec =
        xyl_stage_behind(han->operation, han->lane, reads, writes);

    assert(number < XYL_HAN_STAGES);
    spec.is_numbered = 1;
    spec.sequence_at = (han->lane * XYL_HAN_STAGES + number) * han->sequences;
    spec.sequences_max = han->sequences;
    return spec;
}

static xyl_stage_spec_t spec_of(const xyl_han_t *han,
                                const xyl_han_stage_t *stage)
{
    xyl_stage_spec_t spec =
        xyl_han_spec(han, stage->number, stage->reads, stage->writes);

    if (stage->is_apart && han->operation->told.on_segment == NULL &&
        !xyl_collective_is_mirrored(han->operation))
        spec.after = NULL;
    return spec;
}

static const xyl_layout_t *layout_of_role(const xyl_han_t *han, xyl_role_t role)
{
    if (role == XYL_ROLE_INPUT && han->args->send != XYLEM_IN_PLACE)
        return han->sides->send;
    if (role == XYL_ROLE_INPUT || role == XYL_ROLE_RESULT)
        return han->sides->recv;
    return NULL;
}

static xyl_layouts_t layouts_of_stage(const xyl_han_t *han,
                                      const xyl_han_stage_t *stage)
{
    return (xyl_layouts_t){layout_of_role(han, stage->reads),
                           layout_of_role(han, stage->writes)};
}

/* Adds a stage that runs the schedule; frees the schedule. */
static void add_schedule(xyl_han_t *han, const xyl_group_t *group,
                         xyl_schedule_t *schedule, const xyl_han_stage_t *stage)
{
    const xyl_layouts_t layouts = layouts_of_stage(han, stage);
    xyl_stage_spec_t spec = spec_of(han, stage);
    xyl_stage_t *added;

    spec.group = *group;
    xyl_schedule_shift(schedule, stage->send_at, stage->recv_at);
    han->status = schedule->status;
    if (han->status == XYLEM_OK)
        han->status = xyl_exchange_stage_add(han->operation, &spec, schedule,
                                             &layouts, &added);
    if (han->status == XYLEM_OK && stage->trim != NULL)
        xyl_exchange_stage_trim(added, stage->trim, stage->trim_arg);
    xyl_schedule_fini(schedule);
}

void xyl_han_add_written(xyl_han_t *han, xyl_han_write_fn write,
                         const xyl_han_stage_t *stage)
{
    const xyl_group_t all = xyl_team_all(han->operation->request.team);
    xyl_schedule_t schedule;

    if (han->status != XYLEM_OK)
        return;
    xyl_schedule_init(&schedule, han->problem.element_bytes);
    write(han, &schedule);
    add_schedule(han, &all, &schedule, stage);
}

/* Adds the schedule that an algorithm writes for a problem within the group. */
static void add_algorithm(xyl_han_t *han, const xyl_group_t *group,
                          const xyl_algorithm_t *algorithm,
                          const xyl_problem_t *problem,
                          const xyl_han_stage_t *stage)
{
    xyl_schedule_t schedule;

    if (han->status != XYLEM_OK)
        return;
    xyl_schedule_init(&schedule, problem->element_bytes);
    algorithm->write(problem, &schedule);
    add_schedule(han, group, &schedule, stage);
}

void xyl_han_note_net(const xyl_han_t *han)
{
    xyl_han_net_t *net;

    if (han->nets == NULL || han->status != XYLEM_OK)
        return;
    net = &han->nets[han->lane];
    net->leader = han->leader;
    net->last = han->operation->stage[han->operation->stages - 1];
    if (net->first == NULL)
        net->first = net->last;
}

void xyl_han_add_net(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                     const xyl_problem_t *problem, const xyl_han_stage_t *stage)
{
    xyl_problem_t among = *problem;

    among.rank = han->leaders.rank;
    among.ranks = han->leaders.size;
    among.root = han->net_root;
    add_algorithm(han, &han->leaders, algorithm, &among, stage);
    xyl_han_note_net(han);
}

void xyl_han_add_flat(xyl_han_t *han, const xyl_algorithm_t *algorithm,
                      const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage)
{
    const xyl_group_t all = xyl_team_all(han->operation->request.team);

    add_algorithm(han, &all, algorithm, problem, stage);
}

/* ---- the levels of a node on GPUs ---- */

void xyl_han_level_begin(xyl_han_t *han)
{
    const xyl_algorithm_t *on_gpus = han->choice->on_gpus;

    if (han->status != XYLEM_OK || on_gpus == NULL)
        return;
    han->nets = array_of(han, han->operation->lanes, sizeof(xyl_han_net_t));
    if (han->nets != NULL)
        on_gpus->level->begin(han);
}

void xyl_han_level_end(xyl_han_t *han, const xyl_call_t *call)
{
    if (han->status == XYLEM_OK && han->nets != NULL)
        han->choice->on_gpus->level->end(han, call);
}

/* ---- within a node ---- */

void xyl_han_add_program(xyl_han_t *han, xyl_node_program_t *program,
                         const xyl_han_stage_t *stage)
{
    const xyl_layouts_t layouts = layouts_of_stage(han, stage);
    const xyl_stage_spec_t spec = spec_of(han, stage);
    xyl_stage_t *added;

    if (han->status == XYLEM_OK)
        han->status = program->status;
    if (han->status != XYLEM_OK)
        return;
    xyl_node_program_shift(program, stage->send_at * program->element_bytes,
                           stage->recv_at * program->element_bytes);
    han->status = xyl_node_level_add(han->operation, &spec, &han->seats,
                                     program, &layouts, &added);
}

static void add_over_net(xyl_han_t *han, const xyl_problem_t *problem,
                         const xyl_han_stage_t *stage)
{
    xyl_problem_t over_net = *problem;

    over_net.rank = han->seats.rank;
    over_net.ranks = han->seats.size;
    if (xyl_problem_varies(problem))
        over_net.count = xyl_problem_block(problem, han->seats.rank);
    over_net.is_commutative = han->problem.is_commutative;
    add_algorithm(han, &han->seats,
                  xyl_han_choose(han, XYL_TEAM_SEATS, &over_net,
                                 over_net.count * over_net.element_bytes, NULL),
                  &over_net, stage);
}

void xyl_han_write_program(xyl_han_t *han, const xyl_problem_t *problem,
                           xyl_node_program_t *program)
{
    if (han->status == XYLEM_OK)
        han->status =
            xyl_node_level_write(han->operation->request.team, &han->seats,
                                 han->choice->chooser, problem, program);
}

void xyl_han_add_node(xyl_han_t *han, const xyl_problem_t *problem,
                      const xyl_han_stage_t *stage)
{
    xyl_node_program_t program;

    if (!xyl_node_has_room(han->operation->request.team, han->seats.size,
                           problem->element_bytes)) {
        add_over_net(han, problem, stage);
        return;
    }
    xyl_node_program_init(&program);
    xyl_han_write_program(han, problem, &program);
    xyl_han_add_program(han, &program, stage);
    xyl_node_program_fini(&program);
}
