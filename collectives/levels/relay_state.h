/* The state of a relay, and the functions that its two halves share. relay.c is
 * the stage; relay_help.c moves segments beside the tree, past leaders that are
 * late (docs/inside/levels.md, "A late leader"). */
#pragma once

#include "collectives/levels/relay.h"
#include "collectives/node/stage.h"
#include "progress/engine/timer.h"
#include "runtime/core/context.h"
#include "runtime/faults/notice.h"

enum {
    XYL_RELAY_HELPED_MAX = 4, /* ranks that get segments beside the children */
    XYL_RELAY_HELPERS_MAX = 2 /* ranks that send beside the parent */
};

typedef struct xyl_relay xyl_relay_t;

/* A message by which a leader tells its parent in the tree of each piece that
 * it has. */
typedef struct xyl_relay_word {
    xyl_event_t event; /* first */
    xyl_relay_t *relay;
    uint32_t child; /* its index in `edges` */
    int is_posted;
    uint64_t pieces; /* number told so far */
} xyl_relay_word_t;

/* An edge for segments that go, or come, beside the tree. */
typedef struct xyl_aside {
    xyl_edge_t edge; /* its base begins at the first missing segment */
    enum { ASIDE_FREE, ASIDE_OFFERED, ASIDE_GOES } state;
} xyl_aside_t;

struct xyl_relay {
    xyl_stage_t stage;
    xyl_relay_spec_t spec;
    xyl_tree_edges_t edges;
    char *buf;                 /* the message, if there is no window */
    uint64_t pieces, segments; /* of the message; of a piece */
    xyl_aside_t helped[XYL_RELAY_HELPED_MAX], helpers[XYL_RELAY_HELPERS_MAX];
    xyl_relay_word_t own;    /* to the parent */
    xyl_relay_word_t *words; /* of the children, as in `edges` */
    /* These members are set anew in each run, unless marked as kept: */
    uint64_t *ready; /* indexes that can be sent from here */
    uint64_t open;   /* indexes below it have a place */
    uint64_t arrived, emitted, passed /* pieces that are let go */;
    uint64_t seen;    /* `arrived` when the timer was started */
    uint64_t wait_ns; /* of the timer; longer after each question */
    int asks;         /* 1: it has asked, and takes the next offer */
    int looks;        /* the timer fired late; see looks_first */
    uint64_t beats_seen, beats_answered; /* of the leader, at the last look */
    uint32_t asked; /* questions since the last segment came */
    uint32_t helpers_used;
    uint64_t first_ns; /* time when the first index had come */
    uint64_t gap_ns;   /* kept: mean time between two in recent runs */
    xyl_timer_t timer;
    xyl_notice_reader_t reader;
};

static inline xylem_context_t *xyl_relay_context(const xyl_relay_t *relay)
{
    return relay->stage.operation->request.context;
}

static inline int xyl_relay_leads(const xyl_relay_t *relay)
{
    return relay->spec.place == 0;
}

/* Makes the engine look at gates again, because they may be open now. */
static inline void xyl_relay_moved(const xyl_relay_t *relay)
{
    xyl_relay_context(relay)->engine.polled++;
}

static inline char *xyl_relay_place(const xyl_relay_t *relay, uint64_t index)
{
    return relay->spec.node != NULL
               ? xyl_node_stage_place(relay->spec.node, index)
               : xyl_stage_place(&relay->stage, index, relay->buf);
}

/* Send to a child, or to a rank that is helped; receive from the parent, or
 * from a rank that helps. */
void xyl_relay_send(xyl_relay_t *relay, xyl_edge_t *edge);
void xyl_relay_receive(xyl_relay_t *relay, xyl_edge_t *edge);
/* Completes or releases the stage if no more is to be done for that; see
 * relay_state.c. */
void xyl_relay_check(xyl_relay_t *relay);
/* 1: a piece is in the window. */
int xyl_relay_has_piece(const xyl_relay_t *relay, uint64_t piece);
/* 1: no other rank needs this rank's piece any more. */
int xyl_relay_is_past(const xyl_relay_t *relay, uint64_t piece);
/* The index behind the last segment of a piece. */
uint64_t xyl_relay_piece_end(const xyl_relay_t *relay, uint64_t piece);
/* From now on this rank asks no other rank, and hears no question. */
void xyl_relay_stop_asking(xyl_relay_t *relay);

/* ---- relay_help.c: segments that go beside the tree ---- */

xylem_status_t xyl_relay_help_init(xyl_relay_t *relay, xyl_event_fn sent,
                                   xyl_event_fn received);
void xyl_relay_help_start(xyl_relay_t *relay);
void xyl_relay_help_cancel(xyl_relay_t *relay);
/* A further segment is in place; `arrived` counts it. */
void xyl_relay_help_arrived(xyl_relay_t *relay);
void xyl_relay_help_send(xyl_relay_t *relay);
void xyl_relay_help_receive(xyl_relay_t *relay);
/* Shows the stand-bys that this rank is alive, if it leads. */
void xyl_relay_beat(const xyl_relay_t *relay, uint64_t index);
