/* New teams out of old ones. Every rank of the parent puts {color, key, slot,
 * ...} into its row of a table of zeros; an allreduce joins the tables; each
 * rank picks out the rows of its color. */
#include <assert.h>
#include <stdlib.h>

#include "collectives/choose/compose.h"
#include "collectives/data/call_word.h"
#include "collectives/device/way.h"
#include "collectives/node/boards.h"
#include "collectives/node/kept.h"
#include "runtime/base/status.h"
#include "runtime/core/team.h"
#include "runtime/faults/failure.h"
#include "runtime/faults/notice.h"

typedef struct row {
    uint32_t color;
    uint32_t key;
    uint32_t slot; /* XYL_TEAM_SLOTS: the rank has none left */
    uint32_t parent_rank;
    uint32_t serial;    /* of the rank's teams: never used twice */
    uint32_t has_place; /* in the memory of its node */
    xyl_board_offer_t offer;
} row_t;

typedef struct team_request {
    xylem_request_t request; /* first: what the user holds */
    row_t *table;           /* [size of the parent]; belongs to the allreduce */
    xylem_team_t *reserved; /* the team's memory; NULL: without a color */
    uint32_t slot;
    uint32_t color;
    uint32_t number; /* of the parent's children */
    int has_place;
    struct xyl_board *offered; /* NULL: none, or the team has it */
    xylem_team_t **team_out;
} team_request_t;

static int compare_rows(const void *a, const void *b)
{
    const row_t *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->parent_rank < y->parent_rank ? -1 : 1;
}

/* Keeps the rows of `color`, sorted by (key, rank in parent). */
static uint32_t pick_members(row_t *table, uint32_t size, uint32_t color)
{
    uint32_t i, count = 0;

    for (i = 0; i < size; i++)
        if (table[i].color == color)
            table[count++] = table[i];
    qsort(table, count, sizeof *table, compare_rows);
    return count;
}

/* The key of a team: the first member's rank and serial, which is used once. */
static uint64_t key_of(uint32_t first_member, uint32_t serial)
{
    return (uint64_t)(first_member + 1) << 32 | serial;
}

static xylem_team_t *team_of_members(team_request_t *request, uint32_t count)
{
    const xylem_team_t *parent = request->request.team;
    xylem_team_t *team = request->reserved;
    uint32_t i, rank = 0;
    int all_have_places = 1, all_offer = request->table[0].offer.key != 0;

    assert(count > 0); /* the caller's own row is among them */
    for (i = 0; i < count; i++) {
        const row_t *row = &request->table[i];
        team->world_ranks[i] = xyl_team_world_rank(parent, row->parent_rank);
        team->peer_slots[i] = (uint16_t)row->slot;
        all_have_places &= row->has_place != 0;
        all_offer &=
            xyl_kept_offers_equal(&row->offer, &request->table[0].offer);
        if (row->parent_rank == parent->rank)
            rank = i;
    }
    request->reserved = NULL;
    xyl_team_create(parent->context, team, rank, count, request->slot,
                    key_of(team->world_ranks[0], request->table[0].serial));
    xyl_failure_inherit(team, parent, request->number);
    xyl_node_team_places(team, request->has_place, all_have_places);
    if (all_offer && xyl_node_team_takes_board(team, request->offered)) {
        xyl_device_memory_goes_on(team, request->table[0].offer.word);
        request->offered = NULL;
    }
    return team;
}

static xylem_status_t table_read(team_request_t *request,
                                 xylem_team_t **team_out)
{
    uint32_t i, size = request->request.team->size;

    /* Looks at all rows, so that all ranks decide alike. */
    for (i = 0; i < size; i++)
        if (request->table[i].slot == XYL_TEAM_SLOTS)
            return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                            "rank %u is in %d teams already; destroy some", i,
                            XYL_TEAM_SLOTS);
    *team_out = NULL;
    if (request->color != XYLEM_COLOR_NONE)
        *team_out = team_of_members(
            request, pick_members(request->table, size, request->color));
    return XYLEM_OK;
}

