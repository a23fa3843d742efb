/* The way of a message, and its cost for both ranks.
 *
 * Eager:       source copies in ──▶ destination matches, copies out
 *              (no receive yet: kept, at the price of one more copy)
 * Rendezvous:  source offers ──▶ destination matches, then
 *   copy, get        copies once, says finish ──▶ source completes
 *   copy, pipeline   accepts ──▶ source copies in ──▶ destination copies out
 *   nic, get         its interface reads, finish ──▶ source completes
 *   nic, pipeline    accepts ──▶ source's interface writes and completes
 *
 * Over the interfaces messages wait in line twice, at the source's node
 * (injection) and at the destination's (ejection). */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/inside.h"
#include "simulator/random.h"

enum { GARBAGE = 0xa5, PIECE_BYTES = 8192 };

/* ---- bytes ---- */

/* 1: a buffer of sim_world_nowhere, which is neither read nor written, however
 * short it is. */
static int is_nowhere(const sim_world_t *world, const void *buf)
{
    return world->nowhere.base != NULL &&
           (uintptr_t)buf - (uintptr_t)world->nowhere.base <
               world->nowhere.bytes;
}

/* 1: the message has bytes. Messages beside the operations always do. */
static int has_bytes(const sim_world_t *world, const sim_message_t *message)
{
    return (sim_moves(world, message->bytes) &&
            !is_nowhere(world, message->buf)) ||
           message->match.tag >> 50 == XYL_SLOT_NOTICES;
}

/* 1: the message has a copy of its bytes, as the sender may get its buffer back
 * before they are taken. */
static int has_snapshot(const sim_world_t *world, const sim_message_t *message)
{
    return has_bytes(world, message) &&
           (message->is_eager || world->options.jitter_max != 0 ||
            world->options.payload == SIM_PAYLOAD_WATCHED ||
            world->machine.links[message->level].rendezvous ==
                SIM_RENDEZVOUS_PIPELINE);
}

static void take_snapshot(sim_message_t *message)
{
    sim_message_reserve(message, message->bytes);
    if (message->bytes != 0)
        memcpy(message->payload, message->buf, message->bytes);
}

static void move_bytes(const sim_world_t *world, const sim_message_t *message,
                       const sim_receive_t *receive)
{
    const char *from =
        has_snapshot(world, message) ? message->payload : message->buf;

    if (!has_bytes(world, message) || message->bytes == 0 ||
        is_nowhere(world, receive->buf))
        return;
    assert(from != NULL);
    memcpy(receive->buf, from, message->bytes);
}

/* ---- ends ---- */

static const sim_link_t *link_of(const sim_rank_t *rank,
                                 const sim_message_t *message)
{
    return &rank->world->machine.links[message->level];
}

/* Ends the message at its source. */
static void send_done(sim_world_t *world, sim_message_t *message,
                      xylem_status_t status)
{
    sim_rank_t *source = &world->all[message->source];
    xyl_event_t *event = message->event;

    message->event = NULL;
    if (event != NULL) {
        if (world->options.payload == SIM_PAYLOAD_WATCHED &&
            status == XYLEM_OK && message->bytes != 0 &&
            memcmp(message->buf, message->payload, message->bytes) != 0)
            sim_complain(source,
                         "a buffer was changed while it was being sent");
        sim_complete(source, event, status);
    }
    sim_message_release(world, message);
}

/* Ends the message at its destination. Message and receive no longer point at
 * each other. */
static void receive_done(sim_rank_t *rank, sim_message_t *message,
                         sim_receive_t *receive, xylem_status_t status)
{
    xyl_event_t *event = receive->event;

    if (status == XYLEM_OK)
        move_bytes(rank->world, message, receive);
    sim_receive_free(rank->world, receive);
    sim_message_release(rank->world, message);
    sim_complete_now(rank, event, status);
}

static void receive_done_later(sim_rank_t *rank, sim_message_t *message,
                               xylem_status_t status)
{
    sim_receive_t *receive = message->receive;
    sim_time_t delay = sim_jitter(rank->world);
    sim_item_t *item;

    message->receive = NULL;
    receive->message = NULL;
    if (delay == 0) {
        receive_done(rank, message, receive, status);
        return;
    }
    receive->event->net_request = NULL; /* too late to give it up */
    item = sim_item_take(rank->world);
    item->step = SIM_STEP_DONE;
    item->message = message;
    item->receive = receive;
    item->status = status;
    sim_deliver(rank->world, rank->now + delay, rank->rank, item);
}

