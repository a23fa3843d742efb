/* Numbers of pieces, given in the order of starts, which all seats share. Where
 * the number of pieces follows from blocks of which each seat knows only its
 * own, all tell one another the longest they have, in a piece without window;
 * what was started later has to wait for its numbers until then. */
#include "collectives/node/stage_inside.h"

#include <string.h>

enum { COUNT_TOLD = 1 };

_Static_assert(sizeof(uint64_t) <= XYL_BOARD_INLINE_BYTES,
               "a length lies beside a count");

static void tell_largest(const xyl_node_stage_t *node)
{
    const xyl_board_t *board = node->board;
    uint64_t number = node->extent.number;
    xyl_board_line_t *line =
        xyl_board_line(xyl_board_slot(board, number), board->seats.own);

    memcpy(line->bytes, &node->program.largest, sizeof node->program.largest);
    /* Partner: the load in xyl_node_is_alike. */
    atomic_store_explicit(&line->name, xyl_node_says(node, number),
                          memory_order_relaxed);
    xyl_board_set(board, &line->count, xyl_board_value(number, COUNT_TOLD),
                  XYL_BOARD_ALL);
}

/* 1: those of all seats are seen. */
static int see_largest(xyl_node_stage_t *node)
{
    const xyl_board_t *board = node->board;
    uint64_t number = node->extent.number, largest;
    char *slot = xyl_board_slot(board, number);
    xyl_board_line_t *line;

    for (; node->sizes_seen < board->seats.count; node->sizes_seen++) {
        line = xyl_board_line(slot, node->sizes_seen);
        if (xyl_board_get(board, &line->count) <
                xyl_board_value(number, COUNT_TOLD) ||
            !xyl_node_is_alike(&node->share, xyl_node_says(node, number), slot,
                               node->sizes_seen))
            return 0;
        memcpy(&largest, line->bytes, sizeof largest);
        if (largest > node->largest)
            node->largest = largest;
        if (node->program.told != NULL)
            node->program.told[node->sizes_seen] = largest;
    }
    return 1;
}

/* 1: the program is cut. */
static int size_run(xyl_node_stage_t *node, unsigned *did)
{
    char *window; /* none */

    if (node->state == XYL_NODE_NEW) {
        xyl_board_take(node->board, 1, 0, &node->extent);
        xyl_node_share_number(node);
        node->sizes_seen = 0;
        node->largest = 0;
        node->state = XYL_NODE_COUNTED;
    }
    if (node->state == XYL_NODE_COUNTED) {
        if (!xyl_board_begin(node->board, &node->extent, 0, &window))
            return 0;
        tell_largest(node);
        node->state = XYL_NODE_TOLD;
        ++*did;
    }
    if (!see_largest(node))
        return 0;
    xyl_board_retire(node->board, &node->extent, 0);
    xyl_node_cut_now(&node->program, node->largest);
    node->stage.operation->looks_without_event = 0;
    ++*did;
    return 1;
}

void xyl_node_take_numbers(xyl_node_stage_t *node)
{
    const xyl_node_program_t *program = &node->program;

    if (program->is_cut_late || node->extent.pieces == 0)
        xyl_board_take(node->board, program->pieces,
                       node->board->seats.count * program->input_bytes +
                           program->board_bytes,
                       &node->extent);
    else
        xyl_board_take_again(node->board, &node->extent);
    node->pieces_left = program->pieces;
    node->strands_left = program->pieces * node->own_strands;
    node->state = XYL_NODE_NUMBERED;
    if (!program->is_cut_late)
        xyl_node_share_number(node);
}

unsigned xyl_node_number(xyl_board_t *board)
{
    xyl_node_stage_t *node;
    unsigned did = 0;

    for (node = board->unnumbered; node != NULL; node = node->next) {
        if (node->program.is_cut_late && !size_run(node, &did))
            break;
        xyl_node_take_numbers(node);
        board->unnumbered = node->next;
    }
    return did;
}
