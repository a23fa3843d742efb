/* The library's events: a posting takes one, a completion gives it back. Misuse
 * is reported here. */
#include <stdlib.h>

#include "simulator/inside.h"

void sim_complain(sim_rank_t *rank, const char *text)
{
    const sim_options_t *options = &rank->world->options;

    if (options->complain != NULL) {
        options->complain(options->complain_arg, rank->rank, text);
        return;
    }
    fprintf(stderr, "rank %u: %s\n", rank->rank, text);
    abort();
}

void sim_event_take(sim_rank_t *rank, xyl_event_t *event)
{
    if (event->net != NULL)
        sim_complain(rank, "an event was posted twice");
    event->net = &rank->net;
    event->net_request = NULL;
}

void sim_complete_now(sim_rank_t *rank, xyl_event_t *event,
                      xylem_status_t status)
{
    event->net = NULL;
    event->net_request = NULL;
    sim_charge(rank, rank->world->machine.core.event);
    rank->world->counts.completions++;
    xyl_net_complete(&rank->net, event, status);
}

static void complete_at(sim_rank_t *rank, xyl_event_t *event,
                        xylem_status_t status, sim_time_t time)
{
    sim_item_t *item = sim_item_take(rank->world);

    event->net_request = NULL;
    item->step = SIM_STEP_DONE;
    item->event = event;
    item->status = status;
    sim_deliver(rank->world, time, rank->rank, item);
}

void sim_complete(sim_rank_t *rank, xyl_event_t *event, xylem_status_t status)
{
    sim_world_t *world = rank->world;
    sim_time_t delay = sim_jitter(world);

    /* Only a piece of work of this rank may touch the rank's fifo. */
    if (delay == 0 && world->running == rank)
        sim_complete_now(rank, event, status);
    else
        complete_at(rank, event, status,
                    (rank->now > world->now ? rank->now : world->now) + delay);
}
