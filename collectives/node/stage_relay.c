/* Functions of a node stage for its gate, which calls them while a piece is
 * under way. Relays of levels write segments into the stage's window and
 * publish them. Levels on GPUs read inputs that seats have published, and set
 * words there.
 */
#include "collectives/node/stage_inside.h"

#include <assert.h>
#include <stddef.h>

/* NULL: the piece is not under way. */
static const xyl_node_piece_t *piece_find(const xyl_node_stage_t *node,
                                          uint64_t number)
{
    uint32_t i;

    for (i = 0; i < XYL_NODE_ACTIVE_MAX; i++)
        if (node->active[i].strands_left != 0 &&
            node->active[i].piece == number)
            return &node->active[i];
    return NULL;
}

char *xyl_node_stage_place(const xyl_stage_t *stage, uint64_t index)
{
    const xyl_node_stage_t *node = (const void *)stage;
    uint64_t segments = node->program.segments;
    const xyl_node_piece_t *piece = piece_find(node, index / segments);

    return piece == NULL ? NULL
                         : piece->window + node->program.window_at +
                               index % segments * node->program.segment_bytes;
}

static _Atomic uint64_t *segment_word(const xyl_node_stage_t *node,
                                      const xyl_node_piece_t *piece,
                                      uint64_t index)
{
    return xyl_board_word(node->board, piece->slot,
                          node->program.first_word +
                              (uint32_t)(index % node->program.segments));
}

void xyl_node_stage_publish(const xyl_stage_t *stage, uint64_t index)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_piece_t *piece =
        piece_find(node, index / node->program.segments);

    assert(piece != NULL);
    xyl_board_set(node->board, segment_word(node, piece, index),
                  xyl_node_posted(piece), XYL_BOARD_ALL);
}

int xyl_node_stage_is_published(const xyl_stage_t *stage, uint64_t index)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_piece_t *piece =
        piece_find(node, index / node->program.segments);

    return piece != NULL &&
           xyl_board_get(node->board, segment_word(node, piece, index)) ==
               xyl_node_posted(piece);
}

/* The last beat of a leader: the leader has let the piece go. */
enum { LAST_BEAT = (1 << XYL_BOARD_COUNT_BITS) - 1 };

/* A broadcast adds nothing up, so the word of the first segment's sum is free
 * for a lane's beats. */
static _Atomic uint64_t *beat_word(const xyl_node_stage_t *node,
                                   const xyl_node_piece_t *piece)
{
    return &xyl_board_sums(node->board, piece->slot)
                ->segments[node->program.first_word];
}

uint64_t xyl_node_stage_beats(const xyl_stage_t *stage, uint64_t index)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_piece_t *piece =
        piece_find(node, index / node->program.segments);
    uint64_t value = 0, none;

    if (piece == NULL)
        return 0;
    none = xyl_board_value(piece->number, 0);
    value = xyl_board_get(node->board, beat_word(node, piece));
    return value < none ? 0 : value - none;
}

void xyl_node_stage_beat(const xyl_stage_t *stage, uint64_t index)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_piece_t *piece =
        piece_find(node, index / node->program.segments);
    uint64_t beats = xyl_node_stage_beats(stage, index);

    /* Partner: the load in xyl_node_stage_beats. No seat sleeps on the word. */
    if (piece != NULL && beats + 1 < LAST_BEAT)
        atomic_store_explicit(beat_word(node, piece),
                              xyl_board_value(piece->number, beats + 1),
                              memory_order_release);
}

void xyl_node_stage_let_go(const xyl_stage_t *stage, uint64_t piece)
{
    const xyl_node_stage_t *node = (const void *)stage;
    const xyl_node_piece_t *found = piece_find(node, piece);

    assert(found != NULL);
    xyl_board_set(node->board, beat_word(node, found),
                  xyl_board_value(found->number, LAST_BEAT), XYL_BOARD_ALL);
}

int xyl_node_stage_is_let_go(const xyl_stage_t *stage, uint64_t piece)
{
    const xyl_node_stage_t *node = (const void *)stage;

    return xyl_node_stage_beats(stage, piece * node->program.segments) ==
           LAST_BEAT;
}

/* ---- input with words ---- */

int xyl_node_stage_has_come(xyl_stage_t *stage, uint32_t seat)
{
    xyl_node_stage_t *node = (xyl_node_stage_t *)(void *)stage;
    const xyl_node_piece_t *piece = piece_find(node, 0);
    const xyl_board_line_t *line;

    if (piece == NULL)
        return 0;
    line = xyl_board_line(piece->slot, seat);
    return xyl_board_get(node->board, &line->count) >=
               xyl_board_value(piece->number, 1) &&
           (seat == node->board->seats.own ||
            xyl_node_is_alike(&node->share, line, seat));
}

char *xyl_node_stage_input(const xyl_stage_t *stage, uint32_t seat)
{
    const xyl_node_stage_t *node = (const void *)stage;

    return xyl_node_address(node, piece_find(node, 0),
                            xyl_position_of(XYL_BUFFER_INPUT, seat, 0), 0);
}

void xyl_node_stage_set(const xyl_stage_t *stage, _Atomic uint64_t *word,
                        uint64_t value)
{
    const xyl_node_stage_t *node = (const void *)stage;

    xyl_board_set(node->board, word, value, XYL_BOARD_ALL);
}

uint64_t xyl_node_stage_get(const xyl_stage_t *stage,
                            const _Atomic uint64_t *word)
{
    const xyl_node_stage_t *node = (const void *)stage;

    return xyl_board_get(node->board, word);
}
