/* A schedule: the actions of one rank in a collective, and for each the actions
 * that it waits for. Algorithms are functions that write schedules; the
 * exchange stage runs them. An action starts when all that it waits for are
 * finished; it waits for nothing else.
 *
 * Actions name pieces of three buffers, so that one schedule serves any number
 * of starts with other addresses. Offsets and counts are in elements, as if
 * they lay one behind the other; a user's buffer may have a layout with gaps,
 * which only the stage knows.
 *
 * A label tells messages between two ranks apart. Both ranks' schedules give a
 * message the same label, which no other message of a schedule has for that
 * peer and direction.
 *
 * Writing never fails in the call: `status` keeps the first error. One thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "collectives/data/position.h"
#include "include/xylem.h"

typedef enum xyl_action_kind {
    XYL_ACTION_SEND,
    XYL_ACTION_RECV,
    XYL_ACTION_REDUCE, /* to = left op right */
    XYL_ACTION_COPY,   /* to = left */
    XYL_ACTION_NOTHING /* joins: many may wait for it */
} xyl_action_kind_t;

typedef uint32_t xyl_action_t; /* the number of an action */
#define XYL_ACTION_NONE UINT32_MAX

typedef struct xyl_action_entry {
    xyl_action_kind_t kind;
    uint32_t peer;        /* SEND, RECV: rank in the team */
    uint32_t label;       /* the same */
    uint32_t waits;       /* actions that this one waits for */
    uint32_t before;      /* head of the list of those that wait for this one;
                             XYL_ACTION_NONE: empty */
    uint64_t count;       /* elements */
    xyl_position_t to;    /* RECV, REDUCE, COPY */
    xyl_position_t left;  /* SEND, REDUCE, COPY */
    xyl_position_t right; /* REDUCE */
} xyl_action_entry_t;

/* An entry of a list of the actions that wait for one. Entries are linked by
 * index, so that their array can grow. */
typedef struct xyl_order {
    uint32_t action;
    uint32_t next; /* XYL_ACTION_NONE: the last */
} xyl_order_t;

typedef struct xyl_schedule {
    xyl_action_entry_t *actions;
    uint32_t count, capacity;
    xyl_order_t *orders;
    uint32_t order_count, order_capacity;
    /* The highest label plus 1; the stage's sequence numbers follow from it. If
     * ranks differ in it, the writer sets a bound that is equal on all. */
    uint32_t labels;
    uint32_t flight_max;  /* sends, and receives, under way at once; 0: any
                             number. A limit needs ranks that post the
                             messages of a pair in the same order */
    uint64_t temp_count;  /* elements of the temporary buffer */
    size_t element_bytes; /* packed */
    xylem_status_t status;
} xyl_schedule_t;

void xyl_schedule_init(xyl_schedule_t *schedule, size_t element_bytes);
void xyl_schedule_fini(xyl_schedule_t *schedule);

/* A new piece of the temporary buffer for `count` elements, aligned. */
xyl_position_t xyl_schedule_temp(xyl_schedule_t *schedule, uint64_t count);

/* Adds an action, which waits for `after` (XYL_ACTION_NONE: for nothing) and,
 * by xyl_schedule_order, for further ones. A count of 0 adds no action. Both
 * sides then leave the message out, and its function returns XYL_ACTION_NONE;
 * xyl_schedule_reduce and xyl_schedule_copy return `after`. */
xyl_action_t xyl_schedule_send(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_position_t from,
                               uint64_t count, xyl_action_t after);
xyl_action_t xyl_schedule_recv(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_position_t to,
                               uint64_t count, xyl_action_t after);
/* Sends or receives: for code that serves both directions. */
static inline xyl_action_t xyl_schedule_pass(xyl_schedule_t *schedule,
                                             int is_send, uint32_t peer,
                                             uint32_t label, xyl_position_t at,
                                             uint64_t count, xyl_action_t after)
{
    return is_send ? xyl_schedule_send(schedule, peer, label, at, count, after)
                   : xyl_schedule_recv(schedule, peer, label, at, count, after);
}
/* Messages without elements, which are sent nevertheless. */
xyl_action_t xyl_schedule_tell(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label, xyl_action_t after);
xyl_action_t xyl_schedule_hear(xyl_schedule_t *schedule, uint32_t peer,
                               uint32_t label);
/* `left` stands for the lower ranks; `to` may be `left` or `right`. */
xyl_action_t xyl_schedule_reduce(xyl_schedule_t *schedule, xyl_position_t to,
                                 xyl_position_t left, xyl_position_t right,
                                 uint64_t count, xyl_action_t after);
xyl_action_t xyl_schedule_copy(xyl_schedule_t *schedule, xyl_position_t to,
                               xyl_position_t from, uint64_t count,
                               xyl_action_t after);
xyl_action_t xyl_schedule_nothing(xyl_schedule_t *schedule, xyl_action_t after);

/* An action that is finished when both are. If one is XYL_ACTION_NONE, the
 * result is the other. */
xyl_action_t xyl_schedule_join(xyl_schedule_t *schedule, xyl_action_t one,
                               xyl_action_t other);

/* `action` waits for `after`, too. Either may be XYL_ACTION_NONE: then nothing
 * changes. */
void xyl_schedule_order(xyl_schedule_t *schedule, xyl_action_t action,
                        xyl_action_t after);

/* Moves what is written so far by so many elements in SEND and RECV. */
void xyl_schedule_shift(xyl_schedule_t *schedule, uint64_t send_at,
                        uint64_t recv_at);