/* The table has arrived, or cannot. Runs as the callback of the allreduce. */
static void table_done(void *arg, xylem_status_t status)
{
    team_request_t *request = arg;
    xylem_team_t *team = NULL;

    /* Other ranks may have the table, and send to the slot: it is not used
     * again. */
    if (status != XYLEM_OK) {
        xyl_failure_unmade(request->request.team, request->number);
        request->slot = XYL_TEAM_SLOTS;
    } else {
        status = table_read(request, &team);
    }
    if (team == NULL && request->slot != XYL_TEAM_SLOTS)
        xyl_context_slot_release(request->request.context, request->slot);
    if (team == NULL && request->has_place)
        xyl_node_place_return(request->request.context);
    xyl_team_unreserve(request->request.context, request->reserved);
    xyl_node_board_give_up(request->request.context, request->offered);
    if (status == XYLEM_OK)
        *request->team_out = team;
    xyl_notices_team_ended(request->request.context);
    xyl_request_complete(&request->request, status);
}

static void fill_row(team_request_t *request, uint32_t key, uint32_t size)
{
    const xylem_team_t *parent = request->request.team;
    row_t *row = &request->table[parent->rank];

    /* A rank without a color needs no slot. */
    request->slot = 0;
    if (request->color != XYLEM_COLOR_NONE)
        request->slot = xyl_context_slot_acquire(parent->context);
    request->has_place = request->color != XYLEM_COLOR_NONE &&
                         xyl_node_place_draw(parent->context);
    request->offered = request->color == XYLEM_COLOR_NONE
                           ? NULL
                           : xyl_node_board_offered(parent, size);
    *row = (row_t){request->color,
                   key,
                   request->slot,
                   parent->rank,
                   1 + atomic_fetch_add_explicit(&parent->context->teams_made,
                                                 1, memory_order_relaxed),
                   (uint32_t)request->has_place,
                   xyl_kept_offer(request->offered)};
    if (request->color == XYLEM_COLOR_NONE)
        request->slot = XYL_TEAM_SLOTS; /* nothing to give back */
}

/* `size`: ranks of the new team; 0: this rank does not know. */
static xylem_status_t split_begin(xylem_team_t *parent, uint32_t color,
                                  uint32_t key, uint32_t size,
                                  xylem_team_t **team_out,
                                  xylem_request_t **request_out)
{
    team_request_t *request = (team_request_t *)(void *)xyl_request_create(
        parent, &xyl_request_beside, sizeof *request);
    xylem_status_t status = XYLEM_ERR_NO_MEMORY;
    xyl_operation_t *allreduce;
    void *table;

    if (request == NULL) {
        xyl_compose_refuse(parent, status);
        return status;
    }
    if (color != XYLEM_COLOR_NONE)
        request->reserved = xyl_team_reserve(parent->context, parent->size);
    if (request->reserved != NULL || color == XYLEM_COLOR_NONE)
        status = xyl_compose_table(parent, parent->size * sizeof(row_t), 0,
                                   table_done, request, &table, &allreduce);
    if (status != XYLEM_OK) {
        xyl_team_unreserve(parent->context, request->reserved);
        xyl_request_discard(&request->request);
        xyl_compose_refuse(parent, status);
        return xyl_fail(status, "no memory to make a team");
    }
    allreduce->call = xyl_word_of_split();
    request->table = table;
    request->color = color;
    request->number = 1 + atomic_fetch_add_explicit(&parent->children, 1,
                                                    memory_order_relaxed);
    request->team_out = team_out;
    fill_row(request, key, size);
    xyl_notices_team_begins(parent->context);
    *request_out = &request->request;
    xyl_request_start(&request->request);
    return xyl_request_start(&allreduce->request);
}

/* ---- tickets ---- */

/* The words of a ticket, and a bit of the last. */
enum { MAGIC, SERIAL, RANK, SLOT };
enum { TICKET_MAGIC = 0x78546b74, HAS_PLACE = XYL_SLOT_NOTICES + 1 };

static uint32_t ticket_slot(const xylem_ticket_t *ticket)
{
    return ticket->word[SLOT] & ~(uint32_t)HAS_PLACE;
}

static int ticket_has_place(const xylem_ticket_t *ticket)
{
    return (ticket->word[SLOT] & HAS_PLACE) != 0;
}

