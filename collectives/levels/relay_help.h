/* Segments of a relay that go beside the tree. */
#ifndef XYL_COLLECTIVES_LEVELS_RELAY_HELP_H
#define XYL_COLLECTIVES_LEVELS_RELAY_HELP_H

#include "collectives/levels/relay_state.h"

xylem_status_t xyl_relay_help_init(xyl_relay_t *relay, xyl_event_fn sent,
                                   xyl_event_fn received);
void xyl_relay_help_start(xyl_relay_t *relay);
void xyl_relay_help_cancel(xyl_relay_t *relay);
/* A further segment is in place; `arrived` counts it. */
void xyl_relay_help_arrived(xyl_relay_t *relay);
void xyl_relay_help_send(xyl_relay_t *relay);
void xyl_relay_help_receive(xyl_relay_t *relay);
/* If this rank leads: shows the seats that stand by that it is alive. */
void xyl_relay_beat(const xyl_relay_t *relay, uint64_t index);

#endif