void sim_wire_finish_receive(sim_rank_t *rank, sim_item_t *item)
{
    receive_done(rank, item->message, item->receive, item->status);
}

void sim_wire_lose(sim_world_t *world, sim_message_t *message)
{
    /* The source of a pipeline depends on its own interface only. */
    int is_waiting =
        message->event != NULL &&
        (!message->is_data ||
         world->machine.links[message->level].rendezvous == SIM_RENDEZVOUS_GET);

    if (is_waiting && (random_next(&world->random) & 1) != 0)
        send_done(world, message, XYLEM_ERR_PROC_FAILED);
    sim_message_release(world, message);
}

/* ---- on the way ---- */

/* The time at which a message comes. It would come at `time`, which does not
 * decrease for equal tags; `delay` holds it up; and it does not come before the
 * last message of its tag. */
static sim_time_t in_order(sim_world_t *world, sim_message_t *message,
                           sim_time_t time, sim_time_t delay)
{
    const sim_match_t *last;
    sim_time_t least = 0;

    delay += message->late + sim_jitter(world);
    if (delay == 0 && world->ordered.count == 0)
        return time;
    last = sim_match_last(&world->ordered, message->match.rank,
                          message->match.tag);
    if (last != NULL)
        least = ((const sim_message_t *)(const void *)last)->arrives;
    message->arrives = time + delay > least ? time + delay : least;
    if (message->arrives != time) {
        message->is_ordered = 1;
        sim_match_add(&world->ordered, &message->match);
    }
    return message->arrives;
}

/* Takes a message that has come, or was lost, out of the order of its tag. */
static void leave_order(sim_world_t *world, sim_message_t *message)
{
    if (message->is_ordered)
        sim_match_remove(&world->ordered, &message->match);
    message->is_ordered = 0;
}

static void to_destination(sim_world_t *world, sim_message_t *message,
                           sim_step_t step, sim_time_t time)
{
    message->to_destination.step = step;
    message->to_destination.message = message;
    sim_deliver(world, time, message->match.rank, &message->to_destination);
}

static void to_source(sim_rank_t *rank, sim_message_t *message, sim_step_t step)
{
    message->to_source.step = step;
    message->to_source.message = message;
    sim_deliver(rank->world, rank->now + link_of(rank, message)->latency,
                message->source, &message->to_source);
}

/* Tells the source at `time` that its buffer is free. */
static void finish_at(sim_world_t *world, sim_message_t *message,
                      sim_time_t time)
{
    message->to_source.step = SIM_STEP_FINISH;
    message->to_source.message = message;
    sim_deliver(world, time, message->source, &message->to_source);
}

/* The source's core lets the message go. */
static void launch(sim_rank_t *rank, sim_message_t *message)
{
    const sim_link_t *link = link_of(rank, message);
    sim_world_t *world = rank->world;

    if (message->is_eager)
        sim_charge_copy(rank, message->bytes);
    message->sent = rank->now;
    if (link->transport == SIM_TRANSPORT_NIC)
        sim_add(world, SIM_KIND_INJECT, rank->now, message->source, message);
    else
        to_destination(world, message,
                       message->is_eager ? SIM_STEP_EAGER : SIM_STEP_OFFER,
                       in_order(world, message, rank->now + link->latency, 0));
    if (message->is_eager)
        send_done(world, message, XYLEM_OK);
}

static size_t wire_bytes(const sim_message_t *message)
{
    return message->is_eager || message->is_data ? message->bytes : 0;
}

void sim_wire_inject(sim_world_t *world, sim_message_t *message)
{
    const sim_link_t *link = &world->machine.links[message->level];
    sim_rank_t *source = &world->all[message->source];
    sim_node_t *node = &world->all_nodes[source->node];
    size_t bytes = wire_bytes(message);
    sim_time_t begin = world->now;

    if (message->is_data && source->is_dead)
        return; /* its receive can be given up */
    if (begin < node->injection_free)
        begin = node->injection_free;
    node->injection_free = begin + world->machine.nic.gap +
                           sim_rate_time(world->machine.nic.injection, bytes);
    message->ready_by =
        begin + link->latency + sim_rate_time(link->per_byte, bytes);
    if (message->is_data && link->rendezvous == SIM_RENDEZVOUS_PIPELINE)
        finish_at(world, message, node->injection_free);
    sim_add(world, SIM_KIND_EJECT, begin + link->latency, message->match.rank,
            message);
}