xylem_status_t xylem_ticket_draw(xylem_context_t *context,
                                 xylem_ticket_t *ticket_out)
{
    xylem_status_t status = xyl_context_check(context, "xylem_ticket_draw");
    uint32_t slot, serial;

    if (status != XYLEM_OK)
        return status;
    if (ticket_out == NULL)
        return xyl_refuse("xylem_ticket_draw", "ticket_out is NULL");
    slot = xyl_context_slot_acquire(context);
    if (slot == XYL_TEAM_SLOTS)
        return xyl_fail(XYLEM_ERR_NO_RESOURCE,
                        "this rank is in %d teams already; destroy some",
                        XYL_TEAM_SLOTS);
    serial = 1 + atomic_fetch_add_explicit(&context->teams_made, 1,
                                           memory_order_relaxed);
    if (xyl_node_place_draw(context))
        slot |= HAS_PLACE;
    xyl_notices_team_begins(context);
    *ticket_out = (xylem_ticket_t){{TICKET_MAGIC, serial, context->rank, slot}};
    return XYLEM_OK;
}

static int is_ticket(const xylem_context_t *context,
                     const xylem_ticket_t *ticket)
{
    return ticket->word[MAGIC] == TICKET_MAGIC &&
           ticket->word[RANK] < context->ranks &&
           ticket_slot(ticket) < XYL_TEAM_SLOTS;
}

xylem_status_t xylem_ticket_return(xylem_context_t *context,
                                   const xylem_ticket_t *ticket)
{
    xylem_status_t status = xyl_context_check(context, "xylem_ticket_return");

    if (status != XYLEM_OK)
        return status;
    if (ticket == NULL || !is_ticket(context, ticket) ||
        ticket->word[RANK] != context->rank)
        return xyl_refuse("xylem_ticket_return",
                          "this is no ticket of this rank");
    xyl_context_slot_release(context, ticket_slot(ticket));
    if (ticket_has_place(ticket))
        xyl_node_place_return(context);
    xyl_notices_team_ended(context);
    return XYLEM_OK;
}

static xylem_status_t check_tickets(const xylem_context_t *context,
                                    const xylem_ticket_t *tickets,
                                    uint32_t count, uint32_t rank,
                                    const xylem_team_t *const *team_out)
{
    uint32_t i;

    if (tickets == NULL || team_out == NULL || rank >= count ||
        count > context->ranks)
        return xyl_refuse("xylem_team_create",
                          "%u tickets, rank %u: tickets or team_out is NULL, "
                          "or a number is out of range",
                          count, rank);
    for (i = 0; i < count; i++)
        if (!is_ticket(context, &tickets[i]) ||
            (tickets[i].word[RANK] == context->rank) != (i == rank))
            return xyl_refuse(
                "xylem_team_create",
                "number %u is no ticket, or this rank's in the wrong place", i);
    return XYLEM_OK;
}

xylem_status_t xylem_team_create(xylem_context_t *context,
                                 const xylem_ticket_t *tickets, uint32_t count,
                                 uint32_t rank, xylem_team_t **team_out)
{
    xylem_status_t status = xyl_context_check(context, "xylem_team_create");
    int all_have_places = 1;
    xylem_team_t *team;
    uint32_t i;

    if (status == XYLEM_OK)
        status = check_tickets(context, tickets, count, rank,
                               (const xylem_team_t *const *)team_out);
    if (status != XYLEM_OK)
        return status;
    assert(count > 0); /* this rank's ticket is among them */
    team = xyl_team_reserve(context, count);
    if (team == NULL)
        return XYLEM_ERR_NO_MEMORY;
    for (i = 0; i < count; i++) {
        team->world_ranks[i] = tickets[i].word[RANK];
        team->peer_slots[i] = (uint16_t)ticket_slot(&tickets[i]);
        all_have_places &= ticket_has_place(&tickets[i]);
    }
    xyl_team_create(context, team, rank, count, team->peer_slots[rank],
                    key_of(team->world_ranks[0], tickets[0].word[SERIAL]));
    xyl_node_team_places(team, ticket_has_place(&tickets[rank]),
                         all_have_places);
    xyl_notices_team_ended(context);
    *team_out = team;
    return XYLEM_OK;
}

/* ---- public ---- */

