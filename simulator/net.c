/* The net as the library calls it, and the inbox of a rank as its core works
 * it off: one item per turn, so that no rank runs far ahead of the others. */
#include <assert.h>
#include <stdlib.h>

#include "simulator/inside.h"

static void net_send(xyl_net_t *net, uint32_t peer, uint64_t tag,
                     const void *buf, size_t bytes, xyl_event_t *event)
{
    sim_rank_t *rank = sim_rank_of(net);

    assert(peer < rank->world->ranks);
    sim_enter(rank);
    sim_event_take(rank, event);
    sim_note(rank->world, tag ^ bytes << 32 ^ peer);
    if (!sim_faults_post(rank, 1, event))
        sim_wire_send(rank, peer, tag, buf, bytes, event);
}

static void net_recv(xyl_net_t *net, uint64_t tag, void *buf, size_t bytes,
                     xyl_event_t *event)
{
    sim_rank_t *rank = sim_rank_of(net);
    sim_receive_t *receive;

    sim_enter(rank);
    sim_event_take(rank, event);
    if (sim_faults_post(rank, 0, event))
        return;
    receive = sim_receive_take(rank->world);
    receive->match.rank = rank->rank;
    receive->match.tag = tag;
    receive->buf = buf;
    receive->bytes = bytes;
    receive->event = event;
    receive->message = NULL;
    event->net_request = receive;
    sim_wire_recv(rank, receive);
}

/* A receive that is matched is given up only when its sender is dead. */
static void net_cancel(xyl_net_t *net, xyl_event_t *event)
{
    sim_rank_t *rank = sim_rank_of(net);
    sim_receive_t *receive = event->net_request;

    if (event->net == NULL || receive == NULL)
        return; /* its completion is on the way */
    sim_enter(rank);
    if (!sim_wire_withdraw(rank, receive))
        return;
    sim_receive_free(rank->world, receive);
    event->net_request = NULL;
    sim_complete(rank, event, XYLEM_ERR_CANCELED);
}

static void work_off(sim_rank_t *rank, sim_item_t *item)
{
    sim_world_t *world = rank->world;

    switch (item->step) {
    case SIM_STEP_NOTICE:
        rank->net.peer_failed(rank->net.peer_arg, item->peer);
        sim_item_free(world, item);
        return;
    case SIM_STEP_DONE:
        if (item->receive != NULL)
            sim_wire_finish_receive(rank, item);
        else
            sim_complete_now(rank, item->event, item->status);
        sim_item_free(world, item);
        return;
    case SIM_STEP_WORK:
        sim_complete_now(rank, item->event, sim_exec_finish(item));
        sim_item_free(world, item);
        return;
    case SIM_STEP_FLAG: /* the turn goes on to the sources, which poll */
        sim_charge(rank, world->machine.core.flag);
        free(item);
        return;
    case SIM_STEP_EAGER:
    case SIM_STEP_OFFER:
    case SIM_STEP_DATA:
    case SIM_STEP_SLOT:
    case SIM_STEP_ACCEPT:
    case SIM_STEP_FINISH:
        sim_wire_step(rank, item);
        return;
    case SIM_STEP_CALL:
    case SIM_STEP_COUNT:
        break;
    }
    assert(0 && "not in an inbox");
}

static unsigned net_progress(xyl_net_t *net)
{
    sim_rank_t *rank = sim_rank_of(net);
    sim_item_t *item = rank->inbox.head;
    sim_rank_t *running = rank->world->running;

    if (item == NULL || item->step == SIM_STEP_CALL)
        return 0;
    sim_enter(rank);
    rank->world->running = rank;
    sim_inbox_pop(&rank->inbox);
    sim_note(rank->world, (uint64_t)rank->rank << 8 | item->step);
    work_off(rank, item);
    rank->world->running = running;
    return 1;
}

static xylem_status_t net_arm(xyl_net_t *net)
{
    (void)net;
    return XYLEM_ERR_BUSY;
}

static int net_wakeup_fd(xyl_net_t *net)
{
    (void)net;
    return -1;
}

static int net_is_flushed(xyl_net_t *net)
{
    (void)net;
    return 1;
}

static void net_destroy(xyl_net_t *net)
{
    (void)net; /* belongs to the world */
}

static xylem_status_t net_create(const xyl_net_params_t *params,
                                 xyl_net_t **net_out)
{
    sim_world_t *world = params->arg;
    sim_rank_t *rank = &world->all[params->rank];

    rank->net = (xyl_net_t){.ops = &sim_net_ops, .ready = params->ready};
    *net_out = &rank->net;
    return XYLEM_OK;
}

const xyl_net_ops_t sim_net_ops = {
    .name = "sim",
    .capabilities = XYL_NET_REACHES_OTHERS,
    .create = net_create,
    .send = net_send,
    .recv = net_recv,
    .cancel = net_cancel,
    .progress = net_progress,
    .arm = net_arm,
    .wakeup_fd = net_wakeup_fd,
    .is_flushed = net_is_flushed,
    .destroy = net_destroy,
};