void sim_wire_eject(sim_world_t *world, sim_message_t *message)
{
    sim_node_t *node = &world->all_nodes[world->all[message->match.rank].node];
    sim_time_t end = world->now, rest = 0;

    if (end < node->ejection_free)
        end = node->ejection_free;
    end += world->machine.nic.gap +
           sim_rate_time(world->machine.nic.ejection, wire_bytes(message));
    node->ejection_free = end;
    if (end < message->ready_by)
        rest = message->ready_by - end;
    if (message->is_data)
        to_destination(world, message, SIM_STEP_DATA,
                       end + rest + sim_jitter(world));
    else
        to_destination(world, message,
                       message->is_eager ? SIM_STEP_EAGER : SIM_STEP_OFFER,
                       in_order(world, message, end, rest));
}

/* ---- the queue at a destination, of copying links ---- */

/* Tells the source of a place at `time`; it hears of places in their order. */
static void grant(sim_rank_t *rank, sim_message_t *message, sim_time_t time)
{
    sim_rank_t *source = &rank->world->all[message->source];

    rank->queued++;
    message->has_slot = 1;
    source->granted++;
    if (source->granted_by < time)
        source->granted_by = time;
    message->to_source.step = SIM_STEP_SLOT;
    message->to_source.message = message;
    sim_deliver(rank->world, source->granted_by, source->rank,
                &message->to_source);
}

/* Gives free places to the waiting messages, in order. */
static void grant_slots(sim_rank_t *rank)
{
    const sim_world_t *world = rank->world;
    sim_time_t now = rank->now > world->now ? rank->now : world->now;
    sim_message_t *message;

    while (rank->blocked.head != NULL &&
           rank->queued < world->machine.node.queue_slots) {
        message = sim_inbox_pop(&rank->blocked)->message;
        grant(rank, message, now + link_of(rank, message)->latency);
    }
}

static void leave_slot(sim_rank_t *rank, sim_message_t *message)
{
    if (!message->has_slot)
        return;
    message->has_slot = 0;
    rank->queued--;
    grant_slots(rank);
}

/* 1 when the message has to wait for a place. */
static int waits_for_slot(sim_rank_t *rank, sim_message_t *message)
{
    sim_world_t *world = rank->world;
    sim_rank_t *to = &world->all[message->match.rank];

    if (link_of(rank, message)->transport != SIM_TRANSPORT_COPY ||
        world->machine.node.queue_slots == 0)
        return 0;
    if (to->blocked.head != NULL ||
        to->queued >= world->machine.node.queue_slots) {
        message->to_source.message = message;
        sim_inbox_push(&to->blocked, &message->to_source);
        return 1;
    }
    if (rank->granted != 0) { /* it stays behind this rank's earlier ones */
        grant(to, message, rank->now);
        return 1;
    }
    to->queued++;
    message->has_slot = 1;
    return 0;
}

/* ---- posting ---- */

static void count_message(sim_world_t *world, const sim_message_t *message)
{
    world->counts.messages[message->level]++;
    world->counts.bytes[message->level] += message->bytes;
}

void sim_wire_send(sim_rank_t *rank, uint32_t peer, uint64_t tag,
                   const void *buf, size_t bytes, xyl_event_t *event)
{
    sim_world_t *world = rank->world;
    sim_message_t *message = sim_message_take(world);
    const sim_link_t *link;

    message->match.rank = peer;
    message->match.tag = tag;
    message->source = rank->rank;
    message->level = (uint8_t)sim_level_of(world, rank->rank, peer);
    link = link_of(rank, message);
    message->bytes = bytes;
    message->buf = buf;
    message->event = event;
    message->ends = 2;
    message->is_eager = bytes <= link->eager_bytes_max;
    message->is_data = 0;
    message->has_slot = 0;
    message->is_ordered = 0;
    message->receive = NULL;
    message->late = 0;
    message->id = world->message_ids++;
    if (world->messages_to_delay == 1)
        message->late = world->message_delay;
    world->messages_to_delay -= world->messages_to_delay != 0;
    if (has_snapshot(world, message))
        take_snapshot(message);
    count_message(world, message);
    sim_charge(rank, link->send_overhead);
    if (!waits_for_slot(rank, message))
        launch(rank, message);
}

