#include "collectives/node/kept.h"

#include <pthread.h>

#include "collectives/node/state.h"

enum { KEPT_MAX = 8 }; /* of a context */

xyl_board_t *xyl_kept_put(xylem_context_t *context, xyl_board_t *board,
                          uint64_t parent_key)
{
    xyl_board_t **link = &xyl_node_of_context(context)->kept, *last = NULL;
    uint32_t count = 0;

    board->parent_key = parent_key;
    pthread_mutex_lock(&context->lock);
    board->next_left = *link;
    *link = board;
    while (*link != NULL && count++ < KEPT_MAX)
        link = &(*link)->next_left;
    last = *link; /* the board beyond the last that is kept */
    *link = NULL;
    pthread_mutex_unlock(&context->lock);
    return last;
}

xyl_board_t *xyl_kept_take(xylem_context_t *context, uint64_t parent_key,
                           uint32_t seats)
{
    xyl_board_t **link = &xyl_node_of_context(context)->kept, *board;

    pthread_mutex_lock(&context->lock);
    while (*link != NULL && ((*link)->parent_key != parent_key ||
                             (seats != 0 && (*link)->seats.count != seats)))
        link = &(*link)->next_left;
    board = *link;
    if (board != NULL)
        *link = board->next_left;
    pthread_mutex_unlock(&context->lock);
    return board;
}

xyl_board_t *xyl_kept_take_all(xylem_context_t *context)
{
    xyl_board_t **kept = &xyl_node_of_context(context)->kept, *all;

    pthread_mutex_lock(&context->lock);
    all = *kept;
    *kept = NULL;
    pthread_mutex_unlock(&context->lock);
    return all;
}

xyl_board_offer_t xyl_kept_offer(const xyl_board_t *board)
{
    return board == NULL
               ? (xyl_board_offer_t){.key = 0}
               : (xyl_board_offer_t){
                     board->key, board->next, board->past,
                     xyl_board_get(board,
                                   xyl_board_spare(board, XYL_SPARE_CALLS))};
}

int xyl_kept_offers_equal(const xyl_board_offer_t *a,
                          const xyl_board_offer_t *b)
{
    return a->key == b->key && a->next == b->next && a->past == b->past &&
           a->word == b->word;
}
