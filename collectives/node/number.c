/* Gives pieces their numbers in the order of starts, which is the same on all
 * seats. Stages behind a stage that is cut late (program.h) wait for their
 * numbers until the first piece of that stage has ended. */
#include "collectives/node/stage_inside.h"

static void take_strands(xyl_node_stage_t *node, uint32_t begin, uint32_t end,
                         uint32_t step)
{
    node->strands_begin = begin;
    node->strands_end = end;
    node->steps_begin = step;
}

void xyl_node_take_first(xyl_node_stage_t *node)
{
    const xyl_node_program_t *program = &node->program;
    uint64_t bytes = node->board->seats.count * program->cells;

    if (node->extent.pieces != 1 || node->extent.bytes != bytes)
        xyl_board_take(node->board, 1, bytes, program->all_wait, &node->extent);
    else
        xyl_board_take_again(node->board, &node->extent);
    node->extent.is_marked |= node->marks_pieces;
    take_strands(node, 0, program->first_strands, 0);
    node->largest = program->largest;
    node->pieces_left = 1;
    node->state = XYL_NODE_FIRST;
    xyl_node_share_number(node);
}

/* 1: a seat uses few cells of a window, and takes only their page faults. */
static int is_sparse(const xyl_node_program_t *program)
{
    return program->cell != 0 && !program->all_wait;
}

static void take_extent(xyl_node_stage_t *node)
{
    const xyl_node_program_t *program = &node->program;

    if (program->is_cut_late || node->extent.pieces == 0) {
        xyl_board_take(node->board, program->pieces,
                       node->board->seats.count * program->input_bytes +
                           program->board_bytes,
                       program->all_wait, &node->extent);
        node->extent.is_marked |= node->marks_pieces;
        node->extent.is_sparse = is_sparse(program);
    } else {
        xyl_board_take_again(node->board, &node->extent);
    }
    node->together_left = node->together;
}

void xyl_node_number_pieces(xyl_node_stage_t *node)
{
    const xyl_node_program_t *program = &node->program;

    if (node->first == node) {
        take_extent(node);
        xyl_node_share_number(node);
    } else { /* the first of the joined stages has taken them for all */
        node->extent = node->first->extent;
        node->share.past = node->extent.past;
    }
    node->pieces_left = program->pieces;
    node->strands_left = program->pieces * node->own_strands;
    node->state = XYL_NODE_NUMBERED;
    if (program->is_cut_late)
        take_strands(node, program->first_strands, program->strands,
                     program->first_steps);
}

int xyl_node_first_ends(xyl_node_stage_t *node)
{
    node->stage.operation->looks_without_event = 0;
    node->pieces_begun = 0;
    xyl_node_cut_now(&node->program, node->largest);
    if (node->program.pieces != 0)
        xyl_node_number_pieces(node);
    else
        node->state = XYL_NODE_NUMBERED;
    return node->pieces_left == 0;
}

static int first_is_skipped(xyl_node_stage_t *node, unsigned *did)
{
    *did += xyl_node_skip_pieces(node, 1);
    if (node->pieces_left != 0)
        return 0;
    node->largest = 0;
    (void)xyl_node_first_ends(node);
    return 1;
}

/* Runs the first piece. 1: it has ended. */
static int first_run(xyl_node_stage_t *node, unsigned *did)
{
    xyl_node_piece_t *piece = &node->active[0];

    if (node->state == XYL_NODE_NEW)
        xyl_node_take_first(node);
    /* Wait for the input even if this seat hands nothing: the stage that brings
     * the input may write where others' blocks will lie, or have this stage
     * skipped. */
    if (!node->has_input)
        return 0;
    if (node->is_skipped)
        return first_is_skipped(node, did);
    if (node->pieces_begun == 0) {
        if (!xyl_board_begin(node->board, &node->extent, 0, &piece->window))
            return 0;
        xyl_node_piece_begin(node, piece);
        ++*did;
    }
    if (piece->strands_left != 0)
        *did += xyl_node_piece_run(node, piece);
    if (piece->strands_left != 0)
        return 0;
    (void)xyl_node_first_ends(node);
    return 1;
}

unsigned xyl_node_number(xyl_board_t *board)
{
    xyl_node_stage_t *node;
    unsigned did = 0;

    for (node = board->unnumbered; node != NULL; node = board->unnumbered) {
        if (!node->program.is_cut_late)
            xyl_node_number_pieces(node);
        else if (!first_run(node, &did))
            break;
        board->unnumbered = TAILQ_NEXT(node, others);
    }
    return did;
}