/* Message and receive have met. */
static void matched(sim_rank_t *rank, sim_message_t *message,
                    sim_receive_t *receive)
{
    const sim_link_t *link = link_of(rank, message);
    xylem_status_t status =
        xyl_net_length_status(receive->event, message->bytes, receive->bytes);
    sim_world_t *world = rank->world;

    message->receive = receive;
    receive->message = message;
    /* Bytes that are there already may be read meanwhile. */
    if (world->options.payload == SIM_PAYLOAD_WATCHED && receive->bytes != 0 &&
        (message->bytes != receive->bytes || message->payload == NULL ||
         memcmp(receive->buf, message->payload, message->bytes) != 0))
        memset(receive->buf, GARBAGE, receive->bytes);
    if (message->is_eager) {
        sim_charge_copy_at(
            rank, link->transport == SIM_TRANSPORT_COPY ? link->per_byte : 0,
            message->bytes);
        receive_done_later(rank, message, status);
        return;
    }
    if (world->all[message->source].is_dead) { /* its bytes are gone */
        receive_done_later(rank, message, XYLEM_ERR_PROC_FAILED);
    } else if (status != XYLEM_OK) {
        to_source(rank, message, SIM_STEP_FINISH);
        receive_done_later(rank, message, status);
    } else if (link->rendezvous == SIM_RENDEZVOUS_PIPELINE) {
        to_source(rank, message, SIM_STEP_ACCEPT);
    } else if (link->transport == SIM_TRANSPORT_NIC) {
        sim_charge(rank, link->send_overhead);
        message->is_data = 1;
        sim_add(world, SIM_KIND_INJECT, rank->now + link->latency,
                message->source, message);
    } else {
        sim_charge(rank, link->rendezvous_overhead);
        sim_charge_copy_at(rank, link->rendezvous_per_byte, message->bytes);
        to_source(rank, message, SIM_STEP_FINISH);
        receive_done_later(rank, message, XYLEM_OK);
    }
}

void sim_wire_recv(sim_rank_t *rank, sim_receive_t *receive)
{
    sim_world_t *world = rank->world;
    sim_match_t *match;

    sim_charge(rank, world->machine.core.post);
    match = sim_match_take(&world->unexpected, rank->rank, receive->match.tag);
    if (match == NULL)
        sim_match_add(&world->posted, &receive->match);
    else
        matched(rank, (sim_message_t *)(void *)match, receive);
}

int sim_wire_withdraw(sim_rank_t *rank, sim_receive_t *receive)
{
    sim_world_t *world = rank->world;
    sim_message_t *message = receive->message;

    if (message == NULL) {
        sim_match_remove(&world->posted, &receive->match);
        return 1;
    }
    if (!world->all[message->source].is_dead)
        return 0;
    message->receive = NULL;
    return 1;
}

/* ---- steps ---- */

/* A message, or the offer of one, has come. */
static void step_arrived(sim_rank_t *rank, sim_message_t *message)
{
    sim_world_t *world = rank->world;
    sim_match_t *match;

    leave_order(world, message);
    leave_slot(rank, message);
    if (world->options.trace != NULL)
        xyl_trace_message(world->options.trace, message->id, message->source,
                          message->sent, rank->rank, rank->now, message->bytes);
    if (!message->is_eager && world->all[message->source].is_dead) {
        sim_wire_lose(world, message);
        return;
    }
    sim_charge(rank, link_of(rank, message)->recv_overhead);
    match = sim_match_take(&world->posted, rank->rank, message->match.tag);
    if (match != NULL) {
        matched(rank, message, (sim_receive_t *)(void *)match);
        return;
    }
    world->counts.unexpected++;
    if (message->is_eager)
        sim_charge_copy(rank, message->bytes);
    sim_match_add(&world->unexpected, &message->match);
}

