/* Which seat leads a stage: the first that claims to, by the word of the
 * stage's first piece. A seat that waits for this in a step of its own has not
 * retired the piece meanwhile. */
#include "collectives/node/stage_inside.h"

#include "runtime/core/context.h"

void xyl_node_stage_elects(xyl_stage_t *stage,
                           const xyl_node_election_t *election)
{
    ((xyl_node_stage_t *)(void *)stage)->election = *election;
}

static _Atomic uint64_t *claim_of(const xyl_node_stage_t *node)
{
    return xyl_board_claim(node->board,
                           xyl_board_slot(node->board, node->extent.number));
}

static void decide(xyl_node_stage_t *node, uint64_t claim)
{
    uint64_t base = xyl_board_value(node->extent.number, 0);

    node->leader = (uint32_t)(claim - base - 1);
    node->election.decided(node->election.arg, node->leader);
}

void xyl_node_stage_claim(xyl_stage_t *stage)
{
    xyl_node_stage_t *node = (xyl_node_stage_t *)(void *)stage;
    const xyl_board_t *board = node->board;
    _Atomic uint64_t *word = claim_of(node);
    uint64_t base = xyl_board_value(node->extent.number, 0);
    uint64_t old = xyl_board_get(board, word), own = base + 1 + board->seat;

    while (old <= base) {
        if (!board->shm->ops->swap(board->shm, word, &old, own))
            continue;
        old = own;
        xyl_board_set(board, word, own, XYL_BOARD_ALL); /* wakes */
    }
    stage->operation->request.context->engine.polled++; /* it goes on */
    decide(node, old);
}

int xyl_node_elect(xyl_node_stage_t *node, unsigned *did)
{
    uint64_t claim;

    if (node->leader != XYL_BOARD_ALL)
        return 1;
    if (!node->is_open) {
        node->is_open = 1;
        ++*did;
        node->election.opened(node->election.arg);
        return node->leader != XYL_BOARD_ALL;
    }
    claim = xyl_board_get(node->board, claim_of(node));
    if (claim <= xyl_board_value(node->extent.number, 0))
        return 0;
    ++*did;
    decide(node, claim);
    return 1;
}
