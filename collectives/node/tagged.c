#include "collectives/node/tagged.h"

#include <sched.h>
#include <stdlib.h>

#include "collectives/board/berths.h"
#include "collectives/node/boards.h"
#include "collectives/node/state.h"
#include "runtime/base/status.h"

enum { LOOKS = 128, YIELDS = 4 /* per look that shm's patience counts */ };

typedef struct tag {
    xyl_berth_seat_t seat;
    uint32_t requests; /* that may be started again */
    int is_kept;       /* a call that is not persistent has had the tag */
} tag_t;

struct xyl_tagged {
    xyl_board_t *board; /* the team's own, which has the words */
    uint32_t joined;    /* tags that this rank has joined and not left */
    xyl_board_t *berths[XYL_BERTHS + 1];
    tag_t tags[XYLEM_TAG_MAX + 1]; /* a page gets memory when it is used */
};

/* The number of a berth in a key lies above all bits of a team's key, of which
 * the highest are the rank of the team's first member. */
enum { BERTH_AT = 53 };
_Static_assert(XYL_TEAM_SIZE_MAX < 1 << (BERTH_AT - 32) &&
                   XYL_BERTHS < 1 << (64 - BERTH_AT),
               "a berth's number fits above a team's key");

static xyl_berth_words_t *words_of(const xyl_board_t *board)
{
    return (xyl_berth_words_t *)(void *)(board->memory +
                                         board->layout.berths_at);
}

/* The caller holds the team's lock. */
static xylem_status_t tagged_create(xylem_team_t *team, xyl_tagged_t **tagged)
{
    const xyl_group_t seats = xyl_team_all(team);
    xyl_board_t *board;
    xylem_status_t status = xyl_node_board_locked(team, &seats, &board);

    if (status != XYLEM_OK || *tagged != NULL)
        return status;
    *tagged = calloc(1, sizeof **tagged);
    if (*tagged == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory for a team's tags");
    (*tagged)->board = board;
    return XYLEM_OK;
}

static int lacks_board(const xyl_tagged_t *tagged, uint32_t berth)
{
    return berth == 0 ||
           (berth != XYL_BERTH_NONE && tagged->berths[berth] == NULL);
}

/* A new board is dear (kept.h). So a rank that would take a berth without a
 * board first waits a moment if the others still have berths that this rank has
 * left. Otherwise a rank that is ahead would take a new board for each of its
 * requests. */
static void wait_for_leavers(const xyl_tagged_t *tagged, uint32_t number)
{
    const xyl_seats_t *seats = &tagged->board->seats;
    const xyl_berth_words_t *words = words_of(tagged->board);
    uint32_t berth, looks, yields = seats->shm->patience * YIELDS;

    for (looks = seats->shm->patience * LOOKS + yields; looks != 0; looks--) {
        berth = xyl_berth_free(seats, words);
        if (berth <= 1 + tagged->joined ||
            xyl_berth_of(seats, words, number) != 0 ||
            (berth != XYL_BERTH_NONE && tagged->berths[berth] != NULL))
            return;
        if (looks <= yields)
            sched_yield(); /* the others may lack the core */
        else
            xyl_shm_pause();
    }
}

/* A rank takes a berth only with a place in the directory for its board. */
static xylem_status_t berth_open(xylem_team_t *team, xyl_tagged_t *tagged,
                                 uint32_t number)
{
    xyl_berth_seat_t *seat = &tagged->tags[number].seat;
    const xyl_group_t seats = xyl_team_all(team);
    int has_place = xyl_node_place_draw(team->context);
    xylem_status_t status = XYLEM_OK;

    if (seat->berth == 0) {
        wait_for_leavers(tagged, number);
        xyl_berth_join(&tagged->board->seats, words_of(tagged->board), number,
                       seat, has_place);
        tagged->joined++;
    }
    if (lacks_board(tagged, seat->berth)) {
        status = xyl_node_board_create(
            team, &seats, team->key | (uint64_t)seat->berth << BERTH_AT,
            &tagged->berths[seat->berth]);
        if (status == XYLEM_OK) {
            tagged->berths[seat->berth]->has_place = has_place;
            return XYLEM_OK;
        }
    }
    if (has_place)
        xyl_node_place_return(team->context);
    return status;
}

xylem_status_t xyl_node_tag_join(xylem_team_t *team, uint32_t number,
                                 int is_request, int *has_board_out)
{
    xyl_tagged_t **tagged = &xyl_node_of_team(team)->tagged;
    xylem_status_t status;
    tag_t *tag;

    *has_board_out = 0;
    if (!xyl_node_may_have_board(team))
        return XYLEM_OK;
    pthread_mutex_lock(&team->lock);
    status = tagged_create(team, tagged);
    if (status == XYLEM_OK) {
        tag = &(*tagged)->tags[number];
        if (lacks_board(*tagged, tag->seat.berth))
            status = berth_open(team, *tagged, number);
        tag->requests += (uint32_t)(is_request && status == XYLEM_OK);
        tag->is_kept |= !is_request;
        *has_board_out = tag->seat.berth != XYL_BERTH_NONE;
    }
    pthread_mutex_unlock(&team->lock);
    return status;
}

void xyl_node_tag_leave(xylem_team_t *team, uint32_t number)
{
    xyl_tagged_t *tagged = xyl_node_of_team(team)->tagged;
    tag_t *tag;

    if (tagged == NULL)
        return; /* the team has no memory to share */
    pthread_mutex_lock(&team->lock);
    tag = &tagged->tags[number];
    if (tag->requests != 0 && --tag->requests == 0 && !tag->is_kept) {
        xyl_berth_leave(&tagged->board->seats, words_of(tagged->board), number,
                        &tag->seat, xyl_tag_calls(team, number));
        tagged->joined--;
    }
    pthread_mutex_unlock(&team->lock);
}

xyl_board_t *xyl_node_tag_board(xylem_team_t *team, uint32_t number)
{
    xyl_tagged_t *tagged = xyl_node_of_team(team)->tagged;

    return tagged->berths[tagged->tags[number].seat.berth];
}

xyl_board_t *xyl_tagged_end(xyl_tagged_t *tagged, xyl_board_t *boards)
{
    uint32_t berth;

    for (berth = 1; tagged != NULL && berth <= XYL_BERTHS; berth++)
        if (tagged->berths[berth] != NULL) {
            tagged->berths[berth]->next_left = boards;
            boards = tagged->berths[berth];
        }
    free(tagged);
    return boards;
}
