#include "collectives/levels/relay_state.h"

#include "runtime/base/bits.h"

void xyl_relay_send(xyl_relay_t *relay, xyl_edge_t *edge)
{
    uint64_t index;

    while ((index =
                xyl_edge_pick(edge, xyl_bits_from(relay->ready, edge->base))) !=
           XYL_EDGE_NO_INDEX)
        xyl_stage_send(&relay->stage, edge, index,
                       xyl_relay_place(relay, index));
}

void xyl_relay_receive(xyl_relay_t *relay, xyl_edge_t *edge)
{
    uint64_t index;

    /* XYL_EDGE_NO_INDEX is larger, too. */
    while ((index = xyl_edge_pick(edge, UINT64_MAX)) < relay->open)
        xyl_stage_recv(&relay->stage, edge, index,
                       xyl_relay_place(relay, index));
}

/* A piece has at most as many segments as a slot has words. */
int xyl_relay_has_piece(const xyl_relay_t *relay, uint64_t piece)
{
    uint64_t first = piece * relay->segments;
    uint64_t count = relay->stage.count - first;
    uint64_t all = UINT64_MAX >> (XYL_BOARD_WORDS - relay->segments);

    if (count < relay->segments)
        all = UINT64_MAX >> (XYL_BOARD_WORDS - count);
    return (xyl_bits_from(relay->ready, first) & all) == all;
}

uint64_t xyl_relay_piece_end(const xyl_relay_t *relay, uint64_t piece)
{
    uint64_t end = (piece + 1) * relay->segments;

    return end < relay->stage.count ? end : relay->stage.count;
}

/* 1: no edge needs indexes below `end` any more. */
static int asides_are_past(const xyl_aside_t *asides, uint32_t count,
                           uint64_t end)
{
    uint32_t i;

    for (i = 0; i < count; i++)
        if (asides[i].state == ASIDE_OFFERED ||
            (asides[i].state == ASIDE_GOES && asides[i].edge.base < end))
            return 0;
    return 1;
}

static int tree_is_past(const xyl_relay_t *relay, uint64_t piece, uint64_t end)
{
    uint32_t i;

    if (!xyl_relay_leads(relay)) /* the leader lets the piece go */
        return relay->edges.child_count == 0 ||
               xyl_node_stage_is_let_go(relay->spec.node, piece);
    if (relay->edges.has_parent && relay->edges.parent.base < end)
        return 0;
    for (i = 0; i < relay->edges.child_count; i++)
        if (relay->edges.children[i].base < end ||
            relay->words[i].pieces <= piece)
            return 0;
    return 1;
}

int xyl_relay_is_past(const xyl_relay_t *relay, uint64_t piece)
{
    uint64_t end = xyl_relay_piece_end(relay, piece);

    return xyl_relay_has_piece(relay, piece) &&
           tree_is_past(relay, piece, end) &&
           asides_are_past(relay->helped, XYL_RELAY_HELPED_MAX, end) &&
           asides_are_past(relay->helpers, XYL_RELAY_HELPERS_MAX, end);
}

void xyl_relay_stop_asking(xyl_relay_t *relay)
{
    xyl_timer_stop(&xyl_relay_context(relay)->engine.timers, &relay->timer);
    xyl_notice_leave(&relay->reader);
}

/* Does nothing before all segments are emitted. Then completes the stage if
 * other ranks need no segment any more; else releases it, if windows hold the
 * segments. */
void xyl_relay_check(xyl_relay_t *relay)
{
    if (relay->emitted != relay->stage.count || relay->stage.is_complete)
        return;
    if (relay->spec.node == NULL && xyl_relay_is_past(relay, relay->pieces - 1))
        relay->passed = relay->pieces;
    if (relay->passed == relay->pieces && !relay->own.is_posted) {
        xyl_relay_stop_asking(relay);
        xyl_stage_complete(&relay->stage);
    } else if (relay->spec.node != NULL && !relay->stage.is_released) {
        xyl_stage_release(&relay->stage);
    }
}
