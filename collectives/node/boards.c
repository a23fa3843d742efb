#include "collectives/node/boards.h"

#include <stdlib.h>

#include "collectives/node/kept.h"
#include "collectives/node/state.h"
#include "runtime/base/status.h"

int xyl_node_may_have_board(const xylem_team_t *team)
{
    return team->is_one_node && team->context->shm != NULL && team->may_share &&
           team->size >= 2 && team->size <= XYL_BOARD_SEATS_MAX;
}

/* ---- boards that are left ---- */

/* Destroys boards that teams have left: those that all seats have created, or
 * (`all`) each of them. */
static void boards_destroy(xylem_context_t *context, int all)
{
    xyl_board_t **link, *board;

    pthread_mutex_lock(&context->lock);
    link = &xyl_node_of_context(context)->left;
    while (*link != NULL) {
        board = *link;
        if (!all && !xyl_board_is_complete(board)) {
            link = &board->next_left;
            continue;
        }
        *link = board->next_left;
        if (board->has_place)
            xyl_node_place_return(context);
        xyl_board_destroy(board);
        atomic_store_explicit(&xyl_node_of_context(context)->is_short, 0,
                              memory_order_relaxed);
    }
    pthread_mutex_unlock(&context->lock);
}

/* Adds `boards`, linked by next_left, to the boards that teams have left; NULL:
 * none. */
static void boards_put(xylem_context_t *context, xyl_board_t *boards)
{
    xyl_board_t *last = boards;

    if (boards == NULL)
        return;
    while (last->next_left != NULL)
        last = last->next_left;
    pthread_mutex_lock(&context->lock);
    last->next_left = xyl_node_of_context(context)->left;
    xyl_node_of_context(context)->left = boards;
    pthread_mutex_unlock(&context->lock);
}

void xyl_node_boards_leave(xylem_context_t *context, xyl_board_t *boards)
{
    boards_put(context, boards);
    boards_destroy(context, 0);
}

/* Gives up all kept boards. 1: there was one. */
static int kept_give_up(xylem_context_t *context)
{
    xyl_board_t *boards = xyl_kept_take_all(context);

    xyl_node_boards_leave(context, boards);
    return boards != NULL;
}

void xyl_node_board_give_up(xylem_context_t *context, xyl_board_t *board)
{
    if (board == NULL)
        return;
    board->next_left = NULL;
    xyl_node_boards_leave(context, board);
}

/* ---- places ---- */

static int place_draw(xylem_context_t *context)
{
    xyl_node_context_t *node = xyl_node_of_context(context);

    if (atomic_load_explicit(&node->is_short, memory_order_relaxed))
        return 0;
    /* The world team has a place, and so has the pool. */
    if (atomic_fetch_add_explicit(&node->places, 1, memory_order_relaxed) + 2 <
        context->shm->keys_max)
        return 1;
    xyl_node_place_return(context);
    return 0;
}

/* Kept boards have places, too: they are given up if no other place is free. */
int xyl_node_place_draw(xylem_context_t *context)
{
    return context->shm == NULL || /* needs no place; others draw */
           place_draw(context) ||
           (kept_give_up(context) && place_draw(context));
}

void xyl_node_place_return(xylem_context_t *context)
{
    if (context->shm != NULL)
        atomic_fetch_sub_explicit(&xyl_node_of_context(context)->places, 1,
                                  memory_order_relaxed);
}

/* ---- the board ---- */

void xyl_node_team_places(xylem_team_t *team, int has_place, int all_have)
{
    team->may_share = all_have;
    xyl_node_of_team(team)->has_place = has_place && all_have;
    if (has_place && !all_have)
        xyl_node_place_return(team->context);
}

uint64_t xyl_node_longest_window(const xylem_context_t *context)
{
    return context->sizes.window / 2 * 3;
}

/* Attaches the pool with the first board; the caller holds the context's lock.
 */