static xylem_status_t team_call_check(xylem_team_t *parent,
                                      const void *team_out,
                                      const void *request_out, const char *call)
{
    xylem_status_t status = xyl_team_check(parent, call);

    if (status != XYLEM_OK || (team_out != NULL && request_out != NULL))
        return status;
    xyl_compose_refuse(parent, XYLEM_ERR_INVALID_ARG);
    return xyl_refuse(call, "an output is NULL");
}

xylem_status_t xylem_team_isplit(xylem_team_t *parent, uint32_t color,
                                 uint32_t key, xylem_team_t **team_out,
                                 xylem_request_t **request_out)
{
    xylem_status_t status =
        team_call_check(parent, team_out, request_out, "xylem_team_split");

    if (status != XYLEM_OK)
        return status;
    /* Most calls with the color and key of a dup are one. */
    return split_begin(parent, color, key,
                       color == 0 && key == parent->rank ? parent->size : 0,
                       team_out, request_out);
}

xylem_status_t xylem_team_idup(xylem_team_t *parent, xylem_team_t **team_out,
                               xylem_request_t **request_out)
{
    xylem_status_t status =
        team_call_check(parent, team_out, request_out, "xylem_team_dup");

    if (status != XYLEM_OK)
        return status;
    return split_begin(parent, 0, parent->rank, parent->size, team_out,
                       request_out);
}

/* The position of this rank in the list; XYLEM_COLOR_NONE: it is not there. */
static xylem_status_t find_in_subset(const xylem_team_t *parent,
                                     const uint32_t *ranks, uint32_t count,
                                     uint32_t *position_out)
{
    char *seen = calloc(parent->size, 1);
    xylem_status_t status = XYLEM_OK;
    uint32_t i;

    if (seen == NULL)
        return xyl_fail(XYLEM_ERR_NO_MEMORY, "no memory to make a team");
    *position_out = XYLEM_COLOR_NONE;
    for (i = 0; i < count && status == XYLEM_OK; i++) {
        if (ranks[i] >= parent->size || seen[ranks[i]]) {
            status = xyl_refuse(
                "xylem_team_subset",
                "rank %u is listed twice or outside the parent's %u ranks",
                ranks[i], parent->size);
            continue;
        }
        seen[ranks[i]] = 1;
        if (ranks[i] == parent->rank)
            *position_out = i;
    }
    free(seen);
    return status;
}

xylem_status_t xylem_team_isubset(xylem_team_t *parent, const uint32_t *ranks,
                                  uint32_t count, xylem_team_t **team_out,
                                  xylem_request_t **request_out)
{
    xylem_status_t status =
        team_call_check(parent, team_out, request_out, "xylem_team_subset");
    uint32_t position = XYLEM_COLOR_NONE;

    if (status != XYLEM_OK)
        return status;
    if (ranks == NULL || count == 0)
        status = xyl_refuse("xylem_team_subset", "the list of ranks is empty");
    else
        status = find_in_subset(parent, ranks, count, &position);
    if (status != XYLEM_OK) {
        xyl_compose_refuse(parent, status);
        return status;
    }
    return split_begin(parent, position == XYLEM_COLOR_NONE ? position : 0,
                       position, count, team_out, request_out);
}

xylem_status_t xylem_team_split(xylem_team_t *parent, uint32_t color,
                                uint32_t key, xylem_team_t **team_out)
{
    xylem_request_t *request;
    xylem_status_t status =
        xyl_team_check_may_block(parent, "xylem_team_split");

    if (status == XYLEM_OK)
        status = xylem_team_isplit(parent, color, key, team_out, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}

xylem_status_t xylem_team_dup(xylem_team_t *parent, xylem_team_t **team_out)
{
    xylem_request_t *request;
    xylem_status_t status = xyl_team_check_may_block(parent, "xylem_team_dup");

    if (status == XYLEM_OK)
        status = xylem_team_idup(parent, team_out, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}

xylem_status_t xylem_team_subset(xylem_team_t *parent, const uint32_t *ranks,
                                 uint32_t count, xylem_team_t **team_out)
{
    xylem_request_t *request;
    xylem_status_t status =
        xyl_team_check_may_block(parent, "xylem_team_subset");

    if (status == XYLEM_OK)
        status = xylem_team_isubset(parent, ranks, count, team_out, &request);
    return status == XYLEM_OK ? xyl_request_finish(request) : status;
}
