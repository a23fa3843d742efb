#include "collectives/levels/election.h"

#include "collectives/node/programs/parts.h"
#include "runtime/core/context.h"
#include "runtime/core/operation.h"

/* ---- the gate ---- */

static void election_decide(xyl_election_t *election,
                            const xyl_node_claim_t *claim, uint64_t value)
{
    election->is_decided = 1;
    election->decided(election->arg, (uint32_t)(value - claim->base - 1));
}

void xyl_election_claim(xyl_election_t *election)
{
    const xyl_node_claim_t claim = xyl_node_stage_claim(election->stage);
    xyl_shm_t *shm = claim.board->seats.shm;
    uint64_t old = xyl_board_get(claim.board, claim.word);
    uint64_t own = claim.base + 1 + claim.board->seats.own;

    while (old <= claim.base) {
        if (!shm->ops->swap(shm, claim.word, &old, own))
            continue;
        old = own;
        xyl_board_set(claim.board, claim.word, own, XYL_BOARD_ALL); /* wakes */
    }
    election->stage->operation->request.context->engine.polled++; /* goes on */
    election_decide(election, &claim, old);
}

static int may_go_on(void *arg, uint64_t piece, unsigned *did)
{
    xyl_election_t *election = arg;
    xyl_node_claim_t claim;
    uint64_t value;

    (void)piece; /* the first begins before all others */
    if (election->is_decided)
        return 1;
    if (!election->is_open) {
        election->is_open = 1;
        ++*did;
        election->opened(election->arg);
        return election->is_decided;
    }
    claim = xyl_node_stage_claim(election->stage);
    value = xyl_board_get(claim.board, claim.word);
    if (value <= claim.base)
        return 0;
    ++*did;
    election_decide(election, &claim, value);
    return 1;
}

void xyl_election_reset(xyl_election_t *election)
{
    election->is_open = election->is_decided = 0;
}

void xyl_election_hold(xyl_election_t *election)
{
    const xyl_node_gate_t gate = {may_go_on, election};

    xyl_node_stage_set_gate(election->stage, &gate);
}

/* ---- the programs ---- */

/* A segment comes from the seat's own side, or from another seat. */
static void write_for_others(const xyl_problem_t *problem,
                             xyl_node_program_t *program)
{
    xyl_step_t *publish;
    uint32_t segment;

    xyl_node_bcast_cut(problem, program);
    for (segment = 0; segment < program->segments; segment++) {
        publish = xyl_node_bcast_segment(problem, program, segment, 1);
        if (publish != NULL)
            publish->or_next = 1;
        (void)xyl_node_bcast_segment(problem, program, segment, 0);
    }
}

static void write_with_gate(const xyl_problem_t *problem,
                            xyl_node_program_t *program)
{
    const xyl_position_t nowhere = {XYL_BUFFER_RECV, 0, 0};

    write_for_others(problem, program);
    xyl_node_strand(program);
    (void)xyl_node_step(program, XYL_STEP_GATE, nowhere, nowhere, 0);
}

const xyl_algorithm_t xyl_election_bcast = {
    .name = "election",
    .help = "through the shared memory of a node, from whoever leads",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BCAST),
    .program = write_with_gate,
};

const xyl_algorithm_t xyl_election_bcast_for_others = {
    .name = "election",
    .help = "through the shared memory of a node, from whoever leads",
    .kind = XYL_ALGORITHM_NODE,
    .colls = XYL_COLL_BIT(BCAST),
    .program = write_for_others,
};