/* The bytes of a rendezvous have come. */
static void step_data(sim_rank_t *rank, sim_message_t *message)
{
    const sim_link_t *link = link_of(rank, message);

    if (message->receive == NULL) {
        sim_wire_lose(rank->world, message); /* given up meanwhile */
        return;
    }
    sim_charge(rank, link->recv_overhead);
    if (link->transport == SIM_TRANSPORT_COPY) {
        sim_charge_copy_at(rank, link->rendezvous_per_byte, message->bytes);
        if (rank->now < message->ready_by)
            rank->now = message->ready_by;
    }
    if (link->rendezvous == SIM_RENDEZVOUS_GET) {
        sim_charge(rank, link->send_overhead);
        to_source(rank, message, SIM_STEP_FINISH);
    }
    receive_done_later(rank, message, XYLEM_OK);
}

/* The source of a pipeline may begin. */
static void step_accept(sim_rank_t *rank, sim_message_t *message)
{
    const sim_link_t *link = link_of(rank, message);
    sim_world_t *world = rank->world;
    sim_time_t begin, piece;

    sim_charge(rank, link->send_overhead);
    message->is_data = 1;
    if (link->transport == SIM_TRANSPORT_NIC) {
        sim_add(world, SIM_KIND_INJECT, rank->now, rank->rank, message);
        return;
    }
    sim_charge(rank, link->rendezvous_overhead);
    begin = rank->now;
    sim_charge_copy(rank, message->bytes);
    piece = sim_rate_time(world->copy_rate, message->bytes < PIECE_BYTES
                                                ? message->bytes
                                                : PIECE_BYTES);
    message->ready_by = rank->now + link->latency + piece;
    to_destination(world, message, SIM_STEP_DATA,
                   begin + link->latency + piece + sim_jitter(world));
    send_done(world, message, XYLEM_OK);
}

/* The source learns, from the destination or from its own interface, that its
 * bytes have gone. */
static void step_finish(sim_rank_t *rank, sim_message_t *message)
{
    const sim_link_t *link = link_of(rank, message);

    if (link->transport == SIM_TRANSPORT_COPY ||
        link->rendezvous == SIM_RENDEZVOUS_GET)
        sim_charge(rank, link->recv_overhead);
    send_done(rank->world, message, XYLEM_OK);
}

void sim_wire_step(sim_rank_t *rank, sim_item_t *item)
{
    sim_message_t *message = item->message;

    switch (item->step) {
    case SIM_STEP_EAGER:
    case SIM_STEP_OFFER:
        step_arrived(rank, message);
        return;
    case SIM_STEP_DATA:
        step_data(rank, message);
        return;
    case SIM_STEP_SLOT:
        rank->granted--;
        launch(rank, message);
        return;
    case SIM_STEP_ACCEPT:
        step_accept(rank, message);
        return;
    case SIM_STEP_FINISH:
        step_finish(rank, message);
        return;
    case SIM_STEP_CALL:
    case SIM_STEP_NOTICE:
    case SIM_STEP_DONE:
    case SIM_STEP_WORK:
    case SIM_STEP_FLAG:
    case SIM_STEP_COUNT:
        break;
    }
    assert(0 && "a step of a message");
}

/* ---- deaths ---- */

void sim_wire_drop(sim_rank_t *rank, sim_item_t *item)
{
    sim_world_t *world = rank->world;
    sim_message_t *message = item->message;

    switch (item->step) {
    case SIM_STEP_EAGER:
    case SIM_STEP_OFFER:
    case SIM_STEP_DATA:
        leave_order(world, message);
        leave_slot(rank, message);
        if (message->receive != NULL)
            message->receive->message = NULL;
        sim_wire_lose(world, message);
        return;
    case SIM_STEP_SLOT:
        rank->granted--;
        leave_slot(&world->all[message->match.rank], message);
        sim_message_release(world, message); /* it never arrives */
        sim_message_release(world, message);
        return;
    case SIM_STEP_ACCEPT: /* the destination waits until it gives up */
        return;
    case SIM_STEP_FINISH:
        message->event = NULL;
        sim_message_release(world, message);
        return;
    case SIM_STEP_CALL:
        sim_item_free(world, item);
        return;
    case SIM_STEP_FLAG:
        free(item);
        return;
    case SIM_STEP_NOTICE:
    case SIM_STEP_DONE:
    case SIM_STEP_WORK:
    case SIM_STEP_COUNT:
        break;
    }
    assert(0 && "kept for the rank's return");
}