static xylem_status_t pool_attach(xylem_context_t *context)
{
    xyl_shm_pool_t *pool = &xyl_node_of_context(context)->pool;

    if (pool->memory != NULL ||
        xyl_shm_pool_attach(pool, context->shm, XYL_NODE_POOL_KEY,
                            context->sizes.budget, context->sizes.reuse))
        return XYLEM_OK;
    return xyl_fail(XYLEM_ERR_NO_MEMORY, "no shared memory for windows");
}

static xylem_status_t board_attach(xylem_context_t *context, uint64_t key,
                                   const uint32_t *ranks,
                                   const xyl_group_t *seats,
                                   xyl_board_t **board_out)
{
    xylem_status_t status;

    pthread_mutex_lock(&context->lock); /* one thread attaches at a time */
    status = pool_attach(context);
    if (status == XYLEM_OK)
        status =
            xyl_board_create(context->shm, &xyl_node_of_context(context)->pool,
                             key, ranks, seats->size, seats->rank,
                             xyl_node_longest_window(context), board_out);
    pthread_mutex_unlock(&context->lock);
    return status;
}

xylem_status_t xyl_node_board_create(xylem_team_t *team,
                                     const xyl_group_t *seats, uint64_t key,
                                     xyl_board_t **board_out)
{
    xylem_context_t *context = team->context;
    uint32_t *ranks = malloc(seats->size * sizeof *ranks);
    xylem_status_t status;
    uint32_t i;

    if (ranks == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a board");
    for (i = 0; i < seats->size; i++)
        ranks[i] = xyl_team_world_rank(team, xyl_group_rank(seats, i));
    status = board_attach(context, key, ranks, seats, board_out);
    if (status != XYLEM_OK && kept_give_up(context))
        status = board_attach(context, key, ranks, seats, board_out);
    if (status == XYLEM_OK)
        (*board_out)->has_place = 1;
    /* Teams that are made from now on get no board. */
    if (status != XYLEM_OK)
        atomic_store_explicit(&xyl_node_of_context(context)->is_short, 1,
                              memory_order_relaxed);
    free(ranks);
    return status;
}

xylem_status_t xyl_node_board_locked(xylem_team_t *team,
                                     const xyl_group_t *seats,
                                     xyl_board_t **board_out)
{
    xyl_node_team_t *node = xyl_node_of_team(team);
    xylem_status_t status = XYLEM_OK;

    if (node->board == NULL)
        status = xyl_node_board_create(team, seats, team->key, &node->board);
    *board_out = node->board;
    return status;
}

xylem_status_t xyl_node_board_of(xylem_team_t *team, const xyl_group_t *seats,
                                 xyl_board_t **board_out)
{
    xylem_status_t status;

    pthread_mutex_lock(&team->lock);
    status = xyl_node_board_locked(team, seats, board_out);
    pthread_mutex_unlock(&team->lock);
    return status;
}

xyl_board_t *xyl_node_board_of_team(xylem_team_t *team)
{
    const xyl_group_t seats = xyl_team_all(team);
    xyl_board_t *board;

    return xyl_node_board_of(team, &seats, &board) == XYLEM_OK ? board : NULL;
}

/* ---- boards of earlier teams ---- */

xyl_board_t *xyl_node_board_offered(const xylem_team_t *parent, uint32_t size)
{
    return xyl_kept_take(parent->context, parent->key, size);
}

int xyl_node_team_takes_board(xylem_team_t *team, xyl_board_t *board)
{
    xyl_node_team_t *node = xyl_node_of_team(team);
    uint32_t i;

    if (!xyl_node_may_have_board(team) || board->seats.count != team->size)
        return 0;
    for (i = 0; i < team->size; i++)
        if (board->seats.ranks[i] != xyl_team_world_rank(team, i))
            return 0;
    if (node->has_place) /* the board has a place */
        xyl_node_place_return(team->context);
    node->has_place = 0;
    board->next_left = NULL;
    node->board = board;
    return 1;
}

/* ---- the end ---- */

void xyl_node_boards_end(xylem_context_t *context)
{
    (void)kept_give_up(context);
    boards_destroy(context, 1);
    xyl_shm_pool_detach(&xyl_node_of_context(context)->pool);
}
